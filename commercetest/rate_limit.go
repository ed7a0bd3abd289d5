package commercetest

import (
	"net/http"
	"strconv"
	"time"
)

// tokenBucket limits a rate of requests. It calculates with whole numbers, so that
// it is exact to the nanosecond.
type tokenBucket struct {
	rate    int64     // requests per second
	burst   int64     // capacity, in requests
	missing int64     // what the bucket lacks to be full, in billionths of a request
	updated time.Time // when missing was calculated
}

// take takes a request out of the bucket. It reports whether there was one.
func (b *tokenBucket) take(now time.Time) bool {
	const request = int64(time.Second)
	elapsed := int64(now.Sub(b.updated))
	b.updated = now
	if elapsed > b.missing/b.rate { // also prevents an overflow of the product below
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

// tooManyRequests returns the response to a request beyond the rate limit. Its body
// is not JSON: the service has sent such responses.
func tooManyRequests(retryAfter time.Duration) response {
	resp := response{status: http.StatusTooManyRequests, body: []byte("Too many requests\n")}
	if retryAfter > 0 {
		seconds := (retryAfter-1)/time.Second + 1 // rounded up
		resp.header = http.Header{"Retry-After": {strconv.FormatInt(int64(seconds), 10)}}
	}
	return resp
}
