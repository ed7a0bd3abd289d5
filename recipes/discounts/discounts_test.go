package discounts

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/commerce-go/commerce"
	"github.com/commerce-go/commerce/commercetest"
)

const empty = `{"errors":[{"status":"422","title":"Empty cart","detail":"The cart is empty"}]}`

const moon = `{"errors":[{"status":"422","title":"Not today","detail":"The moon is full"}]}`

// rowCase is what happens to the writes of a row, and what becomes of it.
type rowCase struct {
	name    string
	faults  []commercetest.Fault
	want    []int64 // amounts
	during  time.Duration
	done    int64
	adds    int    // requests
	problem string // a part of it
}

func rowCases() []rowCase {
	const add = commercetest.OpAdd
	return []rowCase{
		{name: "no fault", want: []int64{-1, -2}, during: time.Second, done: 1, adds: 1},
		{name: "nothing wanted", during: time.Second, done: 1},
		{
			name: "response lost", faults: []commercetest.Fault{{Operation: add, Apply: true, Cut: true}},
			want: []int64{-1}, during: 15 * time.Second, done: 1, adds: 1,
		},
		{
			name: "request lost", faults: []commercetest.Fault{{Operation: add, Cut: true}},
			want: []int64{-1}, during: time.Minute, done: 1, adds: 2,
		},
		{
			name:   "applied late",
			faults: []commercetest.Fault{{Operation: add, Late: true, Delay: 5 * time.Second, Status: 504}},
			want:   []int64{-1}, during: time.Minute, done: 1, adds: 1,
		},
		{
			name: "service down", faults: []commercetest.Fault{{Status: 503, Times: 4}},
			want: []int64{-1}, during: time.Second, problem: "503",
		},
		{
			name: "service up again", faults: []commercetest.Fault{{Status: 503, Times: 10}},
			want: []int64{-1}, during: time.Minute, done: 1, adds: 1,
		},
		{
			name: "limit reached", want: []int64{-1, -1, -1, -1, -1, -1}, during: 10 * time.Minute, done: 1, adds: 1,
			problem: "Cannot exceed custom discount limit of (5)",
		},
		{
			name:   "refused in unknown words",
			faults: []commercetest.Fault{{Operation: add, Status: 422, Body: moon, Times: -1}},
			want:   []int64{-1}, during: 10 * time.Minute, done: 1, adds: 1, problem: "The moon is full",
		},
	}
}

// What becomes of a row, whatever happens to the writes of its worker.
func TestWorker(t *testing.T) {
	t.Parallel()
	const add = commercetest.OpAdd
	for _, tt := range rowCases() {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				tb := newTable(t)
				tb.store.Inject(tt.faults...)
				cart := tb.addCart(tt.want...)
				tb.work(tt.during)
				s := tb.state(cart)
				if s.Done != tt.done || !strings.Contains(s.Problem, tt.problem) || tt.problem == "" && s.Problem != "" {
					t.Errorf("got %+v, want done %d and a problem with %q", s, tt.done, tt.problem)
				}
				if n := count(tb.store, add); n != tt.adds {
					t.Errorf("%d requests add discounts, want %d", n, tt.adds)
				}
				if got, want := amounts(tb.store, cart), wanted(tt.want...); tt.problem == "" && got != want {
					t.Errorf("the cart has %q, want %q", got, want)
				}
			})
		})
	}
}

// Pauses grow from 2 s to 10 minutes.
func TestWorker_pauses(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		once := commerce.WithRetry(commerce.RetryPolicy{MaxAttempts: 1})
		tb := newTable(t, once)
		tb.store.Inject(commercetest.Fault{Status: http.StatusServiceUnavailable, Times: -1})
		tb.addCart(-1)
		tb.work(40 * time.Minute)
		requests := tb.store.Requests()
		longest := time.Duration(0)
		for i := range len(requests) - 1 {
			pause := requests[i+1].Time.Sub(requests[i].Time)
			longest = max(longest, pause)
			if floor := min(2*time.Second<<min(i, 10), 5*time.Minute); pause < floor || pause > 10*time.Minute+time.Second {
				t.Errorf("pause %d is %v, want %v to 10m", i, pause, floor)
			}
		}
		if longest < 5*time.Minute {
			t.Errorf("the longest of %d pauses is %v, want 5m to 10m", len(requests)-1, longest)
		}
	})
}

// An empty cart is tried until an hour after the last change of the row.
func TestWorker_emptyCart(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		tb := newTable(t)
		cart := tb.store.AddCart()
		if err := tb.wish(t.Context(), cart, -1); err != nil {
			t.Fatal(err)
		}
		tb.work(2 * time.Minute)
		<-time.After(57 * time.Minute) // nobody works
		tb.work(10 * time.Second)
		if s := tb.state(cart); s.Done != 0 || s.Tries < 4 {
			t.Errorf("before an hour: got %+v, want an open row after several tries", s)
		}
		<-time.After(10 * time.Minute)
		tb.work(10 * time.Second)
		if s := tb.state(cart); s.Done != 1 || !strings.Contains(s.Problem, commerce.ErrEmptyCart.Error()) {
			t.Errorf("after an hour: got %+v, want the empty cart as a problem", s)
		}
	})
}

// No discounts on a cart without items are done, unless one may still be there.
func TestWorker_nothingWanted(t *testing.T) {
	t.Parallel()
	const remove = commercetest.OpDeleteDiscount
	refusedRead := commercetest.Fault{Operation: commercetest.OpCart, Status: 422, Body: empty, Times: -1}
	tests := []struct {
		name    string
		wish    []int64
		left    bool // a discount is on the cart
		fault   commercetest.Fault
		amounts string
		problem string // of an open row
	}{
		{name: "nothing left"},
		{name: "nothing left, amounts of 0", wish: []int64{0, 0}},
		{name: "a discount left", left: true},
		{
			name: "not deleted", left: true, fault: commercetest.Fault{Operation: remove, Status: 422, Body: moon, Times: -1},
			amounts: wanted(-1), problem: "The moon is full",
		},
		{
			name: "in doubt", left: true, fault: commercetest.Fault{Operation: remove, Late: true, Delay: time.Hour, Times: -1},
			amounts: wanted(-1), problem: "may still change the cart",
		},
		{name: "not read", fault: refusedRead, problem: "The cart is empty"},
		{name: "not read after the deletion", left: true, fault: refusedRead, problem: "The cart is empty"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				tb := newTable(t)
				cart := tb.store.AddCart()
				if tt.left {
					d := promos([]int64{-1})[0]
					tb.store.AddDiscount(cart, commerce.CustomDiscount{
						Amount: commerce.Money{Amount: d.Amount}, Description: d.Description, DiscountCode: d.DiscountCode,
						DiscountEngine: d.DiscountEngine, ExternalID: d.ExternalID,
					})
				}
				if fault := tt.fault; fault.Operation != "" {
					fault.Match = func(in commercetest.Request) bool { // reads only of a cart without discounts
						return in.Operation != commercetest.OpCart || len(tb.store.Discounts(cart)) == 0
					}
					tb.store.Inject(fault)
				}
				if err := tb.wish(t.Context(), cart, tt.wish...); err != nil {
					t.Fatal(err)
				}
				tb.work(time.Minute)
				s := tb.state(cart)
				if s.Version != s.Done != (tt.problem != "") || !strings.Contains(s.Problem, tt.problem) ||
					tt.problem == "" && s.Problem != "" {
					t.Errorf("got %+v, want a problem with %q", s, tt.problem)
				}
				if got := amounts(tb.store, cart); got != tt.amounts {
					t.Errorf("the cart has %q, want %q", got, tt.amounts)
				}
			})
		})
	}
}

// A wish with another engine is final, and nothing is written.
func TestWorker_otherEngine(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		tb := newTable(t)
		tb.Engine = "loyalty"
		cart := tb.addCart(-1)
		tb.work(time.Second)
		if s := tb.state(cart); s.Done != 1 || !strings.Contains(s.Problem, "discount_engine") {
			t.Errorf("got %+v, want the engine as a problem", s)
		}
		if got := amounts(tb.store, cart); got != "" {
			t.Errorf("the cart has %q, want nothing", got)
		}
	})
}

// The discounts take no more than the cart costs, also together with those of others. No wish takes
// them off. If others take more, the customer may still fill the cart, until an hour has passed.
func TestWorker_price(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name    string
		others  int64 // of another engine, off a cart of 10000
		wish    []int64
		amounts string
		open    bool // until an hour has passed
	}{
		{name: "as wanted", wish: []int64{-4000, -6000}, amounts: "promo-1:-4000 promo-2:-6000 "},
		{name: "too much", wish: []int64{-4000, -7000}, amounts: "promo-1:-4000 promo-2:-6000 "},
		{name: "with others", others: -9000, wish: []int64{-4000}, amounts: "loyal:-9000 promo-1:-1000 "},
		{name: "none", others: -10, amounts: "loyal:-10 "},
		{name: "none, others take more", others: -10001, amounts: "loyal:-10001 ", open: true},
		{name: "others take more", others: -10001, wish: []int64{-1}, amounts: "loyal:-10001 ", open: true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				tb := newTable(t)
				cart := tb.addCart(-9)
				if tt.others < 0 {
					tb.store.AddDiscount(cart, commerce.CustomDiscount{
						Amount: commerce.Money{Amount: commerce.NewDecimal(tt.others)}, Description: "d", DiscountCode: "c",
						DiscountEngine: "loyalty", ExternalID: "loyal",
					})
				}
				tb.work(time.Second)
				if err := tb.wish(t.Context(), cart, tt.wish...); err != nil {
					t.Fatal(err)
				}
				tb.work(time.Minute)
				if got := amounts(tb.store, cart); got != tt.amounts {
					t.Errorf("the cart has %q, want %q", got, tt.amounts)
				}
				if s := tb.state(cart); s.Version != s.Done != tt.open {
					t.Errorf("got %+v, want an open row: %t", s, tt.open)
				}
				<-time.After(time.Hour)
				tb.work(time.Second)
				s := tb.state(cart)
				if s.Version != s.Done || tt.open != strings.Contains(s.Problem, commerce.ErrBelowZero.Error()) {
					t.Errorf("an hour later: got %+v, want a row that is done, with a problem: %t", s, tt.open)
				}
			})
		})
	}
}

// A wish that changes during the write is carried out next, without a pause.
func TestWorker_newWish(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name  string
		fault commercetest.Fault // of the first write
	}{
		{name: "added"},
		{name: "in doubt", fault: commercetest.Fault{Status: http.StatusServiceUnavailable}},
		{name: "refused", fault: commercetest.Fault{Status: http.StatusUnprocessableEntity, Body: moon}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				tb, fault := newTable(t), tt.fault
				cart := tb.addCart(-1, -2)
				fault.Operation = commercetest.OpAdd
				fault.Match = func(commercetest.Request) bool {
					if tb.state(cart).Version == 1 {
						<-time.After(time.Millisecond) // a change in the same millisecond keeps the pause
						if err := tb.wish(t.Context(), cart, -3); err != nil {
							t.Error(err)
						}
					}
					return true
				}
				tb.store.Inject(fault)
				if err := tb.try(t.Context(), cart); !errors.Is(err, errChanged) {
					t.Errorf("the first try returned %v, want errChanged", err)
				}
				if s := tb.state(cart); s.Version != 2 || s.Done > 1 || s.Tries != 0 {
					t.Errorf("got %+v, want an open row without a failed try", s)
				}
				<-time.After(tb.Grace) // a 503 leaves the write in doubt
				if err := tb.try(t.Context(), cart); err != nil {
					t.Error(err)
				}
				if got := amounts(tb.store, cart); got != wanted(-3) || tb.state(cart).Done != 2 {
					t.Errorf("the cart has %q, the row %+v; want %q, done", got, tb.state(cart), wanted(-3))
				}
			})
		})
	}
}

// A worker that took longer than its claim does not take back what the next one did, and lets the
// cart be looked at again.
func TestWorker_lostClaim(t *testing.T) {
	t.Parallel()
	for _, failed := range []error{nil, commerce.ErrDifferent, commerce.ErrOutcomeUnknown} {
		synctest.Test(t, func(t *testing.T) {
			tb := newTable(t)
			cart := tb.addCart(-1)
			slow, err := tb.claim(t.Context(), "")
			if err != nil {
				t.Fatal(err)
			}
			if err := tb.try(t.Context(), cart); !errors.Is(err, errNone) {
				t.Errorf("a second worker got %v, want errNone", err)
			}
			<-time.After(tb.Deadline + tb.Grace)
			if err := tb.wish(t.Context(), cart, -2); err != nil {
				t.Fatal(err)
			}
			if err := tb.try(t.Context(), cart); err != nil {
				t.Error(err)
			}
			if err := tb.end(t.Context(), slow, failed); !errors.Is(err, errLost) {
				t.Errorf("the slow worker ended with %v, want errLost", err)
			}
			if s := tb.state(cart); s.Version != 3 || s.Done != 2 {
				t.Errorf("got %+v, want version 3, of which 2 are done", s)
			}
		})
	}
}

// After a lost response no worker writes to the cart for a while, although the wish changes.
func TestWorker_grace(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		tb := newTable(t)
		tb.Deadline = time.Second
		tb.store.Inject(commercetest.Fault{Operation: commercetest.OpAdd, Late: true, Delay: 5 * time.Second, Status: 504})
		cart := tb.addCart(-1)
		tb.work(time.Second)
		if err := tb.wish(t.Context(), cart, -2); err != nil {
			t.Fatal(err)
		}
		tb.work(time.Minute)
		if got := amounts(tb.store, cart); got != wanted(-2) || tb.state(cart).Done != 2 {
			t.Errorf("the cart has %q, the row %+v; want %q, done", got, tb.state(cart), wanted(-2))
		}
	})
}

// A cart whose reads hang does not hold up the others.
func TestWorker_hangs(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		tb := newTable(t)
		tb.Rows = 2
		hanging := tb.addCart(-1)
		tb.store.Inject(commercetest.Fault{
			Match: func(in commercetest.Request) bool { return strings.Contains(in.Path, hanging) },
			Delay: time.Hour, Times: -1,
		})
		var carts []string
		for range 50 {
			carts = append(carts, tb.addCart(-1))
		}
		tb.work(time.Second)
		for _, cart := range carts {
			if s := tb.state(cart); s.Done != 1 || s.Problem != "" {
				t.Errorf("got %+v, want a row that is done", s)
			}
		}
		if s := tb.state(hanging); s.Done != 0 || s.Tries != 1 || s.Problem == "" {
			t.Errorf("the cart that hangs: got %+v, want an open row with a problem", s)
		}
	})
}

// hangingDB is a database that does not respond.
type hangingDB struct{}

func (hangingDB) Connect(ctx context.Context) (driver.Conn, error) {
	<-ctx.Done()
	return nil, ctx.Err()
}

func (hangingDB) Driver() driver.Driver { return nil }

// Run ends although the database hangs: at once if no row is claimed, else within the deadline.
func TestWorker_databaseHangs(t *testing.T) {
	t.Parallel()
	for name, claimed := range map[string]bool{"before a claim": false, "after a claim": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				tb := newTable(t)
				db := sql.OpenDB(hangingDB{})
				defer func() { _ = db.Close() }()
				most := time.Second
				if claimed {
					most += tb.Deadline
					tb.addCart(-1)
					tb.store.Inject(commercetest.Fault{Match: func(commercetest.Request) bool {
						tb.DB = db
						return true
					}})
				} else {
					tb.DB = db
					start := time.Now()
					if _, err := tb.claim(t.Context(), ""); err == nil || time.Since(start) != tb.Deadline {
						t.Errorf("a claim returned %v after %v, want an error after %v", err, time.Since(start), tb.Deadline)
					}
				}
				start := time.Now()
				tb.work(time.Second)
				if took := time.Since(start); took < time.Second || took > most {
					t.Errorf("Run ended after %v, want %v", took, most)
				}
			})
		})
	}
}

// Each row is claimed by one worker, however many look for a row at a time.
func TestWorker_claims(t *testing.T) {
	t.Parallel()
	const rows, workers = 100, 16
	tb := newTable(t)
	for i := range rows {
		if err := tb.wish(t.Context(), fmt.Sprint("cart-", i), -1); err != nil {
			t.Fatal(err)
		}
	}
	claims := make(chan string, rows*workers)
	var running sync.WaitGroup
	for range workers {
		running.Go(func() {
			for {
				r, err := tb.claim(t.Context(), "")
				if errors.Is(err, errNone) {
					if open := tb.unclaimed(); open == 0 {
						return
					}
					continue // another worker got the row
				}
				if err != nil {
					t.Error(err)
					return
				}
				claims <- r.cart
			}
		})
	}
	running.Wait()
	close(claims)
	times := map[string]int{}
	for cart := range claims {
		if times[cart]++; times[cart] > 1 {
			t.Errorf("%s is claimed %d times", cart, times[cart])
		}
	}
	if len(times) != rows {
		t.Errorf("%d rows are claimed, want %d", len(times), rows)
	}
}

func (tb *table) unclaimed() (n int) {
	err := tb.DB.QueryRowContext(tb.t.Context(), `SELECT count(*) FROM cart_discounts WHERE busy_until = 0`).Scan(&n)
	if err != nil {
		tb.t.Error(err)
	}
	return n
}
