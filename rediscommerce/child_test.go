//go:build unix

package rediscommerce_test

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"os/exec"
	"os/signal"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/commerce-go/commerce"
	"github.com/commerce-go/commerce/commercetest"
	"github.com/commerce-go/commerce/rediscommerce"
)

// childVariable is the environment variable that turns the test into a child process. It holds a
// childConfig.
const childVariable = "REDISCOMMERCE_CHILD"

// childConfig says what a child process does.
type childConfig struct {
	Mode, Name, Redis, Store string
	Carts                    []string
	Expiry                   time.Duration
	Retry                    commerce.RetryPolicy
	Seed                     uint64
	Workers                  int
	NoLock                   bool
}

// modes are what a child may do until ctx ends. They print lines for their parent.
var modes = map[string]func(ctx context.Context, cfg childConfig) error{
	"hold": hold, "stop": stop, "rate": useRate, "chaos": makeChaos, "ledger": fillLedger,
}

// processHeader holds the Name of the process that sent a request.
const processHeader = "X-Process"

// runChild runs until the standard input ends, as it also does when the parent dies.
func runChild(config string) (code int) {
	var cfg childConfig
	err := json.Unmarshal([]byte(config), &cfg)
	if err == nil {
		ctx, cancel := context.WithCancel(context.Background())
		go func() {
			_, _ = io.Copy(io.Discard, os.Stdin)
			cancel()
		}()
		err = modes[cfg.Mode](ctx, cfg)
		cancel()
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 2
	}
	return 0
}

func (cfg childConfig) redis() *redis.Client {
	return redis.NewClient(&redis.Options{Addr: cfg.Redis, DialerRetries: 1})
}

func (cfg childConfig) locker() (*rediscommerce.Locker, error) {
	return rediscommerce.NewLocker(cfg.redis(), rediscommerce.LockerConfig{
		Expiry: cfg.Expiry, Timeout: maxWait, // it may be stopped while it waits for a response
	})
}

func (cfg childConfig) client(opts ...commerce.Option) (*commerce.Client, error) {
	cfg.Retry.MaxBackoff = cmp.Or(cfg.Retry.MaxBackoff, 5*time.Millisecond)
	return commerce.New(cfg.Store, append(opts,
		commerce.WithToken(commercetest.DefaultToken), commerce.WithHeader(processHeader, cfg.Name),
		commerce.WithRetry(cfg.Retry),
	)...)
}

// hold keeps a lock.
func hold(ctx context.Context, cfg childConfig) error {
	locker, err := cfg.locker()
	if err != nil {
		return err
	}
	_, unlock, err := locker.Lock(ctx, cart)
	if err != nil {
		return err
	}
	fmt.Println("locked")
	<-ctx.Done()
	unlock()
	return nil
}

// stop makes an Ensure with two writes, and is stopped between them. It prints what the call
// returned.
func stop(ctx context.Context, cfg childConfig) error {
	locker, err := cfg.locker()
	if err != nil {
		return err
	}
	client, err := cfg.client(commerce.WithCartLocker(locker), commerce.WithObserver(stopper{}))
	if err != nil {
		return err
	}
	_, err = client.Carts.EnsureCustomDiscounts(ctx, cfg.Carts[0], wanted(1),
		&commerce.EnsureCustomDiscountsOptions{Prune: true})
	fmt.Printf("ErrLock %t, %v\n", errors.Is(err, commerce.ErrLock), commerce.OutcomeOf(err))
	return nil
}

// stopper is an observer that waits at the end of a DELETE until the process was stopped, and goes
// on.
type stopper struct{}

func (stopper) StartCall(
	ctx context.Context, _ commerce.CallInfo,
) (context.Context, func(commerce.CallResult)) {
	return ctx, nil
}

func (stopper) StartAttempt(
	ctx context.Context, attempt commerce.AttemptInfo,
) (context.Context, func(commerce.AttemptResult)) {
	return ctx, func(commerce.AttemptResult) {
		if attempt.Method == http.MethodDelete {
			goesOn := make(chan os.Signal, 1)
			signal.Notify(goesOn, syscall.SIGCONT)
			fmt.Println("deleted")
			<-goesOn
		}
	}
}

// useRate makes calls as fast as the limiter allows.
func useRate(ctx context.Context, cfg childConfig) error {
	limiter, err := rediscommerce.NewLimiter(cfg.redis(), rediscommerce.LimiterConfig{PerSecond: sharedRate})
	if err != nil {
		return err
	}
	client, err := cfg.client(commerce.WithLimiter(limiter))
	if err != nil {
		return err
	}
	var running sync.WaitGroup
	for range 4 {
		running.Go(func() {
			for ctx.Err() == nil {
				_, _ = client.Settings(ctx) // the store counts
			}
		})
	}
	running.Wait()
	return nil
}

// lockingClient returns a client with a locker, unless cfg says that there is none.
func (cfg childConfig) lockingClient() (*commerce.Client, error) {
	if cfg.NoLock {
		return cfg.client()
	}
	locker, err := cfg.locker()
	if err != nil {
		return nil, err
	}
	return cfg.client(commerce.WithCartLocker(locker))
}

// makeChaos makes random calls on the carts, and prints the outcome of each.
func makeChaos(ctx context.Context, cfg childConfig) error {
	client, err := cfg.lockingClient()
	if err != nil {
		return err
	}
	var running sync.WaitGroup
	for worker := range uint64(3) {
		running.Go(func() {
			r := rand.New(rand.NewPCG(cfg.Seed, worker))
			for ctx.Err() == nil {
				// The context does not end: a write that is given up may overlap the next one.
				cart, want := cfg.Carts[r.IntN(len(cfg.Carts))], wanted(1+r.IntN(3))
				want[0].Amount = commerce.NewDecimal(-1 - r.Int64N(100))
				_, err := client.Carts.EnsureCustomDiscounts(context.WithoutCancel(ctx), cart, want,
					&commerce.EnsureCustomDiscountsOptions{
						Update: r.IntN(2) == 0, Prune: r.IntN(2) == 0, Settle: time.Duration(1+r.IntN(30)) * time.Millisecond,
					})
				fmt.Printf("%v, ErrLock %t\n", commerce.OutcomeOf(err), errors.Is(err, commerce.ErrLock))
			}
		})
	}
	running.Wait()
	return nil
}

// fillLedger adds discounts to the carts, and prints what each call returned. A line is a system
// call of its own, so that it survives a kill.
func fillLedger(ctx context.Context, cfg childConfig) error {
	process, err1 := strconv.Atoi(cfg.Name)
	client, err2 := cfg.lockingClient()
	if err := errors.Join(err1, err2); err != nil {
		return err
	}
	var running sync.WaitGroup
	var last atomic.Int64
	for range cfg.Workers {
		// With a gate of its own: a 429 of one call must not hold back the others.
		client, err := client.With(commerce.WithToken(commercetest.DefaultToken))
		if err != nil {
			return err
		}
		running.Go(func() {
			for ctx.Err() == nil {
				id := callID{process, int(last.Add(1) - 1)}
				fmt.Printf("%d %v\n", id.n, id.add(ctx, client, cfg.Carts[rand.IntN(len(cfg.Carts))]))
			}
		})
	}
	running.Wait()
	return nil
}

// add makes the call.
func (c callID) add(ctx context.Context, client *commerce.Client, cart string) (got returned) {
	if c.hasDeadline() {
		var cancel func()
		ctx, cancel = context.WithTimeout(ctx, rand.N(20*time.Millisecond)*time.Duration(rand.IntN(2)))
		defer cancel()
	}
	list := wanted(c.size())
	for i := range list {
		list[i].ExternalID = c.externalID(i)
	}
	result, err := client.Carts.AddCustomDiscounts(ctx, cart, list, nil)
	got.Outcome = commerce.OutcomeOf(err)
	got.Abandoned = errors.Is(err, commerce.ErrTimeout) || errors.Is(err, commerce.ErrLock) ||
		errors.Is(err, context.DeadlineExceeded)
	if result == nil {
		return got
	}
	for i := range list {
		isIt := func(externalID string) bool { return externalID == list[i].ExternalID }
		if slices.ContainsFunc(result.Added, func(d commerce.CustomDiscount) bool { return isIt(d.ExternalID) }) {
			got.Added |= 1 << i
		}
		if slices.ContainsFunc(result.Unconfirmed, func(d commerce.UnconfirmedDiscount) bool { return isIt(d.ExternalID) }) {
			got.Unconfirmed |= 1 << i
		}
	}
	return got
}

// wanted returns n discounts.
func wanted(n int) (list []commerce.NewCustomDiscount) {
	for i := range n {
		list = append(list, commerce.NewCustomDiscount{
			Amount: commerce.NewDecimal(-100), Description: "Summer sale", DiscountCode: "SUMMER",
			DiscountEngine: "engine", ExternalID: fmt.Sprintf("wanted-%d", i),
		})
	}
	return list
}

// process is a child process.
type process struct {
	cmd    *exec.Cmd
	stdin  io.Closer
	lines  *bufio.Scanner // of its output
	stderr bytes.Buffer
}

// start starts a child process, which is killed when the test ends.
func start(t *testing.T, cfg childConfig) *process {
	t.Helper()
	config, err := json.Marshal(cfg)
	if err != nil {
		t.Fatal(err)
	}
	p := &process{cmd: exec.Command(os.Args[0])} //nolint:gosec,noctx // this test; killed below
	p.cmd.Env = append(os.Environ(), childVariable+"="+string(config))
	p.cmd.Stderr = &p.stderr
	stdin, err1 := p.cmd.StdinPipe()
	stdout, err2 := p.cmd.StdoutPipe()
	if err := errors.Join(err1, err2, p.cmd.Start()); err != nil {
		t.Fatal(err)
	}
	p.stdin, p.lines = stdin, bufio.NewScanner(stdout)
	t.Cleanup(func() {
		_ = p.cmd.Process.Kill()
		_ = p.cmd.Wait()
		if p.stderr.Len() > 0 {
			t.Errorf("the process wrote %s", &p.stderr)
		}
	})
	return p
}

// line returns the next line of the output.
func (p *process) line(t *testing.T) string {
	t.Helper()
	if !p.lines.Scan() {
		t.Fatalf("the process has ended: %v", p.lines.Err())
	}
	return p.lines.Text()
}

func (p *process) signal(t *testing.T, sig syscall.Signal) {
	t.Helper()
	if err := p.cmd.Process.Signal(sig); err != nil {
		t.Fatal(err)
	}
}
