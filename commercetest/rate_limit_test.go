package commercetest_test

import (
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/commerce-go/commerce"
	"github.com/commerce-go/commerce/commercetest"
)

// TestRateLimit holds the limit to the nanosecond.
func TestRateLimit(t *testing.T) {
	t.Parallel()
	type step struct {
		wait    time.Duration
		send    int
		allowed int
	}
	for _, tt := range []struct {
		name        string
		rate, burst int
		steps       []step
	}{
		{"burst is a second's worth", 25, 0, []step{{0, 30, 25}}},
		{"one each interval", 25, 6, []step{{0, 8, 6}, {40*time.Millisecond - 1, 1, 0}, {1, 2, 1}, {40 * time.Millisecond, 2, 1}}},
		{"interval that is no whole nanoseconds", 3, 1, []step{{0, 2, 1}, {333_333_333, 1, 0}, {1, 2, 1}}},
		{"parts of an interval are kept", 3, 2, []step{{0, 2, 2}, {500 * time.Millisecond, 2, 1}, {166_666_666, 1, 0}, {1, 1, 1}}},
		{"refused ones cost nothing", 1, 1, []step{{0, 100, 1}, {time.Second, 100, 1}}},
		{"two intervals", 10, 5, []step{{0, 5, 5}, {200 * time.Millisecond, 5, 2}}},
		{"no more than the burst after a rest", 10, 5, []step{{0, 5, 5}, {1000 * time.Hour, 10, 5}}},
		{"no more than the burst after a short rest", 10, 5, []step{{0, 5, 5}, {2 * time.Second, 20, 5}}},
		{"burst above the rate", 1, 3, []step{{0, 4, 3}, {time.Second, 2, 1}, {2 * time.Second, 3, 2}}},
		{"largest", 1_000_000, 1_000_000, []step{{0, 10, 10}, {1, 10, 10}}},
		{"none", 0, 0, []step{{0, 200, 200}}},
		{"burst without a rate", 0, 1, []step{{0, 200, 200}}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				store := commercetest.NewStore(commercetest.Config{RateLimit: tt.rate, RateBurst: tt.burst})
				sent := 0
				for i, step := range tt.steps {
					time.Sleep(step.wait)
					got := 0
					for range step.send {
						a, err := overTransport(t, store, get("/v2/settings"))
						if err != nil {
							t.Fatal(err)
						}
						switch a.Status {
						case 200:
							got++
						case 429:
						default:
							t.Errorf("status %d", a.Status)
						}
						sent++
					}
					if got != step.allowed {
						t.Errorf("step %d: %d of %d let through, want %d", i, got, step.send, step.allowed)
					}
				}
				if got := len(store.Requests()); got != sent {
					t.Errorf("%d requests recorded of %d", got, sent)
				}
			})
		})
	}
}

// refusedBy sends a request until it is refused, which the first or second
// should be: over a connection a second can pass in between.
func refusedBy(t *testing.T, store *commercetest.Store, send func(*commercetest.Store, string) wireAnswer, raw string) wireAnswer {
	t.Helper()
	for range 100 {
		if a := send(store, raw); a.Status == 429 {
			return a
		}
	}
	t.Fatal("never refused")
	return wireAnswer{}
}

func TestRefusal(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name  string
		after time.Duration
		want  []string
	}{
		{"default", 0, nil},
		{"whole seconds", 7 * time.Second, []string{"7"}},
		{"rounded up", 7*time.Second + 1, []string{"8"}},
		{"below a second", time.Nanosecond, []string{"1"}},
		{"days", 48 * time.Hour, []string{"172800"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			eachWay(t, func(t *testing.T, send func(*commercetest.Store, string) wireAnswer) {
				store := commercetest.NewStore(commercetest.Config{RateLimit: 1, RetryAfter: tt.after})
				a := refusedBy(t, store, send, get(listPath))
				if a.Body != "Too many requests\n" || a.Header.Get("Content-Type") != "text/plain; charset=utf-8" {
					t.Errorf("body %q of type %q", a.Body, a.Header.Get("Content-Type"))
				}
				if diff := cmp.Diff(tt.want, a.Header["Retry-After"]); diff != "" {
					t.Errorf("Retry-After (-want +got):\n%s", diff)
				}
				requests := store.Requests()
				if got, want := a.Header.Get("X-Request-Id"), requests[len(requests)-1].ID; got != want {
					t.Errorf("X-Request-Id %q, want that of the last request recorded, %q", got, want)
				}
			})
		})
	}
}

// TestRefusalHasNoEffect: the refused request adds nothing and meets no fault;
// token requests are neither refused nor counted.
func TestRefusalHasNoEffect(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store, path := newCart(commercetest.Config{RateLimit: 1})
		store.Inject(commercetest.Fault{Operation: commercetest.OpAdd, After: 1, Status: 503})
		add := post(path+"/custom-discounts", bulk(false, onCart("a")))
		send := func(raw string) int {
			t.Helper()
			a, err := overTransport(t, store, raw)
			if err != nil {
				t.Fatal(err)
			}
			return a.Status
		}
		var got []int
		for range 3 {
			got = append(got, send(form(goodForm)), send(add), send(add), send(get("/nowhere")))
			time.Sleep(time.Second)
		}
		want := []int{
			200, 201, 429, 429,
			200, 503, 429, 429, // the second that was let through meets the fault
			200, 201, 429, 429,
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("statuses (-want +got):\n%s", diff)
		}
		if got := len(store.Discounts(strings.TrimPrefix(path, "/v2/carts/"))); got != 2 {
			t.Errorf("%d discounts in the cart, want 2", got)
		}
		if got := len(store.Requests()); got != 12 {
			t.Errorf("%d requests recorded, want 12", got)
		}
		send(get("/nowhere")) // takes the place of one, though there is no such endpoint
		if got := send(add); got != 429 {
			t.Errorf("status %d after a request to nowhere, want 429", got)
		}
	})
}

// TestClientUnderRateLimit walks, and gives up, against a store that refuses.
func TestClientUnderRateLimit(t *testing.T) {
	t.Parallel()
	for _, after := range []time.Duration{0, time.Second} {
		t.Run(after.String(), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				store := commercetest.NewStore(commercetest.Config{RateLimit: 5, RateBurst: 2, RetryAfter: after})
				store.Seed(300)
				opts := &commerce.SubscriptionListOptions{PageSize: 20}
				patient := store.Client(commerce.WithRetry(commerce.RetryPolicy{MaxAttempts: 20})) // backoff is a matter of chance
				subs, err := commerce.Collect(patient.Subscriptions.All(t.Context(), opts))
				if err != nil || len(subs) != 300 {
					t.Errorf("%d subscriptions, error %v", len(subs), err)
				}
				if n := len(store.Requests()); n <= 16 {
					t.Errorf("%d requests: none was refused", n)
				}

				once := store.Client(commerce.WithRetry(commerce.RetryPolicy{MaxAttempts: 1}))
				for range 10 { // no time passes
					if _, err = once.Subscriptions.List(t.Context(), nil); err != nil {
						break
					}
				}
				fault := (*commerce.Error)(nil)
				if !errors.Is(err, commerce.ErrRateLimited) || !errors.As(err, &fault) || fault.RetryAfter != after {
					t.Errorf("error %v, want one that is rate limited, to retry after %v", err, after)
				}
			})
		})
	}
}
