package ensure_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/commerce-go/commerce"
	"github.com/commerce-go/commerce/commercetest"
)

// cartServer is a store of commercetest with one cart. It logs each request, and what became of it.
type cartServer struct {
	store    *commercetest.Store
	cartID   string
	shipping int64 // that a cart with items costs
	lags     bool  // the totals of a cart come late

	mu     sync.Mutex
	states []cartState
	log    []*exchange
}

// cartState is the content of the cart, and how reads show it.
type cartState struct {
	discounts      []commerce.CustomDiscount
	prices         prices
	items          int
	lines          []line
	isPromoted     bool // the cart has a promotion of the store
	isEnabled      bool // the cart takes custom discounts
	cart, itemList reply
	by             *exchange // the write that led to it; nil: a change by another program
}

// prices of a cart, in cents.
type prices struct{ WithTax, WithoutTax, Tax, Discount, WithoutDiscount, Shipping int64 }

// line is an item of a cart: what all its pieces cost, in cents. gross is with tax if prices are.
type line struct {
	ref                   commerce.CartItemRef
	gross, net, promotion int64
}

// amount is a price in a response.
type amount struct{ Amount int64 }

// pricesOf returns the prices in the response to the read of a cart: those that it shows, those
// that it must show, as the sums of what the items show, and those of the items.
func pricesOf(r reply) (shown, sums prices, lines []line) {
	var body struct {
		Data struct {
			Meta struct {
				Prices map[string]amount `json:"display_price"`
			}
		}
		Included struct {
			Items []struct {
				commerce.CartItemRef

				Value     amount
				Discounts []struct{ Amount amount }
				Meta      struct {
					Prices map[string]struct{ Value amount } `json:"display_price"`
				}
			}
		}
	}
	if err := json.Unmarshal([]byte(r.body), &body); err != nil {
		panic(err)
	}
	p := body.Data.Meta.Prices
	shown = prices{
		p["with_tax"].Amount, p["without_tax"].Amount, p["tax"].Amount, p["discount"].Amount,
		p["without_discount"].Amount, p["shipping"].Amount,
	}
	for _, i := range body.Included.Items {
		if i.Type == "promotion_item" {
			continue
		}
		of := func(name string) int64 { return i.Meta.Prices[name].Value.Amount }
		l := line{ref: i.CartItemRef, gross: i.Value.Amount, net: of("without_tax") - of("discount")}
		for _, d := range i.Discounts {
			l.promotion += d.Amount.Amount
		}
		lines = append(lines, l)
		sums.WithTax, sums.WithoutTax = sums.WithTax+of("with_tax"), sums.WithoutTax+of("without_tax")
		sums.Tax, sums.Discount = sums.Tax+of("tax"), sums.Discount+of("discount")
		sums.WithoutDiscount += l.gross
	}
	return shown, sums, lines
}

// keepState adds the present state of the cart. The caller of this and of the methods below holds
// s.mu, unless they take it.
func (s *cartServer) keepState() {
	path := "/v2/carts/" + s.cartID
	state := cartState{
		discounts: s.store.Discounts(s.cartID), items: len(s.store.CartItems(s.cartID)),
		cart:     s.send(http.MethodGet, path+"?include=items,custom_discounts", nil),
		itemList: s.send(http.MethodGet, path+"/items?include=custom_discounts", nil),
	}
	_, state.prices, state.lines = pricesOf(state.cart)
	if state.items > 0 {
		state.prices.Shipping = s.shipping
		state.prices.WithTax += s.shipping
		state.prices.WithoutTax += s.shipping
		state.prices.WithoutDiscount += s.shipping
	}
	state.isPromoted = strings.Contains(state.cart.body, `"promotion_item"`)
	state.isEnabled = strings.Contains(state.cart.body, `"custom_discounts_enabled":true`)
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
	return replyOf(resp)
}

func replyOf(resp *http.Response) reply {
	text, err := io.ReadAll(resp.Body)
	if err := errors.Join(err, resp.Body.Close()); err != nil {
		panic(err)
	}
	return reply{status: resp.StatusCode, body: string(text)}
}

// current returns the content of the cart.
func (s *cartServer) current() []commerce.CustomDiscount { return s.states[len(s.states)-1].discounts }

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

// apply makes a request take effect.
func (s *cartServer) apply(e *exchange) reply {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !e.isWrite() {
		state := s.states[len(s.states)-1]
		e.Shown, e.state = state.discounts, len(s.states)-1
		if e.isRead() && s.lags {
			r := s.send(e.Method, e.Path+"?include=items,custom_discounts", nil)
			shown, _, _ := pricesOf(r)
			e.prices = &shown
			return r
		}
		if e.isRead() {
			return state.cart
		}
		return state.itemList
	}
	before := s.current()
	r := s.send(e.Method, e.Path, e.Body)
	if r.status > 299 {
		return r
	}
	e.AppliedAt = time.Now()
	s.keepState()
	e.state = len(s.states) - 1
	s.states[e.state].by = e
	switch {
	case e.isEnable():
	case e.Method != http.MethodPost:
		e.Changed = []commerce.CustomDiscount{s.find(e.target())}
	default:
		e.Changed = s.current()[len(before):]
		e.Shown = e.Changed
	}
	return r
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
