// Package commerce is a client for a commerce back end reached over HTTP with
// JSON. It adds custom discounts to carts in bulk, and lists and walks
// subscriptions.
//
// # Client
//
// [New] makes a [Client] for a store. It is immutable and safe for concurrent
// use; [Client.With] derives one with other settings.
//
//	client, err := commerce.New("https://euwest.api.elasticpath.com",
//		commerce.WithClientCredentials(id, secret))
//
// Credentials are required: [WithClientCredentials], [WithTokenSource] or
// [WithToken]. Adding discounts needs a client-credentials token. Listing
// subscriptions takes one too, or a shopper's: an implicit token, by WithTokenSource
// or WithToken, with the header EP-Account-Management-Authentication-Token, by
// [WithHeader], lists the subscriptions of that account.
//
// # Discounts
//
// [CartService.AddCustomDiscounts] adds discounts to a cart, or to its items.
// The call is not idempotent, and there is no key that would make it so.
// Therefore it is never sent again once it may have been applied, and every
// error tells what is known of it: see [Outcome] and [Error.Outcome]. A batch of
// which only a part was added returns a result and an error that matches
// [ErrPartialFailure].
//
//	result, err := client.Carts.AddCustomDiscounts(ctx, cartID, discounts, nil)
//	switch commerce.OutcomeOf(err) {
//	case commerce.OutcomeApplied: // no error: all were added
//	case commerce.OutcomePartial: // see result.Added, Errors and Unconfirmed
//	case commerce.OutcomeNotSent, commerce.OutcomeRejected: // none was added
//	default: // unknown or unreadable: read the cart, send only what is missing
//	}
//
// The program in examples/add-discounts does the last.
//
// # Subscriptions
//
// [SubscriptionService.List] reads one page, [SubscriptionService.Pages] and
// [SubscriptionService.All] walk the whole list. A walk loses no record and
// yields none twice while others are added and removed, as long as their order
// is stable; it ends in an error where the service's limits, or a list that
// changes its order, keep it from reading on. It never ends silently before the
// end of the list.
//
//	for sub, err := range client.Subscriptions.All(ctx, nil) {
//		if err != nil {
//			return err // a *PagingError, which tells where to go on, if not of the options
//		}
//		// …
//	}
//
// The next page is read while the loop works on the one in hand; with
// [SubscriptionListOptions].Concurrency several are. At most 10,100 records are
// within reach of the service's offsets: read a larger store in parts, e.g. by
// account.
//
// Two generations of payloads exist. The first has products, and plans that say
// how they are billed; the second has plans that are the products, and pricing
// options that say how they are billed. A store speaks one of them, and both are
// decoded into the same types; the fields say where they belong to one only.
//
// # Errors
//
// Arguments are checked before anything is sent; a [*ValidationError] names
// every fault. Every other failure of a call is an [*Error] with the entries of
// the service's errors array, the HTTP status, the request id and the attempts
// made. Errors of a walk are wrapped in a [*PagingError] that tells where it
// stopped. Test errors against the sentinels, such as [ErrNotFound], with
// [errors.Is].
//
// [context.Canceled] and [context.DeadlineExceeded] match if and only if the
// caller's context ended the call; a timeout of an attempt is not the caller's.
//
// # Retries and limits
//
// Reads are repeated after faults, up to [RetryPolicy].MaxAttempts, with
// jittered backoff and as Retry-After asks. A wait longer than
// [RetryPolicy].MaxBackoff, or beyond the deadline of the context, is not begun:
// the answer that asked for it is returned. A 429 with a Retry-After makes all
// calls of the client wait. [WithLimiter] keeps to a known rate, which is faster.
//
// Answers are read up to 32 MiB, those of errors up to 1 MiB, after
// decompression. Redirects and links are never followed.
//
// # Secrets
//
// No token, query value, body or error detail is in the text of an error, in a
// log event, or in any rendering of a [Client], an [Option] or a [Response]. Payloads
// are the caller's data and render as they are, except [PaymentAuthority], which only
// JSON shows.
//
// # Testing
//
// Package commercetest has a fake store that runs in memory, also inside
// [testing/synctest], and fails on demand: with it a test can lose the answer of a
// write, refuse at a rate, or change the list between two pages. A transport of
// one's own goes in with [WithHTTPClient].
//
// Runnable examples are in example_test.go and in the folder examples. The comments
// name the sections of the service's interface document that they follow; it is
// not part of the module.
package commerce
