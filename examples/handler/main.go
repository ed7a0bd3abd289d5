// Handler is an HTTP handler that applies discounts to a cart, of a fake store or the one that the
// environment names.
//
//	go run ./examples/handler                        # sends one request to itself
//	go run ./examples/handler -addr localhost:8080   # listens, and prints the id of a cart
//	curl -b cart=ID -d code=SUMMER-10 -d code=LOYAL http://localhost:8080/discounts
package main

import (
	"context"
	"errors"
	"flag"
	"log"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"slices"
	"time"

	"github.com/commerce-go/commerce"
	"github.com/commerce-go/commerce/commercetest"
	"github.com/commerce-go/commerce/examples/internal/store"
)

// offers are the amounts of discounts by their code. A request names codes, never amounts.
var offers = map[string]int64{"SUMMER-10": -1000, "LOYAL": -250}

// replies is the table of causes in docs/discounts.md. The first row that matches counts.
var replies = []struct {
	status int
	text   string
	causes []error
}{
	{http.StatusOK, "Your cart has the discounts.", []error{nil}},
	{http.StatusServiceUnavailable, "Please look at your cart again before you pay.", []error{commerce.ErrOutcomeUnknown}},
	{http.StatusBadRequest, "This request is not valid.", []error{commerce.ErrInvalidArgument}},
	{http.StatusServiceUnavailable, "Please try again in a minute.", []error{commerce.ErrLock, commerce.ErrConflict,
		commerce.ErrRateLimited, commerce.ErrServer, commerce.ErrTimeout, commerce.ErrConnection, context.DeadlineExceeded}},
	{http.StatusServiceUnavailable, "Please try again later.", []error{commerce.ErrCertificate, commerce.ErrToken,
		commerce.ErrUnauthorized, commerce.ErrForbidden, commerce.ErrBadResponse}},
	{http.StatusConflict, "Your cart is empty. It may have expired.", []error{commerce.ErrEmptyCart}},
	{http.StatusConflict, "Your cart cannot take more discounts.", []error{commerce.ErrDiscountLimit}},
	{http.StatusConflict, "Your cart has another promotion.", []error{commerce.ErrPromotionConflict}},
	{http.StatusConflict, "An item is no longer in your cart.", []error{commerce.ErrCartItemNotFound}},
	{http.StatusConflict, "This cart does not take discounts.", []error{commerce.ErrDiscountsDisabled}},
	{http.StatusConflict, "This discount does not fit the item.", []error{commerce.ErrItemTypeMismatch}},
	{http.StatusConflict, "Your cart has another version of this discount.", []error{commerce.ErrDifferent}},
}

func replyTo(err error) (status int, text string) {
	for _, r := range replies {
		if slices.ContainsFunc(r.causes, func(cause error) bool { return errors.Is(err, cause) }) {
			return r.status, r.text
		}
	}
	if commerce.IsFinal(err) {
		return http.StatusConflict, "Your cart does not take this discount."
	}
	return http.StatusServiceUnavailable, "Please try again later."
}

type handler struct {
	client *commerce.Client
	log    *slog.Logger
}

func (h handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	cart, err := r.Cookie("cart") // a shop takes the id from the customer's session
	if err != nil {
		http.Error(w, "Please put something into your cart first.", http.StatusBadRequest)
		return
	}
	_ = r.ParseForm() // r.PostForm has what can be parsed
	var want []commerce.NewCustomDiscount
	for _, code := range r.PostForm["code"] {
		want = append(want, commerce.NewCustomDiscount{
			Amount:      commerce.NewDecimal(offers[code]), // of an unknown code 0, which is invalid
			Description: "Offer " + code, DiscountCode: code, DiscountEngine: "offers",
			ExternalID: code, // the same each time: a cart has an offer once, however often the customer clicks
		})
	}
	// A closed browser tab must not decide about money: the call does not end with the request.
	// The customer is waiting, so it does not wait for late writes either.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(r.Context()), 2*time.Second)
	defer cancel()
	opts := &commerce.EnsureCustomDiscountsOptions{Settle: -1, Enable: true}
	result, err := h.client.Carts.EnsureCustomDiscounts(ctx, cart.Value, want, opts)
	inDoubt := 0
	if result != nil {
		inDoubt = len(result.InDoubt)
	}
	h.log.InfoContext(ctx, "discounts", "cart", cart.Value, "outcome", commerce.OutcomeOf(err),
		"reason", commerce.ReasonOf(err), "in_doubt", inDoubt, "error", err)
	status, text := replyTo(err)
	http.Error(w, text, status) // as plain text
}

func main() {
	addr := flag.String("addr", "", "`address` to listen on; without it, the program sends one request to itself")
	flag.Parse()
	cartID := ""
	client, err := store.Open(os.Getenv, os.Stderr, func(fake *commercetest.Store) {
		cartID = fake.AddCart(commerce.CartItemRef{})
	}, commerce.WithRetry(commerce.RetryPolicy{AttemptTimeout: 800 * time.Millisecond})) // a write and a read fit in 2 s
	if err != nil {
		log.Fatal(err)
	}
	h := http.NewCrossOriginProtection().Handler(handler{client: client, log: slog.Default()})
	log.Print("demo cart: ", cartID)
	if *addr != "" { // a shop also calls Shutdown, which waits for the calls in progress
		log.Fatal((&http.Server{Addr: *addr, Handler: h, ReadHeaderTimeout: 5 * time.Second}).ListenAndServe())
	}
	r := httptest.NewRequestWithContext(context.Background(), http.MethodPost, "/discounts", http.NoBody)
	r.PostForm = url.Values{"code": {"SUMMER-10", "LOYAL"}}
	r.Header.Set("Cookie", "cart="+cartID)
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	log.Print(w.Code, " ", w.Body)
}
