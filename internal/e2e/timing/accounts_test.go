package timing_test

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"iter"
	"math/rand/v2"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"
	"golang.org/x/time/rate"

	"github.com/commerce-go/commerce"
)

// accountStore is a store with accounts and their subscriptions, behind a rate limit.
type accountStore struct {
	latency  time.Duration
	limiter  *rate.Limiter // nil: no limit
	accounts []uuid.UUID   // in increasing order
	records  map[uuid.UUID][]string
	total    int

	mu                    sync.Mutex
	lists, parts, refused int // requests
	inFlight, maxInFlight int
}

// sizes are the numbers of subscriptions of accounts.
var sizes = []struct {
	name string
	of   func(*rand.Rand) int
}{
	{"3 each", func(*rand.Rand) int { return 3 }},
	{"0 to 6", func(r *rand.Rand) int { return r.IntN(7) }},
}

// kinds are the kinds of account ids.
var kinds = []struct {
	name string
	id   func(r *rand.Rand, n int) uuid.UUID
}{
	{"v4", func(r *rand.Rand, _ int) uuid.UUID { return newID(r, r.Uint64()>>16, 4) }},
	{"v7", func(r *rand.Rand, _ int) uuid.UUID { return newID(r, 1_600_000_000_000+r.Uint64N(1e11), 7) }},
	{"imported", func(r *rand.Rand, n int) uuid.UUID { // many in a minute, the others later
		if n%3 == 0 {
			return newID(r, 1_700_000_000_000+r.Uint64N(6e10), 7)
		}
		return newID(r, 1_600_000_000_000+r.Uint64N(60_000), 7)
	}},
	{"two clusters", func(r *rand.Rand, n int) uuid.UUID {
		return newID(r, uint64(n%2)<<46|r.Uint64()>>26, 4)
	}},
	{"one prefix", func(r *rand.Rand, _ int) uuid.UUID { return newID(r, 0x0123456789ab, 4) }},
}

// newID returns an id that begins with these 48 bits.
func newID(r *rand.Rand, first uint64, version byte) (id uuid.UUID) {
	binary.BigEndian.PutUint64(id[:], first<<16|r.Uint64()>>48)
	binary.BigEndian.PutUint64(id[8:], r.Uint64())
	id[6], id[8] = id[6]&0x0f|version<<4, id[8]&0x3f|0x80
	return id
}

func newAccountStore(total int, size func(*rand.Rand) int, id func(*rand.Rand, int) uuid.UUID, seed uint64) *accountStore {
	r := rand.New(rand.NewPCG(seed, 0))
	s := &accountStore{records: map[uuid.UUID][]string{}}
	for n := 0; s.total < total; n++ {
		account := id(r, n)
		s.accounts = append(s.accounts, account)
		for range min(size(r), total-s.total) {
			s.total++
			s.records[account] = append(s.records[account], fmt.Sprintf(
				`{"id":"00000000-0000-4000-8000-%012d","attributes":{"account_id":%q}}`, s.total, account))
		}
	}
	slices.SortFunc(s.accounts, compareIDs)
	return s
}

func compareIDs(a, b uuid.UUID) int { return bytes.Compare(a[:], b[:]) }

func (s *accountStore) send(req *http.Request) (*http.Response, error) {
	s.mu.Lock()
	if s.limiter != nil && !s.limiter.Allow() {
		s.refused++
		s.mu.Unlock()
		return status(http.StatusTooManyRequests, "1")(req)
	}
	s.inFlight++
	s.maxInFlight = max(s.maxInFlight, s.inFlight)
	s.mu.Unlock()
	defer func() {
		s.mu.Lock()
		s.inFlight--
		s.mu.Unlock()
	}()
	return after(s.latency, s.reply)(req)
}

func (s *accountStore) reply(req *http.Request) (*http.Response, error) {
	query := req.URL.Query()
	offset, _ := strconv.Atoi(query.Get("page[offset]"))
	limit, _ := strconv.Atoi(query.Get("page[limit]"))
	names := uuids(query.Get("filter"))
	var records []string
	s.mu.Lock()
	defer s.mu.Unlock()
	if req.URL.Path == "/v2/accounts" {
		s.lists++
		at := 0
		if len(names) > 0 {
			at, _ = slices.BinarySearchFunc(s.accounts, names[0], compareIDs)
			if at < len(s.accounts) && s.accounts[at] == names[0] {
				at++
			}
		}
		for _, id := range s.accounts[at:min(at+limit+1, len(s.accounts))] {
			records = append(records, fmt.Sprintf(`{"id":%q}`, id))
		}
	} else {
		s.parts++
		for _, account := range names {
			records = append(records, s.records[account]...)
		}
		records = records[min(offset, len(records)):]
	}
	next := "null"
	if len(records) > limit {
		records, next = records[:limit], `"/next"`
	}
	return body(http.StatusOK, fmt.Sprintf(`{"data":[%s],"links":{"next":%s}}`, strings.Join(records, ","), next))(req)
}

// uuids returns those in a filter.
func uuids(filter string) (ids []uuid.UUID) {
	for word := range strings.FieldsFuncSeq(filter, func(c rune) bool { return strings.ContainsRune("(),:", c) }) {
		if id, err := uuid.Parse(word); err == nil {
			ids = append(ids, id)
		}
	}
	return ids
}

// given yields the accounts of the store without a request.
func (s *accountStore) given() iter.Seq2[uuid.UUID, error] {
	return func(yield func(uuid.UUID, error) bool) {
		for _, id := range s.accounts {
			if !yield(id, nil) {
				return
			}
		}
	}
}

// walk reads the whole store, and returns how long that took, and its ratio to the ideal.
func (s *accountStore) walk(t *testing.T, given bool, concurrency int) (took time.Duration, ratio float64) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		var accounts iter.Seq2[uuid.UUID, error]
		if given {
			accounts = s.given()
		}
		start, n := time.Now(), 0
		opts := &commerce.SubscriptionListOptions{Concurrency: concurrency}
		for _, err := range newClient(t, s.send).Subscriptions.AllByAccount(t.Context(), accounts, opts) {
			if err != nil {
				t.Fatal(err)
			}
			n++
		}
		took = time.Since(start)
		if n != s.total {
			t.Errorf("%d subscriptions, want %d", n, s.total)
		}
	})
	ideal := time.Duration(s.lists+s.parts) * s.latency / time.Duration(concurrency)
	if s.limiter != nil {
		ideal = max(ideal, time.Duration(float64(s.lists+s.parts)/float64(s.limiter.Limit())*float64(time.Second)))
	}
	return took, float64(took) / float64(ideal)
}

func TestAllByAccount_ideal(t *testing.T) {
	for _, latency := range []time.Duration{20 * time.Millisecond, 200 * time.Millisecond} {
		for _, size := range sizes {
			for k := -1; k < len(kinds); k++ {
				for _, limit := range []int{0, 25, 50, 100} {
					given, kind := k < 0, kinds[max(0, k)]
					if given {
						kind.name = "given"
					}
					s := newAccountStore(25_000, size.of, kind.id, 1)
					s.latency = latency
					if limit > 0 {
						s.limiter = rate.NewLimiter(rate.Limit(limit), limit)
					}
					took, ratio := s.walk(t, given, 8)
					t.Logf("%-6v %-6s %-12s limit %3d: %3d + %3d requests, %d refused, %6.2f s, ratio %.2f, %d in flight", latency, size.name, kind.name, limit, s.lists, s.parts, s.refused, took.Seconds(), ratio, s.maxInFlight)
				}
			}
		}
	}
}
