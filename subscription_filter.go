package commerce

import (
	"errors"
	"slices"
	"unicode/utf8"

	"github.com/google/uuid"

	"github.com/commerce-go/commerce/internal/wire"
)

// SubscriptionFilter selects subscriptions. A subscription must match all fields. Fields that
// are zero do not filter. If the first line of a request would have more than 6,000 bytes, the
// filter is a [*ValidationError]: gateways refuse longer lines, often from 8 KB on. About 150
// accounts fit in a line. [SubscriptionService.AllByAccount] takes any number of them.
//
// If the store ignores the filter on accounts, a subscription of another account ends the call or
// the walk in [ErrBadResponse]. A subscription without a readable account_id is taken for one that
// was asked for. With a shopper's token, the store may list the shopper's own account whatever is
// asked for. Filters on the name, the e-mail address and external_ref cannot be checked.
type SubscriptionFilter struct {
	// AccountID of the account that owns the subscription. The zero UUID does not filter: check
	// that an id is not zero before you set it, or you list the whole store.
	AccountID uuid.UUID
	// Name and Email belong to the subscriber. ExternalRef is the store's own reference,
	// see [SubscriptionAttributes]. A subscription must have exactly this text. Any text is
	// safe.
	Name, Email, ExternalRef string

	// AccountIDs match the subscriptions of any of these accounts. At most one of AccountID
	// and AccountIDs may be set.
	//
	// A nil slice does not filter. An empty slice that is not nil is a [*ValidationError], and
	// so is a zero UUID or an empty text in a slice. A store older than April 2026 may refuse
	// a filter with several values, with an error that matches [ErrBadRequest].
	AccountIDs []uuid.UUID
	// Names, Emails and ExternalRefs match any of their texts, under the rules of AccountIDs.
	// Texts with other characters than letters, digits and -_.@ are sent in quotes. The
	// documentation does not say whether that works in a list.
	Names, Emails, ExternalRefs []string
}

// check returns a copy of f, and adds its problems.
func (f *SubscriptionFilter) check(problems *ValidationError) SubscriptionFilter {
	c := *f
	c.AccountIDs, c.Names = slices.Clone(f.AccountIDs), slices.Clone(f.Names)
	c.Emails, c.ExternalRefs = slices.Clone(f.Emails), slices.Clone(f.ExternalRefs)
	checkValues(problems, "filter.account_id", c.AccountID, c.AccountIDs)
	checkValues(problems, "filter.name", c.Name, c.Names)
	checkValues(problems, "filter.email", c.Email, c.Emails)
	checkValues(problems, "filter.external_ref", c.ExternalRef, c.ExternalRefs)
	for _, condition := range c.conditions() {
		if slices.ContainsFunc(condition.Values, func(s string) bool { return !utf8.ValidString(s) }) {
			problems.add("filter."+condition.Field, "must be valid UTF-8")
		}
	}
	return c
}

// checkValues checks a field that can be compared with one value or with several.
func checkValues[T comparable](problems *ValidationError, field string, one T, several []T) {
	var zero T
	switch {
	case several == nil:
	case len(several) == 0:
		problems.add(field, "must have a value in the list; a nil list does not filter")
	case slices.Contains(several, zero):
		problems.add(field, "must not have a zero value in the list")
	case one != zero:
		problems.add(field, "must be one value or a list, not both")
	}
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
	accounts := f.accounts()
	for i := range subs {
		id := subs[i].Attributes.AccountID
		if len(accounts) > 0 && id != uuid.Nil && !slices.Contains(accounts, id) {
			return errFilterIgnored
		}
	}
	return nil
}

// accounts returns the accounts that f selects; none if it selects by other fields only.
func (f *SubscriptionFilter) accounts() []uuid.UUID {
	if f.AccountID != uuid.Nil {
		return []uuid.UUID{f.AccountID}
	}
	return f.AccountIDs
}

func (f *SubscriptionFilter) conditions() []wire.Condition {
	accounts := f.accounts()
	ids := make([]string, len(accounts))
	for i, id := range accounts {
		ids[i] = id.String()
	}
	texts := func(field, one string, several []string) wire.Condition {
		if one != "" {
			several = []string{one}
		}
		return wire.Condition{Field: field, Values: several}
	}
	return []wire.Condition{
		{Field: "account_id", Values: ids},
		texts("name", f.Name, f.Names),
		texts("email", f.Email, f.Emails),
		texts("external_ref", f.ExternalRef, f.ExternalRefs),
	}
}
