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
// WithTokenSource or WithToken. Send the account's token with [WithHeader], in the header
// EP-Account-Management-Authentication-Token.
//
// A call is one method call. It makes one or more attempts; each attempt is one HTTP request.
// A call that fails before it sends anything makes none. [Client.Do] calls any other endpoint
// of the service, under the same rules.
//
// # Discounts
//
// [CartService.AddCustomDiscounts] adds discounts to a cart or to its items. The request is
// not idempotent, and the service has no idempotency keys, so the library never sends it again once
// it may have been applied (see [RetryPolicy]). Each error states what is known: [OutcomeOf].
//
//	result, err := client.Carts.AddCustomDiscounts(ctx, cartID, discounts, nil)
//	switch commerce.OutcomeOf(err) {
//	case commerce.OutcomeApplied: // no error: all were added
//	case commerce.OutcomePartial: // see result.Added, Errors and Unconfirmed
//	case commerce.OutcomeNotSent, commerce.OutcomeRejected: // none was added
//	default: // unknown or unreadable: call EnsureCustomDiscounts
//	}
//
// If nothing was added, fix the cause and call again; after [ErrRateLimited], wait for
// [Error.RetryAfter] first, or for some time if that is 0. After OutcomePartial, do not send the
// whole batch again. docs/promises.md lists which responses have which outcome.
//
// [CartService.EnsureCustomDiscounts] makes sure that each wanted discount is on the cart exactly
// once. Call it with the same discounts after an unknown outcome or a crash, and before checkout.
// A cart whose discounts are as wanted costs one request, and adding costs three; the cart is
// read at most four times. If it cannot be read in full, the error is an [ErrBadResponse], and
// nothing is written. With Update and Prune, the cart has exactly the wanted discounts of their
// engines afterwards. The error has the StatusCode 0, and the RequestID, RetryAfter and Attempts
// of the last call that failed. If a service changes external ids, each call adds a copy, and
// ends in [ErrDifferent].
//
// # Subscriptions
//
// [SubscriptionService.List] reads one page. [SubscriptionService.All] and
// [SubscriptionService.Pages] read the whole list, with one call per page: this is called a
// walk. A walk misses no record and yields none twice while records are added and removed, as
// long as the order of the records that stay does not change.
//
//	for sub, err := range client.Subscriptions.All(ctx, nil) {
//		if err != nil {
//			return err // a *PagingError states where to resume
//		}
//		// …
//	}
//
// The highest offset is 10,000 and a page has at most 100 records, so a walk reads at most
// 10,100 records. [SubscriptionListOptions].Concurrency makes walks faster: the next pages are read
// while the caller works on the current one. Requests that are no longer needed are canceled.
// [Walk] walks any other list.
//
// Each page overlaps the one before by a record, or by more if the list changes. That shows how far
// the records moved. If a record moves from the part of the list that is still unread to the part
// that was read, the walk misses it; no client can detect that.
//
// A walk ends at a page that is not full, whose next link is null, and that leads on from the
// records before it. A store that returns an old page instead, or an empty page with a next link,
// ends the walk in [ErrNoProgress] or [ErrListDrift]. A missing next link does not prove the end,
// because a store may return fewer records than requested. Then one or two more requests confirm
// the end. If a store sends no links at all, and shortens pages near the end to one record, or to
// several lengths that it did not use before, the walk may end early without an error. Stubs in
// tests should send "links": {"next": null} with the last page, and respect page[offset].
//
// [SubscriptionService.AllByAccount] reads a store of any size. It asks for the subscriptions of
// many accounts at a time, in the order of accounts, and requests a page when it knows that the
// page exists, so Concurrency wastes no request. It needs about one request per 100 accounts and
// one per 90 subscriptions, and at least one per 150 accounts. If the store accepts fewer
// accounts in a filter, the walk uses fewer; an older store accepts one. Subscriptions of an
// account that is too large can be read in parts, with other filters. The walk waits until it has
// enough accounts for a request, and at its end until the sequence of accounts yields an id or
// returns, also if the context has ended.
//
// The service has two generations of payloads. In the first, subscriptions have products, and
// plans define how they are billed. In the second, plans have the fields of the products, and
// pricing options define how subscriptions are billed. A store uses one of them. Both decode
// into the same types; comments say which fields exist in one generation only. Members and
// values that the library does not know are kept.
//
// # Errors
//
// Arguments are checked before anything is sent; a [*ValidationError] lists all problems. Any
// other error of a call is an [*Error]. It holds the entries of the service's errors array,
// the HTTP status, the request id and the number of attempts. A walk wraps its error in a
// [*PagingError], which states where it stopped. Compare errors with the sentinels, such as
// [ErrNotFound], by [errors.Is].
//
// An error matches [context.Canceled] or [context.DeadlineExceeded] if and only if the
// caller's context ended the call. A timeout of an attempt does not match.
//
// # Retries and limits
//
// [RetryPolicy] states when a call is sent again, and after what wait. If the wait would be longer
// than its MaxBackoff, or last beyond the deadline of the context, the call returns the last
// response as an error instead. If you know the rate limit of the store, set it by [WithLimiter]:
// that is faster than learning it from 429s. A job that competes with many others for a store that
// sends Retry-After should also raise MaxAttempts.
//
// After a 429 with a Retry-After, all calls of the client wait for that time, at most MaxBackoff.
// After a 429 without it, or with one that asks for no wait, the calls of its operation wait for a
// moment (all calls of [Client.Do] are one operation, see [Error].Op). Then they pass one by one.
// At first the rate is that of the calls accepted in the last second, but 10 to 20 per second.
// Further 429s lower it, down to one call in 5 s, or in MaxBackoff if that is less. Calls that are
// accepted raise it. A minute after the last 429, calls no longer wait.
//
// A call waits for its turn as long as its context allows, as with a limiter. If its turn would
// come after its deadline, it fails with [ErrRateLimited] at once, and is not sent. Twelve refusals
// in a row show that the service accepts nothing: calls that wait fail, and only one at a time may
// wait, until one is accepted. Nothing else limits the number of calls that wait; each is a
// goroutine of the caller.
//
// Response bodies are limited to 32 MiB, and the bodies of errors to 1 MiB, after decompression.
// Redirects and links are never followed.
//
// A date in Retry-After counts by the Date of its response, so it does not matter whose clock is
// wrong. A 429 without a Retry-After, but with RateLimit-Reset or X-RateLimit-Reset, counts as one
// with it: they hold seconds or, if that would be more than a year, seconds since 1970. A 403 with
// Retry-After, or with a RateLimit-Remaining or X-RateLimit-Remaining of 0, matches
// [ErrRateLimited] too. It is not retried.
//
// # Transports
//
// After a connection error, a write is sent again only with proof that nothing was sent: the hooks
// of net/http/httptrace show it. Transports other than the library's own (see [WithHTTPClient]) may
// give no proof, and some do more harm:
//
//   - A write without a body, such as [CartService.DeleteCustomDiscounts], has no proof, also with
//     an [*http.Transport], because another transport may be registered in it.
//   - A transport that does not call these hooks, or reads the body before it requests a
//     connection, for example to sign it, gives no proof.
//   - If a transport sends a write on several connections at once, all copies may be applied. If it
//     calls the hooks, the outcome is never OutcomeRejected or OutcomeNotSent, and an add that the
//     service confirms is OutcomePartial, with the result: all may be on the cart a second time.
//   - A transport that copies the body and ignores cancellation cannot be stopped from sending a
//     write twice. A copy with another Host and User-Agent is not recognized.
//
// If a server sends a response twice, net/http takes the second one for the response to the next
// request on the connection: of 6,336 such writes, 12 were applied and had OutcomeRejected.
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
