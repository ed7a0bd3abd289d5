package commerce_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/jarcoal/httpmock"

	"github.com/commerce-go/commerce"
	"github.com/commerce-go/commerce/internal/e2e/calls"
)

// cartWrites are the writes to a cart, except EnsureCustomDiscounts.
func cartWrites() []calls.Call {
	return slices.DeleteFunc(calls.All(), func(call calls.Call) bool {
		return !call.Write || !strings.HasPrefix(call.Op, "Carts.") || call.Method == ""
	})
}

func doFor(ctx context.Context, c *commerce.Client, write calls.Call, cartID string) error {
	args := calls.NewArgs()
	args.CartID = cartID
	_, err := write.Do(ctx, c, args)
	return err
}

// slow is a transport that refuses each request after a second, or when its context ends.
var slow = roundTripper(func(req *http.Request) (*http.Response, error) {
	select {
	case <-time.After(time.Second):
		return respond(418, "")(req)
	case <-req.Context().Done():
		return nil, req.Context().Err()
	}
})

// timedCall is a call and when it should return, in milliseconds. The n-th call of a test
// starts after n milliseconds.
type timedCall struct {
	call    func(ctx context.Context, c *commerce.Client) error
	timeout time.Duration // 0: none
	ends    int
}

// runTimed makes the calls, and returns their errors. A copy of the client makes every other call.
func runTimed(t *testing.T, calls []timedCall) []error {
	t.Helper()
	c := newClient(t, slow, attempts(1))
	other, err := c.With(commerce.WithUserAgent("copy"))
	if err != nil {
		t.Fatal(err)
	}
	errs, got, want := make([]error, len(calls)), make([]time.Duration, len(calls)), make([]time.Duration, len(calls))
	start := time.Now()
	var running sync.WaitGroup
	for i, call := range calls {
		want[i] = time.Duration(call.ends) * time.Millisecond
		running.Go(func() {
			time.Sleep(time.Duration(i) * time.Millisecond)
			ctx, cancel := t.Context(), func() {}
			if call.timeout > 0 {
				ctx, cancel = context.WithTimeout(ctx, call.timeout)
			}
			defer cancel()
			errs[i] = call.call(ctx, []*commerce.Client{c, other}[i%2])
			got[i] = time.Since(start)
		})
	}
	running.Wait()
	diff(t, "times of return", got, want)
	if n := c.CartsWithTurns(); n != 0 {
		t.Errorf("the client keeps turns of %d carts, want 0", n)
	}
	return errs
}

// Writes of a client and its copies to one cart follow each other in the order they came.
func TestTurns_order(t *testing.T) {
	t.Parallel()
	writes := cartWrites()
	write := func(n int, cartID string) func(context.Context, *commerce.Client) error {
		return func(ctx context.Context, c *commerce.Client) error {
			return doFor(ctx, c, writes[n%len(writes)], cartID)
		}
	}
	var oneCart, manyCarts []timedCall
	for i := range 12 {
		oneCart = append(oneCart, timedCall{call: write(i, cartID), ends: 1000 * (i + 1)})
		manyCarts = append(manyCarts, timedCall{call: write(i, fmt.Sprint(i)), ends: 1000 + i})
	}
	for _, tt := range []struct {
		name  string
		calls []timedCall
	}{
		{name: "one cart", calls: oneCart},
		{name: "many carts", calls: manyCarts},
		{
			name: "reads and Do take no turn",
			calls: []timedCall{
				{call: addDiscount, ends: 1000},
				{call: addDiscount, ends: 2000},
				{ends: 1002, call: func(ctx context.Context, c *commerce.Client) error {
					_, err := c.Carts.Get(ctx, cartID)
					return err
				}},
				{ends: 1003, call: func(ctx context.Context, c *commerce.Client) error {
					_, err := c.Do(ctx, "POST", []string{"v2", "carts", cartID, "custom-discounts"}, nil, nil, nil)
					return err
				}},
			},
		},
		{
			name: "one that gives up leaves no gap",
			calls: []timedCall{
				{call: addDiscount, ends: 1000},
				{call: addDiscount, timeout: 500 * time.Millisecond, ends: 501},
				{call: addDiscount, ends: 2000},
				{call: addDiscount, timeout: 1100 * time.Millisecond, ends: 1103},
				{call: addDiscount, ends: 3000},
			},
		},
	} {
		synctest.Test(t, func(t *testing.T) {
			for i, err := range runTimed(t, tt.calls) {
				e, ok := errors.AsType[*commerce.Error](err)
				gaveUp := tt.calls[i].timeout > 0
				if !ok || gaveUp && (e.Outcome != commerce.OutcomeNotSent || !errors.Is(err, context.DeadlineExceeded)) ||
					gaveUp != strings.Contains(err.Error(), "context deadline exceeded while waiting for its turn (") ||
					gaveUp == (e.StatusCode == 418) || errors.Is(err, commerce.ErrLock) || e.Attempts > 1 {
					t.Errorf("%s: call %d: error %v, want 418 or, after its context, a deadline that was exceeded: %t",
						tt.name, i, err, gaveUp)
				}
			}
		})
	}
}

// testLocker is a Locker that records what happens. Lock calls hook, if it is not nil.
type testLocker struct {
	events []string
	hook   func(context.Context) error
	held   context.Context //nolint:containedctx // returned by Lock
	lose   func()
}

func newLocker(t *testing.T) *testLocker {
	t.Helper()
	l := &testLocker{}
	l.held, l.lose = context.WithCancel(t.Context())
	return l
}

func (l *testLocker) Lock(ctx context.Context, key string) (context.Context, func(), error) {
	l.events = append(l.events, "lock "+key)
	if l.hook != nil {
		if err := l.hook(ctx); err != nil {
			return nil, nil, err
		}
	}
	return l.held, func() { l.events = append(l.events, "unlock") }, nil
}

// responder returns a responder that records the request, then calls r. r may be nil: it panics.
func (l *testLocker) responder(r httpmock.Responder) httpmock.Responder {
	return func(req *http.Request) (*http.Response, error) {
		l.events = append(l.events, "request")
		if r == nil {
			panic("transport")
		}
		return r(req)
	}
}

// losing returns a responder that loses the lock, then calls r.
func (l *testLocker) losing(r httpmock.Responder) httpmock.Responder {
	return func(req *http.Request) (*http.Response, error) {
		l.lose()
		return r(req)
	}
}

const lockEvent = "lock commerce/store.example/carts/" + cartID

// A write holds the lock from before its first attempt until after its last one. Its turn ends with
// it, even if it never sent anything, or panicked.
func TestLocker_events(t *testing.T) {
	t.Parallel()
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	for _, write := range cartWrites() {
		for name, tt := range map[string]struct {
			responders responders
			err        error
		}{
			"context ended":   {err: context.Canceled},
			"invalid cart id": {err: commerce.ErrInvalidArgument},
			"success":         {responders: successOf(write)},
			"429, success":    {responders: append(responders{rateLimited}, successOf(write)...)},
			"403":             {responders: responders{respond(403, "")}, err: commerce.ErrForbidden},
			"transport error": {responders: slices.Repeat(responders{failTransport}, 4), err: commerce.ErrOutcomeUnknown},
			"panic":           {responders: responders{nil}},
		} {
			if name == "transport error" && !write.Replayable {
				tt.responders = tt.responders[:1] // the others are sent once
			}
			l, ctx, id := newLocker(t), t.Context(), cartID
			requests := slices.Repeat([]string{"request"}, len(tt.responders))
			want := slices.Concat([]string{lockEvent}, requests, []string{"unlock"})
			for i, r := range tt.responders {
				tt.responders[i] = l.responder(r)
			}
			switch name {
			case "context ended":
				ctx, want = ended, nil
			case "invalid cart id":
				id, want = "..", nil
			}
			c, err := newStub(t, tt.responders...).client(t).With(commerce.WithCartLocker(l))
			if err != nil {
				t.Fatal(err)
			}
			got := recovered(func() { err = doFor(ctx, c, write, id) })
			if (got != nil) != (name == "panic") || !errors.Is(err, tt.err) || c.CartsWithTurns() != 0 {
				t.Errorf("%s, %s: panic %v, error %v, want %v; turns of %d carts are kept, want none",
					write.Op, name, got, err, tt.err, c.CartsWithTurns())
			}
			diff(t, "events: "+write.Op+", "+name, l.events, want)
		}
	}
}

// All spellings of a host, and of a UUID, have the same key. Another cart id is in it as it is.
func TestLocker_key(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ base, id, want string }{
		{base: "https://store.example", want: "store.example"},
		{base: "https://store.example", id: strings.ToUpper(itemID), want: "store.example"},
		{base: "https://store.example/api/v2", want: "store.example"},
		{base: "https://store.example:", want: "store.example"},
		{base: "HTTPS://STORE.example.:443/v2/", want: "store.example"},
		{base: "https://store.example:8443", want: "store.example:8443"},
		{base: "https://store.example:80", want: "store.example:80"},
		{base: "http://localhost:80", want: "localhost"},
		{base: "http://[::1]:80", want: "[::1]"},
		{base: "https://[2001:DB8::1]:8443", want: "[2001:db8::1]:8443"},
	} {
		l := newLocker(t)
		c := newClientAt(t, tt.base, newStub(t, respond(204, "")), commerce.WithCartLocker(l))
		id, inKey := "É+1", "É+1"
		if tt.id != "" {
			id, inKey = tt.id, itemID
		}
		if err := c.Carts.DeleteCustomDiscounts(t.Context(), id); err != nil {
			t.Fatal(err)
		}
		diff(t, "events of "+tt.base, l.events, []string{"lock commerce/" + tt.want + "/carts/" + inKey, "unlock"})
	}
}

// safeError is an error whose text has a secret, but a safe message.
type safeError string

func (e safeError) Error() string { return string(e) + token }

func (e safeError) SafeMessage() string { return string(e) }

func TestLocker_refuses(t *testing.T) {
	t.Parallel()
	const errSafe = safeError("the server moved")
	errOwn := errors.New("no lock with " + token)
	for _, tt := range []struct {
		name    string
		hook    func(context.Context) error
		timeout time.Duration // of the caller; 0: an hour
		is, not error         // besides ErrLock
		text    string
	}{
		{
			name: "an error", is: errOwn, not: context.Canceled, text: "the locker failed",
			hook: func(context.Context) error { return errOwn },
		},
		{
			name: "a timeout of its own", is: commerce.ErrLock, not: context.DeadlineExceeded, text: "the locker failed",
			hook: func(context.Context) error { return context.DeadlineExceeded },
		},
		{
			name: "the caller's context ends", timeout: time.Second,
			is: context.DeadlineExceeded, not: errOwn, text: "context deadline exceeded while waiting for the lock of the cart",
			hook: func(ctx context.Context) error { <-ctx.Done(); return errOwn },
		},
		{
			name: "a safe message", is: errSafe, not: context.Canceled, text: "not locked: the server moved",
			hook: func(context.Context) error { return errSafe },
		},
		{
			name: "a safe message at the end of the context", timeout: time.Second, is: errSafe, not: errOwn,
			text: "while waiting for the lock of the cart (the server moved)",
			hook: func(ctx context.Context) error { <-ctx.Done(); return fmt.Errorf("%w: %w", errSafe, ctx.Err()) },
		},
	} {
		synctest.Test(t, func(t *testing.T) {
			l := newLocker(t)
			l.hook = tt.hook
			c := newStub(t, respond(204, "")).client(t, commerce.WithCartLocker(l))
			ctx, cancel := context.WithTimeout(t.Context(), cmp.Or(tt.timeout, time.Hour))
			defer cancel()
			err := addDiscount(ctx, c)
			checkError(t, err, commerce.Error{Op: "Carts.AddCustomDiscounts", Outcome: commerce.OutcomeNotSent})
			if !errors.Is(err, commerce.ErrLock) || !errors.Is(err, tt.is) || errors.Is(err, tt.not) ||
				!strings.Contains(err.Error(), tt.text) || strings.Contains(fmt.Sprintf("%+v", err), token) {
				t.Errorf("%s: error %v, want ErrLock, %v and not %v, with %q and without the text of the locker",
					tt.name, err, tt.is, tt.not, tt.text)
			}
			l.hook = nil
			if err := c.Carts.DeleteCustomDiscounts(t.Context(), cartID); err != nil || len(l.events) != 3 {
				t.Errorf("%s: the next write: error %v, events %v, want the turn, the lock, and one unlock",
					tt.name, err, l.events)
			}
		})
	}
}

// A panic of the locker does not keep the turn.
func TestLocker_panics(t *testing.T) {
	t.Parallel()
	for want, locker := range map[string]lockerFunc{
		"locker": func(context.Context, string) (context.Context, func(), error) { panic("locker") },
		"unlock": func(ctx context.Context, _ string) (context.Context, func(), error) {
			return ctx, func() { panic("unlock") }, nil
		},
	} {
		c := newStub(t, respond(204, "")).client(t, commerce.WithCartLocker(locker))
		got := recovered(func() { _ = c.Carts.DeleteCustomDiscounts(t.Context(), cartID) })
		if got != want || c.CartsWithTurns() != 0 {
			t.Errorf("recovered %v, turns of %d carts are kept, want %s and none", got, c.CartsWithTurns(), want)
		}
	}
}

type lockerFunc func(context.Context, string) (context.Context, func(), error)

func (f lockerFunc) Lock(ctx context.Context, key string) (context.Context, func(), error) {
	return f(ctx, key)
}

// The lock is checked before each attempt, and after a write that may have been applied.
func TestLocker_lost(t *testing.T) {
	t.Parallel()
	add, remove := calls.Named("Carts.AddCustomDiscounts"), calls.Named("Carts.DeleteCustomDiscount")
	type row struct {
		name       string
		write      calls.Call
		lost       bool // before the first attempt
		responders func(l *testLocker) responders
		want       commerce.Outcome
		status     int
	}
	rows := []row{
		{name: "429, lost", write: add, want: commerce.OutcomeRejected, status: 429,
			responders: func(l *testLocker) responders { return responders{l.losing(rateLimited)} }},
		{name: "503, lost before a delete is sent again", write: remove, want: commerce.OutcomeUnknown, status: 503,
			responders: func(l *testLocker) responders { return responders{l.losing(respond(503, ""))} }},
		{name: "503, lost, 404 of a delete", write: remove, want: commerce.OutcomeUnknown, status: 404,
			responders: func(l *testLocker) responders { return responders{respond(503, ""), l.losing(respond(404, ""))} }},
		{name: "all added, with an error", write: add, want: commerce.OutcomeUnknown, status: 201,
			responders: func(l *testLocker) responders {
				return responders{l.losing(respond(201, outcomeTexts.Replace(`{"data":[$a],"errors":[$failed]}`)))}
			}},
	}
	for _, write := range cartWrites() {
		rows = append(rows,
			row{name: "before the first attempt: " + write.Op, write: write, lost: true, want: commerce.OutcomeNotSent,
				responders: func(*testLocker) responders { return nil }},
			row{name: "during a write: " + write.Op, write: write, want: commerce.OutcomeUnknown,
				status:     write.Responses(calls.NewArgs())[0].Status,
				responders: func(l *testLocker) responders { return responders{l.losing(successOf(write)[0])} }})
	}
	for _, tt := range rows {
		l := newLocker(t)
		if tt.lost {
			l.lose()
		}
		list := tt.responders(l)
		s := newStub(t, list...)
		err := doFor(t.Context(), s.client(t, commerce.WithCartLocker(l)), tt.write, cartID)
		checkError(t, err, commerce.Error{
			Op: tt.write.Op, StatusCode: tt.status, Outcome: tt.want, Attempts: len(list),
		})
		if !errors.Is(err, commerce.ErrLock) || errors.Is(err, context.Canceled) || len(s.sent()) != len(list) {
			t.Errorf("%s: %d requests, error %v, want %d and ErrLock, but no error of a context",
				tt.name, len(s.sent()), err, len(list))
		}
		diff(t, "events: "+tt.name, l.events, []string{lockEvent, "unlock"})
	}
}

// A client asks for the lock of a cart once at a time: after its turn has come. Its turn ends
// after the lock is released, even if that takes a while.
func TestLocker_afterTurn(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		var events []string
		happens := func(event string) {
			mu.Lock()
			defer mu.Unlock()
			events = append(events, event)
		}
		locker := lockerFunc(func(ctx context.Context, _ string) (context.Context, func(), error) {
			happens("lock")
			return ctx, func() {
				time.Sleep(time.Second)
				happens("unlock")
			}, nil
		})
		c := newClient(t, slow, attempts(1), commerce.WithCartLocker(locker))
		var running sync.WaitGroup
		for range 5 {
			running.Go(func() { _ = addDiscount(t.Context(), c) })
		}
		running.Wait()
		diff(t, "events", events, slices.Repeat([]string{"lock", "unlock"}, 5))
	})
}

// Clients of one store in a process take turns too, if they use the library's own transport.
func TestTurns_clients(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	running, most := 0, 0
	count := func(n int) {
		mu.Lock()
		defer mu.Unlock()
		running += n
		most = max(most, running)
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		count(1)
		runtime.Gosched()
		count(-1)
		w.WriteHeader(http.StatusNoContent)
	}))
	defer server.Close()
	var calls sync.WaitGroup
	for i := range 20 {
		opts := []commerce.Option{commerce.WithToken(token), commerce.WithHTTPClient(&http.Client{Timeout: time.Minute})}
		c, err := commerce.New(server.URL, opts[:1+i%2]...) // every other one has a timeout
		if err != nil {
			t.Fatal(err)
		}
		calls.Go(func() {
			for range 5 {
				if err := c.Carts.DeleteCustomDiscounts(t.Context(), cartID); err != nil {
					t.Error(err)
				}
			}
		})
	}
	if calls.Wait(); most != 1 {
		t.Errorf("%d writes to a cart at a time, want 1", most)
	}
}

// wrapper is a transport that can be compared if what it wraps can be.
type wrapper struct{ http.RoundTripper }

// Clients that New made with the same transport take turns, and so do their copies. A transport
// that cannot be compared is another one for each client.
func TestTurns_transports(t *testing.T) {
	t.Parallel()
	shared := &wrapper{slow}
	for _, tt := range []struct {
		name      string
		transport func() http.RoundTripper
		address   string // of the n-th client, which replaces %d
		want      time.Duration
	}{
		{name: "one transport", want: 5 * time.Second, transport: func() http.RoundTripper { return shared }},
		{name: "equal ones", want: 5 * time.Second, transport: func() http.RoundTripper { return wrapper{shared} }},
		{name: "one each", want: 2 * time.Second, transport: func() http.RoundTripper { return &wrapper{slow} }},
		{name: "a function", want: 2 * time.Second, transport: func() http.RoundTripper { return slow }},
		{name: "a wrapped one", want: 2 * time.Second, transport: func() http.RoundTripper { return wrapper{slow} }},
		{name: "without contents", want: 2 * time.Second, transport: func() http.RoundTripper { return &emptyTransport{} }},
		{name: "a host each", want: 2 * time.Second, transport: func() http.RoundTripper { return shared },
			address: "https://store%d.example"},
	} {
		synctest.Test(t, func(t *testing.T) {
			start := time.Now()
			var running sync.WaitGroup
			write := func(c *commerce.Client) { running.Go(func() { _ = addDiscount(t.Context(), c) }) }
			var c *commerce.Client
			for i := range 4 {
				address := fmt.Sprintf(cmp.Or(tt.address, baseURL+"/%d"), i)
				c = newClientAt(t, address, tt.transport(), attempts(1))
				write(c)
			}
			other, err := c.With(commerce.WithHTTPClient(&http.Client{Transport: &wrapper{slow}}))
			if err != nil {
				t.Fatal(err)
			}
			write(other)
			running.Wait()
			if got := time.Since(start); got != tt.want || c.CartsWithTurns() != 0 {
				t.Errorf("%s: the writes took %v, and turns of %d carts are kept, want %v and none",
					tt.name, got, c.CartsWithTurns(), tt.want)
			}
		})
	}
}

// emptyTransport has no contents: pointers to two of them may be equal.
type emptyTransport struct{}

func (*emptyTransport) RoundTrip(req *http.Request) (*http.Response, error) { return slow(req) }
