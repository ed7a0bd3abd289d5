//go:build unix

package sqlcommerce_test

import (
	"bufio"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	mathrand "math/rand/v2"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/commerce-go/commerce"
	"github.com/commerce-go/commerce/commercetest"
	"github.com/commerce-go/commerce/sqlcommerce"
)

// childVariable is the environment variable that turns the test into a child process. It has what
// the process does, the database, and the store and the cart, with bars in between.
const childVariable = "SQLCOMMERCE_CHILD"

// runChild runs until the standard input ends, as it also does when the parent dies. It prints lines
// for its parent.
func runChild(args []string) error {
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		os.Exit(0)
	}()
	ctx, d := context.Background(), newDatabase(args[1], args[2])
	db, err1 := sql.Open(d.driver, d.source)
	locker, err2 := sqlcommerce.NewLocker(ctx, db, d.LockerConfig)
	if err := errors.Join(err1, err2); err != nil {
		return err
	}
	if args[0] == "hold" {
		return hold(ctx, locker)
	}
	client, err := newClient(args[3], locker)
	for i := 0; i < 200 && err == nil && args[0] == "write"; i++ {
		time.Sleep(mathrand.N(20 * time.Millisecond)) // for the other process, which polls
		err = client.Carts.EnableCustomDiscounts(ctx, args[4])
	}
	if err == nil {
		err = setDiscount(ctx, client, args[4])
	}
	fmt.Printf("ErrLock %t, %v\n", errors.Is(err, commerce.ErrLock), commerce.OutcomeOf(err))
	select {}
}

// hold keeps a lock. Each time that the process goes on, it prints the state of the lock at once.
func hold(ctx context.Context, locker *sqlcommerce.Locker) error {
	goesOn := make(chan os.Signal, 1)
	signal.Notify(goesOn, syscall.SIGCONT)
	held, _, err := locker.Lock(ctx, cart)
	fmt.Println("locked", err)
	for range goesOn {
		fmt.Println("lost", held.Err() != nil)
	}
	return nil
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
func (d database) start(t *testing.T, mode string, args ...string) *process {
	t.Helper()
	cmd := exec.Command(os.Args[0]) //nolint:gosec,noctx // this test; killed below
	cmd.Env = append(os.Environ(), childVariable+"="+strings.Join(append([]string{mode, d.driver, d.source}, args...), "|"))
	cmd.Stderr = os.Stderr
	_, err1 := cmd.StdinPipe() // closed by Wait
	stdout, err2 := cmd.StdoutPipe()
	if err := errors.Join(err1, err2, cmd.Start()); err != nil {
		t.Fatal(err)
	}
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
		t.Errorf("the process printed %q, want %q: %v", p.lines.Text(), want, p.lines.Err())
	}
}

func (p *process) signal(t *testing.T, sig syscall.Signal) {
	t.Helper()
	if err := p.Signal(sig); err != nil {
		t.Fatal(err)
	}
}
