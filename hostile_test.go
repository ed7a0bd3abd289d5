package commerce_test

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/uuid"
	"golang.org/x/oauth2"

	"github.com/commerce-go/commerce"
)

// sent is a transport that keeps what would go out, as it would be written.
type sent struct {
	mu     sync.Mutex
	urls   []*url.URL
	raw    []string
	status int                        // of the answer; 0: 200
	body   func(*http.Request) string // of the answer; nil: what the operation wants
}

func (s *sent) RoundTrip(req *http.Request) (*http.Response, error) {
	var b bytes.Buffer
	if err := req.Clone(req.Context()).Write(&b); err != nil {
		return nil, err
	}
	s.mu.Lock()
	s.urls, s.raw = append(s.urls, req.URL), append(s.raw, b.String())
	s.mu.Unlock()
	if req.URL.Path == "/oauth/access_token" {
		return saysBody(200, accessTok)(req)
	}
	if s.body != nil {
		return saysBody(cmp.Or(s.status, 200), s.body(req))(req)
	}
	return fine(req)
}

// one returns the request that went out, and checks its form: a line, headers
// that are its own, one host.
func (s *sent) one(t *testing.T, segments int) *url.URL {
	t.Helper()
	const host = "store.example"
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.raw) != 1 {
		t.Fatalf("%d requests", len(s.raw))
	}
	u := s.urls[0]
	head, _, _ := strings.Cut(s.raw[0], "\r\n\r\n")
	lines := strings.Split(head, "\r\n")
	words := strings.Split(lines[0], " ")
	if len(words) != 3 || words[2] != "HTTP/1.1" {
		t.Fatalf("request line %q", lines[0])
	}
	path, _, _ := strings.Cut(words[1], "?")
	if n := strings.Count(path, "/"); n != segments || strings.ContainsAny(path, "\\#") || strings.Contains(path, "/../") || strings.HasSuffix(path, "/..") || strings.Contains(strings.ToLower(path), "%2f") {
		t.Errorf("path %q, want %d segments", path, segments)
	}
	hosts := 0
	for _, line := range lines[1:] {
		key, value, ok := strings.Cut(line, ": ")
		if !ok || key != http.CanonicalHeaderKey(key) || strings.ContainsAny(line, "\r\n\x00") {
			t.Errorf("header line %q", line)
		}
		if key == "Host" {
			hosts++
			if value != host {
				t.Errorf("Host %q, want %q", value, host)
			}
		}
		if !slices.Contains([]string{"Host", "Accept", "Authorization", "User-Agent", "Content-Type", "Content-Length", "X-Key", "Accept-Encoding"}, key) {
			t.Errorf("header %q was smuggled in", key)
		}
	}
	if u.Host != host || hosts != 1 || u.User != nil || u.Fragment != "" {
		t.Errorf("sent to %s with %d Host headers, want %s", u.Host, hosts, host)
	}
	return u
}

// refusedAs checks that err is a ValidationError, whose text repeats nothing of
// the value.
func refusedAs(t *testing.T, s *sent, err error, value string) {
	t.Helper()
	var v *commerce.ValidationError
	if !errors.As(err, &v) || !errors.Is(err, commerce.ErrInvalidArgument) || commerce.OutcomeOf(err) != commerce.OutcomeNotSent {
		t.Errorf("error %v", err)
		return
	}
	if len(s.raw) != 0 {
		t.Errorf("sent %q", s.raw)
	}
	if len(value) > 5 && strings.Contains(err.Error(), value) || strings.ContainsFunc(err.Error(), func(r rune) bool { return r < ' ' || r > '~' }) {
		t.Errorf("the text repeats the value: %q", err)
	}
}

// hostile is an input, and what becomes of it.
type hostile struct {
	in      string
	refused bool
}

// hostileElements are elements of a path.
func hostileElements() []hostile {
	list := []hostile{}
	for _, in := range []string{
		"", ".", "..", "/", "\\", "a/b", "a\\b", "../x", "..\\x", "/x", "x/", "x/..", "//evil.example", "https://evil.example/x", "a?b", "?", "a#b", "#", "%", "a%", "%2e%2e", "%2f", "%252f", "a%2fb", "%00", "%zz", "%0d%0a",
		"a b", " ", " a", "a ", "\t", "a\tb", "\n", "a\r\nHost: evil.example", "a\r\n\r\nGET / HTTP/1.1", "\x00", "a\x00", "\x1b[31m", "\x7f", "\xff", "a\xc0\xaf", "\xed\xa0\x80", "\ufffd", strings.Repeat("a", 1025),
	} {
		list = append(list, hostile{in, true})
	}
	for _, in := range []string{
		"...", "....", ".a", "a.", "..;", "..;x=y", ";", "a;b", "a:b", ":80", "@evil.example", "user:pw@evil.example", "a&b=c", "=", "a+b", "+", "~", "~root", "*", "$(id)", "`id`", "'--", `"`, "<script>", "{{.}}", "[::1]", "|", "^", "!", ",",
		"é", "日本", "／", "．．", "‥", "＼", "？", "\u202e", "\u2028", "\u0085", "\u00a0", "\ufeff", "🛒", "e\u0301", strings.Repeat("a", 1024), "v2", "http:", "javascript:alert(1)", "CON", "null",
	} {
		list = append(list, hostile{in, false})
	}
	return list
}

// hostileClient returns a client over a transport that keeps what goes out.
func hostileClient(t *testing.T) (*sent, *commerce.Client) {
	t.Helper()
	s := &sent{}
	c, err := commerce.New(base, commerce.WithToken(token), commerce.WithHTTPClient(&http.Client{Transport: s}))
	if err != nil {
		t.Fatal(err)
	}
	return s, c
}

func TestHostile_elements(t *testing.T) {
	t.Parallel()
	for i, h := range hostileElements() {
		name := fmt.Sprintf("%d %.20q", i, h.in)
		t.Run("cart id "+name, func(t *testing.T) {
			t.Parallel()
			s, c := hostileClient(t)
			_, err := c.Carts.AddCustomDiscounts(bg, h.in, []commerce.NewCustomDiscount{discount("a")}, nil)
			if h.refused {
				refusedAs(t, s, err, h.in)
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			u := s.one(t, 4)
			diff(t, "path", u.Path, "/v2/carts/"+h.in+"/custom-discounts")
			diff(t, "query", u.RawQuery, "")
		})
		t.Run("path of Do "+name, func(t *testing.T) {
			t.Parallel()
			for at := range 3 {
				s, c := hostileClient(t)
				path := []string{"v2", "carts", "x"}
				path[at] = h.in
				_, err := c.Do(bg, "GET", path, nil, nil, nil)
				if h.refused {
					refusedAs(t, s, err, h.in)
					continue
				}
				if err != nil {
					t.Fatal(err)
				}
				diff(t, "path", s.one(t, 3).Path, "/"+strings.Join(path, "/"))
			}
		})
		t.Run("query "+name, func(t *testing.T) {
			t.Parallel()
			s, c := hostileClient(t)
			if _, err := c.Do(bg, "GET", []string{"v2"}, url.Values{"q" + h.in: {h.in}}, nil, nil); err != nil {
				t.Fatal(err)
			}
			diff(t, "query", mustQuery(t, s.one(t, 1).RawQuery), url.Values{"q" + h.in: {h.in}})
		})
		t.Run("filter "+name, func(t *testing.T) {
			t.Parallel()
			s, c := hostileClient(t)
			_, err := c.Subscriptions.List(bg, &commerce.SubscriptionListOptions{Filter: commerce.SubscriptionFilter{Email: h.in}})
			if strings.ToValidUTF8(h.in, "") != h.in {
				refusedAs(t, s, err, h.in)
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			want := url.Values{"filter": {`eq(email,"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(h.in) + `")`}}
			if h.in == "" {
				want = url.Values{}
			}
			diff(t, "query", mustQuery(t, s.one(t, 3).RawQuery), want)
		})
	}
}

func TestHostile_baseAddresses(t *testing.T) {
	t.Parallel()
	for _, in := range []string{
		"", " ", "store.example", "//store.example", "/", "https:", "https:/", "https://", "https:///x", "https:store.example", "https://:443", "https://?", "ftp://store.example", "file:///etc/passwd", "javascript:alert(1)", "data:,x",
		"unix:///var/run/x.sock", "ws://store.example", "h2c://store.example", "\thttps://store.example", "https://store.example\n", "https://store.example\r\nHost: evil.example", "https://store.example\x00.evil.example", "https://store.example/\x7f",
		"https://user@store.example", "https://user:canary-pw@store.example", "https://:canary-pw@store.example", "https://@store.example", "https://store.example@evil.example", "https://store.example:443@evil.example/", "https://store.example%40evil.example@evil.example",
		"https://store.example\\@evil.example", "https://store.example\\.evil.example", "https://evil.example\\@store.example", "https://store.example?x=canary-pw", "https://store.example?", "https://store.example/?", "https://store.example#canary-pw", "https://store.example#", "https://store.example/#/",
		"https://store.example/..", "https://store.example/../x", "https://store.example/a/./b", "https://store.example/a//b", "https://store.example//v2", "https://store.example/%2e%2e", "https://store.example/a%2fb", "https://store.example/%", "https://store.example/a\\b", "https://store.example/a b",
		"https://store example", "https://store.example:port", "https://store.example:-1", "https://store.example:80:90", "https://[::1", "https://::1", "https://[store.example]", "https://%zz",
		"http://store.example", "http://127.0.0.1.store.example", "http://localhost.evil.example", "http://127.0.0.1@evil.example", "http://0.0.0.0", "http://10.0.0.1", "http://169.254.169.254", "http://[::ffff:10.0.0.1]", "http://2130706433", "http://0x7f.1", "http://localhost.", "HTTP://store.example",
	} {
		t.Run(fmt.Sprintf("refused: %.40q", in), func(t *testing.T) {
			t.Parallel()
			s := &sent{}
			c, err := commerce.New(in, commerce.WithToken(token), commerce.WithHTTPClient(&http.Client{Transport: s}))
			if c != nil || err == nil {
				t.Fatalf("client %v, error %v", c, err)
			}
			refusedAs(t, s, err, in)
			if strings.Contains(err.Error(), "canary-pw") || strings.Contains(err.Error(), "example") {
				t.Errorf("the text repeats the address: %v", err)
			}
		})
	}
	for in, want := range map[string]struct {
		host, path string
	}{
		"https://store.example":                {"store.example", "/v2/x"},
		"HTTPS://STORE.example":                {"STORE.example", "/v2/x"},
		"https://store.example:8443":           {"store.example:8443", "/v2/x"},
		"https://store.example:":               {"store.example", "/v2/x"},
		"https://store.example.":               {"store.example.", "/v2/x"},
		"https://store.example/v2/v2":          {"store.example", "/v2/v2/x"},
		"https://store.example/@evil.example":  {"store.example", "/@evil.example/v2/x"},
		"https://store.example/;@evil.example": {"store.example", "/;@evil.example/v2/x"},
		"https://store.example/evil.example:1": {"store.example", "/evil.example:1/v2/x"},
		"https://store.example&evil.example":   {"store.example&evil.example", "/v2/x"}, // no name that resolves
		"https://<host>":                       {"<host>", "/v2/x"},
		"https://[::1]:8443":                   {"[::1]:8443", "/v2/x"},
		"http://[::1]":                         {"[::1]", "/v2/x"},
		"http://127.0.0.1:1":                   {"127.0.0.1:1", "/v2/x"},
		"http://[::ffff:127.0.0.1]":            {"[::ffff:127.0.0.1]", "/v2/x"},
		"http://LOCALHOST":                     {"LOCALHOST", "/v2/x"},
	} {
		t.Run(fmt.Sprintf("harmless: %q", in), func(t *testing.T) {
			t.Parallel()
			s := &sent{}
			c, err := commerce.New(in, commerce.WithToken(token), commerce.WithHTTPClient(&http.Client{Transport: s}))
			if err != nil {
				t.Fatal(err)
			}
			if _, err := c.Do(bg, "GET", []string{"v2", "x"}, nil, nil, nil); err != nil {
				t.Fatal(err)
			}
			if len(s.urls) != 1 || s.urls[0].Host != want.host || s.urls[0].Path != want.path || s.urls[0].User != nil {
				t.Errorf("sent to %v, want %v", s.urls, want)
			}
		})
	}
}

func TestHostile_headersAndTokens(t *testing.T) {
	t.Parallel()
	values := []hostile{
		{"a\r\nX-Evil: 1", true}, {"a\nX-Evil: 1", true}, {"a\r", true}, {"\n", true}, {"a\x00b", true}, {"a\tb", true}, {"a\x7f", true}, {"é", true}, {"\u2028", true}, {"\xff", true}, {"a\r\n\r\nbody", true}, {"\u560a\u560dX-Evil: 1", true},
		{"plain", false}, {"a: b", false}, {`"quoted"; x=y`, false}, {"a, b", false}, {"%0d%0aX-Evil:%201", false}, {`\r\n`, false}, {"${jndi:ldap://evil.example}", false},
	}
	for i, h := range values {
		name := fmt.Sprintf("%d %.20q", i, h.in)
		for what, opt := range map[string]commerce.Option{
			"header": commerce.WithHeader("X-Key", h.in), "user agent": commerce.WithUserAgent(h.in), "token": commerce.WithToken(h.in),
			"token source": commerce.WithTokenSource(oauth2.StaticTokenSource(&oauth2.Token{AccessToken: h.in})), "client id": commerce.WithClientCredentials(h.in, h.in),
		} {
			t.Run(what+" "+name, func(t *testing.T) {
				t.Parallel()
				s := &sent{}
				c, err := commerce.New(base, commerce.WithToken(token), commerce.WithHTTPClient(&http.Client{Transport: s}), opt)
				ofToken := strings.HasPrefix(what, "token")
				refused := h.refused || ofToken && strings.Contains(h.in, " ")
				switch {
				case what == "client id": // any text may be one: it travels in a form
					if err != nil {
						t.Fatal(err)
					}
					if err := list(bg, c); err != nil {
						t.Fatal(err)
					}
					_, form, _ := strings.Cut(s.raw[0], "\r\n\r\n")
					diff(t, "form", mustQuery(t, form), url.Values{"grant_type": {"client_credentials"}, "client_id": {h.in}, "client_secret": {h.in}})
					return
				case refused && what == "token source":
					if err != nil {
						t.Fatal(err)
					}
					err = list(bg, c)
					var e *commerce.Error
					if !errors.As(err, &e) || e.Op != "token" || e.Outcome != commerce.OutcomeNotSent || len(s.raw) != 0 || strings.Contains(err.Error(), h.in) {
						t.Errorf("error %v, sent %q", err, s.raw)
					}
					return
				case refused:
					refusedAs(t, s, err, h.in)
					return
				case err != nil:
					t.Fatal(err)
				}
				if err := list(bg, c); err != nil {
					t.Fatal(err)
				}
				s.one(t, 3)
			})
		}
	}
	for i, key := range []string{
		"", " ", "X-A ", " X-A", "X A", "X-A:", "X-A\r\nX-B", "X-A\x00", "X-Ä", "X/A", "X(A)", "X-A\t", "\n", ":authority", ":path",
		"Authorization", "AUTHORIZATION", "authorization", "Host", "hOST", "Content-Length", "content-type", "Content-Encoding", "Content-Anything", "Idempotency-Key", "x-idempotency-key", "Connection", "Keep-Alive",
		"Transfer-Encoding", "TE", "Trailer", "Upgrade", "Expect", "Proxy-Authorization", "Proxy-Connection", "Accept", "Accept-Encoding", "User-Agent",
	} {
		t.Run(fmt.Sprintf("key %d %.20q", i, key), func(t *testing.T) {
			t.Parallel()
			s := &sent{}
			_, err := commerce.New(base, commerce.WithToken(token), commerce.WithHTTPClient(&http.Client{Transport: s}), commerce.WithHeader(key, "canary-value"))
			refusedAs(t, s, err, "canary-value")
		})
	}
	for i, method := range []string{"", " ", "get", "GET ", "GET / HTTP/1.1\r\nHost: evil.example\r\n\r\nGET", "CONNECT", "TRACE", "OPTIONS", "PURGE", "GÉT"} {
		t.Run(fmt.Sprintf("method %d %.20q", i, method), func(t *testing.T) {
			t.Parallel()
			s, c := hostileClient(t)
			_, err := c.Do(bg, method, []string{"v2"}, nil, nil, nil)
			refusedAs(t, s, err, method)
		})
	}
}

// TestHostile_links has answers whose links lead elsewhere: they say that there is
// more, and are not asked.
func TestHostile_links(t *testing.T) {
	t.Parallel()
	for i, link := range []string{
		"https://evil.example/steal?token=x", "//evil.example/", "http://store.example/v2/subscriptions/subscriptions?page[offset]=1", "https://store.example:8443/", "https://user:pw@store.example/", "https://store.example@evil.example/",
		"/v2/evil", "../evil", "?page[offset]=-1&evil=1", "file:///etc/passwd", "javascript:alert(1)", "\r\nHost: evil.example", "%zz", "", " ", strings.Repeat("x", 10_000),
	} {
		for form, body := range map[string]string{"text": quoteJSON(link), "object": `{"href":` + quoteJSON(link) + `}`} {
			t.Run(fmt.Sprintf("%d %s %.20q", i, form, link), func(t *testing.T) {
				t.Parallel()
				s, c := hostileClient(t)
				s.body = func(req *http.Request) string {
					// Two records, and whatever is asked beyond them is empty.
					var data []string
					offset := 0
					_, _ = fmt.Sscan(req.URL.Query().Get("page[offset]"), &offset)
					for n := offset; n < 2; n++ {
						data = append(data, `{"type":"subscription","id":"`+uuid.NewSHA1(uuid.NameSpaceOID, []byte{byte(n)}).String()+`","links":{"self":`+body+`}}`)
					}
					links := `{"current":` + body + `,"first":` + body + `,"last":` + body + `,"next":` + body + `,"prev":` + body + `}`
					if offset > 0 {
						links = `{"next":null}`
					}
					return `{"data":[` + strings.Join(data, ",") + `],"links":` + links + `,"included":{"plans":[{"id":"` + nth(1).String() + `","type":"plan","links":{"self":` + body + `}}]}}`
				}
				if _, err := c.Subscriptions.List(bg, nil); err != nil {
					t.Error(err)
				}
				subs, err := commerce.Collect(c.Subscriptions.All(bg, nil))
				if err != nil || len(subs) != 2 {
					t.Errorf("%d subscriptions, error %v", len(subs), err)
				}
				if len(s.urls) < 2 || len(s.urls) > 4 {
					t.Errorf("%d requests", len(s.urls))
				}
				for _, u := range s.urls {
					if u.Scheme != "https" || u.Host != "store.example" || u.Path != "/v2/subscriptions/subscriptions" || u.User != nil || strings.Contains(u.RawQuery, "evil") {
						t.Errorf("requested %s", u)
					}
					for key := range u.Query() {
						if key != "page[offset]" && key != "page[limit]" {
							t.Errorf("requested with %s", key)
						}
					}
				}
			})
		}
	}
}

// TestHostile_requestIDs has request ids that are none: they are neither told nor
// printed, wherever they stand.
func TestHostile_requestIDs(t *testing.T) {
	t.Parallel()
	for i, in := range []string{
		"a\x1b[31mred", "a\nb", "a\r\nb", "a\tb", "a\x00b", "a\x7f", "a\u202eb", "é", "a b", "a\"b", "a'b", "a<b>", "a%b", "a;b", "a,b", "a{b}", "a|b", "a`b", "a$b", "a&b", "a?b", "a#b", "a\\b", "a@b", strings.Repeat("a", 129), leakEmail, leakExternal, leakHeader,
	} {
		t.Run(fmt.Sprintf("%d %.20q", i, in), func(t *testing.T) {
			t.Parallel()
			for _, key := range []string{"X-Request-Id", "X-Moltin-Request-Id", "body"} {
				for _, status := range []int{200, 404, 503} {
					var events lockedBuffer
					rt := tripper(func(req *http.Request) (*http.Response, error) {
						body := emptyList
						if status != 200 {
							body = `{"errors":[{"request_id":` + quoteJSON(in) + `}]}`
						}
						resp, err := saysBody(status, body)(req)
						resp.Header = http.Header{key: {in}}
						return resp, err
					})
					c, err := commerce.New(base, commerce.WithToken(token), commerce.WithHTTPClient(&http.Client{Transport: rt}), commerce.WithLogger(events.logger()),
						commerce.WithRetry(commerce.RetryPolicy{MaxAttempts: 1}))
					if err != nil {
						t.Fatal(err)
					}
					page, err := c.Subscriptions.List(bg, nil)
					var texts []string
					id := ""
					if e, ok := errors.AsType[*commerce.Error](err); ok {
						id = e.RequestID
						for _, r := range render(err) {
							texts = append(texts, r.text)
						}
					} else if err == nil {
						id = page.Response.RequestID
						for _, r := range render(page.Response) {
							texts = append(texts, r.text)
						}
					}
					if (err == nil) != (status == 200) || id != "" {
						t.Errorf("%s of a %d: request id %q, error %v", key, status, id, err)
					}
					quoted := strings.Trim(fmt.Sprintf("%q", in), `"`)
					for _, text := range append(texts, events.String()) {
						if t.Failed() {
							break // one is enough to read
						}
						if strings.Contains(text, in) || strings.Contains(text, quoted) {
							t.Errorf("%s of a %d is in %.300q", key, status, text)
						}
					}
				}
			}
		})
	}
	// One that is an id is told, whatever stands beside it.
	_, err := newStub(t, answerWith(404, "", "X-Moltin-Request-Id", "not an id", "X-Request-Id", "id-1")).client(t).Subscriptions.List(bg, nil)
	if e, ok := errors.AsType[*commerce.Error](err); !ok || e.RequestID != "id-1" {
		t.Errorf("error %v", err)
	}
}
