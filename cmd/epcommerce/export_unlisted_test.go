//go:build linux

package main

import (
	"fmt"
	"os"
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
