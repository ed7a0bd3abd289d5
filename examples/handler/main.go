// Handler is an HTTP handler that applies discounts to a cart, of a fake store or a live one.
//
//	go run ./examples/handler                        # sends one request to itself
//	go run ./examples/handler -addr localhost:8080   # listens, and prints the id of a cart
//	curl -b cart=ID -d code=SUMMER-10 -d code=LOYAL http://localhost:8080/discounts
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
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

// offers are the codes of discounts and their amounts, in one order. A request names codes, never
// amounts.
var offers = []struct {
	code   string
	amount int64
}{{"SUMMER-10", -1000}, {"LOYAL", -250}}

// replyTo returns what to tell the customer after an error.
func replyTo(err error) (status int, text string) {
	remedy := commerce.RemedyOf(err)
	switch {
	case errors.Is(err, commerce.ErrOutcomeUnknown), remedy == commerce.RemedyRead:
		return http.StatusServiceUnavailable, "Please look at your cart again before you pay."
	case remedy == commerce.RemedyAgain:
		return http.StatusServiceUnavailable, "Please try again in a minute."
	case remedy != commerce.RemedyCart: // the staff must act
		return http.StatusServiceUnavailable, "Please try again later."
	case errors.Is(err, commerce.ErrEmptyCart):
		return http.StatusConflict, "Your cart is empty. It may have expired."
	case errors.Is(err, commerce.ErrDiscountLimit):
		return http.StatusConflict, "Your cart cannot take more discounts."
	case errors.Is(err, commerce.ErrPromotionConflict):
		return http.StatusConflict, "Your cart has another promotion."
	}
	return http.StatusConflict, "Your cart does not take this discount."
}

type handler struct {
	client *commerce.Client
	log    *slog.Logger
}

// newHandler returns a handler for forms of this shop's pages.
func newHandler(client *commerce.Client, log *slog.Logger) http.Handler {
	mux := http.NewServeMux()
	mux.Handle("POST /discounts", handler{client: client, log: log}) // a GET has no codes, and would take all off
	return http.NewCrossOriginProtection().Handler(mux)
}

// ServeHTTP gives the cart the offers whose codes the form has, and no others.
func (h handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	cart, err := r.Cookie("cart")                               // a shop takes the id from the customer's session
	if errForm := r.ParseForm(); err != nil || errForm != nil { // a part of the form would take discounts off
		http.Error(w, "This request is not valid.", http.StatusBadRequest)
		return
	}
	want := func(context.Context, *commerce.Cart) (list []commerce.NewCustomDiscount, _ error) {
		for _, o := range offers {
			if slices.Contains(r.PostForm["code"], o.code) {
				list = append(list, commerce.NewCustomDiscount{
					Amount: commerce.NewDecimal(o.amount), Description: "Offer " + o.code, DiscountCode: o.code,
					ExternalID: o.code, // the same each time: a cart has an offer once, however often the customer clicks
				})
			}
		}
		return list, nil
	}
	// A closed browser tab must not decide about money: the call does not end with the request.
	// The customer is waiting: without a deadline, a service that hangs holds a call for 2 minutes.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(r.Context()), 2*time.Second)
	defer cancel()
	opts := &commerce.SetCustomDiscountsOptions{Engine: "offers"}
	result, err := h.client.Carts.SetCustomDiscounts(ctx, cart.Value, want, opts)
	remedy, level := commerce.RemedyOf(err), slog.LevelInfo // a customer may look at an empty cart
	if remedy == commerce.RemedyStaff {
		level = slog.LevelError
	}
	h.log.Log(ctx, level, "offers", "cart", cart.Value, "remedy", remedy, "reason", commerce.ReasonOf(err), "error", err)
	if err != nil {
		status, text := replyTo(err)
		http.Error(w, text, status)
		return
	}
	total, _ := result.Cart.Total() // no error: the call has read it
	fmt.Fprintln(w, "Your cart costs", total)
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
	h := newHandler(client, slog.Default())
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
