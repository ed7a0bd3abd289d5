package commerce_test

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/oauth2"

	"github.com/commerce-go/commerce"
)

// TestLeaks_stubs pushes canaries through every fault of a transport.
func TestLeaks_stubs(t *testing.T) {
	t.Parallel()
	l := newLeakCheck(t)
	for _, fault := range append(answerFaults(), errorFaults()...) {
		t.Run(fault.name, func(t *testing.T) {
			t.Parallel()
			l.runModes(t, base, fault.rt)
		})
	}
}

// newLeakCheck returns a check that tells at the end of the test what it did.
func newLeakCheck(t *testing.T) *leakCheck {
	t.Helper()
	l := &leakCheck{}
	t.Cleanup(func() {
		t.Logf("%d calls, %d values, %d renderings checked, %d give something away", l.calls.Load(), l.values.Load(), l.renderings.Load(), l.found.Load())
	})
	return l
}

// onTCP listens on the loopback and has answer say something to each request,
// which it gets as it was written; then the connection is closed.
func onTCP(t *testing.T, answer func(request string) string) string {
	t.Helper()
	var lc net.ListenConfig
	l, err := lc.Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := l.Addr().String()
	var wg sync.WaitGroup
	wg.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			wg.Go(func() {
				defer func() { _ = conn.Close() }()
				_ = conn.SetDeadline(time.Now().Add(20 * time.Second))
				if text := answer(readAll(conn)); text != "" {
					_, _ = io.WriteString(conn, text)
				}
			})
		}
	})
	t.Cleanup(func() {
		_ = l.Close()
		wg.Wait()
	})
	return address
}

// readAll reads a request, the whole body included where its length is told. Of
// what is no request it reads what comes first.
func readAll(conn net.Conn) string {
	var b strings.Builder
	buf := make([]byte, 4096)
	for {
		n, err := conn.Read(buf)
		b.Write(buf[:n])
		head, body, whole := strings.Cut(b.String(), "\r\n\r\n")
		length := 0
		if _, after, ok := strings.Cut(head, "Content-Length: "); ok {
			_, _ = fmt.Sscan(after, &length)
		}
		if err != nil || whole && len(body) >= length || b.Len() > 0 && (b.String()[0] < 'A' || b.String()[0] > 'Z') {
			return b.String()
		}
	}
}

// ownConns returns a transport with connections of its own, closed at the end.
func ownConns(t *testing.T, change func(*http.Transport)) *http.Transport {
	t.Helper()
	rt := &http.Transport{DisableKeepAlives: true}
	if change != nil {
		change(rt)
	}
	t.Cleanup(rt.CloseIdleConnections)
	return rt
}

// oneLine is all that a server knows, fit for a line of an answer.
func oneLine(request string) string {
	return strings.NewReplacer("\r", " ", "\n", " ").Replace(request + everything())
}

// TestLeaks_wire pushes canaries through answers that are not HTTP, or nearly not.
func TestLeaks_wire(t *testing.T) {
	t.Parallel()
	l := newLeakCheck(t)
	for name, answer := range map[string]func(string) string{
		"the request":            func(r string) string { return r },
		"a status line of it":    func(r string) string { return oneLine(r) + "\r\n\r\n" },
		"a status that is none":  func(r string) string { return "HTTP/1.1 " + oneLine(r) + "\r\n\r\n" },
		"a version that is none": func(r string) string { return "HTTP/" + oneLine(r) + " 200 OK\r\n\r\n" },
		"a reason":               func(r string) string { return "HTTP/1.1 500 " + oneLine(r) + "\r\nContent-Length: 0\r\n\r\n" },
		"a status below 100":     func(r string) string { return "HTTP/1.1 000 " + oneLine(r) + "\r\n\r\n" },
		"a header without a colon": func(r string) string {
			return "HTTP/1.1 200 OK\r\n" + strings.ReplaceAll(oneLine(r), ":", "") + "\r\n\r\n"
		},
		"a header with odd bytes": func(r string) string { return "HTTP/1.1 200 OK\r\nX-\x01" + oneLine(r) + ": x\r\n\r\n" },
		"a header value with NUL": func(r string) string { return "HTTP/1.1 200 OK\r\nX-Echo: \x00" + oneLine(r) + "\r\n\r\n" },
		"a length that is none":   func(r string) string { return "HTTP/1.1 200 OK\r\nContent-Length: " + oneLine(r) + "\r\n\r\n" },
		"two lengths": func(r string) string {
			return "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: " + oneLine(r) + "\r\n\r\n"
		},
		"a coding that is none": func(r string) string { return "HTTP/1.1 200 OK\r\nTransfer-Encoding: " + oneLine(r) + "\r\n\r\n" },
		"a chunk length of it": func(r string) string {
			return "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + oneLine(r) + "\r\n"
		},
		"a trailer of it": func(r string) string {
			return "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n" + oneLine(r) + "\r\n\r\n"
		},
		"gzip that is none": func(r string) string {
			return "HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 99999\r\n\r\n" + oneLine(r)
		},
		"a body that is cut": func(r string) string { return "HTTP/1.1 200 OK\r\nContent-Length: 99999\r\n\r\n" + quoteJSON(r) },
		"an error that is cut": func(r string) string {
			return "HTTP/1.1 404 " + oneLine(r) + "\r\nContent-Length: 99999\r\n\r\n" + asErrors(r)
		},
		"an upgrade": func(r string) string {
			return "HTTP/1.1 101 " + oneLine(r) + "\r\nConnection: Upgrade\r\nUpgrade: " + oneLine(r) + "\r\n\r\n" + r
		},
		"a redirect": func(r string) string {
			return "HTTP/1.1 307 X\r\nLocation: https://" + url.PathEscape(oneLine(r)) + "/\r\nContent-Length: 0\r\n\r\n"
		},
		"a redirect that is none": func(r string) string {
			return "HTTP/1.1 302 X\r\nLocation: %zz" + oneLine(r) + "\r\nContent-Length: 0\r\n\r\n"
		},
		"early hints, then nothing": func(r string) string { return "HTTP/1.1 103 X\r\nLink: <" + oneLine(r) + ">\r\n\r\n" },
		"large headers": func(r string) string {
			return "HTTP/1.1 200 OK\r\nX-Echo: " + strings.Repeat(oneLine(r), 3000) + "\r\n\r\n"
		},
		"nothing": func(string) string { return "" },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			address := "http://" + onTCP(t, answer)
			l.runModes(t, address, ownConns(t, func(rt *http.Transport) { rt.MaxResponseHeaderBytes = 64 << 10 }))
		})
	}
}

// closedPort is an address where nothing listens.
func closedPort(t *testing.T) string {
	t.Helper()
	var lc net.ListenConfig
	l, err := lc.Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	return l.Addr().String()
}

// TestLeaks_connections pushes canaries through faults of names, connections,
// TLS and proxies.
func TestLeaks_connections(t *testing.T) {
	t.Parallel()
	l := newLeakCheck(t)
	quiet := func(srv *httptest.Server) *httptest.Server {
		srv.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, 0)
		t.Cleanup(srv.Close)
		return srv
	}
	secure := quiet(httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { http.Error(w, told(r), 500) })))
	picky := quiet(httptest.NewUnstartedServer(http.NotFoundHandler()))
	picky.TLS = &tls.Config{ClientAuth: tls.RequireAnyClientCert, MinVersion: tls.VersionTLS12}
	picky.StartTLS()
	plain := quiet(httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { http.Error(w, told(r), 500) })))
	trusting := func(rt *http.Transport) {
		rt.TLSClientConfig = secure.Client().Transport.(*http.Transport).TLSClientConfig.Clone()
	}
	junk := onTCP(t, func(r string) string { return r + everything() })
	refusing := onTCP(t, func(r string) string {
		return "HTTP/1.1 407 " + oneLine(r) + "\r\nProxy-Authenticate: Basic realm=\"" + oneLine(r) + "\"\r\nContent-Length: 4\r\n\r\nlong"
	})
	through := func(scheme, proxy string) func(*http.Transport) {
		return func(rt *http.Transport) {
			rt.Proxy = http.ProxyURL(&url.URL{Scheme: scheme, User: url.UserPassword("user", leakProxy), Host: proxy})
		}
	}
	rows := []struct {
		name, address string
		change        func(*http.Transport)
	}{
		{"connection refused", "http://" + closedPort(t), nil},
		{"unknown authority", secure.URL, nil},
		{"trusted", secure.URL, trusting},
		{"another name", "https://localhost" + secure.URL[strings.LastIndex(secure.URL, ":"):], func(rt *http.Transport) {
			trusting(rt)
			rt.TLSClientConfig.ServerName = "other.example"
		}},
		{"no common version", secure.URL, func(rt *http.Transport) {
			trusting(rt)
			rt.TLSClientConfig.MinVersion, rt.TLSClientConfig.MaxVersion = tls.VersionTLS10, tls.VersionTLS10
		}},
		{"a certificate is asked for", picky.URL, func(rt *http.Transport) {
			rt.TLSClientConfig = picky.Client().Transport.(*http.Transport).TLSClientConfig.Clone()
		}},
		{"a check of the user's fails", secure.URL, func(rt *http.Transport) {
			trusting(rt)
			rt.TLSClientConfig.VerifyConnection = func(tls.ConnectionState) error { return errors.New(everything()) }
		}},
		{"TLS to a plain server", strings.Replace(plain.URL, "http:", "https:", 1), nil},
		{"plain to a TLS server", strings.Replace(secure.URL, "https:", "http:", 1), nil},
		{"TLS to junk", "https://" + junk, nil},
		{"a dialer that fails", base, func(rt *http.Transport) {
			rt.DialContext = func(context.Context, string, string) (net.Conn, error) { return nil, errors.New(everything()) }
		}},
		{"a dialer that times out", base, func(rt *http.Transport) {
			rt.DialContext = func(context.Context, string, string) (net.Conn, error) {
				return nil, talkative{"timeout " + everything()}
			}
		}},
		{"a name that is not found", base, func(rt *http.Transport) {
			rt.DialContext = func(context.Context, string, string) (net.Conn, error) {
				return nil, &net.OpError{Op: "dial", Net: "tcp", Err: &net.DNSError{Err: "no such host", Name: "store.example", Server: "127.0.0.53:53", IsNotFound: true}}
			}
		}},
		{"a resolver that fails", base, func(rt *http.Transport) {
			rt.DialContext = (&net.Dialer{Resolver: &net.Resolver{PreferGo: true, Dial: func(context.Context, string, string) (net.Conn, error) {
				return nil, errors.New("no name server")
			}}}).DialContext
		}},
		{"HTTP proxy: refused", base, through("http", closedPort(t))},
		{"HTTP proxy: 407", base, through("http", refusing)},
		{"HTTP proxy: 407, plain", "http://store.example", through("http", refusing)},
		{"HTTP proxy: junk", base, through("http", junk)},
		{"HTTP proxy: junk, plain", "http://store.example", through("http", junk)},
		{"HTTPS proxy: refused", base, through("https", closedPort(t))},
		{"HTTPS proxy: junk", base, through("https", junk)},
		{"SOCKS proxy: refused", base, through("socks5", closedPort(t))},
		{"SOCKS proxy: junk", base, through("socks5", junk)},
		{"a proxy of an unknown kind", base, through("gopher", closedPort(t))},
		{"a proxy that can't be told", base, func(rt *http.Transport) {
			rt.Proxy = func(r *http.Request) (*url.URL, error) {
				_, err := url.Parse("http://user:" + leakProxy + "@" + strings.Repeat("%", 2))
				return nil, fmt.Errorf("%s: %w", r.URL, err)
			}
		}},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			rt := ownConns(t, row.change)
			l.runModes(t, row.address, rt, commerce.WithInsecureHTTP())
		})
	}
}

// TestLeaks_credentials has token sources, token endpoints, limiters and values
// of the caller's that fail and say why.
func TestLeaks_credentials(t *testing.T) {
	t.Parallel()
	l := newLeakCheck(t)
	all := everything()
	retrieve := &oauth2.RetrieveError{Response: &http.Response{StatusCode: 400, Status: all}, Body: []byte(all), ErrorCode: all, ErrorDescription: all, ErrorURI: all}
	served := tripper(func(req *http.Request) (*http.Response, error) { _ = told(req); return fine(req) })
	source := func(tok *oauth2.Token, err error) commerce.Option {
		return commerce.WithTokenSource(sourceFunc(func() (*oauth2.Token, error) { return tok, err }))
	}
	for name, opt := range map[string]commerce.Option{
		"source: plain error":          source(nil, talkative{all}),
		"source: RetrieveError":        source(nil, retrieve),
		"source: RetrieveError, deep":  source(nil, fmt.Errorf("%s: %w", all, &url.Error{Op: "Post", URL: all, Err: retrieve})),
		"source: no token":             source(nil, nil),
		"source: line break":           source(&oauth2.Token{AccessToken: leakToken + "\r\nX: y", RefreshToken: leakSecret}, nil),
		"source: space":                source(&oauth2.Token{AccessToken: leakToken + " x"}, nil),
		"source: not ASCII":            source(&oauth2.Token{AccessToken: leakToken + "ü"}, nil),
		"source: a token and an error": source(&oauth2.Token{AccessToken: leakToken}, talkative{all}),
		"limiter":                      commerce.WithLimiter(&failingLimiter{talkative{all}}),
		"limiter: of a context":        commerce.WithLimiter(&failingLimiter{fmt.Errorf("%s: %w", all, context.DeadlineExceeded)}),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var events lockedBuffer
			c, err := commerce.New(base, commerce.WithToken(leakToken), commerce.WithHTTPClient(&http.Client{Transport: served}), commerce.WithLogger(events.logger()), opt)
			if err != nil {
				t.Fatal(err)
			}
			for i, call := range leakCalls() {
				l.calls.Add(1)
				_, err := call.make(bg, c)
				if err == nil {
					t.Fatalf("%s succeeds", call.name)
				}
				l.value(t, call.name, err, i == 0)
			}
			l.value(t, "client", c, true)
			l.text(t, "the log", "slog", events.String())
		})
	}

	// A 401, and then a failure to get another token: both are in the error.
	for name, refresh := range map[string]tripper{"echo": echoes(400, asErrors), "HTML": echoes(200, asHTML), "error": func(req *http.Request) (*http.Response, error) { return nil, talkative{told(req)} }} {
		t.Run("refresh: "+name, func(t *testing.T) {
			t.Parallel()
			var asked atomic.Int32
			l.run(t, base, tripper(func(req *http.Request) (*http.Response, error) {
				if req.URL.Path != "/oauth/access_token" {
					return echoes(401, asErrors)(req)
				}
				if asked.Add(1) == 1 {
					return saysBody(200, `{"access_token":"`+leakToken+`"}`)(req)
				}
				return refresh(req)
			}), leakCalls(), commerce.WithClientCredentials("id", leakSecret), commerce.WithRetry(commerce.RetryPolicy{MaxAttempts: 1}))
		})
	}

	t.Run("arguments", func(t *testing.T) {
		t.Parallel()
		c, err := commerce.New(base, commerce.WithToken(leakToken), commerce.WithHTTPClient(&http.Client{Transport: served}))
		if err != nil {
			t.Fatal(err)
		}
		d := commerce.NewCustomDiscount{Description: leakDetail, ExternalID: leakExternal + "\xff", DiscountCode: leakEmail, DiscountEngine: "\xff" + leakEmail,
			Item: &commerce.CartItemRef{Type: commerce.CartItemType(leakSecret)}}
		_, err1 := c.Carts.AddCustomDiscounts(bg, leakExternal, []commerce.NewCustomDiscount{d}, nil)
		_, err2 := c.Subscriptions.List(bg, &commerce.SubscriptionListOptions{Filter: commerce.SubscriptionFilter{Email: leakEmail + "\xff", Name: strings.Repeat(leakDetail, 999)}})
		_, err3 := commerce.Collect(c.Subscriptions.All(bg, &commerce.SubscriptionListOptions{Filter: commerce.SubscriptionFilter{ExternalRef: leakExternal + "\xff"}}))
		_, err4 := c.Do(bg, leakToken, []string{leakEmail + "/"}, nil, failingJSON{everything()}, everything())
		_, err5 := c.Do(bg, "GET", []string{"v2"}, nil, nil, &failingJSON{everything()})
		_, err6 := commerce.New("https://user:"+leakSecret+"@"+leakToken+"/?"+leakEmail, commerce.WithToken(leakToken+"\n"), commerce.WithHeader("X-Key", leakHeader+"\n"),
			commerce.WithHeader("X-"+leakHeader, "x"), commerce.WithUserAgent(leakHeader+"\n"))
		_, err7 := c.With(commerce.WithToken(leakToken + " "))
		_, err8 := commerce.New("https://[" + leakToken)
		_, err9 := commerce.ParseDecimal(leakExternal)
		for i, err := range []error{err1, err2, err3, err4, err5, err6, err7, err8} {
			if err == nil {
				t.Errorf("call %d succeeds", i+1)
				continue
			}
			l.value(t, fmt.Sprint("call ", i+1), err, true)
		}
		if err9 == nil {
			t.Error("ParseDecimal succeeds") // its argument is the caller's own, and may be in the error
		}
	})
}

type failingLimiter struct{ err error }

func (l *failingLimiter) Wait(context.Context) error { return l.err }

// failingJSON can be neither encoded nor decoded.
type failingJSON struct{ text string }

func (f failingJSON) MarshalJSON() ([]byte, error)  { return nil, talkative{f.text} }
func (f *failingJSON) UnmarshalJSON(b []byte) error { return talkative{f.text + string(b)} }

// TestLeaks_contexts ends calls by contexts whose causes say too much.
func TestLeaks_contexts(t *testing.T) {
	t.Parallel()
	l := newLeakCheck(t)
	cause := talkative{everything()}
	for _, mode := range []commerce.Option{commerce.WithToken(leakToken), commerce.WithClientCredentials("id", leakSecret)} {
		for i, call := range leakCalls() {
			t.Run(call.name, func(t *testing.T) {
				t.Parallel()
				ended, cancel := context.WithCancelCause(bg)
				cancel(cause)
				past, cancel2 := context.WithDeadlineCause(bg, time.Now().Add(-time.Second), cause)
				defer cancel2()
				in, cancel3 := context.WithCancelCause(bg)
				defer cancel3(nil)
				wait, cancel4 := context.WithCancelCause(bg)
				defer cancel4(nil)
				for name, ctx := range map[string]context.Context{"before": ended, "deadline": past, "in the attempt": in, "in the wait": wait} {
					var events lockedBuffer
					c, err := commerce.New(base, mode, commerce.WithLogger(events.logger()), commerce.WithHTTPClient(&http.Client{Transport: tripper(func(req *http.Request) (*http.Response, error) {
						text := told(req)
						if name == "in the wait" {
							cancel4(cause)
							return &http.Response{StatusCode: 429, Header: http.Header{"Retry-After": {"9"}}, Body: io.NopCloser(strings.NewReader(asErrors(text)))}, nil
						}
						cancel3(cause)
						<-req.Context().Done()
						return nil, fmt.Errorf("%s: %w", text, context.Cause(req.Context()))
					})}))
					if err != nil {
						t.Fatal(err)
					}
					_, err = call.make(ctx, c)
					l.calls.Add(1)
					if !errors.Is(err, ctx.Err()) || ctx.Err() == nil {
						t.Errorf("%s: error %v, context %v", name, err, ctx.Err())
					}
					l.value(t, name, err, i == 0)
					l.text(t, "the log", "slog", events.String())
				}
			})
		}
	}
}

// TestLeaks_holders renders what holds secrets without a call.
func TestLeaks_holders(t *testing.T) {
	t.Parallel()
	l := newLeakCheck(t)
	opts := []commerce.Option{
		commerce.WithToken(leakToken), commerce.WithTokenSource(oauth2.StaticTokenSource(&oauth2.Token{AccessToken: leakToken})),
		commerce.WithClientCredentials("id", leakSecret), commerce.WithHeader("X-Key", leakHeader), commerce.WithHeader("X-Other", leakEmail),
		commerce.WithHTTPClient(&http.Client{Transport: tripper(fine)}), commerce.WithUserAgent("shop/1"), commerce.WithInsecureHTTP(),
	}
	for i, o := range opts {
		l.value(t, fmt.Sprint("option ", i), o, true)
	}
	l.value(t, "options", opts, true)
	for name, mode := range map[string]commerce.Option{"static": opts[0], "source": opts[1], "client credentials": opts[2]} {
		c, err := commerce.New(base, mode, opts[3], opts[4], commerce.WithHTTPClient(&http.Client{Transport: tripper(func(req *http.Request) (*http.Response, error) {
			if req.URL.Path == "/oauth/access_token" {
				return saysBody(200, `{"access_token":"`+leakToken+`","refresh_token":"`+leakSecret+`"}`)(req)
			}
			return fine(req)
		})}))
		if err != nil {
			t.Fatal(err)
		}
		// Before a call, and with a token in the cache.
		for _, when := range []string{"before", "after"} {
			for what, v := range map[string]any{"client": c, "client value": *c, "carts": c.Carts, "carts value": *c.Carts, "subscriptions": c.Subscriptions, "subscriptions value": *c.Subscriptions} {
				l.value(t, name+" "+when+" "+what, v, true)
				l.text(t, name+" "+when+" "+what, "a walk through unexported fields", deepText(v))
			}
			if err := list(bg, c); err != nil {
				t.Fatal(err)
			}
		}
		copied, err := c.With(commerce.WithHeader("X-Third", leakHeader))
		if err != nil {
			t.Fatal(err)
		}
		l.value(t, "copy", copied, true)
	}
}

// TestLeaks_panics recovers the panics of a caller's own parts, and has errors
// and clients panicked with by a program of its own.
func TestLeaks_panics(t *testing.T) {
	t.Parallel()
	if os.Getenv("COMMERCE_TEST_PANIC") != "" {
		panicWithAll(t)
	}
	l := newLeakCheck(t)
	boom := func(req *http.Request) (*http.Response, error) { _ = told(req); panic("boom") }
	for name, mode := range map[string][]commerce.Option{
		"transport":      {commerce.WithToken(leakToken)},
		"token request":  {commerce.WithClientCredentials("id", leakSecret)},
		"token source":   {commerce.WithTokenSource(sourceFunc(func() (*oauth2.Token, error) { panic("boom") }))},
		"limiter":        {commerce.WithToken(leakToken), commerce.WithLimiter(panicking{})},
		"limiter, token": {commerce.WithClientCredentials("id", leakSecret), commerce.WithLimiter(panicking{})},
		"body of a answer": {commerce.WithToken(leakToken), commerce.WithHTTPClient(&http.Client{Transport: tripper(func(*http.Request) (*http.Response, error) {
			return &http.Response{StatusCode: 200, Body: panicking{}}, nil
		})})},
	} {
		for _, call := range leakCalls() {
			t.Run(name+"/"+call.name, func(t *testing.T) {
				t.Parallel()
				var events lockedBuffer
				c, err := commerce.New(base, append([]commerce.Option{commerce.WithHTTPClient(&http.Client{Transport: tripper(boom)}), commerce.WithLogger(events.logger())}, mode...)...)
				if err != nil {
					t.Fatal(err)
				}
				defer func() {
					got := recover()
					if got != "boom" {
						t.Errorf("recovered %v", got)
					}
					l.calls.Add(1)
					l.value(t, "what was recovered", got, false)
					l.value(t, "client", c, false)
					l.text(t, "the log", "slog", events.String())
				}()
				_, err = call.make(bg, c)
				t.Errorf("no panic: %v", err)
			})
		}
	}
	t.Run("of a program", func(t *testing.T) {
		t.Parallel()
		program, err := os.Executable()
		if err != nil {
			t.Fatal(err)
		}
		cmd := exec.CommandContext(t.Context(), program, "-test.run=^TestLeaks_panics$") //nolint:gosec // G204: this very program
		cmd.Env = append(os.Environ(), "COMMERCE_TEST_PANIC=1", "GOTRACEBACK=all")
		out, err := cmd.CombinedOutput()
		if err == nil || !strings.Contains(string(out), "panic: ") || !strings.Contains(string(out), "Carts.AddCustomDiscounts") || !strings.Contains(string(out), "goroutine ") {
			t.Errorf("%v: no panic with the errors:\n%s", err, out)
		}
		l.text(t, "the output", "panic", string(out))
	})
}

type panicking struct{}

func (panicking) Wait(context.Context) error { panic("boom") }
func (panicking) Read([]byte) (int, error)   { panic("boom") }
func (panicking) Close() error               { return nil }

// panicWithAll panics with errors, clients and options, one while the other is
// under way, so that the runtime prints them all.
func panicWithAll(t *testing.T) {
	t.Helper()
	for _, fault := range append(errorFaults(), leakFault{"", echoes(500, asErrors)}, leakFault{"", echoes(200, asHTML)}) {
		c, err := commerce.New(base, commerce.WithToken(leakToken), commerce.WithHeader("X-Key", leakHeader), commerce.WithHTTPClient(&http.Client{Transport: fault.rt}),
			commerce.WithRetry(commerce.RetryPolicy{MaxAttempts: 1}))
		if err != nil {
			t.Fatal(err)
		}
		for _, call := range leakCalls()[:2] {
			if _, err := call.make(bg, c); err != nil {
				defer func() { panic(err) }()
				if e, ok := errors.AsType[*commerce.Error](err); ok {
					defer func() { panic(*e) }()
					defer func() { panic(e.Err) }()
				}
			}
		}
		defer func() { panic(c) }()
		defer func() { panic(*c) }()
		defer func() { panic(commerce.WithToken(leakToken)) }()
	}
	panic("first")
}
