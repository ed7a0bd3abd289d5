// Package commercetest is a fake store for tests of programs that use package
// commerce. It runs in memory, speaks the HTTP of the service, keeps carts and
// subscriptions, and fails on demand.
//
//	func TestCheckout(t *testing.T) {
//		store := commercetest.NewStore(commercetest.Config{})
//		item := commerce.CartItemRef{Type: commerce.ItemTypeCartItem, ID: uuid.New()}
//		cartID := store.AddCart(item)
//
//		// What if the response is lost after the discounts were added?
//		store.Inject(commercetest.Fault{Operation: commercetest.OpAdd, Apply: true, Cut: true})
//
//		err := checkout(t.Context(), store.Client(), cartID) // the code under test
//		if !errors.Is(err, commerce.ErrOutcomeUnknown) {
//			t.Errorf("checkout() = %v, want an unknown outcome", err)
//		}
//		if got := len(store.Discounts(cartID)); got != 1 {
//			t.Errorf("the cart has %d discounts, want 1", got)
//		}
//	}
//
// There are three ways to send requests to a [Store], and the responses are the
// same:
//
//   - [Store.Client] and [Store.Transport] need no network and no goroutine. They
//     work inside a [testing/synctest] bubble, where delays and the expiry of
//     tokens take no real time.
//   - [Store.URL] starts a server on the loopback interface. Close it with
//     [Store.Close].
//   - Store implements [net/http.Handler].
//
// The endpoints are
//
//	POST /oauth/access_token                  client-credentials grant
//	POST /v2/carts/{cartID}/custom-discounts  add discounts, in bulk
//	GET  /v2/carts/{cartID}                   with include=custom_discounts
//	GET  /v2/subscriptions/subscriptions      list: filter, include, page[limit], page[offset]
//	GET  /v2/settings                         custom_discount_limit and page_length
//
// The service has sent two generations of the subscription payload, and the live
// service sends the second since August 2025. [Config.Generation] selects one.
// [Store.Seed] adds subscriptions that show every documented member of it.
//
// A [Fault] makes single requests fail. [Config] holds the rules for all requests:
// limits on discounts, a rate limit, and the lifetime of tokens. With
// [Config.AfterRequest] a test can change the list between the pages of a walk,
// that is, while a program reads the whole list page by page.
//
// The store has its own code for filters and validation and shares none with
// package commerce, so that each checks the other. It is deterministic: ids,
// tokens and request ids are numbered. Only [Request.Time], the expiry of tokens
// and the rate limit use the clock.
package commercetest
