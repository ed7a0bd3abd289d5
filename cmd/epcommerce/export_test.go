//go:build linux

package main

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/commerce-go/commerce"
	"github.com/commerce-go/commerce/commercetest"
)

// maxMemory is how much memory an export may use, in KiB.
const maxMemory = 64 << 10

var peak = regexp.MustCompile(`VmHWM:\s*(\d+) kB`)

// Exports a store, is killed again and again, and looks at the file. TOOL=1 makes it a store of
// 250,000 and five kills: see make proof NAME=tool.
func TestExport_killed(t *testing.T) {
	t.Parallel()
	n, kills, requests, latency := 4500, 2, 8, 100*time.Millisecond
	if os.Getenv("TOOL") != "" {
		n, kills, requests, latency = 250_000, 5, 400, 0
	}
	for _, format := range []string{"jsonl", "csv"} {
		t.Run(format, func(t *testing.T) {
			if n < 100_000 {
				t.Parallel()
			}
			for _, generation := range []commercetest.Generation{commercetest.FirstGeneration, commercetest.SecondGeneration} {
				t.Run(generation.String(), func(t *testing.T) {
					k := &killer{flags: []string{"--subscribers"}}
					s := commercetest.New(t, commercetest.Config{Generation: generation, AfterRequest: k.afterRequest})
					s.Seed(n)
					s.Inject(commercetest.Fault{Operation: commercetest.OpList, Delay: latency, Times: -1})
					path := filepath.Join(t.TempDir(), "subs."+format)
					for range kills {
						k.exportAndKill(t, s, path, requests)
					}
					start := time.Now()
					resumed := k.start(t, s, path)
					if err := resumed.Wait(); err != nil {
						t.Fatalf("got %v and %s, want the rest of the export", err, resumed.Stderr)
					}
					if !strings.Contains(resumed.Stderr.(*bytes.Buffer).String(), "going on after ") {
						t.Errorf("got %s, want an export that goes on", resumed.Stderr)
					}
					t.Logf("%d %s, %d kills, last run %v, at most %d KiB", n, format, kills, time.Since(start), k.memory)
					if kib := k.memory; kib == 0 || kib > maxMemory {
						t.Errorf("got %d KiB, want at most %d", kib, maxMemory)
					}
					if got := checkFile(t, s, path); got != n {
						t.Errorf("got %d addresses, want %d", got, n)
					}
				})
			}
		})
	}
}

// killer kills an export at a number of list requests, as kill -9 does.
type killer struct {
	mu        sync.Mutex
	signal    os.Signal // default: SIGKILL
	countdown int
	path      string
	state     []byte // at the start
	always    bool   // counts also if it has not got on
	seen      int
	flags     []string // of export
	process   *os.Process
	memory    int64 // the peak of the largest run, in KiB
}

func (k *killer) afterRequest(_ *commercetest.Store, in commercetest.Request) {
	if in.Operation != commercetest.OpList {
		return
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	// The Maxrss of the rusage begins with the memory of the parent, which has the store.
	if k.process == nil {
		return
	}
	status, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", k.process.Pid))
	if match := peak.FindSubmatch(status); match != nil {
		kib, _ := strconv.ParseInt(string(match[1]), 10, 64)
		k.memory = max(k.memory, kib)
	}
	state, _ := os.ReadFile(k.path + ".state")
	if bytes.Equal(state, k.state) && !k.always {
		return // to be killed, it must have got on, and have written more after that
	}
	if k.countdown--; k.countdown == 0 {
		_ = k.process.Signal(cmp.Or[os.Signal](k.signal, syscall.SIGKILL))
	}
}

// start starts an export. The store responds to it after it is known here.
func (k *killer) start(t *testing.T, s *commercetest.Store, path string, args ...string) *exec.Cmd {
	t.Helper()
	args = slices.Concat([]string{"subscriptions", "export", path}, k.flags, args)
	cmd := exec.CommandContext(t.Context(), binary, args...)
	for name, value := range pairEnv(s) {
		cmd.Env = append(cmd.Env, name+"="+value)
	}
	cmd.Stderr = &bytes.Buffer{}
	k.mu.Lock()
	defer k.mu.Unlock()
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	k.process, k.path = cmd.Process, path
	k.state, _ = os.ReadFile(path + ".state")
	return cmd
}

func (k *killer) exportAndKill(t *testing.T, s *commercetest.Store, path string, requests int) {
	t.Helper()
	k.mu.Lock() // requests of the run before may be in progress
	k.countdown = requests
	k.mu.Unlock()
	cmd := k.start(t, s, path)
	_ = cmd.Wait()
	if status, ok := cmd.ProcessState.Sys().(syscall.WaitStatus); !ok || status.Signal() != syscall.SIGKILL {
		t.Fatalf("got %v and %s, want an export that was killed", cmd.ProcessState, cmd.Stderr)
	}
	if _, err := os.Stat(path); !errors.Is(err, os.ErrNotExist) {
		t.Fatalf("got a file, want none before the export is complete")
	}
}

// checkFile compares a file with the store: each subscription once, with its plan. It returns how
// many have the address of their subscriber.
func checkFile(t *testing.T, s *commercetest.Store, path string, leftovers ...string) (addresses int) {
	t.Helper()
	missing := map[uuid.UUID]string{} // with what the file must say
	emails := map[uuid.UUID]string{}
	for sub := range s.Subscriptions() {
		who, _ := s.SubscriberOf(sub.Attributes.AccountID)
		emails[sub.ID] = " " + who.Email
		missing[sub.ID] = strings.Join([]string{
			sub.Attributes.ExternalRef, sub.Attributes.AccountID.String(), sub.Attributes.PlanID.String(), sub.Meta.Status,
			id(sub.Attributes.PricingOptionID), sub.Meta.InvoiceAfter.Format(time.RFC3339Nano), "true",
		}, " ")
	}
	file, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = file.Close() }()
	next := jsonRows(file)
	if filepath.Ext(path) == ".csv" {
		next = csvRows(t, file)
	}
	for row := 1; ; row++ {
		id, got, err := next()
		if errors.Is(err, io.EOF) {
			break
		}
		want, ok := missing[id]
		if short, isThere := strings.CutSuffix(got, emails[id]); isThere {
			got = short
			addresses++
		}
		if err != nil || !ok || got != want {
			t.Fatalf("row %d: got %s and %v, want %s, once", row, got, err, want)
		}
		delete(missing, id)
	}
	if len(missing) > 0 {
		t.Errorf("%d subscriptions are missing", len(missing))
	}
	if len(leftovers) == 0 {
		leftovers = []string{".part", ".state", ".state.tmp", ".lock"}
	}
	for _, left := range leftovers {
		if _, err := os.Stat(path + left); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("got %s%s after the export, want none", path, left)
		}
	}
	return addresses
}

// jsonRows returns a function that reads a line, as checkFile needs it.
func jsonRows(r io.Reader) func() (uuid.UUID, string, error) {
	decoder := json.NewDecoder(bufio.NewReader(r))
	return func() (uuid.UUID, string, error) {
		var row struct {
			Subscription  commerce.Subscription
			Plan          *commerce.Plan
			Email         *string                 `json:"subscriber_email"`
			PricingOption *commerce.PricingOption `json:"pricing_option"`
		}
		if err := decoder.Decode(&row); err != nil {
			return uuid.Nil, "", err
		}
		a := row.Subscription.Attributes
		isComplete := row.Plan.ID == a.PlanID && (row.PricingOption == nil) == (a.PricingOptionID == uuid.Nil)
		return row.Subscription.ID, strings.Join([]string{
			a.ExternalRef, a.AccountID.String(), row.Plan.ID.String(), row.Subscription.Meta.Status, id(a.PricingOptionID),
			row.Subscription.Meta.InvoiceAfter.Format(time.RFC3339Nano), strconv.FormatBool(isComplete),
		}, " ") + withSpace(row.Email), nil
	}
}

// withSpace returns a space and a text, if there is one.
func withSpace(text *string) string {
	if text == nil {
		return ""
	}
	return " " + *text
}

// csvRows is jsonRows for CSV.
func csvRows(t *testing.T, r io.Reader) func() (uuid.UUID, string, error) {
	t.Helper()
	reader := csv.NewReader(r)
	head, err := reader.Read()
	if err != nil {
		t.Fatal(err)
	}
	return func() (uuid.UUID, string, error) {
		row, err := reader.Read()
		if err != nil {
			return uuid.Nil, "", err
		}
		of := map[string]string{}
		for i, column := range head {
			of[column] = row[i]
		}
		isComplete := of["plan_name"] != "" && (of["pricing_option_name"] == "") == (of["pricing_option_id"] == "") &&
			of["billing_interval_type"] != "" && of["price_amount"] != ""
		var email *string
		if text, ok := of["subscriber_email"]; ok {
			email = &text
		}
		id, err := uuid.Parse(of["id"])
		return id, strings.Join([]string{
			of["external_ref"], of["account_id"], of["plan_id"], of["status"], of["pricing_option_id"], of["invoice_after"],
			strconv.FormatBool(isComplete),
		}, " ") + withSpace(email), err
	}
}

// Ctrl-C ends an export cleanly, and the same command goes on. The second Ctrl-C is not needed.
func TestExport_interrupted(t *testing.T) {
	t.Parallel()
	k := &killer{signal: os.Interrupt, countdown: 2}
	s := commercetest.New(t, commercetest.Config{AfterRequest: k.afterRequest})
	s.Seed(4500)
	s.Inject(commercetest.Fault{Operation: commercetest.OpList, Delay: 100 * time.Millisecond, Times: -1})
	path := filepath.Join(t.TempDir(), "subs.csv")
	cmd := k.start(t, s, path)
	_ = cmd.Wait()
	message := cmd.Stderr.(*bytes.Buffer).String()
	if cmd.ProcessState.ExitCode() != exitInterrupted || !strings.Contains(message, "the same command goes on") {
		t.Errorf("got %v and %s, want exit code %d and how to go on", cmd.ProcessState, message, exitInterrupted)
	}
	got := caller{env: pairEnv(s)}.run(t, "subscriptions", "export", path)
	if !strings.Contains(got.stderr, "going on after ") {
		t.Errorf("got %+v, want an export that goes on", got)
	}
	checkFile(t, s, path)
}

func TestExport_states(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		state, part string
		args        []string
		code        int
		want        string // on standard error
	}{
		"another store": {state: `{"Store": "x"}`, code: exitUsage, want: "--restart"},
		"not a state":   {state: `{`, code: exitUsage, want: "--restart"},
		"other flags":   {state: `{"Store": "demo", "Content": "x"}`, code: exitUsage, want: "--restart"},
		"shorter part": {
			state: `{"Store": "demo", "Content": "{ [] false false false false }", "Length": 5}`, part: "1234",
			code: exitUsage, want: "--restart",
		},
		"the same": {
			state: `{"Store": "demo", "Content": "{ [] false false false false }"}`, part: "1234", want: "2500 subscriptions",
		},
		"start over":        {state: `{"Store": "x"}`, part: "1234", args: []string{"--restart"}, want: "2500 subscriptions"},
		"part, no state":    {part: "1234", want: "2500 subscriptions"},
		"longer part":       {part: strings.Repeat("x", 1<<23), want: "2500 subscriptions"},
		"nothing to resume": {want: "2500 subscriptions"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), "subs.jsonl")
			for suffix, content := range map[string]string{".state": row.state, ".part": row.part} {
				if content == "" {
					continue
				}
				if err := os.WriteFile(path+suffix, []byte(content), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			got := caller{}.run(t, append([]string{"--demo", "subscriptions", "export", path}, row.args...)...)
			if got.code != row.code || !strings.Contains(got.stderr, row.want) {
				t.Errorf("got %+v, want exit code %d and %q", got, row.code, row.want)
			}
			if text, _ := os.ReadFile(path); row.code == 0 && bytes.Count(text, []byte("\n")) != 2500 {
				t.Errorf("got %d lines, want 2500", bytes.Count(text, []byte("\n")))
			}
		})
	}
}

// With a token it cannot be known whether the part is of the same store: a person must say so.
func TestExport_token(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		c    caller
		args []string
		pair bool // client credentials
		code int
		want string
	}{
		"program":            {code: exitUsage, want: "--resume"},
		"program, resume":    {args: []string{"--resume"}, want: "going on after "},
		"program, restart":   {args: []string{"--restart"}, want: "1000 subscriptions are in"},
		"terminal, yes":      {c: caller{terminal: true, stdin: "y\n"}, want: "going on after "},
		"terminal, no":       {c: caller{terminal: true, stdin: "n\n"}, code: exitFailed, want: "same store"},
		"client credentials": {pair: true, want: "going on after "},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithCancel(t.Context())
			var lists atomic.Int32
			s := commercetest.New(t, commercetest.Config{AfterRequest: func(_ *commercetest.Store, in commercetest.Request) {
				if in.Operation == commercetest.OpList && lists.Add(1) == 3 {
					cancel()
				}
			}})
			s.Seed(1000)
			row.c.env = storeEnv(s)
			if row.pair {
				row.c.env = pairEnv(s)
			}
			path := filepath.Join(t.TempDir(), "subs.jsonl")
			first := caller{ctx: ctx, env: row.c.env}.run(t, "subscriptions", "export", path)
			if first.code != exitInterrupted {
				t.Fatalf("got %+v, want exit code %d", first, exitInterrupted)
			}
			got := row.c.run(t, append([]string{"subscriptions", "export", path}, row.args...)...)
			if got.code != row.code || !strings.Contains(got.stderr, row.want) {
				t.Errorf("got %+v, want exit code %d and %q", got, row.code, row.want)
			}
			if row.code == 0 {
				checkFile(t, s, path)
			}
		})
	}
}

// A run that starts over leaves nothing of the state before, also if it is killed before it has a
// state of its own.
func TestExport_restartKilled(t *testing.T) {
	t.Parallel()
	k := &killer{countdown: 8}
	s := commercetest.New(t, commercetest.Config{AfterRequest: k.afterRequest})
	s.Seed(3000)
	path := filepath.Join(t.TempDir(), "subs.jsonl")
	var third uuid.UUID
	for id, err := range s.Client().Accounts.IDs(t.Context(), uuid.Nil) {
		if err != nil {
			t.Fatal(err)
		}
		third = id
		if k.seen++; k.seen == 3 {
			break
		}
	}
	env := pairEnv(s)
	shop := openShop(t, env)
	state, err := json.Marshal(exportState{Store: shop.identity, Finished: third, Length: 4, Count: 1})
	if err != nil {
		t.Fatal(err)
	}
	for suffix, text := range map[string]string{".state": string(state), ".part": "{}\n\n"} {
		if err := os.WriteFile(path+suffix, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	k.always = true
	cmd := k.start(t, s, path, "--restart")
	_ = cmd.Wait()
	if got := (caller{env: pairEnv(s)}).run(t, "subscriptions", "export", path); got.code != 0 {
		t.Fatalf("got %+v, want exit code 0", got)
	}
	checkFile(t, s, path)
}

// A lock on a file that was removed is none.
func TestIsAt(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "lock")
	file, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = file.Close() }()
	opened, err := file.Stat()
	if err != nil || !isAt(opened, path) {
		t.Errorf("got %v, want the file at its path", err)
	}
	if err := errors.Join(os.Rename(path, path+"2"), os.WriteFile(path, nil, 0o600)); err != nil {
		t.Fatal(err)
	}
	if isAt(opened, path) {
		t.Error("got the file of before, want another one")
	}
	if err := errors.Join(os.Remove(path), os.Symlink(path+"2", path)); err != nil || isAt(opened, path) {
		t.Errorf("got %v, want that a link is not the file", err)
	}
}

// A second export to the same file is refused while the first one runs.
func TestExport_twice(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "subs.jsonl")
	var s *commercetest.Store
	var second result
	var once sync.Once
	s = commercetest.New(t, commercetest.Config{AfterRequest: func(_ *commercetest.Store, in commercetest.Request) {
		if in.Operation == commercetest.OpList {
			once.Do(func() { second = caller{env: storeEnv(s)}.run(t, "subscriptions", "export", path, "--restart") })
		}
	}})
	s.Seed(300)
	if first := (caller{env: storeEnv(s)}).run(t, "subscriptions", "export", path); first.code != 0 {
		t.Errorf("got %+v, want exit code 0", first)
	}
	if second.code != exitUsage || !strings.Contains(second.stderr, "another export") {
		t.Errorf("the second one: got %+v, want exit code %d", second, exitUsage)
	}
	checkFile(t, s, path)
}

// Nobody who can write to the folder gets the data, or has another file changed. What is no file is
// refused, and then nothing was changed.
func TestExport_files(t *testing.T) {
	t.Parallel()
	for _, suffix := range []string{"", ".part", ".state", ".state.tmp", ".lock"} {
		dir := t.TempDir()
		path, victim := filepath.Join(dir, "subs.jsonl"), filepath.Join(dir, "victim")
		err := errors.Join(
			os.WriteFile(victim, []byte("keep"), 0o600), os.Chmod(victim, 0o640), os.Symlink(victim, path+suffix))
		if suffix != ".state" {
			err = errors.Join(err, os.WriteFile(path+".state", []byte("{"), 0o600))
		}
		if err != nil {
			t.Fatal(err)
		}
		got := caller{}.run(t, "--demo", "subscriptions", "export", path, "--restart")
		text, _ := os.ReadFile(victim)
		info, _ := os.Stat(victim)
		isRefused, isKept := got.code == exitUsage, string(text) == "keep" && info.Mode() == 0o640
		if !isKept || isRefused != (suffix != ".state.tmp") {
			t.Errorf("%s is a symbolic link: got %+v and %q (%v), want the other file as it was", suffix, got, text, info.Mode())
		}
		if _, err := os.Stat(path + ".state"); got.code != 0 && err != nil {
			t.Errorf("%s is a symbolic link: the state is gone", suffix)
		}
	}
	folder := filepath.Join(t.TempDir(), "subs.csv")
	if err := os.Mkdir(folder, 0o700); err != nil {
		t.Fatal(err)
	}
	if got := (caller{}).run(t, "--demo", "subscriptions", "export", folder); got.code != exitUsage {
		t.Errorf("FILE is a folder: got %+v, want exit code %d", got, exitUsage)
	}
	path := filepath.Join(t.TempDir(), "subs.jsonl")
	if err := os.WriteFile(path+".part", nil, 0o644); err != nil { //nolint:gosec // of somebody else's run
		t.Fatal(err)
	}
	got := caller{}.run(t, "--demo", "subscriptions", "export", path)
	if info, err := os.Stat(path); err != nil || info.Mode() != 0o600 || got.code != 0 {
		t.Errorf("got %+v and %v (%v), want a file that only its owner can read", got, info.Mode(), err)
	}
}

// An account that cannot be read is left out, and the exit code says so.
func TestExport_withoutAccount(t *testing.T) {
	t.Parallel()
	s := commercetest.New(t, commercetest.Config{})
	s.Seed(30)
	bad := uuid.Nil
	for sub := range s.Subscriptions() {
		bad = sub.Attributes.AccountID
	}
	isBad := func(in commercetest.Request) bool { return strings.Contains(in.RawQuery, bad.String()) }
	s.Inject(commercetest.Fault{Operation: commercetest.OpList, Times: -1, Status: 200, Body: "{", Match: isBad})
	path := filepath.Join(t.TempDir(), "subs.jsonl")
	got := caller{env: storeEnv(s)}.run(t, "subscriptions", "export", path)
	text, _ := os.ReadFile(path)
	if got.code != exitUnfinished || !strings.Contains(got.stderr, bad.String()) || bytes.Count(text, []byte("\n")) != 27 {
		t.Errorf("got %+v and %d lines, want exit code %d, the account %s and 27 lines",
			got, bytes.Count(text, []byte("\n")), exitUnfinished, bad)
	}
}

// What may pass costs no account.
func TestExport_triesAgain(t *testing.T) {
	t.Parallel()
	s := commercetest.New(t, commercetest.Config{})
	s.Seed(30)
	s.Inject( // the first requests are for one account; the client retries three times
		commercetest.Fault{Operation: commercetest.OpList, Status: 502, Times: 3},
		commercetest.Fault{Operation: commercetest.OpList, Status: 200},
	)
	path := filepath.Join(t.TempDir(), "subs.jsonl")
	if got := (caller{env: storeEnv(s)}).run(t, "subscriptions", "export", path); got.code != 0 {
		t.Errorf("got %+v, want exit code 0", got)
	}
	checkFile(t, s, path)
}

// A job at night goes on after 10 s without the store, and Ctrl-C ends the wait.
func TestExport_nightly(t *testing.T) {
	t.Parallel()
	length := 10 * time.Second
	if testing.Short() {
		length = 3 * time.Second // the client alone gives up after 2 s
	}
	for name, row := range map[string]struct {
		down      commercetest.Operation
		file      string
		interrupt bool
	}{
		"lists":     {down: commercetest.OpList, file: "subs.jsonl"},
		"accounts":  {down: commercetest.OpAccounts, file: "subs.csv"},
		"a stream":  {down: commercetest.OpList, file: "-"},
		"interrupt": {down: commercetest.OpList, file: "subs.csv", interrupt: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			s := commercetest.New(t, commercetest.Config{})
			s.Seed(300)
			s.Inject(commercetest.Fault{Operation: row.down, Status: 503, After: 1, Times: -1})
			after, want := s.ClearFaults, 0
			if row.interrupt {
				after, want = cancel, exitInterrupted
			}
			time.AfterFunc(length, after)
			path := row.file
			if path != "-" {
				path = filepath.Join(t.TempDir(), path)
			}
			start := time.Now()
			got := caller{env: pairEnv(s), ctx: ctx}.run(t, "subscriptions", "export", path)
			if took := time.Since(start); got.code != want || took < length || row.interrupt && took > length+5*time.Second {
				t.Errorf("got exit code %d after %v and %s, want %d", got.code, took, got.stderr, want)
			}
			if want == 0 && path != "-" {
				checkFile(t, s, path)
			}
		})
	}
}

// The last step may fail, as on Windows while another program has FILE open. Then nothing is lost:
// the same command completes FILE without reading the store again.
func TestExport_renameFails(t *testing.T) {
	t.Parallel()
	for _, format := range []string{"jsonl", "csv"} {
		for _, n := range []int{0, 300} {
			path := filepath.Join(t.TempDir(), "subs."+format)
			var once sync.Once
			s := commercetest.New(t, commercetest.Config{AfterRequest: func(*commercetest.Store, commercetest.Request) {
				once.Do(func() { _ = os.MkdirAll(filepath.Join(path, "open"), 0o700) }) // nothing can take its place
			}})
			s.Seed(n)
			c := caller{env: pairEnv(s)}
			got := c.run(t, "subscriptions", "export", path)
			if got.code != exitUnfinished || !strings.Contains(got.stderr, fmt.Sprintf("%d subscriptions are safe in", n)) {
				t.Errorf("got %+v, want exit code %d", got, exitUnfinished)
			}
			var state exportState
			text, _ := os.ReadFile(path + ".state")
			part, err := os.Stat(path + ".part")
			if err := errors.Join(err, json.Unmarshal(text, &state), os.RemoveAll(path)); err != nil {
				t.Fatal(err)
			}
			if state.Length != part.Size() || state.Count != n {
				t.Errorf("got the state %+v of a part of %d bytes, want all of it", state, part.Size())
			}
			s.ClearRequests()
			if got := c.run(t, "subscriptions", "export", path); got.code != 0 {
				t.Errorf("got %+v, want exit code 0", got)
			}
			for _, in := range s.Requests() {
				if in.Operation == commercetest.OpList && n > 0 {
					t.Errorf("got %s %s, want no subscription read again", in.Method, in.Path)
				}
			}
			checkFile(t, s, path)
		}
	}
}

// A run without a result so far is of a store too.
func TestExport_tokenWithoutResult(t *testing.T) {
	t.Parallel()
	s := commercetest.New(t, commercetest.Config{})
	s.Seed(30)
	env := storeEnv(s)
	shop := openShop(t, env)
	path := filepath.Join(t.TempDir(), "subs.jsonl")
	text, err := json.Marshal(exportState{Store: shop.identity, Content: fmt.Sprint(selection{}), Finished: uuid.New()})
	err = errors.Join(err, os.WriteFile(path+".state", text, 0o600), os.WriteFile(path+".part", nil, 0o600))
	if err != nil {
		t.Fatal(err)
	}
	if got := (caller{env: env}).run(t, "subscriptions", "export", path); got.code != exitUsage {
		t.Errorf("got %+v, want exit code %d", got, exitUsage)
	}
}

// A state without a part means that FILE is complete, and only the message is missing.
func TestExport_complete(t *testing.T) {
	t.Parallel()
	s := commercetest.New(t, commercetest.Config{})
	s.Seed(300)
	path := filepath.Join(t.TempDir(), "subs.csv")
	state := func(change func(*exportState)) {
		info, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		env := pairEnv(s)
		shop := openShop(t, env)
		written := exportState{Store: shop.identity, Content: fmt.Sprint(selection{}), Length: info.Size(), Count: 300}
		change(&written)
		text, err := json.Marshal(written)
		if err := errors.Join(err, os.WriteFile(path+".state", text, 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	c := caller{env: pairEnv(s)}
	if got := c.run(t, "subscriptions", "export", path); got.code != 0 {
		t.Fatalf("got %+v, want exit code 0", got)
	}
	skipped := uuid.New()
	for name, row := range map[string]struct {
		change func(*exportState)
		code   int
		want   string
	}{
		"complete": {change: func(*exportState) {}, want: "300 subscriptions are in "},
		"without accounts": {
			change: func(x *exportState) { x.Skipped = []uuid.UUID{skipped} }, code: exitUnfinished, want: skipped.String(),
		},
		"no addresses":  {change: func(x *exportState) { x.Unknown = 3 }, want: "3 subscriptions without the address"},
		"another file":  {change: func(x *exportState) { x.Length++ }, code: exitUsage, want: "--restart"},
		"a longer file": {change: func(x *exportState) { x.Length-- }, code: exitUsage, want: "--restart"},
		"another store": {change: func(x *exportState) { x.Store = "x" }, code: exitUsage, want: "--restart"},
	} {
		state(row.change)
		s.ClearRequests()
		got := c.run(t, "subscriptions", "export", path)
		if got.code != row.code || !strings.Contains(got.stderr, row.want) || len(s.Requests()) > 0 {
			t.Errorf("%s: got %+v and %d requests, want exit code %d, %q and none",
				name, got, len(s.Requests()), row.code, row.want)
		}
		if _, err := os.Stat(path + ".state"); (err == nil) != (row.code == exitUsage) {
			t.Errorf("%s: the state: got %v", name, err)
		}
		checkFile(t, s, path, ".part")
	}
	state(func(*exportState) {})
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if got := c.run(t, "subscriptions", "export", path); got.code != exitUsage {
		t.Errorf("neither a part nor a file: got %+v, want exit code %d", got, exitUsage)
	}
}

// If no account can be read, FILE stays as it is. Accounts that can be read later are not left out.
func TestExport_outage(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		fault commercetest.Fault
		n     int
	}{
		"lists": {fault: commercetest.Fault{Operation: commercetest.OpList, Status: 200, Body: "<html>"}, n: 6},
		"accounts": {
			fault: commercetest.Fault{Operation: commercetest.OpAccounts, Status: 200, Body: "<html>"}, n: 90,
		},
		"forbidden lists": {fault: commercetest.Fault{Operation: commercetest.OpList, Status: 403}, n: 90},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := commercetest.New(t, commercetest.Config{})
			s.Seed(row.n)
			path := filepath.Join(t.TempDir(), "subs.csv")
			if err := os.WriteFile(path, []byte("yesterday"), 0o600); err != nil {
				t.Fatal(err)
			}
			row.fault.Times = -1
			s.Inject(row.fault)
			c := caller{env: pairEnv(s)}
			got := c.run(t, "subscriptions", "export", path)
			if text, _ := os.ReadFile(path); got.code != exitUnfinished || string(text) != "yesterday" {
				t.Errorf("got %+v and %q, want exit code %d and the file of before", got, text, exitUnfinished)
			}
			s.ClearFaults()
			if got := c.run(t, "subscriptions", "export", path); got.code != 0 {
				t.Errorf("got %+v, want exit code 0", got)
			}
			checkFile(t, s, path)
		})
	}
}

// A run that gives up forgets the accounts that come again.
func TestExport_givesUp(t *testing.T) {
	t.Parallel()
	s := commercetest.New(t, commercetest.Config{})
	s.Seed(30)
	var ids []uuid.UUID
	for id, err := range s.Client().Accounts.IDs(t.Context(), uuid.Nil) {
		if ids = append(ids, id); err != nil {
			t.Fatal(err)
		}
	}
	env, path := pairEnv(s), filepath.Join(t.TempDir(), "subs.jsonl")
	shop := openShop(t, env)
	before := exportState{
		Store: shop.identity, Content: fmt.Sprint(selection{}), Finished: ids[2], Skipped: []uuid.UUID{ids[1], ids[5]},
	}
	text, err := json.Marshal(before)
	err = errors.Join(err, os.WriteFile(path+".state", text, 0o600), os.WriteFile(path+".part", nil, 0o600))
	if err != nil {
		t.Fatal(err)
	}
	s.Inject(commercetest.Fault{Operation: commercetest.OpAccounts, Status: 403, Times: -1})
	got := caller{env: env}.run(t, "subscriptions", "export", path)
	var after exportState
	text, err = os.ReadFile(path + ".state")
	if err := errors.Join(err, json.Unmarshal(text, &after)); err != nil || got.code != exitUnfinished {
		t.Fatalf("got %+v and %v, want exit code %d and a state", got, err, exitUnfinished)
	}
	if len(after.Skipped) != 1 || after.Skipped[0] != ids[1] || after.Finished != ids[2] {
		t.Errorf("got %+v, want only the account %s left out", after, ids[1])
	}
}
