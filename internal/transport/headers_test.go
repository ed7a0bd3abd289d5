package transport

import (
	"cmp"
	"fmt"
	"math/big"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
)

var retryAfterNow = time.Date(2024, 1, 2, 3, 4, 5, 0, time.UTC)

var retryAfterTests = map[string]time.Duration{
	"": 0, "0": 0, "0.0": 0, "0.0000000001": 0, "0.000000001": 1,
	"1": time.Second, " 3\t": 3 * time.Second, "007": 7 * time.Second, "120": 2 * time.Minute,
	"1.5": 1500 * time.Millisecond, "20.000000001": 20*time.Second + 1,
	"17.17": 17170 * time.Millisecond, ".5": time.Second / 2, "5.": 5 * time.Second,
	"-1": 0, "+1": 0, "1e3": 0, "1s": 0, "soon": 0, ".": 0, "1.2.3": 0, "0x10": 0, "１": 0,
	"5, 6": 0, "Inf": 0, "NaN": 0, "2024-01-02T03:04:15Z": 0, "Tue, 99 Jan 2024 03:04:15 GMT": 0,
	"9223372036": 9223372036 * time.Second, "9223372037": maxRetryAfter, strings.Repeat("9", 400): maxRetryAfter,
	"18446744073709551616": maxRetryAfter, strings.Repeat("9", 400) + ".5": maxRetryAfter, // 2^64
	"9223372036.854775807": maxRetryAfter, "9223372036.854775808": maxRetryAfter,
	"Tue, 02 Jan 2024 03:04:15 GMT":   10 * time.Second,
	" Tue, 02 Jan 2024 03:04:15 GMT":  10 * time.Second,
	"Tuesday, 02-Jan-24 03:04:15 GMT": 10 * time.Second,
	"Tue Jan  2 03:04:15 2024":        10 * time.Second,
	"Tue, 02 Jan 2024 03:04:00 GMT":   0,
	"Tue Jan  2 03:04:00 2024":        0,
	"Mon, 01 Jan 0001 00:00:00 GMT":   0,
	"Fri, 31 Dec 9999 23:59:59 GMT":   maxRetryAfter,
}

func TestRetryAfter(t *testing.T) {
	t.Parallel()
	for value, want := range retryAfterTests {
		if got := askedWait(value); got != want {
			t.Errorf("retryAfter(%q) = %v, want %v", value, got, want)
		}
	}
}

func askedWait(retryAfterValue string) time.Duration {
	return retryAfter(&Result{StatusCode: 503, Header: http.Header{"Retry-After": {retryAfterValue}}}, retryAfterNow)
}

// Our clock shows 03:04:05, the clock of the service the time of Date.
func TestRetryAfter_clocks(t *testing.T) {
	t.Parallel()
	at := func(clock string) string { return "Tue, 02 Jan 2024 " + clock + " GMT" }
	epoch := func(after time.Duration) string { return fmt.Sprint(retryAfterNow.Add(after).Unix()) }
	for _, tt := range []struct {
		name   string
		status int // 0: 429
		header map[string]string
		want   time.Duration
	}{
		{name: "nothing"},
		{name: "service ahead", header: map[string]string{"Date": at("04:04:05"), "Retry-After": at("04:04:07")}, want: 2},
		{name: "service behind", header: map[string]string{"Date": at("02:04:05"), "Retry-After": at("02:04:07")}, want: 2},
		{name: "time of another status", status: 503, want: 2,
			header: map[string]string{"Date": at("04:04:05"), "Retry-After": at("04:04:07")}},
		{name: "Date unreadable", header: map[string]string{"Date": "now", "Retry-After": at("03:04:07")}, want: 2},
		{name: "date is over", header: map[string]string{"Date": at("04:04:05"), "Retry-After": at("04:04:04")}},
		{name: "seconds need no clock", header: map[string]string{"Date": at("04:04:05"), "Retry-After": "2"}, want: 2},
		{name: "reset", header: map[string]string{"RateLimit-Reset": "2"}, want: 2},
		{name: "X- reset", header: map[string]string{"X-RateLimit-Reset": "2"}, want: 2},
		{name: "both resets", header: map[string]string{"RateLimit-Reset": "2", "X-RateLimit-Reset": "9"}, want: 2},
		{name: "first is garbage", header: map[string]string{"RateLimit-Reset": "soon", "X-RateLimit-Reset": "2"}, want: 2},
		{name: "Retry-After first", header: map[string]string{"Retry-After": "2", "RateLimit-Reset": "9"}, want: 2},
		{name: "Retry-After unusable", header: map[string]string{"Retry-After": "soon", "RateLimit-Reset": "2"}, want: 2},
		{name: "Retry-After over", header: map[string]string{"Retry-After": at("01:00:00"), "RateLimit-Reset": "2"}, want: 2},
		{name: "Retry-After 0", header: map[string]string{"Retry-After": "0", "RateLimit-Reset": "2"}, want: 2},
		{name: "a year is seconds", header: map[string]string{"RateLimit-Reset": "31536000"}, want: 31536000},
		{name: "epoch", header: map[string]string{"X-RateLimit-Reset": epoch(2 * time.Second)}, want: 2},
		{name: "epoch by the clock of the service", want: 2,
			header: map[string]string{"Date": at("04:04:05"), "X-RateLimit-Reset": epoch(time.Hour + 2*time.Second)}},
		{name: "epoch that is over", header: map[string]string{"X-RateLimit-Reset": epoch(-time.Second)}},
		{name: "a second more than a year", header: map[string]string{"X-RateLimit-Reset": "31536001"}},
		{name: "epoch in milliseconds", header: map[string]string{"X-RateLimit-Reset": epoch(0) + "000"}},
		{name: "too many digits", header: map[string]string{"X-RateLimit-Reset": strings.Repeat("9", 400)}},
		{name: "Date of the year 1",
			header: map[string]string{"Date": "Mon, 01 Jan 0001 00:00:00 GMT", "RateLimit-Reset": epoch(0)}},
		{name: "no time left", header: map[string]string{"RateLimit-Reset": "0"}},
		{name: "garbage", header: map[string]string{"RateLimit-Reset": "-1", "X-RateLimit-Reset": "2024-01-02T03:04:07Z"}},
		{name: "reset of another status", status: 503, header: map[string]string{"RateLimit-Reset": "2"}},
		{name: "reset of a 403", status: 403, header: map[string]string{"X-RateLimit-Reset": "2"}},
		{name: "403 because of the rate", status: 403, want: 2,
			header: map[string]string{"X-RateLimit-Remaining": "0", "X-RateLimit-Reset": "2"}},
	} {
		r := &Result{StatusCode: cmp.Or(tt.status, http.StatusTooManyRequests), Header: http.Header{}}
		for key, value := range tt.header {
			r.Header.Set(key, value)
		}
		if got := retryAfter(r, retryAfterNow); got != tt.want*time.Second {
			t.Errorf("%s: retryAfter() = %v, want %v", tt.name, got, tt.want*time.Second)
		}
	}
}

// A 429 that says when the limit is reset is like one with a Retry-After: no call of any operation
// is sent before, and it counts against MaxAttempts. A 403 holds up no call, and is not sent again.
func TestRetryAfter_reset(t *testing.T) {
	t.Parallel()
	for status, want := range map[int]struct {
		attempts      int
		after, before time.Duration // when other attempts pass after the one that was refused
	}{
		429: {attempts: 2, after: 3 * time.Second, before: time.Minute},
		403: {attempts: 1, before: time.Second},
	} {
		synctest.Test(t, func(t *testing.T) {
			var refusedAt time.Time
			s := stub(func(req *http.Request) (*http.Response, error) {
				if d := time.Since(refusedAt); !refusedAt.IsZero() && (d < want.after || d > want.before) {
					t.Errorf("%d: an attempt after %v, want it after %v to %v", status, d, want.after, want.before)
				}
				if req.Method == http.MethodHead {
					return &http.Response{StatusCode: 200}, nil
				}
				refusedAt = time.Now()
				header := http.Header{"X-Ratelimit-Reset": {"3"}, "X-Ratelimit-Remaining": {"0"}}
				return &http.Response{StatusCode: status, Header: header}, nil
			})
			call := newCall(t, Replayable, storeURL)
			call.Gate, call.Policy.MaxBackoff, call.Policy.MaxAttempts = NewGate(), 5*time.Second, 2
			other := *call
			other.Op, other.Method = "other", http.MethodHead
			time.AfterFunc(time.Millisecond, func() { s.do(t.Context(), &other) })
			r := s.do(t.Context(), call)
			if r.Attempts != want.attempts || r.RetryAfter != 3*time.Second {
				t.Errorf("%d: %+v, want %d attempts and RetryAfter 3s", status, r, want.attempts)
			}
			time.Sleep(time.Minute) // the other call ends
		})
	}
}

// A Retry-After is never negative. A number of seconds is compared with math/big, a date with
// http.ParseTime.
func FuzzRetryAfter(f *testing.F) {
	for value := range retryAfterTests {
		f.Add(value)
	}
	number := regexp.MustCompile(`^(\d+\.?\d*|\.\d+)$`)
	f.Fuzz(func(t *testing.T, value string) {
		got := askedWait(value)
		if got < 0 {
			t.Fatalf("retryAfter(%q) = %v, want no negative wait", value, got)
		}
		if !number.MatchString(value) {
			date, err := http.ParseTime(value)
			if want := max(0, date.Sub(retryAfterNow)); err == nil && got != want {
				t.Errorf("retryAfter(%q) = %v, want %v", value, got, want)
			}
			return
		}
		seconds, _ := new(big.Rat).SetString(value)
		nanos := new(big.Rat).Mul(seconds, big.NewRat(int64(time.Second), 1))
		want := new(big.Int).Quo(nanos.Num(), nanos.Denom())
		if !want.IsInt64() {
			want.SetInt64(int64(maxRetryAfter))
		}
		if d := int64(got) - want.Int64(); d < -1 || d > 1 {
			t.Errorf("retryAfter(%q) = %v, want %v", value, got, time.Duration(want.Int64()))
		}
	})
}

func TestRequestID(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name   string
		header http.Header
		want   string
	}{
		{name: "none"},
		{name: "one", header: http.Header{"X-Request-Id": {"a-1"}}, want: "a-1"},
		{name: "two", header: http.Header{"X-Request-Id": {"a-1"}, "X-Moltin-Request-Id": {"b/2"}}, want: "b/2"},
		{name: "the first is invalid", want: "a-1",
			header: http.Header{"X-Request-Id": {"a-1"}, "X-Moltin-Request-Id": {"not an id"}}},
		{name: "the only one is invalid", header: http.Header{"X-Request-Id": {"a\x1b[31m"}}},
	} {
		if got := RequestID(tt.header); got != tt.want {
			t.Errorf("%s: RequestID() = %q, want %q", tt.name, got, tt.want)
		}
	}
}

func TestIsRequestID(t *testing.T) {
	t.Parallel()
	const valid = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.:/=+"
	for r := range rune(0x250) {
		if got, want := IsRequestID(string(r)), strings.ContainsRune(valid, r); got != want {
			t.Errorf("IsRequestID(%q) = %v, want %v", r, got, want)
		}
	}
	for value, want := range map[string]bool{
		strings.Repeat("a", 128): true, strings.Repeat("a", 129): false, "https://store.example": false,
	} {
		if got := IsRequestID(value); got != want {
			t.Errorf("IsRequestID(%q) = %v, want %v", value, got, want)
		}
	}
}

func TestKeptHeader(t *testing.T) {
	t.Parallel()
	if !slices.IsSorted(keptHeaders) {
		t.Errorf("keptHeaders = %q, want them sorted", keptHeaders)
	}
	h := http.Header{
		"Set-Cookie": {"canary"}, "Location": {"canary"}, "Etag": {"\ncanary"}, "Server": {},
		"X-Request-Id": {"no id, canary", "id-1"}, "X-Moltin-Request-Id": {" canary"},
	}
	want := http.Header{"X-Request-Id": {"id-1"}}
	for _, key := range keptHeaders {
		if h[key] == nil {
			h.Set(key, key+" ~")
			want.Set(key, key+" ~")
		}
	}
	kept := KeptHeader(h)
	if diff := gocmp.Diff(want, kept); diff != "" {
		t.Errorf("KeptHeader() (-want +got):\n%s", diff)
	}
	for key := range kept {
		_ = append(kept[key], "changed") // must not change the next key
	}
	if diff := gocmp.Diff(want, kept); diff != "" {
		t.Errorf("after values were appended (-want +got):\n%s", diff)
	}
	kept["Date"][0] = "changed"
	if got := h.Get("Date"); got != "Date ~" {
		t.Errorf("Date of the response = %q, want it unchanged", got)
	}
}
