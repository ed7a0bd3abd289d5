package commerce_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/netip"
	"net/url"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"
	"unicode/utf8"

	"github.com/commerce-go/commerce"
	"github.com/commerce-go/commerce/internal/e2e/calls"
)

func TestNew_baseURL(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{ // the host and path of GET /v2/x
		"https://store.example":            "store.example/v2/x",
		"https://store.example/":           "store.example/v2/x",
		"https://store.example/v2":         "store.example/v2/x",
		"https://store.example/v2/":        "store.example/v2/x",
		"https://store.example/v2/v2":      "store.example/v2/v2/x",
		"https://store.example/api":        "store.example/api/v2/x",
		"https://store.example/api/v2//":   "store.example/api/v2/x",
		"https://store.example/apiv2":      "store.example/apiv2/v2/x",
		"https://store.example/@evil:1":    "store.example/@evil:1/v2/x",
		"https://store.example/;@evil.org": "store.example/;@evil.org/v2/x",
		"https://store.example:8443":       "store.example:8443/v2/x",
		"https://store.example:":           "store.example/v2/x",
		"https://store.example.":           "store.example./v2/x",
		"https://store.example&evil":       "store.example&evil/v2/x", // no such host
		"HTTPS://STORE.example/sous-chef":  "STORE.example/sous-chef/v2/x",
		"https://[::1]:8443":               "[::1]:8443/v2/x",
		"http://localhost:80":              "localhost:80/v2/x",
		"http://LOCALHOST":                 "LOCALHOST/v2/x",
		"http://127.8.9.1":                 "127.8.9.1/v2/x",
		"http://[::1]:80/v2":               "[::1]:80/v2/x",
		"http://[::ffff:127.0.0.1]":        "[::ffff:127.0.0.1]/v2/x",
	} {
		r := &recorder{respond: respond(200, "")}
		c, err := commerce.New(in, commerce.WithToken(token), commerce.WithHTTPClient(&http.Client{Transport: r}))
		if err != nil {
			t.Fatalf("New(%q): %v", in, err)
		}
		if _, err := c.Do(t.Context(), "GET", []string{"v2", "x"}, nil, nil, nil); err != nil {
			t.Fatalf("%q: %v", in, err)
		}
		if req := r.read(t); req.Host+req.RequestURI != want {
			t.Errorf("%q: sent to %s%s, want %s", in, req.Host, req.RequestURI, want)
		}
	}
	if _, err := commerce.New("http://store.example", commerce.WithToken(token), commerce.WithInsecureHTTP()); err != nil {
		t.Errorf("plain http with WithInsecureHTTP: %v", err)
	}
}

func TestNew_baseURLRefused(t *testing.T) {
	t.Parallel()
	const host, base = "store.example", "https://store.example"
	for _, in := range []string{
		"", " ", host, "//" + host, "/", "https:", "https:/", "https://", "https:///x", "https:" + host, "https://:443",
		"https://?", "ftp://" + host, "file:///etc/passwd", "javascript:alert(1)", "data:,x", "unix:///var/run/x.sock",
		"ws://" + host, "h2c://" + host, "\t" + base, base + "\n", base + "\r\nHost: evil.example",
		base + "\x00.evil.example", base + "/\x7f",
		// User names and passwords.
		"https://user@" + host, "https://user:secret-pw@" + host, "https://:secret-pw@" + host, "https://@" + host,
		base + "@evil.example", base + ":443@evil.example/", base + "%40evil.example@evil.example",
		base + `\@evil.example`, base + `\.evil.example`, `https://evil.example\@` + host,
		// Queries and fragments.
		base + "?x=secret-pw", base + "?", base + "/?", base + "#secret-pw", base + "#", base + "/#/",
		// Paths.
		base + "/..", base + "/../x", base + "/a/./b", base + "/a//b", base + "//v2", base + "/%2e%2e", base + "/a%2fb",
		base + "/%", base + "/%zz", base + `/a\b`, base + "/a b",
		// Hosts.
		"https://store example", base + ":port", base + ":-1", base + ":80:90", "https://[::1", "https://::1",
		"https://[" + host + "]", "https://%zz",
		// Plain HTTP to another machine.
		"http://" + host, "HTTP://" + host, "http://127.0.0.1." + host, "http://localhost.evil.example",
		"http://127.0.0.1@evil.example", "http://0.0.0.0", "http://10.0.0.1", "http://169.254.169.254",
		"http://[::ffff:10.0.0.1]", "http://2130706433", "http://0x7f.1", "http://localhost.",
	} {
		_, err := commerce.New(in, commerce.WithToken(token))
		diff(t, "invalid fields: "+in, invalidFields(err), []string{"base URL"})
		if text := fmt.Sprint(err); strings.Contains(text, "secret-pw") || strings.Contains(text, "example") {
			t.Errorf("New(%q): error %s, want one without the address", in, text)
		}
	}
}

// A base address is refused, or is where requests go.
func FuzzBaseAddress(f *testing.F) {
	for _, address := range []string{
		baseURL, baseURL + "/", baseURL + "/v2", baseURL + "/a/b/", baseURL + "?q", baseURL + "#f", baseURL + "/../x",
		baseURL + "/%2e%2e", "http://127.0.0.1:80", "http://[::1]", "http://127.evil.example", "http://[2001:db8::1]",
		"http://[::ffff:127.0.0.1]", "http://LOCALHOST", "http://store.example", "https://u:p@store.example",
		"//store.example", "https:store.example", "https://store.example:99999", "https://", "https://é.example",
		"ftp://x", "https://a b", "\x7f", "http://e.example:999:", "https://\xa94d4", "http://27.02", "https://\x87..s",
	} {
		f.Add(address)
	}
	f.Fuzz(func(t *testing.T, address string) {
		r := &recorder{respond: respond(200, `{}`)}
		c, err := commerce.New(address, commerce.WithToken(token), commerce.WithHTTPClient(&http.Client{Transport: r}))
		if err != nil {
			r.checkRefused(t, err, address)
			return
		}
		u, err := url.Parse(address)
		if err != nil || u.User != nil || u.RawQuery != "" || u.Fragment != "" || u.Scheme != "https" && u.Scheme != "http" {
			t.Fatalf("New(%q) accepts it", address)
		}
		ip, err := netip.ParseAddr(u.Hostname())
		isLocal := err == nil && ip.Unmap().IsLoopback() || strings.EqualFold(u.Hostname(), "localhost")
		if u.Scheme == "http" && !isLocal {
			t.Errorf("New(%q) accepts plain http to another machine", address)
		}
		if _, err := c.Do(t.Context(), "GET", []string{"v2", "x"}, nil, nil, nil); err != nil {
			if _, ok := errors.AsType[*commerce.Error](err); !ok || len(r.written) > 0 {
				t.Fatalf("got error %v and %d requests, want an *Error of net/http and none", err, len(r.written))
			}
			return
		}
		req := r.read(t)
		// net/http leaves out a host that cannot be written, and writes others in ASCII.
		host := strings.TrimSuffix(u.Host, ":")
		isASCII := !strings.ContainsFunc(host, func(r rune) bool { return r >= utf8.RuneSelf || r == '%' })
		if req.Host != "" && req.Host != host && req.URL.Host != host && isASCII {
			t.Errorf("%q: sent to %s, want %s", address, req.Host, host)
		}
		prefix := strings.TrimSuffix(strings.TrimRight(u.EscapedPath(), "/"), "/v2")
		if strings.HasPrefix(req.RequestURI, "/") && req.RequestURI != prefix+"/v2/x" ||
			slices.Contains(strings.Split(prefix, "/"), "..") {
			t.Errorf("%q: sent to %s", address, req.RequestURI)
		}
	})
}

func TestClient_With(t *testing.T) {
	t.Parallel()
	s := newStub(t, respond(200, emptyList), respond(200, emptyList), respond(200, emptyList))
	first := s.client(t, commerce.WithUserAgent("shop/1.0"), commerce.WithHeader("x-store", "one"))
	second, err := first.With(commerce.WithHeader("X-Store", "two"), commerce.WithHeader("X-Other", "three"),
		commerce.WithToken("other"))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []*commerce.Client{first, second, first} {
		if err := list(t.Context(), c); err != nil {
			t.Fatal(err)
		}
	}
	sent := s.sent()
	diff(t, "request of the client after With", sent[2], sent[0])
	for i, want := range []map[string]string{
		{"X-Store": "one", "X-Other": "", "Authorization": "Bearer " + token},
		{"X-Store": "two", "X-Other": "three", "Authorization": "Bearer other"},
	} {
		for key, value := range want {
			if got := sent[i].Header.Get(key); got != value {
				t.Errorf("request %d: %s = %q, want %q", i, key, got, value)
			}
		}
		want := "shop/1.0 commerce-go/" + commerce.Version + " (go"
		if got := sent[i].Header.Get("User-Agent"); !strings.HasPrefix(got, want) {
			t.Errorf("User-Agent = %q, want it to begin with %q", got, want)
		}
	}
	if _, err := first.With(commerce.WithLimiter(nil)); !errors.Is(err, commerce.ErrInvalidArgument) {
		t.Errorf("With(WithLimiter(nil)): error %v, want ErrInvalidArgument", err)
	}
}

func TestDo(t *testing.T) {
	t.Parallel()
	const body = "\ufeff" + ` {"data": {"custom_discount_limit":5}} ` // a byte order mark is skipped
	s := newStub(t, respond(200, body, "X-Request-Id", "req-1", "Set-Cookie", token),
		respond(200, ` {"a": 1.0} `), respond(204, ""), respond(201, `{"b":2}`), respond(200, ""))
	c, ctx := s.client(t), t.Context()
	var settings struct {
		Data struct {
			Limit int `json:"custom_discount_limit"`
		}
	}
	resp, err := c.Do(ctx, "GET", []string{"v2", "settings"}, nil, nil, &settings)
	if err != nil || settings.Data.Limit != 5 {
		t.Fatalf("got %+v, error %v, want a limit of 5", settings, err)
	}
	diff(t, "response", resp,
		&commerce.Response{StatusCode: 200, Header: http.Header{"X-Request-Id": {"req-1"}}, RequestID: "req-1", Attempts: 1})

	var read, put json.RawMessage
	_, err1 := c.Do(ctx, "GET", []string{"v2", "é+", "y"}, url.Values{"&=q": {"a b+c#\r\n"}}, nil, &read)
	_, err2 := c.Do(ctx, "DELETE", []string{"v2", "x"}, nil, nil, &settings)
	_, err3 := c.Do(ctx, "PUT", []string{"v2", "x"}, nil, json.RawMessage(`{"a": 1}`), &put)
	_, err4 := c.Do(ctx, "HEAD", []string{"v2"}, nil, nil, &settings)
	if err := errors.Join(err1, err2, err3, err4); err != nil {
		t.Fatal(err)
	}
	diff(t, "JSON that was read", []string{string(read), string(put)}, []string{` {"a": 1.0} `, `{"b":2}`})
	var lines []string
	for _, r := range s.sent() {
		lines = append(lines, strings.Join([]string{r.Method, r.Path, r.RawQuery, r.Header.Get("Content-Type"), r.Body}, "|"))
	}
	diff(t, "requests", lines, []string{
		"GET|/v2/settings|||", "GET|/v2/%C3%A9+/y|%26%3Dq=a%20b%2Bc%23%0D%0A||", "DELETE|/v2/x|||",
		`PUT|/v2/x||application/json|{"a":1}`, "HEAD|/v2|||",
	})
}

// A read of a 204 is no success without the value, also if a transport returns a body with it.
func TestDo_noContent(t *testing.T) {
	t.Parallel()
	for method, want := range map[string]int{"GET": 5, "POST": 0} {
		var got struct{ A int }
		c := newStub(t, respond(204, `{"A":5}`)).client(t)
		if _, err := c.Do(t.Context(), method, []string{"v2"}, nil, nil, &got); err != nil || got.A != want {
			t.Errorf("%s: got %+v, error %v, want %d", method, got, err, want)
		}
	}
}

type byteList []byte

func TestDo_validation(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, method string
		path         []string
		in, out      any
		want         []string // fields
	}{
		{name: "all at once", method: "get", path: []string{".."}, in: func() {}, want: []string{"method", "path", "in"}},
		{name: "a method of a proxy", method: "CONNECT", path: []string{"v2"}, want: []string{"method"}},
		{
			name: "a method with another request", method: "GET / HTTP/1.1\r\nHost: evil.example\r\n\r\nGET",
			path: []string{"v2"}, want: []string{"method"},
		},
		{name: "no path", want: []string{"path"}},
		{name: "a space in the path", path: []string{"v2", "a b"}, want: []string{"path"}},
		{name: "in is a reader", path: []string{"v2"}, in: strings.NewReader("{}"), want: []string{"in"}},
		{name: "in is a buffer", path: []string{"v2"}, in: new(bytes.Buffer), want: []string{"in"}},
		{name: "in is bytes", path: []string{"v2"}, in: []byte("{}"), want: []string{"in"}},
		{name: "in is bytes of another type", path: []string{"v2"}, in: byteList("{}"), want: []string{"in"}},
		{name: "out is a value", path: []string{"v2"}, out: struct{}{}, want: []string{"out"}},
		{name: "out is a map", path: []string{"v2"}, out: map[string]int{}, want: []string{"out"}},
		{name: "out is a nil pointer", path: []string{"v2"}, out: (*int)(nil), want: []string{"out"}},
	} {
		method := tt.method
		if method == "" {
			method = "POST"
		}
		_, err := newStub(t).client(t).Do(t.Context(), method, tt.path, nil, tt.in, tt.out)
		diff(t, "invalid fields: "+tt.name, invalidFields(err), tt.want)
	}
}

func TestDo_errors(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, method string
		status       int
		body         string
		out          any // default: a pointer to a struct
		want         commerce.Outcome
		is           error
		attempts     int
	}{
		{name: "read: empty", method: "GET", status: 200, is: commerce.ErrBadResponse, attempts: 2},
		{name: "read: no content", method: "GET", status: 204, is: commerce.ErrBadResponse, attempts: 2},
		{name: "read: does not fit", method: "GET", status: 200, body: `{"A":"x"}`, is: commerce.ErrBadResponse, attempts: 1},
		{name: "write: empty", method: "POST", status: 200, want: commerce.OutcomeUnreadable, is: commerce.ErrBadResponse},
		{
			name: "read: too many values", method: "GET", status: 200, body: `[` + elements(200_000, `1`) + `]`,
			is: commerce.ErrBadResponse, attempts: 1,
		},
		{
			name: "write: does not fit", method: "PUT", status: 200, body: "[]",
			want: commerce.OutcomeUnreadable, is: commerce.ErrBadResponse,
		},
		{
			name: "write: not JSON", method: "PATCH", status: 200, body: "x", out: new(json.RawMessage),
			want: commerce.OutcomeUnreadable, is: commerce.ErrBadResponse,
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if tt.method == "GET" {
				tt.want = commerce.OutcomeNone
			} else {
				tt.attempts = 1
			}
			if tt.out == nil {
				tt.out = &struct{ A int }{}
			}
			s := newStub(t, slices.Repeat(responders{respond(tt.status, tt.body)}, tt.attempts)...)
			_, err := s.client(t, attempts(2)).Do(t.Context(), tt.method, []string{"v2"}, nil, nil, tt.out)
			checkError(t, err, commerce.Error{Op: "Client.Do", StatusCode: tt.status, Outcome: tt.want, Attempts: tt.attempts})
			if !errors.Is(err, tt.is) {
				t.Errorf("error %v does not match %v", err, tt.is)
			}
		})
	}
}

// A call ends when its context ends. Before it sends a write, nothing was applied.
func TestClient_canceledCalls(t *testing.T) {
	t.Parallel()
	for _, call := range calls.All() {
		for after, wantOfWrite := range map[time.Duration]commerce.Outcome{
			0: commerce.OutcomeNotSent, 3 * time.Second: commerce.OutcomeUnknown,
		} {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithCancel(t.Context())
				time.AfterFunc(after, cancel)
				if after == 0 {
					cancel()
				}
				c := newClient(t, roundTripper(func(req *http.Request) (*http.Response, error) {
					if call.Write && req.Method == http.MethodGet {
						return successOf(call)[0](req)
					}
					<-req.Context().Done()
					return nil, req.Context().Err()
				}))
				want, start := call.Outcome(wantOfWrite), time.Now()
				_, err := call.Do(ctx, c, calls.NewArgs())
				got, took := commerce.OutcomeOf(err), time.Since(start)
				if !errors.Is(err, context.Canceled) || got != want || took != after {
					t.Errorf("%s: outcome %v, error %v after %v, want %v and context.Canceled after %v",
						call.Name, got, err, took, want, after)
				}
			})
		}
	}
}

// No redirect is followed: neither credentials nor a write may go where a response points.
func TestClient_redirects(t *testing.T) {
	t.Parallel()
	for _, location := range []string{"/canary", "https://other.example/canary", "http://store.example/canary",
		"file:///canary", "https://%zz/canary", ""} {
		for _, status := range []int{301, 302, 303, 307, 308} {
			for _, call := range append(calls.All(), tokenCall) {
				requests := 0
				c := newClient(t, roundTripper(func(req *http.Request) (*http.Response, error) {
					requests++
					return respond(status, "", "Location", location)(req)
				}))
				_, err := call.Do(t.Context(), c, calls.NewArgs())
				text := fmt.Sprintf("%v %+v %#v", err, err, err)
				if requests != 1 || !errors.Is(err, commerce.ErrBadResponse) || strings.Contains(text, "canary") {
					t.Errorf("%s, %d to %q: %d requests, error %s, want 1 and ErrBadResponse without the Location",
						call.Name, status, location, requests, text)
				}
			}
		}
	}
}

// A response that is kept as JSON text keeps no larger buffer, also if its length was not known
// before.
//
//nolint:paralleltest // measures the memory of the whole process
func TestDo_rawMessageKeepsLittle(t *testing.T) {
	const calls, limit = 200, 1 << 10
	c := newClient(t, roundTripper(func(*http.Request) (*http.Response, error) {
		body := io.NopCloser(strings.NewReader(`{"a":1}`))
		return &http.Response{StatusCode: http.StatusOK, Header: http.Header{}, ContentLength: -1, Body: body}, nil
	}))
	kept := make([]json.RawMessage, calls)
	before := heap()
	for i := range kept {
		if _, err := c.Do(t.Context(), http.MethodGet, []string{"v2", "x"}, nil, nil, &kept[i]); err != nil {
			t.Fatal(err)
		}
	}
	if each := (heap() - before) / calls; each > limit {
		t.Errorf("a response of 7 bytes keeps %d bytes, want at most %d", each, limit)
	}
	runtime.KeepAlive(kept)
}
