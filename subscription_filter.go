package commerce

import (
	"errors"
	"slices"
	"unicode/utf8"

	"github.com/google/uuid"

	"github.com/commerce-go/commerce/internal/wire"
)

// SubscriptionFilter selects subscriptions. In each field that is not nil, a subscription must have
// one of the values. nil does not filter. It is also what append returns for no values, and what
// r.Form["email"] is if a form has no such field, which would list the subscriptions of everybody:
// use []string{r.FormValue("email")}. An empty text and a zero UUID in a slice are a
// [*ValidationError], and so is an empty slice that is not nil.
//
// If the first line of a request would have more than 6,000 bytes, the filter is a
// [*ValidationError] too: gateways refuse longer lines, often from 8 KB on. About 150 accounts fit
// in a line. For more, call All with parts of them, as in docs/recipes.md.
//
// If the store ignores the filter on accounts, a subscription of another account ends the call or
// the walk in [ErrBadResponse]. A subscription without a readable account_id is taken for one that
// was asked for. With a shopper's token, the store may list the shopper's own account whatever is
// asked for. Filters on the name, the e-mail address and external_ref cannot be checked.
//
// A store older than April 2026 may refuse several values of a field, with an error that matches
// [ErrBadRequest].
type SubscriptionFilter struct {
	// AccountIDs of the accounts that own the subscriptions.
	AccountIDs []uuid.UUID
	// Names and Emails belong to the subscriber. ExternalRefs are the store's own references, see
	// [SubscriptionAttributes]. They are compared with the whole text. Any text is safe. Of several
	// texts, those with other characters than letters, digits and -_.@ are sent in quotes. The
	// documentation does not say whether that works in a list.
	Names, Emails, ExternalRefs []string
}

// check returns a copy of f, and adds its problems.
func (f *SubscriptionFilter) check(problems *ValidationError) SubscriptionFilter {
	for _, c := range f.conditions() {
		switch field := "filter." + c.Field; {
		case c.Values != nil && len(c.Values) == 0:
			problems.add(field, "must have a value; nil does not filter")
		case slices.Contains(c.Values, ""):
			problems.add(field, "must not have an empty text or the zero UUID")
		case slices.ContainsFunc(c.Values, func(s string) bool { return !utf8.ValidString(s) }):
			problems.add(field, "must be valid UTF-8")
		}
	}
	c := *f
	c.AccountIDs, c.Names = slices.Clone(f.AccountIDs), slices.Clone(f.Names)
	c.Emails, c.ExternalRefs = slices.Clone(f.Emails), slices.Clone(f.ExternalRefs)
	return c
}

// text returns the filter in the service's grammar, not yet percent-encoded; "" if it does
// not filter.
func (f *SubscriptionFilter) text() string { return wire.Filter(f.conditions()) }

// errFilterIgnored is the cause of an ErrBadResponse. It names no account: none of them is the
// cause.
var errFilterIgnored = errors.New("the store ignored the filter: a subscription belongs to an account that was not " +
	"asked for; with a shopper's token, the store may always list the shopper's own account")

// checkAccounts returns an error if a subscription belongs to an account that f does not select.
// One whose account cannot be read may belong to any.
func (f *SubscriptionFilter) checkAccounts(subs []Subscription) error {
	for i := range subs {
		id := subs[i].Attributes.AccountID
		if len(f.AccountIDs) > 0 && id != uuid.Nil && !slices.Contains(f.AccountIDs, id) {
			return errFilterIgnored
		}
	}
	return nil
}

// conditions returns what f demands. The values of a field are nil if it does not filter. The zero
// UUID is "".
func (f *SubscriptionFilter) conditions() []wire.Condition {
	var accounts []string
	if f.AccountIDs != nil {
		accounts = make([]string, len(f.AccountIDs))
	}
	for i, id := range f.AccountIDs {
		if id != uuid.Nil {
			accounts[i] = id.String()
		}
	}
	return []wire.Condition{
		{Field: "account_id", Values: accounts},
		{Field: "name", Values: f.Names},
		{Field: "email", Values: f.Emails},
		{Field: "external_ref", Values: f.ExternalRefs},
	}
}
