package main

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/commerce-go/commerce/cmd/epcommerce/internal/verify"
	"github.com/commerce-go/commerce/commercetest"
)

func TestVerify(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		cfg     commercetest.Config
		seed    int
		args    []string
		code    int
		printed string
	}{
		"same": {
			seed: 22, args: []string{"--only", "f-items,f-eq"},
			printed: "same       doc    f-items                 201 and 204\n",
		},
		"allowed": {
			cfg: commercetest.Config{AddStatus: http.StatusOK}, args: []string{"--only", "f-add"},
			printed: "allowed    doc    f-add                   200\n  documented: 201\n",
		},
		"differs": {
			cfg: commercetest.Config{FractionalAmounts: true}, args: []string{"--only", "f-whole-amounts"}, code: exitFailed,
			printed: "differs    doc    f-whole-amounts\n  observed:   accepted\n  documented: 400\n",
		},
		"not asked": {
			args: []string{"--only", "f-flags"}, code: exitUnfinished,
			printed: "not asked  guess  f-flags                 the store has no subscriptions\n",
		},
		"without its flag": {
			args: []string{"--only", "f-shipping"}, printed: "not asked  doc    f-shipping              needs --shipping\n",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := commercetest.New(t, tt.cfg)
			s.Seed(tt.seed)
			file := filepath.Join(t.TempDir(), "report.md")
			got := caller{env: storeEnv(s)}.run(t, append([]string{"verify", "--yes", "--report", file}, tt.args...)...)
			if got.code != tt.code || !strings.Contains(got.stdout, tt.printed) || s.Carts() != nil {
				t.Errorf("got %+v, carts %v; want exit code %d, %q and no carts", got, s.Carts(), tt.code, tt.printed)
			}
			report, err := os.ReadFile(file)
			rows := strings.Count(string(report), "| f-")
			if err != nil || rows != strings.Count(got.stdout, " f-") {
				t.Errorf("error %v, the report has %d rows, want those of %s:\n%s", err, rows, got.stdout, report)
			}
		})
	}
}

func TestVerify_usage(t *testing.T) {
	t.Parallel()
	for name, args := range map[string][]string{
		"no terminal":     {},
		"unknown fact":    {"--yes", "--only", "f-add,f-nothing"},
		"no subscription": {"--yes", "--destroy"},
		"no id":           {"--yes", "--subscription", "x"},
		"large burst":     {"--yes", "--burst", "151"},
		"report":          {"--yes", "--report", "no/such/folder/report.md"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := commercetest.New(t, commercetest.Config{})
			got := caller{env: storeEnv(s)}.run(t, append([]string{"verify"}, args...)...)
			if got.code != exitUsage || len(s.Requests()) > 0 {
				t.Errorf("got %+v and %d requests, want exit code %d and none", got, len(s.Requests()), exitUsage)
			}
		})
	}
}

// It asks once: how many carts, at which host, and what happens to a subscription.
func TestVerify_asks(t *testing.T) {
	t.Parallel()
	s := commercetest.New(t, commercetest.Config{})
	at := strings.TrimPrefix(s.URL(), "http://")
	for flags, want := range map[string]string{
		"": "Create up to 2 carts at " + at + ", and delete them? [y/N] ",
		"--subscription 36fabae3-23f7-533a-97f3-017ba2665c58": "Pause and resume subscription " +
			"36fabae3-23f7-533a-97f3-017ba2665c58. Create up to 2 carts at " + at,
		"--subscription 36fabae3-23f7-533a-97f3-017ba2665c58 --destroy": "Cancel subscription ",
	} {
		args := append([]string{"verify", "--only", "f-items"}, strings.Fields(flags)...)
		got := caller{env: storeEnv(s), terminal: true, stdin: "n\n"}.run(t, args...)
		if got.code != exitFailed || !strings.HasPrefix(got.stderr, want) || len(s.Requests()) > 0 {
			t.Errorf("%s: got %+v and %d requests, want %q and none", flags, got, len(s.Requests()), want)
		}
	}
}

func TestVerify_interrupted(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	s := commercetest.New(t, commercetest.Config{AfterRequest: func(_ *commercetest.Store, in commercetest.Request) {
		if in.Operation == commercetest.OpAdd {
			cancel()
		}
	}})
	file := filepath.Join(t.TempDir(), "report.md")
	got := caller{env: storeEnv(s), ctx: ctx}.run(t, "verify", "--yes", "--report", file, "-o", "json")
	report, _ := os.ReadFile(file)
	var rows []verify.Result
	err := json.Unmarshal([]byte(got.stdout), &rows)
	if err != nil || len(rows) != len(verify.Names()) || !strings.Contains(string(report), "- interrupted\n") {
		t.Errorf("error %v, %d rows, report %s; want a row for each fact, and an interruption", err, len(rows), report)
	}
	if got.code != exitInterrupted || s.Carts() != nil {
		t.Errorf("got %+v, carts %v; want exit code %d and no carts", got, s.Carts(), exitInterrupted)
	}
}

func TestVerify_left(t *testing.T) {
	t.Parallel()
	s := &shop{environment: &environment{}}
	err := s.concluded(&verify.Report{Left: []string{"a cart"}})
	if exit, ok := errors.AsType[*exitError](err); !ok || exit.code != exitFailed {
		t.Errorf("got %v, want exit code %d", err, exitFailed)
	}
}
