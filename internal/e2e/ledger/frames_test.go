package ledger

import (
	"context"
	"fmt"
	"testing"

	"github.com/commerce-go/commerce"
)

// TestFrames sends writes into each fault of HTTP/2, with a single attempt and by
// the default policy. net/http repeats after some of them by itself, thousands
// of times where it is let: one copy of the body may reach the server.
func TestFrames(t *testing.T) {
	t.Parallel()
	for name, attempts := range map[string]int{"one attempt": 1, "default policy": 0} {
		policy := commerce.RetryPolicy{MaxAttempts: attempts, AttemptTimeout: patience / 2} // bounds what net/http repeats
		for _, f := range append(resets(), append(goAways(), streams()...)...) {
			t.Run(fmt.Sprintf("%s/%s", f.Name, name), func(t *testing.T) {
				t.Parallel()
				leakless(t, func(ctx context.Context) { frames(ctx, t, f, policy) })
			})
		}
	}
}

func frames(ctx context.Context, t *testing.T, f *Fault, policy commerce.RetryPolicy) {
	t.Helper()
	l, s := serve(ctx, t, HTTP2)
	defer s.Close()
	base := s.Transport()
	client := newClient(t, s.URL(), base, policy)
	s.Plan(f)
	const calls = 5 // the later ones may find a connection that goes away
	for i := range calls {
		call := ExternalID("first", i)
		if wrong := operations[0].do(ctx, client, call).checkAny(operations[0], f.Write); wrong != "" {
			t.Fatal(wrong)
		}
		if n := l.Copies(call); n > 1 {
			t.Fatalf("%d copies of the body arrived", n)
		}
		base.CloseIdleConnections()
	}
	noConnections(t, s, base)
	s.Close()
	if n := len(s.Arrivals()); n != calls {
		t.Fatalf("%d requests, want %d", n, calls)
	}
	for i := range calls {
		call := ExternalID("first", i)
		copies, applied := l.Copies(call), l.Applied(call)
		if f.Stage == AfterBody && copies != 1 || copies > 1 {
			t.Errorf("%s: %d copies of the body arrived", call, copies)
		}
		if f.Applies != (applied == 1) || applied > 1 {
			t.Errorf("%s: applied %d times", call, applied)
		}
	}
}
