package exhaustive_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/google/uuid"
)

const cartPath = "/v2/carts/cart"

var subscriptionID = uuid.UUID{15: 1}

// store is the state of the service: a cart with one item, and a subscription. It is a value: a
// write makes another one.
type store struct {
	Price     int64 // of the item
	Limit     int   // maximum number of discounts on the cart
	IsEnabled bool  // the cart takes custom discounts
	Discounts []discount
	IsPaused  bool // the subscription
}

type discount struct {
	ID         uuid.UUID `json:"id"`
	Type       string    `json:"type"`
	Engine     string    `json:"discount_engine"`
	ExternalID string    `json:"external_id"`
	Amount     int64     `json:"amount"`
	By         *request  `json:"-"` // nil: it was there from the start
}

// response is what the store responds to a request, and what the request did.
type response struct {
	status  int
	body    any      // nil: none
	refused []string // external ids of an add that were refused
}

func refuse(status int, title string) response {
	entry := map[string]any{"status": status, "title": title, "detail": title}
	return response{status: status, body: map[string]any{"errors": []any{entry}}}
}

// apply makes a request. newID returns an id that was not used.
func (s store) apply(r *request, newID func() uuid.UUID) (store, response) {
	id, _ := uuid.Parse(r.path[strings.LastIndex(r.path, "/")+1:])
	n := slices.IndexFunc(s.Discounts, func(d discount) bool { return d.ID == id })
	s.Discounts = slices.Clone(s.Discounts)
	switch {
	case strings.HasPrefix(r.path, "/v2/subscriptions/"):
		return s.applyToSubscription(r)
	case r.method == http.MethodGet:
		return s, s.cart()
	case r.method == http.MethodPost:
		return s.add(r, newID)
	case r.path == cartPath:
		s.IsEnabled = true
		return s, s.cart()
	case n < 0:
		return s, refuse(http.StatusNotFound, "Not Found")
	case r.method == http.MethodDelete:
		s.Discounts = slices.Delete(s.Discounts, n, n+1)
		return s, response{status: http.StatusNoContent}
	default:
		var sent struct{ Data discount }
		r.decode(&sent)
		s.Discounts[n].Amount = sent.Data.Amount
		return s, response{status: http.StatusOK, body: map[string]any{"data": s.Discounts[n].shown()}}
	}
}

// add adds discounts as far as the cart takes them.
func (s store) add(r *request, newID func() uuid.UUID) (store, response) {
	if !s.IsEnabled {
		refused := refuse(http.StatusBadRequest, "Custom discounts are not enabled")
		refused.refused = r.keys
		return s, refused
	}
	var sent struct{ Data []discount }
	r.decode(&sent)
	var added, refused []any
	result := response{status: http.StatusCreated}
	for _, d := range sent.Data {
		if len(s.Discounts) >= s.Limit {
			result.refused = append(result.refused, d.ExternalID)
			refused = append(refused, map[string]any{"status": http.StatusUnprocessableEntity, "title": "Discount limit"})
			continue
		}
		d.ID, d.By = newID(), r
		s.Discounts = append(s.Discounts, d)
		added = append(added, d.shown())
	}
	if len(added) == 0 {
		result.status = http.StatusUnprocessableEntity
	}
	result.body = map[string]any{"data": added, "errors": refused}
	return s, result
}

func (s store) applyToSubscription(r *request) (store, response) {
	if r.method == http.MethodPost {
		s.IsPaused = strings.Contains(string(r.body), `"pause"`)
		return s, response{status: http.StatusNoContent}
	}
	meta := map[string]any{"paused": s.IsPaused, "canceled": false, "suspended": false, "closed": false}
	data := map[string]any{"type": "subscription", "id": subscriptionID, "meta": meta}
	return s, response{status: http.StatusOK, body: map[string]any{"data": data}}
}

// cart is the response to a read of the cart.
func (s store) cart() response {
	type object = map[string]any
	price := func(amount int64) object { return object{"amount": amount, "currency": "USD"} }
	item := object{"type": "cart_item", "id": uuid.UUID{15: 9}, "quantity": 1}
	refs, shown, sum := []any{}, []any{}, int64(0)
	for _, d := range s.Discounts {
		refs, shown = append(refs, object{"type": d.Type, "id": d.ID}), append(shown, d.shown())
		sum += d.Amount
	}
	return response{status: http.StatusOK, body: object{
		"data": object{
			"id": "cart", "type": "cart", "discount_settings": object{"custom_discounts_enabled": s.IsEnabled},
			"relationships": object{"items": object{"data": []any{item}}, "custom_discounts": object{"data": refs}},
			"meta": object{"display_price": object{
				"with_tax": price(s.Price + sum), "without_tax": price(s.Price + sum),
				"discount": price(sum), "without_discount": price(s.Price),
			}},
		},
		"included": object{"items": []any{item}, "custom_discounts": shown},
	}}
}

// shown is how responses show a discount.
func (d discount) shown() any {
	return map[string]any{
		"type": d.Type, "id": d.ID, "amount": map[string]any{"amount": d.Amount, "currency": "USD"},
		"discount_engine": d.Engine, "external_id": d.ExternalID,
		"description": d.ExternalID, "discount_code": d.ExternalID,
	}
}

// String returns the discounts of the cart, sorted, e.g. "engine/a -10, other/x -3".
func (s store) String() string {
	var list []string
	for _, d := range s.Discounts {
		list = append(list, fmt.Sprint(d.Engine, "/", d.ExternalID, " ", d.Amount))
	}
	slices.Sort(list)
	return strings.Join(list, ", ")
}

func (r *request) decode(into any) {
	if err := json.Unmarshal(r.body, into); err != nil {
		panic(fmt.Sprintf("%s %s: %v", r.method, r.path, err)) // the library sent it
	}
}
