package main

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/commerce-go/commerce/commercetest"
)

// binary is the tool, built once.
var binary string

func TestMain(m *testing.M) { os.Exit(buildAndRun(m)) }

func buildAndRun(m *testing.M) int {
	dir, err := os.MkdirTemp("", "epcommerce")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer func() { _ = os.RemoveAll(dir) }()
	binary = filepath.Join(dir, "epcommerce")
	build := exec.CommandContext(context.Background(), "go", "build", "-o", binary, ".")
	if out, err := build.CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "%v: %s\n", err, out)
		return 1
	}
	return m.Run()
}

// result is what a run of the tool printed, and its exit code.
type result struct {
	code           int
	stdout, stderr string
}

// caller is who runs the tool: a program, if the zero value is not changed.
type caller struct {
	ctx      context.Context // default: that of the test
	stdin    string
	terminal bool
	width    int // of the terminal
	env      map[string]string
	pasted   bool // the command was printed by another one
	files    *fileLayer
	secret   func() ([]byte, error) // what is typed, but not shown
}

// run runs the tool in this process.
func (c caller) run(t *testing.T, args ...string) result {
	t.Helper()
	if c.ctx == nil {
		c.ctx = t.Context()
	}
	if c.secret == nil {
		c.secret = func() ([]byte, error) { return nil, nil }
	}
	var stdout, stderr bytes.Buffer
	code := run(c.ctx, args, &environment{
		width:  c.width,
		getenv: func(name string) string { return c.env[name] },
		stdin:  strings.NewReader(c.stdin), stdout: &stdout, stderr: &stderr,
		files: *cmp.Or(c.files, new(newFileLayer())), readSecret: c.secret,
		stdinTerminal: c.terminal, stdoutTerminal: c.terminal, stderrTerminal: c.terminal,
	})
	if word := goWords.FindString(stderr.String()); word != "" && !slices.Contains(args, "--verbose") {
		t.Errorf("%v: got %q, want no words of Go such as %q", args, stderr.String(), word)
	}
	if !c.pasted {
		c.paste(t, stdout.String()+stderr.String())
	}
	return result{code, stdout.String(), stderr.String()}
}

// printedCommand is a command of the tool that a message or a check prints, on a line of its own.
var printedCommand = regexp.MustCompile(`(?m)^    (epcommerce .*)$`)

// paste runs the commands of a text, which the tool has printed, as somebody who pastes them into a
// shell and says no to each question: none may be refused.
func (c caller) paste(t *testing.T, text string) {
	t.Helper()
	c.pasted, c.terminal, c.stdin, c.ctx = true, true, "n\n", t.Context()
	for _, match := range printedCommand.FindAllStringSubmatch(text, -1) {
		got := c.run(t, shellWords(t, match[1])...)
		first, _, _ := strings.Cut(cmp.Or(got.stdout, got.stderr), "\n")
		t.Logf("printed: %s | exit code %d | %s", match[1], got.code, first)
		if got.code == exitUsage {
			t.Errorf("the tool prints %s, and refuses it: %+v", match[1], got)
		}
	}
}

// goWords are words that tell a Go programmer something, and nobody else.
var goWords = regexp.MustCompile(`into Go|invalid UUID|\b(redis)?commerce: [^a]|strconv|: time: |commerce\.[A-Z]\w*|` +
	`\b(Client|Carts|Subscriptions|Accounts)\.[A-Z]|\bWith[A-Z]\w*|Prune|\bnil\b|\bstruct\b`)

// shellWords returns the arguments of a command line of the tool, as a shell reads it.
func shellWords(t *testing.T, line string) []string {
	t.Helper()
	words, err := exec.CommandContext(t.Context(), "sh", "-c", `printf '%s\0' `+line).Output()
	if err != nil {
		t.Fatal(err)
	}
	return strings.Split(strings.TrimSuffix(string(words), "\x00"), "\x00")[1:]
}

// storeEnv returns the variables that name a fake store.
func storeEnv(s *commercetest.Store) map[string]string {
	return map[string]string{"COMMERCE_BASE_URL": s.URL(), "COMMERCE_TOKEN": commercetest.DefaultToken}
}

// pairEnv is storeEnv with client credentials.
func pairEnv(s *commercetest.Store) map[string]string {
	c := s.Config()
	return map[string]string{
		"COMMERCE_BASE_URL": s.URL(), "COMMERCE_CLIENT_ID": c.ClientID, "COMMERCE_CLIENT_SECRET": c.ClientSecret,
	}
}

// openShop opens the store that the variables name.
func openShop(t *testing.T, env map[string]string) *shop {
	t.Helper()
	e := &environment{files: newFileLayer(), getenv: func(name string) string { return env[name] }}
	s, err := e.open(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestRun_usage(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "x.csv")
	for name, args := range map[string][]string{
		"unknown command":     {"sreve"},
		"unknown subcommand":  {"discounts", "drop"},
		"unknown flag":        {"serve", "--port", "1"},
		"too many arguments":  {"doctor", "x"},
		"argument missing":    {"subscriptions", "get"},
		"empty cart":          {"doctor", "--cart", "", "--demo"},
		"empty columns":       {"subscriptions", "list", "-o", "csv", "--columns", "", "--demo"},
		"empty status":        {"subscriptions", "list", "--state", "status:", "--demo"},
		"other format":        {"subscriptions", "export", file, "-o", "json", "--demo"},
		"concurrency of -":    {"subscriptions", "export", "-", "--concurrency", "0", "--demo"},
		"restart of -":        {"subscriptions", "export", "-", "--restart", "--demo"},
		"no such folder":      {"subscriptions", "export", filepath.Join(file, "x.csv"), "--demo"},
		"flag is missing":     {"discounts", "add", "demo", "--engine", "e", "--demo"},
		"number too large":    {"subscriptions", "list", "--limit", "99999999999999999999", "--demo"},
		"duration":            {"serve", "--latency", "fast"},
		"both flags":          {"serve", "--page", "--no-page"},
		"path of Git Bash":    {"api", "GET", "C:/Program Files/Git/v2/settings", "--demo"},
		"unknown state":       {"subscriptions", "list", "--state", "x", "--demo"},
		"unknown format":      {"subscriptions", "list", "--demo", "-o", "xml"},
		"id is no UUID":       {"subscriptions", "get", "x", "--demo"},
		"account is no UUID":  {"subscriptions", "list", "--account", "x", "--demo"},
		"negative limit":      {"subscriptions", "list", "--limit", "-1", "--demo"},
		"empty email":         {"subscriptions", "list", "--email", "", "--demo"},
		"empty name":          {"subscriptions", "list", "--name=", "--demo"},
		"empty reference":     {"subscriptions", "list", "--external-ref", "a", "--external-ref", "", "--demo"},
		"zero account":        {"subscriptions", "list", "--account", "00000000-0000-0000-0000-000000000000", "--demo"},
		"nothing to remove":   {"discounts", "remove", "demo", "--demo"},
		"no terminal":         {"discounts", "remove", "demo", "--engine", "loyalty", "--demo"},
		"file is missing":     {"discounts", "apply", "demo", "no-such-file", "--demo"},
		"unknown file format": {"subscriptions", "export", "x.xml", "--demo"},
		"concurrency":         {"subscriptions", "export", file, "--concurrency", "17", "--demo"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := caller{}.run(t, args...)
			if got.code != exitUsage || !strings.HasPrefix(got.stderr, "epcommerce: ") {
				t.Errorf("%v: got %+v, want exit code %d and a message", args, got, exitUsage)
			}
		})
	}
}

func TestRun_noStore(t *testing.T) {
	t.Parallel()
	const secret = "do-not-print-this"
	for name, env := range map[string]map[string]string{
		"nothing":         {},
		"address only":    {"COMMERCE_BASE_URL": "https://store.example/" + secret},
		"token only":      {"COMMERCE_TOKEN": secret},
		"half of a pair":  {"COMMERCE_BASE_URL": "https://store.example", "COMMERCE_CLIENT_SECRET": secret},
		"token and pair":  {"COMMERCE_BASE_URL": "https://s.example", "COMMERCE_TOKEN": "t", "COMMERCE_CLIENT_ID": secret},
		"invalid address": {"COMMERCE_BASE_URL": "ftp://" + secret, "COMMERCE_TOKEN": secret},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := caller{env: env}.run(t, "doctor")
			if got.code != exitUsage || strings.Contains(got.stderr, secret) {
				t.Errorf("got %+v, want exit code %d and no value of a variable", got, exitUsage)
			}
			if env["COMMERCE_CLIENT_ID"] != "" || strings.HasPrefix(env["COMMERCE_BASE_URL"], "ftp") {
				return // all that is needed is set
			}
			for _, way := range []string{"COMMERCE_TOKEN", "COMMERCE_CLIENT_ID and COMMERCE_CLIENT_SECRET", "--demo"} {
				if !strings.Contains(got.stderr, way) {
					t.Errorf("got %q, want all ways to name a store, with %s", got.stderr, way)
				}
			}
		})
	}
}

// Runs the commands as a program does, and as somebody at a terminal.
func TestRun_pipeAndTerminal(t *testing.T) {
	t.Parallel()
	for name, args := range map[string][]string{
		"doctor":             {"doctor", "--cart", "demo"},
		"subscriptions list": {"subscriptions", "list", "--limit", "200"},
		"subscriptions get":  {"subscriptions", "get", "57299b58-10d4-80b4-b91e-00a631f1e25d"},
		"discounts show":     {"discounts", "show", "demo"},
		"discounts remove":   {"discounts", "remove", "demo", "--engine", "promo-engine", "--yes"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			args := append(args, "--demo")
			got := caller{}.run(t, args...)
			if got.code != 0 || strings.Contains(got.stdout+got.stderr, "\x1b") {
				t.Errorf("got %+v, want exit code 0 and no escape codes in a pipe", got)
			}
			for _, line := range strings.Split(got.stdout, "\n") {
				if len([]rune(line)) > 80 {
					t.Errorf("got a line of %d columns, want at most 80: %s", len([]rune(line)), line)
				}
			}
			plainly := caller{terminal: true, env: map[string]string{"NO_COLOR": "1"}}.run(t, args...)
			if strings.Contains(plainly.stdout, "\x1b") {
				t.Errorf("got escape codes with NO_COLOR: %q", plainly.stdout)
			}
			if coloured := (caller{terminal: true}).run(t, args...); coloured.code != 0 {
				t.Errorf("on a terminal: got %+v, want exit code 0", coloured)
			}
		})
	}
	got := caller{terminal: true}.run(t, "discounts", "show", "demo", "--demo")
	if !strings.Contains(got.stdout, "\x1b[1m") {
		t.Errorf("got %q, want a bold head on a terminal", got.stdout)
	}
}

func TestRun_verbose(t *testing.T) {
	t.Parallel()
	fake := commercetest.New(t, commercetest.Config{})
	got := caller{env: storeEnv(fake)}.run(t, "--verbose", "doctor")
	if !strings.Contains(got.stderr, "op=Client.Settings") || strings.Contains(got.stderr, commercetest.DefaultToken) {
		t.Errorf("got %q, want the attempts, and no token", got.stderr)
	}
	if strings.Contains(got.stdout, "op=") {
		t.Errorf("got %q on standard output, want data only", got.stdout)
	}
	page := commercetest.Fault{Status: 403, Body: "<html>\n\x1b[2Jincident 7", Times: -1}
	fake.Inject(page)
	for flag, want := range map[string]bool{"--verbose": true, "--verbose=false": false} {
		got := caller{env: storeEnv(fake)}.run(t, flag, "carts", "check", "1")
		if strings.Contains(got.stderr, "): <html> [2Jincident 7\n") != want {
			t.Errorf("%s: got %q, want the response: %t, without its escape", flag, got.stderr, want)
		}
	}
}

// The tool runs if only FIPS 140 may be used, with the fake store, and with the scripts for Redis.
func TestRun_fips(t *testing.T) {
	t.Parallel()
	for _, args := range []string{"--demo doctor --cart demo", "version", "serve --tls --check --addr 127.0.0.1:1"} {
		cmd := exec.CommandContext(t.Context(), binary, strings.Fields(args)...)
		cmd.Env = []string{"GODEBUG=fips140=only"}
		if out, _ := cmd.CombinedOutput(); strings.Contains(string(out), "panic") || len(out) == 0 {
			t.Errorf("%s: got %s, want what it prints otherwise", args, out)
		}
	}
}
