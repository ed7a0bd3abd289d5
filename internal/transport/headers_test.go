package transport

import (
	"math/big"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
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
		if got := retryAfter(http.Header{"Retry-After": {value}}, retryAfterNow); got != want {
			t.Errorf("retryAfter(%q) = %v, want %v", value, got, want)
		}
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
		got := retryAfter(http.Header{"Retry-After": {value}}, retryAfterNow)
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
	if diff := cmp.Diff(want, kept); diff != "" {
		t.Errorf("KeptHeader() (-want +got):\n%s", diff)
	}
	for key := range kept {
		_ = append(kept[key], "changed") // must not change the next key
	}
	if diff := cmp.Diff(want, kept); diff != "" {
		t.Errorf("after values were appended (-want +got):\n%s", diff)
	}
	kept["Date"][0] = "changed"
	if got := h.Get("Date"); got != "Date ~" {
		t.Errorf("Date of the response = %q, want it unchanged", got)
	}
}
