package commerce_test

import (
	"bytes"
	"errors"
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
	if got := commerce.Outcome(200).String(); got != "Outcome(200)" {
		t.Errorf("an unknown outcome prints as %s, want Outcome(200)", got)
	}
	var log bytes.Buffer
	slog.New(slog.NewJSONHandler(&log, nil)).Info("done", "outcome", commerce.OutcomeNotSent)
	if !strings.Contains(log.String(), `"outcome":"not sent"`) {
		t.Errorf("logged as JSON: %s, want not sent", &log)
	}
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
