package commerce_test

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/commerce-go/commerce"
)

// redirected is a call, and the outcome of the write by the status of the redirect.
type redirected struct {
	name    string
	op      string
	opts    []commerce.Option
	call    leakCall
	outcome func(status int) commerce.Outcome
}

func redirectedCalls() []redirected {
	write := func(status int) commerce.Outcome {
		if status == 307 || status == 308 {
			return commerce.OutcomeRejected
		}
		return commerce.OutcomeUnknown
	}
	is := func(o commerce.Outcome) func(int) commerce.Outcome { return func(int) commerce.Outcome { return o } }
	calls := leakCalls()
	static, granted := []commerce.Option{commerce.WithToken(leakToken)}, []commerce.Option{commerce.WithClientCredentials("id", leakSecret)}
	return []redirected{
		{"add", "Carts.AddCustomDiscounts", static, calls[0], write},
		{"list", "Subscriptions.List", static, calls[1], is(commerce.OutcomeNone)},
		{"walk", "Subscriptions.List", static, calls[2], is(commerce.OutcomeNone)},
		{"Do, read", "Client.Do", static, calls[3], is(commerce.OutcomeNone)},
		{"Do, write", "Client.Do", static, calls[4], write},
		{"token request of an add", "token", granted, calls[0], is(commerce.OutcomeNotSent)},
		{"token request of a list", "token", granted, calls[1], is(commerce.OutcomeNotSent)},
	}
}

func (r redirected) check(t *testing.T, l *leakCheck, status int, err error) {
	t.Helper()
	l.calls.Add(1)
	var e *commerce.Error
	if !errors.As(err, &e) || !errors.Is(err, commerce.ErrBadResponse) {
		t.Errorf("error %v", err)
		return
	}
	type facts struct {
		Op, Outcome      string
		Status, Attempts int
		Cause            error
	}
	diff(t, "error", facts{e.Op, e.Outcome.String(), e.StatusCode, e.Attempts, e.Err}, facts{r.op, r.outcome(status).String(), status, 1, nil})
	if unknown := errors.Is(err, commerce.ErrOutcomeUnknown); unknown != (r.outcome(status) == commerce.OutcomeUnknown) {
		t.Errorf("is ErrOutcomeUnknown: %v", unknown)
	}
	l.value(t, "error", err, false)
}

// TestRedirects sends every redirect to every kind of place: none is followed.
func TestRedirects(t *testing.T) {
	t.Parallel()
	l := newLeakCheck(t)
	for place, target := range map[string]string{
		"other host": "https://evil.example/v2/x", "other port": base + ":8443/v2/x", "plain http": "http://store.example/v2/x",
		"sub-domain": "https://sub.store.example/v2/x", "parent domain": "https://example/v2/x", "same origin": base + "/v2/x", "same address": "", "a path": "/v2/x",
		"without a scheme": "//evil.example/v2/x", "with user info": "https://" + leakToken + "@store.example/", "another scheme": "file:///etc/passwd", "none that is one": "https://%zz/", "none": "-",
	} {
		for _, status := range []int{301, 302, 303, 307, 308} {
			for _, r := range redirectedCalls() {
				t.Run(fmt.Sprint(place, "/", status, "/", r.name), func(t *testing.T) {
					t.Parallel()
					var got []string // attempts follow one another
					rt := tripper(func(req *http.Request) (*http.Response, error) {
						_ = told(req)
						got = append(got, req.URL.Scheme+"://"+req.URL.Host+" "+req.Host)
						h := http.Header{"Location": {target}}
						switch target {
						case "":
							h.Set("Location", req.URL.String())
						case "-":
							h = http.Header{}
						}
						return &http.Response{StatusCode: status, Header: h, Body: io.NopCloser(strings.NewReader("moved to " + target)), Request: req}, nil
					})
					c, err := commerce.New(base, append([]commerce.Option{commerce.WithHTTPClient(&http.Client{Transport: rt})}, r.opts...)...)
					if err != nil {
						t.Fatal(err)
					}
					_, err = r.call.make(bg, c)
					r.check(t, l, status, err)
					diff(t, "requests", got, []string{base + " store.example"})
				})
			}
		}
	}
}

// TestRedirects_onTheWire does the same with listeners, that count what arrives.
func TestRedirects_onTheWire(t *testing.T) {
	t.Parallel()
	l := newLeakCheck(t)
	var strayed atomic.Int32
	stray := http.HandlerFunc(func(http.ResponseWriter, *http.Request) { strayed.Add(1) })
	other, secureOther := httptest.NewServer(stray), httptest.NewTLSServer(stray)
	t.Cleanup(func() {
		other.Close()
		secureOther.Close()
		if n := strayed.Load(); n != 0 {
			t.Errorf("%d requests left the origin", n)
		}
	})
	for _, secure := range []bool{false, true} {
		for place, target := range map[string]func(origin string) string{
			"other port": func(string) string { return other.URL }, "other port, TLS": func(string) string { return secureOther.URL },
			"other host": func(string) string { return strings.Replace(other.URL, "127.0.0.1", "localhost", 1) },
			"http from https, or back": func(o string) string {
				if secure {
					return strings.Replace(o, "https:", "http:", 1)
				}
				return strings.Replace(o, "http:", "https:", 1)
			},
			"sub-domain":  func(string) string { return strings.Replace(other.URL, "127.0.0.1", "sub.localhost", 1) },
			"same origin": func(o string) string { return o + "/followed" },
		} {
			for _, status := range []int{301, 302, 303, 307, 308} {
				t.Run(fmt.Sprintf("TLS %v/%s/%d", secure, place, status), func(t *testing.T) {
					t.Parallel()
					var requests atomic.Int32
					var srv *httptest.Server
					h := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
						requests.Add(1)
						_ = told(r)
						w.Header().Set("Location", target(srv.URL)+"/?leak="+url.QueryEscape(everything()))
						w.WriteHeader(status)
					})
					srv = httptest.NewUnstartedServer(h)
					srv.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, 0)
					if secure {
						srv.StartTLS()
					} else {
						srv.Start()
					}
					defer srv.Close()
					for _, r := range redirectedCalls() {
						c, err := commerce.New(srv.URL, append([]commerce.Option{commerce.WithHTTPClient(srv.Client())}, r.opts...)...)
						if err != nil {
							t.Fatal(err)
						}
						before := requests.Load()
						_, err = r.call.make(bg, c)
						r.check(t, l, status, err)
						if n := requests.Load() - before; n != 1 {
							t.Errorf("%s: %d requests", r.name, n)
						}
					}
				})
			}
		}
	}
}
