package timing_test

import (
	"context"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/commerce-go/commerce"
)

// pageSize is small, so that walks of many requests take little time.
const pageSize = 25

// store is a list of subscriptions, and a cart, behind a rate limit.
type store struct {
	pages    int
	allow    func() bool // counts a request, and reports whether it is within the limit
	noHeader bool        // a 429 has no Retry-After

	mu              sync.Mutex
	served, refused int
}

func (s *store) send(req *http.Request) (*http.Response, error) {
	return after(20*time.Millisecond, s.reply(req))(req)
}

func (s *store) reply(req *http.Request) reply {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.allow() {
		s.refused++
		if s.noHeader {
			return status(http.StatusTooManyRequests)
		}
		return status(http.StatusTooManyRequests, "1")
	}
	s.served++
	if strings.HasPrefix(req.URL.Path, "/v2/carts/") {
		return body(http.StatusOK, `{"data":{"id":"cart-1","type":"cart"}}`)
	}
	return body(http.StatusOK, s.page(req))
}

func (s *store) page(req *http.Request) string {
	query := req.URL.Query()
	offset, _ := strconv.Atoi(query.Get("page[offset]"))
	limit, _ := strconv.Atoi(query.Get("page[limit]"))
	next, total := "null", s.pages*pageSize
	if offset+limit < total {
		next = `"/next"`
	}
	var records []string
	for i := offset; i < min(offset+limit, total); i++ {
		records = append(records, fmt.Sprintf(`{"id":"00000000-0000-4000-8000-%012d"}`, i))
	}
	return fmt.Sprintf(`{"data":[%s],"links":{"next":%s}}`, strings.Join(records, ","), next)
}

// walk reads all subscriptions of the store.
func (s *store) walk(ctx context.Context, c *commerce.Client, concurrency int) error {
	n, opts := 0, &commerce.SubscriptionListOptions{PageSize: pageSize, Concurrency: concurrency}
	for _, err := range c.Subscriptions.All(ctx, opts) {
		if err != nil {
			return err
		}
		n++
	}
	if n != s.pages*pageSize {
		return fmt.Errorf("the walk yielded %d records, want %d", n, s.pages*pageSize)
	}
	return nil
}
