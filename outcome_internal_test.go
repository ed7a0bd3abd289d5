package commerce

import (
	"net/http"
	"testing"

	"github.com/commerce-go/commerce/internal/transport"
)

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
