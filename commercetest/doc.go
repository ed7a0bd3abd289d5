// Package commercetest is a fake store for tests of programs that use package
// commerce. It runs in memory, speaks the HTTP of the service, keeps carts, orders
// and subscriptions, and fails on demand.
//
//	func TestCheckout(t *testing.T) {
//		// Of two writes to a cart that overlap, the service may lose one. So does this store.
//		store := commercetest.New(t, commercetest.Config{LoseOverlappingWrites: true, DiscountsEnabled: true})
//		cartID := store.AddCart(commerce.CartItemRef{}) // a cart with one item
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
//     tokens take no real time. If one transport writes to one cart in two bubbles
//     at a time, the test ends in a fatal error of the runtime.
//   - [Store.URL] starts a server on the loopback interface. Close it with
//     [Store.Close], or use [New].
//   - Store implements [net/http.Handler].
//
// The endpoints are
//
//	POST   /oauth/access_token                                   client_credentials, implicit
//	POST   /v2/carts                                             name, discount_settings
//	GET    /v2/carts/{cartID}                                    include=items,custom_discounts
//	PUT    /v2/carts/{cartID}                                    name, discount_settings
//	DELETE /v2/carts/{cartID}
//	POST   /v2/carts/{cartID}/items                              a cart_item, a custom_item or a promotion_item
//	GET    /v2/carts/{cartID}/items                              include=custom_discounts
//	DELETE /v2/carts/{cartID}/items                              all of them
//	PUT    /v2/carts/{cartID}/items/{itemID}                     quantity
//	DELETE /v2/carts/{cartID}/items/{itemID}
//	POST   /v2/carts/{cartID}/custom-discounts                   an array of discounts, or one
//	DELETE /v2/carts/{cartID}/custom-discounts                   not the discounts of items
//	PUT    /v2/carts/{cartID}/custom-discounts/{id}
//	DELETE /v2/carts/{cartID}/custom-discounts/{id}
//	POST   /v2/carts/{cartID}/items/{itemID}/custom-discounts    one discount
//	PUT    /v2/carts/{cartID}/items/{itemID}/custom-discounts/{id}
//	DELETE /v2/carts/{cartID}/items/{itemID}/custom-discounts/{id}
//	POST   /v2/carts/{cartID}/checkout                           makes an order; the cart stays
//	GET    /v2/orders                                            filter, page[limit], page[offset]
//	GET    /v2/orders/{id}                                       include=custom_discounts
//	GET    /v2/subscriptions/subscriptions                       filter, include, page[limit], page[offset]
//	GET    /v2/subscriptions/subscriptions/{id}                  include
//	GET    /v2/subscriptions/subscriptions/{id}/plans
//	GET    /v2/subscriptions/subscriptions/{id}/products         the first generation
//	GET    /v2/subscriptions/subscriptions/{id}/pricing-options  the second generation
//	GET    /v2/subscriptions/subscriptions/{id}/features         the second generation
//	GET    /v2/subscriptions/subscriptions/{id}/states
//	POST   /v2/subscriptions/subscriptions/{id}/states           cancel, pause, resume, pending
//	GET    /v2/subscriptions/subscriptions/{id}/states/{state}
//	GET    /v2/subscriptions/subscribers                         filter, page[limit], page[offset]
//	GET    /v2/subscriptions/invoices                            filter, page[limit], page[offset]
//	GET    /v2/accounts                                          filter and sort by id, page[limit], page[offset]
//	GET    /v2/currencies                                        page[limit], page[offset]
//	GET    /v2/settings                                          custom_discount_limit and page_length
//	GET    /v2/settings/cart                                     settings of new carts
//	PUT    /v2/settings/cart                                     settings of new carts
//
// and the endpoints of [Store.Handle].
//
// The store does what the service does, as far as its documentation shows. docs/service.md in the
// repository lists these facts, how sure each is, and what the store does where the documentation
// leaves something open. Tests meet these first:
//
//   - No cart is unknown. An id that no cart has reads as an empty cart, and reading it creates
//     the cart, so that [Store.Carts] lists it.
//   - An empty cart accepts no discounts. Any other accepts them only if they were enabled: by
//     [commerce.CartService.EnableCustomDiscounts] for the cart, by PUT /v2/settings/cart before it
//     was created, by [Config.DiscountsEnabled], or by [Store.EnableDiscounts].
//   - A cart can be checked out any number of times. Each checkout is an order, which nobody pays:
//     [Store.Orders] returns them.
//   - Lists of a cart that are empty are missing, or null: see [EmptyLists].
//   - A token of the implicit grant is a shopper's. It allows requests about carts and items, and
//     reads of settings. With the token of an account ([Store.AccountToken]) in the header
//     EP-Account-Management-Authentication-Token, it also allows requests about the subscriptions
//     of this account, and no others exist for it. All other requests get a 403.
//   - The live service sends the second generation of the subscription payload.
//     [Config.Generation] selects the first. [Store.Seed] adds subscriptions that show every
//     documented member.
//   - A filter that the store does not know gets a 400, and so does an include of subscriptions
//     or a sort order of accounts.
//   - A canceled subscription stays active, unless it was pending or the request set
//     cancel_immediately: then it is inactive, but not closed, see [Config.CloseAtOnce]. These
//     rules, and what a shopper may do, belong to the second generation.
//   - A resume does not change the status of a subscription: the next billing run does, and the
//     store has none. A test changes the status with [Store.UpdateSubscription].
//
// Lists of accounts are in the order in which the accounts were added, unless the request sorts
// them. Subscribers and invoices have the members that are required, and few others. The currencies
// are EUR, GBP, USD (the default), JPY without decimal places, and KWD with three.
//
// A [Fault] makes single requests fail. [Config] holds the rules for all requests: limits on
// discounts, a rate limit, the lifetime of tokens, the links and the length of pages, and whether
// concurrent writes to one cart undo each other. Other methods change carts and subscriptions
// without a request, for example [Store.AddCartFixture] and [Store.RemoveDiscount]. With
// [Config.AfterRequest] a test can change the list between the pages of a walk, that is, while a
// program reads the whole list page by page. [NewLocker] makes a lock for tests of several
// clients.
//
// The store has its own code for filters and validation and shares none with
// package commerce, so that each checks the other. It is deterministic: ids,
// tokens and request ids are numbered. Only [Request.Time], the timestamps and the
// expiry of carts, the timestamps of new states, the expiry of tokens and the rate limit
// use the clock.
package commercetest
