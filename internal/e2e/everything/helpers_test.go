// Package everything_test checks over the public API, with a store in a process of its own, that a
// walk by account yields each subscription of a large store exactly once, and that
// examples/walk-everything survives crashes.
package everything_test

import (
	"bytes"
	"encoding/json"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"strconv"
	"testing"

	"go.uber.org/goleak"

	"github.com/commerce-go/commerce"
	"github.com/commerce-go/commerce/commercetest"
)

// The environment variables that turn the test into another process. They hold the JSON of a
// storeConfig or of a walkConfig.
const (
	storeVariable = "EVERYTHING_STORE"
	walkVariable  = "EVERYTHING_WALK"
)

func TestMain(m *testing.M) {
	switch {
	case os.Getenv(storeVariable) != "":
		runStore(decode[storeConfig](os.Getenv(storeVariable)))
	case os.Getenv(walkVariable) != "":
		runWalk(decode[walkConfig](os.Getenv(walkVariable)))
	default:
		goleak.VerifyTestMain(m)
	}
}

func decode[T any](text string) (v T) {
	if err := json.Unmarshal([]byte(text), &v); err != nil {
		panic(err)
	}
	return v
}

// size returns the number of subscriptions of a store: that of the promise if EVERYTHING is set
// (make everything), and else one that takes seconds.
func size(short int) int {
	if os.Getenv("EVERYTHING") != "" {
		return 250_000
	}
	return short
}

// seed returns a seed, which EVERYTHING_SEED can set.
func seed(t *testing.T) uint64 {
	t.Helper()
	n := rand.Uint64()
	if s := os.Getenv("EVERYTHING_SEED"); s != "" {
		var err error
		if n, err = strconv.ParseUint(s, 10, 64); err != nil {
			t.Fatal(err)
		}
	}
	t.Logf("EVERYTHING_SEED=%d", n)
	return n
}

// process is this test in another role. It ends when its standard input does.
type process struct {
	stdin  io.Writer
	stdout *json.Decoder
}

// start starts a process that ends with the test.
func start(t *testing.T, variable string, config any) process {
	t.Helper()
	text, err := json.Marshal(config)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(os.Args[0]) //nolint:gosec,noctx // this test; it ends with its input
	cmd.Env = append(os.Environ(), variable+"="+string(text))
	var errorOutput bytes.Buffer
	cmd.Stderr = &errorOutput
	stdin, err1 := cmd.StdinPipe()
	stdout, err2 := cmd.StdoutPipe()
	if err1 != nil || err2 != nil {
		t.Fatal(err1, err2)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = stdin.Close()
		_, _ = io.Copy(io.Discard, stdout)
		if err := cmd.Wait(); err != nil || errorOutput.Len() > 0 {
			t.Errorf("a process ended with %v and wrote\n%s", err, &errorOutput)
		}
	})
	return process{stdin: stdin, stdout: json.NewDecoder(stdout)}
}

// read reads the next value that the process writes.
func read[T any](t *testing.T, p process) (v T) {
	t.Helper()
	if err := p.stdout.Decode(&v); err != nil {
		t.Fatalf("a process wrote no %T: %v", v, err)
	}
	return v
}

func newClient(url string) *commerce.Client {
	client, err := commerce.New(url, commerce.WithToken(commercetest.DefaultToken))
	if err != nil {
		panic(err)
	}
	return client
}
