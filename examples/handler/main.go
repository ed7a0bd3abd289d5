// Handler is an HTTP handler for "apply these discounts to my cart".
//
//	go run ./examples/handler                        # sends one request to itself
//	go run ./examples/handler -addr localhost:8080   # listens, and prints the id of a cart
//	curl -b cart=ID -d code=SUMMER-10 -d code=LOYAL http://localhost:8080/discounts
//
// It runs on a fake store, unless the environment names a live one: see examples/internal/store.
package main

import (
	"context"
	"errors"
	"flag"
	"log"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"time"

	"github.com/commerce-go/commerce"
	"github.com/commerce-go/commerce/commercetest"
	"github.com/commerce-go/commerce/examples/internal/store"
)

// offers are the amounts of discounts by their code. A request names codes, never amounts.
var offers = map[string]int64{"SUMMER-10": -1000, "LOYAL": -250}

// replies are what the customer reads. The first one that matches the error counts.
var replies = []struct {
	err    error
	status int
	text   string
}{
	{err: commerce.ErrOutcomeUnknown, status: http.StatusAccepted, text: "Please look at your cart again before you pay."},
	{err: commerce.ErrInvalidArgument, status: http.StatusBadRequest, text: "This request is not valid."},
	{err: commerce.ErrEmptyCart, status: http.StatusConflict, text: "Your cart is empty. It may have expired."},
	{err: commerce.ErrDiscountLimit, status: http.StatusConflict, text: "Your cart cannot take more discounts."},
	{err: commerce.ErrPromotionConflict, status: http.StatusConflict, text: "Your cart has another promotion."},
	{err: commerce.ErrDiscountsDisabled, status: http.StatusConflict, text: "This cart does not take discounts."},
	{err: commerce.ErrDifferent, status: http.StatusConflict, text: "Your cart has another version of this discount."},
}

func replyTo(err error) (status int, text string) {
	if err == nil {
		return http.StatusOK, "Your cart has the discounts."
	}
	for _, r := range replies {
		if errors.Is(err, r.err) {
			return r.status, r.text
		}
	}
	return http.StatusServiceUnavailable, "Please try again in a minute."
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
	opts := &commerce.EnsureCustomDiscountsOptions{Settle: -1}
	result, err := h.client.Carts.EnsureCustomDiscounts(ctx, cart.Value, want, opts)

	inDoubt := []string{}
	if result != nil {
		for _, d := range result.InDoubt {
			inDoubt = append(inDoubt, d.ExternalID)
		}
	}
	outcome := commerce.OutcomeOf(err)
	h.log.InfoContext(ctx, "discounts", "cart", cart.Value, "outcome", outcome, "in_doubt", inDoubt, "error", err)
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
		server := &http.Server{Addr: *addr, Handler: h, ReadHeaderTimeout: 5 * time.Second}
		log.Fatal(server.ListenAndServe())
	}
	form := strings.NewReader("code=SUMMER-10&code=LOYAL")
	r := httptest.NewRequestWithContext(context.Background(), http.MethodPost, "/discounts", form)
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	r.Header.Set("Cookie", "cart="+cartID)
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	log.Print(w.Code, " ", w.Body)
}
