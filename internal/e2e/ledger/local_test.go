package ledger

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"slices"
	"sync"
	"testing"
	"time"

	"golang.org/x/oauth2"

	"github.com/commerce-go/commerce"
	"github.com/commerce-go/commerce/internal/e2e/calls"
)

// environment is what a local fault may change.
type environment struct {
	server  *Server
	base    *http.Transport
	address string
	rt      http.RoundTripper // base, unless the fault replaces it
	policy  commerce.RetryPolicy
	opts    []commerce.Option
	plan    []*Fault
	proxy   *Server
}

// setFunc arranges a fault.
type setFunc func(t *testing.T, env *environment)

// contextFunc derives the context of a call.
type contextFunc func(ctx context.Context, env *environment) (context.Context, context.CancelFunc)

// localFault is a fault of the client, or of something between it and the server.
type localFault struct {
	name        string
	on          Protocol
	set         setFunc     // nil: nothing
	ctx         contextFunc // nil: the context of the test
	applied     int         // how often a write is applied
	write, read Want
}

// throughProxy sends requests through a proxy that responds to each with s, and closes.
func throughProxy(s string) setFunc {
	return func(t *testing.T, env *environment) {
		t.Helper()
		proxy, err := Serve(t.Context(), New(), HTTP1)
		if err != nil {
			t.Fatal(err)
		}
		env.proxy = proxy
		proxy.Plan(&Fault{Raw: func(c *Conn) { c.send(s) }, End: Close}) // for CONNECT, or for the call itself
		env.base.Proxy = func(*http.Request) (*url.URL, error) { return url.Parse(proxy.URL()) }
	}
}

// failDial makes each dial return the error of f.
func failDial(f func(ctx context.Context) error) setFunc {
	return func(_ *testing.T, env *environment) {
		env.base.DialContext = func(ctx context.Context, _, _ string) (net.Conn, error) { return nil, f(ctx) }
	}
}

// planned sets the faults of the server, and uses a new connection for each attempt.
func planned(faults ...*Fault) setFunc {
	return func(_ *testing.T, env *environment) { env.plan, env.base.DisableKeepAlives = faults, true }
}

// withTransport makes calls through a custom transport.
func withTransport(send func(env *environment, req *http.Request) (*http.Response, error)) setFunc {
	return func(_ *testing.T, env *environment) {
		env.rt = calls.Transport(func(req *http.Request) (*http.Response, error) { return send(env, req) })
	}
}

// refusing is a limiter that allows no request.
type refusing struct{}

func (refusing) Wait(context.Context) error { return errors.New("no request is allowed") }

// newTokens is a source that returns another token each time.
type newTokens struct{ n chan int }

func (s newTokens) Token() (*oauth2.Token, error) {
	n := <-s.n
	s.n <- n + 1
	return &oauth2.Token{AccessToken: fmt.Sprintf("token-%d", n)}, nil
}

// withNewTokens uses another token after each 401, and sets the faults of the server.
func withNewTokens(maxAttempts int, faults ...*Fault) setFunc {
	return func(_ *testing.T, env *environment) {
		s := newTokens{make(chan int, 1)}
		s.n <- 0
		env.opts = append(env.opts, commerce.WithTokenSource(s))
		env.policy.MaxAttempts, env.plan = maxAttempts, faults
	}
}

// endingContext is a context that ends with err when done is closed.
type endingContext struct {
	context.Context //nolint:containedctx // it is one
	done            chan struct{}
	err             error
}

func (e *endingContext) Done() <-chan struct{} { return e.done }

func (e *endingContext) Err() error {
	select {
	case <-e.done:
		return e.err
	default:
		return nil
	}
}

// ending returns a context that ends with err when end is called. arrange arranges that.
func ending(err error, arrange func(env *environment, end func())) contextFunc {
	return func(ctx context.Context, env *environment) (context.Context, context.CancelFunc) {
		e := &endingContext{ctx, make(chan struct{}), err}
		arrange(env, sync.OnceFunc(func() { close(e.done) }))
		return e, func() {}
	}
}

// before ends a context before the call.
func before(_ *environment, end func()) { end() }

// atFault ends a context when the server reaches its fault.
func atFault(env *environment, end func()) {
	reached := env.server.Reached()
	go func() {
		<-reached
		end()
	}()
}

// inDial ends a context when a connection is dialed. The dial waits for the end.
func inDial(env *environment, end func()) {
	env.base.DialContext = func(ctx context.Context, _, _ string) (net.Conn, error) {
		end()
		<-ctx.Done()
		return nil, ctx.Err()
	}
}

// inBody ends a context when the header of the response has arrived.
func inBody(env *environment, end func()) {
	env.rt = calls.Transport(func(req *http.Request) (*http.Response, error) {
		defer end()
		return env.base.RoundTrip(req)
	})
}

const tlsProtocols = TLS | HTTP2

// want returns the only element of a list.
func want(list []Want) Want { return list[0] }

// wantCause returns an error that matches cause.
func wantCause(o commerce.Outcome, cause error, status, attempts int) Want {
	return Want{Outcome: o, Failed: true, Is: cause, Status: status, Attempts: attempts}
}

var errNothingThere = errors.New("nothing there")

// connectFaults prevent a connection. Nothing is sent.
func connectFaults() []localFault {
	noHost := &net.DNSError{Err: "no such host", Name: "x", IsNotFound: true}
	list := []localFault{
		{name: "dial refused", on: all, set: func(t *testing.T, env *environment) {
			t.Helper()
			env.address = refuse(t.Context(), t, env.address)
		}},
		{name: "dial fails", on: all, set: failDial(func(context.Context) error { return errNothingThere })},
		{name: "no such host", on: all, set: failDial(func(context.Context) error { return noHost })},
		{name: "dial hangs", on: all, set: func(t *testing.T, env *environment) {
			env.policy.AttemptTimeout = 10 * time.Millisecond
			failDial(func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() })(t, env)
		}},
		{name: "no common TLS version", on: tlsProtocols, set: func(_ *testing.T, env *environment) {
			env.base.TLSClientConfig.MinVersion, env.base.TLSClientConfig.MaxVersion = tls.VersionTLS10, tls.VersionTLS11
		}},
		{name: "TLS to a server without TLS", on: HTTP1, set: func(_ *testing.T, env *environment) {
			env.address = "https" + env.address[len("http"):]
		}},
	}
	for name, response := range map[string]string{
		"is refused":        "HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\n\r\n",
		"needs a password":  "HTTP/1.1 407 Proxy Authentication Required\r\nContent-Length: 0\r\n\r\n",
		"fails":             "HTTP/1.1 502 Bad Gateway\r\nContent-Length: 0\r\n\r\n",
		"gets no response":  "",
		"gets garbage":      "garbage\r\n\r\n",
		"connects, no more": "HTTP/1.1 200 OK\r\n\r\n",
	} {
		list = append(list, localFault{name: "CONNECT " + name, on: tlsProtocols, set: throughProxy(response)})
	}
	for i := range list {
		list[i].write, list[i].read = want(wantNotSent()), want(wantLostRead())
	}
	refused := wantCause(commerce.OutcomeNotSent, commerce.ErrCertificate, 0, 1)
	refusedRead := wantCause(commerce.OutcomeNone, commerce.ErrCertificate, 0, 1)
	return append(list,
		localFault{name: "unknown authority", on: tlsProtocols, set: func(_ *testing.T, env *environment) {
			env.base.TLSClientConfig = &tls.Config{MinVersion: tls.VersionTLS12}
		}, write: refused, read: refusedRead},
		localFault{name: "certificate of another host", on: tlsProtocols, set: func(_ *testing.T, env *environment) {
			env.base.TLSClientConfig.ServerName = "store.example"
		}, write: refused, read: refusedRead})
}

// transportErrors are faults of a proxy without TLS, of a custom transport and of a
// limiter.
func transportErrors() []localFault {
	unknown, lostRead := want(wantUnknown()), want(wantLostRead())
	notSent := wantCause(commerce.OutcomeNotSent, nil, 0, 0)
	return []localFault{
		{name: "502 of a proxy", on: HTTP1, set: throughProxy("HTTP/1.1 502 Bad Gateway\r\nConnection: close\r\n\r\n"),
			write: wantCause(commerce.OutcomeUnknown, commerce.ErrServer, 502, 1),
			read:  wantCause(0, commerce.ErrServer, 502, 2)},
		{name: "a proxy that closes", on: HTTP1, set: throughProxy(""), write: unknown, read: lostRead},
		{name: "error of a custom transport", on: all,
			set: withTransport(func(*environment, *http.Request) (*http.Response, error) {
				return nil, errNothingThere
			}), write: unknown, read: lostRead},
		{name: "error of a custom transport after it was applied", on: all, applied: 1,
			set: withTransport(func(env *environment, req *http.Request) (*http.Response, error) {
				resp, err := env.base.RoundTrip(req)
				if err == nil {
					_ = resp.Body.Close()
				}
				return nil, errors.Join(err, errNothingThere)
			}), write: unknown, read: lostRead},
		{name: "no response and no error of a custom transport", on: HTTP1,
			set: withTransport(func(*environment, *http.Request) (*http.Response, error) {
				return nil, nil //nolint:nilnil // the fault
			}), write: unknown, read: lostRead},
		{name: "limiter", on: all, set: func(_ *testing.T, env *environment) {
			env.opts = append(env.opts, commerce.WithLimiter(refusing{}))
		}, write: notSent, read: notSent},
	}
}

// endedContexts end the context of the caller: canceled or at its deadline.
func endedContexts() []localFault {
	stall := planned(&Fault{Applies: true, End: Stall})
	stallInBody := planned(&Fault{
		Applies: true, Response: &Response{Status: 201, Body: added, Truncate: halfOf}, End: Stall,
	})
	notSent := func(err error, attempts int) Want { return wantCause(commerce.OutcomeNotSent, err, 0, attempts) }
	const canceled, deadline = "canceled ", "deadline "
	list := []localFault{
		{name: canceled + "before", on: all, ctx: ending(context.Canceled, before),
			write: notSent(context.Canceled, 0), read: notSent(context.Canceled, 0)},
		{name: deadline + "before", on: all,
			ctx: func(ctx context.Context, _ *environment) (context.Context, context.CancelFunc) {
				return context.WithDeadline(ctx, time.Now().Add(-time.Second))
			}, write: notSent(context.DeadlineExceeded, 0), read: notSent(context.DeadlineExceeded, 0)},
		{name: deadline + "in the dial", on: all, ctx: ending(context.DeadlineExceeded, inDial),
			write: notSent(context.DeadlineExceeded, 1), read: notSent(context.DeadlineExceeded, 1)},
		{name: canceled + "in the TLS handshake", on: tlsProtocols, set: planned(&Fault{Stage: AtAccept, End: Stall}),
			ctx: ending(context.Canceled, atFault), write: notSent(context.Canceled, 1), read: notSent(context.Canceled, 1)},
	}
	for name, err := range map[string]error{canceled: context.Canceled, deadline: context.DeadlineExceeded} {
		list = append(list,
			localFault{name: name + "before the response", on: all, set: stall, ctx: ending(err, atFault), applied: 1,
				write: wantCause(commerce.OutcomeUnknown, err, 0, 1), read: wantCause(0, err, 0, 1)},
			localFault{name: name + "in the body", on: all, set: stallInBody, ctx: ending(err, inBody), applied: 1,
				write: wantCause(commerce.OutcomeUnreadable, err, 201, 1), read: wantCause(0, err, 201, 1)},
		)
	}
	return list
}

// severalAttempts have one fault in each attempt. The most severe outcome counts.
func severalAttempts() []localFault {
	success := Want{Status: 201, Attempts: 2}
	limited, unauthorized := faultNamed("429"), faultNamed("401")
	noTLS := faultNamed("closed instead of TLS")
	return []localFault{
		{name: "429, then success", on: all, set: planned(limited, NoFault()), applied: 1, write: success, read: success},
		{name: "421, then closed after it was applied", on: all, applied: 1,
			set:   planned(faultNamed("421"), faultNamed("closed without close_notify after it was applied")),
			write: wantCause(commerce.OutcomeUnknown, nil, 0, 2), read: want(wantLostRead())},
		{name: "429, then no TLS", on: tlsProtocols, set: planned(limited, noTLS),
			write: wantCause(commerce.OutcomeRejected, commerce.ErrRateLimited, 429, 3),
			read:  wantCause(0, commerce.ErrRateLimited, 429, 3)},
		{name: "no TLS, then a truncated 201", on: tlsProtocols, applied: 1,
			set:   planned(noTLS, faultNamed("201, body closed in the middle")),
			write: wantCause(commerce.OutcomeUnreadable, commerce.ErrConnection, 201, 2),
			read:  wantCause(0, commerce.ErrConnection, 201, 2)},
		{name: "no TLS, then success", on: tlsProtocols, set: planned(noTLS, NoFault()), applied: 1,
			write: success, read: success},
		{name: "401, then another token", on: all, set: withNewTokens(1, unauthorized, NoFault()), applied: 1,
			write: success, read: success},
		{name: "401 for each token", on: all, set: withNewTokens(2, unauthorized),
			write: wantCause(commerce.OutcomeRejected, commerce.ErrUnauthorized, 401, 2),
			read:  wantCause(0, commerce.ErrUnauthorized, 401, 2)},
	}
}

// TestLocalFaults is the part of the matrix in which the server has no fault, or a
// different one in each attempt.
func TestLocalFaults(t *testing.T) {
	t.Parallel()
	for _, tt := range slices.Concat(connectFaults(), transportErrors(), endedContexts(), severalAttempts()) {
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

func (tt *localFault) run(t *testing.T, p Protocol, op operation) {
	t.Helper()
	withoutLeak(t, func(ctx context.Context) {
		l, s := serve(ctx, t, p)
		defer s.Close()
		env := &environment{server: s, base: s.Transport(), address: s.URL(), policy: twoAttempts}
		if tt.set != nil {
			tt.set(t, env)
		}
		if env.proxy != nil {
			defer env.proxy.Close()
		}
		if env.plan != nil {
			s.Plan(env.plan...)
		}
		if tt.ctx != nil {
			var cancel context.CancelFunc
			ctx, cancel = tt.ctx(ctx, env)
			defer cancel()
		}
		if env.rt == nil {
			env.rt = env.base
		}
		want, applied := tt.read, 0
		if op.write {
			want, applied = tt.write, tt.applied
		}
		client := newClient(t, env.address, env.rt, append(env.opts, commerce.WithRetry(env.policy))...)
		if mismatch := op.do(ctx, client, "call").mismatch(want); mismatch != "" {
			t.Error(mismatch)
		}
		checkNoConnections(t, s, env.base)
		s.Close()
		if n := l.Applied("call"); n != applied {
			t.Errorf("applied %d times, want %d", n, applied)
		}
	})
}

// closing closes the idle connections of a server, before a write or during it.
type closing struct {
	name  string
	close func(s *Server) (closed <-chan struct{})
	// readMayFail: the read before the write may meet a connection that is being closed.
	readMayFail bool
}

// TestStaleConnection closes idle connections before a write, and while it begins.
// net/http itself may send a request again if it has not begun to write it. In any case,
// a call is applied at most once.
func TestStaleConnection(t *testing.T) {
	t.Parallel()
	inBackground := func(s *Server) <-chan struct{} {
		closed := make(chan struct{})
		go func() {
			s.CloseConnections()
			close(closed)
		}()
		return closed
	}
	for _, tt := range []closing{
		{name: "before the write", close: func(s *Server) <-chan struct{} {
			closed := inBackground(s)
			<-closed
			return closed
		}},
		{name: "during the write", close: inBackground, readMayFail: true},
	} {
		for _, p := range []Protocol{HTTP1, TLS, HTTP2} {
			t.Run(p.String()+"/"+tt.name, func(t *testing.T) {
				t.Parallel()
				withoutLeak(t, func(ctx context.Context) { tt.run(ctx, t, p) })
			})
		}
	}
}

func (tt closing) run(ctx context.Context, t *testing.T, p Protocol) {
	t.Helper()
	const calls = 40
	l, s := serve(ctx, t, p)
	defer s.Close()
	base := s.Transport()
	client := newClient(t, s.URL(), base)
	results := map[string]error{}
	for i := range calls {
		if err := listSubscriptions.do(ctx, client, "").err; err != nil && !tt.readMayFail {
			t.Error(err)
		}
		closed := tt.close(s)
		call := ExternalID("call", i)
		results[call] = addDiscounts.do(ctx, client, call).err
		<-closed
	}
	checkNoConnections(t, s, base)
	s.Close()
	counts := map[commerce.Outcome]int{}
	for call, err := range results {
		if wrong := contradiction(err, l.Applied(call)); wrong != "" {
			t.Errorf("%s: %s", call, wrong)
		}
		counts[commerce.OutcomeOf(err)]++
	}
	t.Logf("outcomes of %d writes: %v", calls, counts)
}
