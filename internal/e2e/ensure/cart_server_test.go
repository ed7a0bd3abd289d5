package ensure_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/commerce-go/commerce"
)

// cartServer is a service with one cart. It is written from the documentation of the service
// and shares no code with commercetest. It logs each request, and what became of it.
type cartServer struct {
	habits
	items []commerce.CartItemRef

	mu     sync.Mutex
	states []cartState
	added  int // discounts so far
	log    []*exchange
}

// habits are how services differ that follow the documentation.
type habits struct {
	Limit        int           // of discounts of the cart, and of each item
	Rename       string        // what it does to ids: "", "trim", "lower", "cut" or "lower engine"
	LeaveOut     string        // member that the response to an add leaves out
	EchoCart     bool          // the response to an add shows all discounts of the cart
	Reversed     bool          // the response to an add lists the discounts in another order
	BareAmounts  bool          // amounts are numbers, not objects
	WithoutItems bool          // the read of a cart does not include its items
	Lag          time.Duration // after which reads show a write
}

// cartState is the content of the cart from a time on.
type cartState struct {
	since     time.Time
	discounts []savedDiscount
}

// savedDiscount is a discount as requests and the server have it.
type savedDiscount struct {
	ID            uuid.UUID `json:"-"`
	Amount        int64     `json:"amount"`
	Description   string    `json:"description"`
	Code          string    `json:"discount_code"`
	Engine        string    `json:"discount_engine"`
	ExternalID    string    `json:"external_id"`
	Relationships struct {
		Item struct {
			Data commerce.CartItemRef `json:"data"` // zero: the cart
		} `json:"item"`
	} `json:"relationships"`
}

func (d *savedDiscount) key() string { return keyOf(d.Engine, d.ExternalID) }

func (d *savedDiscount) item() uuid.UUID { return d.Relationships.Item.Data.ID }

const (
	limitReached = "Limit Reached"
	limitDetail  = "Custom discount limit reached for this cart"
)

func newProblem(status int, title, detail string, item uuid.UUID) map[string]any {
	problem := map[string]any{"status": status, "title": title, "detail": detail}
	if item != uuid.Nil {
		problem["meta"] = map[string]any{"id": item}
	}
	return problem
}

// current returns the content of the cart. The caller of this and of the methods below holds s.mu,
// unless they take it.
func (s *cartServer) current() []savedDiscount { return s.states[len(s.states)-1].discounts }

// readable returns the content that reads show.
func (s *cartServer) readable() []savedDiscount {
	for _, state := range slices.Backward(s.states) {
		if time.Since(state.since) >= s.Lag {
			return state.discounts
		}
	}
	return s.states[0].discounts
}

// change changes the cart as another program would.
func (s *cartServer) change(what string, change func([]savedDiscount) []savedDiscount) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.log = append(s.log, &exchange{Method: what, At: time.Now(), AppliedAt: time.Now()})
	s.states = append(s.states, cartState{since: time.Now(), discounts: change(slices.Clone(s.current()))})
}

// apply makes a request take effect.
func (s *cartServer) apply(e *exchange) reply {
	s.mu.Lock()
	defer s.mu.Unlock()
	path := strings.Split(e.Path, "/")[4:] // after /v2/carts/{cartID}
	switch {
	case e.Method == http.MethodGet && len(path) == 0:
		e.Shown = s.readable()
		return s.cart(e.Shown)
	case e.Method == http.MethodGet:
		return reply{status: http.StatusOK, body: map[string]any{"data": s.itemsOf(s.readable())}}
	}
	list := slices.Clone(s.current())
	var r reply
	if e.Method == http.MethodPost {
		r, list = s.addBatch(e, list)
	} else {
		r, list = s.changeOne(e, list, path)
	}
	if len(e.Changed) > 0 {
		e.AppliedAt = time.Now()
		s.states = append(s.states, cartState{since: e.AppliedAt, discounts: list})
	}
	return r
}

// addBody is the body of a request that adds discounts.
type addBody struct {
	Data    []savedDiscount
	Options struct {
		AllOrNothing bool `json:"add_all_or_nothing"`
	}
}

// addBatch adds the discounts of a request to list.
func (s *cartServer) addBatch(e *exchange, list []savedDiscount) (reply, []savedDiscount) {
	var body addBody
	if err := json.Unmarshal(e.Body, &body); err != nil {
		return reply{status: http.StatusBadRequest, text: err.Error()}, list
	}
	before, added := slices.Clone(list), []savedDiscount{}
	var problems []map[string]any
	for _, d := range body.Data {
		if problem := s.refusal(list, &d); problem != nil {
			problems = append(problems, problem)
			e.Refused = append(e.Refused, d.key())
			continue
		}
		s.rename(&d)
		list, added = append(list, d), append(added, d)
	}
	out := map[string]any{}
	if len(problems) > 0 {
		out["errors"] = problems
		if body.Options.AllOrNothing || len(added) == 0 {
			e.Refused = e.Posted
			return reply{status: problems[0]["status"].(int), body: out}, before
		}
	}
	for i := range added {
		s.added++
		added[i].ID = addedID(s.added)
	}
	e.Changed, list = added, slices.Concat(before, added)
	shown := slices.Clone(added)
	if s.EchoCart {
		shown = slices.Clone(list)
	}
	if s.Reversed {
		slices.Reverse(shown)
	}
	e.Shown = shown
	data := s.show(shown)
	for _, d := range data {
		delete(d, s.LeaveOut)
	}
	out["data"] = data
	return reply{status: http.StatusCreated, body: out}, list
}

// addedID returns the id of the n-th discount that is added. It is the same as in commercetest, so
// that of equal copies the library keeps the same one.
func addedID(n int) uuid.UUID {
	return uuid.NewSHA1(uuid.NameSpaceURL, fmt.Appendf(nil, "https://store.example/custom-discounts/%d", n))
}

// refusal returns why the cart does not accept d; nil if it does.
func (s *cartServer) refusal(list []savedDiscount, d *savedDiscount) map[string]any {
	hasItem := func(item commerce.CartItemRef) bool { return item.ID == d.item() }
	if d.item() != uuid.Nil && !slices.ContainsFunc(s.items, hasItem) {
		return newProblem(http.StatusNotFound, "Custom discount not added to cart item.",
			"Cart Item is not present in the cart.", d.item())
	}
	count := 0
	for _, other := range list {
		if other.item() == d.item() {
			count++
		}
	}
	if count < s.Limit {
		return nil
	}
	return newProblem(http.StatusUnprocessableEntity, limitReached, limitDetail, d.item())
}

func (s *cartServer) rename(d *savedDiscount) {
	switch s.Rename {
	case "trim":
		d.ExternalID = strings.TrimSpace(d.ExternalID)
	case "lower":
		d.ExternalID = strings.ToLower(d.ExternalID)
	case "cut":
		d.ExternalID = d.ExternalID[:min(len(d.ExternalID), 7)]
	case "lower engine":
		d.Engine = strings.ToLower(d.Engine)
	}
}

// changeOne updates or deletes the discount that the path names.
func (s *cartServer) changeOne(e *exchange, list []savedDiscount, path []string) (reply, []savedDiscount) {
	item := uuid.Nil
	if path[0] == "items" {
		item = uuid.MustParse(path[1])
	}
	i := slices.IndexFunc(list, func(d savedDiscount) bool { return d.ID == e.target() && d.item() == item })
	if i < 0 {
		problem := newProblem(http.StatusNotFound, "Not Found", "There is no such custom discount", uuid.Nil)
		return reply{status: http.StatusNotFound, body: map[string]any{"errors": []any{problem}}}, list
	}
	if e.Method == http.MethodDelete {
		e.Changed = []savedDiscount{list[i]}
		return reply{status: http.StatusNoContent}, slices.Delete(list, i, i+1)
	}
	var body struct{ Data savedDiscount }
	if err := json.Unmarshal(e.Body, &body); err != nil {
		return reply{status: http.StatusBadRequest, text: err.Error()}, list
	}
	list[i].Amount, list[i].Description, list[i].Code = body.Data.Amount, body.Data.Description, body.Data.Code
	e.Changed = []savedDiscount{list[i]}
	return reply{status: http.StatusOK, body: map[string]any{"data": s.show(e.Changed)[0]}}, list
}

func (s *cartServer) cart(list []savedDiscount) reply {
	discounts := s.show(list)
	for _, d := range discounts {
		delete(d, "relationships") // only the relationships of the cart and its items name them
	}
	included := map[string]any{"custom_discounts": discounts, "items": s.itemsOf(list)}
	if s.WithoutItems {
		delete(included, "items")
	}
	return reply{status: http.StatusOK, body: map[string]any{"included": included, "data": map[string]any{
		"id": cartID, "type": "cart", "relationships": map[string]any{
			"items": map[string]any{"data": s.items}, "custom_discounts": relationshipOf(list, uuid.Nil),
		},
	}}}
}

func (s *cartServer) itemsOf(list []savedDiscount) (items []any) {
	for _, item := range s.items {
		items = append(items, map[string]any{
			"id": item.ID, "type": item.Type,
			"relationships": map[string]any{"custom_discounts": relationshipOf(list, item.ID)},
		})
	}
	return items
}

// relationshipOf names the discounts of an item, or those of the cart itself if the id is zero.
func relationshipOf(list []savedDiscount, item uuid.UUID) map[string]any {
	refs := []any{}
	for _, d := range list {
		if d.item() == item {
			refs = append(refs, map[string]any{"type": "custom_discount", "id": d.ID})
		}
	}
	return map[string]any{"data": refs}
}

// show returns discounts as responses show them.
func (s *cartServer) show(list []savedDiscount) []map[string]any {
	shown := []map[string]any{}
	for _, d := range list {
		var amount any = d.Amount
		if !s.BareAmounts {
			amount = map[string]any{"amount": d.Amount, "currency": "USD"}
		}
		m := map[string]any{
			"type": "custom_discount", "id": d.ID, "amount": amount, "description": d.Description,
			"discount_code": d.Code, "discount_engine": d.Engine, "external_id": d.ExternalID,
		}
		if d.item() != uuid.Nil {
			m["relationships"] = d.Relationships
		}
		shown = append(shown, m)
	}
	return shown
}

// keyOf returns the key of a discount. White space at both ends does not count.
func keyOf(engine, externalID string) string {
	return strings.TrimSpace(engine) + "/" + strings.TrimSpace(externalID)
}
