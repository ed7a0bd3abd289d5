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
	// attempts that a plan has a fault for; what comes after them gets none.
	plannedFor = 4
	// attemptTimeout ends what stalls, and what the machine is too busy for.
	attemptTimeout = 50 * time.Millisecond
)

// decision is all that chance has to say about a call. A worker's decisions
// follow from the seed alone; when they strike does not.
type decision struct {
	protocol int
	fresh    bool
	faults   []*Fault
	cancel   time.Duration // of the caller; 0: never
	deadline time.Duration // of the caller; 0: none
	read     bool
}

// pools are the faults that chance draws from, by protocol. Heavy ones would
// leave no time for the others.
func pools() [][]*Fault {
	list := make([][]*Fault, 3)
	for _, f := range Faults() {
		for i, p := range []Protocol{HTTP1, TLS, HTTP2} {
			if f.On&p != 0 && !f.Heavy {
				list[i] = append(list[i], f)
			}
		}
	}
	return list
}

func decide(r *rand.Rand, pools [][]*Fault) decision {
	// Handshakes cost more than all else together: half the calls do without TLS.
	d := decision{protocol: max(0, r.IntN(4)-1), fresh: r.IntN(4) == 0, read: r.IntN(20) == 0}
	for range plannedFor {
		f := Clean()
		if r.IntN(100) < 70 {
			f = pools[d.protocol][r.IntN(len(pools[d.protocol]))]
		}
		d.faults = append(d.faults, f)
	}
	d.faults = append(d.faults, Clean())
	// Drawn whether they count or not, so that each call takes as many draws.
	how, after := r.IntN(20), time.Duration(1+r.IntN(20_000))*time.Microsecond
	switch how {
	case 0, 1:
		d.cancel = after
	case 2, 3:
		d.deadline = after
	}
	return d
}

// String lists the faults of a decision.
func (d decision) String() string {
	var names []string
	for _, f := range d.faults {
		names = append(names, f.Name)
	}
	return fmt.Sprintf("%v, fresh %v, cancel %v, deadline %v: %s", Protocol(1<<d.protocol), d.fresh, d.cancel, d.deadline, strings.Join(names, "; "))
}

// made is a write that was made.
type made struct {
	decision
	call string
	err  error
}

// caller makes the calls of a worker to one of its servers.
type caller func(ctx context.Context, read bool, call string) error

// callers makes a caller of a server.
type callers func(t *testing.T, s *Server, base *http.Transport) caller

// chaos lets workers make calls for a time, and longer on a machine that is too
// busy to make as many as least in it. Each has servers of its own, so that it
// knows what becomes of its calls. It returns all writes and the ledger.
func chaos(ctx context.Context, t *testing.T, seed uint64, long time.Duration, least int64, callers callers) ([]made, *Ledger) {
	t.Helper()
	l, draws := New(), pools()
	var (
		mu      sync.Mutex
		list    []made
		running sync.WaitGroup
		total   atomic.Int64
	)
	end := time.Now().Add(long)
	latest := end.Add(3 * max(long, patience))
	goesOn := func() bool {
		now := time.Now()
		return now.Before(end) || total.Load() < least && now.Before(latest)
	}
	for worker := range workers {
		var (
			servers []*Server
			bases   []*http.Transport
			calls   []caller
		)
		for _, p := range []Protocol{HTTP1, TLS, HTTP2} {
			s, err := Serve(ctx, l, p)
			if err != nil {
				t.Fatal(err)
			}
			servers, bases = append(servers, s), append(bases, s.Transport())
			calls = append(calls, callers(t, s, bases[len(bases)-1]))
		}
		running.Go(func() {
			r := rand.New(rand.NewPCG(seed, uint64(worker)))
			var own []made
			for n := 0; goesOn(); n++ {
				d := decide(r, draws)
				servers[d.protocol].Plan(d.faults...)
				if d.fresh {
					bases[d.protocol].CloseIdleConnections()
				}
				call := fmt.Sprintf("call-%02d-%06d", worker, n)
				err := d.make(ctx, calls[d.protocol], call)
				if !d.read {
					own = append(own, made{d, call, err})
					total.Add(1)
				}
			}
			for i, s := range servers {
				noConnections(t, s, bases[i])
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

// make makes one call under a caller that may lose patience.
func (d decision) make(ctx context.Context, do caller, call string) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	if d.deadline > 0 {
		ctx, cancel = context.WithTimeout(ctx, d.deadline)
		defer cancel()
	}
	if d.cancel > 0 {
		defer time.AfterFunc(d.cancel, cancel).Stop()
	}
	return do(ctx, d.read, call)
}

// ofLibrary makes calls by the library.
func ofLibrary(t *testing.T, s *Server, base *http.Transport) caller {
	t.Helper()
	client := newClient(t, s.URL(), base, commerce.RetryPolicy{
		MinBackoff: time.Millisecond, MaxBackoff: time.Millisecond, AttemptTimeout: attemptTimeout,
	})
	return func(ctx context.Context, read bool, call string) error {
		op := operations[0]
		if read {
			op = operations[1]
		}
		return op.do(ctx, client, call).err
	}
}

// ofBaseline makes calls by go-retryablehttp as it comes, but for its waits.
func ofBaseline(_ *testing.T, s *Server, base *http.Transport) caller {
	client := retryablehttp.NewClient()
	client.Logger, client.RetryMax = nil, 4
	client.RetryWaitMin, client.RetryWaitMax = time.Millisecond, time.Millisecond
	client.HTTPClient = &http.Client{Transport: base, Timeout: attemptTimeout}
	return func(ctx context.Context, read bool, call string) error {
		if read {
			return nil
		}
		// It obeys a Retry-After of any length.
		ctx, cancel := context.WithTimeout(ctx, 10*attemptTimeout)
		defer cancel()
		var discounts []map[string]string
		for i := range 2 {
			discounts = append(discounts, map[string]string{"type": "custom_discount", "external_id": ExternalID(call, i)})
		}
		body, err := json.Marshal(map[string]any{"data": discounts})
		if err != nil {
			return err
		}
		req, err := retryablehttp.NewRequestWithContext(ctx, http.MethodPost, s.URL()+"/v2/carts/a-cart/custom-discounts", body)
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

// settings reads how long chaos lasts (CHAOS, about a second without it) and
// from which seed (CHAOS_SEED, a new one without it).
func settings(t *testing.T) (time.Duration, uint64) {
	t.Helper()
	long, seed := 800*time.Millisecond, rand.Uint64()
	if s := os.Getenv("CHAOS"); s != "" {
		var err error
		if long, err = time.ParseDuration(s); err != nil {
			t.Fatal(err)
		}
	}
	if s := os.Getenv("CHAOS_SEED"); s != "" {
		var err error
		if seed, err = strconv.ParseUint(s, 10, 64); err != nil {
			t.Fatal(err)
		}
	}
	return long, seed
}

// TestChaos makes writes under random faults, most requests with one, and
// compares what each call returned with what became of it.
func TestChaos(t *testing.T) {
	t.Parallel()
	long, seed := settings(t)
	least := int64(100)
	if long >= 30*time.Second {
		least = 5000
	}
	var (
		list []made
		l    *Ledger
	)
	start := time.Now()
	leakless(t, func(ctx context.Context) { list, l = chaos(ctx, t, seed, long, least, ofLibrary) })
	took := time.Since(start).Round(time.Millisecond)

	counts, wrong, held := map[string]int{}, 0, 0
	for _, m := range list {
		outcome := commerce.OutcomeOf(m.err).String()
		if m.err != nil {
			failed, ok := errors.AsType[*commerce.Error](m.err)
			if !ok {
				t.Errorf("%s: error %T", m.call, m.err)
			} else if failed.Attempts == 0 && errors.Is(failed, commerce.ErrRateLimited) {
				held++
			}
		}
		counts[outcome]++
		if fault := contradiction(m.err, l.Applied(m.call)); fault != "" {
			wrong++
			t.Errorf("%s: %s\n%s", m.call, fault, m.decision)
		}
	}
	duplicates, applications := l.Duplicates()
	sent := len(list) - held
	t.Logf("CHAOS_SEED=%d: %d POST calls in %v by %d workers, and %d that the gate held back; %d applied, %d twice or more, %d verdicts wrong; outcomes %v",
		seed, sent, took, workers, held, applications, duplicates, wrong, counts)
	if duplicates > 0 {
		t.Errorf("%d duplicates", duplicates)
	}
	if int64(sent) < least || least == 5000 && len(counts) < 6 {
		t.Errorf("%d calls with %d kinds of outcome are too few to prove much", sent, len(counts))
	}
}

// TestChaos_baseline shows that the harness bites: a client that repeats writes
// as most do applies some of them twice.
func TestChaos_baseline(t *testing.T) {
	t.Parallel()
	long, seed := settings(t)
	list, l := chaos(t.Context(), t, seed, min(long, 10*time.Second), 300, ofBaseline)
	duplicates, applications := l.Duplicates()
	t.Logf("CHAOS_SEED=%d: go-retryablehttp by its defaults: %d POST calls, %d applications, %d calls (%.1f %%) applied twice or more",
		seed, len(list), applications, duplicates, 100*float64(duplicates)/float64(max(1, len(list))))
	if duplicates == 0 {
		t.Errorf("no duplicates in %d calls: this harness proves nothing", len(list))
	}
}
