// Package calls is the table of the public calls: the functions and methods of package commerce
// that send requests. Tests of what holds for every call run all of it. TestHouse_calls fails if
// a call has no row.
package calls

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"reflect"
	"strings"

	"github.com/google/uuid"

	"github.com/commerce-go/commerce"
)

// Transport is a function that is the transport of a client.
type Transport func(*http.Request) (*http.Response, error)

// RoundTrip calls f.
func (f Transport) RoundTrip(req *http.Request) (*http.Response, error) { return f(req) }

// Call is a public call.
type Call struct {
	// Name is the name in Go, after the field of the client that has the method: "Carts.Get". A
	// text in parentheses distinguishes two rows of one function.
	Name string
	// Op and Method are what an observer is told. The default of Op is Name without parentheses.
	// Method is empty if the call sends requests with several methods.
	Op, Method string

	Write      bool // otherwise a read
	Replayable bool // a write that may be sent again after any failure
	List       bool // it returns records
	TakesAll   bool // no arguments are invalid

	// Do makes the call. The result is nil if the call returns only an error.
	Do func(context.Context, *commerce.Client, *Args) (any, error)

	responses []Response // see Responses; their bodies have the names that expand replaces
}

// Response is a response to one request.
type Response struct {
	Status int
	Body   string
}

// Args are the arguments of all calls.
type Args struct {
	CartID                    string
	NewDiscount               commerce.NewCustomDiscount
	Discount                  commerce.CustomDiscount // to change
	SubscriptionID, AccountID uuid.UUID
	Options                   *commerce.SubscriptionListOptions
	Path                      []string // of Do and Walk, as is Query
	Query                     url.Values
	Body                      any // of a write by Do
}

// NewArgs returns valid arguments.
func NewArgs() *Args {
	return &Args{
		CartID: "0a8d0b6c-cart",
		NewDiscount: commerce.NewCustomDiscount{
			Amount: commerce.NewDecimal(-1000), Description: "ten off", DiscountCode: "TEN",
			DiscountEngine: "engine", ExternalID: "a",
		},
		Discount: commerce.CustomDiscount{
			ID: uuid.UUID{1}, Amount: commerce.Money{Amount: commerce.NewDecimal(-500)},
		},
		SubscriptionID: uuid.UUID{2},
		AccountID:      uuid.UUID{3},
		Path:           []string{"v2", "other"},
	}
}

// InvalidArgs returns arguments that every call refuses, unless it takes all.
func InvalidArgs() *Args {
	options := &commerce.SubscriptionListOptions{PageSize: -1}
	return &Args{CartID: "a/b", Options: options, Path: []string{".."}}
}

// list is any list whose records have an id.
func (a *Args) list() commerce.OffsetList[record] {
	return commerce.OffsetList[record]{Path: a.Path, Query: a.Query, ID: func(r *record) string { return r.ID }}
}

type record struct{ ID string }

// expand replaces $added and $existing by discounts as JSON, and the other names by ids.
func (a *Args) expand(body string) string {
	d := &a.NewDiscount
	added := commerce.CustomDiscount{
		ID: uuid.UUID{4}, Type: "custom_discount", Amount: commerce.Money{Amount: d.Amount},
		Description: d.Description, DiscountCode: d.DiscountCode, DiscountEngine: d.DiscountEngine,
		ExternalID: d.ExternalID,
	}
	existing := a.Discount
	existing.Type = "custom_discount"
	return strings.NewReplacer(
		"$cart", a.CartID, "$subscription", a.SubscriptionID.String(), "$account", a.AccountID.String(),
		"$added-id", added.ID.String(), "$added", encode(added), "$existing", encode(existing),
	).Replace(body)
}

func encode(d commerce.CustomDiscount) string {
	b, err := json.Marshal(d)
	if err != nil {
		panic(err)
	}
	return string(b)
}

// Responses returns the responses with which the call succeeds, one to each request. A list has
// one record.
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
