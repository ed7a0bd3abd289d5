package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/commerce-go/commerce"
	"github.com/commerce-go/commerce/commercetest"
)

// resultsOf returns the results of JSON Lines, by id, and their number.
func resultsOf(t *testing.T, lines string) (byID map[string]string, counts map[string]int) {
	t.Helper()
	byID, counts = map[string]string{}, map[string]int{}
	for line := range strings.Lines(lines) {
		var r struct {
			ID, Result, Error string
			Discount          struct {
				ExternalID string `json:"external_id"`
			}
		}
		if err := json.Unmarshal([]byte(line), &r); err != nil {
			t.Fatal(err, line)
		}
		if strings.Contains(r.Error, "context canceled") || r.Result == resultFailed && r.Error == "" {
			t.Errorf("got %s, want an error in words if it failed", line)
		}
		byID[r.ID+r.Discount.ExternalID] = r.Result
		counts[r.Result]++
	}
	return byID, counts
}

// shopOf returns a store with n active subscriptions that ends ctx after some requests of an
// operation.
func shopOf(
	t *testing.T, n int, op commercetest.Operation, requests int,
) (s *commercetest.Store, ids []string, ctx context.Context) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	t.Cleanup(cancel)
	s = commercetest.New(t, commercetest.Config{AfterRequest: func(_ *commercetest.Store, r commercetest.Request) {
		if r.Operation == op {
			if requests--; requests == 0 {
				cancel()
			}
		}
	}})
	for range n {
		ids = append(ids, addActive(s, uuid.New()))
	}
	return s, ids, ctx
}

// After Ctrl-C each id has a result that is true in the store. One in doubt counts more than the
// interruption.
func TestChanges_interrupted(t *testing.T) {
	t.Parallel()
	const n, writes = 30, 16
	s, ids, ctx := shopOf(t, n, commercetest.OpChangeState, writes)
	args := append([]string{"subscriptions", "cancel", "--yes", "-o", "jsonl"}, ids...)
	got := caller{ctx: ctx, env: storeEnv(s)}.run(t, args...)
	byID, counts := resultsOf(t, got.stdout)
	if counts[resultInDoubt] != 1 || got.code != exitUnfinished || len(byID) != n {
		t.Errorf("got code %d and %v, want exit code %d, %d results, one in doubt", got.code, counts, exitUnfinished, n)
	}
	for sub := range s.Subscriptions() {
		result := byID[sub.ID.String()]
		if sub.Meta.Canceled != (result == resultDone) && result != resultInDoubt {
			t.Errorf("%s is canceled: %t, but the result is %q", sub.ID, sub.Meta.Canceled, result)
		}
	}
	// Each is read once before the question, and before and after its change. One is refused.
	s, ids, ctx = shopOf(t, n, commercetest.OpSubscription, n+2*writes+1)
	s.Inject(commercetest.Fault{Operation: commercetest.OpChangeState, Status: 422, After: 3})
	args = append([]string{"subscriptions", "cancel", "--yes", "-o", "jsonl"}, ids...)
	got = caller{ctx: ctx, env: storeEnv(s)}.run(t, args...)
	_, counts = resultsOf(t, got.stdout)
	if got.code != exitInterrupted || counts[resultDone] != writes-1 || counts[resultNotTried] != n-writes ||
		!strings.Contains(got.stderr, "epcommerce: interrupted: 15 done, 1 failed, 14 not tried\n") {
		t.Errorf("got code %d, %v and %q, want exit code %d", got.code, counts, got.stderr, exitInterrupted)
	}
	before, stop := context.WithCancel(t.Context())
	stop()
	for format, want := range map[string]string{"table": "not tried   " + ids[0], "csv": "\ncancel,not tried," + ids[0]} {
		got := caller{ctx: before, env: storeEnv(s)}.run(t, "subscriptions", "cancel", ids[0], "--yes", "-o", format)
		if got.code != exitInterrupted || !strings.Contains(got.stdout, want) || strings.Contains(got.stderr, "context") {
			t.Errorf("before the first request: got %+v, want exit code %d and %q", got, exitInterrupted, want)
		}
	}
}

// Each unknown id is named, whatever else fails, and each failure has its remedy.
func TestChanges_results(t *testing.T) {
	t.Parallel()
	s, ids, _ := shopOf(t, 5, "", 0)
	s.UpdateSubscription(uuid.MustParse(ids[1]), func(sub *commerce.Subscription) { sub.Meta.Paused = true })
	of := func(id string) func(commercetest.Request) bool {
		return func(r commercetest.Request) bool { return strings.Contains(r.Path, id) }
	}
	s.Inject(
		commercetest.Fault{Operation: commercetest.OpSubscription, Status: 500, Times: -1, Match: of(ids[2])},
		commercetest.Fault{Operation: commercetest.OpChangeState, Status: 403, Times: -1, Match: of(ids[3]),
			Body: `{"errors":[{"title":"No"}]}`},
		commercetest.Fault{Operation: commercetest.OpChangeState, Cut: true, Late: true, Delay: time.Hour, Times: -1,
			Match: of(ids[4])},
	)
	second := strings.Replace(unknownID, "1", "2", 1)
	args := []string{"subscriptions", "pause", "--yes", unknownID, ids[0], ids[1], ids[2], ids[3], ids[4], second}
	got := caller{env: storeEnv(s)}.run(t, append(args, "-o", "jsonl")...)
	byID, _ := resultsOf(t, got.stdout)
	want := map[string]string{
		unknownID: resultUnknown, second: resultUnknown, ids[0]: resultDone, ids[1]: resultUnchanged, ids[2]: resultFailed,
		ids[3]: resultFailed, ids[4]: resultInDoubt,
	}
	if fmt.Sprint(byID) != fmt.Sprint(want) || got.code != exitUnfinished ||
		!strings.Contains(got.stderr, "1 done, 1 unchanged, 2 failed, 1 in doubt, 2 unknown id") {
		t.Errorf("got %+v, want %v", got, want)
	}
	var refused struct{ Error, Todo, Command string }
	_ = json.Unmarshal([]byte(strings.Split(got.stdout, "\n")[4]), &refused)
	if !strings.HasPrefix(refused.Error, "change: 403 Forbidden") || refused.Todo != todos["forbidden"].text {
		t.Errorf("got %+v, want the error and what to do", refused)
	}
}

// The ids may be in a file, or come from standard input.
func TestChanges_ids(t *testing.T) {
	t.Parallel()
	s, ids, _ := shopOf(t, 3, "", 0)
	file := filepath.Join(t.TempDir(), "ids.txt")
	for name, row := range map[string]struct {
		text, want string
		args       []string
	}{
		"lines":          {text: "\uFEFF" + ids[0] + "\r\n\r\n " + ids[1] + "\n" + ids[0], want: "2 not tried"},
		"a wrong one":    {text: ids[0] + "\n\nx\n", want: `the ID of a subscription must be a UUID, not "x"`},
		"none":           {text: "\r\n", want: "there are no ids"},
		"and an id":      {text: ids[0], args: []string{ids[1]}, want: "by --file, or"},
		"and - and one":  {text: ids[0], args: []string{"-"}, want: "name subscriptions by"},
		"and an account": {text: ids[0], args: []string{"--account", ids[0]}, want: "account"},
	} {
		if err := os.WriteFile(file, []byte(row.text), 0o600); err != nil {
			t.Fatal(err)
		}
		ways := [][]string{append([]string{"--file", file}, row.args...), {"-"}}
		for _, way := range ways[:2-min(1, len(row.args))] {
			args := append([]string{"subscriptions", "cancel", "--dry-run", "-o", "jsonl"}, way...)
			got := caller{env: storeEnv(s), stdin: row.text}.run(t, args...)
			n := fmt.Sprint(strings.Count(got.stdout, `"not tried"`), " not tried")
			isRefused := got.code == exitUsage && got.stdout == ""
			if !strings.Contains(n+got.stderr, row.want) || isRefused != (n != row.want) {
				t.Errorf("%s %v: got %+v, want %q", name, way, got, row.want)
			}
		}
	}
}

// What is wrong with the arguments is said before the first byte of output.
func TestChanges_arguments(t *testing.T) {
	t.Parallel()
	for _, args := range []string{
		"subscriptions cancel x", "subscriptions cancel", "subscriptions cancel " + unknownID + " x --yes",
		"discounts remove demo", "discounts add demo --amount x --engine e --external-id 1 --code c --description d",
		"discounts remove demo --engine loyalty", "subscriptions list --state x", "subscriptions get x",
	} {
		for _, format := range formats {
			got := caller{}.run(t, append(strings.Fields(args), "--demo", "-o", format)...)
			if got.code != exitUsage || got.stdout != "" {
				t.Errorf("%s -o %s: got %+v, want exit code %d and no output", args, format, got, exitUsage)
			}
		}
	}
}

// Each discount of FILE has a result, also if the call ends early.
func TestChanges_discounts(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		faults []commercetest.Fault
		want   map[string]string // by external id
	}{
		"done": {want: map[string]string{"0": resultUnchanged, "1": resultDone, "2": resultDone}},
		"refused": {faults: []commercetest.Fault{{Operation: commercetest.OpAdd, Status: 422}}, want: map[string]string{
			"0": resultUnchanged, "1": resultFailed, "2": resultFailed,
		}},
		"no response": {faults: []commercetest.Fault{{Operation: commercetest.OpAdd, Cut: true, Late: true, Delay: time.Hour,
			Times: -1}}, want: map[string]string{"0": resultUnchanged, "1": resultInDoubt, "2": resultInDoubt}},
		"unread": {faults: []commercetest.Fault{{Operation: commercetest.OpCart, After: 1, Status: http.StatusForbidden,
			Times: -1}}, want: map[string]string{"0": resultUnchanged, "1": resultFailed, "2": resultFailed}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := commercetest.New(t, commercetest.Config{DiscountsEnabled: true})
			cart := s.AddCart(commerce.CartItemRef{})
			addAmount(s, cart, "e", "0", -100)
			s.Inject(row.faults...)
			first := strings.Replace(strings.Split(twoDiscounts, "\n")[1], `"1"`, `"0"`, 1)
			file := strings.Replace(twoDiscounts, "[", "["+first, 1)
			got := caller{env: storeEnv(s), stdin: file}.run(t, "discounts", "apply", cart, "-", "--yes", "-o", "jsonl")
			byID, counts := resultsOf(t, got.stdout)
			if fmt.Sprint(byID) != fmt.Sprint(row.want) || (counts[resultInDoubt] > 0) != (got.code == exitUnfinished) {
				t.Errorf("got %+v, want %v", got, row.want)
			}
		})
	}
}
