package transport

import (
	"math"
	"net/http"
	"slices"
	"strings"
	"time"
)

// maxRetryAfter is the result for each Retry-After that is too long for a time.Duration.
const maxRetryAfter = time.Duration(math.MaxInt64)

// maxReset is the longest time until a limit is reset that is believed. A larger number is a date.
const maxReset = 365 * 24 * time.Hour

// retryAfter returns the wait that a response asks for by Retry-After: seconds, or a date in a
// format of HTTP. If a refusal of the rate has none, or one that is invalid or asks for no wait, it
// is the time until the limit is reset: in seconds, or as seconds since 1970. It is 0 if there is
// neither. Dates count by the clock of the service, if the response shows that.
func retryAfter(r *Result, now time.Time) time.Duration {
	if date, err := http.ParseTime(r.Header.Get("Date")); err == nil {
		now = date
	}
	asked := strings.TrimSpace(r.Header.Get("Retry-After"))
	wait := parseSeconds(asked)
	if date, err := http.ParseTime(asked); err == nil {
		wait = date.Sub(now)
	}
	for _, key := range []string{"Ratelimit-Reset", "X-Ratelimit-Reset"} {
		reset := parseSeconds(strings.TrimSpace(r.Header.Get(key)))
		if reset > maxReset {
			reset = time.Unix(0, 0).Add(reset).Sub(now)
		}
		if wait <= 0 && reset <= maxReset && r.IsRateLimited() {
			wait = reset
		}
	}
	return max(0, wait)
}

// parseSeconds parses a number of seconds, with or without a fraction. Other texts are 0.
func parseSeconds(s string) time.Duration {
	whole, fraction, _ := strings.Cut(s, ".")
	if digits := whole + fraction; digits == "" || strings.Trim(digits, "0123456789") != "" {
		return 0
	}
	if d, err := time.ParseDuration(whole + "." + fraction + "s"); err == nil { // exact; a float64 is not
		return d
	}
	return maxRetryAfter
}

// IsRateLimited reports whether the service refused the rate of requests. Some gateways do so by a
// 403 that asks for a wait, or that says that no requests remain.
func (r *Result) IsRateLimited() bool {
	isSpent := r.Header.Get("Ratelimit-Remaining") == "0" || r.Header.Get("X-Ratelimit-Remaining") == "0"
	return r.StatusCode == http.StatusTooManyRequests ||
		r.StatusCode == http.StatusForbidden && (r.RetryAfter > 0 || isSpent)
}

// keptHeaders are the response headers that callers see, sorted. All others are removed, because
// they may contain cookies, addresses or parts of the request.
var keptHeaders = []string{
	"Cache-Control", "Content-Language", "Content-Length", "Content-Type", "Date", "Etag", "Last-Modified",
	"Ratelimit-Limit", "Ratelimit-Remaining", "Ratelimit-Reset", "Retry-After", "Server",
	"X-Moltin-Request-Id", "X-Ratelimit-Limit", "X-Ratelimit-Remaining", "X-Ratelimit-Reset", "X-Request-Id",
}

// requestIDs are the headers with a request id. The first one is the id that the service's support
// asks for.
var requestIDs = []string{"X-Moltin-Request-Id", "X-Request-Id"}

// KeptHeader returns a copy of h with only the headers that callers see. Values that are not
// printable ASCII, and invalid request ids, are removed too, because they could forge lines of a
// log.
func KeptHeader(h http.Header) http.Header {
	kept := make(http.Header, len(h))
	all := make([]string, 0, len(h)) // the values of all keys, usually one each
	for key, values := range h {
		if _, found := slices.BinarySearch(keptHeaders, key); !found {
			continue
		}
		begin := len(all)
		for _, value := range values {
			if IsPrintable(value) && (!slices.Contains(requestIDs, key) || IsRequestID(value)) {
				all = append(all, value)
			}
		}
		if begin < len(all) {
			kept[key] = all[begin:len(all):len(all)]
		}
	}
	return kept
}

// IsPrintable reports whether a text is printable ASCII.
func IsPrintable(s string) bool {
	return strings.IndexFunc(s, func(r rune) bool { return r < ' ' || r > '~' }) < 0
}

// RequestID returns the request id of a response, or "" if it has no valid one.
func RequestID(h http.Header) string {
	for _, key := range requestIDs {
		if id := h.Get(key); id != "" && IsRequestID(id) {
			return id
		}
	}
	return ""
}

// IsRequestID reports whether s may be logged as a request id: at most 128 bytes, only letters,
// digits and -_.:/=+, and not a URL.
func IsRequestID(s string) bool {
	return len(s) <= 128 && !strings.Contains(s, "://") && strings.Trim(s, Alphanumeric+"-_.:/=+") == ""
}

// Alphanumeric has the letters and digits of ASCII.
const Alphanumeric = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
