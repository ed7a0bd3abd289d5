package queues

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/commerce-go/commerce"
	"github.com/commerce-go/commerce/commercetest"
)

// newSlowShop returns a shop whose first add is applied late. All other requests take a second.
func newSlowShop(t *testing.T, late time.Duration) *shop {
	t.Helper()
	s := newShop(t, commerce.CartItemRef{})
	s.store.Inject(commercetest.Fault{Operation: commercetest.OpAdd, Late: true, Delay: late})
	s.store.Inject(commercetest.Fault{Delay: time.Second, Times: -1})
	return s
}

// A worker is shut down at any time of a run in which an add is applied late, and another run
// follows.
func TestEnsure_shutdown(t *testing.T) {
	t.Parallel()
	for _, late := range []time.Duration{0, 3, 8, 10, 15, 20} {
		for _, at := range []time.Duration{0, 500, 1000, 1500, 2500, 4000, 8000, 9500, 11_500, 12_500, 20_000} {
			for _, isChanged := range []bool{false, true} {
				late, at := late*time.Second, at*time.Millisecond
				t.Run(fmt.Sprintf("late %v, shut down after %v, changed %t", late, at, isChanged), func(t *testing.T) {
					t.Parallel()
					synctest.Test(t, func(t *testing.T) {
						s := newSlowShop(t, late)
						ctx, shutDown := context.WithCancel(t.Context())
						defer time.AfterFunc(at, func() {
							shutDown()
							if isChanged {
								s.set()
							}
						}).Stop()
						err := s.carts.ensure(ctx, s.cart)
						for runs := 0; ; runs++ {
							if err == nil {
								s.checkSettled(t, fmt.Sprintf("run %d", runs+1))
							}
							if runs == 20 || err == nil && ctx.Err() != nil {
								break
							}
							<-time.After(3300 * time.Millisecond)
							err = s.carts.ensure(t.Context(), s.cart)
						}
						if err != nil {
							t.Errorf("the last run returned %v", err)
						}
					})
				})
			}
		}
	}
}

// A run whose Deadline ends while an add is applied late keeps the cart.
func TestEnsure_deadline(t *testing.T) {
	t.Parallel()
	for _, late := range []time.Duration{3, 8, 10, 15, 20} {
		t.Run((late * time.Second).String(), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := newShop(t, commerce.CartItemRef{})
				s.store.Inject(commercetest.Fault{Operation: commercetest.OpAdd, Late: true, Delay: late * time.Second})
				s.carts.Deadline = 2 * time.Second
				if err := s.carts.ensure(t.Context(), s.cart); !errors.Is(err, commerce.ErrOutcomeUnknown) {
					t.Errorf("the first run returned %v, want ErrOutcomeUnknown", err)
				}
				s.set()
				s.carts.Deadline = time.Minute
				if err := s.carts.ensure(t.Context(), s.cart); err != nil {
					t.Error(err)
				}
				s.checkSettled(t, "the second run")
			})
		})
	}
}

// A worker that is shut down ends what it has begun, and begins nothing.
func TestEnsure_ends(t *testing.T) {
	t.Parallel()
	for name, isBusy := range map[string]bool{"begun": false, "waits for the lock": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := newShop(t, commerce.CartItemRef{})
				s.store.Inject(commercetest.Fault{Operation: commercetest.OpAdd, Delay: 2 * time.Second})
				want, wantErr := 2*time.Second, error(nil)
				if isBusy {
					if _, _, err := s.carts.Locker.Lock(t.Context(), "jobs/"+s.cart); err != nil {
						t.Fatal(err)
					}
					want, wantErr = time.Second, context.Canceled
				}
				ctx, shutDown := context.WithCancel(t.Context())
				time.AfterFunc(time.Second, shutDown)
				start := time.Now()
				err := s.carts.ensure(ctx, s.cart)
				if took := time.Since(start); took != want || !errors.Is(err, wantErr) {
					t.Errorf("got %v after %v, want %v after %v", err, took, wantErr, want)
				}
			})
		})
	}
}

// A process is killed at any time of a run in which an add is applied late. Its lock expires at the
// earliest 1.4 Grace after its last request, see rediscommerce.Locker: it was extended at most a
// fifth of its Expiry before, and others wait for nine tenths.
func TestEnsure_killed(t *testing.T) {
	t.Parallel()
	for _, late := range []time.Duration{0, 3, 8, 10, 14} {
		for _, at := range []time.Duration{500, 1500, 2500, 8000, 11_500, 12_500} {
			for _, isChanged := range []bool{false, true} {
				late, at := late*time.Second, at*time.Millisecond
				t.Run(fmt.Sprintf("late %v, killed after %v, changed %t", late, at, isChanged), func(t *testing.T) {
					t.Parallel()
					synctest.Test(t, func(t *testing.T) {
						s := newSlowShop(t, late)
						killed, kill := context.WithCancel(t.Context())
						locker, dead := commercetest.NewLocker(), *s.carts
						s.carts.Locker, dead.Locker = locker, locker
						mortal := &http.Client{Transport: mortal{killed, s.store.Transport()}}
						dead.Client = s.store.Client(commerce.WithHTTPClient(mortal))
						done := make(chan struct{})
						go func() {
							defer close(done)
							_ = dead.ensure(t.Context(), s.cart)
						}()
						<-time.After(at)
						kill()
						if isChanged {
							s.set()
						}
						time.AfterFunc(s.carts.Grace*14/10, func() { locker.Lose("jobs/" + s.cart) })
						<-time.After(time.Second)
						for s.carts.ensure(t.Context(), s.cart) != nil {
							<-time.After(3300 * time.Millisecond)
						}
						s.checkSettled(t, "the run after that")
						<-done
					})
				})
			}
		}
	}
}

// mortal is the transport of a process that may be killed.
type mortal struct {
	killed context.Context
	http.RoundTripper
}

func (m mortal) RoundTrip(req *http.Request) (*http.Response, error) {
	if m.killed.Err() != nil {
		return nil, m.killed.Err()
	}
	return m.RoundTripper.RoundTrip(req)
}

// checkSettled checks that the cart has what is wished, and keeps it as long as that is wished.
func (s *shop) checkSettled(t *testing.T, when string) {
	t.Helper()
	wish, err := s.read(context.Background(), s.cart)
	if err != nil {
		t.Fatal(err)
	}
	want := ""
	if len(wish.Discounts) > 0 {
		want = "-1"
	}
	for range 60 {
		got := s.amounts()
		if now, _ := s.read(context.Background(), s.cart); now.Version != wish.Version {
			return
		}
		if got != want {
			t.Errorf("%s returned nil, and then the cart has %q, want %q", when, got, want)
			return
		}
		<-time.After(time.Second)
	}
}

// Each queue runs a job that is shut down in the middle of an add, and runs it again.
func TestWorkers_shutdown(t *testing.T) {
	t.Parallel()
	for _, q := range queues {
		for _, isChanged := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, changed %t", q.name, isChanged), func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					s := newShop(t, commerce.CartItemRef{})
					s.store.Inject(commercetest.Fault{Operation: commercetest.OpAdd, Late: true, Delay: 8 * time.Second})
					ctx, shutDown := context.WithTimeout(t.Context(), time.Second)
					defer shutDown()
					if isChanged {
						time.AfterFunc(time.Second, func() { s.set() })
					}
					verdict, err := q.run(ctx, t, s.carts, Job{Cart: s.cart, Version: 1})
					for runs := 0; verdict != "done"; runs++ {
						if runs == 9 {
							t.Fatalf("%q and %v after 10 runs", verdict, err)
						}
						<-time.After(3300 * time.Millisecond)
						verdict, err = q.run(t.Context(), t, s.carts, Job{Cart: s.cart, Version: 1})
					}
					s.checkSettled(t, "the last run")
				})
			})
		}
	}
}
