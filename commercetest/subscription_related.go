package commercetest

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"

	"github.com/google/uuid"
)

// listSubscribers handles GET /v2/subscriptions/subscribers: each [Subscriber], in the order of the
// ids of their accounts.
func (s *Store) listSubscribers(in *call) response {
	created := timestamp(seedStart)
	return listOf(s, in, subscriptionFilter, func(conditions []condition) (all []any) {
		accounts := s.accounts.sorted
		for _, c := range conditions {
			if c.field == "account_id" {
				accounts = intersection(accounts, c.ids())
			}
		}
		for _, account := range accounts {
			for i, who := range s.subscribers[account] {
				attributes := map[string]string{
					"account_id": account.String(), "external_ref": "account-" + account.String(),
					"name": who.Name, "email": who.Email, "created_at": created, "updated_at": created,
				}
				if !slices.ContainsFunc(conditions, func(c condition) bool { return !c.has(attributes[c.field]) }) {
					all = append(all, map[string]any{
						"id": subscriberID(account, i), "type": "subscription_subscriber", "attributes": attributes,
						"meta": map[string]any{"owner": "store", "timestamps": timestamps{CreatedAt: created, UpdatedAt: created}},
					})
				}
			}
		}
		return all
	})
}

// subscriberID returns the id of the i-th subscriber of an account, counted from 0.
func subscriberID(account uuid.UUID, i int) uuid.UUID { return hashID(account, make([]byte, i)) }

// listInvoices handles GET /v2/subscriptions/invoices: two for each subscription, oldest first.
func (s *Store) listInvoices(in *call) response {
	return listOf(s, in, invoiceFilter, func(conditions []condition) (all []any) {
		for _, sub := range s.subscriptions.all {
			for i := 1; i <= 2; i++ {
				v := invoice{sub, s.cfg.Generation, i}
				if !slices.ContainsFunc(conditions, func(c condition) bool { return !s.invoiceMeets(v, c) }) {
					all = append(all, v)
				}
			}
		}
		return all
	})
}

// invoiceMeets reports whether v meets a condition. Each subscriber of its account has it. The
// caller holds s.mu.
func (s *Store) invoiceMeets(v invoice, c condition) bool {
	switch c.field {
	case "subscriber_id":
		for i := range s.subscribers[v.sub.accountID] {
			if c.has(subscriberID(v.sub.accountID, i).String()) {
				return true
			}
		}
		return false
	case "subscription_id":
		return c.has(v.sub.id.String())
	case "outstanding":
		return c.has(strconv.FormatBool(v.isOutstanding()))
	default: // tax_required
		return c.has("false")
	}
}

// invoice is the n-th invoice of a subscription, counted from 1.
type invoice struct {
	sub        *storedSubscription
	generation Generation
	n          int
}

// isOutstanding reports whether v is not paid: the second of a subscription.
func (v invoice) isOutstanding() bool { return v.n == 2 }

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
		"number": number, "outstanding": v.isOutstanding(), "tax_required": false,
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

// listOf responds with a page of what find returns for the conditions of a filter, which is of g.
// find is called while s.mu is held.
func listOf(s *Store, in *call, g filterGrammar, find func([]condition) []any) response {
	values, err := url.ParseQuery(in.RawQuery)
	if err != nil {
		return errorsResponse(http.StatusBadRequest, *validationError("Could not parse the query"))
	}
	conditions, problem := g.read(values)
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
	body, links := map[string]any{"data": page}, query.links(in.Path, len(all))
	if in.Operation == OpOrders { // as documented, only this list has a total, and its links are texts
		body["meta"] = query.meta(len(all))
		maps.DeleteFunc(links, func(_ string, link any) bool { return link == nil })
	}
	if links != nil {
		body["links"] = links
	}
	return jsonResponse(http.StatusOK, body)
}
