package hostile_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/oauth2"

	"github.com/commerce-go/commerce"
)

// Elements of a path that could leave their place, or are not text, and elements that look odd but
// are harmless.
var (
	refusedElements = []string{
		"", ".", "..", "/", `\`, "a/b", `a\b`, "../x", `..\x`, "/x", "x/", "x/..", "//evil.example",
		"https://evil.example/x", "a?b", "?", "a#b", "#", "%", "a%", "%2e%2e", "%2f", "%252f", "a%2fb", "%00", "%zz",
		"%0d%0a", "a b", " ", " a", "a ", "\t", "a\tb", "\n", "a\r\nHost: evil.example", "a\r\n\r\nGET / HTTP/1.1", "\x00",
		"a\x00", "\x1b[31m", "\x7f", "\xff", "a\xc0\xaf", "\xed\xa0\x80", "\ufffd", strings.Repeat("a", 1025),
	}
	acceptedElements = []string{
		"...", "....", ".a", "a.", "..;", "..;x=y", ";", "a;b", "a:b", ":80", "@evil.example", "user:pw@evil.example",
		"a&b=c", "=", "a+b", "+", "~", "~root", "*", "$(id)", "`id`", "'--", `"`, "<script>", "{{.}}", "[::1]", "|", "^",
		"!", ",", "é", "日本", "／", "．．", "‥", "＼", "？", "\u202e", "\u2028", "\u0085", "\u00a0", "\ufeff", "🛒", "e\u0301",
		"v2", "http:", "javascript:alert(1)", "CON", "null", strings.Repeat("a", 1024),
	}
)

func TestElements(t *testing.T) {
	t.Parallel()
	for _, in := range slices.Concat(refusedElements, acceptedElements) {
		do := func(path ...string) func(*commerce.Client) error {
			return func(c *commerce.Client) error {
				_, err := c.Do(t.Context(), "GET", path, nil, nil, nil)
				return err
			}
		}
		for path, call := range map[string]func(*commerce.Client) error{
			"/" + in + "/carts/x": do(in, "carts", "x"),
			"/v2/" + in + "/x":    do("v2", in, "x"),
			"/v2/carts/" + in:     do("v2", "carts", in),
			"/v2/carts/" + in + "/custom-discounts": func(c *commerce.Client) error {
				_, err := c.Carts.AddCustomDiscounts(t.Context(), in, []commerce.NewCustomDiscount{{
					Amount: commerce.NewDecimal(-1), Description: "d", DiscountCode: "c", DiscountEngine: "e", ExternalID: "a",
				}}, nil)
				return err
			},
		} {
			t.Run(fmt.Sprintf("%.30q", path), func(t *testing.T) {
				t.Parallel()
				r, c := mustClient(t)
				err := call(c)
				if slices.Contains(refusedElements, in) {
					r.refused(t, err, in)
					return
				}
				if err != nil {
					t.Fatal(err)
				}
				if q := r.request(t, path).URL.RawQuery; q != "" {
					t.Errorf("query = %q, want none", q)
				}
			})
		}
	}
}

// Query and filter values take any text, but a filter must be UTF-8.
func TestQueries(t *testing.T) {
	t.Parallel()
	for _, in := range slices.Concat(refusedElements, acceptedElements) {
		t.Run(fmt.Sprintf("%.20q", in), func(t *testing.T) {
			t.Parallel()
			r, c := mustClient(t)
			want := url.Values{"q" + in: {in}}
			if _, err := c.Do(t.Context(), "GET", []string{"v2"}, want, nil, nil); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, r.request(t, "/v2").Form); diff != "" {
				t.Errorf("query (-want +got):\n%s", diff)
			}

			r, c = mustClient(t)
			filter := commerce.SubscriptionFilter{Email: in}
			_, err := c.Subscriptions.List(t.Context(), &commerce.SubscriptionListOptions{Filter: filter})
			if !utf8.ValidString(in) {
				r.refused(t, err, in)
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			quoted := ""
			if in != "" {
				quoted = `eq(email,"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(in) + `")`
			}
			if got := r.request(t, listPath).Form.Get("filter"); got != quoted {
				t.Errorf("filter = %q, want %q", got, quoted)
			}
		})
	}
}

func TestBaseAddresses_refused(t *testing.T) {
	t.Parallel()
	for _, in := range []string{
		"", " ", host, "//" + host, "/", "https:", "https:/", "https://", "https:///x", "https:" + host, "https://:443",
		"https://?", "ftp://" + host, "file:///etc/passwd", "javascript:alert(1)", "data:,x", "unix:///var/run/x.sock",
		"ws://" + host, "h2c://" + host, "\t" + base, base + "\n", base + "\r\nHost: evil.example",
		base + "\x00.evil.example", base + "/\x7f",
		// User names and passwords.
		"https://user@" + host, "https://user:canary-pw@" + host, "https://:canary-pw@" + host, "https://@" + host,
		base + "@evil.example", base + ":443@evil.example/", base + "%40evil.example@evil.example",
		base + `\@evil.example`, base + `\.evil.example`, `https://evil.example\@` + host,
		// Queries and fragments.
		base + "?x=canary-pw", base + "?", base + "/?", base + "#canary-pw", base + "#", base + "/#/",
		// Paths.
		base + "/..", base + "/../x", base + "/a/./b", base + "/a//b", base + "//v2", base + "/%2e%2e", base + "/a%2fb",
		base + "/%", base + `/a\b`, base + "/a b",
		// Hosts.
		"https://store example", base + ":port", base + ":-1", base + ":80:90", "https://[::1", "https://::1",
		"https://[" + host + "]", "https://%zz",
		// Plain HTTP to another machine.
		"http://" + host, "HTTP://" + host, "http://127.0.0.1." + host, "http://localhost.evil.example",
		"http://127.0.0.1@evil.example", "http://0.0.0.0", "http://10.0.0.1", "http://169.254.169.254",
		"http://[::ffff:10.0.0.1]", "http://2130706433", "http://0x7f.1", "http://localhost.",
	} {
		t.Run(fmt.Sprintf("%.40q", in), func(t *testing.T) {
			t.Parallel()
			r, c, err := newClient(in)
			if c != nil {
				t.Errorf("New() = %v, want nil", c)
			}
			r.refused(t, err, in)
			if strings.Contains(err.Error(), "canary-pw") || strings.Contains(err.Error(), "example") {
				t.Errorf("error = %v, want a text without the address", err)
			}
		})
	}
}

func TestBaseAddresses_accepted(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{ // the host and path of GET /v2/x
		base:                        "store.example/v2/x",
		"HTTPS://STORE.example":     "STORE.example/v2/x",
		base + ":8443":              "store.example:8443/v2/x",
		base + ":":                  "store.example/v2/x",
		base + ".":                  "store.example./v2/x",
		base + "/v2/v2":             "store.example/v2/v2/x",
		base + "/@evil.example":     "store.example/@evil.example/v2/x",
		base + "/;@evil.example":    "store.example/;@evil.example/v2/x",
		base + "/evil.example:1":    "store.example/evil.example:1/v2/x",
		base + "&evil.example":      "store.example&evil.example/v2/x", // no such host
		"https://<host>":            "<host>/v2/x",
		"https://[::1]:8443":        "[::1]:8443/v2/x",
		"http://[::1]":              "[::1]/v2/x",
		"http://127.0.0.1:1":        "127.0.0.1:1/v2/x",
		"http://[::ffff:127.0.0.1]": "[::ffff:127.0.0.1]/v2/x",
		"http://LOCALHOST":          "LOCALHOST/v2/x",
	} {
		t.Run(in, func(t *testing.T) {
			t.Parallel()
			r, c, err := newClient(in)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := c.Do(t.Context(), "GET", []string{"v2", "x"}, nil, nil, nil); err != nil {
				t.Fatal(err)
			}
			if len(r.urls) != 1 || r.urls[0].Host+r.urls[0].Path != want || r.urls[0].User != nil {
				t.Errorf("sent to %v, want %s", r.urls, want)
			}
		})
	}
}

// Values of headers and tokens stay in their header.
func TestHeaderValues(t *testing.T) {
	t.Parallel()
	invalid := []string{
		"a\r\nX-Evil: 1", "a\nX-Evil: 1", "a\r", "\n", "a\x00b", "a\tb", "a\x7f", "é", "\u2028", "\xff", "a\r\n\r\nbody",
		"\u560a\u560dX-Evil: 1", // the low bytes are LF and CR
	}
	withSpace := []string{"a: b", `"quoted"; x=y`, "a, b", "Basic %0d%0aX-Evil:%201"}
	valid := []string{"plain", `\r\n`, "${jndi:ldap://evil.example}", "%0d%0aX-Evil:%201"}
	for _, in := range slices.Concat(invalid, withSpace, valid) {
		isValue, isToken := !slices.Contains(invalid, in), slices.Contains(valid, in)
		source := oauth2.StaticTokenSource(&oauth2.Token{AccessToken: in})
		for _, row := range []struct {
			name  string
			opt   commerce.Option
			valid bool
		}{
			{name: "header", opt: commerce.WithHeader("X-Key", in), valid: isValue},
			{name: "user agent", opt: commerce.WithUserAgent(in), valid: isValue},
			{name: "token", opt: commerce.WithToken(in), valid: isToken},
			{name: "source", opt: commerce.WithTokenSource(source), valid: true},
		} {
			t.Run(fmt.Sprintf("%s %.20q", row.name, in), func(t *testing.T) {
				t.Parallel()
				r, c, err := newClient(base, row.opt)
				if !row.valid {
					r.refused(t, err, in)
					return
				}
				if err == nil {
					err = list(t, c)
				}
				if row.name == "source" && !isToken { // New does not ask the source
					e, ok := errors.AsType[*commerce.Error](err)
					if !ok || e.Op != "token" || e.Outcome != commerce.OutcomeNotSent || strings.Contains(e.Error(), in) {
						t.Errorf("error = %v, want Op token, and not the token", err)
					}
					if len(r.raw) > 0 {
						t.Errorf("sent %q, want no request", r.raw)
					}
					return
				}
				if err != nil {
					t.Fatal(err)
				}
				r.request(t, listPath)
			})
		}
	}
}

// Client credentials may be any text, because they are sent in a form.
func TestClientCredentials(t *testing.T) {
	t.Parallel()
	for _, in := range []string{"plain", "a\r\nX-Evil: 1", "é\x00\xff", "a&client_id=b", "${x} %0d%0a"} {
		r, c := mustClient(t, commerce.WithClientCredentials(in, in))
		if err := list(t, c); err != nil {
			t.Fatal(err)
		}
		r.raw = r.raw[:1]
		want := url.Values{"grant_type": {"client_credentials"}, "client_id": {in}, "client_secret": {in}}
		if diff := cmp.Diff(want, r.request(t, "/oauth/access_token").Form); diff != "" {
			t.Errorf("form of %q (-want +got):\n%s", in, diff)
		}
	}
}

func TestHeaderKeys(t *testing.T) {
	t.Parallel()
	for _, key := range []string{
		"", " ", "X-A ", " X-A", "X A", "X-A:", "X-A\r\nX-B", "X-A\x00", "X-Ä", "X/A", "X(A)", "X-A\t", "\n",
		":authority", ":path", "Authorization", "AUTHORIZATION", "authorization", "Host", "hOST", "Content-Length",
		"content-type", "Content-Encoding", "Content-Anything", "Idempotency-Key", "x-idempotency-key", "Connection",
		"Keep-Alive", "Transfer-Encoding", "TE", "Trailer", "Upgrade", "Expect", "Proxy-Authorization",
		"Proxy-Connection", "Accept", "Accept-Encoding", "User-Agent",
	} {
		r, _, err := newClient(base, commerce.WithHeader(key, "canary-value"))
		r.refused(t, err, "canary-value")
	}
}

func TestMethods(t *testing.T) {
	t.Parallel()
	for _, method := range []string{
		"", " ", "get", "GET ", "GET / HTTP/1.1\r\nHost: evil.example\r\n\r\nGET", "CONNECT", "TRACE", "OPTIONS", "PURGE",
		"GÉT",
	} {
		r, c := mustClient(t)
		_, err := c.Do(t.Context(), method, []string{"v2"}, nil, nil, nil)
		r.refused(t, err, method)
	}
}

// Links in a response say whether there are more records. The client never requests them.
func TestLinks(t *testing.T) {
	t.Parallel()
	for _, link := range []string{
		"https://evil.example/steal?token=x", "//evil.example/", "http://store.example" + listPath + "?page[offset]=1",
		"https://store.example:8443/", "https://user:pw@store.example/", "https://store.example@evil.example/",
		"/v2/evil", "../evil", "?page[offset]=-1&evil=1", "file:///etc/passwd", "javascript:alert(1)",
		"\r\nHost: evil.example", "%zz", "", " ", strings.Repeat("x", 10_000),
	} {
		for form, body := range map[string]string{"text": quote(link), "object": `{"href":` + quote(link) + `}`} {
			t.Run(fmt.Sprintf("%s %.30q", form, link), func(t *testing.T) {
				t.Parallel()
				r, c := mustClient(t)
				r.respond = func(req *http.Request) *http.Response { return response(200, linkedPage(req, body)) }
				if err := list(t, c); err != nil {
					t.Error(err)
				}
				subs, err := commerce.Collect(c.Subscriptions.All(t.Context(), nil))
				if err != nil || len(subs) != 2 {
					t.Errorf("All() yields %d subscriptions, error %v, want 2", len(subs), err)
				}
				if len(r.urls) < 2 || len(r.urls) > 4 {
					t.Errorf("requests = %d, want 2 to 4", len(r.urls))
				}
				for _, u := range r.urls {
					q := u.Query()
					q.Del("page[offset]")
					q.Del("page[limit]")
					u.RawQuery = q.Encode()
					if got, want := u.String(), base+listPath; got != want {
						t.Errorf("requested %s, want %s", got, want)
					}
				}
			})
		}
	}
}

// linkedPage is a page of a list with two records, with a link wherever one may be.
func linkedPage(req *http.Request, link string) string {
	offset := 0
	_, _ = fmt.Sscan(req.URL.Query().Get("page[offset]"), &offset)
	var data []string
	for n := offset; n < 2; n++ {
		id := fmt.Sprintf(`"id":"00000000-0000-4000-8000-00000000000%d"`, n+1)
		data = append(data, `{"type":"subscription",`+id+`,"links":{"self":`+link+`}}`)
	}
	links := `{"next":null}`
	if offset == 0 {
		links = strings.ReplaceAll(`{"current":$,"first":$,"last":$,"next":$,"prev":$}`, "$", link)
	}
	return `{"data":[` + strings.Join(data, ",") + `],"links":` + links +
		`,"included":{"plans":[{"id":"00000000-0000-4000-8000-000000000009","type":"plan","links":{"self":` + link + `}}]}}`
}

// A request id that does not look like one is dropped: it is in no field, no rendering and no log.
func TestRequestIDs(t *testing.T) {
	t.Parallel()
	for _, in := range []string{
		"a\x1b[31mred", "a\nb", "a\r\nb", "a\tb", "a\x00b", "a\x7f", "a\u202eb", "é", "a b", `a"b`, "a'b", "a<b>", "a%b",
		"a;b", "a,b", "a{b}", "a|b", "a`b", "a$b", "a&b", "a?b", "a#b", `a\b`, "a@b", strings.Repeat("a", 129),
		"shopper+1@mail.example", "id 10%/ü", "value; more",
	} {
		for _, key := range []string{"X-Request-Id", "X-Moltin-Request-Id", "body"} {
			for _, status := range []int{200, 404, 503} {
				t.Run(fmt.Sprintf("%.20q %s %d", in, key, status), func(t *testing.T) {
					t.Parallel()
					var log bytes.Buffer
					logger := slog.New(slog.NewJSONHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))
					r, c := mustClient(t, commerce.WithLogger(logger))
					r.respond = func(*http.Request) *http.Response {
						resp := response(status, `{"errors":[{"request_id":`+quote(in)+`}]}`)
						if status == 200 {
							resp = response(status, emptyList)
						}
						resp.Header[key] = []string{in}
						return resp
					}
					page, err := c.Subscriptions.List(t.Context(), nil)
					if status == 200 && err == nil {
						checkDropped(t, in, page.Response.RequestID, page.Response)
					} else if e, ok := errors.AsType[*commerce.Error](err); ok && e.StatusCode == status {
						checkDropped(t, in, e.RequestID, e)
					} else {
						t.Errorf("error = %v, want status %d", err, status)
					}
					if log.Len() == 0 || strings.Contains(log.String(), "request_id") {
						t.Errorf("log = %s, want no request id", &log)
					}
				})
			}
		}
	}
}

// checkDropped checks that a response or an error has no request id, and that no rendering of it
// has the input.
func checkDropped(t *testing.T, in, id string, v any) {
	t.Helper()
	if id != "" {
		t.Errorf("RequestID = %q, want none", id)
	}
	encoded, err := json.Marshal(v)
	if err != nil {
		t.Error(err)
	}
	text := fmt.Sprintf("%v %+v %#v %q %s", v, v, v, v, encoded)
	for _, form := range []string{in, strings.Trim(fmt.Sprintf("%q", in), `"`), strings.Trim(quote(in), `"`)} {
		if strings.Contains(text, form) {
			t.Errorf("%q in %.300q, want it dropped", form, text)
		}
	}
}

// The client takes the request id from the other header if one header has none.
func TestRequestIDs_otherHeader(t *testing.T) {
	t.Parallel()
	r, c := mustClient(t)
	r.respond = func(*http.Request) *http.Response {
		resp := response(404, "")
		resp.Header.Set("X-Moltin-Request-Id", "not an id")
		resp.Header.Set("X-Request-Id", "id-1")
		return resp
	}
	if e, ok := errors.AsType[*commerce.Error](list(t, c)); !ok || e.RequestID != "id-1" {
		t.Errorf("error = %v, want request id id-1", e)
	}
}
