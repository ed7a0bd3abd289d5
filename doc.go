// Package commerce is a client for Elastic Path Commerce Cloud. It does two jobs: it puts custom
// discounts on carts, and it reads all subscriptions of a store.
//
// [New] makes a [Client], with the credentials of a store: [WithClientCredentials],
// [WithTokenSource] or [WithToken]. Make one and keep it: clients do not change, and are safe for
// concurrent use. A call is one call of a method. Its HTTP requests are attempts: a call that fails
// early makes none. [RetryPolicy] states when a call is sent again.
//
// # Discounts
//
// [CartService.SetCustomDiscounts] gives a cart the discounts that a function returns for it, each
// exactly once, unless a request of an earlier call is still on its way. Such a request may add a
// copy, which the next call deletes. Therefore call it whenever the cart or the offers change,
// after an error or a crash, and before the payment. [CartService.EnsureCustomDiscounts] adds those
// discounts of a list that the cart lacks. With options, it also changes and deletes discounts.
//
// [CartService.AddCustomDiscounts] sends one request, which is not idempotent. It is never sent
// again once it may have been applied; the [Outcome] of an error states what is known, and what to
// do.
//
// # Subscriptions
//
// [SubscriptionService.All] and [SubscriptionService.Pages] walk the whole list, with one request
// for each page. A walk misses no record and yields none twice while records are added and removed,
// as long as the order of the records that stay does not change. [SubscriptionService.List] reads
// one page, and [Walk] walks any other list.
//
// The service has two generations of payloads, with products or with pricing options. Both decode
// into the same types. Unknown members and values are kept.
//
// # Errors
//
// Arguments are checked before anything is sent; a [*ValidationError] lists all problems. Any other
// error of a call is an [*Error]; a walk wraps it in a [*PagingError]. Compare errors with the
// sentinels, such as [ErrNotFound], by [errors.Is].
//
// Errors, log events, clients and options show no token, query value, body or error detail.
// Payloads are the caller's data and print as they are, except [PaymentAuthority].
//
// # Testing
//
// Package commercetest has a fake store, which runs in memory and fails on demand. Runnable
// examples are in example_test.go and in the folder examples.
package commerce
