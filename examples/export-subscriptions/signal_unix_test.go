//go:build unix

package main

import (
	"bytes"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/commerce-go/commerce/commercetest"
)

// asProgram is a variable that makes the test binary run the program.
const asProgram = "EXPORT_SUBSCRIPTIONS_MAIN"

func TestMain(m *testing.M) {
	if os.Getenv(asProgram) != "" {
		main()
	}
	os.Exit(m.Run())
}

// program starts the program on a store that never responds to the third request, and
// returns when that has arrived. Then the first page is in the output. ended receives the
// error of the program.
func program(t *testing.T, path string) (cmd *exec.Cmd, stderr *bytes.Buffer, ended <-chan error) {
	t.Helper()
	fake := commercetest.NewStore(commercetest.Config{})
	fake.Seed(300)
	var requests atomic.Int64
	stuck := make(chan struct{})
	vars := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if requests.Add(1) == 3 {
			close(stuck)
			<-r.Context().Done()
			return
		}
		fake.ServeHTTP(w, r)
	})
	cmd = exec.CommandContext(t.Context(), os.Args[0], "-o", path) //nolint:gosec // the test itself
	cmd.Env = append(os.Environ(), asProgram+"=1")
	for name, value := range vars {
		cmd.Env = append(cmd.Env, name+"="+value)
	}
	stderr = &bytes.Buffer{}
	cmd.Stderr = stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() { done <- cmd.Wait() }()
	select {
	case <-stuck:
	case err := <-done:
		t.Fatalf("the program ended before its third request: %v, stderr %q", err, stderr)
	}
	return cmd, stderr, done
}

func TestSignals(t *testing.T) {
	t.Parallel()
	for sig, code := range map[syscall.Signal]int{syscall.SIGINT: 130, syscall.SIGTERM: 143} {
		t.Run(sig.String(), func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			path := filepath.Join(dir, "x.csv")
			cmd, stderr, ended := program(t, path)
			if err := cmd.Process.Signal(sig); err != nil {
				t.Fatal(err)
			}
			if err := <-ended; cmd.ProcessState.ExitCode() != code {
				t.Errorf("%v, want exit code %d", err, code)
			}
			list := files(t, dir)
			next := 0
			for name, content := range list {
				_, err := fmt.Sscanf(name, "x.csv.0-%d.partial", &next)
				if lines := strings.Count(content, "\n"); err != nil || lines != 1+next || next < 100 {
					t.Errorf("%s has %d lines, want %d, and 100 records or more; %v", name, lines, 1+next, err)
				}
			}
			want := fmt.Sprintf("%d subscriptions to %s.0-%d.partial\n", next, path, next) +
				self + "interrupted: the export is not complete\n" + advice(next, " and another -o")
			if diff := cmp.Diff(want, timeless(stderr.String())); diff != "" || len(list) != 1 {
				t.Errorf("%d files, stderr (-want +got):\n%s", len(list), diff)
			}
		})
	}
}

// A program that is killed leaves its records under the temporary name.
func TestKilled(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	cmd, _, ended := program(t, filepath.Join(dir, "x.csv"))
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	if err := <-ended; cmd.ProcessState.ExitCode() != -1 {
		t.Errorf("%v, want the end by a signal", err)
	}
	for name := range files(t, dir) {
		if ok, err := filepath.Match("x.csv.*.tmp", name); !ok || err != nil {
			t.Errorf("%s is left behind; %v", name, err)
		}
	}
}
