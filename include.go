package commerce

import (
	"net/http"
	"reflect"
	"strings"
	"sync/atomic"

	"github.com/commerce-go/commerce/internal/transport"
)

// SubscriptionInclude selects related resources to return with the subscriptions. Find those
// of a subscription with [Included.PlanOf], [Included.BillingOf], [Included.PricingOptionOf] and
// [Included.ProductsOf].
//
// If you ask for an include of the other generation, the call may fail with [ErrBadRequest], or the
// store may ignore the include.
type SubscriptionInclude struct {
	Plans bool
	// Products exist in the first payload generation only.
	Products bool
	// PricingOptions exist in the second payload generation only.
	PricingOptions bool
	// All asks for everything that the store has: plans, and the products or the pricing options.
	// The other fields do not count then. The client asks for plans and pricing options. If the
	// store refuses that with a 400, the same call asks for plans and products. If that succeeds,
	// the client and its copies remember it, until a record has a pricing option. If that gets a
	// 400 too, the first one is the error. In a walk, only the first request finds this out.
	All bool
}

// text returns the value of the include parameter; "" if nothing is included. A resource is asked
// for by the name of its list in [Included].
func (i SubscriptionInclude) text() string {
	if i.All {
		i = allIncludes(false)
	}
	var names []string
	lists := reflect.TypeFor[Included]()
	for field, isAsked := range reflect.ValueOf(i).Fields() {
		if list, ok := lists.FieldByName(field.Name); ok && isAsked.Bool() {
			name, _, _ := strings.Cut(list.Tag.Get("json"), ",")
			names = append(names, name)
		}
	}
	return strings.Join(names, ",")
}

// allIncludes returns what All stands for in a store of the first payload generation, or of the
// second.
func allIncludes(isFirst bool) SubscriptionInclude {
	return SubscriptionInclude{Plans: true, Products: isFirst, PricingOptions: !isFirst}
}

// rememberedQuery remembers which of two queries a store accepts.
type rememberedQuery struct{ query atomic.Int32 } // its index

// swap remembers the other query, if n is the one that is remembered.
func (q *rememberedQuery) swap(n int32) bool { return q.query.CompareAndSwap(n, 1-n) }

// try makes a request with the query that is remembered, and with the other one if the store
// refuses that: its response is a 400, and isRefused accepts the body. If both are refused, it
// returns the first result.
func (q *rememberedQuery) try(
	queries [2]string, isRefused func(body []byte) bool, send func(query string) *transport.Result,
) *transport.Result {
	n := q.query.Load()
	r := send(queries[n])
	if r.StatusCode != http.StatusBadRequest || !isRefused(r.Body) {
		return r
	}
	other := send(queries[1-n])
	other.Attempts += r.Attempts
	if other.StatusCode == http.StatusBadRequest {
		r.Attempts = other.Attempts
		return r
	}
	if other.OK() {
		q.swap(n)
	}
	return other
}

// generation remembers which payload generation a store uses: the second, or, with index 1, the
// first, if it refused the includes of the second and accepted the includes of the first.
type generation struct{ rememberedQuery }

// includes returns what All stands for, as far as the client knows.
func (g *generation) includes() SubscriptionInclude { return allIncludes(g.query.Load() == 1) }
