package transport

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// script answers the n-th attempt with the n-th status: 0 is a fault, of which
// nothing is proved.
func script(retryAfter string, statuses ...int) (*Client, *[]time.Duration) {
	start := time.Now()
	at := &[]time.Duration{}
	return New(&http.Client{Transport: stub(func(*http.Request) (*http.Response, error) {
		n := len(*at)
		*at = append(*at, time.Since(start))
		status := statuses[min(n, len(statuses)-1)]
		if status == 0 {
			return nil, errors.New("fault")
		}
		h := http.Header{}
		if retryAfter != "" {
			h.Set("Retry-After", retryAfter)
		}
		return &http.Response{StatusCode: status, Header: h, Body: http.NoBody}, nil
	})}), at
}

// TestPolicy_statuses tells, for every status, how often a call of each class is
// made.
func TestPolicy_statuses(t *testing.T) {
	t.Parallel()
	replayed := map[int]bool{0: true, 408: true, 421: true, 425: true, 429: true, 500: true, 502: true, 503: true, 504: true}
	once := map[int]bool{421: true, 425: true, 429: true}
	for _, status := range []int{0, 100, 101, 102, 199, 200, 201, 204, 299, 300, 301, 302, 303, 304, 307, 308, 399, 400, 401, 403, 404, 405, 407, 408, 409, 410,
		413, 418, 420, 421, 422, 424, 425, 426, 428, 429, 430, 451, 499, 500, 501, 502, 503, 504, 505, 507, 511, 599, 600, 999} {
		for class, again := range map[Class]bool{Replayable: replayed[status], Once: once[status]} {
			want := 1
			if again {
				want = policy.MaxAttempts
			}
			c, at := script("", status)
			r := c.Do(t.Context(), newCall(t, class, "https://a.example"))
			if len(*at) != want || r.Attempts != want || r.StatusCode != status {
				t.Errorf("status %d, class %d: %d attempts, want %d; %+v", status, class, len(*at), want, r)
			}
			if ok := status >= 200 && status <= 299; r.OK() != ok || r.MaybeSent != (status == 0) {
				t.Errorf("status %d, class %d: %+v", status, class, r)
			}
		}
	}
}

func TestPolicy_waits(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		call := newCall(t, Once, "https://a.example")
		call.Policy = Policy{MaxAttempts: 3, MinBackoff: 0, MaxBackoff: 5 * time.Second, AttemptTimeout: time.Minute}
		tests := []struct {
			retryAfter string
			deadline   time.Duration // 0: none
			at         []time.Duration
			asked      time.Duration
		}{
			{"5", 0, []time.Duration{0, 5 * time.Second, 10 * time.Second}, 5 * time.Second},
			{"6", 0, []time.Duration{0}, 6 * time.Second},
			{"5", 5 * time.Second, []time.Duration{0}, 5 * time.Second},
			{"5", 5*time.Second + 1, []time.Duration{0, 5 * time.Second}, 5 * time.Second},
			{"", 0, []time.Duration{0, 0, 0}, 0},
		}
		for _, tt := range tests {
			ctx, cancel := t.Context(), context.CancelFunc(func() {})
			if tt.deadline > 0 {
				ctx, cancel = context.WithTimeout(ctx, tt.deadline)
			}
			c, at := script(tt.retryAfter, 429)
			r := c.Do(ctx, call)
			cancel()
			if fmt.Sprint(*at) != fmt.Sprint(tt.at) || r.RetryAfter != tt.asked || r.Err != nil || r.StatusCode != 429 {
				t.Errorf("%+v: attempts at %v, %+v", tt, *at, r)
			}
		}

		// A cancel in a wait ends it there; what the answer said stays.
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(2*time.Second, cancel)
		start := time.Now()
		c, at := script("5", 429)
		if r := c.Do(ctx, call); time.Since(start) != 2*time.Second || r.Err != context.Canceled || r.StatusCode != 429 || r.RetryAfter != 5*time.Second || len(*at) != 1 {
			t.Errorf("after %v: %+v", time.Since(start), r)
		}
		// A repeat after a 401 is made at once, and does not count for the backoff.
		call.Auth = new(auth)
		call.Policy.MaxAttempts = 1
		c, at = script("", 401, 200)
		if r := c.Do(t.Context(), call); !r.OK() || len(*at) != 2 || (*at)[1] != 0 {
			t.Errorf("attempts at %v, %+v", *at, r)
		}
	})
}

func TestPolicy_backoffGrows(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		call := newCall(t, Replayable, "https://a.example")
		call.Policy = Policy{MaxAttempts: 6, MinBackoff: time.Second, MaxBackoff: 6 * time.Second, AttemptTimeout: time.Minute}
		bounds := []time.Duration{time.Second, 2 * time.Second, 4 * time.Second, 6 * time.Second, 6 * time.Second}
		longest := make([]time.Duration, len(bounds))
		for range 200 {
			c, at := script("", 503)
			c.Do(t.Context(), call)
			for i := range bounds {
				longest[i] = max(longest[i], (*at)[i+1]-(*at)[i])
			}
		}
		for i, bound := range bounds {
			if longest[i] >= bound || longest[i] < bound*8/10 {
				t.Errorf("wait %d: up to %v, want just under %v", i+1, longest[i], bound)
			}
		}
	})
}

func TestAnswer_limits(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ status, size, limit int }{{404, MaxErrorBody, MaxErrorBody}, {404, MaxErrorBody + 1, MaxErrorBody}, {200, MaxErrorBody + 1, MaxBody}} {
		for _, told := range []bool{false, true} {
			c := New(&http.Client{Transport: stub(func(*http.Request) (*http.Response, error) {
				length := int64(-1)
				if told {
					length = int64(tt.size)
				}
				return &http.Response{StatusCode: tt.status, Body: io.NopCloser(strings.NewReader(strings.Repeat("x", tt.size))), ContentLength: length}, nil
			})})
			r := c.Do(t.Context(), newCall(t, Once, "https://a.example"))
			if tooLarge := tt.size > tt.limit; r.Truncated != tooLarge || errors.Is(r.Err, errTooLarge) != tooLarge || len(r.Body) != min(tt.size, tt.limit) {
				t.Errorf("%+v: %d bytes, cut %v, %v", tt, len(r.Body), r.Truncated, r.Err)
			}
		}
	}
}

func TestAccept_isForSuccess(t *testing.T) {
	t.Parallel()
	for status, want := range map[int]int{200: 1, 299: 1, 199: 0, 300: 0, 404: 0} {
		c, _ := script("", status)
		call := newCall(t, Once, "https://a.example")
		asked := 0
		call.Accept = func([]byte) error { asked++; return nil }
		c.Do(t.Context(), call)
		if asked != want {
			t.Errorf("status %d: asked %d times", status, asked)
		}
	}
}

func TestRequestID_alphabet(t *testing.T) {
	t.Parallel()
	for r := range rune(0x250) {
		want := r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("-_.:/=+", r)
		if got := IsRequestID(string(r)); got != want {
			t.Errorf("%q: %v", r, got)
		}
	}
	if !IsRequestID(strings.Repeat("a", 128)) || IsRequestID(strings.Repeat("a", 129)) {
		t.Error("the length")
	}
}
