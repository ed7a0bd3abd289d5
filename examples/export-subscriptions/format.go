package main

import (
	"encoding/csv"
	"encoding/json"
	"io"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/google/uuid"

	"github.com/commerce-go/commerce"
)

// line is a line of JSON Lines.
type line struct {
	Subscription *commerce.Subscription `json:"subscription"`
	Plan         *commerce.Plan         `json:"plan"`
}

// jsonLinesTo returns a function that writes pages as JSON Lines.
func jsonLinesTo(w io.Writer) func(*commerce.SubscriptionPage) error {
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	return func(page *commerce.SubscriptionPage) error {
		for i := range page.Subscriptions {
			sub := &page.Subscriptions[i]
			plan, _ := page.Included.Plan(sub.Attributes.PlanID)
			if err := enc.Encode(line{sub, plan}); err != nil {
				return err
			}
		}
		return nil
	}
}

// columns are those of CSV. A plan that was not included is the zero one.
var columns = []struct {
	name string
	cell func(*commerce.Subscription, *commerce.Plan) string
}{
	{"id", func(s *commerce.Subscription, _ *commerce.Plan) string { return id(s.ID) }},
	{"external_ref", func(s *commerce.Subscription, _ *commerce.Plan) string { return text(s.Attributes.ExternalRef) }},
	{"account_id", func(s *commerce.Subscription, _ *commerce.Plan) string { return id(s.Attributes.AccountID) }},
	{"status", func(s *commerce.Subscription, _ *commerce.Plan) string { return text(s.Meta.Status) }},
	{"canceled", func(s *commerce.Subscription, _ *commerce.Plan) string { return strconv.FormatBool(s.Meta.Canceled) }},
	{"paused", func(s *commerce.Subscription, _ *commerce.Plan) string { return strconv.FormatBool(s.Meta.Paused) }},
	{"closed", func(s *commerce.Subscription, _ *commerce.Plan) string { return strconv.FormatBool(s.Meta.Closed) }},
	{"suspended", func(s *commerce.Subscription, _ *commerce.Plan) string { return strconv.FormatBool(s.Meta.Suspended) }},
	{"pending", func(s *commerce.Subscription, _ *commerce.Plan) string { return strconv.FormatBool(s.Meta.Pending) }},
	{"currency", func(s *commerce.Subscription, _ *commerce.Plan) string { return text(s.Attributes.Currency) }},
	{"offering_id", func(s *commerce.Subscription, _ *commerce.Plan) string { return id(s.Attributes.Offering.ID) }},
	{"offering_name", func(s *commerce.Subscription, _ *commerce.Plan) string {
		return text(s.Attributes.Offering.Attributes.Name)
	}},
	{"plan_id", func(s *commerce.Subscription, _ *commerce.Plan) string { return id(s.Attributes.PlanID) }},
	{"plan_name", func(_ *commerce.Subscription, p *commerce.Plan) string { return text(p.Attributes.Name) }},
	{"plan_external_ref", func(_ *commerce.Subscription, p *commerce.Plan) string { return text(p.Attributes.ExternalRef) }},
	{"billing_interval_type", func(_ *commerce.Subscription, p *commerce.Plan) string { return text(p.Attributes.BillingIntervalType) }},
	{"billing_frequency", func(_ *commerce.Subscription, p *commerce.Plan) string {
		if p.Attributes.BillingIntervalType == "" { // the number says nothing without its unit
			return ""
		}
		return p.Attributes.BillingFrequency.String()
	}},
	{"created_at", func(s *commerce.Subscription, _ *commerce.Plan) string { return at(s.Meta.Timestamps.CreatedAt) }},
	{"updated_at", func(s *commerce.Subscription, _ *commerce.Plan) string { return at(s.Meta.Timestamps.UpdatedAt) }},
	{"go_live", func(s *commerce.Subscription, _ *commerce.Plan) string { return at(s.Meta.Timestamps.GoLive) }},
	{"invoice_after", func(s *commerce.Subscription, _ *commerce.Plan) string { return at(s.Meta.InvoiceAfter) }},
	{"paused_at", func(s *commerce.Subscription, _ *commerce.Plan) string { return at(s.Meta.Timestamps.PausedAt) }},
	{"resumed_at", func(s *commerce.Subscription, _ *commerce.Plan) string { return at(s.Meta.Timestamps.ResumedAt) }},
	{"canceled_at", func(s *commerce.Subscription, _ *commerce.Plan) string { return at(s.Meta.Timestamps.CanceledAt) }},
	{"end_date", func(s *commerce.Subscription, _ *commerce.Plan) string { return at(s.Meta.Timestamps.EndDate) }},
}

// csvTo returns a function that writes pages as CSV, and writes the header before
// if there is to be one.
func csvTo(w io.Writer, header bool) (func(*commerce.SubscriptionPage) error, error) {
	cw := csv.NewWriter(w)
	row := make([]string, len(columns))
	for i, c := range columns {
		row[i] = c.name
	}
	if header {
		if err := cw.Write(row); err != nil {
			return nil, err
		}
		cw.Flush()
	}
	return func(page *commerce.SubscriptionPage) error {
		for n := range page.Subscriptions {
			sub := &page.Subscriptions[n]
			plan, ok := page.Included.Plan(sub.Attributes.PlanID)
			if !ok {
				plan = &commerce.Plan{}
			}
			for i, c := range columns {
				row[i] = c.cell(sub, plan)
			}
			if err := cw.Write(row); err != nil {
				return err
			}
		}
		cw.Flush()
		return cw.Error()
	}, cw.Error()
}

// id returns the text of an id; "" for the zero one, which is none.
func id(id uuid.UUID) string {
	if id == uuid.Nil {
		return ""
	}
	return id.String()
}

// at returns the text of a time; "" for the zero one, which is none.
func at(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format(time.RFC3339Nano)
}

// text returns s as a cell that no spreadsheet runs as a formula. It is s again
// without one apostrophe at its start. Spreadsheets skip what can't be seen at the
// start of a cell, and some know the wide forms of the characters.
func text(s string) string {
	first, _ := utf8.DecodeRuneInString(strings.TrimLeftFunc(s, func(r rune) bool {
		return !unicode.IsGraphic(r) || unicode.IsSpace(r)
	}))
	if strings.ContainsRune("'=+-@＝＋－＠", first) {
		return "'" + s
	}
	return s
}
