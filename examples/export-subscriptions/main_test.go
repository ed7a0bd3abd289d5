package main

import (
	"bytes"
	"context"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"github.com/commerce-go/commerce"
	"github.com/commerce-go/commerce/commercetest"
)

const (
	embedded = "using an embedded fake store; set COMMERCE_BASE_URL and COMMERCE_TOKEN to use a live one\n"
	self     = "export-subscriptions: "
)

// outcome is what a run returned and printed.
type outcome struct {
	Code           int
	Stdout, Stderr string
}

func start(ctx context.Context, vars map[string]string, args ...string) outcome {
	return startWith(ctx, createTemp, vars, args...)
}

// createFunc is like os.CreateTemp.
type createFunc func(dir, pattern string) (file, error)

func startWith(ctx context.Context, create createFunc, vars map[string]string, args ...string) outcome {
	var stdout, stderr bytes.Buffer
	code := run(ctx, args, system{func(key string) string { return vars[key] }, &stdout, &stderr, create})
	return outcome{code, stdout.String(), timeless(stderr.String())}
}

var duration = regexp.MustCompile(` in [0-9.µms]+( \(\d+ a second\))?`)

// timeless removes time and rate from a summary.
func timeless(summary string) string { return duration.ReplaceAllString(summary, "") }

// live returns a store of n subscriptions, and the environment that names it.
func live(t *testing.T, n int) (*commercetest.Store, map[string]string) {
	t.Helper()
	s := commercetest.NewStore(commercetest.Config{})
	t.Cleanup(s.Close)
	s.Seed(n)
	return s, map[string]string{"COMMERCE_BASE_URL": s.URL(), "COMMERCE_TOKEN": s.Config().Token}
}

// serve serves a store with h, and returns the environment that names it.
func serve(t *testing.T, h http.HandlerFunc) map[string]string {
	t.Helper()
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	return map[string]string{"COMMERCE_BASE_URL": s.URL, "COMMERCE_TOKEN": commercetest.DefaultToken}
}

// files returns the content of the files in a folder, by name.
func files(t *testing.T, dir string) map[string]string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	list := map[string]string{}
	for _, e := range entries {
		b, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			t.Fatal(err)
		}
		list[e.Name()] = string(b)
	}
	return list
}

// record is a decoded line.
type record struct {
	Subscription commerce.Subscription `json:"subscription"`
	Plan         *commerce.Plan        `json:"plan"`
}

// decode reads JSON Lines.
func decode(t *testing.T, lines string) []record {
	t.Helper()
	var list []record
	for line := range strings.Lines(lines) {
		var r record
		dec := json.NewDecoder(strings.NewReader(line))
		dec.DisallowUnknownFields() // of the line itself
		if err := dec.Decode(&r); err != nil {
			t.Fatalf("line %d: %v", len(list)+1, err)
		}
		list = append(list, r)
	}
	return list
}

// want returns the records of n seeded subscriptions, as the library reads them.
func want(t *testing.T, n int) []record {
	t.Helper()
	s := commercetest.NewStore(commercetest.Config{})
	s.Seed(n)
	return records(t, s.Client())
}

// records reads all of a store, with its plans, in small pages.
func records(t *testing.T, client *commerce.Client) []record {
	t.Helper()
	var list []record
	opts := &commerce.SubscriptionListOptions{PageSize: 13, Include: commerce.SubscriptionInclude{Plans: true}}
	for page, err := range client.Subscriptions.Pages(t.Context(), opts) {
		if err != nil {
			t.Fatal(err)
		}
		for _, sub := range page.Subscriptions {
			plan, _ := page.Included.Plan(sub.Attributes.PlanID)
			list = append(list, record{sub, plan})
		}
	}
	return list
}

// same compares records by value: numbers, and unknown members as JSON.
var same = cmp.Options{
	cmp.Comparer(commerce.Decimal.Equal),
	cmp.Comparer(func(a, b json.RawMessage) bool { return cmp.Equal(value(a), value(b)) }),
}

// value decodes JSON, numbers as they are written. What is absent is no null.
func value(raw json.RawMessage) (v any) {
	if len(raw) == 0 {
		return "absent"
	}
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	if err := dec.Decode(&v); err != nil {
		panic(err)
	}
	return v
}

func TestJSONLines(t *testing.T) {
	t.Parallel()
	got := start(t.Context(), nil, "-n", "110")
	if got.Code != exitOK || got.Stderr != embedded+"110 subscriptions\n" {
		t.Errorf("code %d, stderr %q", got.Code, got.Stderr)
	}
	all := want(t, 110)
	if diff := cmp.Diff(all, decode(t, got.Stdout), same); diff != "" {
		t.Errorf("records (-want +got):\n%s", diff)
	}
	if all[0].Plan == nil || all[0].Plan.ID != all[0].Subscription.Attributes.PlanID {
		t.Error("the plan is not that of the subscription")
	}
}

// oddPage has unknown members, values of wrong types, and line separators.
const oddPage = `{"data":[
	{"id":"6f2b0c1e-3d5a-4f7b-9c8d-0e1f2a3b4c5d","type":"subscription","novel": {"a" : [1, 2.50, 1e400, null],
		"line\u2028\u2029": "<a href=\"x\">&amp;</a>\n\r\u0000\u001b é \u00e9 𝄞"},
	 "attributes":{"external_ref":7,"plan_id":"9a08c4f2-2756-5486-b647-0717453be4e5","currency":"US\nD",
	  "payment_authority":"cash","later":true},
	 "meta":{"canceled":"yes","status":"paused\u2028","state":[],
	  "timestamps":{"created_at":"2024-01-02T08:30:00.123456789+02:00","updated_at":"soon"}}},
	{"id":"6f2b0c1e-3d5a-4f7b-9c8d-0e1f2a3b4c5e","attributes":{"plan_id":"9a08c4f2-2756-5486-b647-000000000000"}},
	{"id":"6f2b0c1e-3d5a-4f7b-9c8d-0e1f2a3b4c5f"}],
 "included":{"plans":[{"id":"9a08c4f2-2756-5486-b647-0717453be4e5","colour":["red"],
	"attributes":{"name":"Monthly","billing_frequency":1.0000000000000000001,"novel":{"x":12345678901234567890}},
	"meta":{"price":{"USD":{"amount":1e3,"discount":{"of":-1}}}}}]},
 "links":{"next":null}}`

func TestRoundTripKeepsWhatIsUnknown(t *testing.T) {
	t.Parallel()
	vars := serve(t, func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, oddPage) })
	client, err := commerce.New(vars["COMMERCE_BASE_URL"], commerce.WithToken("token"))
	if err != nil {
		t.Fatal(err)
	}
	all := records(t, client)
	first := all[0]
	attributes := first.Subscription.Attributes
	if first.Subscription.Extra == nil || attributes.Extra["external_ref"] == nil || first.Plan.Extra["colour"] == nil {
		t.Fatalf("got %+v, want unknown members", first)
	}
	got := start(t.Context(), vars)
	if diff := cmp.Diff(all, decode(t, got.Stdout), same); diff != "" || got.Code != exitOK {
		t.Errorf("code %d, records (-want +got):\n%s", got.Code, diff)
	}
	if !strings.Contains(got.Stdout, `<a href=\"x\">&amp;</a>`) {
		t.Errorf("text is escaped for HTML: %s", got.Stdout)
	}
	for i, line := range strings.Split(strings.TrimSuffix(got.Stdout, "\n"), "\n")[1:] {
		if !strings.HasSuffix(line, `,"plan":null}`) {
			t.Errorf("line %d ends without the null of a plan that was not included: %s", i+2, line)
		}
	}
}

const header = "id,external_ref,account_id,status,canceled,paused,closed,suspended,pending,currency," +
	"offering_id,offering_name,plan_id,plan_name,plan_external_ref,billing_interval_type,billing_frequency," +
	"created_at,updated_at,go_live,invoice_after,paused_at,resumed_at,canceled_at,end_date\n"

func TestCSV(t *testing.T) {
	t.Parallel()
	s, vars := live(t, 1)
	odd := commerce.Subscription{ID: uuid.MustParse("6f2b0c1e-3d5a-4f7b-9c8d-0e1f2a3b4c5d")}
	odd.Attributes.ExternalRef = `=HYPERLINK("http://x","y")`
	odd.Attributes.Offering.Attributes.Name = "Smith, \"Sons\"\n& Co"
	odd.Meta.Status = "-1"
	odd.Meta.Suspended, odd.Meta.Pending = true, true
	odd.Meta.Timestamps.PausedAt = time.Date(2024, 5, 6, 1, 8, 9, 500, time.FixedZone("", 2*60*60))
	s.AddSubscription(odd)

	want := outcome{exitOK, header +
		`6f2b0c1e-3d5a-4f7b-9c8d-0e1f2a3b4c5d,"'=HYPERLINK(""http://x"",""y"")",,'-1,` +
		`false,false,false,true,true,,,"Smith, ""Sons""` + "\n" +
		`& Co",,,,,,,,,,2024-05-05T23:08:09.0000005Z,,,` + "\n" +
		"50babc88-edc9-5c16-b82b-2d0d723bc6f0,order-000001,29979e80-3e0f-52f4-9d48-2efc43cf8844,active," +
		"false,false,false,false,false,USD," +
		"4710c386-2857-56ef-a784-2d7da72caa99,Tea Box,28634858-f2a6-5468-8b45-4f0387b96b4a,Monthly,plan-2-1,month,1," +
		"2024-01-02T10:07:00.123011Z,2024-01-02T10:07:05.123011Z,2024-01-03T10:07:00.123011Z," +
		"2024-02-02T10:07:00.123011Z,,,,2026-01-02T10:07:00.123011Z\n",
		"2 subscriptions\n"}
	if diff := cmp.Diff(want, start(t.Context(), vars, "-format", "csv")); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	want = outcome{exitOK, header, embedded + "0 subscriptions\n"}
	if diff := cmp.Diff(want, start(t.Context(), nil, "-format", "csv", "-n", "0")); diff != "" {
		t.Errorf("empty (-want +got):\n%s", diff)
	}
}

// Each value of the seeded records is in its column.
func TestCSVHoldsTheRecords(t *testing.T) {
	t.Parallel()
	rows, err := csv.NewReader(strings.NewReader(start(t.Context(), nil, "-n", "60", "-format", "csv").Stdout)).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	all := want(t, 60)
	if len(rows) != 1+len(all) {
		t.Fatalf("%d rows of %d records", len(rows), len(all))
	}
	for i, r := range all {
		cells := map[string]string{}
		for k, name := range rows[0] {
			cells[name] = rows[1+i][k]
		}
		m := r.Subscription.Meta
		want := map[string]string{
			"id": r.Subscription.ID.String(), "plan_id": r.Plan.ID.String(), "plan_name": r.Plan.Attributes.Name,
			"canceled": strconv.FormatBool(m.Canceled), "canceled_at": at(m.Timestamps.CanceledAt),
			"paused": strconv.FormatBool(m.Paused), "paused_at": at(m.Timestamps.PausedAt),
			"closed": strconv.FormatBool(m.Closed), "resumed_at": at(m.Timestamps.ResumedAt), "status": m.Status,
		}
		for name, value := range want {
			if cells[name] != value {
				t.Errorf("record %d: %s is %q, want %q", i, name, cells[name], value)
			}
		}
	}
}

func TestText(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"":                   "",
		"order-000001":       "order-000001",
		"O'Brien":            "O'Brien",
		"1-2":                "1-2",
		"=1+1":               "'=1+1",
		"+49 30 1":           "'+49 30 1",
		"-5":                 "'-5",
		"@SUM(A1)":           "'@SUM(A1)",
		"\t=1":               "'\t=1",
		"\r\n =1":            "'\r\n =1",
		"\u00a0=1":           "'\u00a0=1",
		"\ufeff\u200b=1":     "'\ufeff\u200b=1",
		"\x00=1":             "'\x00=1",
		"＝1":                 "'＝1",
		"'quoted'":           "''quoted'",
		" plain with spaces": " plain with spaces",
		"\u2212 5":           "\u2212 5", // a minus sign that is no operator
	} {
		got := text(in)
		if got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
		if back := strings.TrimPrefix(got, "'"); back != in {
			t.Errorf("%q comes back as %q", in, back)
		}
	}
}

func TestFormat(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name string
		args []string
		csv  bool
	}{
		{name: "x.jsonl"},
		{name: "x.csv", csv: true},
		{name: "x.CSV", csv: true},
		{name: "csv"},
		{name: "x.csv", args: []string{"-format", "jsonl"}},
		{name: "x.jsonl", args: []string{"-format", "csv"}, csv: true},
	}
	for _, tt := range tests {
		t.Run(tt.name+strings.Join(tt.args, " "), func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			path := filepath.Join(dir, tt.name)
			got := start(t.Context(), nil, append(tt.args, "-n", "3", "-o", path)...)
			if diff := cmp.Diff(outcome{exitOK, "", embedded + "3 subscriptions to " + path + "\n"}, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			list := files(t, dir)
			content := list[tt.name]
			isCSV, isJSON := strings.HasPrefix(content, header), strings.HasPrefix(content, `{"subscription":{"id"`)
			if isCSV != tt.csv || isJSON == tt.csv {
				t.Errorf("content %.40q, want CSV: %t", content, tt.csv)
			}
			if len(list) != 1 {
				t.Errorf("%d files", len(list))
			}
		})
	}
}

func TestStandardOutputByName(t *testing.T) {
	t.Parallel()
	if diff := cmp.Diff(start(t.Context(), nil, "-n", "3"), start(t.Context(), nil, "-n", "3", "-o", "-")); diff != "" {
		t.Errorf("(-without +with):\n%s", diff)
	}
}

func TestReplacesAnOlderFile(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := filepath.Join(dir, "x.jsonl")
	if err := os.WriteFile(path, []byte("older"), 0o600); err != nil {
		t.Fatal(err)
	}
	during := map[string]string{}
	create := func(dir, pattern string) (file, error) {
		f, err := os.CreateTemp(dir, pattern)
		return hook{f, func(p []byte) (int, error) {
			during = files(t, dir)
			return f.Write(p)
		}}, err
	}
	got := startWith(t.Context(), create, nil, "-n", "110", "-o", path)
	if got.Code != exitOK || during["x.jsonl"] != "older" || len(during) != 2 {
		t.Errorf("code %d, %d files during the export", got.Code, len(during))
	}
	list := files(t, dir)
	if diff := cmp.Diff(want(t, 110), decode(t, list["x.jsonl"]), same); diff != "" || len(list) != 1 {
		t.Errorf("%d files, records (-want +got):\n%s", len(list), diff)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
}

// A rename over a folder, a link or a device would destroy it.
func TestNotPlainFile(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	link, folder := filepath.Join(dir, "link"), filepath.Join(dir, "folder")
	if err := os.Symlink("nowhere", link); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(folder, 0o700); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{link, folder, os.DevNull} {
		text := embedded + self + path + " exists, and is not a plain file; use - for standard output\n"
		want := outcome{Code: exitUsage, Stderr: text}
		create := func(string, string) (file, error) {
			t.Errorf("%s: a temporary file was made", path)
			return nil, errors.ErrUnsupported
		}
		if diff := cmp.Diff(want, startWith(t.Context(), create, nil, "-n", "3", "-o", path)); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	}
}

func TestNoFolder(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "missing", "x.csv")
	want := outcome{exitFailed, "", embedded + self + "can't write " + path + ": no such file or directory\n"}
	if diff := cmp.Diff(want, start(t.Context(), nil, "-n", "3", "-o", path)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestFilters(t *testing.T) {
	t.Parallel()
	s, vars := live(t, 60)
	all := decode(t, start(t.Context(), vars).Stdout)
	account := all[10].Subscription.Attributes.AccountID
	who, ok := s.SubscriberOf(account)
	if !ok {
		t.Fatal("the account has no subscriber")
	}
	ofAccount := func(a commerce.SubscriptionAttributes) bool { return a.AccountID == account }
	tests := []struct {
		flag, value string
		keep        func(commerce.SubscriptionAttributes) bool
	}{
		{flag: "-account", value: account.String(), keep: ofAccount},
		{flag: "-email", value: who.Email, keep: ofAccount},
		{flag: "-name", value: who.Name, keep: func(a commerce.SubscriptionAttributes) bool {
			other, _ := s.SubscriberOf(a.AccountID)
			return other.Name == who.Name
		}},
		{flag: "-external-ref", value: "order-000007", keep: func(a commerce.SubscriptionAttributes) bool {
			return a.ExternalRef == "order-000007"
		}},
	}
	for _, tt := range tests {
		t.Run(tt.flag, func(t *testing.T) {
			t.Parallel()
			var want []record
			for _, r := range all {
				if tt.keep(r.Subscription.Attributes) {
					want = append(want, r)
				}
			}
			if len(want) == 0 || len(want) == len(all) {
				t.Fatalf("%d of %d records are no test", len(want), len(all))
			}
			got := decode(t, start(t.Context(), vars, tt.flag, tt.value).Stdout)
			if diff := cmp.Diff(want, got, same); diff != "" {
				t.Errorf("records (-want +got):\n%s", diff)
			}
		})
	}
}

// The parts of an export make the whole when they are put together.
func TestOffset(t *testing.T) {
	t.Parallel()
	for _, format := range []string{"jsonl", "csv"} {
		whole := start(t.Context(), nil, "-n", "120", "-format", format)
		rest := start(t.Context(), nil, "-n", "120", "-format", format, "-offset", "17")
		lines := strings.SplitAfter(whole.Stdout, "\n")
		if format == "csv" {
			lines = lines[1:]
		}
		want := outcome{exitOK, strings.Join(lines[17:], ""), embedded + "103 subscriptions\n"}
		if diff := cmp.Diff(want, rest); diff != "" {
			t.Errorf("%s (-want +got):\n%s", format, diff)
		}
	}
}

// Times are exact: the clock is that of synctest.
func TestTime(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name string
		args []string
		want string
	}{
		{name: "no time", args: []string{"-n", "1"}, want: "1 subscription in 0s"},
		{name: "latency", args: []string{"-latency", "1s"}, want: "300 subscriptions in 4s (75 a second)"},
		{name: "rate", args: []string{"-rate", "0.5"}, want: "300 subscriptions in 6s (50 a second)"},
		{name: "sequential", args: []string{"-n", "500", "-latency", "1s"}, want: "500 subscriptions in 6s (83 a second)"},
		{name: "concurrent", args: []string{"-n", "500", "-latency", "1s", "-concurrency", "16"},
			want: "500 subscriptions in 4s (125 a second)"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				var stderr bytes.Buffer
				code := run(t.Context(), tt.args, system{func(string) string { return "" }, io.Discard, &stderr, createTemp})
				if diff := cmp.Diff(embedded+tt.want+"\n", stderr.String()); diff != "" || code != exitOK {
					t.Errorf("code %d, stderr (-want +got):\n%s", code, diff)
				}
			})
		})
	}
}

func TestUsage(t *testing.T) {
	t.Parallel()
	tests := []struct {
		arg     string
		problem string // of the value
	}{
		{arg: "-o=", problem: "must not be empty"},
		{arg: "-format=xlsx", problem: "must be jsonl or csv"},
		{arg: "-account=x", problem: "must be a UUID, and not the zero UUID"},
		{arg: "-name=", problem: "must not be empty"},
		{arg: "-offset=-1", problem: "must be a whole number from 0 to 10000"},
		{arg: "-offset=10001", problem: "must be a whole number from 0 to 10000"},
		{arg: "-concurrency=0", problem: "must be a whole number from 1 to 16"},
		{arg: "-concurrency=17", problem: "must be a whole number from 1 to 16"},
		{arg: "-rate=0", problem: "must be a number from 0.01 to 10000"},
		{arg: "-rate=Inf", problem: "must be a number from 0.01 to 10000"},
		{arg: "-rate=NaN", problem: "must be a number from 0.01 to 10000"},
		{arg: "-rate=10/s", problem: "must be a number from 0.01 to 10000"},
		{arg: "-n=-1", problem: "must be a whole number from 0 to 100000"},
		{arg: "-latency=-1s", problem: "must be a time from 0s to 10s"},
		{arg: "-latency=11s", problem: "must be a time from 0s to 10s"},
		{arg: "-latency=20", problem: "must be a time from 0s to 10s"},
	}
	for _, tt := range tests {
		t.Run(tt.arg, func(t *testing.T) {
			t.Parallel()
			name, value, _ := strings.Cut(tt.arg, "=")
			text := fmt.Sprintf("%sinvalid value %q for flag %s: %s (-h for help)\n", self, value, name, tt.problem)
			if diff := cmp.Diff(outcome{Code: exitUsage, Stderr: text}, start(t.Context(), nil, tt.arg)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// The library finds some problems. No file is left.
func TestUsage_library(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	want := outcome{exitUsage, "", embedded + self + "commerce: invalid argument: filter.name must be valid UTF-8\n"}
	got := start(t.Context(), nil, "-n", "3", "-name", "\xff", "-o", filepath.Join(dir, "x.csv"))
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if list := files(t, dir); len(list) != 0 {
		t.Errorf("left behind: %v", list)
	}
}

func TestHelp(t *testing.T) {
	t.Parallel()
	got := start(t.Context(), nil, "-h")
	if got.Code != exitOK || got.Stderr != "" {
		t.Errorf("code %d, stderr %q", got.Code, got.Stderr)
	}
	for _, part := range []string{"-concurrency n", "\n  0 ", "\n  1 ", "\n  2 ", "\n  3 ", "\n  130 ", "143"} {
		if !strings.Contains(got.Stdout, part) {
			t.Errorf("help does not hold %q:\n%s", part, got.Stdout)
		}
	}
}

func TestIncompleteEnvironment(t *testing.T) {
	t.Parallel()
	want := outcome{Code: exitUsage, Stderr: self + "COMMERCE_BASE_URL must be set too, as credentials are set\n"}
	if diff := cmp.Diff(want, start(t.Context(), map[string]string{"COMMERCE_TOKEN": "canary"})); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// advice is what is printed after the reason of a stop.
func advice(offset int, another string) string {
	return fmt.Sprintf("\tto continue, use -offset %d%s, and join the parts\n", offset, another) +
		"\tif records are added or removed meanwhile, one may come twice or be missing: to prevent\n" +
		"\tthat, use a smaller -offset and drop the records whose ids you have; if the first record\n" +
		"\tis a new one, start over\n"
}

func TestFailure(t *testing.T) {
	t.Parallel()
	s, vars := live(t, 120)
	forbidden := commercetest.Fault{Operation: commercetest.OpList, After: 1, Status: http.StatusForbidden,
		Body: `{"errors":[{"title":"Forbidden","detail":"not your store"}]}`}
	dir := t.TempDir()
	path := filepath.Join(dir, "x.jsonl")
	if err := os.WriteFile(path, []byte("older"), 0o600); err != nil {
		t.Fatal(err)
	}
	s.Inject(forbidden)
	got := start(t.Context(), vars, "-o", path)
	for _, part := range []string{
		"100 subscriptions to " + path + ".0-100.partial\n" + self +
			"commerce: walk stopped at offset 100 after 100 records: ",
		"403 Forbidden", "\n\tnot your store\n" + advice(100, " and another -o"),
	} {
		if !strings.Contains(got.Stderr, part) {
			t.Errorf("stderr %q does not hold %q", got.Stderr, part)
		}
	}
	if strings.Contains(got.Stderr, s.Config().Token) {
		t.Error("the output shows the token")
	}
	list := files(t, dir)
	if got.Code != exitFailed || list["x.jsonl"] != "older" || len(list) != 2 {
		t.Errorf("code %d, %d files, x.jsonl %.10q", got.Code, len(list), list["x.jsonl"])
	}
	if diff := cmp.Diff(want(t, 120)[:100], decode(t, list["x.jsonl.0-100.partial"]), same); diff != "" {
		t.Errorf("records (-want +got):\n%s", diff)
	}

	// Without exported records there is nothing to keep and nothing to continue.
	forbidden.After = 0
	s.Inject(forbidden)
	got = start(t.Context(), vars, "-o", filepath.Join(dir, "y.jsonl"))
	if got.Code != exitFailed || !strings.HasPrefix(got.Stderr, self+"commerce: walk stopped after 0 records: ") ||
		!strings.HasSuffix(got.Stderr, "\n\tnot your store\n") {
		t.Errorf("code %d, stderr %q", got.Code, got.Stderr)
	}
	if diff := cmp.Diff(list, files(t, dir)); diff != "" {
		t.Errorf("files (-before +after):\n%s", diff)
	}
}

// endless serves a list without an end. Its records hold only an id. first returns the
// number in the first id at an offset.
func endless(first func(offset int) int) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		offset, _ := strconv.Atoi(r.FormValue("page[offset]"))
		limit, _ := strconv.Atoi(r.FormValue("page[limit]"))
		var records []string
		for i := range limit {
			records = append(records, fmt.Sprintf(`{"id":"00000000-0000-4000-8000-%012d"}`, first(offset)+i))
		}
		_, _ = fmt.Fprintf(w, `{"data":[%s]}`, strings.Join(records, ","))
	}
}

func TestOffsetLimit(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := filepath.Join(dir, "x.csv")
	got := start(t.Context(), serve(t, endless(func(offset int) int { return offset })), "-o", path)
	list := files(t, dir)
	rows := strings.Count(list["x.csv.0-10100.partial"], "\n")
	if got.Code != exitOffsetLimit || rows != 1+10_100 || len(list) != 1 {
		t.Errorf("code %d, %d rows, %d files", got.Code, rows, len(list))
	}
	if !strings.HasPrefix(got.Stderr, "10100 subscriptions to "+path+".0-10100.partial\n"+self) ||
		!strings.Contains(got.Stderr, commerce.ErrOffsetLimit.Error()) ||
		!strings.HasSuffix(got.Stderr, "\n\tthe export may not be complete: "+
			"export in parts, one -account, -name or -email at a time\n") {
		t.Errorf("stderr = %q, want the number of subscriptions and what to do", got.Stderr)
	}
}

// No walk begins above the highest offset. An export that stopped there continues at the
// highest offset, and exports some records again.
func TestStopBeyondTheHighestOffset(t *testing.T) {
	t.Parallel()
	list := endless(func(offset int) int { return offset })
	vars := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.FormValue("page[offset]") == "10000" {
			w.WriteHeader(http.StatusForbidden)
			return
		}
		list(w, r)
	})
	dir := t.TempDir()
	got := start(t.Context(), vars, "-offset", "9990", "-o", filepath.Join(dir, "x"))
	if got.Code != exitFailed || !strings.HasSuffix(got.Stderr, advice(10_000, " and another -o")) {
		t.Errorf("code %d, stderr %q", got.Code, got.Stderr)
	}
	if n := len(decode(t, files(t, dir)["x.9990-10090.partial"])); n != 100 {
		t.Errorf("%d records are kept, want 100", n)
	}
}

// A list that changes with each request can't be continued.
func TestListDrift(t *testing.T) {
	t.Parallel()
	var n atomic.Int64
	vars := serve(t, endless(func(int) int { return int(n.Add(1000)) }))
	got := start(t.Context(), vars)
	if got.Code != exitFailed || strings.Contains(got.Stderr, "-offset") ||
		!strings.Contains(got.Stderr, commerce.ErrListDrift.Error()) {
		t.Errorf("code %d, stderr %q", got.Code, got.Stderr)
	}
}

// hook is a temporary file that replaces Write.
type hook struct {
	*os.File
	write func(p []byte) (int, error)
}

func (h hook) Write(p []byte) (int, error) { return h.write(p) }

// atWrite returns a createTemp that calls f when the file is written to for the first time.
func atWrite(f func()) func(dir, pattern string) (file, error) {
	return func(dir, pattern string) (file, error) {
		temp, err := os.CreateTemp(dir, pattern)
		return hook{temp, func(p []byte) (int, error) {
			f()
			return temp.Write(p)
		}}, err
	}
}

func TestInterrupted(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name  string
		cause error
		code  int
	}{
		{"Ctrl-C", stopSignal{os.Interrupt}, 130},
		{"SIGTERM", stopSignal{syscall.SIGTERM}, 143},
		{"no signal", nil, 130},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithCancelCause(t.Context())
			dir := t.TempDir()
			path := filepath.Join(dir, "x.csv")
			got := startWith(ctx, atWrite(func() { cancel(tt.cause) }), nil, "-n", "300", "-o", path)

			// A page that was read in advance may still be kept.
			list := files(t, dir)
			kept, next := "", 0
			for name := range list {
				kept = name
				if _, err := fmt.Sscanf(name, "x.csv.0-%d.partial", &next); err != nil {
					t.Errorf("%s: %v", name, err)
				}
			}
			want := outcome{tt.code, "", embedded + fmt.Sprintf("%d subscriptions to %s.0-%d.partial\n", next, path, next) +
				self + "interrupted: the export is not complete\n" + advice(next, " and another -o")}
			if diff := cmp.Diff(want, got); diff != "" || len(list) != 1 || next < 100 || next >= 300 {
				t.Errorf("%d files, the next is %d, (-want +got):\n%s", len(list), next, diff)
			}

			whole := start(t.Context(), nil, "-n", "300", "-format", "csv").Stdout
			rest := start(t.Context(), nil, "-n", "300", "-format", "csv", "-offset", strconv.Itoa(next)).Stdout
			if diff := cmp.Diff(whole, list[kept]+rest); diff != "" {
				t.Errorf("the parts are not the whole (-want +got):\n%s", diff)
			}

			want = outcome{tt.code, "", embedded + self + "interrupted: the export is not complete\n"}
			if diff := cmp.Diff(want, start(ctx, nil, "-o", filepath.Join(dir, "y"))); diff != "" {
				t.Errorf("before the walk (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(list, files(t, dir)); diff != "" {
				t.Errorf("files (-before +after):\n%s", diff)
			}
		})
	}
}

// writer is a writer by a function.
type writer func(p []byte) (int, error)

func (w writer) Write(p []byte) (int, error) { return w(p) }

func TestInterruptedToStandardOutput(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancelCause(t.Context())
	var stdout, stderr bytes.Buffer
	stop := writer(func(p []byte) (int, error) {
		cancel(stopSignal{syscall.SIGTERM})
		return stdout.Write(p)
	})
	code := run(ctx, []string{"-n", "300"}, system{func(string) string { return "" }, stop, &stderr, createTemp})
	n := len(decode(t, stdout.String()))
	want := embedded + fmt.Sprintf("%d subscriptions\n", n) + self +
		"interrupted: the export is not complete\n" + advice(n, "")
	if diff := cmp.Diff(want, timeless(stderr.String())); diff != "" || code != 143 || n < 100 || n >= 300 {
		t.Errorf("code %d, %d records, stderr (-want +got):\n%s", code, n, diff)
	}
}

// faulty is a temporary file with faults.
type faulty struct {
	*os.File
	write       func(f *os.File, p []byte) (int, error)
	sync, close error
}

func (f faulty) Write(p []byte) (int, error) {
	if f.write == nil {
		return f.File.Write(p)
	}
	return f.write(f.File, p)
}

func (f faulty) Sync() error { return errors.Join(f.sync, f.File.Sync()) }

func (f faulty) Close() error { return errors.Join(f.File.Close(), f.close) }

func TestWriteFails(t *testing.T) {
	t.Parallel()
	full := &os.PathError{Op: "write", Path: "x.tmp", Err: syscall.ENOSPC}
	tests := []struct {
		name   string
		create func(dir, pattern string) (file, error)
		want   string
	}{
		{"no file", func(string, string) (file, error) { return nil, full }, "no space left on device"},
		{"write", broken(faulty{write: func(*os.File, []byte) (int, error) { return 0, full }}), "no space left on device"},
		{"part of a write", broken(faulty{write: func(f *os.File, p []byte) (int, error) {
			n, err := f.Write(p[:1])
			return n, errors.Join(err, full)
		}}), "no space left on device"},
		{"write after a while", broken(faulty{write: func(f *os.File, p []byte) (int, error) {
			if info, err := f.Stat(); err != nil || info.Size() > 20_000 {
				return 0, full
			}
			return f.Write(p)
		}}), "no space left on device"},
		{"short write", broken(faulty{write: func(f *os.File, p []byte) (int, error) {
			return f.Write(p[:len(p)-1])
		}}), "short write"},
		{"sync", broken(faulty{sync: full}), "no space left on device"},
		{"close", broken(faulty{close: full}), "no space left on device"},
	}
	for _, tt := range tests {
		for _, format := range []string{"jsonl", "csv"} {
			t.Run(tt.name+" "+format, func(t *testing.T) {
				t.Parallel()
				dir := t.TempDir()
				path := filepath.Join(dir, "x")
				want := outcome{exitFailed, "", embedded + self + "can't write " + path + ": " + tt.want + "\n"}
				got := startWith(t.Context(), tt.create, nil, "-format", format, "-n", "110", "-o", path)
				if diff := cmp.Diff(want, got); diff != "" {
					t.Errorf("(-want +got):\n%s", diff)
				}
				if list := files(t, dir); len(list) != 0 {
					t.Errorf("left behind: %d files", len(list))
				}
			})
		}
	}
}

// broken returns a createTemp that makes files like f.
func broken(f faulty) func(dir, pattern string) (file, error) {
	return func(dir, pattern string) (file, error) {
		temp, err := os.CreateTemp(dir, pattern)
		return faulty{temp, f.write, f.sync, f.close}, err
	}
}

// The error that stopped the walk must not hide that the records were not kept.
func TestWriteFailsAfterAStop(t *testing.T) {
	t.Parallel()
	s, vars := live(t, 120)
	s.Inject(commercetest.Fault{Operation: commercetest.OpList, After: 1, Status: http.StatusForbidden})
	dir := t.TempDir()
	path := filepath.Join(dir, "x")
	got := startWith(t.Context(), broken(faulty{sync: syscall.EIO}), vars, "-o", path)
	text := self + "can't write " + path + ": input/output error\n" + self + "commerce: walk stopped"
	if got.Code != exitFailed || !strings.HasPrefix(got.Stderr, text) || strings.Contains(got.Stderr, "-offset") {
		t.Errorf("code %d, stderr %q", got.Code, got.Stderr)
	}
	if list := files(t, dir); len(list) != 0 {
		t.Errorf("left behind: %d files", len(list))
	}
}

// A folder with the name is created during the export.
func TestRenameFails(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := filepath.Join(dir, "x.csv")
	create := atWrite(func() { _ = os.MkdirAll(path, 0o700) })
	got := startWith(t.Context(), create, nil, "-n", "3", "-o", path)
	if want := embedded + self + "can't write " + path + ": file exists\n"; got.Code != exitFailed || got.Stderr != want {
		t.Errorf("code %d, stderr %q, want %q", got.Code, got.Stderr, want)
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) != 1 {
		t.Errorf("%d entries, want the folder alone; %v", len(entries), err)
	}
}

func TestRemoveFails(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := filepath.Join(dir, "x.csv")
	create := broken(faulty{write: func(f *os.File, _ []byte) (int, error) { return 0, os.Remove(f.Name()) }})
	got := startWith(t.Context(), create, nil, "-n", "3", "-o", path)
	text := self + "can't remove the temporary file: remove " + path
	if got.Code != exitFailed || !strings.Contains(got.Stderr, text) || !strings.HasSuffix(got.Stderr, ": short write\n") {
		t.Errorf("code %d, stderr %q", got.Code, got.Stderr)
	}
}

func TestStandardOutputFails(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name  string
		write writer
		want  string
	}{
		{"closed", func([]byte) (int, error) { return 0, errors.New("it is gone") }, "it is gone"},
		{"short", func(p []byte) (int, error) { return len(p) - 1, nil }, "short write"},
	}
	for _, tt := range tests {
		for _, format := range []string{"jsonl", "csv"} {
			t.Run(tt.name+" "+format, func(t *testing.T) {
				t.Parallel()
				var stderr bytes.Buffer
				sys := system{func(string) string { return "" }, tt.write, &stderr, createTemp}
				code := run(t.Context(), []string{"-format", format}, sys)
				want := embedded + self + "can't write standard output: " + tt.want + "\n"
				if diff := cmp.Diff(want, stderr.String()); diff != "" || code != exitFailed {
					t.Errorf("code %d, stderr (-want +got):\n%s", code, diff)
				}
			})
		}
	}
}
