// Package commerce is a client for Elastic Path Commerce Cloud. It adds custom discounts to
// carts, and lists subscriptions.
//
// # Client
//
// [New] makes a [Client] for a store. [Client.With] makes a copy with other options.
//
//	client, err := commerce.New("https://euwest.api.elasticpath.com",
//		commerce.WithClientCredentials(id, secret))
//
// Credentials are required: [WithClientCredentials], [WithTokenSource] or [WithToken].
// Adding discounts needs a client-credentials token. Listing subscriptions works with such a
// token, or with a shopper's: an implicit token (by WithTokenSource or WithToken) together
// with the header EP-Account-Management-Authentication-Token (by [WithHeader]) lists the
// subscriptions of that account.
//
// # Discounts
//
// [CartService.AddCustomDiscounts] adds discounts to a cart or to its items. The request is
// not idempotent, and the service has no idempotency keys. So the library never sends it
// again once it may have been applied, and each error says what is known: see [Outcome] and
// [Error.Outcome]. If only a part of a batch was added, the call returns both a result and an
// error that matches [ErrPartialFailure].
//
//	result, err := client.Carts.AddCustomDiscounts(ctx, cartID, discounts, nil)
//	switch commerce.OutcomeOf(err) {
//	case commerce.OutcomeApplied: // no error: all were added
//	case commerce.OutcomePartial: // see result.Added, Errors and Unconfirmed
//	case commerce.OutcomeNotSent, commerce.OutcomeRejected: // none was added
//	default: // unknown or unreadable: read the cart, send only what is missing
//	}
//
// The program in examples/add-discounts shows how to handle the last case.
//
// # Subscriptions
//
// [SubscriptionService.List] reads one page. [SubscriptionService.All] and
// [SubscriptionService.Pages] read the whole list: this is called a walk. A walk misses no
// record and yields none twice while records are added and removed, as long as their order is
// stable. It never ends silently before the end of the list: if it cannot continue, it ends
// in an error.
//
//	for sub, err := range client.Subscriptions.All(ctx, nil) {
//		if err != nil {
//			return err // a *PagingError says where to resume
//		}
//		// …
//	}
//
// A walk can read 10,100 records, the limit of the service's offsets. Read a larger store in
// parts, e.g. by account. [SubscriptionListOptions].Concurrency makes walks faster.
//
// The service has two generations of payloads. In the first, subscriptions have products, and
// plans say how they are billed. In the second, plans have the fields of the products, and
// pricing options say how subscriptions are billed. A store uses one of them. Both decode
// into the same types; comments say which fields exist in one generation only. Members and
// values that the library does not know are kept.
//
// # Errors
//
// Arguments are checked before anything is sent; a [*ValidationError] lists all problems. Any
// other error of a call is an [*Error]. It holds the entries of the service's errors array,
// the HTTP status, the request id and the number of attempts. A walk wraps its error in a
// [*PagingError], which says where it stopped. Compare errors with the sentinels, such as
// [ErrNotFound], by [errors.Is].
//
// An error matches [context.Canceled] or [context.DeadlineExceeded] if and only if the
// caller's context ended the call. A timeout of an attempt does not match.
//
// # Retries and limits
//
// Reads are retried after errors, up to [RetryPolicy].MaxAttempts, after a random backoff or
// the time in Retry-After. If the wait would be longer than [RetryPolicy].MaxBackoff or last
// beyond the deadline of the context, the call returns the last response as an error instead.
// After a 429 with a Retry-After, all calls of the client wait. [WithLimiter] sets a known
// rate limit, which is faster.
//
// Response bodies are limited to 32 MiB, and those of errors to 1 MiB, after decompression.
// Redirects and links are never followed.
//
// # Secrets
//
// The text of an error, a log event, and a [Client], an [Option] or a [Response] however it
// is printed, show no token, query value, body or error detail. Payloads are the caller's
// data and print as they are. The exception is [PaymentAuthority], which only JSON shows.
//
// # Testing
//
// Package commercetest has a fake store that runs in memory, also inside [testing/synctest].
// It fails on demand: a test can lose the response of a write, refuse calls at a rate, or
// change the list between two pages. [WithHTTPClient] takes any other transport.
//
// Runnable examples are in example_test.go and in the folder examples.
package commerce
