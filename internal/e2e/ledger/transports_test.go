package ledger

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"sync"
	"testing"
	"time"

	"github.com/hashicorp/go-retryablehttp"

	"github.com/commerce-go/commerce"
	"github.com/commerce-go/commerce/internal/e2e/calls"
)

// customTransport is a transport that a user may pass to WithHTTPClient, and that does
// more than send a request.
type customTransport struct {
	name string
	on   Protocol // zero: each
	// twice: the transport sends each request on two connections at once. The library
	// can't prevent that. Only the outcome must be true.
	twice bool
	// works: the transport has no fault, so a write without a fault is applied.
	works bool
	// wrap returns the transport. base connects to the server.
	wrap func(t *testing.T, base *http.Transport) http.RoundTripper
}

// customTransports returns the transports. other is the address of another server.
func customTransports(other string) []customTransport {
	return []customTransport{
		{name: "replaces the context", wrap: func(_ *testing.T, base *http.Transport) http.RoundTripper {
			return withoutHooks(base)
		}},
		{name: "no hooks, then refused", wrap: func(_ *testing.T, base *http.Transport) http.RoundTripper {
			return failover(readBody, loseResponse(withoutHooks(base)), unreachable())
		}},
		{name: "refused, then no hooks", wrap: func(_ *testing.T, base *http.Transport) http.RoundTripper {
			return failover(readBody, unreachable(), withoutHooks(base))
		}},
		{name: "refused, then no hooks, by GetBody", wrap: func(_ *testing.T, base *http.Transport) http.RoundTripper {
			return failover(getBody, unreachable(), withoutHooks(base))
		}},
		{name: "failover, by GetBody", wrap: func(_ *testing.T, base *http.Transport) http.RoundTripper {
			return failover(getBody, base, base)
		}},
		{name: "failover, buffered", wrap: func(_ *testing.T, base *http.Transport) http.RoundTripper {
			return failover(readBody, base, base)
		}},
		{name: "failover after a lost response", wrap: func(_ *testing.T, base *http.Transport) http.RoundTripper {
			return failover(readBody, loseResponse(base), base)
		}},
		{name: "registered", wrap: func(_ *testing.T, base *http.Transport) http.RoundTripper {
			return registered(base)
		}},
		{name: "registered failover", wrap: func(_ *testing.T, base *http.Transport) http.RoundTripper {
			return registered(failover(getBody, base, base))
		}},
		// Only HTTP/1.1: over HTTP/2 and without cancellation, net/http sends a request that is
		// reset without end.
		{name: "registered, no hooks", on: anyHTTP1, wrap: func(_ *testing.T, base *http.Transport) http.RoundTripper {
			return registered(failover(leaveOutEmpty, unreachable(), loseResponse(withoutHooks(base))))
		}},
		{name: "wrapped TLS connection", on: anyTLS, wrap: wrapTLS},
		{name: "prints the request", works: true, wrap: func(_ *testing.T, base *http.Transport) http.RoundTripper {
			return calls.Transport(func(req *http.Request) (*http.Response, error) {
				if _, err := httputil.DumpRequestOut(req, true); err != nil {
					return nil, err
				}
				return base.RoundTrip(req)
			})
		}},
		{name: "makes another request first", works: true, wrap: func(t *testing.T, base *http.Transport) http.RoundTripper {
			return requestFirst(t, base, other)
		}},
		{name: "both routes at once", twice: true, wrap: func(_ *testing.T, base *http.Transport) http.RoundTripper {
			return hedge(base)
		}},
		{name: "retryablehttp", wrap: func(_ *testing.T, base *http.Transport) http.RoundTripper {
			c := retryablehttp.NewClient()
			c.HTTPClient, c.Logger = &http.Client{Transport: base}, nil
			c.RetryWaitMin, c.RetryWaitMax = time.Millisecond, time.Millisecond
			return c.StandardClient().Transport
		}},
	}
}

// withoutHooks sends requests under a context that has neither hooks nor cancellation.
func withoutHooks(base http.RoundTripper) http.RoundTripper {
	return calls.Transport(func(req *http.Request) (*http.Response, error) {
		return base.RoundTrip(req.Clone(context.Background()))
	})
}

// unreachable refuses all connections, and calls the hooks.
func unreachable() http.RoundTripper {
	return &http.Transport{DialContext: func(context.Context, string, string) (net.Conn, error) {
		return nil, errors.New("refused")
	}}
}

// loseResponse returns an error instead of the response.
func loseResponse(base http.RoundTripper) http.RoundTripper {
	return calls.Transport(func(req *http.Request) (*http.Response, error) {
		resp, err := base.RoundTrip(req)
		if err == nil {
			_, _ = io.Copy(io.Discard, resp.Body) // so that the connection is reused
			_ = resp.Body.Close()
		}
		return nil, errors.Join(err, io.ErrUnexpectedEOF)
	})
}

// A bodySource returns a function that makes bodies for the routes of a request.
type bodySource func(req *http.Request) (func() (io.ReadCloser, error), error)

func readBody(req *http.Request) (func() (io.ReadCloser, error), error) {
	b, err := io.ReadAll(req.Body)
	return func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(b)), nil }, err
}

func getBody(req *http.Request) (func() (io.ReadCloser, error), error) { return req.GetBody, nil }

// leaveOutEmpty leaves out a body that is empty. It does not read it: ContentLength is 0.
func leaveOutEmpty(req *http.Request) (func() (io.ReadCloser, error), error) {
	if req.ContentLength == 0 {
		return func() (io.ReadCloser, error) { return http.NoBody, nil }, nil
	}
	return req.GetBody, nil
}

// failover tries one route after the other, until one responds.
func failover(source bodySource, routes ...http.RoundTripper) http.RoundTripper {
	return calls.Transport(func(req *http.Request) (*http.Response, error) {
		body := func() (io.ReadCloser, error) { return nil, nil } //nolint:nilnil // a read has none
		var err error
		if req.Body != nil {
			if body, err = source(req); err != nil {
				return nil, err
			}
		}
		for _, route := range routes {
			out := req.Clone(req.Context())
			if out.Body, err = body(); err != nil {
				return nil, err
			}
			var resp *http.Response
			if resp, err = route.RoundTrip(out); err == nil {
				return resp, nil
			}
		}
		return nil, err
	})
}

// registered returns an http.Transport that passes all requests to rt.
func registered(rt http.RoundTripper) http.RoundTripper {
	outer := &http.Transport{}
	outer.RegisterProtocol("http", rt)
	outer.RegisterProtocol("https", rt)
	return outer
}

// wrapTLS makes base dial connections that are not a *tls.Conn.
func wrapTLS(_ *testing.T, base *http.Transport) http.RoundTripper {
	config := base.TLSClientConfig.Clone()
	if base.ForceAttemptHTTP2 {
		config.NextProtos = []string{"h2"}
		base.Protocols = new(http.Protocols)
		base.Protocols.SetUnencryptedHTTP2(true) // for base, the connection has no TLS
	}
	base.DialTLSContext = func(ctx context.Context, network, addr string) (net.Conn, error) {
		conn, err := (&tls.Dialer{Config: config}).DialContext(ctx, network, addr)
		return struct{ net.Conn }{conn}, err
	}
	return base
}

// requestFirst makes another request with the context of each request, before it and in
// the dialer. Transports that fetch tokens do that, and dialers that use DNS over HTTPS.
func requestFirst(t *testing.T, base *http.Transport, other string) http.RoundTripper {
	t.Helper()
	own := &http.Transport{DisableKeepAlives: true}
	get := func(ctx context.Context) error {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, other, nil)
		if err != nil {
			return err
		}
		resp, err := own.RoundTrip(req)
		if err != nil {
			return err
		}
		return resp.Body.Close()
	}
	base.DialContext = func(ctx context.Context, network, addr string) (net.Conn, error) {
		if err := get(ctx); err != nil {
			return nil, err
		}
		return (&net.Dialer{}).DialContext(ctx, network, addr)
	}
	return calls.Transport(func(req *http.Request) (*http.Response, error) {
		if err := get(req.Context()); err != nil {
			return nil, err
		}
		return base.RoundTrip(req)
	})
}

// hedge sends a request twice at the same time, and returns the second response.
func hedge(base http.RoundTripper) http.RoundTripper {
	return calls.Transport(func(req *http.Request) (*http.Response, error) {
		body, err := readBody(req)
		if err != nil {
			return nil, err
		}
		send := func() (*http.Response, error) {
			out := req.Clone(req.Context())
			var err error
			if out.Body, err = body(); err != nil {
				return nil, err
			}
			return base.RoundTrip(out)
		}
		var first sync.WaitGroup
		first.Go(func() {
			if resp, err := send(); err == nil {
				_ = resp.Body.Close()
			}
		})
		defer first.Wait()
		return send()
	})
}

// refused is the fault of a server that does not listen.
var refused = &Fault{Name: "refused", On: all}

// transportFaults are the faults that custom transports meet.
func transportFaults() []*Fault {
	return []*Fault{
		NoFault(),
		refused,
		faultNamed("reset after it was applied"),
		faultNamed("closed after it was applied"),
		faultNamed("reset after the header"),
		faultNamed("201, body closed in the middle"),
		faultNamed("502 after it was applied"),
		faultNamed("404"),
		faultNamed("421"), // the library sends it again, without the wait of a 429
		faultNamed("RST_STREAM PROTOCOL_ERROR after it was applied"),
		faultNamed("RST_STREAM REFUSED_STREAM after it was applied"),
		faultNamed("RST_STREAM REFUSED_STREAM before the body"),
		faultNamed("GOAWAY, last stream 0, after it was applied"),
	}
}

// transportWrite is a write that custom transports make.
type transportWrite struct {
	name    string
	hasBody bool
	on      Protocol // without a body it is the same with TLS, and as h2c
	call    func(ctx context.Context, c *commerce.Client, call string) error
}

var transportWrites = []transportWrite{
	{
		name: "add", hasBody: true, on: all | H2C,
		call: func(ctx context.Context, c *commerce.Client, call string) error {
			return addDiscounts.do(ctx, c, call).err
		},
	},
	{
		name: "delete all", on: HTTP1 | HTTP2,
		call: func(ctx context.Context, c *commerce.Client, _ string) error {
			return c.Carts.DeleteCustomDiscounts(ctx, "a-cart")
		},
	},
	{
		name: "Do without a body", on: HTTP1, // net/http sends it otherwise than a delete
		call: func(ctx context.Context, c *commerce.Client, _ string) error {
			_, err := c.Do(ctx, http.MethodPost, []string{"v2", "carts", "a-cart", "checkout"}, nil, nil, nil)
			return err
		},
	},
}

// TestTransports makes writes through custom transports, over each protocol and with
// each fault; with -short only adds, over HTTP/1.1 without TLS and HTTP/2. A write must
// be applied at most once, except by a transport with twice. Its outcome must always be
// true.
func TestTransports(t *testing.T) {
	t.Parallel()
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	t.Cleanup(other.Close)
	for _, custom := range customTransports(other.URL) {
		t.Run(custom.name, func(t *testing.T) {
			t.Parallel()
			withoutLeak(t, func(ctx context.Context) { custom.runCells(ctx, t) })
		})
	}
}

// runCells runs the cells of a transport sequentially, as [runCells] does.
func (custom *customTransport) runCells(ctx context.Context, t *testing.T) {
	t.Helper()
	faults := transportFaults()
	for _, p := range []Protocol{HTTP1, TLS, HTTP2, H2C} {
		for _, f := range faults {
			on := f.On
			if on&HTTP2 != 0 {
				on |= H2C
			}
			if on&p == 0 || custom.on != 0 && custom.on&p == 0 {
				continue
			}
			for _, write := range transportWrites {
				isMain := p&(HTTP1|HTTP2) != 0 // a response is the same with TLS, and as h2c
				if write.on&p == 0 || !isMain && f.Response != nil || testing.Short() && (!isMain || !write.hasBody) {
					continue
				}
				t.Run(fmt.Sprintf("%s/%s/%s", p, f.Name, write.name), func(t *testing.T) {
					custom.try(ctx, t, transportCell{p, f, write})
				})
			}
		}
	}
}

// transportCell is what a test of a transport does.
type transportCell struct {
	protocol Protocol
	fault    *Fault
	write    transportWrite
}

func (custom *customTransport) try(ctx context.Context, t *testing.T, c transportCell) {
	t.Helper()
	l, s := serve(ctx, t, c.protocol)
	defer s.Close()
	if !c.write.hasBody {
		s.WriteWithoutBody()
	}
	base := s.Transport()
	policy := twoAttempts
	works := custom.works && c.fault.Name == "none"
	if !works {
		policy.AttemptTimeout = 5 * time.Second
	}
	address := s.URL()
	if s.Plan(c.fault); c.fault == refused {
		address = refuse(ctx, t, address)
	}
	client := newClient(t, address, custom.wrap(t, base), commerce.WithRetry(policy))
	calls := map[string]error{}
	for n := range 2 { // the second one on a reused connection, if it is still open
		call := ExternalID("call", n)
		calls[call] = c.write.call(ctx, client, call)
	}
	checkNoConnections(t, s, base)
	s.Close() // from here on, the ledger is complete
	if works && (calls[ExternalID("call", 0)] != nil || calls[ExternalID("call", 1)] != nil) {
		t.Errorf("errors %v, want none", calls)
	}
	if !c.write.hasBody {
		custom.checkTotal(t, calls, l.Applied(bodiless))
		return
	}
	for call, err := range calls {
		applied := l.Applied(call)
		if applied > 1 && err == nil {
			t.Errorf("%s: applied %d times without an error", call, applied)
		}
		if custom.twice {
			applied = min(applied, 1)
		}
		if wrong := contradiction(err, applied); wrong != "" {
			t.Errorf("%s: %s", call, wrong)
		}
	}
}

// checkTotal checks how often writes without a body were applied: nothing tells them apart.
func (custom *customTransport) checkTotal(t *testing.T, calls map[string]error, applied int) {
	t.Helper()
	least, most := 0, 0
	for _, err := range calls {
		minimum, maximum := bounds(err)
		least, most = least+minimum, most+maximum
	}
	if custom.twice {
		most *= 2
	}
	if applied < least || applied > most {
		t.Errorf("applied %d times, want %d to %d after the errors %v", applied, least, most, calls)
	}
}

// TestTransports_secondConnection makes many writes through a transport that retries
// after a lost response. net/http may write to an idle connection although the context has
// just ended: TestEvidence shows that the library closes that connection.
func TestTransports_secondConnection(t *testing.T) {
	t.Parallel()
	for _, p := range []Protocol{HTTP1, TLS, HTTP2} {
		t.Run(p.String(), func(t *testing.T) {
			t.Parallel()
			withoutLeak(t, func(ctx context.Context) {
				l, s := serve(ctx, t, p)
				defer s.Close()
				base := s.Transport()
				lossy := loseResponse(base)
				client := newClient(t, s.URL(), failover(readBody, lossy, lossy, lossy))
				s.Plan(faultNamed("502 after it was applied"))
				for n := range 100 {
					err := addDiscounts.do(ctx, client, ExternalID("call", n)).err
					if !errors.Is(err, commerce.ErrOutcomeUnknown) {
						t.Fatalf("error %v, want an unknown outcome", err)
					}
				}
				checkNoConnections(t, s, base)
				s.Close()
				if calls, _ := l.Duplicates(); calls > 0 {
					t.Errorf("%d calls applied more than once, want none", calls)
				}
			})
		})
	}
}
