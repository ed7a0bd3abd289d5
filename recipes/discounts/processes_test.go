package discounts

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/commerce-go/commerce"
	"github.com/commerce-go/commerce/commercetest"
)

const (
	chaosRate = 60 // percent of the requests that meet a fault
	chaosLate = 500 * time.Millisecond
)

// childVariable turns the test into a child process. It holds a childConfig.
const childVariable = "DISCOUNTS_CHILD"

type childConfig struct{ URL, DB string }

// runChild works on rows until it is killed, or the parent has died.
func runChild(config string) (code int) {
	var cfg childConfig
	slog.SetDefault(slog.New(slog.DiscardHandler))
	err := json.Unmarshal([]byte(config), &cfg)
	if err == nil {
		err = cfg.work()
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 2
	}
	return 0
}

func (cfg childConfig) work() error {
	w, err := cfg.worker("worker")
	if err != nil {
		return err
	}
	ctx, stop := context.WithCancel(context.Background())
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		stop()
	}()
	w.Run(ctx)
	return w.DB.Close()
}

// processHeader tells the requests of the checkout from those of the worker.
const processHeader = "X-Process"

// worker returns a worker with short times: the claims of a process that was killed end soon.
func (cfg childConfig) worker(process string) (*Worker, error) {
	db, err := openDB(cfg.DB)
	if err != nil {
		return nil, err
	}
	client, err := commerce.New(cfg.URL, commerce.WithToken(commercetest.DefaultToken),
		commerce.WithHeader(processHeader, process), commerce.WithRetry(commerce.RetryPolicy{
			MinBackoff: 10 * time.Millisecond, MaxBackoff: 50 * time.Millisecond, AttemptTimeout: chaosLate * 4 / 5,
		}))
	return &Worker{
		DB: db, Client: client, Engine: "promo-engine",
		Rows: 16, Deadline: 2 * time.Second, Grace: 2 * chaosLate,
	}, err
}

// TestProcesses kills the worker's process again and again while most requests fail and the wishes
// change. At the end each cart has its last wish, and no customer could pay for a cart that was
// wrong. CHAOS=20s sets the time, and takes 100 carts.
func TestProcesses(t *testing.T) {
	t.Parallel()
	duration, carts := 2*time.Second, 20
	if text := os.Getenv("CHAOS"); text != "" {
		var err error
		if duration, err = time.ParseDuration(text); err != nil {
			t.Fatal(err)
		}
		carts = 100
	}
	c := newChaos(t, rand.Uint64(), carts)
	ctx, cancel := context.WithTimeout(t.Context(), duration)
	defer cancel()
	var running sync.WaitGroup
	running.Go(func() { c.changeWishes(ctx, duration) })
	running.Go(func() { c.buy(ctx) })
	running.Go(func() {
		for ctx.Err() == nil {
			c.runWorker(ctx, time.Duration(200+rand.IntN(800))*time.Millisecond)
		}
	})
	running.Go(func() {
		for ctx.Err() == nil {
			c.open()
			pause(ctx, 100*time.Millisecond)
		}
	})
	running.Wait()
	c.finish()
	t.Logf("%d requests, %d faults, %d kills; %d times ready to pay, %d of them with a write on its way; %d carts wrong",
		len(c.store.Requests()), c.faults, c.kills, c.ready, c.onItsWay, c.wrong)
	isLong := duration >= 10*time.Second
	if isLong && (c.kills < 5 || c.ready == 0 || c.faults*100 < len(c.store.Requests())*chaosRate*9/10) {
		t.Error("too few kills, faults, or customers who were ready to pay: the test proves nothing")
	}
}

// chaos is the parent of TestProcesses. Its fields from mu on are what its log shows.
type chaos struct {
	t        *testing.T
	store    *commercetest.Store
	checkout *Worker
	config   childConfig
	carts    []*shopping

	mu                                    sync.Mutex
	random                                *rand.Rand
	kind                                  map[string]int // the fault of a request, by its id
	faults, kills, ready, onItsWay, wrong int
	writes                                map[string]int // on their way, by cart
	// when the last write of a cart ended, and the last read of the checkout began
	written, read map[string]time.Time
}

// shopping is a cart, and what it should have.
type shopping struct {
	mu   sync.Mutex // held while the wish changes, and during a checkout
	id   string
	wish []int64
}

// chaosFaults are met at random. Late writes take up to chaosLate.
var chaosFaults = []commercetest.Fault{
	{Cut: true},
	{Apply: true, Cut: true},
	{Apply: true, Status: http.StatusGatewayTimeout},
	{Late: true, Delay: chaosLate},
	{Late: true, Delay: chaosLate / 4, Status: http.StatusBadGateway},
	{Late: true, Delay: chaosLate, Cut: true},
	{Status: http.StatusServiceUnavailable},
	{Status: http.StatusTooManyRequests},
}

func newChaos(t *testing.T, seed uint64, carts int) *chaos {
	t.Helper()
	t.Logf("seed %d", seed)
	c := &chaos{
		t: t, random: rand.New(rand.NewPCG(seed, 0)), kind: map[string]int{},
		writes: map[string]int{}, written: map[string]time.Time{}, read: map[string]time.Time{},
	}
	c.store = commercetest.New(t, commercetest.Config{AfterRequest: c.ended})
	for i, fault := range chaosFaults {
		fault.Times = -1
		fault.Match = func(in commercetest.Request) bool { return c.faultOf(in) == i }
		c.store.Inject(fault)
	}
	c.config = childConfig{URL: c.store.URL(), DB: newDB(t)}
	var err error
	if c.checkout, err = c.config.worker("checkout"); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.checkout.DB.Close() })
	for range carts {
		cart := &shopping{id: c.store.AddCart(commerce.CartItemRef{})}
		c.carts = append(c.carts, cart)
		c.change(cart)
	}
	return c
}

// faultOf returns the fault that a request meets, an index of chaosFaults, or -1. It is called for
// each request when that arrives, before anything happens.
func (c *chaos) faultOf(in commercetest.Request) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	if kind, ok := c.kind[in.ID]; ok {
		return kind
	}
	if in.Method != http.MethodGet {
		c.writes[cartOf(in)]++
	} else if in.Header.Get(processHeader) == "checkout" {
		c.read[cartOf(in)] = time.Now()
	}
	kind := -1
	if c.random.IntN(100) < chaosRate {
		kind = c.random.IntN(len(chaosFaults))
		c.faults++
	}
	c.kind[in.ID] = kind
	return kind
}

// ended is called when a request has had its effect.
func (c *chaos) ended(_ *commercetest.Store, in commercetest.Request) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if in.Method != http.MethodGet {
		c.writes[cartOf(in)]--
		c.written[cartOf(in)] = time.Now()
	}
}

func cartOf(in commercetest.Request) string {
	cart, _, _ := strings.Cut(strings.TrimPrefix(in.Path, "/v2/carts/"), "/")
	return cart
}

// change gives a cart another wish: up to three promotions.
func (c *chaos) change(cart *shopping) {
	cart.mu.Lock()
	defer cart.mu.Unlock()
	cart.wish = make([]int64, rand.IntN(4))
	for i := range cart.wish {
		cart.wish[i] = -1 - rand.Int64N(1000)
	}
	if err := c.checkout.wish(c.t.Context(), cart.id, cart.wish...); err != nil {
		c.t.Error(err)
	}
}

// changeWishes changes each wish twice.
func (c *chaos) changeWishes(ctx context.Context, during time.Duration) {
	for n := range 2 * len(c.carts) {
		c.change(c.carts[n*37%len(c.carts)])
		pause(ctx, during/time.Duration(2*len(c.carts)+20))
	}
}

// buy lets customers try to pay. The carts with an odd number have only the worker.
func (c *chaos) buy(ctx context.Context) {
	var running sync.WaitGroup
	defer running.Wait()
	for range 4 {
		running.Go(func() {
			for ctx.Err() == nil {
				c.pay(c.carts[2*rand.IntN(len(c.carts)/2)])
				pause(ctx, 10*time.Millisecond)
			}
		})
	}
}

// pay checks what readyToPay returns by the log of the store: if it is nil, the cart is as wanted,
// unless a write has ended since the last read of the checkout, or is still on its way.
func (c *chaos) pay(cart *shopping) {
	cart.mu.Lock()
	defer cart.mu.Unlock()
	if err := c.checkout.readyToPay(c.t.Context(), cart.id); err != nil {
		return
	}
	problem := c.problem(cart)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ready++
	switch {
	case problem == "":
	case c.writes[cart.id] > 0 || c.written[cart.id].After(c.read[cart.id]):
		c.onItsWay++
	default:
		c.t.Errorf("ready to pay, but %s", problem)
	}
}

// problem compares a cart with its wish.
func (c *chaos) problem(cart *shopping) string {
	got := strings.Fields(amounts(c.store, cart.id))
	want := strings.Fields(wanted(cart.wish...))
	slices.Sort(got)
	if !slices.Equal(got, want) {
		return fmt.Sprintf("cart %s has %q, want %q", cart.id, got, want)
	}
	return ""
}

// runWorker runs a worker's process until ctx ends, at most for life. Then it kills it.
func (c *chaos) runWorker(ctx context.Context, life time.Duration) {
	config, err := json.Marshal(c.config)
	if err != nil {
		c.t.Error(err)
		return
	}
	ctx, cancel := context.WithTimeout(ctx, life)
	defer cancel()
	cmd := exec.CommandContext(ctx, os.Args[0]) // SIGKILL when ctx ends
	cmd.Env = append(os.Environ(), childVariable+"="+string(config))
	cmd.Stderr = os.Stderr
	stdin, err := cmd.StdinPipe()
	if err == nil {
		err = cmd.Run()
	}
	_ = stdin.Close()
	if exit, ok := errors.AsType[*exec.ExitError](err); !ok || exit.Exited() {
		c.t.Errorf("the worker's process ended by itself: %v", err)
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.kills++
}

// open returns the number of open rows, and ends their pauses: nobody waits for 10 minutes here.
func (c *chaos) open() (n int) {
	result, err := c.checkout.DB.ExecContext(c.t.Context(),
		`UPDATE cart_discounts SET next_try = 0 WHERE version <> done_version`)
	if err != nil {
		c.t.Error(err)
		return 0
	}
	rows, _ := result.RowsAffected()
	return int(rows)
}

// finish waits until no row is open. Then each cart has its last wish, once.
func (c *chaos) finish() {
	ctx, cancel := context.WithTimeout(c.t.Context(), 2*time.Minute)
	var running sync.WaitGroup
	running.Go(func() { c.runWorker(ctx, time.Hour) })
	open := c.open()
	for ; open > 0 && ctx.Err() == nil; open = c.open() {
		pause(ctx, 100*time.Millisecond)
	}
	if open > 0 {
		c.t.Errorf("%d rows are still open", open)
	}
	for _, cart := range c.carts {
		if problem := c.problem(cart); problem != "" {
			c.t.Errorf("at the end, %s", problem)
			c.wrong++
		}
	}
	cancel()
	running.Wait()
}

func pause(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}
