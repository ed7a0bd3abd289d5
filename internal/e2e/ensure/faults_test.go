package ensure_test

import (
	"math/rand/v2"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/commerce-go/commerce/commercetest"
)

// attemptTimeout is that of all clients with random faults.
const attemptTimeout = 50 * time.Millisecond

// maxDelay is the longest delay of a random fault.
const maxDelay = 6 * attemptTimeout

// randomFaults gives 70 % of the requests a random fault.
type randomFaults struct {
	stopped atomic.Bool
	reads   []commercetest.Fault
	writes  []commercetest.Fault

	mu      sync.Mutex
	random  *rand.Rand
	request string          // the last one
	chosen  int             // fault of that request, -1: none
	late    map[string]bool // by id of the request
}

func injectRandomFaults(s *commercetest.Store, r *rand.Rand) *randomFaults {
	f := &randomFaults{random: r, late: map[string]bool{}}
	for range 30 {
		f.writes = append(f.writes, randomWriteFault(r))
	}
	for range 15 {
		f.reads = append(f.reads, randomReadFault(r))
	}
	for i, fault := range append(f.writes, f.reads...) {
		fault.Times = -1
		fault.Match = func(in commercetest.Request) bool { return f.choose(in) == i }
		s.Inject(fault)
	}
	return f
}

// choose returns the index of the fault of a request.
func (f *randomFaults) choose(in commercetest.Request) int {
	f.mu.Lock()
	defer f.mu.Unlock()
	if in.ID == f.request {
		return f.chosen
	}
	f.request, f.chosen = in.ID, -1
	switch {
	case f.stopped.Load() || f.random.IntN(100) >= 70:
	case isWrite(in):
		f.chosen = f.random.IntN(len(f.writes))
		if f.writes[f.chosen].Late {
			f.late[in.ID] = true
		}
	default:
		f.chosen = len(f.writes) + f.random.IntN(len(f.reads))
	}
	return f.chosen
}

// ended reports whether a request that has taken effect was a late write: one that was
// applied after its caller had gone.
func (f *randomFaults) ended(in commercetest.Request) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.late[in.ID] && time.Since(in.Time) > attemptTimeout
}

func isWrite(in commercetest.Request) bool { return in.Method != http.MethodGet }

// short is a delay that a caller waits for, long is one for which it does not.
func short(r *rand.Rand) time.Duration { return time.Duration(r.Int64N(int64(attemptTimeout / 2))) }

func long(r *rand.Rand) time.Duration {
	return attemptTimeout + time.Duration(r.Int64N(int64(maxDelay-attemptTimeout)))
}

func retryable(r *rand.Rand) int { return []int{408, 500, 502, 503, 504, 504, 504}[r.IntN(7)] }

// tooMany has no Retry-After, because that closes the gate of the client for seconds.
var tooMany = commercetest.Fault{Status: http.StatusTooManyRequests, Body: "slow down"}

func randomReadFault(r *rand.Rand) commercetest.Fault {
	return []commercetest.Fault{
		{Status: retryable(r), Delay: short(r)},
		{Cut: true, Delay: short(r)},
		{Cut: true, CutAfter: 1 + r.IntN(500)},
		{Delay: short(r)},
		{Delay: long(r)},
		{Body: "<html>"},
		tooMany,
	}[r.IntN(7)]
}

func randomWriteFault(r *rand.Rand) commercetest.Fault {
	return []commercetest.Fault{
		{Status: retryable(r), Delay: short(r)},
		{Status: retryable(r), Apply: true},
		{Status: retryable(r), Apply: true, Delay: short(r)},
		{Status: retryable(r), Late: true, Delay: long(r)},
		{Cut: true, Delay: short(r)},
		{Cut: true, Apply: true, Delay: short(r)},
		{Cut: true, CutAfter: 1 + r.IntN(200)},
		{Delay: short(r)},
		{Delay: long(r)},
		{Apply: true, Delay: long(r)},
		{Late: true, Delay: short(r)},
		{Late: true, Delay: long(r)},
		{Late: true, Delay: long(r)},
		{Body: "<html>"},
		tooMany,
	}[r.IntN(15)]
}
