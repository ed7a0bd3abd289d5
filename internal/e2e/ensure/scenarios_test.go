package ensure_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"testing"
	"testing/synctest"
	"time"
)

// forScenarios runs scenarios for CHAOS, and until there are enough. With CHAOS_SCENARIO it runs
// only that one of CHAOS_SEED. It returns how many it ran.
func forScenarios(
	t *testing.T, enough int, run func(t *testing.T, number int, r *rand.Rand),
) (scenarios int) {
	t.Helper()
	duration, seed := settings(t)
	first, only := 0, os.Getenv("CHAOS_SCENARIO")
	if only != "" {
		var err error
		if first, err = strconv.Atoi(only); err != nil {
			t.Fatal(err)
		}
	}
	t.Logf("CHAOS_SEED=%d", seed)
	for start := time.Now(); scenarios == 0 || only == "" && (scenarios < enough || time.Since(start) < duration); {
		number := first + scenarios
		synctest.Test(t, func(t *testing.T) { run(t, number, rand.New(rand.NewPCG(seed, uint64(number)))) })
		scenarios++
	}
	return scenarios
}

// findings counts what a test found.
type findings struct {
	calls   int
	wrong   map[string][]int // numbers of the scenarios that broke a rule
	reports []string         // the first of each rule; a failed synctest.Test would end the test
}

// fail counts a broken rule. The first time it keeps the report.
func (n *findings) fail(rule string, number int, report func() string) {
	if n.wrong[rule] = append(n.wrong[rule], number); len(n.wrong[rule]) == 1 {
		n.reports = append(n.reports, fmt.Sprintf("rule %q: scenario %d: %s", rule, number, report()))
	}
}

// report fails the test if a rule was broken.
func (n *findings) report(t *testing.T) {
	t.Helper()
	for _, report := range n.reports {
		t.Error(report)
	}
	for _, rule := range slices.Sorted(maps.Keys(n.wrong)) {
		numbers := n.wrong[rule]
		t.Errorf("rule %q: broken %d times, in the scenarios %v", rule, len(numbers), numbers[:min(len(numbers), 20)])
	}
}
