package commerce

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"testing"

	"github.com/commerce-go/commerce/internal/transport"
)

func TestOutcome_text(t *testing.T) {
	t.Parallel()
	if Outcome(0) != OutcomeUnknown {
		t.Error("the zero Outcome is not OutcomeUnknown")
	}
	for i, want := range []string{
		"unknown", "none", "not sent", "rejected", "partial", "unreadable", "applied", "Outcome(7)",
	} {
		if got := Outcome(i).String(); got != want {
			t.Errorf("Outcome(%d) = %q, want %q", i, got, want)
		}
		var log bytes.Buffer
		slog.New(slog.NewJSONHandler(&log, nil)).Info("done", "outcome", Outcome(i))
		if want := fmt.Sprintf(`"outcome":%q`, want); !strings.Contains(log.String(), want) {
			t.Errorf("logged as JSON: %s, want %s", &log, want)
		}
	}
}

func TestOutcomeOf(t *testing.T) {
	t.Parallel()
	failed := func(o Outcome) error { return &Error{Outcome: o} }
	for _, tt := range []struct {
		name string
		err  error
		want Outcome
	}{
		{name: "no error", want: OutcomeApplied},
		{name: "another package", err: context.Canceled, want: OutcomeUnknown},
		{name: "zero Error", err: &Error{}, want: OutcomeUnknown},
		{name: "nil *Error", err: (*Error)(nil), want: OutcomeUnknown},
		{name: "wrapped", err: fmt.Errorf("w: %w", failed(OutcomeRejected)), want: OutcomeRejected},
		{name: "ValidationError", err: &ValidationError{}, want: OutcomeNotSent},
		{
			name: "PagingError, whatever its cause", want: OutcomeNone,
			err: &PagingError{Err: failed(OutcomeNotSent)},
		},
		{
			name: "not the cause of an Error", want: OutcomeRejected,
			err: &Error{Outcome: OutcomeRejected, Err: failed(OutcomeUnknown)},
		},
		{
			name: "with another package", want: OutcomeNotSent,
			err: fmt.Errorf("%w: %w", context.Canceled, failed(OutcomeNotSent)),
		},
	} {
		if got := OutcomeOf(tt.err); got != tt.want {
			t.Errorf("%s: OutcomeOf(%v) = %v, want %v", tt.name, tt.err, got, tt.want)
		}
	}
	bySeverity := []Outcome{
		OutcomeUnknown, OutcomeUnreadable, OutcomePartial,
		OutcomeRejected, OutcomeNotSent, OutcomeNone,
	}
	for i, worse := range bySeverity {
		for _, better := range bySeverity[i:] {
			joined := errors.Join(failed(better), fmt.Errorf("w: %w", failed(worse)))
			if got := OutcomeOf(joined); got != worse {
				t.Errorf("OutcomeOf(%v and %v) = %v, want %v", better, worse, got, worse)
			}
		}
	}
}

// The table of outcomes holds for any write: without Applied, a body that looks like that of a
// discount proves nothing.
func TestOutcome_ofWrite(t *testing.T) {
	t.Parallel()
	const body = `{"data":{"type":"custom_discount","external_id":"a"},"errors":[{"title":"No"}]}`
	for _, tt := range []struct {
		name   string
		result transport.Result
		shown  shown
		want   Outcome
	}{
		{name: "nothing was sent", want: OutcomeNotSent},
		{name: "no response", result: transport.Result{MaybeSent: true}, want: OutcomeUnknown},
		{name: "refused", result: transport.Result{StatusCode: 422}, want: OutcomeRejected},
		{name: "refused twice", result: transport.Result{StatusCode: 422, SentTwice: true}, want: OutcomeUnknown},
		{
			name: "refused after an attempt that may have been applied", want: OutcomeUnknown,
			result: transport.Result{StatusCode: 422, MaybeAppliedBefore: true},
		},
		{
			name: "refused, in an unknown form", shown: mayShow, want: OutcomeUnknown,
			result: transport.Result{StatusCode: 422},
		},
		{name: "refused with a part", result: transport.Result{StatusCode: 422}, shown: showsPart, want: OutcomePartial},
		{name: "refused with all", result: transport.Result{StatusCode: 422}, shown: showsAll, want: OutcomePartial},
		{name: "failed", result: transport.Result{StatusCode: 500}, want: OutcomeUnknown},
		{name: "accepted without proof", result: transport.Result{StatusCode: 200}, want: OutcomeUnreadable},
		{
			name: "accepted, in an unknown form", shown: mayShow, want: OutcomeUnreadable,
			result: transport.Result{StatusCode: 200},
		},
		{name: "accepted with proof", result: transport.Result{StatusCode: 200}, shown: showsAll, want: OutcomeApplied},
		{
			name: "accepted twice", shown: showsAll, want: OutcomePartial,
			result: transport.Result{StatusCode: 200, SentTwice: true},
		},
		{name: "accepted with errors", result: transport.Result{StatusCode: 200}, shown: showsRefusal, want: OutcomeRejected},
	} {
		if got := outcomeOfWrite(&tt.result, tt.shown); got != tt.want {
			t.Errorf("%s: outcome %v, want %v", tt.name, got, tt.want)
		}
	}
	refused := &transport.Result{StatusCode: 422, Body: []byte(body)}
	change := &transport.Call{Op: "Subscriptions.ChangeState", Method: http.MethodPost}
	if e := callError(change, refused); e.Outcome != OutcomeRejected || len(e.Errors) != 1 {
		t.Errorf("a write without Applied: %v, errors %v, want %v and one", e, e.Errors, OutcomeRejected)
	}
	change.Applied = mayHoldDiscounts
	if e := callError(change, refused); e.Outcome != OutcomeUnknown {
		t.Errorf("a write that may add discounts: %v, want %v", e, OutcomeUnknown)
	}
}
