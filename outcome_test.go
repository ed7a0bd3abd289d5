package commerce_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/commerce-go/commerce"
	"github.com/commerce-go/commerce/internal/e2e/calls"
)

func TestOutcome_text(t *testing.T) {
	t.Parallel()
	if commerce.Outcome(0) != commerce.OutcomeUnknown {
		t.Error("the zero Outcome is not OutcomeUnknown")
	}
	for i, want := range []string{
		"unknown", "none", "not sent", "rejected", "partial", "unreadable", "applied", "Outcome(7)",
	} {
		if got := commerce.Outcome(i).String(); got != want {
			t.Errorf("Outcome(%d) = %q, want %q", i, got, want)
		}
		var log bytes.Buffer
		slog.New(slog.NewJSONHandler(&log, nil)).Info("done", "outcome", commerce.Outcome(i))
		if want := fmt.Sprintf(`"outcome":%q`, want); !strings.Contains(log.String(), want) {
			t.Errorf("logged as JSON: %s, want %s", &log, want)
		}
	}
}

func TestOutcomeOf(t *testing.T) {
	t.Parallel()
	failed := func(o commerce.Outcome) error { return &commerce.Error{Outcome: o} }
	for _, tt := range []struct {
		name string
		err  error
		want commerce.Outcome
	}{
		{name: "no error", want: commerce.OutcomeApplied},
		{name: "another package", err: context.Canceled, want: commerce.OutcomeUnknown},
		{name: "an Error that says applied", err: failed(commerce.OutcomeApplied), want: commerce.OutcomeUnknown},
		{name: "zero Error", err: &commerce.Error{}, want: commerce.OutcomeUnknown},
		{name: "nil *Error", err: (*commerce.Error)(nil), want: commerce.OutcomeUnknown},
		{name: "wrapped", err: fmt.Errorf("w: %w", failed(commerce.OutcomeRejected)), want: commerce.OutcomeRejected},
		{name: "ValidationError", err: &commerce.ValidationError{}, want: commerce.OutcomeNotSent},
		{
			name: "PagingError, whatever its cause", want: commerce.OutcomeNone,
			err: &commerce.PagingError{Err: failed(commerce.OutcomeNotSent)},
		},
		{
			name: "not the cause of an Error", want: commerce.OutcomeRejected,
			err: &commerce.Error{Outcome: commerce.OutcomeRejected, Err: failed(commerce.OutcomeUnknown)},
		},
		{
			name: "with another package", want: commerce.OutcomeNotSent,
			err: fmt.Errorf("%w: %w", context.Canceled, failed(commerce.OutcomeNotSent)),
		},
	} {
		if got := commerce.OutcomeOf(tt.err); got != tt.want {
			t.Errorf("%s: OutcomeOf(%v) = %v, want %v", tt.name, tt.err, got, tt.want)
		}
	}
	bySeverity := []commerce.Outcome{
		commerce.OutcomeUnknown, commerce.OutcomeUnreadable, commerce.OutcomePartial,
		commerce.OutcomeRejected, commerce.OutcomeNotSent, commerce.OutcomeNone,
	}
	for i, worse := range bySeverity {
		for _, better := range bySeverity[i:] {
			joined := errors.Join(failed(better), fmt.Errorf("w: %w", failed(worse)))
			if got := commerce.OutcomeOf(joined); got != worse {
				t.Errorf("OutcomeOf(%v and %v) = %v, want %v", better, worse, got, worse)
			}
		}
	}
}

// outcomesOfWrites are the responses to the requests of a write, and the outcome of any write.
var outcomesOfWrites = []struct {
	name       string
	responders responders
	replayable int // number of requests of a write that may be sent again, if there are more
	want       commerce.Outcome
	is         error
}{
	{
		name: "503", responders: responders{respond(503, "")}, replayable: 4,
		want: commerce.OutcomeUnknown, is: commerce.ErrServer,
	},
	{
		name: "lost response", responders: responders{failTransport}, replayable: 4,
		want: commerce.OutcomeUnknown, is: commerce.ErrOutcomeUnknown,
	},
	{
		name: "404", responders: responders{respond(404, `{"errors":[{"title":"Not Found"}]}`)},
		want: commerce.OutcomeRejected, is: commerce.ErrNotFound,
	},
	{
		name: "429, 403", responders: responders{rateLimited, respond(403, "")},
		want: commerce.OutcomeRejected, is: commerce.ErrForbidden,
	},
	{
		name: "429, lost response", responders: responders{rateLimited, failTransport}, replayable: 5,
		want: commerce.OutcomeUnknown, is: commerce.ErrOutcomeUnknown,
	},
	{
		name: "a refusal that may hold a discount", responders: responders{respond(429, `{"data":{"id":1}}`)},
		replayable: 12, want: commerce.OutcomeUnknown, is: commerce.ErrRateLimited,
	},
	{
		name: "a refusal whose body does not arrive", responders: responders{respondTruncated(429, "")},
		replayable: 12, want: commerce.OutcomeUnknown, is: commerce.ErrRateLimited,
	},
	{
		name: "a truncated refusal with an empty array", responders: responders{respondTruncated(404, "[ ]")},
		want: commerce.OutcomeUnknown, is: commerce.ErrNotFound,
	},
	{
		name:       "a refusal that fails after its JSON",
		responders: responders{respondTruncated(404, `{"errors":[{"title":"x"}]}`)},
		want:       commerce.OutcomeUnknown, is: commerce.ErrNotFound,
	},
}

// A write states its outcome, also if it reads before. The last response is that to all later
// requests. A read has none, whatever happens.
func TestOutcome_calls(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		for _, call := range calls.All() {
			for _, tt := range outcomesOfWrites {
				wantRequests := len(tt.responders)
				if call.Replayable || !call.Write {
					wantRequests = max(wantRequests, tt.replayable)
				}
				requests := 0
				c := newClient(t, roundTripper(func(req *http.Request) (*http.Response, error) {
					if call.Write && req.Method == http.MethodGet {
						return successOf(call)[0](req)
					}
					requests++
					return tt.responders[min(requests, len(tt.responders))-1](req)
				}))
				_, err := call.Do(t.Context(), c, calls.NewArgs())
				want := call.Outcome(tt.want)
				if got := commerce.OutcomeOf(err); got != want || requests != wantRequests {
					t.Errorf("%s, %s: outcome %v after %d requests, error %v, want %v after %d",
						call.Name, tt.name, got, requests, err, want, wantRequests)
				}
				isKnown := !call.Write && errors.Is(tt.is, commerce.ErrOutcomeUnknown) // it is a read
				if e, ok := errors.AsType[*commerce.Error](err); !ok || e.Attempts != requests || errors.Is(err, tt.is) == isKnown {
					t.Errorf("%s, %s: error %#v, want %d attempts, and that it matches %v: %t",
						call.Name, tt.name, err, requests, tt.is, !isKnown)
				}
			}
		}
	})
}
