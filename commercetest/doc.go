// Package commercetest is a store in memory, to test programs against that use
// package commerce. It speaks the service's HTTP, keeps carts and subscriptions,
// and fails on demand.
//
//	func TestCheckout(t *testing.T) {
//		store := commercetest.NewStore(commercetest.Config{})
//		item := commerce.CartItemRef{Type: commerce.ItemTypeCartItem, ID: uuid.New()}
//		cartID := store.AddCart(item)
//
//		// What if the answer is lost after the discounts were added?
//		store.Inject(commercetest.Fault{Operation: commercetest.OpAdd, Apply: true, Cut: true})
//
//		err := checkout(t.Context(), store.Client(), cartID) // the code under test
//		if !errors.Is(err, commerce.ErrOutcomeUnknown) {
//			t.Errorf("checkout: %v, want an unknown outcome", err)
//		}
//		if got := len(store.Discounts(cartID)); got != 1 {
//			t.Errorf("%d discounts in the cart, want 1", got)
//		}
//	}
//
// [Store.Client] and [Store.Transport] need no network and no goroutine, and work
// inside a [testing/synctest] bubble, where delays and the expiry of tokens take
// no time. [Store.URL] serves the same store on the loopback interface; close it
// with [Store.Close].
//
// [Store] is an [net/http.Handler] too. Whichever way a request comes, the answer
// is the same.
//
// The endpoints are
//
//	POST /oauth/access_token                  client-credentials grant
//	POST /v2/carts/{cartID}/custom-discounts  specification, section 4.1
//	GET  /v2/carts/{cartID}                   with include=custom_discounts
//	GET  /v2/subscriptions/subscriptions      specification, section 4.2
//	GET  /v2/settings                         custom_discount_limit and page_length
//
// in the payload of [Config.Generation]. The first is that of the specification,
// the second what the live service sends since August 2025. [Store.Seed] shows each
// documented member of either.
//
// [Fault] scripts go wrong with single requests. [Config] has what concerns all of
// them: limits on discounts, a rate limit, the life of tokens, and
// [Config.AfterRequest], which can change the list between the pages of a walk.
//
// The store shares neither filter nor validation code with package commerce, so
// that the two check each other. Nothing in it is random: ids, tokens and request
// ids are counted, and only [Request.Time], the expiry of tokens and the rate
// limit look at the clock.
package commercetest
