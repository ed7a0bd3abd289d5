package queues

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hibiken/asynq"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/rivertype"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/testsuite"
	"go.temporal.io/sdk/worker"
	"go.uber.org/goleak"

	"github.com/commerce-go/commerce"
	"github.com/commerce-go/commerce/commercetest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// queues run a job once, as the server of the queue would. They return "done", "never again" or
// "later", and "at once" if that is how late.
var queues = []struct {
	name string
	run  func(ctx context.Context, t *testing.T, carts *Carts, job Job) (verdict string, err error)
}{
	{name: "river", run: runRiver},
	{name: "asynq", run: runAsynq},
	{name: "temporal", run: runTemporal},
}

func runRiver(ctx context.Context, t *testing.T, carts *Carts, job Job) (string, error) {
	t.Helper()
	w := &RiverWorker{Carts: carts}
	row := &river.Job[Job]{JobRow: &rivertype.JobRow{Attempt: 1}, Args: job}
	err := w.Work(ctx, row)
	if err == nil {
		return "done", nil
	}
	if _, ok := errors.AsType[*river.JobCancelError](err); ok {
		return "never again", err
	}
	if snooze, ok := errors.AsType[*river.JobSnoozeError](err); ok && snooze.Duration == 0 {
		return "at once", err
	}
	return later(t, time.Until(w.NextRetry(row))), err
}

func runAsynq(ctx context.Context, t *testing.T, carts *Carts, job Job) (string, error) {
	t.Helper()
	task, err := newAsynqTask(job, carts.longest())
	if err != nil {
		t.Fatal(err)
	}
	err = (&AsynqHandler{Carts: carts}).ProcessTask(ctx, task)
	switch {
	case err == nil:
		return "done", nil
	case errors.Is(err, asynq.SkipRetry):
		return "never again", err
	}
	return later(t, asynqRetryDelay(0, err, task)), err
}

func runTemporal(ctx context.Context, t *testing.T, carts *Carts, job Job) (string, error) {
	t.Helper()
	w := &TemporalWorker{Carts: carts}
	env := new(testsuite.WorkflowTestSuite).NewTestActivityEnvironment()
	env.SetWorkerOptions(worker.Options{BackgroundActivityContext: ctx})
	env.RegisterActivity(w.Ensure)
	_, err := env.ExecuteActivity(w.Ensure, job)
	if err == nil {
		return "done", nil
	}
	failed, ok := errors.AsType[*temporal.ApplicationError](err)
	switch {
	case !ok:
		return "", err
	case failed.NonRetryable():
		return "never again", err
	}
	return later(t, failed.NextRetryDelay()), err
}

func later(t *testing.T, after time.Duration) string {
	t.Helper()
	switch {
	case after <= time.Millisecond:
		return "at once"
	case after < 1900*time.Millisecond || after > 4*time.Second:
		t.Errorf("the first pause is %v, want 2 s to 4 s", after)
	}
	return "later"
}

// wishes are those of one cart.
type wishes struct {
	mu   sync.Mutex
	wish Wish
	cart string
}

func (w *wishes) read(ctx context.Context, cart string) (Wish, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if cart != w.cart {
		return Wish{}, fmt.Errorf("no wish for %q", cart)
	}
	return w.wish, ctx.Err()
}

func (w *wishes) set(amounts ...int64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.wish = Wish{Version: w.wish.Version + 1, Changed: time.Now(), Discounts: promotion(amounts...)}
}

func promotion(amounts ...int64) (list []commerce.NewCustomDiscount) {
	for i, amount := range amounts {
		list = append(list, commerce.NewCustomDiscount{
			Amount: commerce.NewDecimal(amount), Description: "A promotion", DiscountCode: "PROMO",
			DiscountEngine: "promo-engine", ExternalID: fmt.Sprintf("promo-%d", i+1),
		})
	}
	return list
}

// shop is a store with a cart that should have a discount.
type shop struct {
	*wishes

	store *commercetest.Store
	carts *Carts
}

func newShop(t *testing.T, items ...commerce.CartItemRef) *shop {
	t.Helper()
	store, locker := commercetest.New(t, commercetest.Config{}), commercetest.NewLocker()
	s := &shop{store: store, wishes: &wishes{cart: store.AddCart(items...)}}
	s.set(-1)
	s.carts = &Carts{
		Client: store.Client(commerce.WithCartLocker(locker)), Locker: locker, Wish: s.read,
		Engine: "promo-engine", Deadline: time.Minute, Grace: 10 * time.Second,
	}
	return s
}

// amounts returns the amounts of the discounts of the cart.
func (s *shop) amounts() string {
	var list []string
	for _, d := range s.store.Discounts(s.cart) {
		list = append(list, d.Amount.Amount.String())
	}
	return strings.Join(list, " ")
}

const empty = `{"errors":[{"status":"422","title":"Empty cart","detail":"The cart is empty"}]}`

const moon = `{"errors":[{"status":"422","title":"Not today","detail":"The moon is full"}]}`

// job is what happens to a job, and what its queue should do.
type job struct {
	name      string
	fault     commercetest.Fault
	emptyCart bool
	change    bool          // the wish changes during the first write
	age       time.Duration // of the wish
	want      string        // what the queue should do
	text      string        // part of the error
	again     string        // the same for a second run, after a while
	amounts   string        // at the end
}

func jobs() []job {
	const add = commercetest.OpAdd
	return []job{
		{name: "no fault", want: "done", again: "done", amounts: "-1"},
		{
			name: "response lost", fault: commercetest.Fault{Operation: add, Apply: true, Cut: true},
			want: "done", again: "done", amounts: "-1",
		},
		{
			name: "in doubt", fault: commercetest.Fault{Operation: add, Late: true, Delay: 90 * time.Second, Status: 504},
			want: "later", text: "may still change the cart", again: "done", amounts: "-1",
		},
		{
			name: "service down", fault: commercetest.Fault{Status: 503, Times: 4},
			want: "later", text: "503", again: "done", amounts: "-1",
		},
		{
			name: "deadline", fault: commercetest.Fault{Delay: time.Hour, Times: 2},
			want: "later", text: context.DeadlineExceeded.Error(), again: "done", amounts: "-1",
		},
		{
			name: "refused", fault: commercetest.Fault{Operation: add, Status: 422, Body: moon, Times: -1},
			want: "never again", text: "Not today", again: "never again",
		},
		{name: "empty cart", emptyCart: true, want: "later", text: errYoung.Error(), again: "later"},
		{
			name: "empty cart, an hour later", emptyCart: true, age: time.Hour,
			want: "never again", text: commerce.ErrEmptyCart.Error(), again: "never again",
		},
		{
			name: "the wish changes", fault: commercetest.Fault{Operation: add}, change: true,
			want: "at once", again: "done", amounts: "-2",
		},
		{
			name: "the wish changes, refused", fault: commercetest.Fault{Operation: add, Status: 422, Body: moon},
			change: true, want: "at once", again: "done", amounts: "-2",
		},
	}
}

// Each queue gets its word for what became of a job, and a second run is right.
func TestWorkers(t *testing.T) {
	t.Parallel()
	for _, q := range queues {
		for _, tt := range jobs() {
			t.Run(q.name+"/"+tt.name, func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					items := []commerce.CartItemRef{{}}
					if tt.emptyCart {
						items = nil
					}
					s, fault := newShop(t, items...), tt.fault
					<-time.After(tt.age)
					if tt.change {
						change := sync.OnceFunc(func() { s.set(-2) })
						fault.Match = func(commercetest.Request) bool { change(); return true }
					}
					if fault.Operation != "" || fault.Status != 0 || fault.Delay != 0 {
						s.store.Inject(fault)
					}
					s.checkRun(t, q.run, tt.want, tt.text)
					<-time.After(2 * time.Minute)
					s.checkRun(t, q.run, tt.again, "")
					if got := s.amounts(); got != tt.amounts {
						t.Errorf("the cart has %q, want %q", got, tt.amounts)
					}
				})
			})
		}
	}
}

func (s *shop) checkRun(
	t *testing.T, run func(context.Context, *testing.T, *Carts, Job) (string, error), want, text string,
) {
	t.Helper()
	got, err := run(t.Context(), t, s.carts, Job{Cart: s.cart, Version: 1})
	if got != want || text != "" && (err == nil || !strings.Contains(err.Error(), text)) {
		t.Errorf("got %q, %v; want %q and an error with %q", got, err, want, text)
	}
}

// The discounts take no more than the cart costs, also together with those of others. No wish takes
// them off.
func TestEnsure_price(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name    string
		others  int64 // of another engine, off a cart of 10000
		wish    []int64
		age     time.Duration
		err     error
		isFinal bool
		amounts string
	}{
		{name: "as wanted", wish: []int64{-4000, -6000}, amounts: "-4000 -6000"},
		{name: "too much", wish: []int64{-4000, -7000}, amounts: "-4000 -6000"},
		{name: "with others", others: -4000, wish: []int64{-4000, -4000}, amounts: "-4000 -4000 -2000"},
		{name: "others take all", others: -10000, wish: []int64{-1}, amounts: "-10000"},
		{name: "none", others: -10, amounts: "-10"},
		{name: "none, others take more", others: -10001, err: commerce.ErrBelowZero, amounts: "-10001"},
		{name: "others take more", others: -10001, wish: []int64{-1}, err: commerce.ErrBelowZero, amounts: "-10001"},
		{
			name: "others take more, an hour later", others: -10001, wish: []int64{-1}, age: time.Hour,
			err: commerce.ErrBelowZero, isFinal: true, amounts: "-10001",
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := newShop(t, commerce.CartItemRef{})
				if tt.others < 0 {
					s.store.AddDiscount(s.cart, commerce.CustomDiscount{
						Amount: commerce.Money{Amount: commerce.NewDecimal(tt.others)}, Description: "d", DiscountCode: "c",
						DiscountEngine: "loyalty", ExternalID: "1",
					})
				}
				s.set(-9) // what it was before
				if err := s.carts.ensure(t.Context(), s.cart); err != nil && tt.err == nil {
					t.Error(err)
				}
				s.set(tt.wish...)
				<-time.After(tt.age)
				err := s.carts.ensure(t.Context(), s.cart)
				if !errors.Is(err, tt.err) || commerce.IsFinal(err) != tt.isFinal {
					t.Errorf("got %v, final: %t; want %v, %t", err, commerce.IsFinal(err), tt.err, tt.isFinal)
				}
				if got := s.amounts(); got != tt.amounts {
					t.Errorf("the cart has %q, want %q", got, tt.amounts)
				}
			})
		})
	}
}

// No discounts on a cart without items are done, unless one may still be there.
func TestEnsure_nothingWanted(t *testing.T) {
	t.Parallel()
	const remove = commercetest.OpDeleteDiscount
	refusedRead := commercetest.Fault{Operation: commercetest.OpCart, Status: 422, Body: empty, Times: -1}
	tests := []struct {
		name  string
		left  bool // a discount is on the cart
		fault commercetest.Fault
		err   string
	}{
		{name: "nothing left"},
		{name: "a discount left", left: true},
		{
			name: "not deleted", left: true, err: "Not today",
			fault: commercetest.Fault{Operation: remove, Status: 422, Body: moon, Times: -1},
		},
		{
			name: "in doubt", left: true, err: "may still change the cart",
			fault: commercetest.Fault{Operation: remove, Late: true, Delay: time.Hour, Times: -1},
		},
		{name: "not read", fault: refusedRead, err: "Empty cart"},
		{name: "not read after the deletion", left: true, fault: refusedRead, err: "Empty cart"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := newShop(t, commerce.CartItemRef{})
				if tt.left {
					if err := s.carts.ensure(t.Context(), s.cart); err != nil {
						t.Fatal(err)
					}
				}
				s.store.RemoveItem(s.cart, s.store.CartItems(s.cart)[0].ID)
				s.set()
				if fault := tt.fault; fault.Operation != "" {
					fault.Match = func(in commercetest.Request) bool { // reads only of a cart without discounts
						return in.Operation != commercetest.OpCart || s.amounts() == ""
					}
					s.store.Inject(fault)
				}
				err := s.carts.ensure(t.Context(), s.cart)
				if (err != nil) != (tt.err != "") || err != nil && !strings.Contains(err.Error(), tt.err) {
					t.Errorf("got %v, want %q", err, tt.err)
				}
			})
		})
	}
}

// A worker that has read an old wish does not carry it out after another one has carried out the
// new one: the other one waits.
func TestEnsure_turns(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newShop(t, commerce.CartItemRef{})
		var other sync.WaitGroup
		slow := *s.carts
		slow.Wish = func(ctx context.Context, cart string) (Wish, error) {
			wish, err := s.read(ctx, cart)
			if wish.Version == 1 {
				s.set(-2)
				other.Go(func() {
					if err := s.carts.ensure(t.Context(), cart); err != nil {
						t.Error(err)
					}
				})
				<-time.After(time.Second)
			}
			return wish, err
		}
		if err := slow.ensure(t.Context(), s.cart); !errors.Is(err, errChanged) {
			t.Errorf("the first worker returned %v, want errChanged", err)
		}
		other.Wait()
		if got := s.amounts(); got != "-2" {
			t.Errorf("the cart has %q, want -2", got)
		}
	})
}

// A worker that has lost its lock is not done.
func TestEnsure_lostLock(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s, locker := newShop(t, commerce.CartItemRef{}), commercetest.NewLocker()
		s.carts.Locker = locker
		s.store.Inject(commercetest.Fault{Match: func(commercetest.Request) bool {
			locker.Lose("jobs/" + s.cart)
			return true
		}})
		if err := s.carts.ensure(t.Context(), s.cart); err == nil || commerce.IsFinal(err) {
			t.Errorf("got %v, want an error that is not final", err)
		}
	})
}
