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
// token too. It also works for a shopper, who sees only the subscriptions of one account. Pass
// an implicit token, which the service issues for a client id without a secret, by
// WithTokenSource or WithToken. Pass the token of the account in the header
// EP-Account-Management-Authentication-Token, by [WithHeader].
//
// A call is one method call. It makes one or more attempts; each attempt is one HTTP request.
// A call that fails before it sends anything makes none. [Client.Do] calls any other endpoint
// of the service, under the same rules.
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
//	default: // unknown or unreadable: call EnsureCustomDiscounts
//	}
//
// [CartService.EnsureCustomDiscounts] makes sure that each wanted discount is on the cart
// exactly once. It reads the cart, writes only what differs, and reads again. Call it after
// an unknown outcome or a crash, and before checkout.
//
// # Subscriptions
//
// [SubscriptionService.List] reads one page. [SubscriptionService.All] and
// [SubscriptionService.Pages] read the whole list, with one call per page: this is called a
// walk. A walk misses no record and yields none twice while records are added and removed, as
// long as their order is stable. If the store sends next links, a walk never ends silently
// before the end of the list: if it cannot continue, it ends in an error. See All for stores
// that send none.
//
//	for sub, err := range client.Subscriptions.All(ctx, nil) {
//		if err != nil {
//			return err // a *PagingError says where to resume
//		}
//		// …
//	}
//
// The highest offset is 10,000 and a page has at most 100 records, so a walk reads at most
// 10,100 records. [SubscriptionService.AllByAccount] reads a store of any size.
// [SubscriptionListOptions].Concurrency makes walks faster. [Walk] walks any other list.
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
// Reads are retried after errors (see [RetryPolicy]), up to [RetryPolicy].MaxAttempts, after a
// random backoff or the time in Retry-After. If the wait would be longer than
// [RetryPolicy].MaxBackoff or last beyond the deadline of the context, the call returns the
// last response as an error instead. After a 429 with a Retry-After, all calls of the client
// wait. After one without it, only the calls of that operation wait, at a rate that the client
// learns from further 429s. If you know the rate limit of the store, set it by [WithLimiter],
// which has the documented limits: that is faster.
//
// Response bodies are limited to 32 MiB, and those of errors to 1 MiB, after decompression.
// Redirects and links are never followed.
//
// # Secrets
//
// Errors and log events show no token, query value, body or error detail. Nor does a
// [Client], an [Option] or a [Response] when it is printed. Payloads are the caller's data and
// print as they are. The exception is [PaymentAuthority]: it prints as REDACTED, and only its
// JSON has the values.
//
// # Observation
//
// [WithObserver] tells an [Observer] about each call, each attempt and the waits between them.
// The module github.com/commerce-go/commerce/otelcommerce has one for OpenTelemetry.
// [WithLogger] logs attempts and retries.
//
// # Testing
//
// Package commercetest has a fake store that runs in memory, also inside [testing/synctest].
// It fails on demand: a test can lose the response of a write, refuse calls at a rate, or
// change the list between two pages. [WithHTTPClient] takes any other transport.
//
// Runnable examples are in example_test.go and in the folder examples.
package commerce
