package commerce_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"reflect"
	"regexp"
	"slices"
	"sort"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/uuid"

	"github.com/commerce-go/commerce"
	"github.com/commerce-go/commerce/commercetest"
)

func TestSubscriptionFilter_request(t *testing.T) {
	t.Parallel()
	a, b := numberedID(1), numberedID(2)
	for _, tt := range []struct {
		name   string
		filter commerce.SubscriptionFilter
		want   string
	}{
		{name: "none"},
		{
			name: "one value of each field",
			filter: commerce.SubscriptionFilter{
				AccountIDs: []uuid.UUID{a}, Names: []string{"n"}, Emails: []string{"e"}, ExternalRefs: []string{"r"},
			},
			want: `eq(account_id,"` + a.String() + `"):eq(name,"n"):eq(email,"e"):eq(external_ref,"r")`,
		},
		{
			name: "several values of each field",
			filter: commerce.SubscriptionFilter{
				AccountIDs: []uuid.UUID{b, a}, Names: []string{"n", "m"}, Emails: []string{"a@b.example", "e"},
				ExternalRefs: []string{"order-1", "R_2", "r"},
			},
			want: "in(account_id," + b.String() + "," + a.String() + "):in(name,n,m):" +
				"in(email,a@b.example,e):in(external_ref,order-1,R_2,r)",
		},
		{
			name:   "some of a list in quotes",
			filter: commerce.SubscriptionFilter{Names: []string{"azAZ09-_.@", "a b", `"\`, "a,b)", "é", "+", "*", "$"}},
			want:   `in(name,azAZ09-_.@,"a b","\"\\","a,b)","é","+","*","$")`,
		},
		{
			name:   "characters of the grammar and of URLs",
			filter: commerce.SubscriptionFilter{Names: []string{` a"b\c,(d):'e'&f=g#h%20é+`}},
			want:   `eq(name," a\"b\\c,(d):'e'&f=g#h%20é+")`,
		},
	} {
		r := &recorder{respond: respond(200, emptyList)}
		_, err := newClient(t, r).Subscriptions.List(t.Context(), &commerce.SubscriptionListOptions{Filter: tt.filter})
		if err != nil {
			t.Fatalf("%s: %v", tt.name, err)
		}
		raw := r.read(t).URL.RawQuery
		diff(t, tt.name, parseQuery(t, raw).Get("filter"), tt.want)
		if strings.Contains(raw, "+") {
			t.Errorf("%s: query %s has a space as +, want %%20", tt.name, raw)
		}
	}
}

// Each field of a filter is sent, copied and checked. A field that is not would list the whole
// store.
func TestSubscriptionFilter_fields(t *testing.T) {
	t.Parallel()
	sent := map[string]string{} // fields by query and type: a list of one is sent as one value is
	for field := range reflect.TypeFor[commerce.SubscriptionFilter]().Fields() {
		opts := &commerce.SubscriptionListOptions{}
		if field.Type.Kind() != reflect.Slice {
			t.Errorf("SubscriptionFilter.%s is no slice: an empty value of a form would list the whole store", field.Name)
			continue
		}
		value := reflect.ValueOf(&opts.Filter).Elem().FieldByIndex(field.Index)
		value.Set(reflect.MakeSlice(field.Type, 1, 1))
		one := value.Index(0)
		one.Set(reflect.ValueOf(map[bool]any{true: "x", false: numberedID(1)}[one.Kind() == reflect.String]))
		s := newStub(t, slices.Repeat(responders{respond(200, emptyList)}, 4)...)
		subscriptions := s.client(t).Subscriptions
		walk := subscriptions.All(t.Context(), opts)
		_, errList := subscriptions.List(t.Context(), opts)
		one.SetZero()
		if _, err := commerce.Collect(walk); err != nil || errList != nil {
			t.Fatalf("SubscriptionFilter.%s: errors %v, %v", field.Name, err, errList)
		}
		filter := parseQuery(t, s.sent()[0].RawQuery).Get("filter")
		copied := parseQuery(t, s.sent()[1].RawQuery).Get("filter")
		key := filter + field.Type.String()
		switch {
		case filter == "":
			t.Errorf("SubscriptionFilter.%s alone lists the whole store: add it to conditions in subscription_filter.go",
				field.Name)
			continue
		case sent[key] != "":
			t.Errorf("SubscriptionFilter.%s is sent as %s is: correct its row in conditions in subscription_filter.go",
				field.Name, sent[key])
		case copied != filter:
			t.Errorf("SubscriptionFilter.%s of a walk changes with the options: copy it in check of subscription_filter.go",
				field.Name)
		}
		sent[key] = field.Name
		for _, length := range []int{0, 1} {
			value.Set(reflect.MakeSlice(field.Type, length, length))
			_, err := subscriptions.List(t.Context(), opts)
			_, name, _ := strings.Cut(filter, "(")
			name, _, _ = strings.Cut(name, ",")
			diff(t, fmt.Sprintf("what check in subscription_filter.go refuses: %s with %d zero elements", field.Name, length),
				invalidFields(err), []string{"filter." + name})
		}
	}
}

func TestSubscriptionFilter_validation(t *testing.T) {
	t.Parallel()
	a := numberedID(1)
	all := []string{"filter.account_id", "filter.name", "filter.email", "filter.external_ref"}
	for _, tt := range []struct {
		name   string
		filter commerce.SubscriptionFilter
		want   []string // fields
	}{
		{
			name: "zero values, of an empty form or an unset variable", want: all,
			filter: commerce.SubscriptionFilter{
				AccountIDs: []uuid.UUID{a, uuid.Nil}, Names: []string{""},
				Emails: []string{"", "e"}, ExternalRefs: []string{"r", ""},
			},
		},
		{
			name: "invalid UTF-8", want: all[1:],
			filter: commerce.SubscriptionFilter{
				Names: []string{"\xff"}, Emails: []string{"\xff"}, ExternalRefs: []string{"r", "\xff"},
			},
		},
	} {
		r := &recorder{respond: respond(200, emptyList)}
		_, err := newClient(t, r).Subscriptions.List(t.Context(), &commerce.SubscriptionListOptions{Filter: tt.filter})
		diff(t, "invalid fields: "+tt.name, invalidFields(err), tt.want)
		r.checkRefused(t, err, "")
	}
}

// The longest request line, at the highest offset, has 6,000 bytes. A longer one is refused before
// anything is sent.
func TestSubscriptionFilter_requestLine(t *testing.T) {
	t.Parallel()
	var lines []string
	refusal := func(n int) error {
		r := &recorder{respond: respond(200, emptyList)}
		opts := &commerce.SubscriptionListOptions{
			Filter: commerce.SubscriptionFilter{Emails: []string{strings.Repeat("a é", 300) + strings.Repeat("a", n)}},
			Offset: commerce.MaxOffset, PageSize: 100, Include: everything,
		}
		_, err := newClientAt(t, baseURL+"/path/of/a/proxy", r).Subscriptions.List(t.Context(), opts)
		if err != nil {
			r.checkRefused(t, err, opts.Filter.Emails[0])
		}
		lines = r.lines()
		return err
	}
	longest := sort.Search(6_000, func(n int) bool { return refusal(n) != nil }) - 1
	diff(t, "invalid fields", invalidFields(refusal(longest+1)), []string{"filter"})
	if err := refusal(longest); err != nil || len(lines[0]) != 6_000 {
		t.Errorf("error %v, the longest line has %d bytes, want 6,000", err, len(lines[0]))
	}
}

// ignoresFilter is a transport to a store that ignores the filter of a list of subscriptions if it
// begins with a text.
type ignoresFilter struct {
	http.RoundTripper
	begin string
}

func (t ignoresFilter) RoundTrip(req *http.Request) (*http.Response, error) {
	query := req.URL.Query()
	if strings.HasPrefix(query.Get("filter"), t.begin) && strings.HasSuffix(req.URL.Path, "/subscriptions") {
		query.Del("filter")
	}
	req = req.Clone(req.Context())
	req.URL.RawQuery = query.Encode()
	return t.RoundTripper.RoundTrip(req)
}

// ignored is a read of the subscriptions of accounts, from a store that ignores the filter.
type ignored struct {
	name     string
	call     string // List, All or by account
	begin    string // of the filters that are ignored; "" for all
	accounts []uuid.UUID
	pageSize int
	seen     int // records before the error
	requests int
}

func (r *ignored) read(ctx context.Context, s *accountStore) (subs []*commerce.Subscription, err error) {
	c := s.Client(commerce.WithHTTPClient(&http.Client{Transport: ignoresFilter{s.Transport(), r.begin}}))
	opts := &commerce.SubscriptionListOptions{PageSize: r.pageSize}
	if opts.ByAccount = r.call == "by account"; opts.ByAccount {
		isRead := func(id uuid.UUID) bool { return slices.Contains(r.accounts, id) }
		opts.Skip = slices.DeleteFunc(slices.Clone(s.accounts), isRead)
	} else {
		opts.Filter.AccountIDs = r.accounts
	}
	if r.call != "List" {
		return commerce.Collect(c.Subscriptions.All(ctx, opts))
	}
	page, err := c.Subscriptions.List(ctx, opts)
	if page != nil {
		for i := range page.Subscriptions {
			subs = append(subs, &page.Subscriptions[i])
		}
	}
	return subs, err
}

// A record of an account that was not asked for ends each read at once. The error names no account:
// none is the cause.
func TestSubscriptionFilter_ignored(t *testing.T) {
	t.Parallel()
	s := newAccountStore(t, 2, 3, 30, 5) // the list begins with those of the last account
	one, first, some, firstTwo := s.accounts[:1], s.accounts[3:], s.accounts[:3], s.accounts[2:]
	for _, tt := range []ignored{
		{name: "an account", call: "List", accounts: one, pageSize: 100, requests: 1},
		{name: "some accounts", call: "List", accounts: some, pageSize: 100, requests: 1},
		{name: "an account", call: "All", accounts: one, pageSize: 100, requests: 1},
		{name: "some accounts", call: "All", accounts: some, pageSize: 100, requests: 1},
		{name: "the first account", call: "All", accounts: first, pageSize: 5, seen: 5, requests: 2},
		{name: "the first accounts", call: "All", accounts: firstTwo, pageSize: 10, seen: 28, requests: 4},
		{name: "an account", call: "by account", accounts: one, pageSize: 100, requests: 2},
		{name: "some accounts", call: "by account", accounts: some, pageSize: 100, requests: 2},
		{name: "the first account", call: "by account", accounts: first, pageSize: 5, seen: 5, requests: 3},
		{name: "a list", call: "by account", begin: "in(", accounts: some, pageSize: 100, seen: 2, requests: 3},
	} {
		before := len(s.Requests())
		got, err := tt.read(t.Context(), s)
		e, ok := errors.AsType[*commerce.Error](err)
		if !ok || !errors.Is(err, commerce.ErrBadResponse) || e.Attempts != 1 {
			t.Fatalf("%s, %s: error %v, want ErrBadResponse after one attempt", tt.call, tt.name, err)
		}
		for _, want := range []string{"ignored the filter", "shopper's token"} {
			if !strings.Contains(err.Error(), want) {
				t.Errorf("%s, %s: error %q, want one with %q", tt.call, tt.name, err, want)
			}
		}
		if stop, ok := errors.AsType[*commerce.PagingError](err); ok && (stop.Account != uuid.Nil || stop.Seen != tt.seen) {
			t.Errorf("%s, %s: got error %+v, want no account, and %d records", tt.call, tt.name, stop, tt.seen)
		}
		foreign := func(sub *commerce.Subscription) bool { return !slices.Contains(tt.accounts, sub.Attributes.AccountID) }
		if len(got) != tt.seen || slices.ContainsFunc(got, foreign) {
			t.Errorf("%s, %s: got %d records, want %d, of the accounts", tt.call, tt.name, len(got), tt.seen)
		}
		if n := len(s.Requests()) - before; n != tt.requests {
			t.Errorf("%s, %s: got %d requests, want %d", tt.call, tt.name, n, tt.requests)
		}
	}
}

// A record without an account that can be read may belong to one that was asked for.
func TestSubscriptionFilter_withoutAccount(t *testing.T) {
	t.Parallel()
	s := newAccountStore(t, 3)
	for _, extra := range []commerce.Extra{nil, {"account_id": []byte(`"unreadable"`)}} {
		sub := commerce.Subscription{ID: uuid.New()}
		sub.Attributes.Extra = extra
		s.AddSubscription(sub)
	}
	for _, call := range []string{"List", "All", "by account"} {
		read := ignored{call: call, accounts: s.accounts, pageSize: 100}
		got, err := read.read(t.Context(), s)
		if err != nil || len(got) != 5 {
			t.Errorf("%s: got %d records, error %v, want 5", call, len(got), err)
		}
	}
}

// Lists of texts find exactly the subscriptions with one of them.
func FuzzSubscriptionFilter_lists(f *testing.F) {
	for _, text := range []string{
		"a", "a b", `"`, `\`, "a,b", "x)", "O'Brien", "a+b@example.com", "%22", "\x00\n", "\xff",
		"é", " a", strings.Repeat("é", 2000),
	} {
		f.Add(text, "b", "a")
		f.Add("order-1", text, text+"2")
	}
	f.Fuzz(func(t *testing.T, first, second, other string) {
		store := commercetest.New(t, commercetest.Config{})
		var want []uuid.UUID
		for i, text := range []string{first, second, other, first + second, first + "," + second, ""} {
			sub := commerce.Subscription{ID: numberedID(i)}
			sub.Attributes.ExternalRef = text
			store.AddSubscription(sub)
			if text == first || text == second {
				want = append(want, sub.ID)
			}
		}
		opts := &commerce.SubscriptionListOptions{}
		opts.Filter.ExternalRefs = []string{first, second}
		page, err := store.Client().Subscriptions.List(t.Context(), opts)
		if err != nil {
			isValid := first != "" && second != "" && utf8.ValidString(first) && utf8.ValidString(second)
			if isValid && len(url.QueryEscape(first+second)) < 2500 || invalidFields(err) == nil {
				t.Errorf("refused for no reason: %v", err)
			}
			return
		}
		var got []uuid.UUID
		for _, sub := range slices.Backward(page.Subscriptions) { // newest first
			got = append(got, sub.ID)
		}
		diff(t, "found", got, want)
	})
}

// valueOf returns a list of one text, and nil for none.
func valueOf(text string) []string {
	if text == "" {
		return nil
	}
	return []string{text}
}

var condition = regexp.MustCompile(`(?s)^eq\((\w+),"((?:[^"\\]|\\.)*)"\)(:|$)`)

// A filter that is sent says what it should to a parser that is not the library's.
func FuzzFilter(f *testing.F) {
	for _, text := range []string{
		"", "a", `"`, `\`, `\"`, `"):eq(email,"x`, "O'Brien, (x)", "a+b@example.com", "%22", "&page[limit]=1", "%%%%",
		"\x00\n", "\xff", "\uf863\xe1U", " <<", "\u07b3", ":\"2", strings.Repeat("é", 2000),
	} {
		f.Add([]byte("0123456789abcdef"), text, "", text)
		f.Add([]byte{}, "", text, "x")
	}
	f.Fuzz(func(t *testing.T, account []byte, name, email, ref string) {
		filter := commerce.SubscriptionFilter{Names: valueOf(name), Emails: valueOf(email), ExternalRefs: valueOf(ref)}
		want := map[string]string{"name": name, "email": email, "external_ref": ref}
		if id, err := uuid.FromBytes(account); err == nil && id != uuid.Nil {
			filter.AccountIDs, want["account_id"] = []uuid.UUID{id}, id.String()
		}
		maps.DeleteFunc(want, func(_, value string) bool { return value == "" })
		r := &recorder{respond: respond(200, emptyList)}
		c, opts := newClient(t, r), &commerce.SubscriptionListOptions{Filter: filter, PageSize: 7}
		if _, err := c.Subscriptions.List(t.Context(), opts); err != nil {
			r.checkRefused(t, err, email)
			text := name + email + ref
			isValid := slices.Equal([]string{name, email, ref}, []string{
				strings.ToValidUTF8(name, ""), strings.ToValidUTF8(email, ""), strings.ToValidUTF8(ref, ""),
			})
			if isValid && len(url.QueryEscape(text)) < 2500 {
				t.Errorf("refused for no reason: %v", err)
			}
			return
		}
		query := parseQuery(t, r.read(t).URL.RawQuery)
		if query.Get("page[limit]") != "7" || len(query["filter"]) > 1 || len(query) > 2 {
			t.Fatalf("query %v, want a page limit and a filter", query)
		}
		got := map[string]string{}
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
