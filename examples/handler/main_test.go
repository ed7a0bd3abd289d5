package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/commerce-go/commerce"
	"github.com/commerce-go/commerce/commercetest"
)

// served is a response, and what was logged.
type served struct {
	Status  int
	Text    string
	Outcome string
	Reason  string
	InDoubt int
}

// post sends the form to a handler for the store. The cookie names the cart.
func post(ctx context.Context, t *testing.T, store *commercetest.Store, cartID, form string) served {
	t.Helper()
	r := httptest.NewRequestWithContext(ctx, http.MethodPost, "/discounts", strings.NewReader(form))
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	r.Header.Set("Cookie", "cart="+cartID)
	w, logged := httptest.NewRecorder(), &bytes.Buffer{}
	client := store.Client(commerce.WithRetry(commerce.RetryPolicy{AttemptTimeout: 800 * time.Millisecond}))
	handler{client: client, log: slog.New(slog.NewJSONHandler(logged, nil))}.ServeHTTP(w, r)

	var line struct {
		Outcome, Reason string
		InDoubt         int `json:"in_doubt"`
	}
	if err := json.Unmarshal(logged.Bytes(), &line); err != nil {
		t.Errorf("log: %v: %s", err, logged)
	}
	return served{
		Status: w.Code, Text: strings.TrimSpace(w.Body.String()),
		Outcome: line.Outcome, Reason: line.Reason, InDoubt: line.InDoubt,
	}
}

// handlerTest is a request to a handler, on a store with faults.
type handlerTest struct {
	name   string
	cfg    commercetest.Config
	faults []commercetest.Fault
	form   string
	want   served
	inCart int
}

const has = "Your cart has the discounts."

func handlerTests() []handlerTest {
	const (
		form    = "code=SUMMER-10&code=LOYAL"
		unknown = "Please look at your cart again before you pay."
		down    = "Please try again in a minute."
		add     = commercetest.OpAdd
	)
	return []handlerTest{
		{name: "all good", form: form, want: served{Status: 200, Text: has, Outcome: "applied"}, inCart: 2},
		{
			name: "limit reached", cfg: commercetest.Config{CartDiscountLimit: 1}, form: form, inCart: 1,
			want: served{
				Status: 409, Text: "Your cart cannot take more discounts.",
				Outcome: "partial", Reason: "discount_limit",
			},
		},
		{
			name: "not enabled", cfg: commercetest.Config{CartDiscountLimit: -1}, form: form,
			want: served{
				Status: 409, Text: "This cart does not take discounts.",
				Outcome: "partial", Reason: "discounts_disabled", // the setting was changed
			},
		},
		{
			name: "response lost, discounts added", faults: []commercetest.Fault{{Operation: add, Apply: true, Cut: true}},
			form: form, want: served{Status: 200, Text: has, Outcome: "applied"}, inCart: 2,
		},
		{
			name: "response lost, discounts not added", faults: []commercetest.Fault{{Operation: add, Cut: true}},
			form: form, want: served{Status: 503, Text: unknown, Outcome: "unknown", Reason: "outcome_unknown", InDoubt: 2},
		},
		{
			name: "no response in time", faults: []commercetest.Fault{{Operation: add, Apply: true, Delay: time.Minute}},
			form: form, want: served{Status: 200, Text: has, Outcome: "applied"}, inCart: 2,
		},
		{
			name: "service down", faults: []commercetest.Fault{{Times: -1, Status: 503}}, form: form,
			want: served{Status: 503, Text: down, Outcome: "not sent", Reason: "server_error"},
		},
		{
			name: "unknown code", form: "code=SUMMER-100",
			want: served{Status: 400, Text: "This request is not valid.", Outcome: "not sent", Reason: "invalid_argument"},
		},
	}
}

func TestHandler(t *testing.T) {
	t.Parallel()
	for _, tt := range handlerTests() {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				store := commercetest.New(t, tt.cfg)
				store.Inject(tt.faults...)
				cartID, start := store.AddCart(commerce.CartItemRef{}), time.Now()
				got := post(t.Context(), t, store, cartID, tt.form)
				if diff := cmp.Diff(tt.want, got, cmpopts.EquateEmpty()); diff != "" {
					t.Errorf("response (-want +got):\n%s", diff)
				}
				if n := len(store.Discounts(cartID)); n != tt.inCart {
					t.Errorf("the cart has %d discounts, want %d", n, tt.inCart)
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
			got := post(t.Context(), t, store, cartID, "code=LOYAL")
			want := served{
				Status: 409, Text: "Your cart is empty. It may have expired.",
				Outcome: "not sent", Reason: "empty_cart",
			}
			if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("cart %q: response (-want +got):\n%s", cartID, diff)
			}
		}
	})
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
			if got := post(ctx, t, store, cartID, "code=LOYAL"); got.Status != http.StatusOK {
				t.Errorf("response = %+v, want %d", got, http.StatusOK)
			}
		}
		if n := len(store.Discounts(cartID)); n != 1 {
			t.Errorf("the cart has %d discounts, want 1", n)
		}
	})
}

// The replies are the table of causes in docs/discounts.md: the same causes in the same order,
// with the same texts.
func TestReplies(t *testing.T) {
	t.Parallel()
	source, err1 := os.ReadFile("main.go")
	doc, err2 := os.ReadFile("../../docs/discounts.md")
	if err := errors.Join(err1, err2); err != nil {
		t.Fatal(err)
	}
	cause := regexp.MustCompile(`Err[A-Z]\w+|DeadlineExceeded|IsFinal`)
	_, table, _ := strings.Cut(string(doc), "|---|---|---|---|\n")
	table, _, _ = strings.Cut(table, "\n\n")
	var wantCauses, wantTexts []string
	for line := range strings.Lines(table) {
		cells := strings.Split(line, "|")
		causes := cause.FindAllString(cells[2], -1)
		wantCauses = append(wantCauses, causes...)
		wantTexts = append(wantTexts, slices.Repeat([]string{strings.Trim(cells[3], ` "`)}, max(1, len(causes)))...)
	}

	_, code, _ := strings.Cut(string(source), "var replies")
	if diff := cmp.Diff(wantCauses, cause.FindAllString(code, -1)); diff != "" {
		t.Errorf("causes (-docs/discounts.md +main.go):\n%s", diff)
	}
	var texts []string
	for _, r := range replies[1:] { // the first one is for no error
		texts = append(texts, slices.Repeat([]string{r.text}, len(r.causes))...)
	}
	refused := &commerce.Error{
		StatusCode: 400, Errors: []commerce.ErrorObject{{Title: "t"}}, Outcome: commerce.OutcomeRejected,
	}
	for _, err := range []error{refused, io.EOF} { // a final error, and anything else
		_, text := replyTo(err)
		texts = append(texts, text)
	}
	if diff := cmp.Diff(wantTexts, texts); diff != "" {
		t.Errorf("texts (-docs/discounts.md +main.go):\n%s", diff)
	}
}
