// Package commercetest is a fake store for tests of programs that use package
// commerce. It runs in memory, speaks the HTTP of the service, keeps carts and
// subscriptions, and fails on demand.
//
//	func TestCheckout(t *testing.T) {
//		// Of two writes to a cart that overlap, the service may lose one. So does this store.
//		store := commercetest.New(t, commercetest.Config{LoseOverlappingWrites: true})
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
//     tokens take no real time.
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
//	POST   /v2/carts/{cartID}/items                              a cart_item or a custom_item
//	GET    /v2/carts/{cartID}/items                              include=custom_discounts
//	PUT    /v2/carts/{cartID}/items/{itemID}                     quantity
//	DELETE /v2/carts/{cartID}/items/{itemID}
//	POST   /v2/carts/{cartID}/custom-discounts                   an array of discounts, or one
//	DELETE /v2/carts/{cartID}/custom-discounts                   not those of items
//	PUT    /v2/carts/{cartID}/custom-discounts/{id}
//	DELETE /v2/carts/{cartID}/custom-discounts/{id}
//	POST   /v2/carts/{cartID}/items/{itemID}/custom-discounts    one discount
//	PUT    /v2/carts/{cartID}/items/{itemID}/custom-discounts/{id}
//	DELETE /v2/carts/{cartID}/items/{itemID}/custom-discounts/{id}
//	GET    /v2/subscriptions/subscriptions                       filter, include, page[limit], page[offset]
//	GET    /v2/subscriptions/subscriptions/{id}                  include
//	GET    /v2/subscriptions/subscriptions/{id}/plans            also /products or /pricing_options
//	GET    /v2/subscriptions/subscriptions/{id}/states
//	POST   /v2/subscriptions/subscriptions/{id}/states           cancel, pause, resume
//	GET    /v2/subscriptions/subscriptions/{id}/states/{state}
//	GET    /v2/subscriptions/subscribers                         filter, page[limit], page[offset]
//	GET    /v2/subscriptions/invoices                            page[limit], page[offset]
//	GET    /v2/accounts                                          filter and sort by id, page[limit], page[offset]
//	GET    /v2/settings                                          custom_discount_limit and page_length
//	GET    /v2/settings/cart                                     custom_discounts_enabled of new carts
//	PUT    /v2/settings/cart                                     custom_discounts_enabled of new carts
//
// and those of [Store.Handle].
//
// Like the service, the store has no unknown carts: an id that no cart has reads
// as an empty cart, and so does a cart that was deleted, or that has not changed
// for 7 days. Reading such a cart creates it, so that [Store.Carts] lists it. An
// empty cart accepts no discounts. The service documents no response to that; the
// store sends a 422 with the title "Cart is empty". A cart that a request created
// accepts discounts only if they were enabled, by PUT /v2/settings/cart before,
// or for the cart. Carts of [Store.AddCart] accept them.
//
// A token of the implicit grant is that of a shopper. It needs no client secret. With it, all
// requests about carts and items are allowed, and reads of settings; requests about
// subscriptions need the token of an account ([Store.AccountToken]) in the header
// EP-Account-Management-Authentication-Token, and see only the subscriptions of that account;
// another one is a 404. The documentation says that adding discounts needs a client-credentials
// token, but not the status of the refusal. The store sends a 403 to every write of discounts and
// settings, to the lists of accounts, subscribers and invoices, and if the token of an account is
// missing or not valid. With a client-credentials token it ignores the header.
//
// The service has sent two generations of the subscription payload, and the live
// service sends the second since August 2025. [Config.Generation] selects one.
// [Store.Seed] adds subscriptions that show every documented member of it.
//
// A filter of the list has up to 10 conditions eq(field,value) or in(field,value,…) on
// account_id, name, email and external_ref, joined by colons. A value may be in quotes,
// also within in: the documentation shows that for eq only. A repeated parameter filter gets
// a 400. The documentation limits a request to 8 KB; a longer request line gets a 414.
//
// The list of accounts has those of [Store.Seed], [Store.AddSubscription] and
// [Store.AddAccount]. Its filter has up to 10 conditions eq, lt, le, gt, ge or in on id,
// and it can be sorted by id or -id. Without sort, its order is that in which the accounts
// were added, which is not the order of their ids. All else in the query gets a 400, also
// the other filters and orders of the service.
//
// A POST of a state changes the flags and the timestamps of the subscription, and its
// state is the new one. A canceled subscription stays active. In the second generation, it is
// closed and inactive if the request sets cancel_immediately, or if it was pending. A store's
// token may do everything, and its resume undoes a cancellation. A shopper may not set
// cancel_immediately (403), pause without can_pause, or resume without can_resume or what dunning
// or nobody paused (422). Only a store's token sees paused_by. The first generation has no such
// rules.
//
// The lists of subscribers and invoices have the shape of other lists; what the service sends in
// them is not documented in full.
//
// A [Fault] makes single requests fail. [Config] holds the rules for all requests: limits on
// discounts, a rate limit, the lifetime of tokens, the links and the length of pages, and whether
// concurrent writes to one cart undo each other. Other methods change carts and subscriptions
// without a request, for example [Store.RemoveDiscount]. With [Config.AfterRequest] a test can
// change the list between the pages of a walk, that is, while a program reads the whole list page
// by page. [NewLocker] makes a lock for tests of several clients.
//
// The store has its own code for filters and validation and shares none with
// package commerce, so that each checks the other. It is deterministic: ids,
// tokens and request ids are numbered. Only [Request.Time], the timestamps and the
// expiry of carts, the timestamps of new states, the expiry of tokens and the rate limit
// use the clock.
package commercetest
