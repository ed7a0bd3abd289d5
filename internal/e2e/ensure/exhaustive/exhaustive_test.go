// Package exhaustive_test runs calls against a model of the service, in all orders of requests
// and with all faults, up to a number of faults.
package exhaustive_test

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// run makes a run. It returns the rules that were broken, and whether the run was cut short.
func (s *setting) run(t *testing.T, c *choices, seen seen, faults int) (broken []string, isCut bool) {
	t.Helper()
	defer func() {
		if p := recover(); p != nil { // e.g. goroutines that are left
			broken = append(broken, fmt.Sprint("panic: ", p))
		}
	}()
	synctest.Test(t, func(*testing.T) {
		var w *world
		defer func() {
			if p := recover(); p != nil {
				broken = append(broken, fmt.Sprint("panic: ", p))
				w.abandon()
			}
		}()
		w = &world{
			setting: s, choices: c, seen: seen, faults: faults,
			store: s.initial, states: []store{s.initial}, changed: make(chan struct{}, 1),
		}
		for _, j := range s.jobs {
			w.start(j, j.name)
		}
		if w.run(); !w.isCut {
			w.checkCalls()
			w.checkEnd()
		}
		broken, isCut = w.broken, w.isCut
	})
	return broken, isCut
}

// search makes all runs with at most that many faults.
func (s *setting) search(t *testing.T, faults int) {
	t.Helper()
	start, runs, cut, failures := time.Now(), 0, 0, 0
	seen, c := seen{}, &choices{}
	for isNext := true; isNext && failures < 3; isNext = c.next() {
		broken, isCut := s.run(t, c, seen, faults)
		if runs++; isCut {
			cut++
		}
		if len(broken) > 0 {
			failures++
			t.Errorf("%s\nEXHAUSTIVE='%s %d %v' repeats the run:\n  %s",
				strings.Join(broken, "\n"), t.Name(), faults, c, strings.Join(c.texts, "\n  "))
		}
	}
	t.Logf("%d faults at most: %d scenarios, and %d that came to the world of one of these, in %v: %d violations",
		faults, runs-cut, cut, time.Since(start).Round(time.Millisecond), failures)
}

// TestExhaustive makes all runs of each setting with few faults; with EXHAUSTIVE=all, with up to
// three. A failure prints how to make its run again.
func TestExhaustive(t *testing.T) {
	t.Parallel()
	replay := strings.Fields(os.Getenv("EXHAUSTIVE"))
	for _, s := range settings() {
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			switch {
			case testing.Short():
				s.search(t, 0)
			case len(replay) == 0:
				s.search(t, s.faults.few)
			case replay[0] == "all":
				s.search(t, s.faults.all)
			case len(replay) != 3:
				t.Fatal("EXHAUSTIVE must be all, or what a failure prints")
			case replay[0] == t.Name():
				s.replay(t, replay[1], replay[2])
			}
		})
	}
}

// replay makes one run again, and prints all of its requests.
func (s *setting) replay(t *testing.T, faults, path string) {
	t.Helper()
	n, err := strconv.Atoi(faults)
	c, errPath := parseChoices(path)
	if err := errors.Join(err, errPath); err != nil {
		t.Fatal(err)
	}
	broken, _ := s.run(t, c, nil, n)
	t.Errorf("%s\n  %s", strings.Join(broken, "\n"), strings.Join(c.texts, "\n  "))
}
