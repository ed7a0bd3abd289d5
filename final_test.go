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
	"testing/synctest"
	"time"

	"github.com/jarcoal/httpmock"

	"github.com/commerce-go/commerce"
	"github.com/commerce-go/commerce/commercetest"
)

// The calls of TestIsFinal_statuses.
const (
	addCall    = "add"
	updateCall = "update"
	deleteCall = "delete"
	readCall   = "read"
	tokenCall  = "token"
)

var finalCalls = map[string]func(ctx context.Context, c *commerce.Client) error{
	addCall: addDiscount,
	updateCall: func(ctx context.Context, c *commerce.Client) error {
		d := placed("a", -1000)
		d.ID = numberedID(1)
		_, err := c.Carts.UpdateCustomDiscount(ctx, cartID, d)
		return err
	},
	deleteCall: func(ctx context.Context, c *commerce.Client) error {
		return c.Carts.DeleteCustomDiscount(ctx, cartID, commerce.CustomDiscount{ID: numberedID(1)})
	},
	readCall: func(ctx context.Context, c *commerce.Client) error {
		_, err := c.Carts.Get(ctx, cartID)
		return err
	},
	tokenCall: addDiscount,
}

const (
	refusal = `{"errors":[{"title":"Refused","status":"422","detail":"for a reason of its own"}]}`
	gateway = `<html><body>Something went wrong</body></html>`
)

// Only a refusal by the service is final: its 4xx with an error object, but not a status that
// is about the credentials, the load, or other requests. Without a token nothing is refused.
func TestIsFinal_statuses(t *testing.T) {
	t.Parallel()
	finalStatuses := []int{400, 402, 404, 405, 410, 412, 413, 415, 422, 451}
	others := []int{302, 307, 401, 403, 407, 408, 409, 421, 423, 425, 429, 500, 502, 503, 504}
	causes := documentedCauses(t)
	n := 0
	for _, status := range slices.Concat(finalStatuses, others) {
		for name, call := range finalCalls {
			for _, body := range []string{refusal, gateway} {
				n++
				opts := []commerce.Option{attempts(1)}
				if name == tokenCall {
					opts = append(opts, commerce.WithClientCredentials("id", "secret"))
				}
				err := call(t.Context(), newStub(t, respond(status, body)).client(t, opts...))
				want := slices.Contains(finalStatuses, status) && body == refusal && name != tokenCall
				if got := commerce.IsFinal(err); got != want || err == nil {
					t.Errorf("%s, status %d, body %s: IsFinal(%v) = %t, want %t", name, status, body, err, got, want)
				}
				checkCause(t, causes, err)
			}
		}
	}
	if n != 250 {
		t.Errorf("%d errors were tested, want 25 statuses x 5 calls x 2 bodies", n)
	}
}

func TestIsFinal_calls(t *testing.T) {
	t.Parallel()
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
		{name: "add accepted, and not shown", call: addCall, responder: respond(201, `{}`)},
		{name: "errors are a text of a gateway", call: addCall, responder: respond(404, `{"errors":"no upstream"}`)},
		{name: "errors are numbers", call: addCall, responder: respond(404, `{"errors":[1]}`)},
		{name: "update accepted, and not shown", call: updateCall, responder: respond(200, refusal)},
		{name: "read with errors and a 200", call: readCall, responder: respond(200, refusal)},
		{name: "read of no JSON", call: readCall, responder: respond(200, gateway)},
		{name: "read of another cart", call: readCall, responder: respond(200, `{"data":{"id":"x","type":"cart"}}`)},
		{
			name: "refusal that may hold discounts", call: addCall,
			responder: respond(422, `{"errors":[{"title":"Refused"}],"data":[{"type":"other"}]}`),
		},
		{name: "truncated refusal", call: addCall, responder: respondTruncated(422, refusal)},
		{name: "not sent", call: addCall, responder: refused},
		{name: "no response", call: addCall, responder: failTransport},
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
			err := finalCalls[tt.call](t.Context(), newClient(t, s, append(tt.opts, attempts(1))...))
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
		{name: "end of a context", err: context.DeadlineExceeded},
		{name: "walk that was refused", err: walk, want: true},
		{name: "walk that was too fast", err: busyWalk},
		{
			name: "outcome unreadable", err: &commerce.Error{
				StatusCode: 201, Outcome: commerce.OutcomeUnreadable, Errors: []commerce.ErrorObject{{Title: "t"}},
			},
		},
		{name: "walk that cannot go on", err: &commerce.PagingError{Err: commerce.ErrOffsetLimit}},
	} {
		if got := commerce.IsFinal(tt.err); got != tt.want {
			t.Errorf("%s: IsFinal(%v) = %t, want %t", tt.name, tt.err, got, tt.want)
		}
	}
}

// finalEnsures are calls of EnsureCustomDiscounts that fail, on a cart with an item.
var finalEnsures = []struct {
	name   string
	cfg    commercetest.Config
	empty  bool // the cart has no item
	before []commerce.CustomDiscount
	faults []commercetest.Fault
	opts   commerce.EnsureCustomDiscountsOptions
	locker commerce.Locker
	reason string
	want   bool
}{
	{name: "empty cart", empty: true, reason: "empty_cart", want: true},
	{
		name: "empty cart, dry run", empty: true, opts: commerce.EnsureCustomDiscountsOptions{DryRun: true},
		reason: "empty_cart", want: true,
	},
	{name: "different", before: []commerce.CustomDiscount{placed("a", -1)}, reason: "different", want: true},
	{name: "limit, in part", cfg: commercetest.Config{CartDiscountLimit: 1}, reason: "discount_limit", want: true},
	{
		name: "limit, with a 422", reason: "discount_limit", want: true, faults: []commercetest.Fault{{
			Operation: opAdd, Status: 422, Times: -1, Body: `{"errors":[{"title":"Custom discount limit reached"}]}`,
		}},
	},
	{name: "disabled", cfg: commercetest.Config{CartDiscountLimit: -1}, reason: "discounts_disabled", want: true},
	{
		name: "unknown reason", reason: "bad_request", want: true,
		faults: []commercetest.Fault{{Operation: opAdd, Status: 400, Times: -1, Body: refusal}},
	},
	{
		name: "page of a gateway", reason: "bad_request",
		faults: []commercetest.Fault{{Operation: opAdd, Status: 400, Times: -1, Body: gateway}},
	},
	{
		name: "update refused, too many requests", before: []commerce.CustomDiscount{placed("a", -1)},
		opts:   commerce.EnsureCustomDiscountsOptions{Update: true},
		faults: []commercetest.Fault{{Operation: commercetest.OpUpdateDiscount, Status: 429, Header: waitSecond, Times: -1}},
		reason: "rate_limited",
	},
	{
		name:   "different, and the delete of a copy refused, too many requests",
		before: []commerce.CustomDiscount{placed("a", -1), placed("b", -1000), placed("b", -1000)},
		faults: []commercetest.Fault{{Operation: commercetest.OpDeleteDiscount, Status: 429, Header: waitSecond, Times: -1}},
		reason: "rate_limited",
	},
	{
		name: "two refusals with the same text, one of a gateway", reason: "bad_request",
		before: []commerce.CustomDiscount{placed("a", -1), placed("b", -1)},
		opts:   commerce.EnsureCustomDiscountsOptions{Update: true},
		faults: []commercetest.Fault{
			{Operation: commercetest.OpUpdateDiscount, Status: 400, Body: `{"errors":[{"detail":"d"}]}`},
			{Operation: commercetest.OpUpdateDiscount, Status: 400, Times: -1, Body: gateway},
		},
	},
	{name: "in doubt", faults: []commercetest.Fault{{Operation: opAdd, Cut: true, Times: -1}}, reason: "outcome_unknown"},
	{
		name: "in doubt, and the cart is refused", reason: "not_found",
		faults: []commercetest.Fault{
			{Operation: opAdd, Cut: true},
			{Operation: opCart, After: 1, Status: 404, Times: -1, Body: refusal},
		},
	},
	{
		name: "refused, and the cart cannot be read", reason: "server_error",
		faults: []commercetest.Fault{
			{Operation: opAdd, Status: 400, Times: -1, Body: refusal},
			{Operation: opCart, After: 1, Status: 503, Times: -1},
		},
	},
	{
		name: "cart refused", reason: "not_found", want: true,
		faults: []commercetest.Fault{{Operation: opCart, Status: 404, Times: -1, Body: refusal}},
	},
	{
		name: "cart forbidden", reason: "forbidden",
		faults: []commercetest.Fault{{Operation: opCart, Status: 403, Times: -1}},
	},
	{
		name: "cart unreadable", reason: "bad_response",
		faults: []commercetest.Fault{{Operation: opCart, Status: 200, Body: `{}`}},
	},
	{name: "service down", faults: []commercetest.Fault{{Status: 503, Times: -1}}, reason: "server_error"},
	{name: "lock refused", locker: failingLocker{}, reason: "lock"},
	{name: "lock lost", locker: losingLocker{}, reason: "lock"},
}

// losingLocker loses each lock at once.
type losingLocker struct{}

func (losingLocker) Lock(ctx context.Context, _ string) (held context.Context, unlock func(), err error) {
	held, cancel := context.WithCancel(ctx)
	cancel()
	return held, cancel, nil
}

func TestIsFinal_ensure(t *testing.T) {
	t.Parallel()
	for _, tt := range finalEnsures {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := commercetest.New(t, tt.cfg)
				items := []commerce.CartItemRef{{}}
				if tt.empty {
					items = nil
				}
				cart := s.AddCart(items...)
				place(tt.before...)(s, cart)
				s.Inject(tt.faults...)
				opts := []commerce.Option{attempts(1)}
				if tt.locker != nil {
					opts = append(opts, commerce.WithCartLocker(tt.locker))
				}
				_, err := s.Client(opts...).Carts.EnsureCustomDiscounts(t.Context(), cart, discounts("a", "b"), &tt.opts)
				if got := commerce.IsFinal(err); got != tt.want || err == nil {
					t.Errorf("IsFinal(%v) = %t, want %t", err, got, tt.want)
				}
				if got := commerce.ReasonOf(err); got != tt.reason {
					t.Errorf("ReasonOf(%v) = %q, want %q", err, got, tt.reason)
				}
				checkCause(t, documentedCauses(t), err)
			})
		})
	}
}

// The context ends after the service refused: the next call may succeed in another way.
func TestIsFinal_ensureEnded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := commercetest.New(t, commercetest.Config{})
		s.Inject(commercetest.Fault{Operation: commercetest.OpUpdateDiscount, Status: 400, Times: -1, Body: refusal},
			commercetest.Fault{Operation: opCart, After: 1, Times: -1, Delay: time.Hour})
		cart := s.AddCart(commerce.CartItemRef{})
		place(placed("a", -1))(s, cart)
		ctx, cancel := context.WithTimeout(t.Context(), second)
		defer cancel()
		_, err := s.Client().Carts.EnsureCustomDiscounts(ctx, cart, discounts("a"),
			&commerce.EnsureCustomDiscountsOptions{Update: true})
		if commerce.IsFinal(err) || !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("IsFinal(%v) = true, or not the end of the context", err)
		}
	})
}

// namedSentinels are the sentinels in the table of causes.
var namedSentinels = map[string]error{
	"ErrOutcomeUnknown": commerce.ErrOutcomeUnknown, "ErrInvalidArgument": commerce.ErrInvalidArgument,
	"ErrLock": commerce.ErrLock, "ErrRateLimited": commerce.ErrRateLimited, "ErrServer": commerce.ErrServer,
	"ErrTimeout": commerce.ErrTimeout, "context.DeadlineExceeded": context.DeadlineExceeded,
	"ErrToken": commerce.ErrToken, "ErrUnauthorized": commerce.ErrUnauthorized, "ErrForbidden": commerce.ErrForbidden,
	"ErrBadResponse": commerce.ErrBadResponse, "ErrEmptyCart": commerce.ErrEmptyCart,
	"ErrDiscountLimit": commerce.ErrDiscountLimit, "ErrPromotionConflict": commerce.ErrPromotionConflict,
	"ErrCartItemNotFound": commerce.ErrCartItemNotFound, "ErrDiscountsDisabled": commerce.ErrDiscountsDisabled,
	"ErrItemTypeMismatch": commerce.ErrItemTypeMismatch, "ErrDifferent": commerce.ErrDifferent,
	"ErrConflict": commerce.ErrConflict, "ErrConnection": commerce.ErrConnection,
}

// causeRow is a row of the table of causes in docs/discounts.md. The last two have no
// sentinels: the first of them is for final errors, the other for all.
type causeRow struct {
	cause     string
	sentinels []error
	isFinal   bool
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
		for _, name := range regexp.MustCompile("`([a-zA-Z.]+)`").FindAllStringSubmatch(cells[2], -1) {
			if namedSentinels[name[1]] == nil {
				t.Fatalf("docs/discounts.md names %s, which this test does not know", name[1])
			}
			row.sentinels = append(row.sentinels, namedSentinels[name[1]])
		}
		causes = append(causes, row)
	}
	n := len(causes)
	if n < 10 || causes[n-1].cause != "anything else" || causes[n-1].sentinels != nil || !causes[n-2].isFinal {
		t.Fatalf("docs/discounts.md has the causes %v, want the last two for final errors and for anything else", causes)
	}
	return causes
}

// temporaryCauses are never final.
var temporaryCauses = []error{
	commerce.ErrOutcomeUnknown, commerce.ErrLock, commerce.ErrConflict, commerce.ErrRateLimited, commerce.ErrServer,
	commerce.ErrTimeout, context.DeadlineExceeded, commerce.ErrToken, commerce.ErrUnauthorized, commerce.ErrForbidden,
	commerce.ErrBadResponse, commerce.ErrConnection,
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
	others := []error{commerce.ErrBadRequest, commerce.ErrNotFound, commerce.ErrUnprocessable}
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

// Each sentinel has a name of its own, which the documentation of ReasonOf lists.
func TestReasonOf_names(t *testing.T) {
	t.Parallel()
	source, err := os.ReadFile("final.go")
	if err != nil {
		t.Fatal(err)
	}
	_, doc, _ := strings.Cut(string(source), "If several match, the first one of this list counts:")
	doc, _, _ = strings.Cut(doc, "// Each is the name")
	listed := regexp.MustCompile(`\w+`).FindAllString(doc, -1)
	slices.Sort(listed)

	names := []string{"limiter"} // its sentinel is not exported
	for _, sentinel := range append(slices.Clone(sentinels), context.Canceled, context.DeadlineExceeded) {
		names = append(names, commerce.ReasonOf(fmt.Errorf("w: %w", sentinel)))
	}
	slices.Sort(names)
	diff(t, "names", names, listed)
	diff(t, "names, each once", slices.Compact(slices.Clone(names)), names)
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
	const limit = `{"errors":[{"title":"Custom discount limit reached"}]}`
	credentials := commerce.WithClientCredentials("id", "secret")
	for _, tt := range []struct {
		name string
		err  error
		want string
	}{
		{name: "nil"},
		{name: "another package", err: io.EOF, want: "other"},
		{name: "status without a sentinel", err: fails(410, refusal), want: "other"},
		{name: "status", err: fails(422, refusal), want: "unprocessable"},
		{name: "reason before the status", err: fails(422, limit), want: "discount_limit"},
		{name: "status that passes before the reason", err: fails(429, limit), want: "rate_limited"},
		{name: "cause before the unknown outcome", err: fails(503, gateway), want: "server_error"},
		{name: "token request", err: fails(401, refusal, credentials), want: "token"},
		{name: "token request, too many", err: fails(429, refusal, credentials), want: "rate_limited"},
		{name: "token request, service down", err: fails(503, gateway, credentials), want: "server_error"},
		{name: "response lost", err: lost(), want: "outcome_unknown"},
		{name: "token request, no connection", err: lost(credentials), want: "token"},
		{name: "read, no connection", err: read, want: "connection"},
		{name: "limiter", err: fails(200, "", commerce.WithLimiter(failingLimiter{})), want: "limiter"},
		{name: "joined", err: errors.Join(io.EOF, fails(403, gateway)), want: "forbidden"},
	} {
		if got := commerce.ReasonOf(tt.err); got != tt.want {
			t.Errorf("%s: ReasonOf(%v) = %q, want %q", tt.name, tt.err, got, tt.want)
		}
	}
}
