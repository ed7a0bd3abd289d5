package commerce_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/jarcoal/httpmock"

	"github.com/commerce-go/commerce"
	"github.com/commerce-go/commerce/internal/e2e/calls"
)

const (
	refusal = `{"errors":[` + bare + `]}`
	bare    = `{"title":"Refused","status":"422","detail":"for a reason of its own"}`
	gateway = `<html><body>Something went wrong</body></html>`
)

// tokenCall is a call that first requests a token.
var tokenCall = calls.Call{
	Name: "token",
	Do: func(ctx context.Context, c *commerce.Client, _ *calls.Args) (any, error) {
		c, err := c.With(commerce.WithClientCredentials("id", "secret"))
		return nil, errors.Join(err, addDiscount(ctx, c))
	},
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
		name: "429, lost response", responders: responders{rateLimited, failTransport}, replayable: 4,
		want: commerce.OutcomeUnknown, is: commerce.ErrOutcomeUnknown,
	},
	{
		name: "a refusal that may hold a discount", responders: responders{respond(429, `{"data":{"id":1}}`)},
		replayable: 4, want: commerce.OutcomeUnknown, is: commerce.ErrRateLimited,
	},
	{
		name: "a refusal whose body does not arrive", responders: responders{respondTruncated(429, "")},
		replayable: 4, want: commerce.OutcomeUnknown, is: commerce.ErrRateLimited,
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

// Only a refusal by the service is final: its 4xx with an error object, but not a status that
// is about the credentials, the load, or other requests. Without a token nothing is refused.
func TestIsFinal_statuses(t *testing.T) {
	t.Parallel()
	finalStatuses := []int{400, 402, 404, 405, 410, 412, 413, 415, 422, 451}
	others := []int{302, 307, 401, 403, 407, 408, 409, 421, 423, 425, 429, 500, 502, 503, 504}
	causes := documentedCauses(t)
	for _, status := range slices.Concat(finalStatuses, others) {
		for _, call := range append(calls.All(), tokenCall) {
			for _, body := range []string{refusal, bare, gateway} {
				c := newClient(t, roundTripper(respond(status, body)), attempts(1))
				_, err := call.Do(t.Context(), c, calls.NewArgs())
				want := slices.Contains(finalStatuses, status) && body != gateway && call.Name != tokenCall.Name
				if got := commerce.IsFinal(err); got != want || err == nil {
					t.Errorf("%s, status %d, body %s: IsFinal(%v) = %t, want %t", call.Name, status, body, err, got, want)
				}
				checkCause(t, causes, err)
			}
		}
	}
}

func TestIsFinal_calls(t *testing.T) {
	t.Parallel()
	const (
		addCall    = "Carts.AddCustomDiscounts"
		updateCall = "Carts.UpdateCustomDiscount"
		readCall   = "Carts.Get"
	)
	for _, tt := range []struct {
		name      string
		call      string
		responder httpmock.Responder
		opts      []commerce.Option
		want      bool
	}{
		{name: "add refused with 201", call: addCall, responder: respond(201, refusal), want: true},
		{
			name: "add refused with 201, as the service is busy", call: addCall,
			responder: respond(201, `{"errors":[{"title":"Unavailable","status":503}]}`),
		},
		{name: "errors are a text of a gateway", call: addCall, responder: respond(404, `{"errors":"no upstream"}`)},
		{name: "update accepted, and not shown", call: updateCall, responder: respond(200, refusal)},
		{name: "read with errors and a 200", call: readCall, responder: respond(200, refusal)},
		{
			name: "refusal that may hold discounts", call: addCall,
			responder: respond(422, `{"errors":[{"title":"Refused"}],"data":[{"type":"other"}]}`),
		},
		{name: "truncated refusal", call: addCall, responder: respondTruncated(422, refusal)},
		{name: "not sent", call: addCall, responder: refused},
		{name: "limiter", call: addCall, opts: []commerce.Option{commerce.WithLimiter(failingLimiter{})}},
		{
			name: "refused, and no other token", call: readCall, responder: respond(401, refusal),
			opts: []commerce.Option{commerce.WithClientCredentials("id", "secret")},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := roundTripper(func(req *http.Request) (*http.Response, error) {
				return newStub(t, tt.responder).RoundTrip(req)
			})
			call := calls.Named(tt.call)
			_, err := call.Do(t.Context(), newClient(t, s, append(tt.opts, attempts(1))...), calls.NewArgs())
			if got := commerce.IsFinal(err); got != tt.want || err == nil {
				t.Errorf("IsFinal(%v) = %t, want %t", err, got, tt.want)
			}
			checkCause(t, documentedCauses(t), err)
		})
	}
}

func TestIsFinal_tree(t *testing.T) {
	t.Parallel()
	client := func(status int) *commerce.Client { return newStub(t, respond(status, refusal)).client(t, attempts(1)) }
	final, busy := addDiscount(t.Context(), client(422)), addDiscount(t.Context(), client(429))
	_, invalid := client(422).Carts.Get(t.Context(), "")
	_, walk := commerce.Collect(client(422).Subscriptions.All(t.Context(), nil))
	_, busyWalk := commerce.Collect(client(429).Subscriptions.All(t.Context(), nil))
	for _, tt := range []struct {
		name string
		err  error
		want bool
	}{
		{name: "nil"},
		{name: "nil *Error", err: (*commerce.Error)(nil)},
		{name: "nil *ValidationError", err: (*commerce.ValidationError)(nil)},
		{name: "invalid argument", err: invalid, want: true},
		{name: "wrapped", err: fmt.Errorf("cart 7: %w", final), want: true},
		{name: "two final errors", err: errors.Join(final, fmt.Errorf("w: %w", invalid)), want: true},
		{name: "one of two is not final", err: errors.Join(final, busy)},
		{name: "with an error of another package", err: errors.Join(final, io.EOF)},
		{name: "with the end of a context", err: fmt.Errorf("%w: %w", context.Canceled, final)},
		{name: "another package", err: io.EOF},
		{name: "another package, that joins nothing", err: joined{}},
		{name: "end of a context", err: context.DeadlineExceeded},
		{name: "walk that was refused", err: walk, want: true},
		{name: "walk that was too fast", err: busyWalk},
		{
			name: "outcome unreadable", err: &commerce.Error{
				StatusCode: 201, Outcome: commerce.OutcomeUnreadable, Errors: []commerce.ErrorObject{{Title: "t"}},
			},
		},
		{name: "walk that cannot go on", err: &commerce.PagingError{Err: commerce.ErrOffsetLimit}, want: true},
	} {
		if got := commerce.IsFinal(tt.err); got != tt.want {
			t.Errorf("%s: IsFinal(%v) = %t, want %t", tt.name, tt.err, got, tt.want)
		}
	}
}

// joined is an error of another package that wraps a list of errors.
type joined []error

func (joined) Error() string { return "joined" }

func (j joined) Unwrap() []error { return j }

// causeRow is a row of the table of causes in docs/discounts.md. The third from the end is for all
// final errors, the last for all others.
type causeRow struct {
	cause     string
	sentinels []error
	isFinal   bool
	advice    string // the first word of what to do
}

func documentedCauses(t *testing.T) []causeRow {
	t.Helper()
	text, err := os.ReadFile("docs/discounts.md")
	if err != nil {
		t.Fatal(err)
	}
	_, table, _ := strings.Cut(string(text), "|---|---|---|---|\n")
	table, _, _ = strings.Cut(table, "\n\n")
	var causes []causeRow
	for line := range strings.Lines(table) {
		cells := strings.Split(line, "|")
		row := causeRow{cause: strings.TrimSpace(cells[1]), isFinal: strings.Contains(cells[2], "`IsFinal(err)`")}
		row.advice = regexp.MustCompile(`\w+`).FindString(cells[4])
		for _, name := range regexp.MustCompile("`([a-zA-Z.]+)`").FindAllStringSubmatch(cells[2], -1) {
			if sentinels[name[1]] == nil {
				t.Fatalf("docs/discounts.md names %s, which this test does not know", name[1])
			}
			row.sentinels = append(row.sentinels, sentinels[name[1]])
		}
		causes = append(causes, row)
	}
	n := len(causes)
	if n < 10 || causes[n-1].cause != "anything else" || causes[n-1].sentinels != nil || !causes[n-3].isFinal {
		t.Fatalf("docs/discounts.md has the causes %v, want one for final errors, and the last for anything else", causes)
	}
	return causes
}

// temporaryCauses are never final.
var temporaryCauses = []error{
	commerce.ErrOutcomeUnknown, commerce.ErrLock, commerce.ErrConflict, commerce.ErrRateLimited, commerce.ErrServer,
	commerce.ErrTimeout, context.DeadlineExceeded, commerce.ErrToken, commerce.ErrUnauthorized, commerce.ErrForbidden,
	commerce.ErrBadResponse, commerce.ErrConnection, commerce.ErrCertificate, commerce.ErrPriceDiffers,
	commerce.ErrWantChanged, commerce.ErrPartialFailure,
}

// checkCause checks the first row that matches err: it must not advise to call again if err is
// final. Only errors without a sentinel, and the pages of gateways, may have the last row.
func checkCause(t *testing.T, causes []causeRow, err error) {
	t.Helper()
	matches := func(target error) bool { return errors.Is(err, target) }
	n := slices.IndexFunc(causes, func(row causeRow) bool {
		return slices.ContainsFunc(row.sentinels, matches) || row.isFinal && commerce.IsFinal(err)
	})
	if n < 0 {
		n = len(causes) - 1
	}
	others := []error{
		commerce.ErrBadRequest, commerce.ErrNotFound, commerce.ErrUnprocessable, context.Canceled,
		sentinels["transport.ErrLimiter"],
	}
	for _, target := range sentinels {
		if n == len(causes)-1 && errors.Is(err, target) && !slices.Contains(others, target) {
			t.Errorf("%v matches %v, but its row in docs/discounts.md is %q", err, target, causes[n].cause)
		}
	}
	isTemporary := slices.ContainsFunc(causes[n].sentinels, func(s error) bool {
		return slices.Contains(temporaryCauses, s)
	})
	if got := !isTemporary && n < len(causes)-1; got != commerce.IsFinal(err) {
		t.Errorf("%v: IsFinal = %t, but its row in docs/discounts.md is %q", err, !got, causes[n].cause)
	}
}

// Each sentinel has a name of its own. The comment of ReasonOf lists them, in the order in which
// they count.
func TestReasonOf_names(t *testing.T) {
	t.Parallel()
	_, list, _ := strings.Cut(comment(t, "func ReasonOf("), "the first one of this list counts:")
	list, _, _ = strings.Cut(list, "Each is the name")
	listed := regexp.MustCompile(`\w+`).FindAllString(list, -1)
	var names []string
	rows := commerce.SentinelRows()
	for i, first := range rows {
		names = append(names, first.Name)
		for _, second := range rows[i:] {
			both := errors.Join(second.Err, first.Err)
			if got := commerce.ReasonOf(both); got != first.Name && (first.Name != "token" || second.Name == "token") {
				t.Errorf("%s and %s: ReasonOf() = %q, want the first: each row of sentinels in reasons.go needs a name and an "+
					"error of its own", first.Name, second.Name, got)
			}
		}
	}
	diff(t, "the comment of ReasonOf in final.go, with the names in reasons.go wanted", listed, names)
}

func TestReasonOf(t *testing.T) {
	t.Parallel()
	fails := func(status int, body string, opts ...commerce.Option) error {
		opts = append([]commerce.Option{attempts(1)}, opts...)
		return addDiscount(t.Context(), newStub(t, respond(status, body)).client(t, opts...))
	}
	lost := func(opts ...commerce.Option) error {
		return addDiscount(t.Context(), newStub(t, failTransport).client(t, append(opts, attempts(1))...))
	}
	_, read := newStub(t, failTransport).client(t, attempts(1)).Carts.Get(t.Context(), "c")
	late := httpmock.NewErrorResponder(os.ErrDeadlineExceeded)
	_, timeout := newStub(t, late).client(t, attempts(1)).Carts.Get(t.Context(), "c")
	const limit = `{"errors":[{"title":"Custom discount limit reached"}]}`
	credentials := commerce.WithClientCredentials("id", "secret")
	for _, tt := range []struct {
		name string
		err  error
		want string
	}{
		{name: "nil"},
		{name: "nil *Error", err: (*commerce.Error)(nil), want: "other"},
		{name: "another package", err: io.EOF, want: "other"},
		{name: "status without a sentinel", err: fails(410, refusal), want: "other"},
		{name: "status", err: fails(422, refusal), want: "unprocessable"},
		{name: "reason before the status", err: fails(422, limit), want: "discount_limit"},
		{name: "status that passes before the reason", err: fails(429, limit), want: "rate_limited"},
		{name: "cause before the unknown outcome", err: fails(503, gateway), want: "server_error"},
		{name: "token request", err: fails(401, refusal, credentials), want: "token"},
		{name: "token request, a gateway", err: fails(403, gateway, credentials), want: "forbidden"},
		{name: "token request, a page", err: fails(200, gateway, credentials), want: "bad_response"},
		{name: "token request, too many", err: fails(429, refusal, credentials), want: "rate_limited"},
		{name: "token request, service down", err: fails(503, gateway, credentials), want: "server_error"},
		{name: "response lost", err: lost(), want: "outcome_unknown"},
		{name: "token request, no connection", err: lost(credentials), want: "connection"},
		{name: "read, no connection", err: read, want: "connection"},
		{name: "timeout", err: timeout, want: "timeout"},
		{name: "limiter", err: fails(200, "", commerce.WithLimiter(failingLimiter{})), want: "limiter"},
		{name: "joined", err: errors.Join(io.EOF, fails(403, gateway)), want: "forbidden"},
	} {
		if got := commerce.ReasonOf(tt.err); got != tt.want {
			t.Errorf("%s: ReasonOf(%v) = %q, want %q", tt.name, tt.err, got, tt.want)
		}
	}
}

// RemedyOf refines IsFinal: it never advises to call again after a final error.
func TestRemedyOf(t *testing.T) {
	t.Parallel()
	fails := func(status int, body string, opts ...commerce.Option) error {
		opts = append([]commerce.Option{attempts(1)}, opts...)
		return addDiscount(t.Context(), newStub(t, respond(status, body)).client(t, opts...))
	}
	titled := func(title, detail string) string {
		return `{"errors":[{"title":"` + title + `","detail":"` + detail + `"}]}`
	}
	_, invalid := newStub(t).client(t).Carts.Get(t.Context(), "")
	credentials := commerce.WithClientCredentials("id", "secret")
	down := newStub(t, refused).client(t, credentials, attempts(1))
	for _, tt := range []struct {
		name string
		err  error
		want commerce.Remedy
	}{
		{name: "nil"},
		{name: "another package", err: io.EOF, want: commerce.RemedyAgain},
		{name: "invalid argument", err: invalid, want: commerce.RemedyStaff},
		{name: "limit", err: fails(422, titled("Limit Reached", "Custom discount limit reached")), want: commerce.RemedyCart},
		{name: "unprocessable", err: fails(422, refusal), want: commerce.RemedyCart},
		{name: "not enabled", err: fails(400, titled("Bad Request", "discounts not enabled")), want: commerce.RemedyStaff},
		{name: "another refusal", err: fails(400, titled("Bad Request", "x")), want: commerce.RemedyStaff},
		{name: "a page of a gateway", err: fails(404, gateway), want: commerce.RemedyStaff},
		{name: "conflict, without an object", err: fails(409, ""), want: commerce.RemedyAgain},
		{name: "a limit of a gateway", err: fails(429, "slow down"), want: commerce.RemedyAgain},
		{name: "a 429 with an object", err: fails(429, refusal), want: commerce.RemedyAgain},
		{name: "busy", err: fails(503, gateway), want: commerce.RemedyRead},
		{name: "forbidden", err: fails(403, refusal), want: commerce.RemedyStaff},
		{name: "unauthorized", err: fails(401, refusal), want: commerce.RemedyStaff},
		{name: "credentials refused", err: fails(401, refusal, credentials), want: commerce.RemedyStaff},
		{name: "no connection for a token", err: addDiscount(t.Context(), down), want: commerce.RemedyAgain},
		{name: "response lost", err: addDiscount(t.Context(), newStub(t, failTransport).client(t, attempts(1))),
			want: commerce.RemedyRead},
		{name: "redirect", err: fails(302, ""), want: commerce.RemedyStaff},
		{name: "empty cart", err: commerce.ErrEmptyCart, want: commerce.RemedyCart},
		{name: "below zero", err: commerce.ErrBelowZero, want: commerce.RemedyCart},
		{name: "promotion", err: commerce.ErrPromotionConflict, want: commerce.RemedyCart},
		{name: "different", err: commerce.ErrDifferent, want: commerce.RemedyStaff},
		{name: "long list", err: &commerce.PagingError{Err: commerce.ErrOffsetLimit}, want: commerce.RemedyStaff},
	} {
		got := commerce.RemedyOf(tt.err)
		if isAgain := got == commerce.RemedyAgain; got != tt.want || commerce.IsFinal(tt.err) && isAgain {
			t.Errorf("%s: RemedyOf(%v) = %v, want %v; final %t", tt.name, tt.err, got, tt.want, commerce.IsFinal(tt.err))
		}
	}
	others := []string{commerce.Remedy(0).String(), commerce.Remedy(9).String()}
	diff(t, "texts of no remedy and of an unknown one", others, []string{"", "Remedy(9)"})
}

// What a mock returns has the advice of the table in docs/discounts.md: a sentinel alone, wrapped,
// and as the cause of an Error without an operation, which says nothing about an outcome.
func TestRemedyOf_sentinels(t *testing.T) {
	t.Parallel()
	n := 0
	for _, row := range documentedCauses(t) {
		for _, target := range row.sentinels {
			made := &commerce.Error{Err: target}
			for _, err := range []error{target, fmt.Errorf("cart 7: %w", target), made} {
				got, isFinal := commerce.RemedyOf(err), commerce.IsFinal(err)
				isCart := got == commerce.RemedyCart
				if n++; got.String() != row.advice || isCart && !isFinal || isFinal && !isCart && got != commerce.RemedyStaff {
					t.Errorf("RemedyOf(%#v) = %v, IsFinal = %t, want %s, as docs/discounts.md has it", err, got, isFinal, row.advice)
				}
			}
			text := made.Error() + made.LogValue().String()
			if strings.Contains(text, "(outcome") || strings.Contains(text, "outcome=") {
				t.Errorf("the text of an Error without an operation is %q, want no outcome", text)
			}
		}
	}
	if n < 60 {
		t.Errorf("%d errors, want those of at least 20 sentinels", n)
	}
}

// stated is an error of a caller that says what to do.
type stated commerce.Remedy

func (s stated) Error() string { return "no offers in this currency" }

func (s stated) Remedy() commerce.Remedy { return commerce.Remedy(s) }

func TestRemedyOf_stated(t *testing.T) {
	t.Parallel()
	lost := addDiscount(t.Context(), newStub(t, failTransport).client(t, attempts(1)))
	busy := addDiscount(t.Context(), newStub(t, respond(429, refusal)).client(t, attempts(1)))
	final := addDiscount(t.Context(), newStub(t, respond(422, refusal)).client(t, attempts(1)))
	const again, cart, staff, read = commerce.RemedyAgain, commerce.RemedyCart, commerce.RemedyStaff, commerce.RemedyRead
	for _, tt := range []struct {
		name    string
		err     error
		want    commerce.Remedy
		isFinal bool
	}{
		{name: "again", err: stated(again), want: again},
		{name: "cart", err: stated(cart), want: cart, isFinal: true},
		{name: "staff", err: stated(staff), want: staff},
		{name: "read", err: stated(read), want: read},
		{name: "wrapped", err: fmt.Errorf("cart 7: %w", stated(cart)), want: cart, isFinal: true},
		{name: "zero", err: stated(0), want: again},
		{name: "one that does not exist", err: stated(5), want: again},
		{name: "with an error that may pass", err: errors.Join(busy, stated(cart)), want: cart, isFinal: true},
		{name: "with a final one", err: errors.Join(final, stated(again)), want: again},
		{name: "with a write in doubt", err: errors.Join(lost, stated(again)), want: read},
		{name: "final, with a write in doubt", err: errors.Join(lost, stated(cart)), want: read},
	} {
		if got, isFinal := commerce.RemedyOf(tt.err), commerce.IsFinal(tt.err); got != tt.want || isFinal != tt.isFinal {
			t.Errorf("%s: RemedyOf() = %v, IsFinal() = %t, want %v, %t", tt.name, got, isFinal, tt.want, tt.isFinal)
		}
	}
}

// The advice after a write that may have been applied depends on whether the call does harm twice.
func TestRemedyOf_outcomes(t *testing.T) {
	t.Parallel()
	isHarmless := map[string]bool{
		"Carts.SetCustomDiscounts": true, "Carts.EnsureCustomDiscounts": true, "Carts.EnableCustomDiscounts": true,
		"Carts.DeleteCustomDiscount": true, "Subscriptions.EnsureState": true,
	}
	mayBeApplied := []commerce.Outcome{commerce.OutcomeUnknown, commerce.OutcomeUnreadable, commerce.OutcomePartial}
	ops := []string{"Carts.A new call"}
	for _, c := range calls.All() {
		ops = append(ops, c.Op)
	}
	for _, op := range ops {
		for o := range commerce.OutcomeApplied {
			want := commerce.RemedyAgain
			if slices.Contains(mayBeApplied, o) && !isHarmless[op] {
				want = commerce.RemedyRead
			}
			err := fmt.Errorf("w: %w", &commerce.Error{Op: op, Outcome: o, Err: commerce.ErrConnection})
			if got := commerce.RemedyOf(err); got != want || commerce.IsFinal(err) {
				t.Errorf("%s, outcome %v: RemedyOf() = %v, IsFinal() = %t, want %v, false", op, o, got, commerce.IsFinal(err), want)
			}
		}
	}
}

// What passes by itself is not for the staff, and what a caller's error says is read with care.
func TestRemedyOf_passes(t *testing.T) {
	t.Parallel()
	const issued = `{"access_token":"x1","token_type":"Bearer","expires_in":3600}`
	down := newStub(t, respond(200, issued), respond(401, refusal), respond(503, "")).client(t,
		attempts(1), commerce.WithClientCredentials("id", "secret"))
	emptyToken := newStub(t, respond(200, "")).client(t, attempts(1), commerce.WithClientCredentials("id", "secret"))
	scheme := newStub(t, httpmock.NewErrorResponder(http.ErrSchemeMismatch)).client(t, attempts(1))
	var none *statedPointer
	part := func(name string) error {
		return &commerce.Error{Op: "Carts.SetCustomDiscounts", Part: name, StatusCode: 404}
	}
	for _, tt := range []struct {
		name string
		err  error
		want commerce.Remedy
	}{
		{name: "no token while its endpoint is down", err: list(t.Context(), down), want: commerce.RemedyAgain},
		{name: "an empty token response", err: list(t.Context(), emptyToken), want: commerce.RemedyStaff},
		{name: "https to a port that speaks http", err: list(t.Context(), scheme), want: commerce.RemedyStaff},
		{name: "a nil pointer that states a remedy", err: fmt.Errorf("w: %w", none), want: commerce.RemedyAgain},
		{name: "a part of a mock, with a cause", err: errors.Join(commerce.ErrPartialFailure, commerce.ErrServer),
			want: commerce.RemedyRead},
		{name: "a discount to delete was gone, without a body", err: part("delete"), want: commerce.RemedyAgain},
		{name: "a discount to update was gone, without a body", err: part("update"), want: commerce.RemedyAgain},
		{name: "a page of a gateway in place of an add", err: part("add"), want: commerce.RemedyStaff},
		{name: "a page of a proxy", err: &commerce.Error{Op: "Carts.Get", StatusCode: 407}, want: commerce.RemedyStaff},
	} {
		if got := commerce.RemedyOf(tt.err); got != tt.want || tt.err == nil {
			t.Errorf("%s: RemedyOf(%v) = %v, want %v", tt.name, tt.err, got, tt.want)
		}
	}
}

// statedPointer is an error of a caller whose methods panic if it is nil.
type statedPointer struct{ remedy commerce.Remedy }

func (*statedPointer) Error() string { return "stated" }

func (s *statedPointer) Remedy() commerce.Remedy { return s.remedy }
