// Package everything_test checks over the public API, with a store in a process of its own, that a
// walk by account yields each subscription of a large store exactly once, and that
// examples/walk-everything survives crashes.
package everything_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"testing"

	"go.uber.org/goleak"
)

// storeVariable is the environment variable that turns the test into the process of a store. It
// holds the JSON of a storeConfig.
const storeVariable = "EVERYTHING_STORE"

func TestMain(m *testing.M) {
	text := os.Getenv(storeVariable)
	if text == "" {
		goleak.VerifyTestMain(m)
		return
	}
	var cfg storeConfig
	if err := json.Unmarshal([]byte(text), &cfg); err != nil {
		panic(err)
	}
	runStore(cfg)
}

// size returns the number of subscriptions of a store: that of the promise if EVERYTHING is set
// (make proof NAME=everything), otherwise one that takes seconds. The run with the race detector
// has -short: a quarter is enough for it.
func size(seconds int) int {
	switch {
	case os.Getenv("EVERYTHING") != "":
		return 250_000
	case testing.Short():
		return seconds / 4
	}
	return seconds
}

// startStore starts the process of a store. It ends with the test, when its standard input does.
func startStore(t *testing.T, cfg storeConfig) *remoteStore {
	t.Helper()
	text, err := json.Marshal(cfg)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(os.Args[0]) //nolint:gosec,noctx // this test; it ends with its input
	cmd.Env = append(os.Environ(), storeVariable+"="+string(text))
	var errorOutput bytes.Buffer
	cmd.Stderr = &errorOutput
	stdin, err1 := cmd.StdinPipe()
	stdout, err2 := cmd.StdoutPipe()
	if err := errors.Join(err1, err2); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = stdin.Close()
		_, _ = io.Copy(io.Discard, stdout)
		if err := cmd.Wait(); err != nil || errorOutput.Len() > 0 {
			t.Errorf("the store ended with %v and wrote\n%s", err, &errorOutput)
		}
	})
	s := &remoteStore{stdin: stdin, stdout: json.NewDecoder(stdout)}
	s.storeStart = read[storeStart](t, s)
	return s
}

// read reads the next value that a store writes.
func read[T any](t *testing.T, s *remoteStore) (v T) {
	t.Helper()
	if err := s.stdout.Decode(&v); err != nil {
		t.Fatalf("the store wrote no %T: %v", v, err)
	}
	return v
}
