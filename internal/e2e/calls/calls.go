// Package calls is the table of the public calls: the functions and methods of package commerce that send requests.
// Tests of what holds for every call run all of it. TestHouse_calls fails if a call has no row.
package calls

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"net/url"
	"reflect"
	"strings"

	"github.com/google/uuid"

	"github.com/commerce-go/commerce"
)

// Call is a public call.
type Call struct {
	// Name is the name in Go, with the field of the client that has the method: "Carts.Get". A text in
	// parentheses tells two rows of one function apart.
	Name string
	// Op and Method are what an observer is told. The default of Op is Name without the parentheses. Method is
	// empty if the call sends requests with several methods.
	Op, Method string

	Write      bool // otherwise a read
	Replayable bool // a write that may be sent again after any failure
	List       bool // it returns records
	TakesAll   bool // no arguments are invalid

	// Do makes the call. The result is that of the call, or nil if it has only an error.
	Do func(context.Context, *commerce.Client, *Args) (any, error)

	// responses are those to the requests of a call that succeeds, with the names of [Args.expand]. The records
	// of a list are one.
	responses []Response
}

// Response is a response to one request.
type Response struct {
	Status int
	Body   string
}

// Args are the arguments of all calls.
type Args struct {
	CartID                    string
	Discount                  commerce.CustomDiscount      // that the cart has
	Discounts                 []commerce.NewCustomDiscount // one, to add
	SubscriptionID, AccountID uuid.UUID
	Options                   *commerce.SubscriptionListOptions
	Path                      []string // of Do and Walk
	Query                     url.Values
	Body                      any // of a write by Do
}

// NewArgs returns valid arguments.
func NewArgs() *Args {
	added := commerce.NewCustomDiscount{
		Amount: commerce.NewDecimal(-1000), Description: "ten off", DiscountCode: "TEN", DiscountEngine: "engine",
		ExternalID: "a",
	}
	return &Args{
		CartID:   "0a8d0b6c-cart",
		Discount: commerce.CustomDiscount{ID: uuid.UUID{1}, Amount: commerce.Money{Amount: commerce.NewDecimal(-500)}},

		Discounts:      []commerce.NewCustomDiscount{added},
		SubscriptionID: uuid.UUID{2}, AccountID: uuid.UUID{3},
		Path: []string{"v2", "other"},
	}
}

// InvalidArgs returns arguments that every call refuses which refuses any.
func InvalidArgs() *Args {
	return &Args{CartID: "a/b", Options: &commerce.SubscriptionListOptions{PageSize: -1}, Path: []string{".."}}
}

// accounts is a sequence of one account.
func (a *Args) accounts() iter.Seq2[uuid.UUID, error] {
	return func(yield func(uuid.UUID, error) bool) { yield(a.AccountID, nil) }
}

// list is any list whose records have an id.
func (a *Args) list() commerce.OffsetList[record] {
	return commerce.OffsetList[record]{Path: a.Path, Query: a.Query, ID: func(r *record) string { return r.ID }}
}

type record struct{ ID string }

// expand replaces $added and $existing by the discounts in the JSON of the service, and other names by ids.
func (a *Args) expand(body string) string {
	added := a.Discount
	if len(a.Discounts) > 0 {
		d := &a.Discounts[0]
		added = commerce.CustomDiscount{
			ID: uuid.UUID{4}, Type: "custom_discount", Amount: commerce.Money{Amount: d.Amount}, Item: d.Item,
			Description: d.Description, DiscountCode: d.DiscountCode, DiscountEngine: d.DiscountEngine,
			ExternalID: d.ExternalID,
		}
	}
	existing := a.Discount
	existing.Type = "custom_discount"
	return strings.NewReplacer("$added-id", added.ID.String(), "$added", encode(added), "$existing", encode(existing),
		"$cart", a.CartID, "$subscription", a.SubscriptionID.String(), "$account", a.AccountID.String()).Replace(body)
}

func encode(d commerce.CustomDiscount) string {
	b, err := json.Marshal(d)
	if err != nil {
		panic(fmt.Sprint("calls: ", err))
	}
	return string(b)
}

// Responses returns the responses with which the call succeeds, one to each request.
func (c *Call) Responses(a *Args) []Response {
	list := make([]Response, len(c.responses))
	for i, r := range c.responses {
		list[i] = Response{Status: r.Status, Body: a.expand(r.Body)}
	}
	return list
}

// Outcome returns the outcome of a write, or OutcomeNone if the call is a read.
func (c *Call) Outcome(ofWrite commerce.Outcome) commerce.Outcome {
	if c.Write {
		return ofWrite
	}
	return commerce.OutcomeNone
}

// ResponseIn returns the Response of the result of a call, or nil.
func ResponseIn(result any) *commerce.Response {
	if resp, ok := result.(*commerce.Response); ok {
		return resp
	}
	v := reflect.Indirect(reflect.ValueOf(result))
	if v.Kind() != reflect.Struct || !v.FieldByName("Response").IsValid() {
		return nil
	}
	return v.FieldByName("Response").Interface().(*commerce.Response)
}

func respond(status int, body string) []Response { return []Response{{Status: status, Body: body}} }
