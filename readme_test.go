package commerce_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestREADME checks that the code samples of README.md are part of an Example
// that is compiled and run.
func TestREADME(t *testing.T) {
	t.Parallel()
	read := func(name string) string {
		b, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	// Indentation differs: compare line by line without it.
	squeeze := func(s string) string {
		var lines []string
		for line := range strings.Lines(s) {
			if line = strings.TrimSpace(line); line != "" {
				lines = append(lines, line)
			}
		}
		return strings.Join(lines, "\n")
	}
	readme, examples := read("README.md"), squeeze(read("example_test.go"))
	samples := regexp.MustCompile("(?s)```go\n(.*?)```").FindAllStringSubmatch(readme, -1)
	if len(samples) != 5 {
		t.Errorf("%d samples", len(samples))
	}
	for _, sample := range samples {
		if !strings.Contains(examples, squeeze(sample[1])) {
			t.Errorf("not part of an Example:\n%s", sample[1])
		}
	}
	for _, command := range []string{"go run ./examples/list-subscriptions", "go test ./..."} {
		if !strings.Contains(readme, "\n"+command+"\n") {
			t.Errorf("README.md does not show %s", command)
		}
	}
}

// TestDocs_links checks that what the pages link to is there.
func TestDocs_links(t *testing.T) {
	t.Parallel()
	pages, err := filepath.Glob("*.md")
	if err != nil {
		t.Fatal(err)
	}
	more, err := filepath.Glob("*/*.md")
	if err != nil {
		t.Fatal(err)
	}
	links := 0
	for _, page := range append(pages, more...) {
		b, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		for _, link := range regexp.MustCompile(`\]\(([^)#]+)(#[^)]*)?\)`).FindAllStringSubmatch(string(b), -1) {
			if strings.Contains(link[1], "://") {
				continue
			}
			links++
			if _, err := os.Stat(filepath.Join(filepath.Dir(page), link[1])); err != nil {
				t.Errorf("%s: %v", page, err)
			}
		}
	}
	if links < 10 {
		t.Errorf("%d links", links)
	}
}
