package ledger

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"net/http"
	"net/url"
	"sync"
	"testing"
	"time"

	"golang.org/x/oauth2"

	"github.com/commerce-go/commerce"
)

// roundTrip is a transport of a function.
type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(req *http.Request) (*http.Response, error) { return f(req) }

// bench is what a local fault is arranged on.
type bench struct {
	server  *Server
	base    *http.Transport
	address string
	rt      http.RoundTripper // base, unless the fault is in another
	policy  commerce.RetryPolicy
	opts    []commerce.Option
	plan    []*Fault
	proxy   *Server
}

// local is a fault on the client's side of the wire, or between it and the server.
type local struct {
	name        string
	on          Protocol
	set         func(t *testing.T, b *bench)                                              // nil: nothing
	ctx         func(ctx context.Context, b *bench) (context.Context, context.CancelFunc) // nil: the test's
	applied     int
	write, read Verdict
}

// proxied makes the bench go through a proxy that answers each request with s,
// and then closes.
func proxied(s string) func(t *testing.T, b *bench) {
	return func(t *testing.T, b *bench) {
		t.Helper()
		proxy, err := Serve(t.Context(), New(), HTTP1)
		if err != nil {
			t.Fatal(err)
		}
		b.proxy = proxy // closed with the cell
		// A proxy gets CONNECT before a call is sent, or the call itself.
		proxy.Plan(&Fault{Raw: func(c *Conn) { c.send(s) }, End: Close})
		b.base.Proxy = func(*http.Request) (*url.URL, error) { return url.Parse(proxy.URL()) }
	}
}

// dialing makes the bench dial by f.
func dialing(f func(ctx context.Context) error) func(t *testing.T, b *bench) {
	return func(_ *testing.T, b *bench) {
		b.base.DialContext = func(ctx context.Context, _, _ string) (net.Conn, error) { return nil, f(ctx) }
	}
}

// planned makes the server behave by a plan, on a connection for each attempt.
func planned(faults ...*Fault) func(t *testing.T, b *bench) {
	return func(_ *testing.T, b *bench) { b.plan, b.base.DisableKeepAlives = faults, true }
}

// refusing is a limiter that lets nothing through.
type refusing struct{}

func (refusing) Wait(context.Context) error { return errors.New("no more today") }

// tokens is a token source that gives another token each time.
type tokens struct{ n chan int }

func (s tokens) Token() (*oauth2.Token, error) {
	n := <-s.n
	s.n <- n + 1
	return &oauth2.Token{AccessToken: "token-" + string(rune('a'+n))}, nil
}

func refreshing(_ *testing.T, b *bench) {
	s := tokens{make(chan int, 1)}
	s.n <- 0
	b.opts = append(b.opts, commerce.WithTokenSource(s))
}

// ending is a context that ends with err when told to.
type ending struct {
	context.Context //nolint:containedctx // it is one
	done            chan struct{}
	err             error
}

func (e *ending) Done() <-chan struct{} { return e.done }

func (e *ending) Err() error {
	select {
	case <-e.done:
		return e.err
	default:
		return nil
	}
}

// endsAtFault is a context that ends when the server comes to its fault.
func endsAtFault(err error) func(ctx context.Context, b *bench) (context.Context, context.CancelFunc) {
	return func(ctx context.Context, b *bench) (context.Context, context.CancelFunc) {
		e := &ending{ctx, make(chan struct{}), err}
		_, reached := b.server.Reached()
		go func() {
			<-reached
			close(e.done)
		}()
		return e, func() {}
	}
}

// endsInDial is a context that ends when a connection is dialled, which waits for it.
func endsInDial(err error) func(ctx context.Context, b *bench) (context.Context, context.CancelFunc) {
	return func(ctx context.Context, b *bench) (context.Context, context.CancelFunc) {
		e := &ending{ctx, make(chan struct{}), err}
		end := sync.OnceFunc(func() { close(e.done) })
		b.base.DialContext = func(ctx context.Context, _, _ string) (net.Conn, error) {
			end()
			<-ctx.Done()
			return nil, ctx.Err()
		}
		return e, func() {}
	}
}

// endsInBody is a context that ends when the header of the answer is there.
func endsInBody(err error) func(ctx context.Context, b *bench) (context.Context, context.CancelFunc) {
	return func(ctx context.Context, b *bench) (context.Context, context.CancelFunc) {
		e := &ending{ctx, make(chan struct{}), err}
		b.rt = roundTrip(func(req *http.Request) (*http.Response, error) {
			defer close(e.done)
			return b.base.RoundTrip(req)
		})
		return e, func() {}
	}
}

func stalling() *Fault { return &Fault{Applies: true, End: Stall} }

func stallingInBody() *Fault {
	return &Fault{Applies: true, Answer: &Answer{Status: 201, Body: added, Cut: halfOf}, End: Stall}
}

func named(name string) *Fault {
	for _, f := range Faults() {
		if f.Name == name {
			return f
		}
	}
	panic("no fault is called " + name)
}

func locals() []local {
	const both = TLS | HTTP2
	sent := func(o commerce.Outcome, is error, status, attempts int) Verdict {
		return Verdict{Outcome: o, Failed: true, Is: is, Status: status, Attempts: attempts}
	}
	not, lost := notSent()[0], lostRead()[0]
	nothing := errors.New("nothing there")
	ended := func(err error, attempts int) Verdict { return sent(commerce.OutcomeNotSent, err, 0, attempts) }
	return []local{
		{name: "dial refused", on: all, set: func(_ *testing.T, b *bench) { b.server.Close() }, write: not, read: lost},
		{name: "dial fails", on: all, set: dialing(func(context.Context) error { return nothing }), write: not, read: lost},
		{name: "no such host", on: all, set: dialing(func(context.Context) error { return &net.DNSError{Err: "no such host", Name: "x", IsNotFound: true} }), write: not, read: lost},
		{name: "dial hangs", on: all, set: func(t *testing.T, b *bench) {
			b.policy.AttemptTimeout = 10 * time.Millisecond
			dialing(func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() })(t, b)
		}, write: not, read: lost},
		{name: "unknown authority", on: both, set: func(_ *testing.T, b *bench) { b.base.TLSClientConfig = &tls.Config{MinVersion: tls.VersionTLS12} }, write: not, read: lost},
		{name: "another host's certificate", on: both, set: func(_ *testing.T, b *bench) { b.base.TLSClientConfig.ServerName = "store.example" }, write: not, read: lost},
		{name: "no TLS version in common", on: both, set: func(_ *testing.T, b *bench) {
			b.base.TLSClientConfig.MinVersion, b.base.TLSClientConfig.MaxVersion = tls.VersionTLS10, tls.VersionTLS11
		}, write: not, read: lost},
		{name: "TLS to a server that has none", on: HTTP1, set: func(_ *testing.T, b *bench) { b.address = "https" + b.address[len("http"):] }, write: not, read: lost},

		{name: "CONNECT refused", on: both, set: proxied("HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\n\r\n"), write: not, read: lost},
		{name: "CONNECT wants a password", on: both, set: proxied("HTTP/1.1 407 Proxy Authentication Required\r\nContent-Length: 0\r\n\r\n"), write: not, read: lost},
		{name: "CONNECT fails", on: both, set: proxied("HTTP/1.1 502 Bad Gateway\r\nContent-Length: 0\r\n\r\n"), write: not, read: lost},
		{name: "CONNECT is not answered", on: both, set: proxied(""), write: not, read: lost},
		{name: "CONNECT is answered with garbage", on: both, set: proxied("garbage\r\n\r\n"), write: not, read: lost},
		{name: "CONNECT leads nowhere", on: both, set: proxied("HTTP/1.1 200 OK\r\n\r\n"), write: not, read: lost},
		{name: "a proxy's own 502", on: HTTP1, set: proxied("HTTP/1.1 502 Bad Gateway\r\nConnection: close\r\n\r\n"),
			write: sent(commerce.OutcomeUnknown, commerce.ErrServer, 502, 1), read: sent(0, commerce.ErrServer, 502, 2)},
		{name: "a proxy that closes", on: HTTP1, set: proxied(""), write: unknown()[0], read: lost},

		{name: "a foreign transport's error", on: all, set: func(_ *testing.T, b *bench) {
			b.rt = roundTrip(func(*http.Request) (*http.Response, error) { return nil, nothing })
		}, write: unknown()[0], read: lost},
		{name: "a foreign transport's error after it was applied", on: all, set: func(_ *testing.T, b *bench) {
			b.rt = roundTrip(func(req *http.Request) (*http.Response, error) {
				resp, err := b.base.RoundTrip(req)
				if err == nil {
					_ = resp.Body.Close()
				}
				return nil, errors.Join(err, nothing)
			})
		}, applied: 1, write: unknown()[0], read: lost},
		{name: "a foreign transport's silence", on: HTTP1, set: func(_ *testing.T, b *bench) {
			b.rt = roundTrip(func(*http.Request) (*http.Response, error) { return nil, nil }) //nolint:nilnil // the breach of the contract
		}, write: unknown()[0], read: lost},
		{name: "limiter", on: all, set: func(_ *testing.T, b *bench) { b.opts = append(b.opts, commerce.WithLimiter(refusing{})) }, write: ended(nil, 0), read: ended(nil, 0)},

		{name: "cancelled before", on: all, ctx: func(ctx context.Context, _ *bench) (context.Context, context.CancelFunc) {
			ctx, cancel := context.WithCancel(ctx)
			cancel()
			return ctx, cancel
		}, write: ended(context.Canceled, 0), read: ended(context.Canceled, 0)},
		{name: "deadline before", on: all, ctx: func(ctx context.Context, _ *bench) (context.Context, context.CancelFunc) {
			return context.WithDeadline(ctx, time.Now().Add(-time.Second))
		}, write: ended(context.DeadlineExceeded, 0), read: ended(context.DeadlineExceeded, 0)},
		{name: "deadline in the dial", on: all, ctx: endsInDial(context.DeadlineExceeded), write: ended(context.DeadlineExceeded, 1), read: ended(context.DeadlineExceeded, 1)},
		{name: "cancelled while TLS is silent", on: both, set: planned(&Fault{Stage: AtAccept, End: Stall}), ctx: endsAtFault(context.Canceled),
			write: ended(context.Canceled, 1), read: ended(context.Canceled, 1)},
		{name: "cancelled while it waits for the answer", on: all, set: planned(stalling()), ctx: endsAtFault(context.Canceled), applied: 1,
			write: sent(commerce.OutcomeUnknown, context.Canceled, 0, 1), read: sent(0, context.Canceled, 0, 1)},
		{name: "deadline while it waits for the answer", on: all, set: planned(stalling()), ctx: endsAtFault(context.DeadlineExceeded), applied: 1,
			write: sent(commerce.OutcomeUnknown, context.DeadlineExceeded, 0, 1), read: sent(0, context.DeadlineExceeded, 0, 1)},
		{name: "cancelled in the body", on: all, set: planned(stallingInBody()), ctx: endsInBody(context.Canceled), applied: 1,
			write: sent(commerce.OutcomeUnreadable, context.Canceled, 201, 1), read: sent(0, context.Canceled, 201, 1)},
		{name: "deadline in the body", on: all, set: planned(stallingInBody()), ctx: endsInBody(context.DeadlineExceeded), applied: 1,
			write: sent(commerce.OutcomeUnreadable, context.DeadlineExceeded, 201, 1), read: sent(0, context.DeadlineExceeded, 201, 1)},

		// Over several attempts the gravest wins.
		{name: "429, then all is well", on: all, set: planned(named("429"), Clean()), applied: 1, write: Verdict{Status: 201, Attempts: 2}, read: Verdict{Status: 201, Attempts: 2}},
		{name: "421, then cut after it was applied", on: all, set: planned(named("421"), named("cut after it was applied")), applied: 1,
			write: sent(commerce.OutcomeUnknown, nil, 0, 2), read: lost},
		{name: "429, then no TLS", on: both, set: planned(named("429"), named("closed in place of TLS")),
			write: sent(commerce.OutcomeRejected, commerce.ErrRateLimited, 429, 2), read: sent(0, commerce.ErrRateLimited, 429, 2)},
		{name: "no TLS, then 201 cut", on: both, set: planned(named("closed in place of TLS"), named("201, body closed in the middle")), applied: 1,
			write: sent(commerce.OutcomeUnreadable, commerce.ErrBadResponse, 201, 2), read: sent(0, commerce.ErrBadResponse, 201, 2)},
		{name: "no TLS, then all is well", on: both, set: planned(named("closed in place of TLS"), Clean()), applied: 1,
			write: Verdict{Status: 201, Attempts: 2}, read: Verdict{Status: 201, Attempts: 2}},

		{name: "401, then another token", on: all, set: func(t *testing.T, b *bench) {
			refreshing(t, b)
			b.policy.MaxAttempts, b.plan = 1, []*Fault{named("401"), Clean()}
		}, applied: 1, write: Verdict{Status: 201, Attempts: 2}, read: Verdict{Status: 201, Attempts: 2}},
		{name: "401 for each token", on: all, set: func(t *testing.T, b *bench) {
			refreshing(t, b)
			b.plan = []*Fault{named("401")}
		}, write: sent(commerce.OutcomeRejected, commerce.ErrUnauthorized, 401, 2), read: sent(0, commerce.ErrUnauthorized, 401, 2)},
	}
}

// TestLocalFaults is the part of the matrix where the server is not to blame.
func TestLocalFaults(t *testing.T) {
	t.Parallel()
	for _, tt := range locals() {
		for _, p := range []Protocol{HTTP1, TLS, HTTP2} {
			for _, op := range operations {
				if tt.on&p == 0 {
					continue
				}
				t.Run(tt.name+"/"+p.String()+"/"+op.name, func(t *testing.T) {
					t.Parallel()
					tt.run(t, p, op)
				})
			}
		}
	}
}

func (tt *local) run(t *testing.T, p Protocol, op operation) {
	t.Helper()
	leakless(t, func(ctx context.Context) {
		l, s := serve(ctx, t, p)
		defer s.Close()
		b := &bench{server: s, base: s.Transport(), address: s.URL(), policy: quick}
		if tt.set != nil {
			tt.set(t, b)
		}
		if b.proxy != nil {
			defer b.proxy.Close()
		}
		if b.plan != nil {
			s.Plan(b.plan...)
		}
		if tt.ctx != nil {
			var cancel context.CancelFunc
			ctx, cancel = tt.ctx(ctx, b)
			defer cancel()
		}
		if b.rt == nil {
			b.rt = b.base
		}
		o := op.do(ctx, newClient(t, b.address, b.rt, b.policy, b.opts...), "call")
		verdict := tt.read
		if op.write {
			verdict = tt.write
		}
		if wrong := o.check(op, verdict); wrong != "" {
			t.Error(wrong)
		}
		noConnections(t, s, b.base)
		s.Close()
		want := 0
		if op.write {
			want = tt.applied
		}
		if n := l.Applied("call"); n != want {
			t.Errorf("applied %d times, want %d", n, want)
		}
	})
}

// TestStaleConnection closes idle connections from the server's side, before a
// write and while it is under way. net/http may repeat what it did not begin to
// write by itself; whatever it does, a call is applied once at most.
func TestStaleConnection(t *testing.T) {
	t.Parallel()
	for _, p := range []Protocol{HTTP1, TLS, HTTP2} {
		for _, atOnce := range []bool{false, true} {
			name := p.String() + "/before"
			if atOnce {
				name = p.String() + "/at the moment of the write"
			}
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				leakless(t, func(ctx context.Context) { stale(ctx, t, p, atOnce) })
			})
		}
	}
}

func stale(ctx context.Context, t *testing.T, p Protocol, atOnce bool) {
	t.Helper()
	const rounds = 40
	l, s := serve(ctx, t, p)
	defer s.Close()
	base := s.Transport()
	client := newClient(t, s.URL(), base, quick)
	outcomes := map[string]outcome{}
	for i := range rounds {
		if o := operations[1].do(ctx, client, ""); o.err != nil && !atOnce {
			t.Error(o.err)
		}
		closed := make(chan struct{})
		go func() {
			s.CloseConnections()
			close(closed)
		}()
		if !atOnce {
			<-closed
		}
		call := ExternalID("stale", i)
		outcomes[call] = operations[0].do(ctx, client, call)
		<-closed
	}
	noConnections(t, s, base)
	s.Close()
	counts := map[commerce.Outcome]int{}
	for call, o := range outcomes {
		if fault := contradiction(o.err, l.Applied(call)); fault != "" {
			t.Errorf("%s: %s", call, fault)
		}
		counts[commerce.OutcomeOf(o.err)]++
	}
	t.Logf("outcomes of %d writes: %v", rounds, counts)
}

// contradiction says how what a call returned differs from how often it was
// applied, in answers that tell the truth.
func contradiction(err error, applied int) string {
	least, most := 0, 1
	switch commerce.OutcomeOf(err) {
	case commerce.OutcomeApplied, commerce.OutcomePartial, commerce.OutcomeUnreadable:
		least = 1
	case commerce.OutcomeNotSent, commerce.OutcomeRejected:
		most = 0
	default:
	}
	if applied < least || applied > most {
		return "applied " + string(rune('0'+min(applied, 9))) + " times, and the call returned " + errorText(err)
	}
	return ""
}

func errorText(err error) string {
	if err == nil {
		return "a success"
	}
	return err.Error()
}
