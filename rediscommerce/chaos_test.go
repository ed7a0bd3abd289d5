//go:build unix

package rediscommerce_test

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/commerce-go/commerce"
	"github.com/commerce-go/commerce/commercetest"
	"github.com/commerce-go/commerce/rediscommerce/internal/redistest"
)

// ledger is the front of a store: it records when writes to carts begin and end.
type ledger struct {
	store  http.Handler
	expiry time.Duration // of the locks

	mu       sync.Mutex
	writes   int
	turns    int                  // how often a cart was written to by another process than before
	last     map[string]string    // by cart: the process that wrote to it last
	inFlight map[string][]*write  // by cart
	overlaps [][]*write           // that were in flight at the same time
	killed   map[string]time.Time // by process: when it was about to be killed
	orphans  map[string]*write    // by cart: was in flight when its process was killed, and none came after it yet
	takeover []*write             // orphans that have a next one
}

type write struct {
	cart, process string
	call          callID // of TestLedger
	begin, end    time.Time
	unanswered    bool   // the client was gone when it ended
	abandoned     bool   // the client did not wait for its end, although it was not killed
	released      bool   // of an orphan: its process may have released the lock before it was killed
	next          *write // of an orphan: of another process to the same cart
}

func newLedger(store http.Handler, expiry time.Duration) *ledger {
	return &ledger{
		store: store, expiry: expiry, last: map[string]string{}, inFlight: map[string][]*write{},
		killed: map[string]time.Time{}, orphans: map[string]*write{},
	}
}

// ServeHTTP implements [http.Handler].
func (l *ledger) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method == http.MethodGet {
		l.store.ServeHTTP(w, r)
		return
	}
	in := l.beginWrite(strings.Split(r.URL.Path, "/")[3], r.Header.Get(processHeader))
	end := sync.OnceFunc(func() { l.endWrite(in, r.Context().Err()) })
	defer end() // also if the store cuts the connection
	l.store.ServeHTTP(&responseWriter{w, in, end}, r)
}

// responseWriter notices the beginning of the response: the client may begin its next write when
// it has read the last byte, which may be before the handler returns.
type responseWriter struct {
	http.ResponseWriter
	in  *write
	end func()
}

func (w *responseWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

func (w *responseWriter) WriteHeader(status int) {
	w.end()
	w.ResponseWriter.WriteHeader(status)
}

func (l *ledger) beginWrite(cart, process string) *write {
	l.mu.Lock()
	defer l.mu.Unlock()
	in := &write{cart: cart, process: process, begin: time.Now()}
	for _, other := range l.inFlight[cart] {
		l.overlaps = append(l.overlaps, []*write{other, in})
	}
	l.inFlight[cart] = append(l.inFlight[cart], in)
	l.writes++
	if last := l.last[cart]; last != "" && last != process {
		l.turns++
	}
	l.last[cart] = process
	if o := l.orphans[cart]; o != nil && o.process != process {
		o.next = in
		l.takeover = append(l.takeover, o)
		delete(l.orphans, cart)
	}
	return in
}

// endWrite ends a write. gone is not nil if its client has gone.
func (l *ledger) endWrite(in *write, gone error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	in.end, in.unanswered = time.Now(), gone != nil
	l.inFlight[in.cart] = slices.DeleteFunc(l.inFlight[in.cart], func(other *write) bool { return other == in })
}

// attemptTimeout is that of the processes of TestLedger.
const attemptTimeout = 150 * time.Millisecond

// kill kills a process. Its writes are abandoned from then on. It has the lock for those that are
// too young to have timed out.
func (l *ledger) kill(name string, p *process) {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := time.Now()
	l.killed[name] = now
	for cart, writes := range l.inFlight {
		for _, in := range writes {
			if in.process == name && now.Sub(in.begin) < attemptTimeout/3 {
				l.orphans[cart] = in
			}
		}
	}
	_ = p.cmd.Process.Kill()
}

// isAbandoned reports whether the client of a write did not wait for its end, or was killed
// before it.
func (l *ledger) isAbandoned(in *write) bool {
	killed, ok := l.killed[in.process]
	return in.abandoned || ok && !in.end.Before(killed)
}

// overlapped counts the writes that overlapped, and those of them of which one was abandoned.
func (l *ledger) overlapped() (overlaps, abandoned int) {
	for _, pair := range l.overlaps {
		if l.isAbandoned(pair[0]) || l.isAbandoned(pair[1]) {
			abandoned++
		} else {
			overlaps++
		}
	}
	return overlaps, abandoned
}

// takeovers returns the times between the kills of processes in the middle of a write, and the next
// write to the cart. Their locks expire meanwhile.
func (l *ledger) takeovers() (times []time.Duration) {
	for _, in := range l.takeover {
		if in.unanswered && !in.released && !l.isAbandoned(in.next) {
			times = append(times, in.next.begin.Sub(l.killed[in.process]))
		}
	}
	slices.Sort(times)
	return times
}

// check checks that no two writes overlapped, and no lock of a killed process was granted at once.
func (l *ledger) check(t *testing.T) string {
	t.Helper()
	overlaps, abandoned := l.overlapped()
	if overlaps > 0 {
		t.Errorf("%d writes to a cart overlapped, want none", overlaps)
	}
	text := fmt.Sprintf("%d writes by %d processes, all of them killed; the process at a cart changed %d times; "+
		"%d writes overlapped, and %d that were abandoned", l.writes, len(l.killed), l.turns, overlaps, abandoned)
	if times := l.takeovers(); len(times) > 0 {
		first, last := times[0].Round(time.Millisecond), times[len(times)-1].Round(time.Millisecond)
		text += fmt.Sprintf("; %d locks of killed processes were granted after %v to %v", len(times), first, last)
		if first < l.expiry/4 {
			t.Errorf("a lock of a killed process was granted after %v, want about %v", first, l.expiry)
		}
	}
	return text
}

// injectFaults lets a third of the writes fail, and makes all take a while.
func injectFaults(s *commercetest.Store) {
	r := rand.New(rand.NewPCG(rand.Uint64(), 0))
	for range 1000 {
		fault := commercetest.Fault{Delay: rand.N(40 * time.Millisecond)}
		switch r.IntN(9) {
		case 0:
			fault.Status = http.StatusServiceUnavailable
		case 1:
			fault.Status, fault.Apply = http.StatusBadGateway, true
		case 2:
			fault.Cut, fault.Apply = true, true
		default:
		}
		fault.Match = func(in commercetest.Request) bool { return in.Method != http.MethodGet }
		s.Inject(fault)
	}
}

// chaos lets four processes run that are killed and started again, and cuts their connections to
// the server of the locks.
type chaos struct {
	*ledger
	childConfig        // of each process, without its name and its seed
	life        int    // the most lines that a process prints before it is killed
	cut         func() // cuts the connections to the server of the locks
	read        func(name, line string)
	goesOn      func() bool
}

func (c *chaos) run(t *testing.T) {
	t.Helper()
	front := httptest.NewServer(c.ledger)
	t.Cleanup(front.Close)
	c.Store, c.Expiry, c.NoLock = front.URL, c.expiry, os.Getenv("CHAOS_NO_LOCK") != ""
	var running sync.WaitGroup
	var number atomic.Int64
	for range 4 {
		running.Go(func() {
			for c.goesOn() && !t.Failed() {
				c.live(t, strconv.FormatInt(number.Add(1), 10))
			}
		})
	}
	for c.goesOn() && !t.Failed() {
		time.Sleep(300 * time.Millisecond)
		c.cut()
	}
	running.Wait()
	front.Close() // waits for the last writes
}

// live reads the output of a process, and kills it after some lines: it need not be quick.
func (c *chaos) live(t *testing.T, name string) {
	t.Helper()
	cfg := c.childConfig
	cfg.Name, cfg.Seed = name, rand.Uint64()
	p := start(t, cfg)
	killed := false
	for left := rand.IntN(c.life); p.lines.Scan(); left-- {
		c.read(name, p.lines.Text())
		if !killed && (left <= 0 || !c.goesOn()) {
			c.kill(name, p)
			killed = true
		}
	}
	if err := p.cmd.Wait(); !killed {
		t.Errorf("process %s ended before it was killed: %v", name, err)
	}
}

// Four processes put discounts on the same carts, requests fail, processes are killed, and their
// connections to the server are cut. No two writes to a cart are in flight at a time.
func TestChaos(t *testing.T) {
	t.Parallel()
	duration := durationOf(t, "CHAOS", 8*time.Second)
	store := commercetest.New(t, commercetest.Config{
		DiscountsEnabled: true, CartDiscountLimit: 100, LoseOverlappingWrites: true,
	})
	injectFaults(store)
	carts := []string{store.AddCart(commerce.CartItemRef{}), store.AddCart(commerce.CartItemRef{})}
	outcomes := &counter{counts: map[string]int{}}
	l := newLedger(store, 2*time.Second) // so that a delay of a busy machine is no overlap
	enough := func() bool {
		l.mu.Lock()
		defer l.mu.Unlock()
		return l.writes >= 50 && l.turns >= 5 && len(l.killed) >= 4
	}
	server := redistest.Start(t)
	open(t, server.Client(t))
	proxy := redistest.NewProxy(t, server.Addr)
	end := time.Now().Add(duration)
	c := &chaos{
		ledger: l, childConfig: childConfig{Mode: "chaos", Carts: carts, Redis: proxy.Addr}, life: 20,
		cut: proxy.Cut, read: func(_, line string) { outcomes.add(line) },
		goesOn: func() bool {
			return time.Now().Before(end) || time.Now().Before(end.Add(time.Minute)) && !enough()
		},
	}
	c.run(t)

	t.Logf("%s; outcomes %v", l.check(t), outcomes.counts)
	if !enough() {
		t.Error("too few writes, kills or changes of the process: the test proves nothing")
	}
	checkCarts(t, store, carts)
}

// checkCarts checks that one more call leaves each discount on the cart exactly once.
func checkCarts(t *testing.T, store *commercetest.Store, carts []string) {
	t.Helper()
	for _, cart := range carts {
		var err error
		for range 1001 { // until all faults are used up
			if _, err = store.Client().Carts.EnsureCustomDiscounts(t.Context(), cart, wanted(3),
				&commerce.EnsureCustomDiscountsOptions{Update: true, Settle: -1}); err == nil {
				break
			}
		}
		counts := map[string]int{}
		for _, d := range store.Discounts(cart) {
			counts[d.ExternalID]++
		}
		for i := range 3 {
			if name := "wanted-" + strconv.Itoa(i); err != nil || counts[name] != 1 || len(counts) != 3 {
				t.Errorf("the cart has %d of %s among %v (%v), want 1 and no other", counts[name], name, counts, err)
			}
		}
	}
}

type counter struct {
	mu     sync.Mutex
	counts map[string]int
}

func (c *counter) add(text string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.counts[text]++
}
