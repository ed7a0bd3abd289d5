// Package subscriptionstate names the states of subscriptions.
package subscriptionstate

import "github.com/commerce-go/commerce"

// Names are what Of returns, besides a status that is new.
var Names = []string{"active", "inactive", "pending", "suspended", "paused", "canceled", "closed"}

// Of returns one word for the state of a subscription: the one of its flags that matters most,
// otherwise its status.
func Of(m *commerce.SubscriptionMeta) string {
	names := []string{"closed", "canceled", "paused", "suspended", "pending"}
	for i, is := range []bool{m.Closed, m.Canceled, m.Paused, m.Suspended, m.Pending} {
		if is {
			return names[i]
		}
	}
	return m.Status
}
