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

// retryAfter reads the Retry-After header: seconds, with or without a fraction, or a date in a
// format of HTTP. It returns 0 if there is none, if it is invalid, and if it asks for no wait.
func retryAfter(h http.Header, now time.Time) time.Duration {
	value := strings.TrimSpace(h.Get("Retry-After"))
	if value == "" {
		return 0
	}
	if strings.Trim(value, "0123456789.") == "" {
		d, err := time.ParseDuration(value + "s") // exact; a float64 is not
		if err != nil && value != "." && strings.Count(value, ".") < 2 {
			return maxRetryAfter // a number, but out of range
		}
		return d
	}
	date, err := http.ParseTime(value)
	if err != nil {
		return 0
	}
	return max(0, date.Sub(now))
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
