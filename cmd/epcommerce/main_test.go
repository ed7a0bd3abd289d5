package main

import (
	"bytes"
	"strings"
	"testing"
)

// result is what a run of the tool printed, and its exit code.
type result struct {
	code           int
	stdout, stderr string
}

// tool runs the tool in this process, without a terminal and without variables but vars,
// NAME=value each.
func tool(t *testing.T, stdin string, vars []string, args ...string) result {
	t.Helper()
	var stdout, stderr bytes.Buffer
	code := run(t.Context(), args, &environment{
		getenv: func(name string) string {
			for _, v := range vars {
				if value, ok := strings.CutPrefix(v, name+"="); ok {
					return value
				}
			}
			return ""
		},
		stdin: strings.NewReader(stdin), stdout: &stdout, stderr: &stderr,
	})
	return result{code, stdout.String(), stderr.String()}
}

func TestRun_usage(t *testing.T) {
	t.Parallel()
	for name, args := range map[string][]string{
		"unknown command":   {"sreve"},
		"unknown flag":      {"serve", "--port", "1"},
		"too many argument": {"serve", "x"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := tool(t, "", nil, args...); got.code != exitUsage || got.stdout != "" || got.stderr == "" {
				t.Errorf("%v: got %+v, want exit code %d and a message on stderr only", args, got, exitUsage)
			}
		})
	}
}
