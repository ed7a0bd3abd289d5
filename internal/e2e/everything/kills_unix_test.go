//go:build unix

package everything_test

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/commerce-go/commerce/commercetest"
)

// TestWalkEverything kills examples/walk-everything again and again, until a run ends by itself.
// The output must then have the lines of an undisturbed run. With EVERYTHING, one of the accounts
// has so many subscriptions that its part is halved.
func TestWalkEverything(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("the program is built without the race detector: the run without -short is enough")
	}
	kills, big, longest := 4, 2000, 300*time.Millisecond
	if os.Getenv("EVERYTHING") != "" {
		kills, big, longest = 40, 10_099, 4*time.Second
	}
	number := rand.Uint64()
	s := startStore(t, storeConfig{Seed: number, Subscriptions: size(1500), Big: []int{big}})
	p := buildProgram(t, s.URL)
	if p.isKilled(t, anyTime, time.Hour) {
		t.Fatal("the undisturbed run was killed")
	}
	want := sortedLines(t, p.file)
	if len(want) != s.Subscriptions {
		t.Fatalf("%d lines of the undisturbed run, want %d", len(want), s.Subscriptions)
	}
	r, killed, rounds := rand.New(rand.NewPCG(number, 0)), map[string]int{}, 0
	for left := kills; left > 0; rounds++ {
		if err := os.Remove(p.file); err != nil {
			t.Fatal(err)
		}
		for ended := false; !ended; {
			suffix, delay := p.randomMoment(r, longest)
			if left == 0 {
				delay = time.Hour
			}
			if ended = !p.isKilled(t, suffix, delay); !ended {
				left--
				killed[suffix]++
			}
		}
		if got := sortedLines(t, p.file); !slices.Equal(want, got) {
			t.Fatalf("after the kills %v: %d lines, %d different ones, want the %d of an undisturbed run",
				killed, len(got), len(slices.Compact(slices.Clone(got))), len(want))
		}
	}
	t.Logf("killed %d times %v, in %d walks: the %d lines are those of an undisturbed run",
		kills, killed, rounds, len(want))
}

// A run is killed at any time, or when the file with a suffix changes: after a write to it, after a
// new state was created, or after the state was replaced.
const (
	anyTime  = ""
	written  = ".partial"
	created  = ".state.tmp"
	replaced = ".state"
)

// program is examples/walk-everything with a store to read and a file to write.
type program struct{ path, url, file string }

// buildProgram builds the program without the race detector, which would make it slow.
func buildProgram(t *testing.T, url string) program {
	t.Helper()
	dir := t.TempDir()
	p := program{path: filepath.Join(dir, "walk-everything"), url: url, file: filepath.Join(dir, "subs.jsonl")}
	const source = "github.com/commerce-go/commerce/examples/walk-everything"
	build := exec.CommandContext(t.Context(), "go", "build", "-o", p.path, source) //nolint:gosec // a folder of the test
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	return p
}

// version returns what changes when the file with a suffix is written, created or replaced.
func (p program) version(suffix string) string {
	if suffix == anyTime {
		return time.Now().String()
	}
	info, err := os.Stat(p.file + suffix)
	if err != nil {
		return "no file"
	}
	return fmt.Sprint(info.Size(), info.ModTime())
}

// randomMoment returns when to kill the next run.
func (p program) randomMoment(r *rand.Rand, longest time.Duration) (suffix string, delay time.Duration) {
	if p.version(replaced) == "no file" && r.IntN(2) == 0 {
		return written, 0 // in the first part
	}
	return []string{anyTime, written, created, replaced}[r.IntN(4)], time.Duration(r.Int64N(int64(longest)))
}

// isKilled runs the program, and kills it when the file with a suffix first changes after a delay.
// It reports false if the program ended by itself.
func (p program) isKilled(t *testing.T, suffix string, delay time.Duration) bool {
	t.Helper()
	cmd := exec.Command(p.path, "-concurrency", "8", "-resume", "-o", p.file) //nolint:gosec,noctx // killed below
	cmd.Env = append(os.Environ(), "COMMERCE_BASE_URL="+p.url, "COMMERCE_TOKEN="+commercetest.DefaultToken)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	armed := time.After(delay)
	var tick <-chan time.Time
	var before string
	for {
		select {
		case err := <-ended:
			if err != nil || stderr.Len() > 0 {
				t.Fatalf("the program ended with %v and wrote %s", err, &stderr)
			}
			return false
		case <-armed:
			before, tick = p.version(suffix), time.Tick(50*time.Microsecond)
		case <-tick:
			if p.version(suffix) == before {
				continue
			}
			_ = cmd.Process.Kill()
			if err := <-ended; cmd.ProcessState.Exited() && err != nil || stderr.Len() > 0 {
				t.Fatalf("the program ended with %v and wrote %s", err, &stderr)
			}
			return !cmd.ProcessState.Exited()
		}
	}
}

// sortedLines returns the hashes of the lines of a file, sorted: the lines themselves would take
// too much memory.
func sortedLines(t *testing.T, name string) (hashes [][sha256.Size]byte) {
	t.Helper()
	f, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		hashes = append(hashes, sha256.Sum256(lines.Bytes()))
	}
	if err := lines.Err(); err != nil {
		t.Fatal(err)
	}
	slices.SortFunc(hashes, func(a, b [sha256.Size]byte) int { return bytes.Compare(a[:], b[:]) })
	return hashes
}
