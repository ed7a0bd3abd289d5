package main

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/commerce-go/commerce"
	"github.com/commerce-go/commerce/commercetest"
)

// lineOf is the line of a subscription, as encoding/json writes it in one go: what records share is
// encoded for each of them. subscriber is nil without --subscribers.
func lineOf(sub *commerce.Subscription, in *commerce.Included, subscriber *commercetest.Subscriber) (string, error) {
	plan, _ := in.PlanOf(sub)
	option, _ := in.PricingOptionOf(sub)
	object := map[string]any{"subscription": sub, "plan": plan, "pricing_option": option}
	if p, ok := in.PriceOf(sub); ok {
		object["price_amount"], object["price_includes_tax"] = p.Amount, p.IncludesTax
	}
	if subscriber != nil {
		object["subscriber_email"] = subscriber.Email
	}
	var line bytes.Buffer
	e := json.NewEncoder(&line)
	e.SetEscapeHTML(false)
	err := e.Encode(object)
	return line.String(), err
}

// printed returns what a printer of JSON lines writes of pages.
func printed(t *testing.T, pages iter.Seq[*commerce.SubscriptionPage]) (string, error) {
	t.Helper()
	var out bytes.Buffer
	x := &selection{}
	p := x.newPrinter(&out, "jsonl")
	for page := range pages {
		records, err := x.records(t.Context(), nil, page)
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range records {
			p.print(r)
		}
	}
	err := p.flush()
	return out.String(), err
}

// diffText reports where a long text differs.
func diffText(t *testing.T, what, got, want string) {
	t.Helper()
	if got == want {
		return
	}
	at := 0
	for at < min(len(got), len(want)) && got[at] == want[at] {
		at++
	}
	around := func(s string) string { return s[max(0, at-60):min(at+60, len(s))] }
	t.Errorf("%s: got %q at byte %d of %d, want %q", what, around(got), at, len(got), around(want))
}

// ids of what the pages of TestRecords hold.
var plan1, plan2, option1 = uuid.UUID{1}, uuid.UUID{2}, uuid.UUID{3}

func newSubscription(plan, option uuid.UUID) commerce.Subscription {
	sub := commerce.Subscription{ID: uuid.New(), Type: "subscription"}
	sub.Attributes.PlanID, sub.Attributes.PricingOptionID = plan, option
	return sub
}

func newPlan(id uuid.UUID, name string) commerce.Plan {
	return commerce.Plan{ID: id, Attributes: commerce.PlanAttributes{Name: name}}
}

func newOption(id uuid.UUID, name string) commerce.PricingOption {
	return commerce.PricingOption{ID: id, Attributes: commerce.PricingOptionAttributes{Name: name}}
}

// samples are pages of a walk.
func samples() map[string][]commerce.SubscriptionPage {
	subs := func(list ...commerce.Subscription) []commerce.Subscription { return list }
	both := subs(newSubscription(plan1, option1), newSubscription(plan2, option1), newSubscription(plan1, option1))
	odd := newPlan(plan1, "<&>\"\\/\b\f\r\n\t\x00\x1f\x7f\xff é東 😀")
	odd.Extra = commerce.Extra{"x": json.RawMessage(` {"b" : [ 1.50 , 1E9, "\u0041\/<\ud83d\ude00" ] , "a":null}`)}
	related := newSubscription(uuid.Nil, uuid.Nil)
	related.Relationships = commerce.Relationships{{Name: "plans"}}
	related.Relationships[0].Data.Refs = []commerce.ResourceRef{{ID: plan2, Type: "plan"}}
	return map[string][]commerce.SubscriptionPage{
		"nothing":          {{}},
		"without included": {{Subscriptions: both}},
		"several": {{Subscriptions: both, Included: commerce.Included{
			Plans:          []commerce.Plan{newPlan(plan2, "two"), newPlan(plan1, "one")},
			PricingOptions: []commerce.PricingOption{newOption(option1, "x"), newOption(plan2, "y")},
		}}},
		"a plan is missing": {{Subscriptions: both, Included: commerce.Included{
			Plans: []commerce.Plan{newPlan(plan2, "two")},
		}}},
		"two plans of an id": {{Subscriptions: both, Included: commerce.Included{
			Plans: []commerce.Plan{newPlan(plan1, "first"), newPlan(plan1, "second")},
		}}},
		"other plans of the ids on the next page": {
			{Subscriptions: both, Included: commerce.Included{
				Plans:          []commerce.Plan{newPlan(plan1, "before"), newPlan(plan2, "two")},
				PricingOptions: []commerce.PricingOption{newOption(option1, "x")},
			}},
			{Subscriptions: both, Included: commerce.Included{
				Plans:          []commerce.Plan{newPlan(plan2, "two"), newPlan(plan1, "after")},
				PricingOptions: []commerce.PricingOption{newOption(option1, "y")},
			}},
			{Subscriptions: both},
		},
		"an id for both": {{
			Subscriptions: subs(newSubscription(plan1, plan1), newSubscription(plan1, plan1)),
			Included: commerce.Included{
				Plans:          []commerce.Plan{newPlan(plan1, "plan")},
				PricingOptions: []commerce.PricingOption{newOption(plan1, "option")},
			},
		}},
		"by relationship": {{Subscriptions: subs(related, related), Included: commerce.Included{
			Plans: []commerce.Plan{newPlan(uuid.Nil, "none"), newPlan(plan2, "two")},
		}}},
		"odd texts": {{Subscriptions: both, Included: commerce.Included{Plans: []commerce.Plan{odd}}}},
	}
}

// A resource that several records have is encoded once a page, and the lines are those of records
// that are encoded one by one.
func TestRecords(t *testing.T) {
	t.Parallel()
	for name, pages := range samples() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			want := ""
			for _, page := range pages {
				for _, sub := range page.Subscriptions {
					line, err := lineOf(&sub, &page.Included, nil)
					if err != nil {
						t.Fatal(err)
					}
					want += line
				}
			}
			got, err := printed(t, func(yield func(*commerce.SubscriptionPage) bool) {
				var page commerce.SubscriptionPage // a page may be where the one before was
				for _, next := range pages {
					page.Subscriptions = next.Subscriptions
					page.Included.Plans = append(page.Included.Plans[:0], next.Included.Plans...)
					page.Included.PricingOptions = append(page.Included.PricingOptions[:0], next.Included.PricingOptions...)
					yield(&page)
				}
			})
			if err != nil {
				t.Fatal(err)
			}
			diffText(t, name, got, want)
		})
	}
}

// Encoders do not agree on some characters, so this is what the tool has always written.
func TestRecords_separators(t *testing.T) {
	t.Parallel()
	page := commerce.SubscriptionPage{
		Subscriptions: []commerce.Subscription{{Attributes: commerce.SubscriptionAttributes{PlanID: plan1}}},
		Included:      commerce.Included{Plans: []commerce.Plan{newPlan(plan1, "a\u2028b")}},
	}
	got, err := printed(t, func(yield func(*commerce.SubscriptionPage) bool) { yield(&page) })
	id := `"01000000-0000-0000-0000-000000000000"`
	want := `{"plan":{"id":` + id + `,"attributes":{"name":"a` + "\u2028" + `b"}},"pricing_option":null,` +
		`"subscription":{"attributes":{"plan_id":` + id + "}}}\n"
	if got != want || err != nil {
		t.Errorf("got %q and %v, want %q", got, err, want)
	}
}

// What cannot be encoded is an error, and leaves nothing in the list, not even a part. What can be
// encoded is there.
func TestRecords_errors(t *testing.T) {
	t.Parallel()
	bad := newPlan(plan1, "bad")
	bad.Extra = commerce.Extra{"id": json.RawMessage("1")}
	worse := newSubscription(plan2, option1)
	worse.Extra = commerce.Extra{"x": json.RawMessage("{")}
	page := commerce.SubscriptionPage{Subscriptions: []commerce.Subscription{
		newSubscription(plan1, option1), newSubscription(plan2, option1), newSubscription(plan1, option1), worse,
		newSubscription(plan2, option1),
	}}
	page.Included = commerce.Included{
		Plans:          []commerce.Plan{newPlan(plan2, strings.Repeat("longer than a buffer", 10_000)), bad},
		PricingOptions: []commerce.PricingOption{newOption(option1, "x")},
	}
	want, failed := "", 0
	for _, sub := range page.Subscriptions {
		line, err := lineOf(&sub, &page.Included, nil)
		if want += line; err != nil {
			failed++
		}
	}
	got, err := printed(t, func(yield func(*commerce.SubscriptionPage) bool) { yield(&page) })
	if err == nil || failed != 3 {
		t.Errorf("got %v and %d records that cannot be encoded, want an error and 3", err, failed)
	}
	diffText(t, "errors", got, want)
}

// A resource is encoded once: the second text is the first one.
func TestEncodings(t *testing.T) {
	t.Parallel()
	in := &commerce.Included{
		Plans: []commerce.Plan{newPlan(plan1, "one")}, PricingOptions: []commerce.PricingOption{newOption(plan1, "x")},
	}
	list := encodings(in)
	for _, shared := range []any{&in.Plans[0], &in.PricingOptions[0]} {
		first, err1 := list[shared]()
		second, err2 := list[shared]()
		want, _ := json.Marshal(shared)
		if err1 != nil || err2 != nil || &first[0] != &second[0] || string(first) != string(want) {
			t.Errorf("got %s and %s, want %s, once", first, second, want)
		}
	}
}

// All commands and flags that print subscriptions as JSON, of both payload generations.
func TestRecords_commands(t *testing.T) {
	t.Parallel()
	commercetest.EachGeneration(t, commercetest.Config{}, func(t *testing.T, s *commercetest.Store) {
		t.Parallel()
		s.Seed(110)
		without := newSubscription(plan1, uuid.Nil) // no resource has this id
		without.Attributes.AccountID = uuid.New()
		s.AddAccount(without.Attributes.AccountID)
		s.AddSubscription(without)
		s.SetSubscriber(without.Attributes.AccountID, commercetest.Subscriber{Email: "<a&b>@example.com"})
		include := commerce.SubscriptionInclude{All: true}
		var lines, withEmail []string
		opts := &commerce.SubscriptionListOptions{Include: include}
		for page, err := range s.Client().Subscriptions.Pages(t.Context(), opts) {
			if err != nil {
				t.Fatal(err)
			}
			for _, sub := range page.Subscriptions {
				who, _ := s.SubscriberOf(sub.Attributes.AccountID)
				line, err1 := lineOf(&sub, &page.Included, nil)
				long, err2 := lineOf(&sub, &page.Included, &who)
				if err := errors.Join(err1, err2); err != nil {
					t.Fatal(err)
				}
				lines, withEmail = append(lines, line), append(withEmail, long)
			}
		}
		result, err := s.Client().Subscriptions.Get(t.Context(), without.ID, include)
		if err != nil {
			t.Fatal(err)
		}
		one, _ := lineOf(&result.Subscription, &result.Included, nil)
		c := caller{env: storeEnv(s)}
		for args, want := range map[string]string{
			"subscriptions list -o jsonl":                      strings.Join(lines, ""),
			"subscriptions list -o json --subscribers":         "[\n" + strings.Join(withEmail, ",") + "]\n",
			"subscriptions export - -o jsonl":                  sorted(strings.Join(lines, "")),
			"subscriptions export - -o jsonl --subscribers":    sorted(strings.Join(withEmail, "")),
			"subscriptions get -o json " + without.ID.String(): one,
		} {
			got := c.run(t, strings.Fields(args)...)
			if strings.Contains(args, "export") { // in the order of the accounts
				got.stdout = sorted(got.stdout)
			}
			diffText(t, args, got.stdout, want)
		}
	})
}

// sorted returns the lines of a text in their order.
func sorted(text string) string {
	return strings.Join(slices.Sorted(strings.Lines(text)), "")
}

// A state that is not known is refused, before a file is replaced. Both spellings are known.
func TestSelection_states(t *testing.T) {
	t.Parallel()
	s := commercetest.New(t, commercetest.Config{})
	s.Seed(50)
	odd := newSubscription(plan1, uuid.Nil)
	odd.Attributes.AccountID, odd.Meta.Status = uuid.New(), "Frozen"
	s.AddSubscription(odd)
	counts := map[string]int{}
	for sub := range s.Subscriptions() {
		counts[state(&sub.Meta)]++
	}
	if counts["canceled"] == 0 || counts["active"] == 0 {
		t.Fatalf("got %v, want canceled and active ones", counts)
	}
	for text, want := range map[string]int{
		"canceled": counts["canceled"], "cancelled": counts["canceled"], "CANCELLED": counts["canceled"],
		"Active": counts["active"], "status:frozen": 1, "status:FROZEN": 1, "status:x": 0,
		"frozen": -1, "activ": -1, "cancel": -1, "": 51,
	} {
		c, path := caller{env: storeEnv(s)}, filepath.Join(t.TempDir(), "subs.csv")
		if err := os.WriteFile(path, []byte("yesterday"), 0o600); err != nil {
			t.Fatal(err)
		}
		list := c.run(t, "subscriptions", "list", "-o", "csv", "--no-header", "--state", text)
		export := c.run(t, "subscriptions", "export", path, "--no-header", "--state", text)
		file, _ := os.ReadFile(path)
		if want < 0 {
			isSaid := strings.Contains(list.stderr, "the states are active, ") && string(file) == "yesterday"
			if list.code != exitUsage || export.code != exitUsage || !isSaid {
				t.Errorf("%q: got %+v and %+v, want exit code %d and the states", text, list, export, exitUsage)
			}
			continue
		}
		if n := strings.Count(list.stdout, "\n"); n != want || bytes.Count(file, []byte("\n")) != want {
			t.Errorf("%q: got %d and %d lines, want %d", text, n, bytes.Count(file, []byte("\n")), want)
		}
		if isSaid := strings.Contains(list.stderr, "no subscription matches"); isSaid != (want == 0) {
			t.Errorf("%q: got %q", text, list.stderr)
		}
	}
}

// All addresses of an account are in its cell, sorted, however many pages they fill. Without a list
// nobody knows them.
func TestSubscribers(t *testing.T) {
	t.Parallel()
	s := commercetest.New(t, commercetest.Config{})
	s.Seed(600) // 200 accounts
	want := map[string]string{}
	n := 0
	for sub := range s.Subscriptions() {
		account := sub.Attributes.AccountID
		if _, ok := want[account.String()]; ok {
			continue
		}
		who, _ := s.SubscriberOf(account)
		first := fmt.Sprintf("a-%03d@example.com", n)
		s.AddSubscriber(account, commercetest.Subscriber{Email: first})
		s.AddSubscriber(account, commercetest.Subscriber{Email: first})
		want[account.String()] = first + ", " + who.Email
		n++
	}
	c := caller{env: storeEnv(s)}
	args := strings.Fields("subscriptions list -o csv --no-header --columns account_id,subscriber_email --subscribers")
	got := c.run(t, args...)
	rows, err := csv.NewReader(strings.NewReader(got.stdout)).ReadAll()
	if err != nil || len(rows) != 600 || got.code != 0 {
		t.Fatalf("got %d rows, %v and %d, want 600", len(rows), err, got.code)
	}
	for _, row := range rows {
		if row[1] != want[row[0]] {
			t.Fatalf("account %s: got %q, want %q", row[0], row[1], want[row[0]])
		}
	}
	for body, code := range map[string]int{
		`{"data": []}`: 0, `{}`: exitFailed, `{"data": {}}`: exitFailed, `{"data": [{"attributes": {}}]}`: exitFailed,
	} {
		s.ClearFaults()
		s.Inject(commercetest.Fault{Operation: commercetest.OpSubscribers, Status: 200, Body: body, Times: -1})
		got := c.run(t, args...)
		isSaid := strings.Contains(got.stderr, "600 subscriptions without the address of a subscriber")
		if got.code != code || isSaid != (code == 0) {
			t.Errorf("%s: got %d and %s, want exit code %d", body, got.code, got.stderr, code)
		}
	}
}

// --raw and --bom are for programs that join on a cell, and for Excel on Windows.
func TestSelection_csv(t *testing.T) {
	t.Parallel()
	s := commercetest.New(t, commercetest.Config{})
	sub := newSubscription(plan1, uuid.Nil)
	sub.Attributes.AccountID, sub.Attributes.ExternalRef = uuid.New(), "=order-1"
	sub.Meta.PausedBy = "dunning"
	s.AddSubscription(sub)
	path := filepath.Join(t.TempDir(), "subs.csv")
	for flags, want := range map[string]string{
		"":                  "external_ref,paused_by\n'=order-1,dunning\n",
		"--raw":             "external_ref,paused_by\n=order-1,dunning\n",
		"--bom":             "\uFEFFexternal_ref,paused_by\n'=order-1,dunning\n",
		"--bom --raw":       "\uFEFFexternal_ref,paused_by\n=order-1,dunning\n",
		"--bom --no-header": "\uFEFF'=order-1,dunning\n",
	} {
		more := append(strings.Fields(flags), "--columns", "external_ref,paused_by")
		c := caller{env: storeEnv(s)}
		list := c.run(t, append([]string{"subscriptions", "list", "-o", "csv"}, more...)...)
		export := c.run(t, append([]string{"subscriptions", "export", path}, more...)...)
		file, _ := os.ReadFile(path)
		if list.stdout != want || string(file) != want || export.code != 0 {
			t.Errorf("%s: got %q and %q, want %q", flags, list.stdout, file, want)
		}
	}
	got := caller{env: storeEnv(s)}.run(t, "subscriptions", "list", "-o", "jsonl", "--raw")
	if got.code != exitUsage {
		t.Errorf("--raw without CSV: got %+v, want exit code %d", got, exitUsage)
	}
}
