package ledger

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/hashicorp/go-retryablehttp"

	"github.com/commerce-go/commerce"
)

const (
	workers = 16
	// plannedAttempts is how many attempts of a call may have a fault.
	plannedAttempts = 4
	// attemptTimeout ends faults that stall, and attempts for which the machine is too busy.
	attemptTimeout = 50 * time.Millisecond
)

// randomCall holds all random choices for a call. They depend only on the seed. How the
// call ends also depends on timing.
type randomCall struct {
	op            operation
	protocol      int  // index in chaosProtocols
	newConnection bool // close idle connections before the call
	faults        []*Fault
	cancel        time.Duration // after which the caller cancels; 0: never
	deadline      time.Duration // of the caller; 0: none
}

var chaosProtocols = []Protocol{HTTP1, TLS, HTTP2}

// lightFaults returns the faults of each protocol, without the heavy ones: these would
// leave no time for the others.
func lightFaults() [][]*Fault {
	list := make([][]*Fault, len(chaosProtocols))
	for _, f := range Faults() {
		for i, p := range chaosProtocols {
			if f.On&p != 0 && !f.Heavy {
				list[i] = append(list[i], f)
			}
		}
	}
	return list
}

func newRandomCall(r *rand.Rand, faults [][]*Fault) randomCall {
	// TLS handshakes take most of the time: half of the calls do not use TLS.
	c := randomCall{op: addDiscounts, protocol: max(0, r.IntN(4)-1), newConnection: r.IntN(4) == 0}
	if r.IntN(20) == 0 {
		c.op = listSubscriptions
	}
	for range plannedAttempts {
		f := NoFault()
		if r.IntN(100) < 70 {
			f = faults[c.protocol][r.IntN(len(faults[c.protocol]))]
		}
		c.faults = append(c.faults, f)
	}
	c.faults = append(c.faults, NoFault())
	after := time.Duration(1+r.IntN(20_000)) * time.Microsecond
	switch r.IntN(20) {
	case 0, 1:
		c.cancel = after
	case 2, 3:
		c.deadline = after
	}
	return c
}

// String lists the choices.
func (c randomCall) String() string {
	var names []string
	for _, f := range c.faults {
		names = append(names, f.Name)
	}
	return fmt.Sprintf("%v, new connection %v, cancel %v, deadline %v: %s",
		chaosProtocols[c.protocol], c.newConnection, c.cancel, c.deadline, strings.Join(names, "; "))
}

// finishedWrite is a write and what it returned.
type finishedWrite struct {
	randomCall
	call string
	err  error
}

// caller makes a call to a server.
type caller func(ctx context.Context, op operation, call string) error

// newCaller returns the caller for a server.
type newCaller func(t *testing.T, s *Server, base *http.Transport) caller

// chaos makes random calls with many workers.
type chaos struct {
	seed     uint64
	duration time.Duration // on a busy machine, it takes longer
	isEnough func(sent int64, l *Ledger) bool
	newCaller
}

// worker makes calls, one after the other. It has its own servers, so that it knows which
// call a request belongs to.
type worker struct {
	servers []*Server
	bases   []*http.Transport
	callers []caller
}

func (c chaos) newWorker(ctx context.Context, t *testing.T, l *Ledger) *worker {
	t.Helper()
	w := &worker{}
	for _, p := range chaosProtocols {
		s, err := Serve(ctx, l, p)
		if err != nil {
			t.Fatal(err)
		}
		base := s.Transport()
		w.servers, w.bases = append(w.servers, s), append(w.bases, base)
		w.callers = append(w.callers, c.newCaller(t, s, base))
	}
	return w
}

// run returns all writes and their ledger.
func (c chaos) run(ctx context.Context, t *testing.T) ([]finishedWrite, *Ledger) {
	t.Helper()
	l, faults := New(), lightFaults()
	var (
		mu      sync.Mutex
		list    []finishedWrite
		running sync.WaitGroup
		sent    atomic.Int64
	)
	end := time.Now().Add(c.duration)
	latest := end.Add(3 * max(c.duration, maxWait))
	goesOn := func() bool {
		now := time.Now()
		return now.Before(end) || !c.isEnough(sent.Load(), l) && now.Before(latest)
	}
	for number := range workers {
		w := c.newWorker(ctx, t, l)
		running.Go(func() {
			r := rand.New(rand.NewPCG(c.seed, uint64(number)))
			var own []finishedWrite
			for n := 0; goesOn(); n++ {
				random := newRandomCall(r, faults)
				call := fmt.Sprintf("call-%02d-%06d", number, n)
				if err := w.make(ctx, random, call); random.op.write {
					own = append(own, finishedWrite{random, call, err})
					if !isHeld(err) {
						sent.Add(1)
					}
				}
			}
			for i, s := range w.servers {
				checkNoConnections(t, s, w.bases[i])
				s.Close()
			}
			mu.Lock()
			defer mu.Unlock()
			list = append(list, own...)
		})
	}
	running.Wait()
	return list, l
}

// isHeld reports whether the gate held a call back, so that it sent nothing.
func isHeld(err error) bool {
	e, ok := errors.AsType[*commerce.Error](err)
	return ok && e.Attempts == 0 && errors.Is(e, commerce.ErrRateLimited)
}

// make makes one call.
func (w *worker) make(ctx context.Context, c randomCall, call string) error {
	w.servers[c.protocol].Plan(c.faults...)
	if c.newConnection {
		w.bases[c.protocol].CloseIdleConnections()
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	if c.deadline > 0 {
		ctx, cancel = context.WithTimeout(ctx, c.deadline)
		defer cancel()
	}
	if c.cancel > 0 {
		defer time.AfterFunc(c.cancel, cancel).Stop()
	}
	return w.callers[c.protocol](ctx, c.op, call)
}

// libraryCaller makes calls by the library. Half of them it makes again as long as RemedyOf says
// so, and once more, with the same fault, after a final error.
func libraryCaller(t *testing.T, s *Server, base *http.Transport) caller {
	t.Helper()
	client := newClient(t, s.URL(), base, commerce.WithRetry(commerce.RetryPolicy{
		MinBackoff: time.Millisecond, MaxBackoff: time.Millisecond, AttemptTimeout: attemptTimeout,
	}))
	n := 0
	return func(ctx context.Context, op operation, call string) error {
		err := op.do(ctx, client, call).err
		for n++; n%2 == 0 && ctx.Err() == nil && !isHeld(err) && commerce.RemedyOf(err) == commerce.RemedyAgain; {
			repeated.Add(1)
			err = op.do(ctx, client, call).err
		}
		if last := s.Last(); commerce.IsFinal(err) && last != nil {
			frozen.Add(1)
			s.Plan(last, last, last, last)
			if again := op.do(context.WithoutCancel(ctx), client, call+"again").err; again == nil {
				t.Errorf("%s: %v, but the same call in the same world returned nil", call, err)
			}
		}
		return err
	}
}

// repeated and frozen count the calls that were made again after RemedyAgain, and after a final
// error.
var repeated, frozen atomic.Int64

// retryablehttpCaller makes calls by go-retryablehttp, with its defaults except for the
// waits.
func retryablehttpCaller(_ *testing.T, s *Server, base *http.Transport) caller {
	client := retryablehttp.NewClient()
	client.Logger, client.RetryMax = nil, 4
	client.RetryWaitMin, client.RetryWaitMax = time.Millisecond, time.Millisecond
	client.HTTPClient = &http.Client{Transport: base, Timeout: attemptTimeout}
	return func(ctx context.Context, op operation, call string) error {
		if !op.write {
			return nil
		}
		// It waits for as long as any Retry-After says.
		ctx, cancel := context.WithTimeout(ctx, 10*attemptTimeout)
		defer cancel()
		var discounts []map[string]string
		for i := range 2 {
			externalID := ExternalID(call, i)
			discounts = append(discounts, map[string]string{"type": "custom_discount", "external_id": externalID})
		}
		body, err := json.Marshal(map[string]any{"data": discounts})
		if err != nil {
			return err
		}
		address := s.URL() + "/v2/carts/a-cart/custom-discounts"
		req, err := retryablehttp.NewRequestWithContext(ctx, http.MethodPost, address, body)
		if err != nil {
			return err
		}
		resp, err := client.Do(req)
		if err != nil {
			return err
		}
		_, err = io.Copy(io.Discard, io.LimitReader(resp.Body, 1<<20))
		return errors.Join(err, resp.Body.Close())
	}
}

// settings returns how long chaos lasts (CHAOS, by default about a second), and its seed
// (CHAOS_SEED, by default a new one).
func settings(t *testing.T) (time.Duration, uint64) {
	t.Helper()
	if testing.Short() {
		t.Skip("make ci runs it for 30 s, under the race detector")
	}
	duration, seed := 800*time.Millisecond, rand.Uint64()
	if s := os.Getenv("CHAOS"); s != "" {
		var err error
		if duration, err = time.ParseDuration(s); err != nil {
			t.Fatal(err)
		}
	}
	if s := os.Getenv("CHAOS_SEED"); s != "" {
		var err error
		if seed, err = strconv.ParseUint(s, 10, 64); err != nil {
			t.Fatal(err)
		}
	}
	return duration, seed
}

// TestChaos makes writes with random faults, and compares what each call returned with
// what became of it.
func TestChaos(t *testing.T) {
	t.Parallel()
	duration, seed := settings(t)
	minimum, long := int64(100), duration >= 30*time.Second
	if long {
		minimum = 5000
	}
	c := chaos{
		seed: seed, duration: duration, newCaller: libraryCaller,
		isEnough: func(sent int64, _ *Ledger) bool { return sent >= minimum },
	}
	var (
		list []finishedWrite
		l    *Ledger
	)
	start := time.Now()
	withoutLeak(t, func(ctx context.Context) { list, l = c.run(ctx, t) })
	took := time.Since(start).Round(time.Millisecond)

	counts, wrong, held := map[string]int{}, 0, 0
	for _, write := range list {
		counts[commerce.OutcomeOf(write.err).String()]++
		if write.err != nil {
			if _, ok := errors.AsType[*commerce.Error](write.err); !ok {
				t.Errorf("%s: got error of type %T, want a *commerce.Error", write.call, write.err)
			}
			if isHeld(write.err) {
				held++
			}
		}
		if text := contradiction(write.err, l.Applied(write.call)); text != "" {
			wrong++
			t.Errorf("%s: %s\n%s", write.call, text, write.randomCall)
		}
	}
	duplicates, applications := l.Duplicates()
	sent := len(list) - held
	t.Logf("%d calls made again after RemedyAgain, %d after a final error", repeated.Load(), frozen.Load())
	t.Logf("CHAOS_SEED=%d: %d POST calls in %v by %d workers, and %d that the gate held back; "+
		"%d applied, %d twice or more, %d wrong outcomes; outcomes %v",
		seed, sent, took, workers, held, applications, duplicates, wrong, counts)
	if duplicates > 0 {
		t.Errorf("%d calls were applied twice or more, want none", duplicates)
	}
	if int64(sent) < minimum || long && len(counts) < 6 {
		t.Errorf("%d calls with %d different outcomes are too few to prove anything", sent, len(counts))
	}
}

// TestChaos_baseline proves that TestChaos can fail: a client that retries writes, as most
// do, applies some of them twice.
func TestChaos_baseline(t *testing.T) {
	t.Parallel()
	_, seed := settings(t)
	isTwice := func(_ int64, l *Ledger) bool {
		duplicates, _ := l.Duplicates()
		return duplicates > 0
	}
	c := chaos{seed: seed, isEnough: isTwice, newCaller: retryablehttpCaller}
	list, l := c.run(t.Context(), t)
	if !isTwice(0, l) {
		t.Errorf("CHAOS_SEED=%d: none of %d calls was applied twice: TestChaos proves nothing", seed, len(list))
	}
}
