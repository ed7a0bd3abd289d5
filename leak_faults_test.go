package commerce_test

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/oauth2"

	"github.com/commerce-go/commerce"
)

// lockedBuffer is a place to log to.
type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.Write(p)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.String()
}

func (b *lockedBuffer) logger() *slog.Logger {
	o := &slog.HandlerOptions{Level: slog.LevelDebug, AddSource: true}
	return slog.New(slog.NewMultiHandler(slog.NewTextHandler(b, o), slog.NewJSONHandler(b, o)))
}

// leakCall is a call that carries canaries.
type leakCall struct {
	name string
	make func(context.Context, *commerce.Client) (*commerce.Response, error)
}

func leakCalls() []leakCall {
	filter := &commerce.SubscriptionListOptions{Filter: commerce.SubscriptionFilter{Email: leakEmail, Name: leakDetail, ExternalRef: leakExternal}}
	d := discount(leakExternal)
	d.Description = leakDetail
	secrets := map[string]string{leakExternal: leakEmail}
	return []leakCall{
		{"add", func(ctx context.Context, c *commerce.Client) (*commerce.Response, error) {
			result, err := c.Carts.AddCustomDiscounts(ctx, cartID, []commerce.NewCustomDiscount{d}, nil)
			if result == nil {
				return nil, err
			}
			return result.Response, err
		}},
		{"list", func(ctx context.Context, c *commerce.Client) (*commerce.Response, error) {
			page, err := c.Subscriptions.List(ctx, filter)
			if err != nil {
				return nil, err
			}
			return page.Response, nil
		}},
		{"walk", func(ctx context.Context, c *commerce.Client) (*commerce.Response, error) {
			_, err := commerce.Collect(c.Subscriptions.All(ctx, filter))
			return nil, err
		}},
		{"Do, read", func(ctx context.Context, c *commerce.Client) (*commerce.Response, error) {
			return c.Do(ctx, "GET", []string{"v2", "accounts"}, url.Values{"filter": {leakEmail}, leakExternal: {leakDetail}}, nil, new(map[string]int))
		}},
		{"Do, write", func(ctx context.Context, c *commerce.Client) (*commerce.Response, error) {
			return c.Do(ctx, "POST", []string{"v2", "accounts"}, url.Values{"filter": {leakEmail}}, secrets, new(json.RawMessage))
		}},
	}
}

// run makes the calls over a transport, and checks all that comes of them.
func (l *leakCheck) run(t *testing.T, address string, rt http.RoundTripper, calls []leakCall, opts ...commerce.Option) {
	t.Helper()
	var events lockedBuffer
	c, err := commerce.New(address, append([]commerce.Option{
		commerce.WithHTTPClient(&http.Client{Transport: rt}), commerce.WithHeader("X-Key", leakHeader), commerce.WithLogger(events.logger()),
		commerce.WithRetry(commerce.RetryPolicy{MaxAttempts: 2, MinBackoff: 1, MaxBackoff: 1, AttemptTimeout: 20 * time.Second}),
	}, opts...)...)
	if err != nil {
		t.Fatal(err)
	}
	for i, call := range calls {
		resp, err := call.make(bg, c)
		l.calls.Add(1)
		if err != nil {
			l.value(t, call.name, err, i == 0 && len(calls) > 2)
		}
		if resp != nil {
			l.value(t, call.name, resp, i == 0)
			l.value(t, call.name, *resp, i == 0)
		}
	}
	if strings.Count(events.String(), "commerce: attempt") == 0 && rt != nil {
		t.Error("nothing was logged")
	}
	l.text(t, "the log", "slog", events.String())
	if len(calls) > 2 {
		l.value(t, "client", c, false)
		l.value(t, "client", *c, false)
	}
}

// runModes makes the calls with each kind of credentials. A token request meets
// the same fault as the calls.
func (l *leakCheck) runModes(t *testing.T, address string, rt http.RoundTripper, opts ...commerce.Option) {
	t.Helper()
	calls := leakCalls()
	with := func(o commerce.Option) []commerce.Option { return append(slices.Clone(opts), o) }
	l.run(t, address, rt, calls, with(commerce.WithToken(leakToken))...)
	l.run(t, address, rt, calls[:1], with(commerce.WithTokenSource(oauth2.StaticTokenSource(&oauth2.Token{AccessToken: leakToken})))...)
	l.run(t, address, rt, calls[:2], with(commerce.WithClientCredentials("id", leakSecret))...)
}

// tripper is a transport of a function.
type tripper func(*http.Request) (*http.Response, error)

func (f tripper) RoundTrip(req *http.Request) (*http.Response, error) { return f(req) }

// everything is all canaries in one text.
func everything() string {
	return strings.Join([]string{leakToken, leakEmail, leakExternal, leakSecret, leakHeader, leakDetail, leakProxy}, " ")
}

// told is what a server knows of a request.
func told(req *http.Request) string {
	body := ""
	if req.Body != nil {
		b, err := io.ReadAll(req.Body)
		body = string(b)
		if err != nil {
			body = err.Error()
		}
		_ = req.Body.Close()
	}
	return fmt.Sprintf("%s %s %v %s %s", req.Method, req.URL, req.Header, body, everything())
}

// echoHeaders are headers that repeat what must not be shown. None is on the
// library's list; TestHostile_requestIDs has the two for request ids.
func echoHeaders(text string) http.Header {
	h := http.Header{}
	for _, key := range []string{"Location", "Set-Cookie", "Link", "Www-Authenticate", "Warning", "Refresh", "X-Echo", "Authorization", "Via", "Trailer", "Content-Disposition"} {
		h[key] = []string{text}
	}
	return h
}

// echoes answers with a status and a body of what it was told.
func echoes(status int, body func(text string) string) tripper {
	return func(req *http.Request) (*http.Response, error) {
		text := told(req)
		return &http.Response{
			StatusCode: status, Status: fmt.Sprint(status, " ", text), Header: echoHeaders(text),
			Body: io.NopCloser(strings.NewReader(body(text))), ContentLength: -1, Request: req,
		}, nil
	}
}

func asHTML(text string) string { return "<html><body><h1>" + text + "</h1></body></html>" }

// asErrors is an errors array without titles.
func asErrors(text string) string {
	q := quoteJSON(text)
	return `{"errors":[{"status":"500","detail":` + q + `,"source":{"pointer":` + q + `},"request_id":` + q + `,"meta":{"id":` + q + `,"missing_ids":[` + q + `],` + q + `:1},` + q + `:` + q + `},` + q + `],` + q + `:` + q + `}`
}

func quoteJSON(text string) string {
	b, err := json.Marshal(text)
	if err != nil {
		panic(err)
	}
	return string(b)
}

// leakFault is a fault on a transport.
type leakFault struct {
	name string
	rt   http.RoundTripper
}

// answerFaults are answers that repeat what they were asked.
func answerFaults() []leakFault {
	var list []leakFault
	statuses := []int{101, 102, 199, 200, 201, 204, 206, 226, 300, 301, 302, 303, 304, 305, 307, 308, 400, 401, 402, 403, 404, 405, 406, 407, 408, 409, 410, 413, 415, 418, 421, 422, 425, 428,
		429, 431, 451, 499, 500, 501, 502, 503, 504, 507, 511, 520, 599, 600, 999}
	for _, status := range statuses {
		list = append(list, leakFault{fmt.Sprint(status, " in errors"), echoes(status, asErrors)})
		if slices.Contains([]int{101, 200, 204, 302, 401, 404, 407, 429, 500, 502, 503, 999}, status) {
			list = append(list, leakFault{fmt.Sprint(status, " in HTML"), echoes(status, asHTML)})
		}
	}
	for name, body := range map[string]func(string) string{
		"text":                       func(s string) string { return s },
		"a JSON string":              quoteJSON,
		"an array":                   func(s string) string { return "[" + quoteJSON(s) + "]" },
		"a member name":              func(s string) string { return `{"data":{` + quoteJSON(s) + `:[]}}` },
		"member names twice":         func(s string) string { q := quoteJSON(s); return `{` + q + `:1,` + q + `:2}` },
		"member names twice in data": func(s string) string { q := quoteJSON(s); return `{"data":[{` + q + `:1,` + q + `:2}]}` },
		"an id":                      func(s string) string { return `{"data":[{"id":` + quoteJSON(s) + `}]}` },
		"an id of a discount": func(s string) string {
			return `{"data":[{"type":"custom_discount","id":` + quoteJSON(s) + `,"amount":{"amount":` + quoteJSON(s) + `}}]}`
		},
		"a broken literal":        func(string) string { return `{"data":[` + leakExternal },
		"a broken string":         func(string) string { return `{"data":["` + leakExternal + "\n" },
		"a broken escape":         func(string) string { return `{"data":["` + leakExternal + `\q"]}` },
		"cut":                     func(s string) string { q := quoteJSON(s); return `{"data":[` + q[:len(q)-3] },
		"a value after it":        func(s string) string { return `{"data":[]}` + quoteJSON(s) },
		"text after it":           func(s string) string { return `{"data":[]} ` + s },
		"data a string":           func(s string) string { return `{"data":` + quoteJSON(s) + `}` },
		"data twice":              func(s string) string { return `{"data":[],"data":` + quoteJSON(s) + `}` },
		"errors a string":         func(s string) string { return `{"data":[],"errors":` + quoteJSON(s) + `}` },
		"a token that is none":    func(s string) string { return `{"access_token":` + quoteJSON(s) + `}` },
		"a token of another type": func(s string) string { return `{"access_token":{` + quoteJSON(s) + `:1}}` },
		"an OAuth error": func(s string) string {
			q := quoteJSON(s)
			return `{"error":` + q + `,"error_description":` + q + `,"error_uri":` + q + `}`
		},
		"an expiry that is none":    func(s string) string { return `{"access_token":"x","expires_in":` + quoteJSON(s) + `}` },
		"a subscription without id": func(s string) string { return `{"data":[{"id":"","type":` + quoteJSON(s) + `}]}` },
		"a partial success": func(s string) string {
			return `{"data":[{"type":"custom_discount","external_id":"x"}],"errors":[{"detail":` + quoteJSON(s) + `}]}`
		},
		"a link": func(s string) string { return `{"data":[],"links":{"next":` + quoteJSON("https://x.example/"+s) + `}}` },
		"a number of another meaning": func(string) string {
			return `{"data":[{"type":"subscription","meta":` + strings.Repeat("1", 400) + `e999}]}`
		},
		"deep":          func(s string) string { return strings.Repeat(`{`+quoteJSON(s)+`:`, 200) },
		"invalid UTF-8": func(s string) string { return `{"` + s + "\xff" + `":` },
	} {
		list = append(list, leakFault{"200, " + name, echoes(200, body)}, leakFault{"422, " + name, echoes(422, body)})
	}
	return list
}

// talkative is an error that says all it knows, in whatever way it is asked.
type talkative struct{ Text string }

func (e talkative) Error() string                { return e.Text }
func (e talkative) String() string               { return e.Text }
func (e talkative) GoString() string             { return e.Text }
func (e talkative) LogValue() slog.Value         { return slog.StringValue(e.Text) }
func (e talkative) MarshalJSON() ([]byte, error) { return []byte(quoteJSON(e.Text)), nil }
func (e talkative) MarshalText() ([]byte, error) { return []byte(e.Text), nil }
func (e talkative) Format(f fmt.State, _ rune)   { _, _ = io.WriteString(f, e.Text) }
func (e talkative) Timeout() bool                { return strings.HasPrefix(e.Text, "timeout") }
func (e talkative) Temporary() bool              { return true }
func (e talkative) Network() string              { return e.Text }

// leakyBody fails with a text, after some of it was read.
type leakyBody struct {
	text string
	read bool
}

func (b *leakyBody) Read(p []byte) (int, error) {
	if b.read {
		return 0, talkative{b.text}
	}
	b.read = true
	return copy(p, `{"data":["`+b.text), nil
}

func (b *leakyBody) Close() error { return talkative{b.text} }

// errorFaults are errors of foreign transports that hold what was asked.
func errorFaults() []leakFault {
	var list []leakFault
	for name, wrap := range map[string]func(text string, err error) error{
		"plain":     func(_ string, err error) error { return err },
		"url.Error": func(s string, err error) error { return &url.Error{Op: "Get", URL: s, Err: err} },
		"url.Error twice": func(s string, err error) error {
			return &url.Error{Op: s, URL: s, Err: &url.Error{Op: "Get", URL: s, Err: err}}
		},
		"url.Error of EOF":            func(s string, _ error) error { return &url.Error{Op: "Get", URL: s, Err: io.EOF} },
		"url.Error of a timeout":      func(s string, _ error) error { return &url.Error{Op: "Get", URL: s, Err: os.ErrDeadlineExceeded} },
		"url.Error of a context":      func(s string, _ error) error { return &url.Error{Op: "Get", URL: s, Err: context.Canceled} },
		"fmt.Errorf":                  func(s string, err error) error { return fmt.Errorf("%s: %w", s, err) },
		"fmt.Errorf of two":           func(s string, err error) error { return fmt.Errorf("%s: %w: %w", s, err, io.EOF) },
		"fmt.Errorf of a deadline":    func(s string, _ error) error { return fmt.Errorf("%s: %w", s, context.DeadlineExceeded) },
		"fmt.Errorf of a closed conn": func(s string, _ error) error { return fmt.Errorf("%s: %w", s, net.ErrClosed) },
		"errors.Join":                 func(s string, err error) error { return errors.Join(errors.New(s), err, io.ErrUnexpectedEOF) },
		"net.OpError":                 func(_ string, err error) error { return &net.OpError{Op: "read", Net: "tcp", Err: err} },
		"os.SyscallError":             func(_ string, err error) error { return &os.SyscallError{Syscall: "read", Err: err} },
		"net.OpError inside": func(s string, _ error) error {
			return fmt.Errorf("%s: %w", s, &net.OpError{Op: "read", Net: "tcp", Err: io.EOF})
		},
		"oauth2.RetrieveError": func(s string, _ error) error {
			return &oauth2.RetrieveError{Response: &http.Response{Status: s}, Body: []byte(s), ErrorCode: s}
		},
		"the library's own": func(s string, err error) error {
			return &commerce.Error{Op: "x", Errors: []commerce.ErrorObject{{Detail: s}}, Err: err}
		},
		"a timeout": func(s string, _ error) error { return talkative{"timeout " + s} },
		"TLS":       func(_ string, err error) error { return &tls.ECHRejectionError{RetryConfigList: []byte(err.Error())} },
		"a pointer": func(s string, _ error) error { return &talkative{s} },
	} {
		list = append(list, leakFault{"error: " + name, tripper(func(req *http.Request) (*http.Response, error) {
			text := told(req)
			return nil, wrap(text, talkative{text})
		})})
	}
	for _, status := range []int{200, 302, 404, 429, 503} {
		list = append(list, leakFault{fmt.Sprint("body that fails, ", status), tripper(func(req *http.Request) (*http.Response, error) {
			text := told(req)
			return &http.Response{StatusCode: status, Header: echoHeaders(text), Body: &leakyBody{text: text}, ContentLength: -1}, nil
		})})
	}
	return append(list,
		leakFault{"neither answer nor error", tripper(func(req *http.Request) (*http.Response, error) { _ = told(req); return nil, nil })}, //nolint:nilnil // what is tested
		leakFault{"status 0", echoes(0, asHTML)},
		leakFault{"success with echoing headers", tripper(func(req *http.Request) (*http.Response, error) {
			text := told(req)
			resp, err := fine(req)
			resp.Header = echoHeaders(text)
			return resp, err
		})})
}
