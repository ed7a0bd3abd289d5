package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"github.com/commerce-go/commerce"
	"github.com/commerce-go/commerce/commercetest"
)

// programVariable is the environment variable that turns the test into the program.
const programVariable = "WALK_EVERYTHING_TEST"

func TestMain(m *testing.M) {
	if os.Getenv(programVariable) != "" {
		main()
		return
	}
	os.Exit(m.Run())
}

// program is the program with a store to read and a file to write.
type program struct {
	*commercetest.Store
	file  string
	token bool // its credentials are a token
}

func newProgram(t *testing.T, subscriptions int) program {
	t.Helper()
	s := commercetest.New(t, commercetest.Config{})
	s.Seed(subscriptions)
	return program{Store: s, file: filepath.Join(t.TempDir(), "subs.jsonl")}
}

// run returns the exit code and the standard error of a run.
func (p program) run(t *testing.T, args ...string) (code int, stderr string) {
	t.Helper()
	args = append([]string{"-o", p.file}, args...)
	cmd := exec.CommandContext(t.Context(), os.Args[0], args...) //nolint:gosec // this test
	var output bytes.Buffer
	cmd.Stderr = &output
	c := p.Config()
	cmd.Env = append(os.Environ(), programVariable+"=1", "COMMERCE_BASE_URL="+p.URL())
	if p.token {
		cmd.Env = append(cmd.Env, "COMMERCE_TOKEN="+c.Token)
	} else {
		cmd.Env = append(cmd.Env, "COMMERCE_CLIENT_ID="+c.ClientID, "COMMERCE_CLIENT_SECRET="+c.ClientSecret)
	}
	err := cmd.Run()
	if _, ok := errors.AsType[*exec.ExitError](err); err != nil && !ok {
		t.Fatal(err)
	}
	return cmd.ProcessState.ExitCode(), output.String()
}

// mustRun is run with an exit code to want, and a text that standard error must have.
func (p program) mustRun(t *testing.T, want int, wantStderr string) {
	t.Helper()
	code, stderr := p.run(t)
	if code != want || !strings.Contains(stderr, wantStderr) || wantStderr == "" && stderr != "" {
		t.Fatalf("exit code %d and %q on stderr, want %d and %q", code, stderr, want, wantStderr)
	}
}

// check compares the file with the store without some accounts. There must be no other file.
func (p program) check(t *testing.T, without ...uuid.UUID) {
	t.Helper()
	var want, got []string
	for sub := range p.Subscriptions() {
		if !slices.Contains(without, sub.Attributes.AccountID) {
			line, err := json.Marshal(&sub)
			if err != nil {
				t.Fatal(err)
			}
			want = append(want, string(line)+"\n")
		}
	}
	content, err := os.ReadFile(p.file)
	if err != nil {
		t.Fatal(err)
	}
	got = slices.Sorted(strings.Lines(string(content)))
	if slices.Sort(want); !slices.Equal(want, got) {
		t.Errorf("the file has %d lines, %d different ones; want the %d of the store",
			len(got), len(slices.Compact(slices.Clone(got))), len(want))
	}
	files, err := filepath.Glob(p.file + "*")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{p.file}, files); diff != "" {
		t.Errorf("files (-want +got):\n%s", diff)
	}
}

var uuids = regexp.MustCompile(`[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}`)

// saved returns the account up to which the file is complete. Empty: none.
func (p program) saved(t *testing.T) string {
	t.Helper()
	state, err := os.ReadFile(p.file + ".state")
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}
	return uuids.FindString(string(state))
}

func (p program) write(t *testing.T, suffix, content string) {
	t.Helper()
	if err := os.WriteFile(p.file+suffix, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
}

// An error stops each run after some requests. The next one goes on, and does not read again what
// is saved.
func TestMain_resumes(t *testing.T) {
	t.Parallel()
	p := newProgram(t, 300)
	var left atomic.Int32 // requests of this run that succeed
	p.Inject(commercetest.Fault{Times: -1, Status: http.StatusForbidden, Match: func(commercetest.Request) bool {
		return left.Add(-1) < 0
	}})
	runs, requests := 0, 0
	for code := 1; code != 0 && runs < 50; runs++ {
		left.Store(int32(5 + runs)) // enough for the last part, which begins again in each run
		saved := p.saved(t)
		var stderr string
		code, stderr = p.run(t)
		if code > 1 || code == 1 && !strings.Contains(stderr, "403") {
			t.Fatalf("exit code %d and %q on stderr, want 0, or 1 and the error", code, stderr)
		}
		for _, r := range p.Requests()[requests:] {
			if r.Operation == commercetest.OpAccounts && !strings.Contains(r.RawQuery, "sort") {
				continue // asks which accounts of the first subscriptions are listed
			}
			first := uuids.FindString(r.RawQuery) // accounts are listed after it, subscriptions from it on
			if first != "" && (first < saved || first == saved && r.Operation == commercetest.OpList) {
				t.Errorf("run %d asked for account %s, and saved was what is up to %s", runs, first, saved)
			}
		}
		requests = len(p.Requests())
	}
	p.check(t)
	if runs < 4 || runs == 50 {
		t.Errorf("%d runs with %d requests, want 4 to 49", runs, requests)
	}
}

// What a crash can leave behind.
func TestMain_leftovers(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name                string
		partial, state, tmp string
		wantCode            int
		wantStderr          string
	}{
		{name: "no state", partial: "{}\n{"},
		{name: "half a state", partial: "{}\n", tmp: `{"Fin`},
		{name: "no output", state: `{"Length":1}`, wantCode: 1, wantStderr: ".state belongs to another store or output"},
		{name: "another store", state: `{"Store":"https://x"}`, wantCode: 1, wantStderr: "delete it to start over"},
		{name: "not a state", state: `{"Fin`, wantCode: 1, wantStderr: "unexpected end of JSON input"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			p := newProgram(t, 60)
			p.write(t, ".partial", tt.partial)
			if tt.state != "" {
				p.write(t, ".state", tt.state)
			}
			if tt.tmp != "" {
				p.write(t, ".state.tmp", tt.tmp)
			}
			if p.mustRun(t, tt.wantCode, tt.wantStderr); tt.wantCode == 0 {
				p.check(t)
			}
		})
	}
}

// All stores of a region share the address. A client id tells them apart, a token does not.
func TestMain_otherStore(t *testing.T) {
	t.Parallel()
	p := newProgram(t, 60)
	p.token = true
	state, err := json.Marshal(job{Store: p.URL() + " ", Length: 1})
	if err != nil {
		t.Fatal(err)
	}
	p.write(t, ".partial", "\n")
	p.write(t, ".state", string(state))
	p.mustRun(t, 1, "set -resume if it is the same")
	other := program{Store: p.Store, file: p.file}
	other.mustRun(t, 1, "belongs to another store")
	if code, stderr := p.run(t, "-resume"); code != 0 {
		t.Errorf("with -resume: exit code %d and %q, want 0", code, stderr)
	}
}

// An account that cannot be read is skipped, with nothing of it in the file. The others of its part
// are complete.
func TestMain_skips(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("walks 10,101 records in one goroutine")
	}
	p := newProgram(t, 600)
	var account uuid.UUID
	for sub := range p.Subscriptions() {
		account = sub.Attributes.AccountID
	}
	for n := range 10_101 {
		p.AddSubscription(commerce.Subscription{
			ID: uuid.NewHash(sha256.New(), account, []byte{byte(n >> 8), byte(n)}, 8), Type: "subscription",
			Attributes: commerce.SubscriptionAttributes{AccountID: account},
		})
	}
	p.mustRun(t, 3, "done, without the accounts ["+account.String()+"]\n")
	p.check(t, account)
}

// What may pass costs no account.
func TestMain_triesAgain(t *testing.T) {
	t.Parallel()
	p := newProgram(t, 60)
	list := commercetest.OpList // the first requests are for one account; the client retries three times
	p.Inject(commercetest.Fault{Operation: list, Status: 502, Times: 3}, commercetest.Fault{Operation: list, Status: 200})
	p.mustRun(t, 0, "try again: ")
	p.check(t)
}

// What does not pass is tried once more, and then costs the account.
func TestMain_skipsUnreadable(t *testing.T) {
	t.Parallel()
	p := newProgram(t, 60)
	account := slices.Collect(p.Subscriptions())[30].Attributes.AccountID
	p.Inject(commercetest.Fault{
		Operation: commercetest.OpList, Status: http.StatusOK, Times: 40, // without a body
		Match: func(r commercetest.Request) bool { return strings.Contains(r.RawQuery, account.String()) },
	})
	p.mustRun(t, 3, "skip account "+account.String())
	p.check(t, account)
}
