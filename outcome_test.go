package commerce_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/commerce-go/commerce"
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
