package main

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/url"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/commerce-go/commerce"
	"github.com/commerce-go/commerce/commercetest"
)

func TestSafe(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct{ text, want string }{
		"plain text":         {text: "order-1", want: "order-1"},
		"nothing":            {text: "", want: ""},
		"equals sign":        {text: "=1+1", want: "'=1+1"},
		"plus sign":          {text: "+1", want: "'+1"},
		"minus sign":         {text: "-1+1", want: "'-1+1"},
		"at sign":            {text: "@SUM(A1)", want: "'@SUM(A1)"},
		"tab":                {text: "\t1", want: "'\t1"},
		"carriage return":    {text: "\r1", want: "'\r1"},
		"space before":       {text: " =1", want: "' =1"},
		"invisible before":   {text: "\u200b=1", want: "'\u200b=1"},
		"full-width equals":  {text: "＝1", want: "'＝1"},
		"apostrophe":         {text: "'x", want: "''x"},
		"number":             {text: "-1000", want: "-1000"},
		"after a semicolon":  {text: "x;=cmd; y;", want: "x;'=cmd; y;"},
		"after a tab":        {text: "x\t @cmd", want: "x\t' @cmd"},
		"after a line break": {text: "x\r\n+1\n-1", want: "x\r\n'+1\n'-1"},
		"number with places": {text: "-0.5", want: "-0.5"},
		"letter first":       {text: "x=1+1", want: "x=1+1"},
		"empty first cell":   {text: ";=1", want: ";'=1"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := safe(row.text); got != row.want {
				t.Errorf("safe(%q): got %q, want %q", row.text, got, row.want)
			}
		})
	}
}

// The short way of safe changes no result: for all texts of up to three of these characters, which
// formula tells apart, for each byte as the first one, and for longer texts by chance.
func TestSafe_allTexts(t *testing.T) {
	t.Parallel()
	characters := []string{
		"a", "Z", "0", "é", "٣", "\u0301", "-", "=", "'", "＋", ";", "\t", "\r", "\n",
		" ", "\u00a0", "\u200b", "\x00", "\xff",
	}
	var check func(s string, more int)
	check = func(s string, more int) {
		if got, want := safe(s), withApostrophes(s); got != want {
			t.Fatalf("safe(%q): got %q, want %q", s, got, want)
		}
		for _, c := range characters {
			if more > 0 {
				check(s+c, more-1)
			}
		}
	}
	check("", 3)
	for first := range 256 {
		check(string([]byte{byte(first)}), 1)
	}
	random := rand.New(rand.NewPCG(1, 2))
	for range 5_000 {
		s := ""
		for range random.IntN(30) {
			s += characters[random.IntN(len(characters))]
		}
		check(s, 0)
	}
}

func TestLine(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		texts []string
		want  string
	}{
		"padded":               {texts: []string{"a", "b", "c"}, want: "a     b     c\n"},
		"exact":                {texts: []string{"abcd", "b"}, want: "abcd  b\n"},
		"cut":                  {texts: []string{"abcde", "b"}, want: "abc…  b\n"},
		"wide characters":      {texts: []string{"東京", "b"}, want: "東京  b\n"},
		"wide characters, cut": {texts: []string{"東京都", "b"}, want: "東…   b\n"},
		"no space at the end":  {texts: []string{"a", "", ""}, want: "a\n"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := columns([]int{4, 4, 4}, row.texts...).line(80); got != row.want {
				t.Errorf("columns(%q): got %q, want %q", row.texts, got, row.want)
			}
		})
	}
}

// Tables fit the terminal: on a narrow one lines are cut, on a wide one columns are wider. What to
// do is never cut, as it may be a command.
func TestPrinter_width(t *testing.T) {
	t.Parallel()
	for _, width := range []int{60, 80, 200} {
		for _, args := range [][]string{
			{"subscriptions", "list", "--limit", "50"}, {"discounts", "show", "demo"}, {"doctor", "--cart", "demo"},
			{"subscriptions", "get", "57299b58-10d4-80b4-b91e-00a631f1e25d"},
		} {
			got := caller{width: width}.run(t, append(args, "--demo")...)
			longest := 0
			for line := range strings.Lines(got.stdout) {
				longest = max(longest, len([]rune(strings.TrimSuffix(line, "\n"))))
			}
			if longest > width || width == 200 && args[1] == "list" && longest <= 80 {
				t.Errorf("%v: the longest line has %d columns of %d", args, longest, width)
			}
		}
	}
}

func TestPlain(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{"a\x1b[31mb\n": "a [31mb", "": "-", " \t": "-", "Zoë": "Zoë"} {
		if got := plain(text); got != want {
			t.Errorf("plain(%q): got %q, want %q", text, got, want)
		}
	}
}

// What a store sends cannot control a terminal, in any format. A program gets it as it is.
func TestPrinter_terminal(t *testing.T) {
	t.Parallel()
	const evil = "a\x1b]0;b\u009b31mc\u202ed"
	s := commercetest.New(t, commercetest.Config{DiscountsEnabled: true})
	cart := s.AddCart(commerce.CartItemRef{})
	add(s, cart, "e", evil)
	for _, format := range formats {
		args := []string{"discounts", "show", cart, "-o", format}
		shown := caller{env: storeEnv(s), terminal: true}.run(t, args...)
		text := strings.ReplaceAll(strings.ReplaceAll(shown.stdout, "\x1b[1m", ""), "\x1b[0m", "") // of the head
		if strings.ContainsAny(text, "\x1b\u009b\u202e") || !strings.Contains(text, "31mc") {
			t.Errorf("%s: got %q, want no character that is not printable", format, text)
		}
		piped := caller{env: storeEnv(s)}.run(t, args...)
		if format != "table" && !strings.Contains(strings.ReplaceAll(piped.stdout, `\u001b`, "\x1b"), evil) {
			t.Errorf("%s: got %q in a pipe, want %q", format, piped.stdout, evil)
		}
	}
}

// All formats of a list, of both payload generations, full and empty.
func TestPrinter_formats(t *testing.T) {
	t.Parallel()
	commercetest.EachGeneration(t, commercetest.Config{}, func(t *testing.T, s *commercetest.Store) {
		t.Parallel()
		s.Seed(250)
		c := caller{env: storeEnv(s)}
		var list []struct {
			Subscription  commerce.Subscription
			Plan          *commerce.Plan
			PricingOption *commerce.PricingOption `json:"pricing_option"`
		}
		got := c.run(t, "subscriptions", "list", "-o", "json")
		if err := json.Unmarshal([]byte(got.stdout), &list); err != nil || len(list) != 250 {
			t.Fatalf("json: got %d records and %v, want 250", len(list), err)
		}
		for _, r := range list {
			if r.Plan == nil || r.Plan.ID != r.Subscription.Attributes.PlanID {
				t.Errorf("got the plan %v, want %v", r.Plan, r.Subscription.Attributes.PlanID)
			}
			if (r.PricingOption != nil) != (s.Config().Generation == commercetest.SecondGeneration) {
				t.Errorf("got the pricing option %v in the %v generation", r.PricingOption, s.Config().Generation)
			}
		}
		got = c.run(t, "subscriptions", "list", "-o", "jsonl")
		if lines := bytes.Count([]byte(got.stdout), []byte("\n")); lines != 250 {
			t.Errorf("jsonl: got %d lines, want 250", lines)
		}
		got = c.run(t, "subscriptions", "list", "-o", "csv")
		if rows, err := csv.NewReader(bytes.NewBufferString(got.stdout)).ReadAll(); err != nil || len(rows) != 251 {
			t.Errorf("csv: got %d rows and %v, want 251", len(rows), err)
		}
		for format, want := range map[string]string{"json": "[\n]\n", "jsonl": ""} {
			got := c.run(t, "subscriptions", "list", "--email", "nobody@example.com", "-o", format)
			if got.stdout != want || got.code != 0 {
				t.Errorf("%s of no record: got %+v, want %q", format, got, want)
			}
		}
		none := c.run(t, "subscriptions", "list", "--email", "nobody@example.com", "-o", "csv")
		if rows, err := csv.NewReader(bytes.NewBufferString(none.stdout)).ReadAll(); err != nil || len(rows) != 1 {
			t.Errorf("csv of no record: got %q and %v, want the columns", none.stdout, err)
		}
	})
}

// A list that ends early is not valid JSON, and the exit code is not 0.
func TestPrinter_partOfList(t *testing.T) {
	t.Parallel()
	s := commercetest.New(t, commercetest.Config{})
	s.Seed(250)
	s.Inject(commercetest.Fault{Operation: commercetest.OpList, After: 1, Status: 403, Times: -1})
	got := caller{env: storeEnv(s)}.run(t, "subscriptions", "list", "-o", "json")
	if got.code != exitUnfinished || got.stdout == "" || json.Valid([]byte(got.stdout)) {
		t.Errorf("got exit code %d and %d bytes, want %d and a list that is not valid",
			got.code, len(got.stdout), exitUnfinished)
	}
}

// A store that returns its first page again, as if it was the last one, gets no list or file that
// looks complete.
func TestList_oldPage(t *testing.T) {
	t.Parallel()
	s := commercetest.New(t, commercetest.Config{})
	account := uuid.New()
	s.AddAccount(account)
	for range 150 {
		sub := commerce.Subscription{ID: uuid.New()}
		sub.Attributes.AccountID = account
		s.AddSubscription(sub)
	}
	var records []string
	for sub := range s.Subscriptions() {
		records = append(records, fmt.Sprintf(`{"id":"%s","attributes":{"account_id":"%s"}}`, sub.ID, account))
	}
	s.Inject(commercetest.Fault{
		Operation: commercetest.OpList, Times: -1, Status: 200,
		Body: `{"data":[` + strings.Join(records[:51], ",") + `],"links":{"next":null}}`,
		Match: func(in commercetest.Request) bool {
			query, _ := url.ParseQuery(in.RawQuery)
			return query.Has("page[offset]") && query.Get("page[offset]") != "0"
		},
	})
	path := filepath.Join(t.TempDir(), "subs.jsonl")
	list, export := []string{"subscriptions", "list"}, []string{"subscriptions", "export", path}
	if got := (caller{env: storeEnv(s)}).run(t, list...); got.code != exitUnfinished {
		t.Errorf("%v: exit code %d, %s, want %d", list, got.code, got.stderr, exitUnfinished)
	}
	if got := (caller{env: storeEnv(s)}).run(t, export...); got.code != exitUnfinished {
		t.Errorf("%v: exit code %d, %s, want %d", export, got.code, got.stderr, exitUnfinished)
	}
}

func TestList_filters(t *testing.T) {
	t.Parallel()
	s := commercetest.New(t, commercetest.Config{})
	s.Seed(60)
	var account uuid.UUID
	for sub := range s.Subscriptions() {
		account = sub.Attributes.AccountID
	}
	who, _ := s.SubscriberOf(account)
	for name, row := range map[string]struct {
		args []string
		want int
	}{
		"all":          {want: 60},
		"limit":        {args: []string{"--limit", "7"}, want: 7},
		"email":        {args: []string{"--email", who.Email}, want: 3},
		"two emails":   {args: []string{"--email", who.Email, "--email", "subscriber-0009@example.com"}, want: 6},
		"account":      {args: []string{"--account", account.String()}, want: 3},
		"external ref": {args: []string{"--external-ref", "order-000003", "--external-ref", "order-000004"}, want: 2},
		"both apply":   {args: []string{"--email", who.Email, "--external-ref", "order-000003"}, want: 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			args := append([]string{"subscriptions", "list", "-o", "jsonl"}, row.args...)
			got := caller{env: storeEnv(s)}.run(t, args...)
			if n := bytes.Count([]byte(got.stdout), []byte("\n")); n != row.want || got.code != 0 {
				t.Errorf("%v: got %d records, %+v, want %d", row.args, n, got.stderr, row.want)
			}
		})
	}
}
