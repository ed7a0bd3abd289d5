package ledger

import (
	"context"
	"slices"
	"testing"

	"github.com/commerce-go/commerce"
)

// TestFrames makes writes with each fault of HTTP/2 and the default number of attempts. After some
// of these faults, net/http itself would send a request again, thousands of times. At most one copy
// of the body may reach the server.
func TestFrames(t *testing.T) {
	t.Parallel()
	for _, f := range slices.Concat(streamResets(), goAways(), invalidFrames()) {
		t.Run(f.Name, func(t *testing.T) {
			t.Parallel()
			withoutLeak(t, func(ctx context.Context) { frames(ctx, t, f) })
		})
	}
}

func frames(ctx context.Context, t *testing.T, f *Fault) {
	t.Helper()
	l, s := serve(ctx, t, HTTP2)
	defer s.Close()
	base := s.Transport()
	policy := commerce.RetryPolicy{AttemptTimeout: maxWait / 2} // limits what net/http sends again
	client := newClient(t, s.URL(), base, commerce.WithRetry(policy))
	s.Plan(f)
	const calls = 3 // the later ones may get a connection that is going away
	for i := range calls {
		call := ExternalID("call", i)
		if mismatch := addDiscounts.do(ctx, client, call).mismatchAll(f.Write); mismatch != "" {
			t.Fatal(mismatch)
		}
		if n := l.Copies(call); n > 1 {
			t.Fatalf("%d copies of the body arrived, want at most one", n)
		}
		base.CloseIdleConnections()
	}
	checkNoConnections(t, s, base)
	s.Close()
	if n := len(s.Arrivals()); n != calls {
		t.Fatalf("%d requests arrived, want %d", n, calls)
	}
	for i := range calls {
		call := ExternalID("call", i)
		copies, applied := l.Copies(call), l.Applied(call)
		if f.Stage == AfterBody && copies != 1 || copies > 1 {
			t.Errorf("%s: %d copies of the body arrived, want one", call, copies)
		}
		if f.Applies != (applied == 1) || applied > 1 {
			t.Errorf("%s: applied %d times, want applied: %v", call, applied, f.Applies)
		}
	}
}
