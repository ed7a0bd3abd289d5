package main

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// store describes what a server serves.
type store struct {
	records int           // number of subscriptions
	latency time.Duration // of each response
	gzip    bool          // compress lists
}

// server serves a store on the loopback interface. It makes each page once, so that it takes next
// to no time itself.
type server struct {
	*httptest.Server
	store
	accounts map[string]int // the number of each account, by its id
	sorted   []string       // the ids
	carts    *carts
	pages    sync.Map // bodies by request URI
}

func newServer(what store) (*server, error) {
	s := &server{store: what, accounts: map[string]int{}}
	for n := range (what.records + perAccount - 1) / perAccount {
		s.accounts[id("account", n)] = n
	}
	s.sorted = slices.Sorted(maps.Keys(s.accounts))
	var err error
	if s.carts, err = recordCarts(); err != nil {
		return nil, err
	}
	s.Server = httptest.NewServer(s)
	return s, nil
}

func (s *server) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	time.Sleep(s.latency)
	status, body := http.StatusOK, []byte(nil)
	if strings.HasPrefix(req.URL.Path, cartsPath) {
		status, body = s.carts.respond(req.Method, req.URL.Path)
	} else {
		body = s.page(req.URL)
		if s.gzip {
			w.Header().Set("Content-Encoding", "gzip")
		}
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	w.WriteHeader(status)
	_, _ = w.Write(body)
}

// page returns a page of accounts or subscriptions.
func (s *server) page(u *url.URL) []byte {
	if body, ok := s.pages.Load(u.RequestURI()); ok {
		return body.([]byte)
	}
	q := u.Query()
	total, element := s.subscriptions(q.Get("filter"))
	if u.Path == accountsPath {
		total, element = s.accountsOf(q.Get("filter"))
	}
	offset, _ := strconv.Atoi(q.Get("page[offset]")) // 0 if there is none
	limit, _ := strconv.Atoi(q.Get("page[limit]"))
	from, to := min(offset, total), min(offset+limit, total)
	included, next := "", "null"
	if q.Get("include") != "" {
		included = fmt.Sprintf(`,"included":{"plans":[%s],"products":[%s]}`, list(0, plans, plan), list(0, products, product))
	}
	if to < total {
		next = fmt.Sprintf(`"https://pages.store.example%s?page%%5Blimit%%5D=%d&page%%5Boffset%%5D=%d"`, u.Path, limit, to)
	}
	body := fmt.Appendf(nil, `{"data":[%s]%s,"links":{"first":"/","last":null,"next":%s,"prev":null}}`,
		list(from, to, element), included, next)
	if s.gzip {
		body = compress(body)
	}
	s.pages.Store(u.RequestURI(), body)
	return body
}

// subscriptions returns how many subscriptions match a filter, and a function that makes the i-th.
// The filter is in(account_id,...), eq(account_id,...) or empty.
func (s *server) subscriptions(filter string) (total int, element func(i int) string) {
	if filter == "" {
		return s.records, subscription
	}
	_, ids, _ := strings.Cut(strings.TrimSuffix(filter, ")"), ",")
	var numbers []int
	for account := range strings.SplitSeq(ids, ",") {
		first := s.accounts[strings.Trim(account, `"`)] * perAccount
		for n := first; n < min(first+perAccount, s.records); n++ {
			numbers = append(numbers, n)
		}
	}
	return len(numbers), func(i int) string { return subscription(numbers[i]) }
}

// accountsOf is the same for accounts, in the order of their ids. The filter is gt(id,...),
// in(id,...), eq(id,...) or empty.
func (s *server) accountsOf(filter string) (total int, element func(i int) string) {
	operator, after, _ := strings.Cut(strings.TrimSuffix(filter, ")"), ",")
	start, found := slices.BinarySearch(s.sorted, after)
	if found {
		start++
	}
	rest := s.sorted[start:]
	if operator != "" && operator != "gt(id" {
		rest = nil
		for account := range strings.SplitSeq(after, ",") {
			account = strings.Trim(account, `"`)
			if _, isListed := s.accounts[account]; isListed {
				rest = append(rest, account)
			}
		}
	}
	return len(rest), func(i int) string {
		return fmt.Sprintf(`{"id":%q,"type":"account","name":"Ron Swanson","external_ref":""}`, rest[i])
	}
}

func compress(body []byte) []byte {
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	_, _ = w.Write(body) // a buffer returns no error
	_ = w.Close()
	return b.Bytes()
}
