package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/commerce-go/commerce"
	"github.com/commerce-go/commerce/commercetest"
)

const embedded = "using an embedded fake store; set COMMERCE_BASE_URL and COMMERCE_TOKEN to use a live one\n"

// outcome is what a run returned and printed.
type outcome struct {
	Code           int
	Stdout, Stderr string
}

func start(ctx context.Context, vars map[string]string, args ...string) outcome {
	var stdout, stderr bytes.Buffer
	code := run(ctx, args, system{func(key string) string { return vars[key] }, &stdout, &stderr})
	return outcome{code, stdout.String(), stderr.String()}
}

// live returns a store of n subscriptions, and the environment that names it.
func live(t *testing.T, n int) (*commercetest.Store, map[string]string) {
	t.Helper()
	s := commercetest.NewStore(commercetest.Config{})
	t.Cleanup(s.Close)
	s.Seed(n)
	return s, map[string]string{"COMMERCE_BASE_URL": s.URL(), "COMMERCE_TOKEN": s.Config().Token}
}

// decode reads JSON Lines.
func decode(t *testing.T, lines string) []commerce.Subscription {
	t.Helper()
	var list []commerce.Subscription
	for line := range strings.Lines(lines) {
		var sub commerce.Subscription
		if err := json.Unmarshal([]byte(line), &sub); err != nil {
			t.Fatalf("line %d: %v", len(list)+1, err)
		}
		list = append(list, sub)
	}
	return list
}

func TestTable(t *testing.T) {
	t.Parallel()
	want := outcome{
		Stdout: "ID                                    ACCOUNT                               " +
			"PLAN          STATUS    CURRENCY  CREATED\n" +
			"b62b7b82-31c3-5375-90bd-baae28962b76  29979e80-3e0f-52f4-9d48-2efc43cf8844  " +
			"Yearly        active    USD       2024-01-02T13:21:00Z\n" +
			"2447bb63-6876-5e38-ab7b-5ceca15e68f3  ee6670c5-fa8f-51d1-a4a6-06f96559a9c4  " +
			"Yearly        active    USD       2024-01-02T11:44:00Z\n" +
			"50babc88-edc9-5c16-b82b-2d0d723bc6f0  29979e80-3e0f-52f4-9d48-2efc43cf8844  " +
			"Monthly       active    USD       2024-01-02T10:07:00Z\n",
		Stderr: embedded + "3 subscriptions\n",
	}
	for _, size := range []string{"0", "1", "2", "100"} {
		if diff := cmp.Diff(want, start(t.Context(), nil, "-n", "3", "-page-size", size)); diff != "" {
			t.Errorf("-page-size %s (-want +got):\n%s", size, diff)
		}
	}
	got := start(t.Context(), nil, "-n", "3", "-include", "products")
	withoutPlans := strings.NewReplacer("Yearly ", "-      ", "Monthly", "-      ").Replace(want.Stdout)
	if diff := cmp.Diff(withoutPlans, got.Stdout); diff != "" {
		t.Errorf("without plans (-want +got):\n%s", diff)
	}
}

// Members may be missing, and texts may hold control characters.
func TestTable_oddRecords(t *testing.T) {
	t.Parallel()
	s, vars := live(t, 1)
	page, err := s.Client().Subscriptions.List(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	odd := commerce.Subscription{ID: page.Subscriptions[0].Attributes.AccountID}
	odd.Meta.Status = "\x1b[31m\tred\n"
	s.AddSubscription(odd)
	got := start(t.Context(), vars)
	lines := strings.Split(got.Stdout, "\n")
	want := odd.ID.String() + "  -                                     -              [31m red   -         -"
	if diff := cmp.Diff([]string{want}, lines[1:2]); diff != "" {
		t.Errorf("row (-want +got):\n%s", diff)
	}
}

func TestJSONLines(t *testing.T) {
	t.Parallel()
	got := start(t.Context(), nil, "-json")
	if got.Code != exitOK || got.Stderr != embedded+"60 subscriptions\n" {
		t.Errorf("code %d, stderr %q", got.Code, got.Stderr)
	}
	s := commercetest.NewStore(commercetest.Config{})
	s.Seed(60)
	page, err := s.Client().Subscriptions.List(t.Context(), &commerce.SubscriptionListOptions{PageSize: 100})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(page.Subscriptions, decode(t, got.Stdout), cmp.Comparer(commerce.Decimal.Equal)); diff != "" {
		t.Errorf("records (-want +got):\n%s", diff)
	}
}

func TestPageSizeMakesNoDifference(t *testing.T) {
	t.Parallel()
	for _, format := range []string{"-json", "-json=false"} {
		small := start(t.Context(), nil, format, "-page-size", "7")
		large := start(t.Context(), nil, format, "-page-size", "100")
		if diff := cmp.Diff(large, small); diff != "" {
			t.Errorf("%s (-page-size 100 +page-size 7):\n%s", format, diff)
		}
	}
}

func TestFilters(t *testing.T) {
	t.Parallel()
	s, vars := live(t, 60)
	all := decode(t, start(t.Context(), vars, "-json").Stdout)
	account := all[10].Attributes.AccountID
	who, ok := s.SubscriberOf(account)
	if !ok {
		t.Fatal("the account has no subscriber")
	}
	ofAccount := func(sub commerce.Subscription) bool { return sub.Attributes.AccountID == account }
	tests := []struct {
		flag, value string
		keep        func(commerce.Subscription) bool
	}{
		{flag: "-account", value: account.String(), keep: ofAccount},
		{flag: "-email", value: who.Email, keep: ofAccount},
		{flag: "-name", value: who.Name, keep: func(sub commerce.Subscription) bool {
			other, _ := s.SubscriberOf(sub.Attributes.AccountID)
			return other.Name == who.Name
		}},
		{flag: "-external-ref", value: "order-000007", keep: func(sub commerce.Subscription) bool {
			return sub.Attributes.ExternalRef == "order-000007"
		}},
	}
	for _, tt := range tests {
		t.Run(tt.flag, func(t *testing.T) {
			t.Parallel()
			var want []commerce.Subscription
			for _, sub := range all {
				if tt.keep(sub) {
					want = append(want, sub)
				}
			}
			if len(want) == 0 || len(want) == len(all) {
				t.Fatalf("%d of %d records match, want some of them", len(want), len(all))
			}
			got := decode(t, start(t.Context(), vars, "-json", tt.flag, tt.value).Stdout)
			if diff := cmp.Diff(want, got, cmp.Comparer(commerce.Decimal.Equal)); diff != "" {
				t.Errorf("records (-want +got):\n%s", diff)
			}
		})
	}
}

func TestLimit(t *testing.T) {
	t.Parallel()
	all := start(t.Context(), nil, "-json").Stdout
	tests := []struct {
		limit, stderr string
		lines         int
	}{
		{limit: "1", stderr: "1 subscription, the -limit: there may be more\n", lines: 1},
		{limit: "7", stderr: "7 subscriptions, the -limit: there may be more\n", lines: 7},
		{limit: "10", stderr: "10 subscriptions, the -limit: there may be more\n", lines: 10},
		{limit: "61", stderr: "60 subscriptions\n", lines: 60},
		{limit: "0", stderr: "60 subscriptions\n", lines: 60},
	}
	for _, tt := range tests {
		t.Run(tt.limit, func(t *testing.T) {
			t.Parallel()
			want := outcome{exitOK, strings.Join(strings.SplitAfter(all, "\n")[:tt.lines], ""), embedded + tt.stderr}
			got := start(t.Context(), nil, "-json", "-page-size", "7", "-limit", tt.limit)
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// invalid returns the text for an argument with an invalid value, such as -n=-1.
func invalid(arg, problem string) string {
	name, value, _ := strings.Cut(arg, "=")
	return fmt.Sprintf("invalid value %q for flag %s: %s", value, name, problem)
}

func TestUsage(t *testing.T) {
	t.Parallel()
	const badInclude = "must be a list of plans, products and pricing_options, separated by commas"
	tests := []struct {
		arg, want string
	}{
		{arg: "-page-size=101", want: invalid("-page-size=101", "must be a whole number from 0 to 100")},
		{arg: "-page-size=-1", want: invalid("-page-size=-1", "must be a whole number from 0 to 100")},
		{arg: "-page-size", want: "flag needs an argument: -page-size"},
		{arg: "-limit=-1", want: invalid("-limit=-1", "must be a whole number from 0 to 1000000")},
		{arg: "-n=-1", want: invalid("-n=-1", "must be a whole number from 0 to 100000")},
		{arg: "-account=x", want: invalid("-account=x", "must be a UUID, and not the zero UUID")},
		{arg: "-email=", want: invalid("-email=", "must not be empty")},
		{arg: "-include=plans,prices", want: invalid("-include=plans,prices", badInclude)},
		{arg: "stray", want: `unexpected argument "stray"`},
	}
	for _, tt := range tests {
		t.Run(tt.arg, func(t *testing.T) {
			t.Parallel()
			want := outcome{Code: exitUsage, Stderr: "list-subscriptions: " + tt.want + " (-h for help)\n"}
			if diff := cmp.Diff(want, start(t.Context(), nil, tt.arg)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// The library finds some problems.
func TestUsage_library(t *testing.T) {
	t.Parallel()
	want := outcome{Code: exitUsage, Stderr: embedded + "0 subscriptions\n" +
		"list-subscriptions: commerce: invalid argument: filter.name must be valid UTF-8\n"}
	if diff := cmp.Diff(want, start(t.Context(), nil, "-name", "\xff")); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestHelp(t *testing.T) {
	t.Parallel()
	got := start(t.Context(), nil, "-h")
	if got.Code != exitOK || got.Stderr != "" || !strings.Contains(got.Stdout, "-page-size n") {
		t.Errorf("help: got %+v, want code 0, and the flags on stdout", got)
	}
}

func TestIncompleteEnvironment(t *testing.T) {
	t.Parallel()
	want := outcome{Code: exitUsage,
		Stderr: "list-subscriptions: COMMERCE_BASE_URL must be set too, as credentials are set\n"}
	if diff := cmp.Diff(want, start(t.Context(), map[string]string{"COMMERCE_TOKEN": "canary"})); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestLive(t *testing.T) {
	t.Parallel()
	s, vars := live(t, 8)
	got := start(t.Context(), vars, "-json", "-page-size", "5", "-include", "plans, products")
	if n := len(decode(t, got.Stdout)); got.Code != exitOK || n != 8 || got.Stderr != "8 subscriptions\n" {
		t.Errorf("code %d, %d records, stderr %q", got.Code, n, got.Stderr)
	}
	for _, req := range s.Requests() {
		if !strings.Contains(req.RawQuery, "include=plans%2Cproducts") {
			t.Errorf("query %q does not ask for plans and products", req.RawQuery)
		}
	}
}

func TestFailure(t *testing.T) {
	t.Parallel()
	s, vars := live(t, 20)
	all := start(t.Context(), vars, "-page-size", "7").Stdout
	s.Inject(commercetest.Fault{Operation: commercetest.OpList, After: 1, Status: http.StatusForbidden,
		Body: `{"errors":[{"title":"Forbidden","detail":"not your store"}]}`})
	want := outcome{
		Code:   exitFailed,
		Stdout: strings.Join(strings.SplitAfter(all, "\n")[:1+7], ""), // what was read before
		Stderr: "7 subscriptions\n",
	}
	got := start(t.Context(), vars, "-page-size", "7")
	summary, sentence, _ := strings.Cut(got.Stderr, "\n")
	got.Stderr = summary + "\n"
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	for _, part := range []string{"403 Forbidden", "after 7 records", "\n\tnot your store\n"} {
		if !strings.Contains(sentence, part) {
			t.Errorf("stderr %q does not hold %q", sentence, part)
		}
	}
	if strings.Contains(got.Stderr+sentence, s.Config().Token) {
		t.Error("the output shows the token")
	}
}

// The list has no end. Its records hold only an id.
func TestOffsetLimit(t *testing.T) {
	t.Parallel()
	endless := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		offset, _ := strconv.Atoi(r.FormValue("page[offset]"))
		limit, _ := strconv.Atoi(r.FormValue("page[limit]"))
		var records []string
		for i := range limit {
			records = append(records, fmt.Sprintf(`{"id":"00000000-0000-4000-8000-%012d"}`, offset+i))
		}
		fmt.Fprintf(w, `{"data":[%s]}`, strings.Join(records, ","))
	}))
	t.Cleanup(endless.Close)
	got := start(t.Context(), map[string]string{"COMMERCE_BASE_URL": endless.URL, "COMMERCE_TOKEN": "token"})
	if rows := strings.Count(got.Stdout, "\n"); got.Code != exitOffsetLimit || rows != 1+10_100 {
		t.Errorf("code %d, %d rows, want %d and %d", got.Code, rows, exitOffsetLimit, 1+10_100)
	}
	if !strings.HasPrefix(got.Stderr, "10100 subscriptions\n") ||
		!strings.HasSuffix(got.Stderr, "\n\tlist it in parts: one -account, -name or -email at a time\n") {
		t.Errorf("stderr = %q, want the number of subscriptions and what to do", got.Stderr)
	}
}

// cancelAt cancels at the first write.
type cancelAt struct {
	bytes.Buffer
	cancel context.CancelFunc
}

func (w *cancelAt) Write(p []byte) (int, error) {
	w.cancel()
	return w.Buffer.Write(p)
}

func TestInterrupted(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	stdout := &cancelAt{cancel: cancel}
	var stderr bytes.Buffer
	code := run(ctx, []string{"-page-size", "7"}, system{func(string) string { return "" }, stdout, &stderr})
	const sentence = "list-subscriptions: interrupted: the list is not complete\n"
	if code != exitInterrupted || !strings.HasSuffix(stderr.String(), " subscriptions\n"+sentence) {
		t.Errorf("during the walk: code %d, stderr %q", code, stderr.String())
	}
	// A page that was read in advance may still be printed.
	all, first := start(t.Context(), nil).Stdout, start(t.Context(), nil, "-limit", "7").Stdout
	if got := stdout.String(); !strings.HasPrefix(all, got) || !strings.HasPrefix(got, first) || got == all {
		t.Errorf("during the walk: printed\n%s", got)
	}
	want := outcome{exitInterrupted, "", embedded + "0 subscriptions\n" + sentence}
	if diff := cmp.Diff(want, start(ctx, nil)); diff != "" {
		t.Errorf("before the walk (-want +got):\n%s", diff)
	}
}

// full is a disk without space.
type full struct{}

func (full) Write([]byte) (int, error) { return 0, errors.New("no space left") }

func TestWriteFails(t *testing.T) {
	t.Parallel()
	for _, format := range []string{"-json", "-json=false"} {
		var stderr bytes.Buffer
		code := run(t.Context(), []string{format}, system{func(string) string { return "" }, full{}, &stderr})
		want := embedded + "0 subscriptions\nlist-subscriptions: can't write: no space left\n"
		if diff := cmp.Diff(want, stderr.String()); diff != "" || code != exitFailed {
			t.Errorf("%s: code %d, stderr (-want +got):\n%s", format, code, diff)
		}
	}
}
