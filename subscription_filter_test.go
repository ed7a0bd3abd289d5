package commerce_test

import (
	"maps"
	"net/url"
	"regexp"
	"slices"
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
			name:   "one value of each field",
			filter: commerce.SubscriptionFilter{AccountID: a, Name: "n", Email: "e", ExternalRef: "r"},
			want:   `eq(account_id,"` + a.String() + `"):eq(name,"n"):eq(email,"e"):eq(external_ref,"r")`,
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
			name:   "a list of one",
			filter: commerce.SubscriptionFilter{AccountIDs: []uuid.UUID{a}, Names: []string{"n"}},
			want:   `eq(account_id,"` + a.String() + `"):eq(name,"n")`,
		},
		{
			name:   "some of a list in quotes",
			filter: commerce.SubscriptionFilter{Names: []string{"aZ09-_.@", "a b", `"\`, "a,b)", "é", "+", "*"}},
			want:   `in(name,aZ09-_.@,"a b","\"\\","a,b)","é","+","*")`,
		},
		{
			name:   "characters of the grammar and of URLs",
			filter: commerce.SubscriptionFilter{Name: ` a"b\c,(d):'e'&f=g#h%20é+`},
			want:   `eq(name," a\"b\\c,(d):'e'&f=g#h%20é+")`,
		},
		{
			name: "injection", filter: commerce.SubscriptionFilter{Email: `x"):eq(name,"y`},
			want: `eq(email,"x\"):eq(name,\"y")`,
		},
		{
			name: "injection into a list", filter: commerce.SubscriptionFilter{Emails: []string{"z", `x"):eq(name,"y`}},
			want: `in(email,z,"x\"):eq(name,\"y")`,
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

func TestSubscriptionFilter_validation(t *testing.T) {
	t.Parallel()
	a := numberedID(1)
	all := []string{"filter.account_id", "filter.name", "filter.email", "filter.external_ref"}
	longest := strings.Repeat("a", 8<<10-len(url.QueryEscape(`eq(email,"")`)))
	longestOfList := strings.Repeat("a", 8<<10-len(url.QueryEscape(`in(name,n,)`)))
	for _, tt := range []struct {
		name   string
		filter commerce.SubscriptionFilter
		want   []string // fields
	}{
		{
			name: "empty lists", want: all,
			filter: commerce.SubscriptionFilter{
				AccountIDs: []uuid.UUID{}, Names: []string{}, Emails: []string{}, ExternalRefs: []string{},
			},
		},
		{
			name: "zero values in lists", want: all,
			filter: commerce.SubscriptionFilter{
				AccountIDs: []uuid.UUID{a, uuid.Nil}, Names: []string{""},
				Emails: []string{"", "e"}, ExternalRefs: []string{"r", ""},
			},
		},
		{
			name: "one and several", want: all,
			filter: commerce.SubscriptionFilter{
				AccountID: a, AccountIDs: []uuid.UUID{a}, Name: "n", Names: []string{"n"},
				Email: "e", Emails: []string{"e"}, ExternalRef: "r", ExternalRefs: []string{"r"},
			},
		},
		{
			name:   "invalid UTF-8",
			filter: commerce.SubscriptionFilter{Name: "\xff", Email: "\xff", ExternalRefs: []string{"r", "\xff"}},
			want:   []string{"filter.name", "filter.email", "filter.external_ref"},
		},
		{name: "longest", filter: commerce.SubscriptionFilter{Email: longest}},
		{name: "too long", filter: commerce.SubscriptionFilter{Email: longest + "a"}, want: []string{"filter"}},
		{
			name: "too long as a space takes three bytes", want: []string{"filter"},
			filter: commerce.SubscriptionFilter{Email: strings.Repeat("a ", 2100)},
		},
		{name: "longest list", filter: commerce.SubscriptionFilter{Names: []string{"n", longestOfList}}},
		{
			name: "list too long", filter: commerce.SubscriptionFilter{Names: []string{"n", longestOfList + "a"}},
			want: []string{"filter"},
		},
	} {
		r := &recorder{respond: respond(200, emptyList)}
		_, err := newClient(t, r).Subscriptions.List(t.Context(), &commerce.SubscriptionListOptions{Filter: tt.filter})
		diff(t, "invalid fields: "+tt.name, invalidFields(err), tt.want)
		if len(tt.want) > 0 {
			r.checkRefused(t, err, "")
		} else if err != nil {
			t.Errorf("%s: %v", tt.name, err)
		}
	}
}

// A walk uses the lists as they were when it was made.
func TestSubscriptionFilter_isCopied(t *testing.T) {
	t.Parallel()
	s := newStub(t, respond(200, emptyList), respond(200, emptyList))
	ids, texts := []uuid.UUID{numberedID(1), numberedID(2)}, []string{"a", "b"}
	opts := &commerce.SubscriptionListOptions{Filter: commerce.SubscriptionFilter{
		AccountIDs: ids, Names: texts, Emails: texts, ExternalRefs: texts,
	}}
	walk := s.client(t).Subscriptions.All(t.Context(), opts)
	for range 2 {
		if _, err := commerce.Collect(walk); err != nil {
			t.Fatal(err)
		}
		ids[0], texts[0], opts.Filter = numberedID(3), "c", commerce.SubscriptionFilter{}
	}
	diff(t, "filter of the second walk", s.sent()[1].RawQuery, s.sent()[0].RawQuery)
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
			if isValid && len(url.QueryEscape(first+second)) < 4000 || invalidFields(err) == nil {
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
		filter := commerce.SubscriptionFilter{Name: name, Email: email, ExternalRef: ref}
		copy(filter.AccountID[:], account)
		want := map[string]string{"name": name, "email": email, "external_ref": ref, "account_id": filter.AccountID.String()}
		if filter.AccountID == uuid.Nil {
			want["account_id"] = ""
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
			if isValid && len(url.QueryEscape(text)) < 4000 {
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
