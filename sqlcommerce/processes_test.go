//go:build unix

package sqlcommerce_test

import (
	"net/http"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/commerce-go/commerce"
	"github.com/commerce-go/commerce/commercetest"
)

// A process is killed, or stopped and goes on, while it holds the lock.
func TestLocker_process(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		kill       bool
		stopped    time.Duration
		next, lost bool // another has the lock meanwhile; the process says that it has lost it
	}{
		"killed":                            {kill: true, next: true},
		"stopped shortly":                   {stopped: expiry / 2},
		"stopped longer than Expiry":        {stopped: expiry * 11 / 10, lost: true},
		"stopped, and another has the lock": {stopped: expiry * 2, next: true, lost: true},
	} {
		t.Run(strings.ReplaceAll(name, " ", "_"), func(t *testing.T) {
			t.Parallel()
			eachDatabase(t, func(t *testing.T, d database) {
				l, holder := d.locker(t, d.open(t)), d.start(t, "hold")
				holder.expect(t, "locked <nil>")
				stopped := time.Now()
				if tt.kill {
					holder.signal(t, syscall.SIGKILL)
				} else {
					holder.signal(t, syscall.SIGSTOP)
				}
				unlock := func() {}
				if tt.next {
					var took time.Duration
					_, unlock, took = lock(t, l, cart)
					t.Logf("the next one has the lock after %v, with Expiry %v", took, expiry)
					if took < expiry*9/10 || took > expiry*2 {
						t.Errorf("the next one has the lock after %v, want %v to %v", took, expiry, expiry*5/4)
					}
				}
				if tt.kill {
					return
				}
				time.Sleep(time.Until(stopped.Add(tt.stopped)))
				holder.signal(t, syscall.SIGCONT)
				holder.expect(t, map[bool]string{true: "lost true", false: "lost false"}[tt.lost])
				time.Sleep(expiry)
				unlock()
				if !tt.lost {
					holder.signal(t, syscall.SIGCONT)
					holder.expect(t, "lost false")
				} else if _, _, took := lock(t, l, cart); took > expiry/2 {
					t.Errorf("the lock is free after %v, want at once", took)
				}
			})
		})
	}
}

// shop is a store with a cart, and counts its requests that overlap. Writes by method meet the
// fault, and arrive.
type shop struct {
	*commercetest.Store
	id               string
	arrived          chan bool
	inside, overlaps atomic.Int64
}

func newShop(t *testing.T, method string, fault commercetest.Fault) *shop {
	t.Helper()
	s := &shop{arrived: make(chan bool, 1000)}
	s.Store = commercetest.New(t, commercetest.Config{
		DiscountsEnabled: true, AfterRequest: func(*commercetest.Store, commercetest.Request) { s.inside.Add(-1) },
	})
	fault.Times = -1
	fault.Match = func(in commercetest.Request) bool {
		if s.inside.Add(1) > 1 {
			s.overlaps.Add(1)
		}
		if in.Method == method {
			s.arrived <- true
		}
		return in.Method == method
	}
	s.Inject(fault)
	s.id = s.AddCart(commerce.CartItemRef{})
	s.AddDiscount(s.id, commerce.CustomDiscount{
		Amount: commerce.Money{Amount: commerce.NewDecimal(-1)}, DiscountEngine: "engine", ExternalID: "unwanted",
	})
	return s
}

// next sends the signal to a process in the middle of its first write, while the next one waits for
// its turn.
func (s *shop) next(t *testing.T, d database, sig syscall.Signal) *process {
	t.Helper()
	child := d.start(t, "shop", s.URL(), s.id)
	client, err := newClient(s.URL(), d.locker(t, d.open(t)))
	<-s.arrived
	if child.signal(t, sig); err == nil {
		err = setDiscount(t.Context(), client, s.id)
	}
	if err != nil {
		t.Errorf("the next process: got %v, want no error", err)
	}
	return child
}

// check fails if requests overlapped, or the cart has another discount than the wanted one.
func (s *shop) check(t *testing.T) {
	t.Helper()
	list := s.Discounts(s.id)
	if s.overlaps.Load() > 0 || len(list) != 1 || list[0].ExternalID != "wanted" {
		t.Errorf("%d overlaps, and the discounts %+v; want none, and the wanted one", s.overlaps.Load(), list)
	}
}

// The write of a process that was killed arrives before the next one looks at the cart.
func TestShop_killed(t *testing.T) {
	t.Parallel()
	eachDatabase(t, func(t *testing.T, d database) {
		s := newShop(t, http.MethodDelete, commercetest.Fault{Late: true, Delay: expiry * 4 / 5})
		s.next(t, d, syscall.SIGKILL)
		s.check(t)
	})
}

// A process that was stopped between two writes begins no second one.
func TestShop_stopped(t *testing.T) {
	t.Parallel()
	eachDatabase(t, func(t *testing.T, d database) {
		s := newShop(t, http.MethodDelete, commercetest.Fault{Apply: true, Delay: time.Second})
		child := s.next(t, d, syscall.SIGSTOP)
		before := len(s.Requests())
		child.signal(t, syscall.SIGCONT)
		child.expect(t, "ErrLock true, unknown")
		if after := len(s.Requests()); after != before {
			t.Errorf("it sent %d requests after it was stopped, want none", after-before)
		}
		s.check(t)
	})
}

// Two processes take turns.
func TestShop_turns(t *testing.T) {
	t.Parallel()
	eachDatabase(t, func(t *testing.T, d database) {
		s := newShop(t, http.MethodPut, commercetest.Fault{Delay: 2 * time.Millisecond})
		one, two := d.start(t, "write", s.URL(), s.id), d.start(t, "write", s.URL(), s.id)
		one.expect(t, "ErrLock false, applied")
		two.expect(t, "ErrLock false, applied")
		if s.check(t); len(s.arrived) != 400 {
			t.Errorf("%d writes, want 400", len(s.arrived))
		}
	})
}
