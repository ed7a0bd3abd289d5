package main

import (
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/commerce-go/commerce"
	"github.com/commerce-go/commerce/commercetest"
)

var update = flag.Bool("update", false, "write the output of the samples in docs/tool.md again")

// Runs each sample of docs/tool.md, and compares what it prints with what the page shows.
func TestDocs(t *testing.T) {
	t.Parallel()
	const page = "../../docs/tool.md"
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	samples := regexp.MustCompile("(?s)```console\n(.*?)```\n")
	dir, n := t.TempDir(), 0
	got := samples.ReplaceAllStringFunc(string(text), func(block string) string {
		shown := "```console\n"
		for _, sample := range strings.Split("\n"+strings.Trim(block, "`"), "\n$ ")[1:] {
			command := commandOf(sample)
			shown += "$ " + command + runSample(t, dir, strings.ReplaceAll(command, "\n> ", "\n"))
			n++
		}
		return shown + "```\n"
	})
	if n < 15 {
		t.Errorf("got %d samples, want at least 15", n)
	}
	if *update {
		if err := os.WriteFile(page, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if diff := cmp.Diff(sameTimes(string(text)), sameTimes(got)); diff != "" {
		t.Errorf("the page differs from the tool (-page +tool): go test -run TestDocs -update writes it\n%s", diff)
	}
}

// Runs each other command of docs/tool.md that can be copied.
func TestDocs_commands(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../docs/tool.md")
	if err != nil {
		t.Fatal(err)
	}
	s := commercetest.New(t, commercetest.Config{})
	s.Seed(100)
	commands := regexp.MustCompile(`(?m)^epcommerce .*$`).FindAllString(string(text), -1)
	isOther := func(c string) bool { // for which there are tests
		return strings.Contains(c, " verify ") || !strings.Contains(c, " -o ") && !strings.Contains(c, " api ")
	}
	commands = slices.DeleteFunc(commands, isOther)
	for _, command := range commands {
		got := caller{env: pairEnv(s)}.run(t, shellWords(t, command)...)
		if got.code != 0 || strings.Count(got.stdout, "\n") < 2 {
			t.Errorf("%s: got %+v, want exit code 0 and a list", command, got)
		}
	}
	if len(commands) < 4 {
		t.Errorf("got the commands %q, want at least 4", commands)
	}
}

// commandOf returns the lines of a command: the first one, and those that begin with "> ".
func commandOf(sample string) string {
	first, rest, _ := strings.Cut(sample, "\n")
	command := first + "\n"
	for line := range strings.Lines(rest) {
		if !strings.HasPrefix(line, "> ") {
			break
		}
		command += strings.TrimSuffix(line, "\n") + "\n"
	}
	return command
}

// runSample runs a command like a user without a store, and returns all that it prints.
func runSample(t *testing.T, dir, command string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "sh", "-c", command)
	cmd.Dir = dir
	cmd.Env = []string{"PATH=" + filepath.Dir(binary) + ":" + os.Getenv("PATH")}
	out, _ := cmd.CombinedOutput() // the exit code is that of the sample, which may be 1
	return string(out)
}

// sameTimes replaces what differs between runs and machines.
func sameTimes(text string) string {
	for pattern, same := range map[string]string{
		`\b\d+ ms *`:                       "N ms ",
		`requests in \d+ s`:                "requests in N s",
		`expires on [\d-]+`:                "expires on DATE",
		`go1\.[\d.a-z-]+ [a-z]+/[a-z0-9]+`: "GO",
	} {
		text = regexp.MustCompile(pattern).ReplaceAllString(text, same)
	}
	return text
}

// Each name of commerce.ReasonOf has an advice, except those whose advice is by their remedy. Each
// outcome of a write that failed has a text.
func TestTodos(t *testing.T) {
	t.Parallel()
	source, err := os.ReadFile("../../final.go")
	if err != nil {
		t.Fatal(err)
	}
	_, list, _ := strings.Cut(string(source), "the first one of this list counts:")
	list, _, _ = strings.Cut(list, "// Each is the name")
	names := regexp.MustCompile(`\w+`).FindAllString(list, -1)
	byRemedy := []string{
		"timeout", "deadline_exceeded", "server_error", "connection", "no_progress", "bad_request", "unprocessable",
		"want_changed", // of a function, which the tool has not
	}
	for _, name := range names {
		if _, ok := todos[name]; ok == slices.Contains(byRemedy, name) {
			t.Errorf("%s is in todos of advice.go: %t; in byRemedy of this test: %t; want one of them", name, ok, ok)
		}
	}
	for name := range todos {
		if !slices.Contains(names, name) {
			t.Errorf("the advice for %s is for no name of ReasonOf", name)
		}
	}
	without := []commerce.Outcome{commerce.OutcomeNone, commerce.OutcomeApplied} // no write failed
	for o := commerce.OutcomeUnknown; !strings.HasPrefix(o.String(), "Outcome("); o++ {
		if outcomes[o] == "" && !slices.Contains(without, o) {
			t.Errorf("outcomes of advice.go has no text for %q", o)
		}
	}
}
