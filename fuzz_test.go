package commerce_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"math/big"
	"net/http"
	"net/netip"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/uuid"

	"github.com/commerce-go/commerce"
)

// answers returns a client whose requests are kept, and all answered alike.
func answers(t *testing.T, base string, status int, body []byte, opts ...commerce.Option) (*sent, *commerce.Client, error) {
	t.Helper()
	s := &sent{status: status, body: func(*http.Request) string { return string(body) }}
	c, err := commerce.New(base, append([]commerce.Option{
		commerce.WithToken(token), commerce.WithHTTPClient(&http.Client{Transport: s}), commerce.WithRetry(commerce.RetryPolicy{MaxAttempts: 1}),
	}, opts...)...)
	return s, c, err
}

// asRead returns the only request, as a server reads it.
func (s *sent) asRead(t *testing.T) *http.Request {
	t.Helper()
	if len(s.raw) != 1 {
		t.Fatalf("%d requests", len(s.raw))
	}
	r := bufio.NewReader(strings.NewReader(s.raw[0]))
	req, err := http.ReadRequest(r)
	if err != nil {
		t.Fatalf("no server reads this: %v\n%q", err, s.raw[0])
	}
	if _, err := io.Copy(io.Discard, req.Body); err != nil || r.Buffered() > 0 {
		t.Fatalf("more than one request: %v\n%q", err, s.raw[0])
	}
	return req
}

// long returns a value that stands in a text by no accident, or nothing.
func long(value string) string {
	if len(value) < 40 {
		return ""
	}
	return value
}

// A cart id stays in its segment of the path, on the host, as it is.
func FuzzCartID(f *testing.F) {
	for _, id := range []string{"cart-1", "", ".", "..", "a/b", `a\b`, "a?b", "a#b", "%2e%2e", "a b", "a\r\nHost: evil", "é", "\xff", "@evil.example", ";x", "a:80", strings.Repeat("x", 1025)} {
		f.Add(id)
	}
	f.Fuzz(func(t *testing.T, id string) {
		w, c, err := answers(t, base+"/shop", 200, []byte(`{}`))
		if err != nil {
			t.Fatal(err)
		}
		_, err = c.Carts.AddCustomDiscounts(bg, id, []commerce.NewCustomDiscount{discount("a")}, nil)
		if errors.Is(err, commerce.ErrInvalidArgument) {
			refusedAs(t, w, err, long(id))
			return
		}
		req := w.asRead(t)
		segments := strings.Split(req.URL.EscapedPath(), "/")
		if req.Host != "store.example" || req.URL.RawQuery != "" || len(segments) != 6 {
			t.Fatalf("sent to %s %s", req.Host, req.RequestURI)
		}
		got, err := url.PathUnescape(segments[4])
		if err != nil || got != id || id == "." || id == ".." {
			t.Errorf("%q arrived as %q, %v", id, got, err)
		}
	})
}

var condition = regexp.MustCompile(`(?s)^eq\((\w+),"((?:[^"\\]|\\.)*)"\)(:|$)`)

// A filter says what it was asked to, to a parser that is not the library's.
func FuzzFilter(f *testing.F) {
	for _, text := range []string{"", "a", `"`, `\`, `\"`, `"):eq(email,"x`, "O'Brien, (x)", "a+b@example.com", "%22", "&page[limit]=1", "\x00\n", "\xff", strings.Repeat("é", 2000)} {
		f.Add([]byte("0123456789abcdef"), text, "", text)
		f.Add([]byte{}, "", text, "x")
	}
	f.Fuzz(func(t *testing.T, account []byte, name, email, ref string) {
		w, c, err := answers(t, base, 200, []byte(`{"data":[]}`))
		if err != nil {
			t.Fatal(err)
		}
		filter := commerce.SubscriptionFilter{Name: name, Email: email, ExternalRef: ref}
		copy(filter.AccountID[:], account)
		want := map[string]string{"name": name, "email": email, "external_ref": ref}
		if filter.AccountID != uuid.Nil {
			want["account_id"] = filter.AccountID.String()
		}
		if _, err = c.Subscriptions.List(bg, &commerce.SubscriptionListOptions{Filter: filter, PageSize: 7}); err != nil {
			refusedAs(t, w, err, long(email))
			if text := strings.Join([]string{name, email, ref}, " "); strings.ToValidUTF8(text, "") == text && len(url.QueryEscape(text)) < 4000 {
				t.Errorf("refused without need: %v", err)
			}
			return
		}
		query := mustQuery(t, w.asRead(t).URL.RawQuery)
		if query.Get("page[limit]") != "7" || len(query["filter"]) > 1 || len(query) > 2 {
			t.Fatalf("query %v", query)
		}
		got := map[string]string{"name": "", "email": "", "external_ref": ""}
		for rest := query.Get("filter"); rest != ""; {
			m := condition.FindStringSubmatch(rest)
			if m == nil {
				t.Fatalf("not a filter: %q", rest)
			}
			got[m[1]] = regexp.MustCompile(`(?s)\\(.)`).ReplaceAllString(m[2], "$1")
			rest = rest[len(m[0]):]
		}
		diff(t, "filter", got, want)
	})
}

// Tokens and header values arrive as they are, and bring no other header.
func FuzzHeaders(f *testing.F) {
	for _, value := range []string{"", "v", "a b", "a\r\nX-Evil: 1", "a\x00", "é", "\t", " lead", "trail ", `"q"`, "a: b", "\x7f"} {
		f.Add("token", "X-Key", value, "product")
		f.Add(value, "x-key_2", "value", value)
		f.Add("t", value, "Authorization", "p")
	}
	f.Add("t", "content-length", "5", "p")
	f.Add("t", "accept", "5", "p")
	f.Fuzz(func(t *testing.T, secret, key, value, product string) {
		w, c, err := answers(t, base, 200, []byte(`{"data":[]}`), commerce.WithToken(secret), commerce.WithHeader(key, value), commerce.WithUserAgent(product))
		if err != nil {
			refusedAs(t, w, err, long(secret))
			return
		}
		if err := list(bg, c); err != nil {
			t.Fatal(err)
		}
		req := w.asRead(t)
		// A server takes the white space around a value away.
		if got := req.Header.Values("Authorization"); len(got) != 1 || got[0] != "Bearer "+secret {
			t.Errorf("Authorization %q", got)
		}
		if got := req.Header.Values(key); len(got) != 1 || got[0] != strings.TrimSpace(value) {
			t.Errorf("%s: %q, want %q", key, got, value)
		}
		if got := req.UserAgent(); !strings.HasPrefix(got, strings.TrimSpace(product)) || !strings.Contains(got, "commerce-go/") {
			t.Errorf("User-Agent %q", got)
		}
		if len(req.Header) != 4 || req.Host != "store.example" {
			t.Errorf("Host %s, header %v", req.Host, req.Header)
		}
	})
}

// A base address is refused, or is where requests go.
func FuzzBaseAddress(f *testing.F) {
	for _, address := range []string{base, base + "/", base + "/v2", base + "/a/b/", "http://127.0.0.1:80", "http://[::1]", "http://127.evil.example", "http://[2001:db8::1]", "http://[::ffff:127.0.0.1]", "http://LOCALHOST", "http://store.example", "https://u:p@store.example", base + "?q", base + "#f", base + "/../x", base + "/%2e%2e", "//store.example", "https:store.example", "https://store.example:99999", "https://", "https://é.example", "ftp://x", "https://a b", "\x7f"} {
		f.Add(address)
	}
	f.Fuzz(func(t *testing.T, address string) {
		w, c, err := answers(t, address, 200, []byte(`{}`))
		if err != nil {
			refusedAs(t, w, err, long(address))
			return
		}
		u, err := url.Parse(address)
		if err != nil || u.User != nil || u.RawQuery != "" || u.Fragment != "" || u.Scheme != "https" && u.Scheme != "http" {
			t.Fatalf("accepted %q", address)
		}
		if _, err := c.Do(bg, "GET", []string{"v2", "x"}, nil, nil, nil); err != nil {
			var e *commerce.Error // net/http may know better, e.g. what is a host
			if !errors.As(err, &e) || len(w.raw) > 0 {
				t.Fatal(err)
			}
			return
		}
		req := w.asRead(t)
		prefix := strings.TrimSuffix(strings.TrimRight(u.EscapedPath(), "/"), "/v2")
		host := strings.TrimSuffix(u.Host, ":")
		if req.Host != "" && req.Host != host && req.URL.Host != host && !strings.ContainsFunc(host, func(r rune) bool { return r >= utf8.RuneSelf || r == '%' }) { // as a name or a zone is written; one that can't be is left out, and is found nowhere
			t.Errorf("%q: sent to %s", address, req.Host)
		}
		ip, err := netip.ParseAddr(u.Hostname())
		if here := err == nil && ip.Unmap().IsLoopback() || strings.EqualFold(u.Hostname(), "localhost"); u.Scheme == "http" && !here {
			t.Errorf("plain http to %s", u.Host)
		}
		if strings.HasPrefix(req.RequestURI, "/") && req.RequestURI != prefix+"/v2/x" || slices.Contains(strings.Split(prefix, "/"), "..") {
			t.Errorf("%q: sent to %s %s", address, req.Host, req.RequestURI)
		}
	})
}

// Links are data: wherever they point, requests go to the store, and they come back
// from a round trip as they were.
func FuzzLinks(f *testing.F) {
	for _, links := range []string{`null`, `{}`, `{"next":null}`, `{"next":"https://evil.example/?page[offset]=100"}`, `{"next":{"href":"/x","title":"t","new":[1]},"self":""}`, `{"next":5}`, `[]`, `"x"`, `{"\u006eext":""}`, `{"next":null,"next":"/"}`, `{`} {
		f.Add([]byte(links))
	}
	f.Fuzz(func(t *testing.T, links []byte) {
		body := slices.Concat([]byte(`{"data":[{"id":"`+itemID+`","relationships":{"r":{"links":`), links, []byte(`}}}],"links":`), links, []byte(`}`))
		w, c, err := answers(t, base, 200, body)
		if err != nil {
			t.Fatal(err)
		}
		subs, err := commerce.Collect(c.Subscriptions.All(bg, nil))
		var stop *commerce.PagingError
		if err != nil && !errors.As(err, &stop) || len(subs) > 1 || err == nil && len(subs) != 1 {
			t.Fatalf("%d subscriptions, error %v", len(subs), err)
		}
		for _, raw := range w.raw {
			if !strings.HasPrefix(raw, "GET /v2/subscriptions/subscriptions?page%5Blimit%5D=100") || !strings.Contains(raw, "\r\nHost: store.example\r\n") {
				t.Fatalf("followed a link: %q", raw)
			}
		}
		if len(subs) == 0 {
			return
		}
		encoded, err := json.Marshal(subs[0])
		if err != nil {
			t.Fatal(err)
		}
		var once, twice commerce.Subscription // the first encoding may write what Extra keeps in other words
		if err := json.Unmarshal(encoded, &once); err != nil {
			t.Fatalf("%v: %s", err, encoded)
		}
		if encoded, err = json.Marshal(once); err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(encoded, &twice); err != nil {
			t.Fatalf("%v: %s", err, encoded)
		}
		diff(t, "links after a round trip", twice.Relationships.Get("r").Links, once.Relationships.Get("r").Links)
		hrefs := func(links commerce.Links) (all []string) {
			for _, l := range links {
				all = append(all, l.Name, l.Href, l.Title, l.DescribedBy)
			}
			return all
		}
		diff(t, "addresses after a round trip", hrefs(once.Relationships.Get("r").Links), hrefs(subs[0].Relationships.Get("r").Links))
	})
}

// Whatever an answer holds, its error is typed, tells the status, has as many
// entries as the array, and says no Detail.
func FuzzErrorBody(f *testing.F) {
	for _, body := range []string{``, `null`, `[]`, `{"errors":null}`, `{"errors":[]}`, `{"errors":[{"status":"400","title":"Bad Request","detail":"the canary sings"}]}`,
		`{"errors":[{"status":400,"detail":"the canary sings","source":{"pointer":"/data/0"},"meta":{"missing_ids":["` + itemID + `"],"id":"x"},"new":1}, "text", 5, null, {}]}`,
		`{"ERRORS":{"Title":"T"}}`, `{"errors":"the canary sings"}`, `{"errors":[{"title":["x"],"status":1e99,"request_id":"\r\n"}]}`, `<html>`, `{"errors":[`, "\xff"} {
		f.Add(uint16(400), []byte(body))
		f.Add(uint16(503), []byte(body))
	}
	sentinels := map[int]error{400: commerce.ErrBadRequest, 401: commerce.ErrUnauthorized, 403: commerce.ErrForbidden, 404: commerce.ErrNotFound, 409: commerce.ErrConflict, 422: commerce.ErrUnprocessable, 429: commerce.ErrRateLimited}
	f.Fuzz(func(t *testing.T, status uint16, body []byte) {
		if status = 300 + status%300; status == 304 || status < 400 {
			status += 100
		}
		w, c, err := answers(t, base, int(status), body)
		if err != nil {
			t.Fatal(err)
		}
		err = list(bg, c)
		var e *commerce.Error
		if !errors.As(err, &e) || e.StatusCode != int(status) || e.Op != "Subscriptions.List" || e.Outcome != commerce.OutcomeNone || e.Attempts != 1 || len(w.raw) != 1 {
			t.Fatalf("error %+v", err)
		}
		for s, sentinel := range sentinels {
			if errors.Is(err, sentinel) != (s == int(status)) {
				t.Errorf("status %d: is %v: %t", status, sentinel, errors.Is(err, sentinel))
			}
		}
		if errors.Is(err, commerce.ErrServer) != (status >= 500) {
			t.Errorf("status %d: is ErrServer: %t", status, status < 500)
		}
		shown := e.RequestID
		for _, o := range e.Errors {
			shown += " " + o.Title
		}
		for _, o := range e.Errors {
			if len(o.Detail) > 12 && !strings.Contains(shown, o.Detail) && strings.Contains(err.Error(), o.Detail) {
				t.Errorf("%q holds the detail %q", err.Error(), o.Detail)
			}
		}
		if strings.ContainsFunc(err.Error(), func(r rune) bool { return r < ' ' }) {
			t.Errorf("control characters in %q", err.Error())
		}
		// The same array, as encoding/json reads it.
		var v1 struct{ Errors []json.RawMessage }
		if json.Unmarshal(body, &v1) != nil || strings.Count(strings.ToLower(string(body)), "errors") != 1 {
			return
		}
		v1.Errors = slices.DeleteFunc(v1.Errors, func(raw json.RawMessage) bool {
			var b bytes.Buffer
			return json.Compact(&b, raw) == nil && slices.Contains([]string{"null", "false", `""`, "{}"}, b.String())
		})
		if len(e.Errors) != len(v1.Errors) {
			t.Errorf("%d errors of %d", len(e.Errors), len(v1.Errors))
		}
	})
}

// Whatever comes back of a write, it was sent once; its outcome, its result and its
// error agree; and an answer in which encoding/json sees a discount is no rejection.
func FuzzAddAnswer(f *testing.F) {
	added := func(ref string) string {
		return `{"type":"custom_discount","id":"` + itemID + `","external_id":"` + ref + `","amount":{"amount":-1000,"currency":"USD","formatted":"-$10.00"}}`
	}
	for _, body := range []string{``, `{}`, `null`, `[]`, `{"data":null}`, `{"data":[]}`, `{"data":[` + added("a") + `]}`, `{"data":[` + added("a") + `,` + added("b") + `],"errors":[]}`, `{"data":` + added("a") + `}`,
		`{"data":[` + added("a") + `],"errors":[{"status":400,"title":"Bad Request"}]}`, `{"errors":[{"title":"x"},{"title":"y"}],"options":{"add_all_or_nothing":true}}`, `{"data":[` + added("") + `,5,null]}`, `{"data":[` + added("a"), `<html>`, `{"data":[{"id":5}],"data":[]}`, `{"DATA":[` + added("a") + `]}`} {
		for _, status := range []uint16{200, 201, 207, 400, 429, 500, 302} {
			f.Add(status, []byte(body), uint8(2), status%2 == 0)
		}
	}
	f.Fuzz(func(t *testing.T, code uint16, body []byte, n uint8, allOrNothing bool) {
		status := 200 + (int(code)+200)%400 // 200 to 599, and those as they are
		w, c, err := answers(t, base, status, body)
		if err != nil {
			t.Fatal(err)
		}
		batch := make([]commerce.NewCustomDiscount, 1+n%4)
		for i := range batch {
			batch[i] = discount(string(rune('a' + i)))
		}
		result, err := c.Carts.AddCustomDiscounts(bg, "cart", batch, &commerce.AddCustomDiscountsOptions{AllOrNothing: allOrNothing})
		if len(w.raw) != 1 {
			t.Fatalf("%d requests", len(w.raw))
		}
		outcome, ok := commerce.OutcomeOf(err), status <= 299
		var e *commerce.Error
		if err != nil && (!errors.As(err, &e) || e.StatusCode != status || e.Attempts != 1) {
			t.Fatalf("error %+v", err)
		}
		if (result != nil) != (err == nil || outcome == commerce.OutcomePartial) ||
			errors.Is(err, commerce.ErrPartialFailure) != (outcome == commerce.OutcomePartial) ||
			errors.Is(err, commerce.ErrOutcomeUnknown) != (outcome == commerce.OutcomeUnknown) {
			t.Fatalf("status %d: outcome %v, result %+v, error %v", status, outcome, result, err)
		}
		switch outcome {
		case commerce.OutcomeApplied:
			if err != nil || !ok || len(result.Errors) > 0 || len(result.Unconfirmed) > 0 || len(result.Added) < len(batch) {
				t.Fatalf("a success: %+v, %v", result, err)
			}
		case commerce.OutcomePartial:
			if len(result.Added) == 0 || len(batch)-len(result.Unconfirmed) > len(result.Added) {
				t.Fatalf("a partial success: %+v", result)
			}
			for _, d := range result.Unconfirmed {
				if !slices.ContainsFunc(batch, func(b commerce.NewCustomDiscount) bool { return b.ExternalID == d.ExternalID }) {
					t.Fatalf("unconfirmed, and not sent: %+v", d)
				}
			}
		case commerce.OutcomeRejected:
			// By maps: encoding/json finds fields whatever their case.
			var members map[string]json.RawMessage
			var data []map[string]json.RawMessage
			if json.Unmarshal(body, &members) != nil || json.Unmarshal(members["data"], &data) != nil {
				break
			}
			for _, d := range data {
				if string(d["type"]) == `"custom_discount"` {
					t.Fatalf("status %d: rejected, with a discount in it", status)
				}
			}
		case commerce.OutcomeUnreadable:
			if !ok || !errors.Is(err, commerce.ErrBadResponse) {
				t.Fatalf("status %d: unreadable: %v", status, err)
			}
		case commerce.OutcomeUnknown:
			if ok {
				t.Fatalf("status %d: unknown", status)
			}
		default:
			t.Fatalf("status %d: outcome %v", status, outcome)
		}
	})
}

// A number is what math/big says it is, and a JSON number again.
func FuzzDecimal(f *testing.F) {
	for _, s := range []string{"0", "-1000", "12.50", "1e3", "-0.0001", "+5", ".5", "5.", "1_0", "0x1", "NaN", "", " 1", "1e-9999", "1e10001", "99999999999999999999999", "1/2"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		d, err := commerce.ParseDecimal(s)
		if err != nil {
			if !errors.Is(err, commerce.ErrInvalidArgument) || len(s) > 60 && strings.Contains(err.Error(), s) {
				t.Fatalf("error %v", err)
			}
			if json.Valid([]byte(s)) && strings.Trim(s, "0123456789.-") == "" && len(s) < 1000 {
				t.Fatalf("%q is a number", s)
			}
			return
		}
		if exp := d.Exponent(); exp > 400 || exp < -400 {
			return // big.Rat would be large
		}
		want, ok := new(big.Rat).SetString(s)
		if !ok || d.Rat().Cmp(want) != 0 {
			t.Fatalf("%q became %v, want %v", s, d, want)
		}
		b, err := json.Marshal(d)
		if err != nil || b[0] == '"' || !json.Valid(b) {
			t.Fatalf("%q became %s, %v", s, b, err)
		}
		var again commerce.Decimal
		if err := json.Unmarshal(b, &again); err != nil || !again.Equal(d) {
			t.Fatalf("%q became %s became %v, %v", s, b, again, err)
		}
	})
}
