package transport

import (
	"math/big"
	"net/http"
	"regexp"
	"testing"
	"time"
)

// A Retry-After is never negative; a number of seconds is that number, as math/big
// reads it, and a date is the time until then.
func FuzzRetryAfter(f *testing.F) {
	for _, value := range []string{"", "0", "1", "1.5", ".5", "5.", ".", "1.2.3", "-1", "1e3", "99999999999999999999", "9223372036.854775807", "9223372036.854775808", "0.0000000001", "Sun, 06 Nov 1994 08:49:37 GMT", "Sunday, 06-Nov-94 08:49:37 GMT", "Sun Nov  6 08:49:37 1994", " 7 ", "１"} {
		f.Add(value)
	}
	number := regexp.MustCompile(`^(\d+\.?\d*|\.\d+)$`)
	now := time.Date(1994, 11, 6, 8, 0, 0, 0, time.UTC)
	f.Fuzz(func(t *testing.T, value string) {
		got := retryAfter(http.Header{"Retry-After": {value}}, now)
		if got < 0 {
			t.Fatalf("%q: %v", value, got)
		}
		if !number.MatchString(value) {
			if date, err := http.ParseTime(value); err == nil && got != max(0, date.Sub(now)) {
				t.Errorf("%q: %v", value, got)
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
			t.Errorf("%q: %v, want %v", value, got, time.Duration(want.Int64()))
		}
	})
}
