package exhaustive_test

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing/iotest"
	"testing/synctest"
	"time"

	"github.com/google/uuid"

	"github.com/commerce-go/commerce"
)

const (
	settle = 2 * time.Second // of all calls, by default
	expiry = 5 * time.Second // of the lock of a process that was killed
	slow   = 3 * time.Second // how long a slow request takes
)

// world is one run of a setting: the store, the calls, and what is on its way between them. Its
// scheduler chooses which request the store receives next, and what becomes of it.
type world struct {
	*setting
	choices *choices
	faults  int // that may still be injected
	seen    seen
	isCut   bool // an earlier run came to the same world: this one ends

	store  store
	states []store // since the start; the last one is store
	late   []*lateWrite
	holder *call     // of the lock
	frees  time.Time // when the lock of a killed process ends
	lastID byte
	broken []string // rules

	mu      sync.Mutex // of the rest, which the calls change
	calls   []*call
	pending []*request
	changed chan struct{} // has an element after a change
}

// call is a call of the library by a process of its own.
type call struct {
	*job
	*world
	name     string
	cancel   context.CancelFunc
	isDead   bool // the process was killed
	isEnded  bool
	requests []*request
	lastRead *request // that reached the call
	begun    int      // number of states before it
	result   *commerce.CustomDiscountsResult
	added    *commerce.AddCustomDiscountsResult
	err      error
	ended    int    // number of states at its end
	history  uint64 // hash of all that it sent and received
}

// request is on its way to the store, or was.
type request struct {
	by           *call
	method, path string // "LOCK": the call asks for its lock
	body         []byte
	keys         []string // external ids of an add
	arrivedAt    time.Time
	base         int       // the state when it arrived
	readyAt      time.Time // when it may be received
	response     chan *reply

	status    int // of the response; 0: none
	refused   []string
	endedAt   time.Time
	appliedAs int // number of the state that it made or read; 0: none
	isLate    bool
	seen      int // number of the state that the call had read before
}

// reply is what reaches a call of a response. nil: nothing.
type reply struct {
	status int
	body   io.Reader
}

// lateWrite is applied after its response, or what took its place.
type lateWrite struct {
	*request
	fate     *fate
	requests int       // after that many further requests
	at       time.Time // or then
}

func (r *request) isWrite() bool { return r.method != http.MethodGet && r.method != lockMethod }

const lockMethod = "LOCK"

func (r *request) String() string {
	what := strings.TrimPrefix(r.path, "/v2/")
	if r.keys != nil {
		what += " " + strings.Join(r.keys, "+")
	}
	return fmt.Sprint(r.by.name, " ", r.method, " ", what)
}

// start starts a call in a process of its own.
func (w *world) start(j *job, name string) {
	c := &call{job: j, world: w, name: name, begun: len(w.states) - 1}
	options := []commerce.Option{
		commerce.WithToken("token"), commerce.WithHTTPClient(&http.Client{Transport: c}),
		// Without random waits, the same choices make the same run.
		commerce.WithRetry(commerce.RetryPolicy{
			MaxAttempts: 2, MaxRefusals: 12, MinBackoff: 1, MaxBackoff: settle, AttemptTimeout: time.Minute,
		}),
	}
	if w.hasLock {
		options = append(options, commerce.WithCartLocker(c))
	}
	client, err := commerce.New("https://store.example", options...)
	if err != nil {
		panic(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	c.cancel = cancel
	w.calls = append(w.calls, c)
	go func() {
		defer func() {
			p := recover()
			cancel()
			w.mu.Lock()
			defer w.mu.Unlock()
			if p != nil {
				w.breaks("%s: panic: %v", name, p)
			}
			c.isEnded, c.ended = true, len(w.states)-1
			w.wake()
		}()
		j.do(ctx, client, c)
	}()
}

func (w *world) wake() {
	select {
	case w.changed <- struct{}{}:
	default:
	}
}

// RoundTrip implements [http.RoundTripper].
func (c *call) RoundTrip(req *http.Request) (*http.Response, error) {
	r := &request{method: req.Method, path: req.URL.Path}
	if req.Body != nil {
		r.body, _ = io.ReadAll(req.Body)
		_ = req.Body.Close()
	}
	if r.method == http.MethodPost && r.path == cartPath+"/custom-discounts" {
		var sent struct{ Data []discount }
		r.decode(&sent)
		for _, d := range sent.Data {
			r.keys = append(r.keys, d.ExternalID)
		}
	}
	got, err := c.wait(req.Context(), r)
	if err != nil || got == nil {
		return nil, cmp.Or(err, errors.New("no response"))
	}
	h := http.Header{"Content-Type": {"application/json"}}
	if got.status == http.StatusTooManyRequests {
		h.Set("Retry-After", "1")
	}
	return &http.Response{StatusCode: got.status, Header: h, Body: io.NopCloser(got.body)}, nil
}

// Lock implements [commerce.Locker].
func (c *call) Lock(ctx context.Context, _ string) (held context.Context, unlock func(), err error) {
	_, err = c.wait(ctx, &request{method: lockMethod})
	return context.WithoutCancel(ctx), func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		if c.holder == c && !c.isDead {
			c.holder = nil
			c.wake()
		}
	}, err
}

// wait waits for what becomes of a request.
func (c *call) wait(ctx context.Context, r *request) (*reply, error) {
	r.by, r.arrivedAt, r.response = c, time.Now(), make(chan *reply, 1)
	c.mu.Lock()
	r.base = len(c.states) - 1
	c.remember(r.method, r.path, r.body)
	if !c.isDead {
		c.checkResend(r)
		c.requests = append(c.requests, r)
		c.pending = append(c.pending, r)
		c.wake()
	}
	c.mu.Unlock()
	select {
	case got := <-r.response:
		return got, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// run lets the calls go on to their ends, and applies all late writes.
func (w *world) run() {
	for start := time.Now(); ; {
		synctest.Wait() // all calls wait for the scheduler, or for a time
		w.applyLate(func(l *lateWrite) bool { return !l.at.IsZero() && !l.at.After(time.Now()) })
		ready := w.ready()
		switch {
		case w.isCut:
			w.abandon()
			return
		case len(ready) > 0:
			if r := w.pick(ready); !w.isCut {
				w.receive(r)
			}
		case !slices.ContainsFunc(w.calls, func(c *call) bool { return !c.isEnded }):
			w.applyLate(func(*lateWrite) bool { return true })
			return
		case time.Since(start) > 24*time.Hour:
			w.breaks("the calls do not end")
			w.abandon()
			return
		default:
			w.sleep()
		}
	}
}

// ready returns the requests that the store may receive now, in the order of the calls.
func (w *world) ready() []*request {
	if w.holder != nil && w.holder.isDead && !w.frees.After(time.Now()) {
		w.holder = nil
	}
	var ready []*request
	for _, c := range w.calls {
		for _, r := range w.pending {
			if r.by == c && !r.readyAt.After(time.Now()) && (r.method != lockMethod || w.holder == nil) {
				ready = append(ready, r)
			}
		}
	}
	return ready
}

// pick chooses the request that the store receives next.
func (w *world) pick(ready []*request) *request {
	if w.isSame && len(ready) == 2 && len(w.calls[0].requests)+len(w.calls[1].requests) == 2 {
		return ready[0] // the first requests of two calls that are the same: their order makes no difference
	}
	var options []string
	for _, r := range ready {
		options = append(options, fmt.Sprint("next: ", r))
	}
	return ready[w.choose("next", options)]
}

// choose chooses an option. If a run before this one had the same choice with the same past, this
// one ends.
func (w *world) choose(what string, options []string) int {
	if len(options) > 1 && w.seen != nil && w.choices.isNew() {
		if w.isCut = w.isCut || !w.seen.add(w.hash(what)); w.isCut {
			return 0
		}
	}
	return w.choices.choose(options)
}

// abandon ends all calls.
func (w *world) abandon() {
	for _, c := range w.calls {
		c.isDead = true
		c.cancel()
	}
	synctest.Wait()
}

// sleep waits until something changes, or until the next time of the scheduler.
func (w *world) sleep() {
	next := time.Now().Add(time.Hour)
	earlier := func(t time.Time) {
		if t.After(time.Now()) && t.Before(next) {
			next = t
		}
	}
	earlier(w.frees)
	for _, l := range w.late {
		earlier(l.at)
	}
	for _, r := range w.pending {
		earlier(r.readyAt)
	}
	timer := time.NewTimer(time.Until(next))
	defer timer.Stop()
	select {
	case <-w.changed:
	case <-timer.C:
	}
}

// receive lets the store receive a request, with a fate that is chosen.
func (w *world) receive(r *request) {
	if r.method == lockMethod {
		w.remove(r)
		w.holder = r.by
		r.response <- nil
		return
	}
	possible := []*fate{&fates[0]}
	options := []string{fmt.Sprint(r, ": ", fates[0].name)}
	for i := range fates[1:] {
		if f := &fates[1+i]; w.faults > 0 && f.fits(w, r) {
			possible, options = append(possible, f), append(options, fmt.Sprint(r, ": ", f.name))
		}
	}
	f := possible[w.choose(r.String(), options)]
	if w.isCut {
		return
	}
	if f != &fates[0] {
		w.faults--
	}
	f.meet(w, r)
}

// remove ends the waiting of a request at the scheduler.
func (w *world) remove(r *request) {
	w.pending = slices.DeleteFunc(w.pending, func(o *request) bool { return o == r })
}

// baseOf returns the state that a request is applied to: the last one, or, if the fate says so, the
// state when it arrived. That undoes what was written meanwhile.
func (w *world) baseOf(r *request, f *fate) store {
	base := w.store
	if f.isOver {
		base = w.states[r.base]
		base.Price = w.store.Price
	}
	return base
}

// apply applies a request to a state.
func (w *world) apply(r *request, before store) response {
	after, resp := before.apply(r, func() uuid.UUID {
		w.lastID++
		return uuid.UUID{0: 1, 15: w.lastID}
	})
	r.refused = resp.refused
	if r.isWrite() && resp.status < http.StatusBadRequest {
		w.checkCopy(r, before)
		w.change(after)
	}
	if resp.status < http.StatusBadRequest {
		r.appliedAs = len(w.states) - 1
	}
	return resp
}

// change makes another state the last one.
func (w *world) change(s store) {
	w.store = s
	w.states = append(w.states, s)
	if !slices.Contains(s.Discounts, foreign) {
		w.breaks("the discount of another engine was changed")
	}
}

// applyLate applies the late writes that are due.
func (w *world) applyLate(isDue func(*lateWrite) bool) {
	for _, l := range slices.Clone(w.late) {
		if isDue(l) {
			w.late = slices.DeleteFunc(w.late, func(o *lateWrite) bool { return o == l })
			l.isLate = true
			w.apply(l.request, w.baseOf(l.request, l.fate))
		}
	}
}

// kill kills the process of a call. Another one takes over.
func (w *world) kill(c *call) {
	c.isDead, c.isEnded = true, true
	for _, r := range slices.Clone(w.pending) {
		if r.by == c {
			w.remove(r)
		}
	}
	if w.holder == c {
		w.frees = time.Now().Add(expiry)
	}
	c.cancel()
	if !c.isOnce {
		w.start(c.job, c.name+"'")
	}
}

// respond ends a request with the response of the store, or with what took its place.
func (r *request) respond(f *fate, resp response) {
	status, body := resp.status, resp.body
	if f.status != 0 {
		status, body = f.status, nil
	}
	r.endedAt = time.Now()
	var got *reply
	defer func() {
		r.by.remember(f.name, r.status, body)
		r.response <- got // from here on, the call goes on
	}()
	if f.isLost || status == 0 {
		return
	}
	var text []byte
	if body != nil {
		text, _ = json.Marshal(body) // no error: maps, texts and numbers
	}
	r.status = status
	reader := io.Reader(bytes.NewReader(text))
	if f.isCut {
		r.status = 0
		reader = io.MultiReader(bytes.NewReader(text[:len(text)/2]), iotest.ErrReader(io.ErrUnexpectedEOF))
	} else if r.method == http.MethodGet && status == http.StatusOK {
		r.by.lastRead = r
	}
	got = &reply{status, reader}
}
