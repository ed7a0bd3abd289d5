package timing_test

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"

	"github.com/commerce-go/commerce"
)

// accountStore is a store with accounts and their subscriptions, behind a rate limit.
type accountStore struct {
	latency  time.Duration
	limit    int         // requests a second; 0: no limit
	allow    func() bool // counts a request, and reports whether it is within the limit
	noHeader bool        // a 429 has no Retry-After
	accounts []uuid.UUID // in increasing order
	records  map[uuid.UUID][]string
	total    int

	mu                    sync.Mutex
	lists, parts, refused int // requests
	inFlight, maxInFlight int
	start                 time.Time
	sent                  []time.Duration // since start
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

func newAccountStore(
	total int, size func(*rand.Rand) int, id func(*rand.Rand, int) uuid.UUID, seed uint64,
) *accountStore {
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
	s.sent = append(s.sent, time.Since(s.start))
	latency := s.latency + time.Duration(len(s.sent)) // unique, so that the order of events is fixed
	if s.limit > 0 && !s.allow() {
		s.refused++
		s.mu.Unlock()
		if s.noHeader {
			return after(latency, status(http.StatusTooManyRequests))(req)
		}
		return after(latency, status(http.StatusTooManyRequests, "1"))(req)
	}
	s.inFlight++
	s.maxInFlight = max(s.maxInFlight, s.inFlight)
	s.mu.Unlock()
	defer func() {
		s.mu.Lock()
		s.inFlight--
		s.mu.Unlock()
	}()
	return after(latency, s.reply)(req)
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

// walk reads all subscriptions by account, and returns how long that took, and its ratio to the
// ideal: the time of all requests that were made, if always 8 are in flight, or as many as the
// limit allows. The walk starts phase after the begin of a second.
func (s *accountStore) walk(t *testing.T, phase time.Duration) (took time.Duration, ratio float64) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(phase)
		s.start = time.Now()
		n, opts := 0, &commerce.SubscriptionListOptions{ByAccount: true, Concurrency: 8}
		for _, err := range newClient(t, s.send).Subscriptions.All(t.Context(), opts) {
			if err != nil {
				t.Fatal(err)
			}
			n++
		}
		took = time.Since(s.start)
		if n != s.total {
			t.Errorf("%d subscriptions, want %d", n, s.total)
		}
	})
	ideal := time.Duration(s.lists+s.parts) * s.latency / 8
	if s.limit > 0 {
		ideal = max(ideal, time.Duration(s.lists+s.parts)*time.Second/time.Duration(s.limit))
	}
	return took, float64(took) / float64(ideal)
}

// full reports whether the tests of this file are to make all their walks, in a minute.
func full() bool { return os.Getenv("IDEAL") != "" }

// TestIdeal walks 25,000 subscriptions with Concurrency 8, and compares the time with the ideal
// one.
func TestIdeal(t *testing.T) {
	t.Parallel()
	latencies, sizes, kinds := []time.Duration{20 * time.Millisecond}, sizes, kinds
	if full() {
		latencies = append(latencies, 200*time.Millisecond)
	} else if sizes = sizes[1:]; testing.Short() { // TestIdeal_limits has accounts with 3 each
		kinds = kinds[:1]
	}
	for _, latency := range latencies {
		for _, size := range sizes {
			for _, kind := range kinds {
				t.Run(fmt.Sprintf("%v/%s/%s", latency, size.name, kind.name), func(t *testing.T) {
					t.Parallel()
					const most = 1.2
					s := newAccountStore(25_000, size.of, kind.id, 1)
					s.latency = latency
					took, ratio := s.walk(t, 0)
					t.Logf("%d + %d requests, %.2f s, %.2f of the ideal time", s.lists, s.parts, took.Seconds(), ratio)
					if ratio > most || s.maxInFlight > 8 {
						t.Errorf("%.2f of the ideal time, %d in flight, want at most %.2f and 8", ratio, s.maxInFlight, most)
					}
				})
			}
		}
	}
}

// TestIdeal_limits does so with each kind of limit. After the first second, there are never more
// requests in 100 ms than the store accepts in a second.
func TestIdeal_limits(t *testing.T) {
	t.Parallel()
	totals, limits, latencies := []int{20_000}, limits, []time.Duration{20 * time.Millisecond}
	perSecond := []int{50}
	if full() {
		totals, latencies = append(totals, 150_000), append(latencies, 200*time.Millisecond)
		perSecond = []int{25, 50, 100}
	}
	walks := 0
	for _, total := range totals {
		for _, latency := range latencies {
			for _, limit := range limits {
				for _, n := range perSecond {
					for _, header := range []string{"no header", "Retry-After"} {
						if walks++; !full() && walks > 2 && (header == "Retry-After" || testing.Short()) {
							continue
						}
						phase := time.Duration(walks*370) * time.Millisecond
						t.Run(fmt.Sprintf("%d/%v/%s/%d/%s", total, latency, limit.name, n, header), func(t *testing.T) {
							t.Parallel()
							s := newAccountStore(total, sizes[0].of, kinds[0].id, 1)
							s.latency, s.limit, s.allow, s.noHeader = latency, n, limit.new(n), headers[header]
							_, ratio := s.walk(t, phase)
							s.checkLimited(t, ratio, limit.name)
						})
					}
				}
			}
		}
	}
}

// checkLimited checks a walk of a store with a limit.
func (s *accountStore) checkLimited(t *testing.T, ratio float64, kind string) {
	t.Helper()
	inShort, limit := most(s.sent), 2.0
	switch isLong, isSliding := s.total > 100_000, kind == "sliding window"; {
	case s.noHeader && isLong && isSliding:
		limit = 1.2
	case s.noHeader && isLong:
		limit = 1.1
	case s.noHeader && isSliding: // two operations press it, and neither can see when it ends
		limit = 1.5
	case s.noHeader:
		limit = 1.25
	case isLong:
		limit = 1.4
	}
	t.Logf("%d requests, %d refused, at most %d in 100 ms, %.2f of the ideal time",
		s.lists+s.parts, s.refused, inShort, ratio)
	if ratio > limit || inShort > s.limit {
		t.Errorf("%.2f of the ideal time, %d requests in 100 ms, want at most %.2f and %d", ratio, inShort, limit, s.limit)
	}
}

// TestIdeal_requests counts the requests for 25,000 subscriptions of accounts with 0 to 6.
func TestIdeal_requests(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("takes a second")
	}
	seeds := 1
	if full() {
		seeds = 300
	}
	var mu sync.Mutex
	var all []int
	t.Run("seeds", func(t *testing.T) {
		for seed := range seeds {
			t.Run(strconv.Itoa(seed), func(t *testing.T) {
				t.Parallel()
				s := newAccountStore(25_000, sizes[1].of, kinds[0].id, uint64(seed))
				s.latency = 20 * time.Millisecond
				s.walk(t, 0)
				mu.Lock()
				defer mu.Unlock()
				all = append(all, s.lists+s.parts)
			})
		}
	})
	slices.Sort(all)
	t.Logf("%d stores: median %d requests, p90 %d, maximum %d", seeds, all[seeds/2], all[seeds*9/10], all[seeds-1])
	if all[seeds-1] > 410 {
		t.Errorf("%d requests, want at most 410", all[seeds-1])
	}
}
