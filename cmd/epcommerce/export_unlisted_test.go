//go:build linux

package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/commerce-go/commerce"
	"github.com/commerce-go/commerce/commercetest"
)

// newHidingStore returns a store with n subscriptions that does not list each k-th account; 0: it
// lists all. It also returns how many subscriptions of those accounts a walk finds, because they
// have one of the first 10,100, and how many it does not.
func newHidingStore(t *testing.T, cfg commercetest.Config, n, k int) (s *commercetest.Store, hidden, lost int) {
	t.Helper()
	cfg.UnlistedAccounts = k
	s = commercetest.New(t, cfg)
	s.Seed(n)
	listed, err := commerce.Collect(s.Client().Accounts.IDs(t.Context(), uuid.Nil))
	if err != nil {
		t.Fatal(err)
	}
	known, i := map[uuid.UUID]bool{}, 0
	for sub := range s.Subscriptions() {
		account := sub.Attributes.AccountID
		known[account] = known[account] || i < 10_100
		if i++; slices.Contains(listed, account) {
			continue
		}
		if known[account] {
			hidden++
		} else {
			lost++
		}
	}
	return s, hidden, lost
}

// idsIn returns the ids in the records of JSON Lines, sorted.
func idsIn(text string) (ids []string) {
	for line := range strings.Lines(text) {
		_, id, _ := strings.Cut(line, `"subscription":{"id":"`)
		ids = append(ids, id[:min(36, len(id))])
	}
	slices.Sort(ids)
	return ids
}

// All ways to read a store find the same subscriptions, also those of accounts that the service
// does not list.
func TestExport_unlisted(t *testing.T) {
	t.Parallel()
	for _, n := range []int{300, 3000, 12_000} {
		for _, k := range []int{0, 100, 25} {
			t.Run(fmt.Sprint(n, " without each ", k), func(t *testing.T) {
				t.Parallel()
				if n > 300 && k != 25 && os.Getenv("TOOL") == "" || testing.Short() && n > 3000 {
					return // takes long, and the others show the same
				}
				s, hidden, lost := newHidingStore(t, commercetest.Config{}, n, k)
				path, c := filepath.Join(t.TempDir(), "subs.jsonl"), caller{env: pairEnv(s)}
				got := c.run(t, "subscriptions", "export", path)
				want := 0
				if n > 10_100 && k > 0 {
					want = exitUnfinished // there may be more
				}
				said := fmt.Sprintf("%d subscriptions of accounts that the service does not list", hidden)
				if got.code != want || strings.Contains(got.stderr, said) != (hidden > 0) {
					t.Errorf("got %+v, want exit code %d, and %d hidden", got, want, hidden)
				}
				text, err := os.ReadFile(path)
				exported := idsIn(string(text))
				if err != nil || len(exported) != n-lost || len(slices.Compact(slices.Clone(exported))) != n-lost {
					t.Errorf("got %d subscriptions, error %v, want %d, each once", len(exported), err, n-lost)
				}
				if listed := idsIn(c.run(t, "subscriptions", "list", "-o", "jsonl").stdout); !slices.Equal(listed, exported) {
					t.Errorf("list has %d subscriptions, export %d", len(listed), len(exported))
				}
				for _, byAccount := range []bool{false, true} {
					opts := &commerce.SubscriptionListOptions{ByAccount: byAccount, Concurrency: 8}
					subs, err := commerce.Collect(s.Client().Subscriptions.All(t.Context(), opts))
					var ids []string
					for _, sub := range subs {
						ids = append(ids, sub.ID.String())
					}
					if slices.Sort(ids); !slices.Equal(ids, exported) || (err != nil) != (want != 0) {
						t.Errorf("by account %t: got %d of %d, error %v", byAccount, len(ids), len(exported), err)
					}
				}
			})
		}
	}
}

// A disk is full when the last records are written. The next run writes them again.
func TestExport_full(t *testing.T) {
	t.Parallel()
	s, _, _ := newHidingStore(t, commercetest.Config{}, 400, 4)
	dir, c := t.TempDir(), caller{env: pairEnv(s)}
	whole, path := filepath.Join(dir, "whole.jsonl"), filepath.Join(dir, "subs.jsonl")
	if got := c.run(t, "subscriptions", "export", whole); got.code != 0 {
		t.Fatalf("got %+v, want exit code 0", got)
	}
	want, err := os.ReadFile(whole)
	if err != nil {
		t.Fatal(err)
	}
	limit := fmt.Sprintf("ulimit -f %d; ", len(want)/1024)
	cmd := exec.CommandContext(t.Context(), "bash", "-c", limit+`exec "$0" subscriptions export "$1"`, binary, path)
	for name, value := range c.env {
		cmd.Env = append(cmd.Env, name+"="+value)
	}
	if out, err := cmd.CombinedOutput(); err == nil || !strings.Contains(string(out), "too large") {
		t.Fatalf("got %v and %s, want a file that is too large", err, out)
	}
	if got := c.run(t, "subscriptions", "export", path); got.code != 0 {
		t.Errorf("got %+v, want exit code 0", got)
	}
	if got, err := os.ReadFile(path); err != nil || !slices.Equal(idsIn(string(got)), idsIn(string(want))) {
		t.Errorf("got %d bytes, error %v, want those of %d bytes", len(got), err, len(want))
	}
}

// Nothing could be read, and nothing is done: the next run reads all.
func TestExport_nothingRead(t *testing.T) {
	t.Parallel()
	s := commercetest.New(t, commercetest.Config{})
	s.Seed(9)
	s.Inject(commercetest.Fault{Operation: commercetest.OpList, Status: 200, Body: "<html>", Times: -1,
		Match: func(r commercetest.Request) bool { return strings.Contains(r.RawQuery, "account_id") }})
	path, c := filepath.Join(t.TempDir(), "subs.jsonl"), caller{env: pairEnv(s)}
	for _, want := range []int{exitUnfinished, 0} {
		if got := c.run(t, "subscriptions", "export", path); got.code != want {
			t.Errorf("got %+v, want exit code %d", got, want)
		}
		s.ClearFaults()
	}
	checkFile(t, s, path)
}

// An export that is killed at any request, also in the part that reads what is not listed, and goes
// on, writes each subscription once.
func TestExport_unlistedKilled(t *testing.T) {
	t.Parallel()
	step := 1
	if testing.Short() {
		step = 4
	}
	for kill := 1; ; kill += step {
		k := &killer{always: true, countdown: kill}
		s, _, _ := newHidingStore(t, commercetest.Config{AfterRequest: k.afterRequest}, 250, 10)
		path := filepath.Join(t.TempDir(), "subs.csv")
		isKilled := k.start(t, s, path).Wait() != nil
		if isKilled { // the next run counts down from 0, so it is not killed
			if err := k.start(t, s, path).Wait(); err != nil {
				t.Fatalf("killed at request %d: %v", kill, err)
			}
		}
		checkFile(t, s, path)
		if !isKilled {
			t.Logf("killed at up to %d requests", kill-1)
			return
		}
	}
}
