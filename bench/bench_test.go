package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestRuns lets each client of runs use its server once, without the latency.
func TestRuns(t *testing.T) {
	t.Parallel()
	for _, r := range runs {
		t.Run(r.name, func(t *testing.T) {
			t.Parallel()
			r.store.latency = 0
			s, err := newServer(r.store)
			if err != nil {
				t.Fatal(err)
			}
			defer s.Close()
			if r.js != nil {
				if _, err := os.Stat(filepath.Join(filepath.Dir(walkJS), "node_modules")); err != nil {
					t.Skip("needs `npm ci --ignore-scripts` in .ci/vendor-clients")
				}
				if _, err := measureApart(r, "", s.URL); err != nil {
					t.Error(err)
				}
				return
			}
			if r.old != "" {
				t.Skip("needs the program of an earlier commit")
			}
			if n, err := r.do(t.Context(), s.URL); n != r.n || err != nil {
				t.Errorf("got %d records or calls, error %v, want %d", n, err, r.n)
			}
		})
	}
}

// TestTable shows that the table has each run, that ratios are of runs that exist, and that aims
// count as missed.
func TestTable(t *testing.T) {
	t.Parallel()
	both := [2]results{
		{Go: "go1.26.8", Least: map[string]figures{}},
		{Go: "go1.27.4", Least: map[string]figures{}},
	}
	for i, r := range runs {
		both[0].Least[r.name] = figures{cpu: float64(i + 1), wall: 8}
		both[1].Least[r.name] = figures{cpu: 2 * float64(i+1), wall: 4}
	}
	text := table(&both)
	for i, r := range runs {
		if row := fmt.Sprintf("\n| %s | %d | %d | 8 | 4 |", r.name, i+1, 2*i+2); !strings.Contains(text, row) {
			t.Errorf("got no row of %q, want one", r.name)
		}
	}
	for _, r := range ratios {
		for _, name := range []string{r.of, r.to} {
			if name != "" && !slices.ContainsFunc(runs, func(r run) bool { return r.name == name }) {
				t.Errorf("%s: there is no run %q", r.name, name)
			}
		}
	}
	got := missed(&both)
	if want := "CPU, All / loop, Go 1.26: 0.33 instead of 0.26"; !slices.Contains(got, want) {
		t.Errorf("got %q, want in it %q", got, want)
	}
	if slices.ContainsFunc(got, func(s string) bool { return strings.HasPrefix(s, "CPU, All / loop, Go 1.27") }) {
		t.Errorf("got %q, but this aim is 0.42", got)
	}
	if bars := strings.Count(chart(&both[0]), "<rect "); bars != 10 {
		t.Errorf("got %d bars, want 10", bars)
	}
}

// TestTable_bold shows that the table marks what other clients do better.
func TestTable_bold(t *testing.T) {
	t.Parallel()
	res := results{Go: "go1.26.8", Least: map[string]figures{
		"All": {cpu: 10, wall: 10}, "loop": {cpu: 9, wall: 9.8}, "js-sdk": {cpu: 11, wall: 10}, "no decoding": {cpu: 1},
	}}
	text := table(&[2]results{res, res})
	for _, want := range []string{
		"\n| loop | **9** | **9** | 10 | 10 | 0.0 | 0.0 |",
		"\n| js-sdk | 11 | 11 | 10 | 10 | - | - | - | - |", "\n| oapi-codegen | - | - |", "\n| no decoding | 1 | 1 |",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("got %s\nwant in it %s", text, want)
		}
	}
}

func TestLeast(t *testing.T) {
	t.Parallel()
	got := least([]figures{{cpu: 4, wall: 1}, {cpu: 1, wall: 2}, {cpu: 3, wall: 9}})
	if want := (figures{cpu: 1, wall: 1}); got != want {
		t.Errorf("got %v, want %v", got, want)
	}
}

// TestDocuments shows that the pages were made from the results, by this code.
func TestDocuments(t *testing.T) {
	t.Parallel()
	both, err := readResults("results/now.json", "results/next.json")
	if err != nil {
		t.Fatal(err)
	}
	all, err := documents(&both)
	if err != nil {
		t.Fatal(err)
	}
	for path, want := range all {
		if got, err := os.ReadFile(path); err != nil || string(got) != want {
			t.Errorf("%s is not what `go run . -report results/now.json results/next.json` writes; error %v", path, err)
		}
	}
}
