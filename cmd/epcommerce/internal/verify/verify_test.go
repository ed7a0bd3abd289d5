package verify

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"github.com/commerce-go/commerce/commercetest"
)

// run asks a store in memory about facts. It must be called in a bubble of synctest.
func run(ctx context.Context, t *testing.T, base http.RoundTripper, o Options) *Report {
	t.Helper()
	report, err := Run(ctx, commercetest.NewStore(commercetest.Config{}).Client(), base, o, func(Result) {})
	if err != nil {
		t.Fatal(err)
	}
	return report
}

// seeded returns a store with subscriptions.
func seeded(t *testing.T, cfg commercetest.Config) *commercetest.Store {
	t.Helper()
	s := commercetest.New(t, cfg)
	s.Seed(13)
	return s
}

// transport is a function that is a transport.
type transport func(*http.Request) (*http.Response, error)

func (f transport) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// lose sends a request, and drops the response.
func lose(s *commercetest.Store, r *http.Request) {
	if resp, err := s.Transport().RoundTrip(r); err == nil {
		_ = resp.Body.Close()
	}
}

// results returns the facts with a verdict, with what was observed.
func (r *Report) results(v Verdict) (list []string) {
	for _, in := range r.Results {
		if in.Verdict == v {
			list = append(list, in.Fact+": "+in.Observed)
		}
	}
	return list
}

func TestRun_bothGenerations(t *testing.T) {
	t.Parallel()
	for _, generation := range []commercetest.Generation{commercetest.FirstGeneration, commercetest.SecondGeneration} {
		t.Run(generation.String(), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := seeded(t, commercetest.Config{Generation: generation})
				r := run(t.Context(), t, s.Transport(), Options{})
				for _, v := range []Verdict{Allowed, Differs} {
					if list := r.results(v); list != nil {
						t.Errorf("%s: %v, want none", v, list)
					}
				}
				if n := r.Count(Same); n < 80 || r.Unasked() > 0 || r.Requests > maxRequests {
					t.Errorf("%d facts are the same, %d could not be asked, %d requests; want at least 80, 0, at most %d",
						n, r.Unasked(), r.Requests, maxRequests)
				}
				if r.Generation != generation.String() || r.Method != "line" {
					t.Errorf("got the generation %s and the method %s, want %v and line", r.Generation, r.Method, generation)
				}
				if s.Carts() != nil || r.Left != nil {
					t.Errorf("the carts %v and %v are left, want none", s.Carts(), r.Left)
				}
				t.Logf("%d facts, %d requests, %v", r.Count(Same), r.Requests, r.Took)
			})
		})
	}
}

// Each fact can be asked alone, with what it needs, in as many requests and carts as it states.
func TestRun_only(t *testing.T) {
	t.Parallel()
	const first = 8 // requests of the first facts, if the totals of a cart do not lag
	for i, name := range unflagged() {
		f := facts[i]
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s, o := seeded(t, commercetest.Config{}), Options{Only: []string{f.name}}
				r := run(t.Context(), t, s.Transport(), o)
				carts, requests := map[string]bool{}, 0
				for _, in := range s.Requests() {
					_, id, _ := strings.Cut(in.Path, cartPrefix)
					id, rest, _ := strings.Cut(id, "/")
					carts[id] = id != ""
					if in.Method != http.MethodDelete || rest != "" {
						requests++
					}
				}
				delete(carts, "")
				last := r.Results[len(r.Results)-1]
				if last.Fact != f.name && len(r.Results) > len(firstFacts) || last.Verdict != Same {
					t.Errorf("got %+v, want %s to be the same", last, f.name)
				}
				most := first
				if len(r.Results) > len(firstFacts) {
					most += f.requests + shares[f.uses].requests
				}
				if requests > most || len(carts) > o.Carts() {
					t.Errorf("%d requests, %d carts; want at most %d, %d", requests, len(carts), most, o.Carts())
				}
			})
		})
	}
}

// All facts fit into one run, with a burst that a development store refuses.
func TestFacts_requests(t *testing.T) {
	t.Parallel()
	for _, f := range facts {
		if _, isKnown := shares[f.uses]; f.uses != "" && !isKnown {
			t.Errorf("%s uses %q, which is none of shares", f.name, f.uses)
		}
	}
	all := Options{Promotion: "x", Currency: "x", Shipping: true, Subscription: uuid.NewString(), Destroy: true, Burst: 40}
	if err := all.Validate(); err != nil {
		t.Error(err)
	}
	t.Logf("%d facts: %+v; without flags %+v", len(facts), all.needs(), new(Options).needs())
	for _, o := range []Options{
		{Burst: maxBurst}, {Burst: -1}, {Only: []string{"f-429"}, Burst: maxBurst + 1}, {Destroy: true}, {Subscription: "x"},
	} {
		if o.Validate() == nil {
			t.Errorf("%+v is valid, want an error", o)
		}
	}
	if o := (Options{Only: []string{"f-429", "f-429-reset"}, Burst: maxBurst}); o.Validate() != nil {
		t.Error(o.Validate())
	}
}

// interrupt is a transport that ends a context at a request, in one of these ways.
type interrupt struct {
	store  *commercetest.Store
	at     int64
	way    string
	cancel context.CancelFunc
	n      atomic.Int64
}

func (i *interrupt) RoundTrip(r *http.Request) (*http.Response, error) {
	if i.n.Add(1) != i.at {
		return i.store.Transport().RoundTrip(r)
	}
	i.cancel()
	detached := r.Clone(context.WithoutCancel(r.Context()))
	switch i.way {
	case "before the request":
	case "before the response":
		lose(i.store, detached)
	case "before a late request":
		go func() {
			time.Sleep(time.Second) // in a bubble
			lose(i.store, detached)
		}()
	}
	return nil, context.Canceled
}

// Ctrl-C at 21 moments, 7 of each kind.
func TestRun_interrupted(t *testing.T) {
	t.Parallel()
	ways := []string{"before the request", "before the response", "before a late request"}
	for moment := range 21 {
		way := ways[moment%len(ways)]
		t.Run(fmt.Sprint(moment, " ", way), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithCancel(t.Context())
				s := seeded(t, commercetest.Config{})
				r := run(ctx, t, &interrupt{store: s, at: 1 + int64(moment)*9, way: way, cancel: cancel}, Options{})
				synctest.Wait()
				if !r.Interrupted || len(r.Results) != len(facts) || r.Left != nil || s.Carts() != nil {
					t.Errorf("interrupted %t, %d results, left %v, carts %v", r.Interrupted, len(r.Results), r.Left, s.Carts())
				}
			})
		})
	}
}

// No lost response leaves a cart or shows a difference, whatever request it is of. Every second
// request takes effect a second later. The facts are asked in parts, which is faster.
func TestRun_lostResponse(t *testing.T) {
	t.Parallel()
	var total atomic.Int64
	t.Cleanup(func() { t.Logf("%d requests lost their responses", total.Load()) })
	for part := range slices.Chunk(unflagged(), 12) {
		t.Run(part[0], func(t *testing.T) {
			t.Parallel()
			for lost, sent := int64(1), int64(1); lost <= sent; lost++ {
				total.Add(1)
				synctest.Test(t, func(t *testing.T) {
					s := seeded(t, commercetest.Config{})
					var n atomic.Int64
					r := run(t.Context(), t, transport(func(r *http.Request) (*http.Response, error) {
						if n.Add(1) != lost {
							return s.Transport().RoundTrip(r)
						}
						detached := r.Clone(context.WithoutCancel(r.Context()))
						go func() {
							time.Sleep(time.Duration(lost%2) * time.Second) // in a bubble
							lose(s, detached)
						}()
						time.Sleep(time.Millisecond)
						return nil, errors.New("lost")
					}), Options{Only: part})
					time.Sleep(time.Second)
					if list := r.results(Differs); list != nil || r.Left != nil || s.Carts() != nil {
						t.Errorf("response %d is lost: differs %v, left %v, carts %v; want none", lost, list, r.Left, s.Carts())
					}
					sent = n.Load()
				})
			}
		})
	}
}

// unflagged returns the names of the facts that need no flag.
func unflagged() (names []string) {
	for _, f := range facts {
		if f.flag == "" {
			names = append(names, f.name)
		}
	}
	return names
}

func TestRun_refused(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := seeded(t, commercetest.Config{})
		s.Inject(commercetest.Fault{Operation: commercetest.OpList, Status: 429, Times: -1})
		r := run(t.Context(), t, s.Transport(), Options{})
		refused := 0
		for _, in := range s.Requests() {
			if in.Status == http.StatusTooManyRequests {
				refused++
			}
		}
		if refused != maxRefusals || r.Count(Same) != len(firstFacts) || s.Carts() != nil {
			t.Errorf("%d refusals, %d facts the same, carts %v; want %d, %d, none",
				refused, r.Count(Same), s.Carts(), maxRefusals, len(firstFacts))
		}
	})
}

// A pause that is refused does not keep its carts.
func TestRun_pauseRefused(t *testing.T) {
	t.Parallel()
	for _, status := range []int{http.StatusForbidden, http.StatusInternalServerError} {
		synctest.Test(t, func(t *testing.T) {
			s := seeded(t, commercetest.Config{})
			o := Options{Subscription: everything(s).Subscription}
			s.Inject(commercetest.Fault{Operation: commercetest.OpChangeState, Status: status, Times: -1})
			report := run(t.Context(), t, s.Transport(), o)
			if carts := s.Carts(); len(carts) > 0 {
				t.Errorf("%d: left %v, carts %v", status, report.Left, carts)
			}
		})
	}
}

// A store that does not respond ends it soon.
func TestRun_silent(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		run(t.Context(), t, transport(func(r *http.Request) (*http.Response, error) {
			<-r.Context().Done()
			return nil, r.Context().Err()
		}), Options{})
		if took := time.Since(start); took > 3*time.Minute {
			t.Errorf("took %v", took)
		}
	})
}

// A cart that cannot be deleted is named, after 30 s.
func TestRun_left(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := seeded(t, commercetest.Config{})
		s.Inject(commercetest.Fault{Operation: commercetest.OpDeleteCart, Status: 503, Times: -1})
		start := time.Now()
		r := run(t.Context(), t, s.Transport(), Options{Only: []string{"f-add"}})
		diff, took := cmp.Diff(s.Carts(), r.Left), time.Since(start)
		if diff != "" || r.Left == nil || took > removalTime+5*time.Second {
			t.Errorf("after %v, carts that are left (-store +report):\n%s", took, diff)
		}
	})
}

// At most 20 requests start in any second, however fast the store is.
func TestRun_rate(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := seeded(t, commercetest.Config{})
		var mu sync.Mutex
		var starts []time.Time
		run(t.Context(), t, transport(func(r *http.Request) (*http.Response, error) {
			mu.Lock()
			starts = append(starts, time.Now())
			mu.Unlock()
			return s.Transport().RoundTrip(r)
		}), Options{})
		for i := perSecond; i < len(starts); i++ {
			if d := starts[i].Sub(starts[i-perSecond]); d < time.Second {
				t.Fatalf("%d requests start within %v", perSecond+1, d)
			}
		}
	})
}

// A store that responds to everything in one way has few facts: no question is answered by nothing.
func TestRun_nothing(t *testing.T) {
	t.Parallel()
	const sub = `{"id":"1","sku":"verify-one","type":"custom_item","attributes":{"account_id":"1"}}`
	lists := []string{
		"f-accounts-listed", "f-all-states", "f-in", "f-in-quotes", "f-invoices", "f-joined", "f-no-total",
		"f-offset-10000", "f-page-length", "f-quotes", "f-unquoted",
	}
	for name, tt := range map[string]struct {
		status int
		body   string
		want   []string
	}{
		"empty object": {status: 200, body: `{}`},
		"empty list": {
			status: 200, body: `{"data":[]}`, want: []string{"f-invoices", "f-offset-10000", "f-unquoted"},
		},
		"records": {status: 200, body: `{"data":[` + sub + `]}`, want: lists},
		"a cart":  {status: 201, body: `{"data":[` + sub + `],"included":{"items":[` + sub + `]}}`, want: lists},
		"refused": {
			status: 400, body: `{"errors":[{"title":"Bad Request"}]}`, want: []string{
				"f-bad-filter", "f-capital-operator", "f-errors", "f-offset-10001", "f-page-0", "f-page-101",
				"f-price-below-zero", "f-unknown-filter",
			},
		},
		"forbidden": {status: 403, body: `{"errors":[{"title":"Forbidden","status":"403"}]}`},
		"not found": {
			status: 404, body: `{"errors":[{"title":"Not Found","status":"404"}]}`,
			want: []string{"f-errors", "f-get-unknown"},
		},
		"a gateway": {status: 502, body: `<html>`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				base := transport(func(r *http.Request) (*http.Response, error) {
					header := http.Header{"Content-Type": {"application/json"}}
					return &http.Response{
						StatusCode: tt.status, Header: header, Body: io.NopCloser(strings.NewReader(tt.body)), Request: r,
					}, nil
				})
				var same []string
				for _, in := range run(t.Context(), t, base, Options{}).Results {
					if in.Verdict == Same {
						same = append(same, in.Fact)
					}
				}
				slices.Sort(same)
				if diff := cmp.Diff(tt.want, same); diff != "" {
					t.Errorf("facts that are the same (-want +got):\n%s", diff)
				}
			})
		})
	}
}
