package main

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/commerce-go/commerce"
	"github.com/commerce-go/commerce/commercetest"
)

// stateOf returns the states of the subscriptions of an account.
func stateOf(s *commercetest.Store, account uuid.UUID) string {
	return statesOf(s, func(other uuid.UUID) bool { return other == account })
}

func statesOf(s *commercetest.Store, isMeant func(account uuid.UUID) bool) string {
	var list []string
	for sub := range s.Subscriptions() {
		if isMeant(sub.Attributes.AccountID) {
			list = append(list, state(&sub.Meta))
		}
	}
	return strings.Join(list, " ")
}

// newShop returns a store with an account that has six active subscriptions, and others.
func newShop(t *testing.T) (s *commercetest.Store, account uuid.UUID, ids []string) {
	t.Helper()
	s = commercetest.New(t, commercetest.Config{})
	s.Seed(30)
	account = uuid.New()
	for range 6 {
		ids = append(ids, addActive(s, account))
	}
	return s, account, ids
}

// An id with a sign too many at both ends is not taken for another one.
func TestParseUUID(t *testing.T) {
	t.Parallel()
	id := "x" + uuid.NewString() + "9"
	for _, args := range []string{
		"subscriptions get " + id, "subscriptions pause " + id, "subscriptions list --account " + id,
		"subscriptions pause --account " + id, "discounts remove demo --id " + id,
		"discounts add demo --amount -1 --engine e --external-id 1 --code c --description d --item " + id,
	} {
		got := caller{}.run(t, append(strings.Fields(args), "--demo")...)
		if got.code != exitUsage || strings.Contains(got.stderr, "needs --yes") {
			t.Errorf("%s: got %+v, want exit code %d", args, got, exitUsage)
		}
	}
}

// addActive adds an active subscription of an account, and returns its id.
func addActive(s *commercetest.Store, account uuid.UUID) string {
	sub := commerce.Subscription{ID: uuid.New(), Type: "subscription"}
	sub.Attributes.AccountID = account
	sub.Meta.Status = "active"
	s.AddSubscription(sub)
	return sub.ID.String()
}

// All subscriptions of an account are canceled, also if half of the responses are lost. Nothing of
// another account changes, and a second run finds nothing to do.
func TestStates(t *testing.T) {
	t.Parallel()
	s, account, ids := newShop(t)
	isOther := func(other uuid.UUID) bool { return other != account }
	others := statesOf(s, isOther)
	c := caller{env: storeEnv(s)}
	of := func(verb string, flags ...string) []string {
		return append([]string{"subscriptions", verb, "--account", account.String()}, flags...)
	}
	got := c.run(t, of("cancel", "--dry-run")...)
	if got.code != 0 || strings.Count(got.stdout, "\n") != 2+2*6 || strings.Contains(stateOf(s, account), "canceled") {
		t.Errorf("dry run: got %+v, want six subscriptions and no change", got)
	}
	if got := c.run(t, of("cancel")...); got.code != exitUsage || strings.Contains(stateOf(s, account), "canceled") {
		t.Errorf("without a terminal: got %+v, want exit code %d and no change", got, exitUsage)
	}
	lost := commercetest.Fault{Operation: commercetest.OpChangeState, Cut: true, Apply: true}
	s.Inject(lost, lost, lost)
	if got := c.run(t, of("cancel", "--yes")...); got.code != 0 || !strings.Contains(got.stderr, "6 done") {
		t.Errorf("got %+v, want six done", got)
	}
	if got, want := stateOf(s, account), strings.TrimSpace(strings.Repeat("canceled ", 6)); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if got := c.run(t, of("cancel", "--yes")...); got.code != 0 || !strings.Contains(got.stderr, "nothing to do") {
		t.Errorf("once more: got %+v, want nothing to do", got)
	}
	if got := c.run(t, of("cancel", "--dry-run")...); got.code != 0 || !strings.Contains(got.stderr, "nothing to do") {
		t.Errorf("dry run once more: got %+v, want nothing to do", got)
	}
	if got := c.run(t, of("resume", "--yes")...); got.code != 0 || strings.Contains(stateOf(s, account), "active") ||
		!strings.Contains(got.stderr, "6 subscriptions canceled or closed: with --reopen") {
		t.Errorf("resume all: got %+v, want none resumed, and a hint", got)
	}
	got = c.run(t, "subscriptions", "resume", ids[0], "--yes")
	isHinted := strings.Contains(got.stdout, "--reopen")
	if got.code != exitFailed || !isHinted || strings.Contains(stateOf(s, account), "active") {
		t.Errorf("resume: got %+v and %q, want a hint", got, stateOf(s, account))
	}
	got = c.run(t, "subscriptions", "resume", ids[0], "--yes", "--reopen")
	if got.code != 0 || strings.Count(stateOf(s, account), "canceled") != 5 {
		t.Errorf("resume: got %+v and %q, want one resumed", got, stateOf(s, account))
	}
	got = c.run(t, "subscriptions", "pause", ids[0], "--yes")
	if got.code != 0 || !strings.Contains(stateOf(s, account), "paused") {
		t.Errorf("pause: got %+v and %q, want one paused", got, stateOf(s, account))
	}
	if got := statesOf(s, isOther); got != others || others == "" {
		t.Errorf("the subscriptions of others are %q, want %q", got, others)
	}
}

// One that fails does not keep the others, and the exit code says so.
func TestStates_oneFails(t *testing.T) {
	t.Parallel()
	s, account, _ := newShop(t)
	s.Inject(commercetest.Fault{Operation: commercetest.OpChangeState, Status: http.StatusUnprocessableEntity, After: 2})
	got := caller{env: storeEnv(s)}.run(t, "subscriptions", "pause", "--account", account.String(), "--yes")
	paused := strings.Count(stateOf(s, account), "paused")
	if got.code != exitUnfinished || !strings.Contains(got.stderr, "5 done, 1 failed") || paused != 5 {
		t.Errorf("got %+v and %q, want exit code %d and five paused", got, stateOf(s, account), exitUnfinished)
	}
}

func TestStates_usage(t *testing.T) {
	t.Parallel()
	for name, args := range map[string][]string{
		"nothing named":  {},
		"both":           {unknownID, "--account", unknownID},
		"no id":          {"x"},
		"no account":     {"--account", "x"},
		"input and both": {"-", "--account", unknownID},
		"not for pauses": {unknownID, "--immediately"},
	} {
		got := caller{}.run(t, append([]string{"--demo", "subscriptions", "pause"}, args...)...)
		if got.code != exitUsage {
			t.Errorf("%s: got %+v, want exit code %d", name, got, exitUsage)
		}
	}
}

// api sends the token to the store only, and a write once.
func TestAPI(t *testing.T) {
	t.Parallel()
	s := commercetest.New(t, commercetest.Config{})
	s.Seed(3)
	c := caller{env: storeEnv(s)}
	var list struct{ Data []any }
	got := c.run(t, "api", "get", "v2/subscriptions/subscriptions?page[limit]=2")
	if err := json.Unmarshal([]byte(got.stdout), &list); err != nil || len(list.Data) != 2 || got.code != 0 {
		t.Errorf("got %+v and %v, want two subscriptions", got, err)
	}
	if got := c.run(t, "api", "HEAD", "/v2/settings"); got.code != exitUsage {
		t.Errorf("HEAD: got %+v, want exit code %d", got, exitUsage)
	}
	for _, path := range []string{"https://evil.example/v2", "//evil.example/v2", "../admin", "/v2/%zz", "v2?x=%zz"} {
		before := len(s.Requests())
		if got := c.run(t, "api", "GET", path); got.code != exitUsage || len(s.Requests()) != before {
			t.Errorf("%s: got %+v, want exit code %d and no request", path, got, exitUsage)
		}
	}
	body := `{"data":{"type":"settings","discounts":{"custom_discounts_enabled":true}}}`
	write := []string{"api", "PUT", "/v2/settings/cart", "--data", "-"}
	if got := (caller{env: c.env, stdin: body}).run(t, write...); got.code != exitUsage {
		t.Errorf("a write without a question: got %+v, want exit code %d", got, exitUsage)
	}
	before := len(s.Requests())
	s.Inject(commercetest.Fault{Status: http.StatusTooManyRequests}) // calls of the library send it again
	got = caller{env: c.env, stdin: body}.run(t, append(write, "--yes")...)
	if got.code == 0 || len(s.Requests()) != before+1 {
		t.Errorf("a write that fails: got %+v and %d requests, want an error and one", got, len(s.Requests())-before)
	}
	if got := (caller{env: c.env, stdin: body}).run(t, append(write, "--yes")...); got.code != 0 {
		t.Errorf("got %+v, want exit code 0", got)
	}
	got = c.run(t, "api", "GET", "/v2/settings/cart")
	if !strings.Contains(got.stdout, `"custom_discounts_enabled": true`) {
		t.Errorf("got %+v, want the change", got)
	}
}

// list and export select by state, and print some columns, with an address if it is asked for.
func TestSelection(t *testing.T) {
	t.Parallel()
	s := commercetest.New(t, commercetest.Config{})
	s.Seed(300)
	c := caller{env: storeEnv(s)}
	paused := 0
	for sub := range s.Subscriptions() {
		if state(&sub.Meta) == "paused" {
			paused++
		}
	}
	file := filepath.Join(t.TempDir(), "subs.csv")
	for _, args := range [][]string{{"list", "-o", "csv"}, {"export", "-", "-o", "csv"}} {
		args = append([]string{"subscriptions"}, args...)
		got := c.run(t, append(args, "--state", "paused", "--columns", "subscriber_email,id", "--subscribers")...)
		rows, err := csv.NewReader(strings.NewReader(got.stdout)).ReadAll()
		if err != nil || len(rows) != paused+1 || paused == 0 || strings.Join(rows[0], " ") != "subscriber_email id" {
			t.Fatalf("%v: got %d rows and %v, want %d and a head", args, len(rows), err, paused)
		}
		for _, row := range rows[1:] {
			if !strings.Contains(row[0], "@example.com") {
				t.Errorf("%v: got %q, want an e-mail address", args, row)
			}
		}
	}
	if got := c.run(t, "subscriptions", "export", "-"); got.code != 0 || strings.Count(got.stdout, "\n") != 300 {
		t.Errorf("got %d lines and %q, want 300", strings.Count(got.stdout, "\n"), got.stderr)
	}
	if got := c.run(t, "subscriptions", "export", file, "--no-header", "--columns", "id"); got.code != 0 {
		t.Errorf("got %+v, want exit code 0", got)
	}
	for name, args := range map[string][]string{
		"unknown column": {"list", "-o", "csv", "--columns", "price,x"},
		"table":          {"list", "--columns", "id"},
		"JSON Lines":     {"export", "subs.jsonl", "--no-header"},
		"not asked for":  {"list", "-o", "csv", "--columns", "subscriber_email"},
	} {
		if got := c.run(t, append([]string{"subscriptions"}, args...)...); got.code != exitUsage {
			t.Errorf("%s: got %+v, want exit code %d", name, got, exitUsage)
		}
	}
}

// A part of a stream is not taken for the whole.
func TestExport_streamFails(t *testing.T) {
	t.Parallel()
	s := commercetest.New(t, commercetest.Config{})
	s.Seed(300)
	s.Inject(commercetest.Fault{Operation: commercetest.OpList, After: 2, Status: 403, Times: -1})
	got := caller{env: storeEnv(s)}.run(t, "subscriptions", "export", "-", "-o", "json")
	if got.code != exitUnfinished || json.Valid([]byte(got.stdout)) || !bytes.HasPrefix([]byte(got.stdout), []byte("[")) {
		t.Errorf("got %d and %.80q, want exit code %d and no valid JSON", got.code, got.stdout, exitUnfinished)
	}
}

// A subscription that does not show its flags is no success.
func TestStates_absentFlags(t *testing.T) {
	t.Parallel()
	for _, meta := range []string{`{}`, `{"canceled":null,"paused":null,"suspended":false,"closed":false}`} {
		id := uuid.NewString()
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			_, _ = fmt.Fprintf(w, `{"data":{"id":%q,"type":"subscription","meta":%s}}`, id, meta)
		}))
		t.Cleanup(server.Close)
		env := map[string]string{"COMMERCE_BASE_URL": server.URL, "COMMERCE_TOKEN": "token"}
		got := caller{env: env}.run(t, "subscriptions", "resume", id, "--yes")
		if got.code != exitFailed || !strings.Contains(got.stdout, "absent, or not a flag") {
			t.Errorf("meta %s: got %+v, want an error", meta, got)
		}
	}
}

// A list may be longer than the offset of the service reaches.
func TestList_anySize(t *testing.T) {
	t.Parallel()
	const size = 10_150
	s := commercetest.New(t, commercetest.Config{})
	s.Seed(size)
	got := caller{env: storeEnv(s)}.run(t, "subscriptions", "list", "-o", "csv", "--columns", "id")
	ids := strings.Fields(got.stdout)
	slices.Sort(ids)
	if n := len(slices.Compact(ids)) - 1; got.code != 0 || n != size { // a head
		t.Errorf("got %d subscriptions, code %d, %s, want %d", n, got.code, got.stderr, size)
	}
}

// One that is canceled at the end of its billing period is not canceled at once.
func TestStates_immediately(t *testing.T) {
	t.Parallel()
	s, _, ids := newShop(t)
	for _, row := range []struct {
		name   string
		meta   commerce.SubscriptionMeta
		isDone bool
	}{
		{name: "at the end", meta: commerce.SubscriptionMeta{Status: "active", Canceled: true}},
		{name: "at once", meta: commerce.SubscriptionMeta{Status: "inactive", Canceled: true}, isDone: true},
		{name: "paused", meta: commerce.SubscriptionMeta{Status: "inactive", Canceled: true, Paused: true}},
		{name: "closed", meta: commerce.SubscriptionMeta{Canceled: true, Closed: true}, isDone: true},
		{name: "not canceled", meta: commerce.SubscriptionMeta{Status: "inactive", Closed: true}},
	} {
		s.UpdateSubscription(uuid.MustParse(ids[0]), func(sub *commerce.Subscription) { sub.Meta = row.meta })
		got := caller{env: storeEnv(s)}.run(t, "subscriptions", "cancel", ids[0], "--immediately", "--dry-run")
		if isDone := strings.Contains(got.stderr, "nothing to do"); got.code != 0 || isDone != row.isDone {
			t.Errorf("%s: got %+v, want nothing to do: %t", row.name, got, row.isDone)
		}
	}
}

// One id that does not exist does not stop the others, an id twice counts once, and an account
// without subscriptions is named.
func TestStates_unknown(t *testing.T) {
	t.Parallel()
	const absent = "there is no subscription " + unknownID
	for name, row := range map[string]struct {
		args []string // with 0, 1: the ids of two subscriptions
		code int
		want string
		done int // how many are paused
	}{
		"one":           {args: []string{"0", unknownID, "1"}, code: exitUnfinished, want: "2 done", done: 2},
		"first":         {args: []string{unknownID, "0"}, code: exitUnfinished, want: absent, done: 1},
		"none":          {args: []string{unknownID}, code: exitFailed, want: absent},
		"twice":         {args: []string{"0", "0", "1"}, want: "2 done", done: 2},
		"unknown twice": {args: []string{unknownID, unknownID}, code: exitFailed, want: absent + "\n"},
		"account":       {args: []string{"--account", unknownID}, want: "the account " + unknownID + " has no subscriptions"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, account, ids := newShop(t)
			args := []string{"subscriptions", "pause", "--yes"}
			for _, arg := range row.args {
				switch arg {
				case "0":
					arg = ids[0]
				case "1":
					arg = strings.ToUpper(ids[1])
				}
				args = append(args, arg)
			}
			got := caller{env: storeEnv(s)}.run(t, args...)
			if done := strings.Count(stateOf(s, account), "paused"); done != row.done || got.code != row.code ||
				!strings.Contains(got.stdout+got.stderr, row.want) {
				t.Errorf("got %+v and %d paused, want exit code %d, %q and %d", got, done, row.code, row.want, row.done)
			}
		})
	}
	// A gateway's 404 says nothing about a subscription.
	s, _, ids := newShop(t)
	s.Inject(commercetest.Fault{Operation: commercetest.OpSubscription, Status: 404, Body: "<html>", Times: -1})
	got := caller{env: storeEnv(s)}.run(t, "subscriptions", "pause", "--yes", ids[0])
	if got.code != exitFailed || strings.Contains(got.stderr, "there is no subscription") {
		t.Errorf("got %+v, want an error that does not say that the subscription does not exist", got)
	}
}

// A write in doubt is not taken for a refusal, and what was changed is not forgotten.
func TestStates_outcomes(t *testing.T) {
	t.Parallel()
	refused := commercetest.Fault{
		Operation: commercetest.OpChangeState, Status: 422, Body: `{"errors": [{"title": "No"}]}`, Times: -1,
	}
	lost := commercetest.Fault{Operation: commercetest.OpChangeState, Cut: true, Late: true, Delay: time.Hour}
	second := refused
	second.After = 1
	for name, row := range map[string]struct {
		faults []commercetest.Fault
		code   int
		known  string
	}{
		"refused":            {faults: []commercetest.Fault{refused}, code: exitFailed, known: "nothing was changed\n"},
		"in doubt, refused":  {faults: []commercetest.Fault{lost, refused}, code: exitUnfinished, known: "may or may not"},
		"done, then refused": {faults: []commercetest.Fault{second}, code: exitUnfinished, known: "a part was changed"},
		"paused before":      {faults: []commercetest.Fault{refused}, code: exitFailed, known: "nothing was changed\n"},
		"all in doubt":       {faults: []commercetest.Fault{lost, lost}, code: exitUnfinished, known: "may or may not"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, _, ids := newShop(t)
			if name == "paused before" {
				s.UpdateSubscription(uuid.MustParse(ids[0]), func(sub *commerce.Subscription) { sub.Meta.Paused = true })
			}
			s.Inject(row.faults...)
			got := caller{env: storeEnv(s)}.run(t, "subscriptions", "pause", "--yes", ids[0], ids[1])
			if got.code != row.code || !strings.Contains(got.stderr, "known: "+row.known) &&
				!strings.Contains(got.stderr, "known: the change "+row.known) {
				t.Errorf("got %+v, want exit code %d and %q", got, row.code, row.known)
			}
		})
	}
}
