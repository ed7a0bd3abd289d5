package main

import (
	"context"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestBombs runs each bomb in a process with at most 2 GB of address space. The program
// is built without the race detector, which needs more.
func TestBombs(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("takes long, and shows nothing about races")
	}
	program := filepath.Join(t.TempDir(), "bombs")
	build := exec.CommandContext(t.Context(), "go", "build", "-o", program, ".") //nolint:gosec // a folder of the test
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	for name := range bombs {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			const format, maxCPU = "%d wire=%d size=%d alloc=%d cpu=%d bad=%t", 2000
			var out string
			var status, wire, size, alloc, cpu int
			var bad bool
			for n := 0; n < 3 && (n == 0 || cpu > maxCPU); n++ { // a thread beside it slows a core down: the least counts
				out = run(t, program, name)
				if _, err := fmt.Sscanf(out, format, &status, &wire, &size, &alloc, &cpu, &bad); err != nil {
					t.Fatalf("%v in output:\n%s", err, out)
				}
			}
			t.Logf("%s", strings.TrimSpace(out))
			if isSuccess := status == 200 || status == 201; bad != isSuccess {
				t.Errorf("errors.Is(err, ErrBadResponse) = %v, want %v", bad, isSuccess)
			}
			if strings.Contains(out, "err=<nil>") {
				t.Error("got no error, want one")
			}
			limit := 150 // MB, for an error: its body has at most 1 MiB
			if status < 300 {
				limit = max(100, 9*size>>20)
			}
			if strings.HasPrefix(name, "misfit") {
				limit = max(100, min(60*size>>20, 200)) // each level of nesting is decoded again
			}
			if alloc > limit {
				t.Errorf("got %d MB allocated, want at most %d", alloc, limit)
			}
			if cpu > maxCPU {
				t.Errorf("got %d ms of CPU time, want at most %d", cpu, maxCPU)
			}
		})
	}
}

// run returns the output of the program, run under the limit.
func run(t *testing.T, program, name string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	const limited = `ulimit -v 2000000; exec "$0" "$1"`
	cmd := exec.CommandContext(ctx, "sh", "-c", limited, program, name) //nolint:gosec // the program of this test
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out[:min(len(out), 2000)])
	}
	return string(out)
}
