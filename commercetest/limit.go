package commercetest

import (
	"net/http"
	"strconv"
	"time"
)

// bucket is a token bucket that is computed from times alone, in whole numbers,
// so that it is exact to the nanosecond.
type bucket struct {
	rate    int64     // requests a second
	burst   int64     // requests that a full bucket holds
	missing int64     // from a full bucket, in billionths of a request
	at      time.Time // when it was last looked at; zero: it is full
}

// take takes a request out of the bucket, if there is one in it.
func (b *bucket) take(now time.Time) bool {
	const request = int64(time.Second)
	elapsed := int64(now.Sub(b.at))
	b.at = now
	if elapsed > b.missing/b.rate { // also where the product below would overflow
		b.missing = 0
	} else {
		b.missing -= elapsed * b.rate
	}
	if b.missing > (b.burst-1)*request {
		return false
	}
	b.missing += request
	return true
}

// tooManyRequests is what a request beyond the limit gets. Its body is no JSON,
// as has been seen of the service.
func tooManyRequests(after time.Duration) answer {
	a := answer{status: http.StatusTooManyRequests, body: []byte("Too many requests\n")}
	if after > 0 {
		seconds := (after-1)/time.Second + 1 // rounded up
		a.header = http.Header{"Retry-After": {strconv.FormatInt(int64(seconds), 10)}}
	}
	return a
}
