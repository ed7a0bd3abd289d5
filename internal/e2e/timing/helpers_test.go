// Package timing_test checks when calls send requests and when they return, to the
// nanosecond, on the clock of testing/synctest.
package timing_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"
	"golang.org/x/oauth2"

	"github.com/commerce-go/commerce"
	"github.com/commerce-go/commerce/internal/e2e/calls"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	baseURL = "https://store.example"
	forever = time.Duration(1<<63 - 1)
)

// reply is what the service does with one request.
type reply func(*http.Request) (*http.Response, error)

// status replies with a status, an empty body and one header for each retryAfter.
func status(code int, retryAfter ...string) reply { return body(code, "", retryAfter...) }

func body(code int, text string, retryAfter ...string) reply {
	return func(req *http.Request) (*http.Response, error) {
		header := http.Header{}
		for _, value := range retryAfter {
			header.Add("Retry-After", value)
		}
		return &http.Response{
			StatusCode: code, Header: header, Body: io.NopCloser(strings.NewReader(text)), Request: req,
		}, nil
	}
}

// token replies to a token request.
func token(value string) reply { return body(200, `{"access_token":"`+value+`","expires_in":3600}`) }

// success is the response that each of the calls below wants.
func success(req *http.Request) (*http.Response, error) {
	if req.Method == http.MethodPost {
		return body(201, `{"data":[{"id":"3b4de20a-ccd0-44e6-894f-628e7afb3db0","external_id":"a"}]}`)(req)
	}
	return body(200, `{"data":[],"links":{"next":null}}`)(req)
}

// after sends a reply after d.
func after(d time.Duration, then reply) reply {
	return func(req *http.Request) (*http.Response, error) {
		select {
		case <-time.After(d):
			return then(req)
		case <-req.Context().Done():
			return nil, req.Context().Err()
		}
	}
}

// silence never sends a response.
func silence(req *http.Request) (*http.Response, error) { return after(forever, nil)(req) }

func times(n int, r reply) []reply { return slices.Repeat([]reply{r}, n) }

// service is a transport that sends one reply after the other, then rest, and
// notes when each request was sent.
type service struct {
	t       *testing.T
	replies []reply
	rest    reply // nil: more requests fail the test
	start   time.Time

	mu   sync.Mutex
	sent []time.Duration // since start
}

func newService(t *testing.T, replies ...reply) *service {
	t.Helper()
	return &service{t: t, replies: replies, start: time.Now()}
}

func (s *service) send(req *http.Request) (*http.Response, error) {
	s.mu.Lock()
	n := len(s.sent)
	s.sent = append(s.sent, time.Since(s.start))
	s.mu.Unlock()
	switch {
	case n < len(s.replies):
		return s.replies[n](req)
	case s.rest != nil:
		return s.rest(req)
	}
	s.t.Errorf("%d requests, want at most %d", n+1, len(s.replies))
	return status(http.StatusTeapot)(req)
}

func newClient(t *testing.T, transport calls.Transport, opts ...commerce.Option) *commerce.Client {
	t.Helper()
	c, err := commerce.New(baseURL, append([]commerce.Option{
		commerce.WithToken("an-invented-token"), commerce.WithHTTPClient(&http.Client{Transport: transport}),
	}, opts...)...)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// A read and a write.
var (
	read  = calls.Named("Subscriptions.List")
	write = calls.Named("Carts.AddCustomDiscounts")
)

// scenario is what the caller asks for, what the service does, and what happens when.
// It is checked with a read and with a write.
type scenario struct {
	name             string
	retry            commerce.RetryPolicy // with a MinBackoff of 1 ns, so that the first backoff takes no time
	limiter          limiter
	opts             []commerce.Option
	cancel, deadline time.Duration // of the context; 0: never
	service          []reply

	// want is the timeline of the call, e.g. "sent 0s 2s, done 2s" or "sent 0s 2s, failed
	// 2s: 429, retry after 5s". It names the token if the token request failed, and the
	// number of attempts if it is not that of all requests.
	want      string
	wantWrite string           // if a write differs from a read
	outcome   commerce.Outcome // of a write that fails
}

func check(t *testing.T, scenarios []scenario) {
	t.Helper()
	for _, sc := range scenarios {
		t.Run(sc.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) { sc.check(t, read, sc.want, commerce.OutcomeNone) })
			synctest.Test(t, func(t *testing.T) { sc.check(t, write, cmp.Or(sc.wantWrite, sc.want), sc.outcome) })
		})
	}
}

func (sc scenario) check(t *testing.T, call calls.Call, want string, outcome commerce.Outcome) {
	t.Helper()
	s := newService(t, sc.service...)
	sc.retry.MinBackoff = max(sc.retry.MinBackoff, 1)
	opts := append([]commerce.Option{commerce.WithRetry(sc.retry)}, sc.opts...)
	if sc.limiter != (limiter{}) {
		opts = append(opts, commerce.WithLimiter(&sc.limiter))
	}
	ctx, cancel := context.WithCancel(t.Context())
	if sc.deadline > 0 {
		ctx, cancel = context.WithTimeout(ctx, sc.deadline)
	}
	defer cancel()
	if sc.cancel > 0 {
		time.AfterFunc(sc.cancel, cancel)
	}
	result, err := call.Do(ctx, newClient(t, s.send, opts...), calls.NewArgs())
	returned := time.Since(s.start)
	time.Sleep(time.Hour) // a request that is sent after the return would show

	if strings.Contains(want, "token") {
		outcome = commerce.OutcomeNotSent // of a read, too
	}
	if err != nil {
		want += ", " + outcome.String()
	}
	if got := s.timeline(call, returned, calls.ResponseIn(result), err); got != want {
		t.Errorf("%s:\n got %s\nwant %s", call.Name, got, want)
	}
}

// timeline says when requests were sent, when the call ended, and the facts of its error.
func (s *service) timeline(call calls.Call, returned time.Duration, resp *commerce.Response, err error) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	line := fmt.Sprint("done ", returned)
	if e, ok := errors.AsType[*commerce.Error](err); ok {
		line = fmt.Sprintf("failed %v: %s", returned, errorFacts(call, e))
		resp = &commerce.Response{Attempts: e.Attempts}
	} else if err != nil {
		return fmt.Sprintf("failed %v: %T, want an *Error", returned, err)
	}
	if len(s.sent) > 0 {
		line = "sent " + strings.Trim(fmt.Sprint(s.sent), "[]") + ", " + line
	}
	if resp.Attempts != len(s.sent) {
		line += fmt.Sprint(", attempts ", resp.Attempts)
	}
	if err != nil {
		line += ", " + commerce.OutcomeOf(err).String()
	}
	return line
}

var errBudget = errors.New("no budget left") // of a limiter

// waitText is what a call waited for when its context ended.
var waitText = regexp.MustCompile(" while waiting for [a-z ]+[a-z]")

func errorFacts(call calls.Call, e *commerce.Error) string {
	facts := []string{"no response"}
	if e.StatusCode != 0 {
		facts[0] = strconv.Itoa(e.StatusCode)
	}
	if errors.Is(e, commerce.ErrBadResponse) {
		facts = append(facts, "bad response")
	}
	for _, cause := range []error{context.Canceled, context.DeadlineExceeded, errBudget} {
		if errors.Is(e, cause) {
			facts = append(facts, strings.TrimPrefix(cause.Error(), "context "))
		}
	}
	if what := waitText.FindStringSubmatch(e.Error()); what != nil {
		facts[len(facts)-1] += what[0]
	}
	if e.RetryAfter > 0 {
		facts = append(facts, "retry after "+e.RetryAfter.String())
	}
	if e.Op != call.Op {
		facts = append(facts, e.Op)
	}
	return strings.Join(facts, ", ")
}

// limiter lets each request wait, and returns an error instead if allows is used up.
type limiter struct {
	wait   time.Duration
	allows int
	err    error // nil: it allows any number
}

func (l *limiter) Wait(ctx context.Context) error {
	if l.allows--; l.err != nil && l.allows < 0 {
		return l.err
	}
	select {
	case <-time.After(l.wait):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// slowSource takes this long to return a token.
type slowSource time.Duration

func (s slowSource) Token() (*oauth2.Token, error) {
	time.Sleep(time.Duration(s))
	return &oauth2.Token{AccessToken: "slow"}, nil
}
