package transport

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptrace"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
)

// Whatever a transport returns instead of a response, the request may have been sent, and only the
// error of the caller's own context matches one.
func TestRoundTrip_noResponse(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name string
		resp *http.Response
		err  error
	}{
		{name: "nothing"},
		{name: "status 0", resp: &http.Response{Body: http.NoBody}},
		{name: "status 99", resp: &http.Response{StatusCode: 99}},
		{name: "an error", err: errors.New("stub")},
		{name: "cancellation of another context", err: context.Canceled},
		{name: "timeout of another context", err: context.DeadlineExceeded},
	} {
		for _, hooks := range []bool{false, true} {
			if hooks && tt.err != nil {
				continue // proves that nothing was sent
			}
			r := stub(func(req *http.Request) (*http.Response, error) {
				if hooks {
					httptrace.ContextClientTrace(req.Context()).GetConn("store.example:443")
				}
				return tt.resp, tt.err
			}).do(t.Context(), newCall(t, Once, storeURL))
			if !r.MaybeSent || r.StatusCode != 0 || r.Attempts != 1 || (r.Err == errNoResponse) != (tt.err == nil) ||
				errors.Is(r.Err, context.Canceled) || errors.Is(r.Err, context.DeadlineExceeded) {
				t.Errorf("%s, hooks %v: %+v, want MaybeSent after 1 attempt", tt.name, hooks, r)
			}
		}
	}
}

// A transport must not change its request, but some do. The next attempt and the caller's Call must
// not change.
func TestRoundTrip_transportChangesRequest(t *testing.T) {
	t.Parallel()
	call := newCall(t, Replayable, storeURL+"/v2/carts")
	call.Body = []byte("form")
	wantHeader := call.Header.Clone()
	var got []string
	stub(func(req *http.Request) (*http.Response, error) {
		body := make([]byte, 10)
		n, _ := req.Body.Read(body)
		got = append(got, req.URL.String()+" "+req.Header.Get("X-A")+" "+string(body[:n]))
		req.URL.Path += "/changed"
		req.URL.Host = "other.example"
		req.Header["X-A"][0] = "changed in place"
		req.Header.Add("X-B", "added")
		return nil, errors.New("stub")
	}).do(t.Context(), call)
	if want := slices.Repeat([]string{storeURL + "/v2/carts b form"}, 3); !slices.Equal(got, want) {
		t.Errorf("requests %q, want %q", got, want)
	}
	if diff := cmp.Diff(wantHeader, call.Header); diff != "" || call.URL.String() != storeURL+"/v2/carts" {
		t.Errorf("Call.URL = %v, header (-want +got):\n%s", call.URL, diff)
	}
}

func TestRoundTrip_timeouts(t *testing.T) {
	t.Parallel()
	const ofPolicy, ofClient, ofContext = 10 * time.Second, 2 * time.Second, time.Second
	for _, tt := range []struct {
		name          string
		client        time.Duration // Timeout of the caller's http.Client
		context       time.Duration // of the caller's context
		inBody        bool          // the response stops within the body
		wantTook      time.Duration
		wantErr       error
		wantMaybeSent bool
	}{
		{name: "policy", client: time.Hour, context: time.Hour, wantTook: ofPolicy, wantErr: ErrTimeout, wantMaybeSent: true},
		{name: "client", client: ofClient, context: time.Hour, wantTook: ofClient, wantErr: ErrTimeout, wantMaybeSent: true},
		{name: "context", context: ofContext, wantTook: ofContext, wantErr: context.DeadlineExceeded, wantMaybeSent: true},
		{name: "policy, in the body", context: time.Hour, inBody: true, wantTook: ofPolicy, wantErr: ErrTimeout},
		{name: "context, in the body", context: ofContext, inBody: true, wantTook: ofContext,
			wantErr: context.DeadlineExceeded},
	} {
		synctest.Test(t, func(t *testing.T) {
			c := New(&http.Client{Timeout: tt.client, Transport: stub(func(req *http.Request) (*http.Response, error) {
				wait := readFunc(func([]byte) (int, error) {
					<-req.Context().Done()
					return 0, req.Context().Err()
				})
				if !tt.inBody {
					_, err := wait(nil)
					return nil, err
				}
				body := io.NopCloser(io.MultiReader(strings.NewReader("{"), wait))
				return &http.Response{StatusCode: 200, Body: body, ContentLength: -1}, nil
			})})
			ctx, cancel := context.WithTimeout(t.Context(), tt.context)
			defer cancel()
			start := time.Now()
			call := newCall(t, Once, storeURL)
			call.Policy.AttemptTimeout = ofPolicy
			r := c.Do(ctx, call)
			if took := time.Since(start); took != tt.wantTook || r.Err != tt.wantErr || r.MaybeSent != tt.wantMaybeSent ||
				r.Truncated != tt.inBody || (r.StatusCode == 200) != tt.inBody {
				t.Errorf("%s: after %v: %+v, want %v after %v, MaybeSent %v",
					tt.name, took, r, tt.wantErr, tt.wantTook, tt.wantMaybeSent)
			}
		})
	}
}

// After an attempt without a response, the decision to retry must not use the response before it.
func TestRoundTrip_errorAfterRefresh(t *testing.T) {
	t.Parallel()
	for _, class := range []Class{Replayable, Once} {
		call := newCall(t, class, storeURL)
		call.Auth = &auth{"t0", "t1"}
		s := &script{statuses: []int{401, notSent, 200}}
		r := s.do(t.Context(), call)
		if want := []string{"Bearer t0", "Bearer t1", "Bearer t1"}; !r.OK() || !slices.Equal(s.tokens, want) {
			t.Errorf("class %d: tokens %v, %+v, want tokens %v and success", class, s.tokens, r, want)
		}
	}
}

// A 429 with a Retry-After closes the gate, one without slows its operation, and no other status
// does either.
func TestRoundTrip_gate(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name       string
		status     int
		retryAfter string
		op         string // of the second call
		waits      bool   // the second call
		want       error  // of the second call
	}{
		{name: "429 with a Retry-After", status: 429, retryAfter: "5", op: "another", want: ErrGate},
		{name: "503 with a Retry-After", status: 503, retryAfter: "5", op: "op"},
		{name: "429", status: 429, op: "op", waits: true},
		{name: "429 with an invalid Retry-After", status: 429, retryAfter: "soon", op: "op", waits: true},
		{name: "429, then another operation", status: 429, op: "another"},
		{name: "503", status: 503, op: "op"},
		{name: "404", status: 404, op: "op"},
		{name: "200", status: 200, op: "op"},
	} {
		synctest.Test(t, func(t *testing.T) {
			call := newCall(t, Once, storeURL)
			call.Gate, call.Policy.MaxAttempts, call.Policy.MaxBackoff = NewGate(), 1, 5*time.Second
			(&script{statuses: []int{tt.status}, retryAfter: tt.retryAfter}).do(t.Context(), call)
			call.Op = tt.op
			ctx, cancel := context.WithTimeout(t.Context(), 4*time.Second)
			defer cancel()
			s := &script{statuses: []int{200}}
			r := s.do(ctx, call)
			waited := time.Since(s.start) > 0
			if r.Err != tt.want || waited != tt.waits || (r.RetryAfter == 5*time.Second) != (tt.want != nil) ||
				len(s.at) != r.Attempts || r.MaybeSent {
				t.Errorf("%s: %+v after %v, %d requests, want error %v, a wait %v",
					tt.name, r, time.Since(s.start), len(s.at), tt.want, tt.waits)
			}
		})
	}
}

// Responses raise the rate of their operation, but those of an overloaded service do not.
func TestRoundTrip_accepted(t *testing.T) {
	t.Parallel()
	for status, want := range map[int]bool{200: true, 404: true, 503: false, 0: false} {
		synctest.Test(t, func(t *testing.T) {
			call := newCall(t, Once, storeURL)
			call.Gate, call.Policy.MaxAttempts = refused(t, 1, call.Op, 0), 1
			(&script{statuses: []int{status}}).do(t.Context(), call)
			if s := call.Gate.ops[call.Op]; (s.refused == 0) != want || (s.rate > minFirstRate) != want {
				t.Errorf("after a %d: %d refusals, rate %v, want accepted %v", status, s.refused, s.rate, want)
			}
		})
	}
}

// A call that got through the limiter just as the gate was closed waits for both again.
func TestRoundTrip_gateClosedMeanwhile(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		call := newCall(t, Once, storeURL)
		call.Gate, call.Policy.MaxBackoff = NewGate(), time.Hour
		asked := 0
		call.Limiter = limiter(func(context.Context) error {
			if asked++; asked == 1 {
				call.Gate.refuse(call.Op, &turn{at: time.Now()}, time.Second, time.Hour)
			}
			return nil
		})
		s := &script{statuses: []int{200}}
		r := s.do(t.Context(), call)
		if !r.OK() || asked != 2 || !slices.Equal(s.at, seconds(1)) {
			t.Errorf("%+v, limiter asked %d times, attempts at %v, want 2 times and 1s", r, asked, s.at)
		}
	})
}

// BeforeAttempt is called before each attempt, after everything else that it waits for. Its error
// ends the call.
func TestRoundTrip_beforeAttempt(t *testing.T) {
	t.Parallel()
	errOwn := errors.New("lost")
	for _, tt := range []struct {
		name        string
		class       Class
		statuses    []int
		failAt      int // call of BeforeAttempt that fails; 0: none
		wantStatus  int
		wantBefore  bool // MaybeAppliedBefore
		wantCalls   int
		wantAttempt int
	}{
		{name: "no error", class: Once, statuses: []int{429, notSent, 200}, wantStatus: 200, wantCalls: 3,
			wantAttempt: 3},
		{name: "first attempt", class: Once, failAt: 1, wantCalls: 1},
		{name: "after a 429", class: Once, statuses: []int{429}, failAt: 2, wantStatus: 429, wantCalls: 2,
			wantAttempt: 1},
		{name: "after a refresh", class: Once, statuses: []int{401}, failAt: 2, wantStatus: 401, wantCalls: 2,
			wantAttempt: 1},
		{name: "after a 503", class: Replayable, statuses: []int{503}, failAt: 2, wantStatus: 503,
			wantBefore: true, wantCalls: 2,
			wantAttempt: 1},
		{name: "after an attempt without a response", class: Replayable, statuses: []int{0}, failAt: 2,
			wantBefore: true, wantCalls: 2,
			wantAttempt: 1},
	} {
		call := newCall(t, tt.class, storeURL)
		call.Gate, call.Auth = NewGate(), &auth{"t0", "t1"}
		waits, calls := 0, 0
		call.Limiter = limiter(func(context.Context) error { waits++; return nil })
		call.BeforeAttempt = func() error {
			if calls++; calls != waits {
				t.Errorf("%s: call %d after %d waits for the limiter, want one wait each", tt.name, calls, waits)
			}
			if calls == tt.failAt {
				return errOwn
			}
			return nil
		}
		s := &script{statuses: tt.statuses}
		r := s.do(t.Context(), call)
		var wantErr error
		if tt.failAt > 0 {
			wantErr = errOwn
		}
		if r.Err != wantErr || r.StatusCode != tt.wantStatus || r.MaybeSent || r.MaybeAppliedBefore != tt.wantBefore ||
			calls != tt.wantCalls || r.Attempts != tt.wantAttempt || len(s.at) != tt.wantAttempt {
			t.Errorf("%s: %d calls, %d requests, %+v, want %+v", tt.name, calls, len(s.at), r, tt)
		}
	}
}

// A call that does not get as far as an attempt does not call BeforeAttempt.
func TestRoundTrip_notBeforeAttempt(t *testing.T) {
	t.Parallel()
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	closed := refused(t, 1, "op", time.Hour)
	soon, cancelSoon := context.WithTimeout(t.Context(), time.Minute)
	defer cancelSoon()
	refusing := limiter(func(context.Context) error { return errors.New("limiter") })
	for name, prepare := range map[string]func(*Call) context.Context{
		"context": func(*Call) context.Context { return ended },
		"gate":    func(c *Call) context.Context { c.Gate = closed; return soon },
		"limiter": func(c *Call) context.Context { c.Limiter = refusing; return t.Context() },
		"token":   func(c *Call) context.Context { c.Auth = &auth{}; return t.Context() },
	} {
		call := newCall(t, Once, storeURL)
		call.BeforeAttempt = func() error { t.Errorf("%s: BeforeAttempt is called", name); return nil }
		if r := (&script{statuses: []int{200}}).do(prepare(call), call); r.Err == nil || r.Attempts != 0 {
			t.Errorf("%s: %+v, want an error without an attempt", name, r)
		}
	}
}
