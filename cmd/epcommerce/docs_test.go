package main

import (
	"encoding/json"
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

// The members of JSON are those of docs/tool.md, and amounts and durations are numbers.
func TestDocs_members(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../docs/tool.md")
	if err != nil {
		t.Fatal(err)
	}
	home := t.TempDir()
	storeFile(t, filepath.Join(home, ".config", "epcommerce", "shop.env"), commercetest.New(t, commercetest.Config{}))
	const id = "57299b58-10d4-80b4-b91e-00a631f1e25d"
	const discount = " --engine e --external-id 1 --code c --description d --yes"
	arguments := map[string]string{
		"subscriptions list": "--limit 3 --subscribers", "subscriptions get": id, "subscriptions export": "- --subscribers",
		"subscriptions cancel": id + " --yes", "subscriptions pause": id + " --yes", "subscriptions resume": id + " --yes",
		"discounts show": "demo", "discounts add": "demo --amount -1" + discount, "discounts apply": "demo - --yes",
		"discounts remove": "demo --engine loyalty --yes", "discounts enable": "demo", "carts check": "new", "doctor": "",
		"stores": "", "version": "", "verify": "--only f-settings --yes",
	}
	quoted := regexp.MustCompile("`([^`]+)`")
	names := func(text string) (list []string) {
		text = regexp.MustCompile(`\([^)]*\)`).ReplaceAllString(text, "")
		for _, match := range quoted.FindAllStringSubmatch(text, -1) {
			list = append(list, match[1])
		}
		return list
	}
	_, table, _ := strings.Cut(string(text), "| commands | members |\n")
	table, _, _ = strings.Cut(table, "\n\n")
	for _, row := range strings.Split(table, "\n")[1:] {
		cells := strings.Split(row, "|")
		always, sometimes, _ := strings.Cut(cells[2], ";")
		for _, command := range names(cells[1]) {
			args := append(strings.Fields(command), strings.Fields(arguments[command])...)
			c := caller{env: map[string]string{"HOME": home}, stdin: twoDiscounts}
			got := c.run(t, append(args, "--demo", "-o", "jsonl")...)
			if _, ok := arguments[command]; !ok || got.stdout == "" {
				t.Errorf("%s: got %+v, want records", command, got)
			}
			delete(arguments, command)
			for line := range strings.Lines(got.stdout) {
				members := map[string]any{}
				if err := json.Unmarshal([]byte(line), &members); err != nil {
					t.Fatal(err, line)
				}
				checkMembers(t, command, members, names(always), names(sometimes))
			}
		}
	}
	if len(arguments) > 0 {
		t.Errorf("the page has no members of %v", arguments)
	}
}

func checkMembers(t *testing.T, command string, members map[string]any, always, sometimes []string) {
	t.Helper()
	for _, name := range always {
		if _, ok := members[name]; !ok {
			t.Errorf("%s: the page shows the member %s, which %v has not", command, name, members)
		}
	}
	for name, value := range members {
		_, isNumber := value.(float64)
		wantNumber := name == "amount" || name == "price_amount" || name == "ms"
		if isNumber != wantNumber || !slices.Contains(append(always, sometimes...), name) {
			t.Errorf("%s: got the member %s, %v, want one of the page, and a number if it is one", command, name, value)
		}
	}
	if nested, ok := members["discount"].(map[string]any); ok {
		if _, isNumber := nested["amount"].(float64); !isNumber {
			t.Errorf("%s: got %v, want an amount that is a number", command, nested)
		}
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
