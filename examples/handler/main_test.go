package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
	"testing/synctest"
	"time"

	"github.com/commerce-go/commerce"
	"github.com/commerce-go/commerce/commercetest"
)

// served is a response, and what was logged.
type served struct {
	Status int
	Text   string
	Level  string
	Remedy string
	Reason string
}

// newRequest returns a request with a form. The cookie names the cart.
func newRequest(ctx context.Context, cartID, form string) *http.Request {
	r := httptest.NewRequestWithContext(ctx, http.MethodPost, "/discounts", strings.NewReader(form))
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	r.Header.Set("Cookie", "cart="+cartID)
	return r
}

// send sends a request to a handler for the store.
func send(t *testing.T, store *commercetest.Store, r *http.Request) (got served) {
	t.Helper()
	w, logged := httptest.NewRecorder(), &bytes.Buffer{}
	client := store.Client(commerce.WithRetry(commerce.RetryPolicy{AttemptTimeout: 800 * time.Millisecond}))
	newHandler(client, slog.New(slog.NewJSONHandler(logged, nil))).ServeHTTP(w, r)
	if err := json.Unmarshal(logged.Bytes(), &got); err != nil && logged.Len() > 0 {
		t.Errorf("log: %v: %s", err, logged)
	}
	got.Status, got.Text = w.Code, strings.TrimSpace(w.Body.String())
	return got
}

const (
	has  = "Your cart costs $87.50"
	look = "Please look at your cart again before you pay."
	soon = "Please try again in a minute."
	late = "Please try again later."
	both = "LOYAL SUMMER-10"
	add  = commercetest.OpAdd
)

// handlerTest is a request to a handler, on a store with faults.
type handlerTest struct {
	name   string
	cfg    commercetest.Config
	before func(store *commercetest.Store, cartID string)
	faults []commercetest.Fault
	form   string // default: both codes
	want   served
	inCart string
}

var (
	good    = served{Status: 200, Text: has, Level: "INFO"}
	inDoubt = served{Status: 503, Text: look, Level: "INFO", Remedy: "again", Reason: "outcome_unknown"}
)

var handlerTests = []handlerTest{
	{name: "all good", want: good, inCart: both},
	{name: "twice, and an unknown code", form: "code=LOYAL&code=SUMMER-10&code=LOYAL&code=X", want: good, inCart: both},
	{
		name: "one is no longer wanted", form: "code=LOYAL", before: addOffer, inCart: "LOYAL",
		want: served{Status: 200, Text: "Your cart costs $97.50", Level: "INFO"},
	},
	{
		name: "none is wanted", form: "other=1", before: addOffer,
		want: served{Status: 200, Text: "Your cart costs $100.00", Level: "INFO"},
	},
	{
		name: "limit reached", cfg: commercetest.Config{CartDiscountLimit: 1}, form: "code=LOYAL", inCart: "other",
		before: func(store *commercetest.Store, cartID string) { addDiscount(store, cartID, "other", "other") },
		want: served{
			Status: 409, Text: "Your cart cannot take more discounts.", Level: "INFO", Remedy: "cart", Reason: "discount_limit",
		},
	},
	{
		name: "promotion", before: (*commercetest.Store).AddPromotion,
		want: served{
			Status: 409, Text: "Your cart has another promotion.", Level: "INFO", Remedy: "cart", Reason: "promotion_conflict",
		},
	},
	{
		name: "refused in other words", want: served{
			Status: 409, Text: "Your cart does not take this discount.", Level: "INFO", Remedy: "cart", Reason: "unprocessable",
		},
		faults: []commercetest.Fault{
			{Operation: add, Status: 422, Body: `{"errors":[{"status":"422","title":"Not today"}]}`},
		},
	},
	{
		name: "service takes none", cfg: commercetest.Config{CartDiscountLimit: -1},
		before: (*commercetest.Store).EnableDiscounts,
		want:   served{Status: 503, Text: late, Level: "ERROR", Remedy: "staff", Reason: "discounts_disabled"},
	},
	{
		name: "response lost, added", want: good, inCart: both,
		faults: []commercetest.Fault{{Operation: add, Apply: true, Cut: true}},
	},
	{name: "response lost, not added", faults: []commercetest.Fault{{Operation: add, Cut: true}}, want: inDoubt},
	{
		name: "no response in time, added", want: good, inCart: both,
		faults: []commercetest.Fault{{Operation: add, Apply: true, Delay: time.Minute}},
	},
	{
		name: "added too late", want: served{Status: 503, Text: look, Level: "INFO", Remedy: "again", Reason: "server_error"},
		faults: []commercetest.Fault{{Operation: add, Late: true, Delay: time.Minute, Status: 504}},
	},
	{
		name: "service hangs", faults: []commercetest.Fault{{Times: -1, Delay: time.Hour}},
		want: served{Status: 503, Text: soon, Level: "INFO", Remedy: "again", Reason: "timeout"},
	},
	{
		name: "service down", faults: []commercetest.Fault{{Times: -1, Status: 503}},
		want: served{Status: 503, Text: soon, Level: "INFO", Remedy: "again", Reason: "server_error"},
	},
	{
		name: "token refused", faults: []commercetest.Fault{{Times: -1, Status: 401}},
		want: served{Status: 503, Text: late, Level: "ERROR", Remedy: "staff", Reason: "unauthorized"},
	},
	{
		name: "token refused after a lost write", want: served{
			Status: 503, Text: look, Level: "ERROR", Remedy: "staff", Reason: "unauthorized",
		},
		faults: []commercetest.Fault{
			{Operation: add, Cut: true}, {Operation: commercetest.OpCart, After: 1, Times: -1, Status: 401},
		},
	},
}

// addOffer gives a cart what the handler gave it before.
func addOffer(store *commercetest.Store, cartID string) {
	addDiscount(store, cartID, "offers", "SUMMER-10")
}

func addDiscount(store *commercetest.Store, cartID, engine, id string) {
	store.EnableDiscounts(cartID)
	store.AddDiscount(cartID, commerce.CustomDiscount{
		Amount: commerce.Money{Amount: commerce.NewDecimal(-1000)}, Description: "Offer " + id, DiscountCode: id,
		DiscountEngine: engine, ExternalID: id,
	})
}

// inCart returns the external ids of the discounts of a cart.
func inCart(store *commercetest.Store, cartID string) string {
	var ids []string
	for _, d := range store.Discounts(cartID) {
		ids = append(ids, d.ExternalID)
	}
	slices.Sort(ids)
	return strings.Join(ids, " ")
}

// The reply is there in 2 s, whatever the service does. It is a 200 only if the cart has what the
// customer asked for, and nothing is in doubt. Its texts are those of docs/discounts.md.
func TestHandler(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../docs/discounts.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range handlerTests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				store := commercetest.New(t, tt.cfg)
				cartID, start := store.AddCart(commerce.CartItemRef{}), time.Now()
				if tt.before != nil {
					tt.before(store, cartID)
				}
				store.Inject(tt.faults...)
				got := send(t, store, newRequest(t.Context(), cartID, cmp.Or(tt.form, "code=SUMMER-10&code=LOYAL")))
				if got.Reason == "deadline_exceeded" { // pauses are random: the last attempt may fit, or not
					got.Reason = "timeout"
				}
				if got != tt.want {
					t.Errorf("got %+v, want %+v", got, tt.want)
				}
				if got.Status != http.StatusOK && !strings.Contains(string(page), `"`+got.Text+`"`) {
					t.Errorf("docs/discounts.md does not say %q", got.Text)
				}
				if ids := inCart(store, cartID); ids != tt.inCart {
					t.Errorf("the cart has %q, want %q", ids, tt.inCart)
				}
				if took := time.Since(start); took > 2*time.Second {
					t.Errorf("the response took %s, want at most 2s", took)
				}
			})
		})
	}
}

func TestHandler_emptyCart(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) { // a handler has 2 s, which a busy machine may need
		store := commercetest.New(t, commercetest.Config{})
		for _, cartID := range []string{store.AddCart(), "expired"} {
			want := served{
				Status: 409, Text: "Your cart is empty. It may have expired.", Level: "INFO", Remedy: "cart", Reason: "empty_cart",
			}
			if got := send(t, store, newRequest(t.Context(), cartID, "code=LOYAL")); got != want {
				t.Errorf("cart %q: got %+v, want %+v", cartID, got, want)
			}
		}
	})
}

// A request that is not a form of the shop takes no discounts off.
func TestHandler_noForm(t *testing.T) {
	t.Parallel()
	store := commercetest.New(t, commercetest.Config{})
	cartID := store.AddCart(commerce.CartItemRef{})
	addOffer(store, cartID)
	body := func(body io.Reader) func(*http.Request) {
		return func(r *http.Request) { r.Body = io.NopCloser(body) }
	}
	for name, tt := range map[string]struct {
		change func(r *http.Request)
		status int
	}{
		"a GET":            {change: func(r *http.Request) { r.Method = http.MethodGet }, status: 405},
		"of another site":  {change: func(r *http.Request) { r.Header.Set("Sec-Fetch-Site", "cross-site") }, status: 403},
		"no cookie":        {change: func(r *http.Request) { r.Header.Del("Cookie") }, status: 400},
		"a form in part":   {change: body(iotest.ErrReader(io.ErrUnexpectedEOF)), status: 400},
		"an unusable form": {change: body(strings.NewReader("code=%zz")), status: 400},
	} {
		r := newRequest(t.Context(), cartID, "")
		tt.change(r)
		if got := send(t, store, r); got.Status != tt.status || inCart(store, cartID) != "SUMMER-10" {
			t.Errorf("%s: got %+v, and %q on the cart; want %d and SUMMER-10", name, got, inCart(store, cartID), tt.status)
		}
	}
}

// The customer closes the tab, and opens the page again.
func TestHandler_closedTab(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store := commercetest.New(t, commercetest.Config{})
		cartID := store.AddCart(commerce.CartItemRef{})
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		for range 2 {
			got := send(t, store, newRequest(ctx, cartID, "code=LOYAL"))
			if ids := inCart(store, cartID); got.Status != http.StatusOK || ids != "LOYAL" {
				t.Errorf("got %+v, and %q on the cart; want %d and LOYAL", got, ids, http.StatusOK)
			}
		}
	})
}
