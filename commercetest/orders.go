package commercetest

import (
	"encoding/json"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/google/uuid"

	"github.com/commerce-go/commerce"
)

// Order is an order that a checkout made of a cart.
type Order struct {
	ID uuid.UUID
	// CartID is the cart, which may have changed since, or have further orders.
	CartID      string
	ExternalRef string                    // empty: none
	Total       commerce.Money            // with tax; at least 0
	Discounts   []commerce.CustomDiscount // of the cart and its items at the checkout
}

// Orders returns the orders of all carts, oldest first. The result is a copy.
func (s *Store) Orders() []Order {
	s.mu.Lock()
	defer s.mu.Unlock()
	var list []Order
	for _, o := range s.orders {
		list = append(list, Order{
			ID: o.id, CartID: o.cart.id, ExternalRef: o.externalRef,
			Total: o.cart.currency.money(o.price(s.cfg).WithTax.Amount), Discounts: cloneDiscounts(o.cart.discounts),
		})
	}
	return list
}

// order is an order that is not paid. It never changes.
type order struct {
	id                  uuid.UUID
	cart                *cart // as it was at the checkout
	createdAt           time.Time
	number, externalRef string
	account             string  // empty: the order is of a customer
	customer, contact   members // one of the two
	billing, shipping   members
}

// checkOut handles POST /v2/carts/{cartID}/checkout. The cart stays as it is.
func (s *Store) checkOut(in *call) response {
	var o order
	refusal := s.readBody(in, func(v *validator, root members) {
		if data, ok := v.object("data", root["data"]); ok {
			o = v.order(data, accountOf(in.Header.Get(accountTokenHeader)))
		}
	})
	if refusal != nil {
		return *refusal
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	o.cart, o.createdAt = s.cart(in.ids["cart"]), time.Now()
	if len(o.cart.items) == 0 {
		return errorResponse(http.StatusBadRequest, "Bad Request", "The cart is empty")
	}
	o.id = newID("orders", len(s.orders)+1)
	s.orders = append(s.orders, &o)
	return jsonResponse(http.StatusCreated, cartBody{Data: o.data(s.cfg)})
}

// maxExternalRef is how many characters the external ref of an order may have.
const maxExternalRef = 64

// order reads the data of a checkout. With the token of an account, the order is of that account.
func (v *validator) order(data members, account uuid.UUID) (o order) {
	o.number = v.optionalText("data.order_number", data["order_number"])
	o.externalRef = v.optionalText("data.external_ref", data["external_ref"])
	if utf8.RuneCountInString(o.externalRef) > maxExternalRef {
		v.addProblem("data.external_ref", "must have at most 64 characters")
	}
	switch raw := data["customer"]; {
	case raw != nil:
		o.customer = v.person("data.customer", raw)
	case data["contact"] == nil:
		v.addProblem("data.customer", "or data.contact is required")
	default:
		o.contact = v.person("data.contact", data["contact"])
		if o.account = account.String(); account == uuid.Nil {
			of, _ := v.object("data.account", data["account"])
			o.account = v.text("data.account.id", of["id"])
		}
	}
	o.billing = v.address("data.billing_address", data["billing_address"])
	o.shipping = v.address("data.shipping_address", data["shipping_address"])
	return o
}

// optionalText reads a string that may be empty, null or absent.
func (v *validator) optionalText(path string, raw []byte) (s string) {
	if raw != nil && json.Unmarshal(raw, &s) != nil {
		v.addProblem(path, "must be a string")
	}
	return s
}

// person reads a customer, who may have only an id, or a contact.
func (v *validator) person(path string, raw []byte) members {
	o, ok := v.object(path, raw)
	if id := v.optionalText(path+".id", o["id"]); ok && id == "" {
		v.text(path+".name", o["name"])
		v.text(path+".email", o["email"])
	}
	return o
}

func (v *validator) address(path string, raw []byte) members {
	o, ok := v.object(path, raw)
	if !ok {
		return nil
	}
	required := []string{"first_name", "last_name", "line_1", "postcode", "country"}
	for _, name := range required {
		v.text(path+"."+name, o[name])
	}
	if v.optionalText(path+".region", o["region"])+v.optionalText(path+".county", o["county"]) == "" {
		v.addProblem(path, "must have a region or a county")
	}
	for _, name := range slices.Sorted(maps.Keys(o)) {
		if !slices.Contains(append(required, "region", "county"), name) {
			v.optionalText(path+"."+name, o[name])
		}
	}
	return o
}

// orderData is an order as responses show it.
type orderData struct {
	ID               uuid.UUID         `json:"id"`
	Type             string            `json:"type"`
	OrderNumber      string            `json:"order_number,omitempty"`
	ExternalRef      string            `json:"external_ref,omitempty"`
	Status           string            `json:"status"`
	Payment          string            `json:"payment"`
	Shipping         string            `json:"shipping"`
	Anonymized       bool              `json:"anonymized"`
	Customer         members           `json:"customer,omitempty"`
	Contact          members           `json:"contact,omitempty"`
	BillingAddress   members           `json:"billing_address"`
	ShippingAddress  members           `json:"shipping_address"`
	CustomAttributes json.RawMessage   `json:"custom_attributes,omitempty"`
	Links            map[string]string `json:"links"`
	Meta             orderMeta         `json:"meta"`
	Relationships    map[string]any    `json:"relationships"`
}

type orderMeta struct {
	DisplayPrice orderPrice `json:"display_price"`
	Timestamps   timestamps `json:"timestamps"`
}

type orderPrice struct {
	displayPrice

	BalanceOwing money `json:"balance_owing"`
	Paid         money `json:"paid"`
	Authorized   money `json:"authorized"`
}

// The states of an order. Nobody pays it.
const (
	orderStatus   = "incomplete"
	orderPayment  = "unpaid"
	orderShipping = "unfulfilled"
)

// price returns what the cart did cost, but at least 0.
func (o *order) price(cfg Config) *displayPrice {
	cfg.TotalsNotBelowZero = true
	return o.cart.displayPrice(&cfg)
}

func (o *order) data(cfg Config) orderData {
	price, created := o.price(cfg), timestamp(o.createdAt)
	nothing := o.cart.money(commerce.Decimal{})
	ofCart := o.cart.data(&cfg).Relationships
	related := map[string]any{}
	for name, list := range map[string]*relationship{
		"custom_discounts": ofCart.CustomDiscounts, "promotions": ofCart.Promotions,
	} {
		if list != nil {
			related[name] = list
		}
	}
	if o.account != "" {
		related["account"] = map[string]any{"data": map[string]string{"type": "account", "id": o.account}}
	}
	return orderData{
		ID: o.id, Type: "order", OrderNumber: o.number, ExternalRef: o.externalRef,
		Status: orderStatus, Payment: orderPayment, Shipping: orderShipping,
		Customer: o.customer, Contact: o.contact, BillingAddress: o.billing, ShippingAddress: o.shipping,
		CustomAttributes: o.cart.customAttributes,
		Links:            map[string]string{"self": "https://" + linkHost + "/v2/orders/" + o.id.String()},
		Meta: orderMeta{
			DisplayPrice: orderPrice{displayPrice: *price, BalanceOwing: price.WithTax, Paid: nothing, Authorized: nothing},
			Timestamps:   timestamps{CreatedAt: created, UpdatedAt: created},
		},
		Relationships: related,
	}
}

// isFor reports whether a request with the token of an account, or without one, may see o.
func (o *order) isFor(in *call) bool {
	account := accountOf(in.Header.Get(accountTokenHeader))
	return account == uuid.Nil || o.account == account.String()
}

// listOrders handles GET /v2/orders: the oldest first.
func (s *Store) listOrders(in *call) response {
	return listOf(s, in, orderFilter, func(conditions []condition) (all []any) {
		for _, o := range s.orders {
			fields := map[string]string{
				"external_ref": o.externalRef, "order_number": o.number, "account_id": o.account,
				"status": orderStatus, "payment": orderPayment,
			}
			if o.isFor(in) && !slices.ContainsFunc(conditions, func(c condition) bool { return !c.has(fields[c.field]) }) {
				all = append(all, o.data(s.cfg))
			}
		}
		return all
	})
}

// getOrder handles GET /v2/orders/{orderID}. It can include custom_discounts, with those of items.
func (s *Store) getOrder(in *call) response {
	query, err := url.ParseQuery(in.RawQuery)
	if err != nil {
		return errorResponse(http.StatusBadRequest, "Bad Request", "Could not parse the query")
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	i := slices.IndexFunc(s.orders, func(o *order) bool { return o.id == in.uuid("order") && o.isFor(in) })
	if i < 0 {
		return errorResponse(http.StatusNotFound, "Not Found", "Order not found")
	}
	o, included := s.orders[i], map[string]any{}
	if slices.Contains(strings.Split(strings.Join(query["include"], ","), ","), "custom_discounts") {
		includeList(s.cfg.EmptyLists, included, "custom_discounts", includedDiscounts(o.cart.discounts))
	}
	return jsonResponse(http.StatusOK, cartBody{Data: o.data(s.cfg), Included: included})
}
