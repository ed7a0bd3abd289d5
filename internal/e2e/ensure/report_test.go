package ensure_test

import (
	"errors"
	"fmt"
	"maps"
	"sync"
	"sync/atomic"

	"github.com/commerce-go/commerce"
)

// report says how a call ended. A child process writes it as a line of JSON.
type report struct {
	Outcome          string // "nil" without an error
	Deleted, InDoubt int
	Wrong            string // how the call broke a promise
}

func (c cart) newReport(result *commerce.EnsureCustomDiscountsResult, err error) report {
	r := report{Outcome: "nil"}
	if result != nil {
		r.Deleted, r.InDoubt = len(result.Deleted), len(result.InDoubt)
	}
	if err == nil {
		r.Wrong = c.contradiction(result)
		return r
	}
	r.Outcome = commerce.OutcomeOf(err).String()
	if _, ok := errors.AsType[*commerce.Error](err); !ok {
		r.Wrong = fmt.Sprintf("the error %v is of type %T, want *commerce.Error", err, err)
	}
	return r
}

// totals counts what happened in a chaos test.
type totals struct {
	mu       sync.Mutex
	outcomes map[string]int
	rounds   int
	kills    int
	late     atomic.Int64
	surplus  int // discounts found and deleted
	doubtful int // calls that ended without an error although something is in doubt
	wrong    int
}

func newTotals() *totals { return &totals{outcomes: map[string]int{}} }

func (n *totals) add(r report) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.outcomes[r.Outcome]++
	n.surplus += r.Deleted
	if r.Outcome == "nil" && r.InDoubt > 0 {
		n.doubtful++
	}
	if r.Wrong != "" {
		n.wrong++
	}
}

func (n *totals) calls() (sum int) {
	for count := range maps.Values(n.outcomes) {
		sum += count
	}
	return sum
}
