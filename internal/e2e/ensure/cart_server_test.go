package ensure_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing/iotest"
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

// exchange is a request and what became of it.
type exchange struct {
	Call         int // 0: not a request, but a change by another program
	Method, Path string
	Body         []byte
	Fault        fault
	At, Ended    time.Time
	AppliedAt    time.Time       // zero: it did not take effect
	Status       int             // of the response, 0: none
	Delivered    bool            // the caller got the whole response
	Shown        []savedDiscount // by the response to a read
	Changed      []savedDiscount // that the write added, changed or deleted, if it took effect
	Posted       []string        // keys of the discounts of an add
	Refused      []string        // keys of those that the server refused
}

func (e *exchange) isRead() bool {
	return e.Method == http.MethodGet && !strings.HasSuffix(e.Path, "/items")
}

func (e *exchange) isWrite() bool { return e.Call > 0 && e.Method != http.MethodGet }

// fault is what happens to a request. The request takes effect at once with Apply, after Late
// if that is set, and otherwise not at all.
type fault struct {
	Apply    bool
	Late     time.Duration
	Delay    time.Duration // before the response
	Status   int           // instead of the status and body of the server
	Lost     bool          // there is no response
	Cut      bool          // the body ends early
	WithCart bool          // the body has a reason in errors, and all discounts of the cart in data
}

var (
	noFault = fault{Apply: true}
	errLost = errors.New("the connection was lost")
)

const (
	limitReached = "Limit Reached"
	limitDetail  = "Custom discount limit reached for this cart"
)

// cutAfter is the number of bytes of a body that is cut.
const cutAfter = 20

// serverClient is the transport of one caller.
type serverClient struct {
	server  *cartServer
	call    int             // number of the current call
	faults  []fault         // of the next requests; those after them have none
	latency time.Duration   // of each request
	after   func(*exchange) // called after each request; may be nil
}

// RoundTrip implements [http.RoundTripper].
func (c *serverClient) RoundTrip(req *http.Request) (*http.Response, error) {
	e := &exchange{Call: c.call, Method: req.Method, Path: req.URL.Path, Fault: noFault, At: time.Now()}
	if req.Body != nil {
		var err error
		if e.Body, err = io.ReadAll(req.Body); err != nil {
			return nil, err
		}
		_ = req.Body.Close()
	}
	if len(c.faults) > 0 {
		e.Fault, c.faults = c.faults[0], c.faults[1:]
	}
	if e.Fault.WithCart && !e.isWrite() {
		e.Fault = noFault
	}
	c.server.add(e)
	defer c.server.end(e)
	if c.after != nil {
		defer c.after(e)
	}
	if err := sleep(req.Context(), c.latency); err != nil {
		return nil, err
	}
	var r reply
	switch {
	case e.Fault.Late > 0:
		time.AfterFunc(e.Fault.Late, func() { c.server.apply(e) })
	case e.Fault.Apply:
		r = c.server.apply(e)
	}
	if err := sleep(req.Context(), e.Fault.Delay); err != nil {
		return nil, err
	}
	if e.Fault.Status != 0 {
		r = c.server.replace(e)
	}
	return c.server.respond(req, e, r)
}

func sleep(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (s *cartServer) add(e *exchange) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.log = append(s.log, e)
}

func (s *cartServer) end(e *exchange) {
	s.mu.Lock()
	defer s.mu.Unlock()
	e.Ended = time.Now()
}

// reply is a response of the server. A body that is nil is empty, text is not JSON.
type reply struct {
	status int
	body   any
	text   string
}

// respond returns what the caller gets of a reply.
func (s *cartServer) respond(req *http.Request, e *exchange, r reply) (*http.Response, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	body := []byte(r.text)
	if r.body != nil {
		var err error
		if body, err = json.Marshal(r.body); err != nil {
			return nil, err
		}
	}
	isCut := e.Fault.Cut && len(body) > 1
	if e.Fault.Lost || e.Fault.Cut && !isCut {
		return nil, errLost
	}
	e.Status, e.Delivered = r.status, !isCut
	resp := &http.Response{StatusCode: r.status, Header: http.Header{}, Request: req, ContentLength: int64(len(body))}
	resp.Header.Set("Content-Type", "application/json")
	resp.Body = io.NopCloser(bytes.NewReader(body))
	if isCut {
		body = body[:min(cutAfter, len(body)-1)]
		resp.Body = io.NopCloser(io.MultiReader(bytes.NewReader(body), iotest.ErrReader(io.ErrUnexpectedEOF)))
	}
	return resp, nil
}

// replace returns the reply of a fault that has a status.
func (s *cartServer) replace(e *exchange) reply {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case e.Fault.WithCart:
		e.Refused = e.Posted
		return reply{status: e.Fault.Status, body: map[string]any{
			"data": s.show(s.current()), "errors": []any{newProblem(e.Fault.Status, limitReached, limitDetail, uuid.Nil)},
		}}
	case e.Fault.Status == http.StatusTooManyRequests:
		return reply{status: e.Fault.Status, text: "slow down"}
	}
	return reply{status: e.Fault.Status}
}

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

// addBatch adds the discounts of a request to list.
func (s *cartServer) addBatch(e *exchange, list []savedDiscount) (reply, []savedDiscount) {
	var body struct {
		Data    []savedDiscount
		Options struct {
			AllOrNothing bool `json:"add_all_or_nothing"`
		}
	}
	if err := json.Unmarshal(e.Body, &body); err != nil {
		return reply{status: http.StatusBadRequest, text: err.Error()}, list
	}
	before, added := slices.Clone(list), []savedDiscount{}
	var problems []map[string]any
	for _, d := range body.Data {
		e.Posted = append(e.Posted, d.key())
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
	e.Changed, list = added, append(before, added...)
	shown := slices.Clone(added)
	if s.EchoCart {
		shown = slices.Clone(list)
	}
	if s.Reversed {
		slices.Reverse(shown)
	}
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

// target returns the id of the discount that the path names; zero if it names none.
func (e *exchange) target() uuid.UUID {
	id, _ := uuid.Parse(e.Path[strings.LastIndex(e.Path, "/")+1:])
	return id
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

// String returns the exchange as a line.
func (e *exchange) String() string {
	if e.Call == 0 {
		return e.Method
	}
	content := string(e.Body)
	if len(e.Posted) > 0 {
		content = fmt.Sprint(e.Posted)
	}
	applied := "not applied"
	if !e.AppliedAt.IsZero() {
		applied = fmt.Sprintf("applied %v later", e.AppliedAt.Sub(e.At))
	}
	return fmt.Sprintf("call %d: %s %s %s → %d after %v, delivered: %t, %s, fault %+v",
		e.Call, e.Method, e.Path, content, e.Status, e.Ended.Sub(e.At), e.Delivered, applied, e.Fault)
}
