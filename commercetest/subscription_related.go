package commercetest

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"

	"github.com/google/uuid"
)

// listSubscribers handles GET /v2/subscriptions/subscribers: the accounts with a [Subscriber], in
// the order of their ids.
func (s *Store) listSubscribers(in *call) response {
	created := timestamp(seedStart)
	return listOf(s, in, func(conditions []condition) (all []any) {
		for _, account := range s.accounts.sorted {
			who, ok := s.subscribers[account]
			attributes := map[string]string{
				"account_id": account.String(), "name": who.Name, "email": who.Email, "external_ref": "account-" + account.String(),
				"created_at": created, "updated_at": created,
			}
			isNot := func(c condition) bool { return !c.has(attributes[c.field]) }
			if ok && !slices.ContainsFunc(conditions, isNot) {
				all = append(all, map[string]any{
					"id": uuid.NewSHA1(account, nil), "type": "subscription_subscriber", "attributes": attributes,
					"meta": map[string]any{"owner": "store", "timestamps": timestamps{CreatedAt: created, UpdatedAt: created}},
				})
			}
		}
		return all
	})
}

// listInvoices handles GET /v2/subscriptions/invoices: two for each subscription, oldest first. It
// has no filter.
func (s *Store) listInvoices(in *call) response {
	if values, _ := url.ParseQuery(in.RawQuery); values.Has("filter") { // an error is for listOf
		return errorsResponse(http.StatusBadRequest, *badFilter())
	}
	return listOf(s, in, func([]condition) (all []any) {
		for _, sub := range s.subscriptions.all {
			for i := 1; i <= 2; i++ {
				all = append(all, invoice{sub, s.cfg.Generation, i})
			}
		}
		return all
	})
}

// invoice is the n-th invoice of a subscription, counted from 1.
type invoice struct {
	sub        *storedSubscription
	generation Generation
	n          int
}

// MarshalJSON returns the members that are required, and few others. Each invoice is for a month,
// and of the same amount.
func (v invoice) MarshalJSON() ([]byte, error) {
	sub, number := v.sub.decoded(), 2*(v.sub.number-1)+v.n
	start := sub.Meta.Timestamps.CreatedAt.AddDate(0, v.n-1, 0)
	display := func(cents int) map[string]any {
		currency := sub.Attributes.Currency
		return map[string]any{
			"amount": cents, "currency": currency, "formatted": fmt.Sprintf("%d.%02d %s", cents/100, cents%100, currency),
		}
	}
	attributes := map[string]any{
		"number": number, "outstanding": v.n == 2, "tax_required": false,
		"payment_retries_limit_reached": false, "manual_payment_pending": false,
		"billing_period": map[string]string{"start": timestamp(start), "end": timestamp(start.AddDate(0, 1, 0))},
		"invoice_items": []any{map[string]any{
			"description": v.sub.offeringName,
			"price":       map[string]any{"amount": invoiceCents, "currency": sub.Attributes.Currency},
		}},
	}
	meta := map[string]any{
		"owner": "store", "subscription_id": sub.ID, "proration_events": []any{},
		"timestamps": timestamps{CreatedAt: timestamp(start), UpdatedAt: timestamp(start)},
	}
	if v.generation == SecondGeneration {
		attributes["pro_forma"] = false
		meta["pro_rata_remaining_value"] = 0
		meta["display_price"] = map[string]any{
			"with_tax": display(invoiceCents), "without_tax": display(invoiceCents), "tax": display(0),
		}
	}
	return json.Marshal(map[string]any{
		"id": newID("invoices", number), "type": "subscription_invoice", "attributes": attributes, "meta": meta,
	})
}

// invoiceCents is what an invoice costs.
const invoiceCents = 1000

// listOf responds with a page of what find returns for the conditions of a filter. find is called
// while s.mu is held.
func listOf(s *Store, in *call, find func([]condition) []any) response {
	values, err := url.ParseQuery(in.RawQuery)
	if err != nil {
		return errorsResponse(http.StatusBadRequest, *validationError("Could not parse the query"))
	}
	conditions, problem := subscriptionFilter.read(values)
	if problem != nil {
		return errorsResponse(http.StatusBadRequest, *problem)
	}
	query, problem := readPageQuery(values, s.cfg)
	if problem != nil {
		return errorsResponse(http.StatusBadRequest, *problem)
	}
	s.mu.Lock()
	all := find(conditions)
	s.mu.Unlock()
	start := min(query.offset, len(all))
	page := append([]any{}, all[start:min(start+query.limit, len(all))]...)
	body := map[string]any{"data": page}
	if links := query.links(in.Path, len(all)); links != nil {
		body["links"] = links
	}
	return jsonResponse(http.StatusOK, body)
}
