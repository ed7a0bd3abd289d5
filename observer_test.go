package commerce_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/google/uuid"
	"github.com/jarcoal/httpmock"

	"github.com/commerce-go/commerce"
	"github.com/commerce-go/commerce/commercetest"
	"github.com/commerce-go/commerce/internal/e2e/calls"
)

// observations is an Observer that keeps its notifications, in order. A context carries the
// names of the calls and attempts that it was passed through.
type observations struct {
	mu   sync.Mutex
	list []any
}

type namesKey struct{}

func namesIn(ctx context.Context) string { names, _ := ctx.Value(namesKey{}).(string); return names }

func (o *observations) add(v any) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.list = append(o.list, v)
}

func (o *observations) StartCall(
	ctx context.Context, call commerce.CallInfo,
) (context.Context, func(commerce.CallResult)) {
	o.add(call)
	return context.WithValue(ctx, namesKey{}, namesIn(ctx)+"/"+call.Op), func(r commerce.CallResult) { o.add(r) }
}

func (o *observations) StartAttempt(
	ctx context.Context, attempt commerce.AttemptInfo,
) (context.Context, func(commerce.AttemptResult)) {
	o.add(attempt)
	names := fmt.Sprintf("%s/%s %d", namesIn(ctx), attempt.Method, attempt.Attempt)
	return context.WithValue(ctx, namesKey{}, names), func(r commerce.AttemptResult) { o.add(r) }
}

// ignoreTimes ignores what depends on the clock, and what TestObserver_failures compares.
var ignoreTimes = cmp.Options{
	cmpopts.IgnoreFields(commerce.CallResult{}, "Duration", "Waits", "Reason", "Remedy"),
	cmpopts.IgnoreFields(commerce.AttemptInfo{}, "Waits"),
	cmpopts.IgnoreFields(commerce.AttemptResult{}, "Duration"),
}

const (
	addOp  = "Carts.AddCustomDiscounts"
	listOp = "Subscriptions.List"
)

var observerTests = []struct {
	name       string
	responders []httpmock.Responder
	call       func(context.Context, *commerce.Client) error
	want       []any
}{
	{
		name: "a read and its retry", call: list,
		responders: []httpmock.Responder{respond(503, "", "X-Request-Id", "r-1"), respond(200, emptyList)},
		want: []any{
			commerce.CallInfo{Op: listOp, Method: "GET"},
			commerce.AttemptInfo{Op: listOp, Method: "GET", Attempt: 1},
			commerce.AttemptResult{StatusCode: 503, RequestID: "r-1"},
			commerce.AttemptInfo{Op: listOp, Method: "GET", Attempt: 2},
			commerce.AttemptResult{StatusCode: 200},
			commerce.CallResult{Outcome: commerce.OutcomeNone, StatusCode: 200, Attempts: 2},
		},
	},
	{
		name: "a write without a response", call: addDiscount, responders: []httpmock.Responder{failTransport},
		want: []any{
			commerce.CallInfo{Op: addOp, Method: "POST"},
			commerce.AttemptInfo{Op: addOp, Method: "POST", Attempt: 1},
			commerce.AttemptResult{Error: "failed (*errors.errorString)"},
			commerce.CallResult{Error: "failed (*errors.errorString)", Attempts: 1},
		},
	},
	{
		name: "a write with an unreadable response", call: addDiscount, responders: []httpmock.Responder{respond(201, "<")},
		want: []any{
			commerce.CallInfo{Op: addOp, Method: "POST"},
			commerce.AttemptInfo{Op: addOp, Method: "POST", Attempt: 1},
			commerce.AttemptResult{StatusCode: 201},
			commerce.CallResult{
				Outcome: commerce.OutcomeUnreadable, Error: commerce.ErrBadResponse.Error(), StatusCode: 201, Attempts: 1,
			},
		},
	},
}

// TestObserver_calls has the calls that succeed at once, and TestValidationError_calls the invalid
// arguments.
func TestObserver(t *testing.T) {
	t.Parallel()
	for _, tt := range observerTests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			o := &observations{}
			_ = tt.call(t.Context(), newStub(t, tt.responders...).client(t, commerce.WithObserver(o)))
			if d := cmp.Diff(tt.want, o.list, ignoreTimes); d != "" {
				t.Errorf("(-want +got):\n%s", d)
			}
		})
	}
}

// Each public call is one call of the observer, whatever it sends.
func TestObserver_calls(t *testing.T) {
	t.Parallel()
	for _, call := range calls.All() {
		o := &observations{}
		s := newStub(t, successOf(call)...)
		if _, err := call.Do(t.Context(), s.client(t, commerce.WithObserver(o)), calls.NewArgs()); err != nil {
			t.Errorf("%s: %v", call.Name, err)
			continue
		}
		want := []any{commerce.CallInfo{Op: call.Op, Method: call.Method}}
		responses := call.Responses(calls.NewArgs())
		result := commerce.CallResult{Outcome: call.Outcome(commerce.OutcomeApplied), Attempts: len(responses)}
		for i, r := range s.sent() {
			result.StatusCode = responses[i].Status
			want = append(want, commerce.AttemptInfo{Op: call.Op, Method: r.Method, Attempt: 1},
				commerce.AttemptResult{StatusCode: responses[i].Status})
		}
		if call.List {
			result.Records = 1
		}
		if d := cmp.Diff(append(want, result), o.list, ignoreTimes); d != "" {
			t.Errorf("%s (-want +got):\n%s", call.Name, d)
		}
	}
}

// failingLocker refuses all locks.
type failingLocker struct{}

func (failingLocker) Lock(context.Context, string) (context.Context, func(), error) {
	return nil, nil, errors.New("refused")
}

// panickingLocker panics instead of locking.
type panickingLocker struct{}

func (panickingLocker) Lock(context.Context, string) (context.Context, func(), error) {
	panic("planned")
}

// Every call that begins ends, also if it fails, or if the caller recovers from a panic in its own
// code.
func TestObserver_failures(t *testing.T) {
	t.Parallel()
	fails := roundTripper(failTransport)
	panics := roundTripper(func(*http.Request) (*http.Response, error) { panic("planned") })
	credentials := commerce.WithClientCredentials("id", "secret")
	for _, call := range calls.All() {
		for _, tt := range []struct {
			name      string
			transport roundTripper
			opt       commerce.Option
			want      any // what is recovered; nil: an error is returned
		}{
			{name: "transport", transport: fails, opt: attempts(1)},
			{name: "token", transport: fails, opt: credentials},
			{name: "limiter", transport: fails, opt: commerce.WithLimiter(failingLimiter{})},
			{name: "lock", transport: fails, opt: commerce.WithCartLocker(failingLocker{})},
			{name: "panic of the transport", transport: panics, opt: attempts(1), want: "planned"},
			{name: "panic during a token request", transport: panics, opt: credentials, want: "planned"},
			{name: "panic of the locker", transport: panics, opt: commerce.WithCartLocker(panickingLocker{}), want: "planned"},
		} {
			o, logged := &observations{}, 0
			logger := slog.New(recordFunc(func(ctx context.Context, r slog.Record) {
				if r.Message == "commerce: failed" && namesIn(ctx) == "/"+call.Op {
					logged++
				}
			}))
			c := newClient(t, tt.transport, attempts(1), tt.opt, commerce.WithObserver(o), commerce.WithLogger(logger))
			var err error
			got := recovered(func() { _, err = call.Do(t.Context(), c, calls.NewArgs()) })
			if got != tt.want || (err == nil) != (got != nil) {
				t.Errorf("%s, %s: recovered %v, error %v, want %v", call.Name, tt.name, got, err, tt.want)
			}
			o.checkEnds(t, call.Name+", "+tt.name)
			wantReason, wantRemedy := commerce.ReasonOf(err), commerce.RemedyOf(err)
			if got != nil {
				wantReason, wantRemedy = "other", commerce.RemedyStaff
			}
			last, _ := o.list[len(o.list)-1].(commerce.CallResult)
			if last.Reason != wantReason || last.Remedy != wantRemedy || logged != 1 {
				t.Errorf("%s, %s: got %+v and %d events, want the reason %s, the remedy %v and one event",
					call.Name, tt.name, last, logged, wantReason, wantRemedy)
			}
			for _, event := range o.list {
				if result, ok := event.(commerce.CallResult); ok && (result.Error == "panic") != (got != nil) {
					t.Errorf("%s, %s: got %+v, recovered %v", call.Name, tt.name, result, got)
				}
			}
		}
	}
}

// checkEnds checks that as many calls and attempts ended as began, all calls with an error.
func (o *observations) checkEnds(t *testing.T, name string) {
	t.Helper()
	began, ended := 0, 0
	for _, event := range o.list {
		switch e := event.(type) {
		case commerce.CallInfo, commerce.AttemptInfo:
			began++
		case commerce.AttemptResult:
			ended++
		case commerce.CallResult:
			ended++
			if e.Error == "" || e.Records != 0 {
				t.Errorf("%s: got %+v, want an error and no records", name, e)
			}
		}
	}
	if began == 0 || began != ended {
		t.Errorf("%s: %d calls and attempts began and %d ended", name, began, ended)
	}
}

type failingLimiter struct{}

func (failingLimiter) Wait(context.Context) error { return errors.New("refused") }

// What the result of a call says beyond that of its last attempt.
func TestObserver_results(t *testing.T) {
	t.Parallel()
	ensure := func(opts *commerce.EnsureCustomDiscountsOptions) func(context.Context, *commerce.Client, string) error {
		return func(ctx context.Context, c *commerce.Client, cart string) error {
			_, err := c.Carts.EnsureCustomDiscounts(ctx, cart, discounts("a"), opts)
			return err
		}
	}
	for _, tt := range []struct {
		name   string
		faults []commercetest.Fault
		call   func(ctx context.Context, c *commerce.Client, cart string) error
		want   commerce.CallResult
	}{
		{
			name: "a refused add of Ensure", call: ensure(nil),
			faults: []commercetest.Fault{{Operation: commercetest.OpAdd, Status: 422}},
			want: commerce.CallResult{
				Outcome: commerce.OutcomeRejected, Error: "422 Unprocessable Entity",
				StatusCode: 200, RequestID: "commercetest-000002", Attempts: 3,
			},
		},
		{
			name: "a dry run", call: ensure(&commerce.EnsureCustomDiscountsOptions{DryRun: true}),
			want: commerce.CallResult{
				Outcome: commerce.OutcomeNone, StatusCode: 200, RequestID: "commercetest-000001", Attempts: 1,
			},
		},
		{
			name: "an error whose id is in the body only",
			call: func(ctx context.Context, c *commerce.Client, _ string) error { return list(ctx, c) },
			faults: []commercetest.Fault{{
				Status: 400, Body: `{"errors":[{"request_id":"b-1"}]}`, Header: http.Header{"X-Request-Id": {""}},
			}},
			want: commerce.CallResult{
				Outcome: commerce.OutcomeNone, Error: "400 Bad Request", StatusCode: 400, RequestID: "b-1", Attempts: 1,
			},
		},
		{
			name: "HEAD",
			call: func(ctx context.Context, c *commerce.Client, _ string) error {
				_, err := c.Do(ctx, "HEAD", []string{"v2", "other"}, nil, nil, nil)
				return err
			},
			want: commerce.CallResult{
				Outcome: commerce.OutcomeNone, StatusCode: 200, RequestID: "commercetest-000001", Attempts: 1,
			},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			store := commercetest.New(t, commercetest.Config{DiscountsEnabled: true})
			store.Handle("/v2/other", http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
			store.Inject(tt.faults...)
			o := &observations{}
			_ = tt.call(t.Context(), store.Client(commerce.WithObserver(o)), store.AddCart(commerce.CartItemRef{}))
			if d := cmp.Diff(any(tt.want), o.list[len(o.list)-1], ignoreTimes); d != "" {
				t.Errorf("(-want +got):\n%s", d)
			}
		})
	}
}

// Waits that no attempt follows count, and so does a new token after a 401.
func TestObserver_lastWaits(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]commerce.Waits{
		"token":   {Token: 3 * time.Second},
		"backoff": {Backoff: 5 * time.Second},
	} {
		inBubble(t, name, func(t *testing.T) {
			store := commercetest.New(t, commercetest.Config{DiscountsEnabled: true})
			opts := []commerce.Option{}
			if name == "token" {
				store.Inject(commercetest.Fault{Operation: commercetest.OpList, Status: 401},
					commercetest.Fault{Operation: commercetest.OpToken, After: 1, Delay: 3 * time.Second})
				opts = append(opts, commerce.WithClientCredentials(commercetest.DefaultClientID, commercetest.DefaultClientSecret))
			} else {
				store.Inject(commercetest.Fault{Status: 503, Header: http.Header{"Retry-After": {"10"}}})
			}
			o := &observations{}
			ctx, cancel := context.WithCancel(t.Context())
			time.AfterFunc(5*time.Second, cancel)
			_ = list(ctx, store.Client(append(opts, commerce.WithObserver(o))...))
			got, _ := o.list[len(o.list)-1].(commerce.CallResult)
			diff(t, "waits", got.Waits, want)
		})
	}
}

// A page that a walk cannot use has no records.
func TestObserver_unusablePage(t *testing.T) {
	t.Parallel()
	o := &observations{}
	page := `{"data":[{"id":"` + itemID + `"}],"errors":[{"title":"Half of it is missing"}]}`
	c := newStub(t, respond(200, page)).client(t, attempts(1), commerce.WithObserver(o))
	if _, err := commerce.Collect(c.Accounts.IDs(t.Context(), uuid.Nil)); !errors.Is(err, commerce.ErrBadResponse) {
		t.Errorf("error = %v, want ErrBadResponse", err)
	}
	o.checkEnds(t, "accounts")
	diff(t, "attempt", o.list[2].(commerce.AttemptResult).Error, "unusable response")
}

// A token request is a call within the call that needs the token.
func TestObserver_contexts(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) { // a wait of a busy machine would be logged
		store := commercetest.New(t, commercetest.Config{DiscountsEnabled: true})
		var got []string
		base := roundTripper(func(req *http.Request) (*http.Response, error) {
			got = append(got, req.URL.Path+" "+namesIn(req.Context()))
			return store.Transport().RoundTrip(req)
		})
		var logged []string
		logger := slog.New(recordFunc(func(ctx context.Context, _ slog.Record) { logged = append(logged, namesIn(ctx)) }))
		c := store.Client(commerce.WithHTTPClient(&http.Client{Transport: base}),
			commerce.WithClientCredentials(commercetest.DefaultClientID, commercetest.DefaultClientSecret),
			commerce.WithObserver(&observations{}), commerce.WithLogger(logger))
		if _, err := c.Settings(context.WithValue(t.Context(), namesKey{}, "caller")); err != nil {
			t.Fatal(err)
		}
		diff(t, "requests", got, []string{
			"/oauth/access_token caller/Client.Settings/token/POST 1",
			"/v2/settings caller/Client.Settings/GET 1",
		})
		diff(t, "contexts of log events", logged, []string{"caller/Client.Settings/token", "caller/Client.Settings"})
	})
}

// carelessObserver returns contexts that have ended or are nil, and nil functions.
type carelessObserver struct{ ctx context.Context } //nolint:containedctx // what the test is about

func (o carelessObserver) StartCall(context.Context, commerce.CallInfo) (context.Context, func(commerce.CallResult)) {
	return o.ctx, nil
}

func (o carelessObserver) StartAttempt(
	context.Context, commerce.AttemptInfo,
) (context.Context, func(commerce.AttemptResult)) {
	return o.ctx, nil
}

// An observer cannot end a call, and cannot make it outlast its context.
func TestObserver_careless(t *testing.T) {
	t.Parallel()
	ended, cancel := context.WithCancel(context.Background())
	cancel()
	for name, given := range map[string]context.Context{"nil": nil, "ended": ended, "unrelated": context.Background()} {
		inBubble(t, name, func(t *testing.T) {
			store := commercetest.New(t, commercetest.Config{DiscountsEnabled: true})
			c := store.Client(commerce.WithObserver(carelessObserver{given}))
			if err := list(t.Context(), c); err != nil { //nolint:contextcheck // a context of the test
				t.Errorf("error = %v, want none", err)
			}
			store.Inject(commercetest.Fault{Delay: time.Hour})
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			start := time.Now()
			err := list(ctx, c) //nolint:contextcheck // a context of the test
			if got := time.Since(start); got != time.Second || err == nil {
				t.Errorf("error %v after %s, want one after 1s", err, got)
			}
		})
	}
}

// sleepyLimiter makes each attempt wait.
type sleepyLimiter time.Duration

func (l sleepyLimiter) Wait(context.Context) error { time.Sleep(time.Duration(l)); return nil }

type sleepyLocker time.Duration

func (l sleepyLocker) Lock(ctx context.Context, _ string) (context.Context, func(), error) {
	time.Sleep(time.Duration(l))
	return ctx, func() {}, nil
}

func TestObserver_waits(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store := commercetest.New(t, commercetest.Config{DiscountsEnabled: true})
		cart := store.AddCart(commerce.CartItemRef{})
		store.Inject(
			commercetest.Fault{Operation: commercetest.OpToken, Delay: 3 * time.Second},
			commercetest.Fault{
				Operation: commercetest.OpAdd, Delay: 5 * time.Second, Status: 429, Header: http.Header{"Retry-After": {"20"}},
			})
		o := &observations{}
		c := store.Client(commerce.WithObserver(o), commerce.WithLimiter(sleepyLimiter(time.Second)),
			commerce.WithCartLocker(sleepyLocker(7*time.Second)),
			commerce.WithClientCredentials(commercetest.DefaultClientID, commercetest.DefaultClientSecret))
		add := func(externalID string) {
			if _, err := c.Carts.AddCustomDiscounts(t.Context(), cart, discounts(externalID), nil); err != nil {
				t.Error(err)
			}
		}
		slow, err := c.With(commerce.WithLimiter(sleepyLimiter(2 * time.Second)))
		if err != nil {
			t.Fatal(err)
		}
		read := func() {
			if err := list(t.Context(), slow); err != nil {
				t.Error(err)
			}
		}
		var running sync.WaitGroup
		running.Go(func() { add("a") })
		time.Sleep(15 * time.Second)
		running.Go(func() { add("b") }) // the first call has the turn
		time.Sleep(15 * time.Second)
		running.Go(read) // the gate is closed
		running.Wait()
		got := map[string][]commerce.Waits{}
		for _, event := range o.list {
			switch e := event.(type) {
			case commerce.AttemptInfo:
				name := fmt.Sprintf("%s %d", e.Op, e.Attempt)
				got[name] = append(got[name], e.Waits)
			case commerce.CallResult:
				name := fmt.Sprintf("%s after %s", e.Outcome, e.Duration)
				got[name] = append(got[name], e.Waits)
			}
		}
		const s = time.Second
		diff(t, "waits", got, map[string][]commerce.Waits{
			"token 1":       {{Limiter: s}},
			"none after 4s": {{Limiter: s}},
			// 7 s for the lock and 5 s for the refusal
			"Carts.AddCustomDiscounts 1": {
				{Lock: 7 * s, Limiter: s, Token: 4 * s},
				{Turn: 23 * s, Lock: 7 * s, Limiter: s},
			},
			"Carts.AddCustomDiscounts 2": {{Limiter: s, Backoff: 20 * s}},
			"applied after 38s":          {{Lock: 7 * s, Limiter: 2 * s, Token: 4 * s, Backoff: 20 * s}},
			"applied after 31s":          {{Turn: 23 * s, Lock: 7 * s, Limiter: s}},
			"Subscriptions.List 1":       {{Gate: 7 * s, Limiter: 2 * s}},
			"none after 9s":              {{Gate: 7 * s, Limiter: 2 * s}},
		})
	})
}
