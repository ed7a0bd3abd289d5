// Command checkout takes a cart from its price to its order: the customer sees a price, and pays it
// with one order, however often the form is sent, and whatever becomes of requests and processes.
//
//	go run ./examples/checkout
//
// It uses the fake store or, with COMMERCE_BASE_URL, orders the cart COMMERCE_CART of that store.
// Several processes need commerce.WithCartLocker, with a lock that outlives its process by 10 s.
package main

import (
	"context"
	"errors"
	"fmt"
	"log"
	"net/http"
	"net/url"
	"os"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/commerce-go/commerce"
	"github.com/commerce-go/commerce/commercetest"
	"github.com/commerce-go/commerce/examples/internal/store"
)

// shop sells carts of the store.
type shop struct {
	client *commerce.Client
	offers func(context.Context, *commerce.Cart) ([]commerce.NewCustomDiscount, error) // see the README
}

// order is what the shop reads of an order.
type order struct {
	ID          string `json:"id"`
	ExternalRef string `json:"external_ref"`
	Meta        struct {
		DisplayPrice struct {
			Total commerce.Money `json:"with_tax"`
		} `json:"display_price"`
	} `json:"meta"`
}

// errPrice means that the customer must see the price again, and that the cart needs a new
// reference.
var errPrice error = priceError{}

type priceError struct{}

func (priceError) Error() string { return "the price has changed" }

func (priceError) Remedy() commerce.Remedy { return commerce.RemedyCart } // not "call again"

// newRef returns a reference for the order of a cart. Keep it with the cart, and not with a page,
// until the order is paid: a page that is loaded again must not order again.
func newRef() string { return "shop-" + uuid.NewString() }

// view returns the price of a cart.
func (s *shop) view(ctx context.Context, cartID string) (price commerce.Money, err error) {
	opts := &commerce.SetCustomDiscountsOptions{Engine: "shop"}
	result, err := s.client.Carts.SetCustomDiscounts(ctx, cartID, s.offers, opts)
	if err != nil {
		return price, err
	}
	return result.Cart.Total()
}

// pay places the order of a cart for the price that the customer saw. Authorize the payment before,
// and take the money after a nil error. An order of another price, after errPrice, stays unpaid.
func (s *shop) pay(ctx context.Context, cartID, ref string, seen commerce.Money) (placed order, err error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Minute) // a closed tab does not decide
	defer cancel()
	opts := &commerce.SetCustomDiscountsOptions{Engine: "shop"}
	opts.Then = func(ctx context.Context, result *commerce.CustomDiscountsResult) (err error) {
		if placed, err = s.find(ctx, ref); err != nil || placed.ID != "" {
			return err
		}
		if total, err := result.Cart.Total(); err != nil || !isSame(total, seen) {
			return errors.Join(errPrice, err)
		}
		placed, err = s.place(ctx, cartID, ref)
		return err
	}
	if _, err = s.client.Carts.SetCustomDiscounts(ctx, cartID, s.offers, opts); err != nil && placed.ID == "" {
		var errFind error // the order may be there, although the cart takes no discounts any more
		if placed, errFind = s.find(ctx, ref); errFind != nil || placed.ID == "" {
			return order{}, err
		}
	}
	if !isSame(placed.Meta.DisplayPrice.Total, seen) { // an item was changed at the last moment
		return order{}, errPrice
	}
	return placed, nil
}

// place sends the order. Without a response, it looks for it as long as it may come late: the
// service takes a second checkout of the same cart.
func (s *shop) place(ctx context.Context, cartID, ref string) (order, error) {
	var made struct{ Data order }
	_, err := s.client.Do(ctx, http.MethodPost, []string{"v2", "carts", cartID, "checkout"}, nil, request(ref), &made)
	for n := 0; commerce.RemedyOf(err) == commerce.RemedyRead && n < 10; n++ {
		time.Sleep(time.Second)
		if found, errFind := s.find(ctx, ref); errFind == nil && found.ID != "" {
			return found, nil
		}
	}
	if err == nil && made.Data.ID == "" {
		err = errors.New("the service does not show the order")
	}
	return made.Data, err
}

// find returns the order with a reference; one without an id if there is none.
func (s *shop) find(ctx context.Context, ref string) (order, error) {
	var list struct{ Data []order }
	query := url.Values{"filter": {"eq(external_ref," + ref + ")"}}
	_, err := s.client.Do(ctx, http.MethodGet, []string{"v2", "orders"}, query, nil, &list)
	isOther := func(o order) bool { return o.ExternalRef != ref }
	return append(slices.DeleteFunc(list.Data, isOther), order{})[0], err
}

func isSame(a, b commerce.Money) bool { return a.Amount.Equal(b.Amount) && a.Currency == b.Currency }

// request returns the body of a checkout.
func request(ref string) any {
	address := map[string]string{
		"first_name": "Ada", "last_name": "Example", "line_1": "1 Main Street", "city": "Berlin", "region": "BE",
		"postcode": "10115", "country": "DE",
	}
	return map[string]any{"data": map[string]any{
		"external_ref": ref, "customer": map[string]string{"name": "Ada Example", "email": "ada@shop.example"},
		"billing_address": address, "shipping_address": address,
	}}
}

func main() {
	cartID := os.Getenv("COMMERCE_CART")
	client, err := store.Open(os.Getenv, os.Stderr, func(fake *commercetest.Store) {
		cartID = fake.AddCart(commerce.CartItemRef{})
	})
	if err != nil {
		log.Fatal(err)
	}
	s := &shop{client: client, offers: tenPercent}
	ref := newRef()
	price, err := s.view(context.Background(), cartID)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("your cart costs", price)
	for range 2 { // the customer clicks twice
		placed, err := s.pay(context.Background(), cartID, ref, price)
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println("order", placed.ID)
	}
}

func tenPercent(_ context.Context, cart *commerce.Cart) ([]commerce.NewCustomDiscount, error) {
	price, err := cart.Subtotal()
	return []commerce.NewCustomDiscount{{
		Amount: price.Amount.Percent(commerce.NewDecimal(-10)), Description: "SUMMER-10", DiscountCode: "SUMMER-10",
		ExternalID: "SUMMER-10",
	}}, err
}
