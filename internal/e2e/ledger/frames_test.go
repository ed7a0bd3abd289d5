package ledger

import (
	"context"
	"fmt"
	"testing"

	"github.com/commerce-go/commerce"
)

// TestFrames makes writes with each fault of HTTP/2, with a single attempt and with the
// default policy. After some of these faults, net/http itself would send a request again,
// thousands of times. At most one copy of the body may reach the server.
func TestFrames(t *testing.T) {
	t.Parallel()
	for name, attempts := range map[string]int{"one attempt": 1, "default policy": 0} {
		policy := commerce.RetryPolicy{MaxAttempts: attempts, AttemptTimeout: maxWait / 2} // limits what net/http sends again
		for _, f := range append(streamResets(), append(goAways(), invalidFrames()...)...) {
			t.Run(fmt.Sprintf("%s/%s", f.Name, name), func(t *testing.T) {
				t.Parallel()
				withoutLeak(t, func(ctx context.Context) { frames(ctx, t, f, policy) })
			})
		}
	}
}

func frames(ctx context.Context, t *testing.T, f *Fault, policy commerce.RetryPolicy) {
	t.Helper()
	l, s := serve(ctx, t, HTTP2)
	defer s.Close()
	base := s.Transport()
	client := newClient(t, s.URL(), base, commerce.WithRetry(policy))
	s.Plan(f)
	const calls = 5 // the later ones may get a connection that is going away
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
