package transport

import (
	"math"
	"net/http"
	"slices"
	"strings"
	"time"
)

// maxWait stands for every Retry-After too long to be told apart.
const maxWait = time.Duration(math.MaxInt64)

// retryAfter reads the Retry-After header: seconds, whole or fractional, or any
// HTTP date. 0 means that there is none, or that it asks for no wait.
func retryAfter(h http.Header, now time.Time) time.Duration {
	value := strings.TrimSpace(h.Get("Retry-After"))
	if value == "" {
		return 0
	}
	if strings.Trim(value, "0123456789.") == "" {
		d, err := time.ParseDuration(value + "s") // exact, as a float64 is not
		if err != nil && value != "." && strings.Count(value, ".") < 2 {
			return maxWait // a number, and out of range
		}
		return d
	}
	date, err := http.ParseTime(value)
	if err != nil {
		return 0
	}
	return max(0, date.Sub(now))
}

// keptHeaders, sorted, are the headers of an answer that callers get to see. Everything
// else is dropped: a header may carry a cookie, a location or an echo.
var keptHeaders = []string{
	"Cache-Control", "Content-Language", "Content-Length", "Content-Type", "Date", "Etag", "Last-Modified",
	"Ratelimit-Limit", "Ratelimit-Remaining", "Ratelimit-Reset", "Retry-After", "Server",
	"X-Moltin-Request-Id", "X-Ratelimit-Limit", "X-Ratelimit-Remaining", "X-Ratelimit-Reset", "X-Request-Id",
}

// requestIDs are the headers that identify a request, the better one first.
var requestIDs = []string{"X-Moltin-Request-Id", "X-Request-Id"}

// KeptHeader returns the headers of an answer that callers get to see. Values
// that would disturb a log, and request ids that are none, are dropped too.
func KeptHeader(h http.Header) http.Header {
	kept := make(http.Header, len(h))
	for key, values := range h {
		if _, found := slices.BinarySearch(keptHeaders, key); !found {
			continue
		}
		odd := func(value string) bool {
			return !isPrintable(value) || slices.Contains(requestIDs, key) && !IsRequestID(value)
		}
		if values = slices.DeleteFunc(slices.Clone(values), odd); len(values) > 0 {
			kept[key] = values
		}
	}
	return kept
}

func isPrintable(s string) bool {
	return strings.IndexFunc(s, func(r rune) bool { return r < ' ' || r > '~' }) < 0
}

// RequestID returns the id by which the service's support finds the request,
// if the answer has one that looks like an id.
func RequestID(h http.Header) string {
	for _, key := range requestIDs {
		if id := h.Get(key); id != "" && IsRequestID(id) {
			return id
		}
	}
	return ""
}

// IsRequestID reports whether s has the form of a request id, fit for a log.
func IsRequestID(s string) bool {
	if len(s) > 128 || strings.Contains(s, "://") {
		return false
	}
	return strings.IndexFunc(s, func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && !strings.ContainsRune("-_.:/=+", r)
	}) < 0
}
