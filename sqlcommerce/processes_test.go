//go:build unix

package sqlcommerce_test

import (
	"bufio"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"log"
	mathrand "math/rand/v2"
	"net/http"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/commerce-go/commerce"
	"github.com/commerce-go/commerce/commercetest"
)

// childVariable is the environment variable that turns the test into a child process. It has what
// the process does, the database, and the store and the cart, with bars in between.
const childVariable = "SQLCOMMERCE_CHILD"

// runChild prints lines for its parent, until the parent dies.
func runChild(args []string) {
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		os.Exit(0)
	}()
	ctx, d := context.Background(), database{args[1], args[2]}
	db, err1 := sql.Open(d.driver, d.source)
	locker, err2 := d.newLocker(db)
	client, err3 := newClient(args[3], locker)
	err := errors.Join(err1, err2, err3)
	if err != nil {
		log.Fatal(err)
	}
	goesOn, held := make(chan os.Signal, 1), ctx
	signal.Notify(goesOn, syscall.SIGCONT)
	switch args[0] {
	case "hold":
		held, _, err = locker.Lock(ctx, cart)
	case "set":
		err = setDiscount(ctx, client, args[4])
	case "write":
		for i := 0; i < 200 && err == nil; i++ {
			time.Sleep(mathrand.N(20 * time.Millisecond)) // for the other process, which polls
			err = client.Carts.EnableCustomDiscounts(ctx, args[4])
		}
	}
	fmt.Println("ErrLock", errors.Is(err, commerce.ErrLock), commerce.OutcomeOf(err))
	for range goesOn {
		fmt.Println("lost", held.Err() != nil)
	}
}

func newClient(store string, locker commerce.Locker) (*commerce.Client, error) {
	return commerce.New(store, commerce.WithToken(commercetest.DefaultToken), commerce.WithCartLocker(locker))
}

// setDiscount takes all other discounts of the engine off the cart.
func setDiscount(ctx context.Context, client *commerce.Client, cart string) error {
	want := func(context.Context, *commerce.Cart) ([]commerce.NewCustomDiscount, error) {
		return []commerce.NewCustomDiscount{{
			Amount: commerce.NewDecimal(-100), Description: "Summer sale", DiscountCode: "SUMMER",
			DiscountEngine: "engine", ExternalID: "wanted",
		}}, nil
	}
	_, err := client.Carts.SetCustomDiscounts(ctx, cart, want, &commerce.SetCustomDiscountsOptions{Engine: "engine"})
	return err
}

// process is a child process.
type process struct {
	*os.Process
	lines *bufio.Scanner // of its output
}

// start starts a child process, which is killed when the test ends.
func (d database) start(t *testing.T, mode, store, cart string) *process {
	t.Helper()
	cmd := exec.Command(os.Args[0]) //nolint:gosec,noctx // this test; killed below
	cmd.Env = append(os.Environ(), childVariable+"="+strings.Join([]string{mode, d.driver, d.source, store, cart}, "|"))
	cmd.Stderr = os.Stderr
	_, err1 := cmd.StdinPipe()
	stdout, err2 := cmd.StdoutPipe()
	must(t, errors.Join(err1, err2, cmd.Start()))
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	return &process{cmd.Process, bufio.NewScanner(stdout)}
}

// expect compares the next line of the output.
func (p *process) expect(t *testing.T, want string) {
	t.Helper()
	if p.lines.Scan(); p.lines.Text() != want {
		t.Errorf("the process printed %q, want %q", p.lines.Text(), want)
	}
}

// A process is killed, or stopped and goes on, while it holds the lock.
func TestLocker_process(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		signal     syscall.Signal
		stopped    time.Duration
		next, lost bool // another has the lock meanwhile; the process reports that it has lost it
	}{
		"killed":                    {signal: syscall.SIGKILL, next: true, lost: true},
		"stopped shortly":           {signal: syscall.SIGSTOP, stopped: expiry / 2},
		"stopped longer":            {signal: syscall.SIGSTOP, stopped: expiry * 11 / 10, lost: true},
		"stopped, and another held": {signal: syscall.SIGSTOP, stopped: expiry * 2, next: true, lost: true},
	} {
		t.Run(strings.ReplaceAll(name, " ", "_"), func(t *testing.T) {
			t.Parallel()
			onBoth(t, func(t *testing.T, d database) {
				l, holder := d.locker(t, d.open(t)), d.start(t, "hold", "https://store.example", "")
				holder.expect(t, "ErrLock false applied")
				time.Sleep(expiry / 5) // the next extension comes soon
				start, unlock, took := time.Now(), func() {}, expiry
				must(t, holder.Signal(tt.signal))
				if tt.next {
					_, unlock, took = lock(t, l, cart)
					t.Logf("the next one has the lock after %v, with Expiry %v", took, expiry)
				}
				if took < expiry*9/10 || took > expiry*2 {
					t.Errorf("the next one has the lock after %v, want %v to %v", took, expiry, expiry*5/4)
				}
				time.Sleep(time.Until(start.Add(tt.stopped)))
				for range 2 {
					if tt.signal == syscall.SIGSTOP {
						must(t, holder.Signal(syscall.SIGCONT))
						holder.expect(t, fmt.Sprint("lost ", tt.lost))
					}
					time.Sleep(expiry / 2)
				}
				if unlock(); tt.lost {
					if _, _, took := lock(t, l, cart); took > expiry/2 {
						t.Errorf("the lock is free after %v, want at once", took)
					}
				}
			})
		})
	}
}

// shop is a store with a cart. It counts the requests that begin while another one is on its way.
type shop struct {
	*commercetest.Store
	cart             string
	inside, overlaps atomic.Int64
}

// newShop returns a shop with an unwanted discount on its cart. Requests by method meet the fault.
// arrived is called for each.
func newShop(t *testing.T, method string, fault commercetest.Fault, arrived func()) *shop {
	t.Helper()
	s := &shop{}
	s.Store = commercetest.New(t, commercetest.Config{
		DiscountsEnabled: true, AfterRequest: func(*commercetest.Store, commercetest.Request) { s.inside.Add(-1) },
	})
	fault.Times, fault.Match = -1, func(in commercetest.Request) bool {
		if s.inside.Add(1) > 1 {
			s.overlaps.Add(1)
		}
		if in.Method == method {
			arrived()
		}
		return in.Method == method
	}
	s.Inject(fault)
	s.cart = s.AddCart(commerce.CartItemRef{})
	s.AddDiscount(s.cart, commerce.CustomDiscount{
		Amount: commerce.Money{Amount: commerce.NewDecimal(-1)}, DiscountEngine: "engine", ExternalID: "unwanted",
	})
	return s
}

// A process gets a signal in the middle of its first of two writes, and the next one takes its
// turn. The write of a process that was killed arrives before the next one looks at the cart. One
// that was stopped begins no second write.
func TestShop_signal(t *testing.T) {
	t.Parallel()
	for sig, fault := range map[syscall.Signal]commercetest.Fault{
		syscall.SIGKILL: {Late: true, Delay: expiry * 4 / 5},
		syscall.SIGSTOP: {Apply: true, Delay: time.Second},
	} {
		t.Run(sig.String(), func(t *testing.T) {
			t.Parallel()
			onBoth(t, func(t *testing.T, d database) {
				arrived := make(chan bool, 1)
				s := newShop(t, http.MethodDelete, fault, func() { arrived <- true })
				child := d.start(t, "set", s.URL(), s.cart)
				client, err := newClient(s.URL(), d.locker(t, d.open(t)))
				must(t, err)
				<-arrived
				must(t, child.Signal(sig))
				must(t, setDiscount(t.Context(), client, s.cart))
				before := len(s.Requests())
				if sig == syscall.SIGSTOP {
					must(t, child.Signal(syscall.SIGCONT))
					child.expect(t, "ErrLock true unknown")
				}
				list := s.Discounts(s.cart)
				if len(s.Requests()) > before || s.overlaps.Load() > 0 || len(list) != 1 || list[0].ExternalID != "wanted" {
					t.Errorf("%d requests after the stop, %d overlaps, discounts %v; want none, none, and the wanted one",
						len(s.Requests())-before, s.overlaps.Load(), list)
				}
			})
		})
	}
}

// The writes of two processes do not overlap.
func TestShop_turns(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, d database) {
		var writes atomic.Int64
		s := newShop(t, http.MethodPut, commercetest.Fault{Delay: 2 * time.Millisecond}, func() { writes.Add(1) })
		one, two := d.start(t, "write", s.URL(), s.cart), d.start(t, "write", s.URL(), s.cart)
		one.expect(t, "ErrLock false applied")
		two.expect(t, "ErrLock false applied")
		if writes.Load() != 400 || s.overlaps.Load() > 0 {
			t.Errorf("%d writes and %d overlaps, want 400 and none", writes.Load(), s.overlaps.Load())
		}
	})
}
