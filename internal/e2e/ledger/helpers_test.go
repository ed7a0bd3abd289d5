package ledger

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"os"
	"runtime/pprof"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/commerce-go/commerce"
)

// TestMain silences the standard logger: net/http logs each response that breaks the protocol,
// and these tests send thousands. It runs 8 tests at a time, unless -parallel is set: most of
// them wait.
func TestMain(m *testing.M) {
	log.SetOutput(io.Discard)
	_ = flag.Set("test.parallel", "8") // the flag exists; those of the command line come later
	os.Exit(m.Run())
}

// maxWait is the maximum time to wait for something that must happen.
const maxWait = time.Minute

// twoAttempts allows two attempts without a wait between them, and others after a 429.
var twoAttempts = commerce.RetryPolicy{
	MaxAttempts: 2, MaxRefusals: slowed, MinBackoff: 1, MaxBackoff: 1, AttemptTimeout: maxWait,
}

func newClient(t *testing.T, address string, rt http.RoundTripper, opts ...commerce.Option) *commerce.Client {
	t.Helper()
	c, err := commerce.New(address, append([]commerce.Option{
		commerce.WithToken("an-invented-token"), commerce.WithHTTPClient(&http.Client{Transport: rt}),
		commerce.WithRetry(twoAttempts),
	}, opts...)...)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// serve opens a server with a new ledger. The caller closes it.
func serve(ctx context.Context, t *testing.T, p Protocol) (*Ledger, *Server) {
	t.Helper()
	l := New()
	s, err := Serve(ctx, l, p)
	if err != nil {
		t.Fatal(err)
	}
	return l, s
}

// refuse returns an address with the scheme of this one that refuses connections: that of the
// client of a connection. The kernel may choose the port of a closed listener for another one, but
// not that of an open connection.
func refuse(ctx context.Context, t *testing.T, address string) string {
	t.Helper()
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _, _ = conn.Close(), listener.Close() })
	scheme, _, _ := strings.Cut(address, "://")
	return scheme + "://" + conn.LocalAddr().String()
}

// batch returns two discounts, so that half of them can be added.
func batch(call string) []commerce.NewCustomDiscount {
	list := make([]commerce.NewCustomDiscount, 2)
	for i := range list {
		list[i] = commerce.NewCustomDiscount{
			Amount: commerce.NewDecimal(-100), Description: "one off", DiscountCode: "ONE", DiscountEngine: "ledger",
			ExternalID: ExternalID(call, i),
		}
	}
	return list
}

// operation is a method of the library.
type operation struct {
	name  string
	write bool
}

var (
	addDiscounts      = operation{name: "Carts.AddCustomDiscounts", write: true}
	listSubscriptions = operation{name: "Subscriptions.List"}
	operations        = []operation{addDiscounts, listSubscriptions}
)

// callResult is what a call of an operation returned.
type callResult struct {
	op       operation
	err      error
	result   bool // the result is not nil
	status   int  // of a success
	attempts int  // of a success
}

func (op operation) do(ctx context.Context, c *commerce.Client, call string) callResult {
	got := callResult{op: op}
	var resp *commerce.Response
	if op.write {
		result, err := c.Carts.AddCustomDiscounts(ctx, "a-cart", batch(call), nil)
		if got.err, got.result = err, result != nil; got.result {
			resp = result.Response
		}
	} else {
		page, err := c.Subscriptions.List(ctx, nil)
		if got.err, got.result = err, page != nil; got.result {
			resp = page.Response
		}
	}
	if resp != nil {
		got.status, got.attempts = resp.StatusCode, resp.Attempts
	}
	return got
}

// mismatch returns how a result differs from want; "" if it does not.
func (got callResult) mismatch(want Want) string {
	if !want.Failed {
		if got.err != nil || !got.result || got.status != want.Status || got.attempts != want.Attempts {
			return fmt.Sprintf("got %+v, want a success with status %d after %d attempts", got, want.Status, want.Attempts)
		}
		return ""
	}
	if !got.op.write {
		want.Outcome = commerce.OutcomeNone
	}
	e, ok := errors.AsType[*commerce.Error](got.err)
	if !ok {
		return fmt.Sprintf("got error %v of type %T, want a *commerce.Error", got.err, got.err)
	}
	if e.Op != got.op.name || e.Outcome != want.Outcome || e.StatusCode != want.Status || e.Attempts != want.Attempts {
		return fmt.Sprintf("%s: got outcome %q, status %d, attempts %d (%v), want %q, %d, %d",
			e.Op, e.Outcome, e.StatusCode, e.Attempts, e, want.Outcome, want.Status, want.Attempts)
	}
	for sentinel, match := range map[error]bool{
		commerce.ErrOutcomeUnknown: want.Outcome == commerce.OutcomeUnknown,
		commerce.ErrPartialFailure: want.Outcome == commerce.OutcomePartial,
		context.Canceled:           want.Is == context.Canceled,
		context.DeadlineExceeded:   want.Is == context.DeadlineExceeded,
	} {
		if errors.Is(got.err, sentinel) != match {
			return fmt.Sprintf("errors.Is(%v, %q) = %v, want %v", e, sentinel, !match, match)
		}
	}
	isCut, isBad := errors.Is(got.err, commerce.ErrConnection), errors.Is(got.err, commerce.ErrBadResponse)
	isEither := want.Is == errCutOrBad && isCut != isBad
	if want.Is != nil && !errors.Is(got.err, want.Is) && !isEither {
		return fmt.Sprintf("errors.Is(%v, %q) = false, want true", e, want.Is)
	}
	if wantResult := want.Outcome == commerce.OutcomePartial; got.result != wantResult {
		return fmt.Sprintf("%v: got a result: %v, want %v", e, got.result, wantResult)
	}
	return ""
}

// mismatchAll returns how a result differs from each element of wants; "" if it is
// equal to one.
func (got callResult) mismatchAll(wants []Want) string {
	var all []string
	for _, want := range wants {
		mismatch := got.mismatch(want)
		if mismatch == "" {
			return ""
		}
		all = append(all, mismatch)
	}
	return strings.Join(all, "\nand: ")
}

// contradiction returns how the error of a write contradicts the number of times that
// the write was applied; "" if it does not. The responses must be true.
func contradiction(err error, applied int) string {
	if minimum, maximum := bounds(err); applied < minimum || applied > maximum {
		return fmt.Sprintf("applied %d times, but the call returned the error %v", applied, err)
	}
	return ""
}

// bounds returns how often a write may have been applied that returned err.
func bounds(err error) (minimum, maximum int) {
	minimum, maximum = 0, 1
	switch commerce.OutcomeOf(err) {
	case commerce.OutcomeApplied, commerce.OutcomePartial, commerce.OutcomeUnreadable:
		minimum = 1
	case commerce.OutcomeNotSent, commerce.OutcomeRejected:
		maximum = 0
	default:
	}
	return minimum, maximum
}

// faultNamed returns the fault with a name.
func faultNamed(name string) *Fault {
	for _, f := range Faults() {
		if f.Name == name {
			return f
		}
	}
	panic("no fault has the name " + name)
}

// eventually polls until missing returns "".
func eventually(t *testing.T, missing func() string) {
	t.Helper()
	deadline := time.NewTimer(maxWait)
	defer deadline.Stop()
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	for {
		what := missing()
		if what == "" {
			return
		}
		select {
		case <-deadline.C:
			t.Error(what)
			return
		case <-tick.C:
		}
	}
}

var labels atomic.Int64

// withoutLeak runs f and checks that every goroutine ends that f started, also
// indirectly: a goroutine inherits the labels of the one that starts it. So tests can
// run in parallel.
func withoutLeak(t *testing.T, f func(ctx context.Context)) {
	t.Helper()
	label := fmt.Sprintf("test-%d", labels.Add(1))
	pprof.Do(t.Context(), pprof.Labels("ledger", label), f)
	eventually(t, func() string {
		if left := goroutines(label); left != "" {
			return "goroutines still running:\n" + left
		}
		return ""
	})
}

// goroutines returns the stacks of the goroutines with a label.
func goroutines(label string) string {
	var profile bytes.Buffer
	if err := pprof.Lookup("goroutine").WriteTo(&profile, 1); err != nil {
		return err.Error()
	}
	labelled := fmt.Sprintf("%q:%q", "ledger", label)
	var stacks []string
	for stack := range strings.SplitSeq(profile.String(), "\n\n") {
		if strings.Contains(stack, labelled) {
			stacks = append(stacks, stack)
		}
	}
	return strings.Join(stacks, "\n\n")
}

// TestGoroutines proves that the check for leaks can fail.
func TestGoroutines(t *testing.T) {
	t.Parallel()
	stop := make(chan struct{})
	defer close(stop)
	pprof.Do(t.Context(), pprof.Labels("ledger", "leak"), func(context.Context) {
		go func() { go func() { <-stop }() }()
	})
	eventually(t, func() string {
		if got := goroutines("leak"); !strings.Contains(got, "TestGoroutines") {
			return fmt.Sprintf("goroutines() = %q, want the goroutine that still runs", got)
		}
		return ""
	})
	if got := goroutines("another"); got != "" {
		t.Errorf("goroutines() of another label = %q, want none", got)
	}
}

// checkNoConnections checks that all connections between a transport and a server get
// closed.
func checkNoConnections(t *testing.T, s *Server, base *http.Transport) {
	t.Helper()
	eventually(t, func() string {
		base.CloseIdleConnections()
		if n := s.Open(); n > 0 {
			return fmt.Sprintf("%d connections are open, want none", n)
		}
		return ""
	})
}
