// Package recipes_test holds short recipes for package commerce, to be copied.
// docs/recipes.md says what they are for. Nothing in it can be imported. Its folders are
// separate modules.
package recipes_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"go.uber.org/goleak"
)

// A test that needs other processes runs its own binary, with the name of one of
// children in this variable.
const childVariable = "RECIPES_CHILD"

// children are the functions that such a process runs instead of tests, by name. They
// return its exit code.
var children = map[string]func() int{}

func TestMain(m *testing.M) {
	if child, ok := children[os.Getenv(childVariable)]; ok {
		os.Exit(child())
	}
	goleak.VerifyTestMain(m)
}

// child returns a process that runs the function of children with this name. Its
// environment holds only vars.
func child(t *testing.T, name string, vars ...string) *exec.Cmd {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), self) //nolint:gosec // G204: the test's own binary
	cmd.Env = append([]string{childVariable + "=" + name}, vars...)
	cmd.Stderr = os.Stderr
	return cmd
}

// The samples of the pages are lines of the recipes and examples, in their order.
func TestSamples(t *testing.T) {
	t.Parallel()
	var sources []string
	for _, pattern := range []string{
		"*_test.go", "discounts/*.go", "queues/*.go", "prometheus/*.go", "../example_test.go",
	} {
		files, err := filepath.Glob(pattern)
		if err != nil || len(files) == 0 {
			t.Fatalf("no file %s: %v", pattern, err)
		}
		for _, name := range files {
			source, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			sources = append(sources, squeeze(string(source)))
		}
	}
	for page, want := range map[string]int{"../docs/recipes.md": 3, "../docs/discounts.md": 0, "../docs/moving.md": 1} {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		samples := regexp.MustCompile("(?s)```go\n(.*?)```").FindAllStringSubmatch(string(text), -1)
		if len(samples) != want {
			t.Errorf("%s has %d samples, want %d", page, len(samples), want)
		}
		for _, sample := range samples {
			if !strings.Contains(strings.Join(sources, "\n"), squeeze(sample[1])) {
				t.Errorf("%s: a sample is in no recipe or example:\n%s", page, sample[1])
			}
		}
	}
}

// squeeze removes indentation, comment marks and empty lines.
func squeeze(text string) string {
	var lines []string
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(strings.TrimPrefix(strings.TrimSpace(line), "//\t")); line != "" {
			lines = append(lines, line)
		}
	}
	return strings.Join(lines, "\n")
}
