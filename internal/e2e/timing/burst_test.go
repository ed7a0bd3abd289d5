package timing_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/commerce-go/commerce"
)

// burst is what happened to calls that were made at once.
type burst struct {
	calls int
	mu    sync.Mutex
	start time.Time
	sent  []time.Duration // since the first request was sent
	errs  []error
}

// run makes the calls with a new client of a store.
func (b *burst) run(ctx context.Context, t *testing.T, send func(*http.Request) (*http.Response, error),
	opts ...commerce.Option) {
	t.Helper()
	c := newClient(t, func(req *http.Request) (*http.Response, error) {
		b.mu.Lock()
		if b.start.IsZero() {
			b.start = time.Now()
		}
		b.sent = append(b.sent, time.Since(b.start))
		b.mu.Unlock()
		return send(req)
	}, opts...)
	var wg sync.WaitGroup
	for range b.calls {
		wg.Go(func() {
			if _, err := c.Carts.Get(ctx, "cart-1"); err != nil {
				b.mu.Lock()
				defer b.mu.Unlock()
				b.errs = append(b.errs, err)
			}
		})
	}
	wg.Wait()
}

// most returns the highest number of requests in 100 ms after the first second.
func most(sent []time.Duration) (most int) {
	for i, first := range sent {
		n := 0
		for _, at := range sent[i:] {
			if at-first >= 100*time.Millisecond {
				break
			}
			n++
		}
		if first >= time.Second {
			most = max(most, n)
		}
	}
	return most
}

var burstCalls = 500

// headers are both kinds of a 429.
var headers = map[string]bool{"Retry-After": false, "no header": true}

// 500 calls at once all succeed. In no 100 ms after the first second are there more requests than
// the store accepts in a second, also if each attempt waits 5 s for its token.
func TestBurst(t *testing.T) {
	t.Parallel()
	tokens := map[string][]commerce.Option{"": nil, ", slow tokens": source(5 * time.Second)}
	for _, limit := range limits {
		for n, tokens := range map[int]map[string][]commerce.Option{10: tokens, 100: {"": nil}} {
			for header, noHeader := range headers {
				for token, opts := range tokens {
					name := fmt.Sprintf("%s of %d, %s%s", limit.name, n, header, token)
					synctest.Test(t, func(t *testing.T) {
						s, b := &store{allow: limit.new(n), noHeader: noHeader}, &burst{calls: burstCalls}
						b.run(t.Context(), t, s.send, opts...)
						inShort, last := most(b.sent), b.sent[len(b.sent)-1]
						t.Logf("%s: at most %d requests in 100 ms, %d refused, %v", name, inShort, s.refused, last)
						if inShort > n || len(b.errs) > 0 {
							t.Errorf("%s: %d requests in 100 ms, %d errors, want at most %d and 0", name, inShort, len(b.errs), n)
						}
					})
				}
			}
		}
	}
}

// Of 500 calls that have 2 s, a store of 10 requests a second serves nearly as many as it can.
func TestBurst_deadline(t *testing.T) {
	t.Parallel()
	for header, noHeader := range headers {
		synctest.Test(t, func(t *testing.T) {
			s, b := &store{allow: limits[0].new(10), noHeader: noHeader}, &burst{calls: burstCalls}
			ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
			defer cancel()
			b.run(ctx, t, s.send)
			least := map[bool]int{false: 20, true: 28}[noHeader]
			t.Logf("%s: %d of %d", header, b.calls-len(b.errs), b.calls)
			if n := 500 - len(b.errs); n < least {
				t.Errorf("%s: %d calls succeed, want at least %d", header, n, least)
			}
		})
	}
}

// If the store accepts nothing, all calls end in ErrRateLimited within five minutes.
func TestBurst_acceptsNothing(t *testing.T) {
	t.Parallel()
	for _, retryAfter := range []string{"", "1", "20", "86400"} {
		synctest.Test(t, func(t *testing.T) {
			b, start := &burst{calls: burstCalls}, time.Now()
			b.run(t.Context(), t, func(req *http.Request) (*http.Response, error) {
				if retryAfter == "" {
					return status(http.StatusTooManyRequests)(req)
				}
				return status(http.StatusTooManyRequests, retryAfter)(req)
			})
			took := time.Since(start)
			t.Logf("Retry-After %q: %v, %d requests", retryAfter, took, len(b.sent))
			for _, err := range b.errs {
				if !errors.Is(err, commerce.ErrRateLimited) {
					t.Errorf("Retry-After %q: %v, want ErrRateLimited", retryAfter, err)
				}
			}
			if took > 5*time.Minute || len(b.errs) != b.calls {
				t.Errorf("Retry-After %q: %d errors after %v, want %d in 5m", retryAfter, len(b.errs), took, b.calls)
			}
		})
	}
}

// Only the call that is told to wait for a day fails; the others wait for MaxBackoff.
func TestBurst_day(t *testing.T) {
	t.Parallel()
	for header, noHeader := range headers {
		synctest.Test(t, func(t *testing.T) {
			s, b := &store{allow: limits[0].new(10), noHeader: noHeader}, &burst{calls: burstCalls}
			var first sync.Once
			b.run(t.Context(), t, func(req *http.Request) (*http.Response, error) {
				resp, err := s.send(req)
				if resp.StatusCode == http.StatusTooManyRequests {
					first.Do(func() { resp.Header.Set("Retry-After", "86400") })
				}
				return resp, err
			})
			if len(b.errs) != 1 || !errors.Is(b.errs[0], commerce.ErrRateLimited) {
				t.Errorf("%s: %d errors, want one: %v", header, len(b.errs), b.errs)
			}
		})
	}
}
