package ensure_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/commerce-go/commerce"
	"github.com/commerce-go/commerce/commercetest"
)

// cartServer is a store of commercetest with one cart, and the habits of other services. It logs
// each request, and what became of it.
type cartServer struct {
	habits
	store  *commercetest.Store
	cartID string

	mu     sync.Mutex
	states []cartState
	log    []*exchange
}

// habits are how services differ that follow the documentation.
type habits struct {
	Limit        int    // of discounts of the cart, and of each item
	Rename       string // what it does to ids: "", "trim", "lower", "cut" or "lower engine"
	LeaveOut     string // member that the response to an add leaves out
	EchoCart     bool   // the response to an add shows all discounts of the cart
	Reversed     bool   // the response to an add lists the discounts in another order
	WithoutItems bool   // the read of a cart does not include its items
	Lists        commercetest.EmptyLists
	Errors       bool          // reads report an error beside the cart
	Disabled     bool          // the cart takes no custom discounts before they are enabled
	Lag          time.Duration // after which reads show a write
}

// cartState is the content of the cart from a time on, and how reads show it.
type cartState struct {
	since       time.Time
	discounts   []commerce.CustomDiscount
	prices      prices
	items       int
	isPromoted  bool // the cart has a promotion of the store
	isEnabled   bool // the cart takes custom discounts
	cart, lines reply
	by          *exchange // the write that led to it; nil: a change by another program
}

// prices of a cart as the store knows them, in cents.
type prices struct{ WithTax, WithoutTax, Discount, WithoutDiscount int64 }

// pricesOf returns the prices in the response to the read of a cart.
func pricesOf(r reply) prices {
	var body struct {
		Data struct {
			Meta struct {
				Prices map[string]struct{ Amount int64 } `json:"display_price"`
			}
		}
	}
	if err := json.Unmarshal([]byte(r.body), &body); err != nil {
		panic(err)
	}
	p := body.Data.Meta.Prices
	return prices{
		WithTax: p["with_tax"].Amount, WithoutTax: p["without_tax"].Amount,
		Discount: p["discount"].Amount, WithoutDiscount: p["without_discount"].Amount,
	}
}

// newServer returns a server with the cart as it is at the start.
func (sc *randomScenario) newServer() *cartServer {
	store := commercetest.NewStore(commercetest.Config{
		DiscountsEnabled: !sc.Disabled, CartDiscountLimit: sc.Limit, ItemDiscountLimit: sc.Limit,
		EmptyLists: sc.Lists, ErrorsBesideCarts: sc.Errors,
	})
	s := &cartServer{habits: sc.habits, store: store, cartID: store.AddCart(sc.Items...)}
	for _, d := range sc.Initial {
		store.AddDiscount(s.cartID, d)
	}
	s.keepState()
	s.states[0].since = time.Now().Add(-time.Hour)
	return s
}

// keepState adds the present state of the cart. The caller of this and of the methods below holds
// s.mu, unless they take it.
func (s *cartServer) keepState() {
	path := "/v2/carts/" + s.cartID
	state := cartState{
		since: time.Now(), discounts: s.store.Discounts(s.cartID), items: len(s.store.CartItems(s.cartID)),
		cart:  s.send(http.MethodGet, path+"?include=items,custom_discounts", nil),
		lines: s.send(http.MethodGet, path+"/items?include=custom_discounts", nil),
	}
	state.prices = pricesOf(state.cart)
	state.isPromoted = strings.Contains(state.cart.body, `"promotion_item"`)
	state.isEnabled = strings.Contains(state.cart.body, `"custom_discounts_enabled":true`)
	if s.WithoutItems {
		state.cart = state.cart.edit(removeItems)
	}
	s.states = append(s.states, state)
}

// send sends a request to the store.
func (s *cartServer) send(method, path string, body []byte) reply {
	req := httptest.NewRequest(method, path, bytes.NewReader(body)) //nolint:noctx // may be late
	req.Header.Set("Authorization", "Bearer "+commercetest.DefaultToken)
	req.Header.Set("Content-Type", "application/json")
	resp, err := s.store.Transport().RoundTrip(req)
	if err != nil {
		panic(err)
	}
	text, err := io.ReadAll(resp.Body)
	if err := errors.Join(err, resp.Body.Close()); err != nil {
		panic(err)
	}
	return reply{status: resp.StatusCode, body: string(text)}
}

// current returns the content of the cart.
func (s *cartServer) current() []commerce.CustomDiscount { return s.states[len(s.states)-1].discounts }

// readable returns the state that reads show.
func (s *cartServer) readable() cartState {
	for _, state := range slices.Backward(s.states) {
		if time.Since(state.since) >= s.Lag {
			return state
		}
	}
	return s.states[0]
}

// find returns the discount with an id that was ever on the cart.
func (s *cartServer) find(id uuid.UUID) commerce.CustomDiscount {
	for _, state := range s.states {
		for _, d := range state.discounts {
			if d.ID == id {
				return d
			}
		}
	}
	return commerce.CustomDiscount{}
}

// change changes the cart as another program would.
func (s *cartServer) change(what string, change func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	change()
	s.log = append(s.log, &exchange{Method: what, At: time.Now(), AppliedAt: time.Now()})
	s.keepState()
}

// exchangeDiscounts adds d as another program would, and removes those that are old.
func (s *cartServer) exchangeDiscounts(d commerce.CustomDiscount, isOld func(commerce.CustomDiscount) bool) {
	s.change("another program adds "+d.ExternalID, func() {
		for _, o := range s.current() {
			if isOld(o) {
				s.store.RemoveDiscount(s.cartID, o.ID)
			}
		}
		s.store.AddDiscount(s.cartID, d)
	})
}

// addItem adds an item to the cart, as the customer does.
func (s *cartServer) addItem() {
	s.change("the customer adds an item", func() {
		item := []byte(`{"data":{"type":"cart_item","id":"product","quantity":1}}`)
		s.send(http.MethodPost, "/v2/carts/"+s.cartID+"/items", item)
	})
}

// apply makes a request take effect.
func (s *cartServer) apply(e *exchange) reply {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !e.isWrite() {
		state := s.readable()
		e.Shown, e.Price, e.state = state.discounts, state.prices.WithoutDiscount, len(s.states)-1
		if e.isRead() {
			return state.cart
		}
		return state.lines
	}
	if e.Method == http.MethodPost {
		s.rename(e)
	}
	before := s.current()
	r := s.send(e.Method, e.Path, e.Body)
	if r.status > 299 {
		e.Refused = e.Posted
		return r
	}
	e.AppliedAt = time.Now()
	s.keepState()
	e.state = len(s.states) - 1
	s.states[e.state].by = e
	if e.isEnable() {
		return r
	}
	if e.Method != http.MethodPost {
		e.Changed = []commerce.CustomDiscount{s.find(e.target())}
		return r
	}
	e.Changed = s.current()[len(before):]
	e.setRefused()
	e.Shown = slices.Clone(e.Changed)
	if s.EchoCart {
		e.Shown = slices.Clone(s.current())
	}
	if s.Reversed {
		slices.Reverse(e.Shown)
	}
	data := asData(e.Shown)
	for _, d := range data {
		delete(d, s.LeaveOut)
	}
	return r.edit(func(body map[string]any) { body["data"] = data })
}

// addBody is the body of a request that adds discounts.
type addBody struct {
	Data    []commerce.NewCustomDiscount `json:"data"`
	Options json.RawMessage              `json:"options"`
}

// rename changes the discounts of an add as the service does.
func (s *cartServer) rename(e *exchange) {
	for i := range e.batch.Data {
		switch d := &e.batch.Data[i]; s.Rename {
		case "trim":
			d.ExternalID = strings.TrimSpace(d.ExternalID)
		case "lower":
			d.ExternalID = strings.ToLower(d.ExternalID)
		case "cut":
			d.ExternalID = d.ExternalID[:min(len(d.ExternalID), 7)]
		case "lower engine":
			d.DiscountEngine = strings.ToLower(d.DiscountEngine)
		}
	}
	e.Body, _ = json.Marshal(e.batch) // no error: it was decoded
}

// setRefused finds the discounts of an add that are not among those that changed.
func (e *exchange) setRefused() {
	added := slices.Clone(e.Changed)
	for i, d := range e.batch.Data {
		n := slices.IndexFunc(added, func(o commerce.CustomDiscount) bool {
			return keyOf(o) == keyOf(onCart(d)) && itemOf(o) == itemOf(onCart(d))
		})
		if n < 0 {
			e.Refused = append(e.Refused, e.Posted[i])
		} else {
			added = slices.Delete(added, n, n+1)
		}
	}
}

// asData returns discounts as the data of a response.
func asData(list []commerce.CustomDiscount) (data []map[string]any) {
	text, err := json.Marshal(list)
	if err == nil {
		err = json.Unmarshal(text, &data)
	}
	if err != nil {
		panic(err)
	}
	return data
}

// reply is a response of the server.
type reply struct {
	status int
	body   string
}

// edit returns r with a body that was changed, if it is a JSON object.
func (r reply) edit(change func(body map[string]any)) reply {
	var body map[string]any
	if json.Unmarshal([]byte(r.body), &body) == nil {
		change(body)
		text, _ := json.Marshal(body) // no error: it was decoded
		r.body = string(text)
	}
	return r
}

// keyOf returns the key of a discount. White space at both ends does not count.
func keyOf(d commerce.CustomDiscount) string {
	return strings.TrimSpace(d.DiscountEngine) + "/" + strings.TrimSpace(d.ExternalID)
}

// itemOf returns the id of the item of a discount; zero for the cart.
func itemOf(d commerce.CustomDiscount) uuid.UUID {
	if d.Item == nil {
		return uuid.Nil
	}
	return d.Item.ID
}
