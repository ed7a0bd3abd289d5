package ensure_test

import (
	"math/rand/v2"
	"net/http"
	"time"

	"github.com/commerce-go/commerce/commercetest"
)

// attemptTimeout is that of all clients with random faults.
const attemptTimeout = 50 * time.Millisecond

// maxDelay is the longest delay of a random fault.
const maxDelay = 6 * attemptTimeout

// injectRandomFaults gives 70 % of the requests a random fault.
func injectRandomFaults(s *commercetest.Store, r *rand.Rand) {
	for range 30 {
		fault := randomFault(r)
		fault.Times = -1
		fault.Match = func(commercetest.Request) bool { return r.IntN(25) == 0 } // the store calls one at a time
		s.Inject(fault)
	}
}

// short is a delay that a caller waits for, long is one for which it does not.
func short(r *rand.Rand) time.Duration { return time.Duration(r.Int64N(int64(attemptTimeout / 2))) }

func long(r *rand.Rand) time.Duration {
	return attemptTimeout + time.Duration(r.Int64N(int64(maxDelay-attemptTimeout)))
}

func retryable(r *rand.Rand) int { return []int{408, 500, 502, 503, 504, 504, 504}[r.IntN(7)] }

// tooMany has no Retry-After, because that closes the gate of the client for seconds.
var tooMany = commercetest.Fault{Status: http.StatusTooManyRequests, Body: "slow down"}

func randomFault(r *rand.Rand) commercetest.Fault {
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
