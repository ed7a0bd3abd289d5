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
// [CartService.SetCustomDiscounts] gives a cart the discounts that a function returns for it, each
// exactly once. Call it whenever the cart or the offers change, after an error or a crash, and
// before the payment. [CartService.EnsureCustomDiscounts] does that for a list of discounts, with
// options. A cart takes custom discounts only after they were enabled for it: SetCustomDiscounts
// and the option Enable do it. Enabling custom discounts may end the promotions of the store on the
// cart.
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
// [Outcome] says what to do after each; docs/promises.md lists which responses have which.
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
// An offset reaches 10,100 records. Beyond them, All and Pages go on by account, like
// [SubscriptionService.AllByAccount]: about one request lists 100 accounts, and one reads 90
// subscriptions, of at most 150 accounts. [Walk] walks any other list, up to the limit.
// With [SubscriptionListOptions].Concurrency, a walk reads several pages at a time.
//
// Each page overlaps the one before by a record, or by more if the list changes. That shows how far
// the records moved. If a record moves from the part of the list that is still unread to the part
// that was read, the walk misses it; no client can detect that.
//
// A walk ends at a page that is not full, whose next link is null, and that leads on from the
// records before it. A store that returns an old page instead, or an empty page with a next link,
// ends the walk in [ErrNoProgress] or [ErrListDrift]; a page with a record twice is read again,
// and then ends it in [ErrBadResponse]. A missing next link does not prove the end, because a
// store may return fewer records than requested. Then one or two more requests confirm the end. If
// a store sends no links at all, and shortens pages near the end to one record, or to several
// lengths that it did not use before, or if a shortened page states that it is the last, the walk
// may end early without an error. Stubs in tests should send "links": {"next": null} with the last
// page, and respect page[offset].
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
// other error of a call is an [*Error]; a walk wraps it in a [*PagingError]. Compare errors with
// the sentinels, such as [ErrNotFound], by [errors.Is].
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
// The rate is that of the calls accepted in the last second, at first at least 10 per second. If
// the next call is refused too, only the wait gets longer, up to 5 s, or MaxBackoff if that is
// less. Calls that are accepted raise the rate. A minute after the last 429, calls that come do not
// wait, unless others still do.
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
// of net/http/httptrace show it. Without proof, its outcome is OutcomeUnknown instead of
// OutcomeNotSent. Transports other than the library's own (see [WithHTTPClient]) may give no proof,
// and some do more harm:
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
// print as they are, except [PaymentAuthority].
//
// # Observation
//
// [WithObserver] is for traces and metrics, [WithLogger] for logs.
//
// # Testing
//
// Package commercetest has a fake store that runs in memory, also inside [testing/synctest].
// It fails on demand. [WithHTTPClient] takes any other transport. Do not write to carts through the
// library's own transport in a bubble of testing/synctest: all its clients of a process share the
// turns of a cart.
//
// Runnable examples are in example_test.go and in the folder examples.
package commerce
