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
			plan, _ := page.Included.PlanOf(sub)
			if err := enc.Encode(line{sub, plan}); err != nil {
				return err
			}
		}
		return nil
	}
}

// cell is one value of a CSV row, and the name of its column.
type cell struct{ column, value string }

// row returns the cells of a subscription. p is the zero plan if none was included.
func row(s *commerce.Subscription, p *commerce.Plan) []cell {
	frequency := ""
	if p.ID != uuid.Nil {
		frequency = p.Attributes.BillingFrequency.String()
	}
	return []cell{
		{"id", id(s.ID)},
		{"external_ref", text(s.Attributes.ExternalRef)},
		{"account_id", id(s.Attributes.AccountID)},
		{"status", text(s.Meta.Status)},
		{"canceled", strconv.FormatBool(s.Meta.Canceled)},
		{"paused", strconv.FormatBool(s.Meta.Paused)},
		{"closed", strconv.FormatBool(s.Meta.Closed)},
		{"suspended", strconv.FormatBool(s.Meta.Suspended)},
		{"pending", strconv.FormatBool(s.Meta.Pending)},
		{"currency", text(s.Attributes.Currency)},
		{"offering_id", id(s.Attributes.Offering.ID)},
		{"offering_name", text(s.Attributes.Offering.Attributes.Name)},
		{"plan_id", id(s.Attributes.PlanID)},
		{"plan_name", text(p.Attributes.Name)},
		{"plan_external_ref", text(p.Attributes.ExternalRef)},
		{"billing_interval_type", text(p.Attributes.BillingIntervalType)},
		{"billing_frequency", frequency},
		{"created_at", at(s.Meta.Timestamps.CreatedAt)},
		{"updated_at", at(s.Meta.Timestamps.UpdatedAt)},
		{"go_live", at(s.Meta.Timestamps.GoLive)},
		{"invoice_after", at(s.Meta.InvoiceAfter)},
		{"paused_at", at(s.Meta.Timestamps.PausedAt)},
		{"resumed_at", at(s.Meta.Timestamps.ResumedAt)},
		{"canceled_at", at(s.Meta.Timestamps.CanceledAt)},
		{"end_date", at(s.Meta.Timestamps.EndDate)},
	}
}

// writeCSVHeader writes the names of the columns.
func writeCSVHeader(w io.Writer) error {
	var names []string
	for _, c := range row(&commerce.Subscription{}, &commerce.Plan{}) {
		names = append(names, c.column)
	}
	return csv.NewWriter(w).WriteAll([][]string{names})
}

// csvTo returns a function that writes pages as CSV, without a header.
func csvTo(w io.Writer) func(*commerce.SubscriptionPage) error {
	cw := csv.NewWriter(w)
	return func(page *commerce.SubscriptionPage) error {
		for i := range page.Subscriptions {
			sub := &page.Subscriptions[i]
			plan, ok := page.Included.PlanOf(sub)
			if !ok {
				plan = &commerce.Plan{}
			}
			var values []string
			for _, c := range row(sub, plan) {
				values = append(values, c.value)
			}
			if err := cw.Write(values); err != nil {
				return err
			}
		}
		cw.Flush()
		return cw.Error()
	}
}

// id returns the text of an id; "" for the zero id.
func id(id uuid.UUID) string {
	if id == uuid.Nil {
		return ""
	}
	return id.String()
}

// at returns the text of a time; "" for the zero time.
func at(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format(time.RFC3339Nano)
}

// text returns s as a cell that no spreadsheet runs as a formula: with an apostrophe
// in front, if needed. Spreadsheets skip invisible characters at the start of a cell,
// and some accept the full-width forms of the operators.
func text(s string) string {
	first, _ := utf8.DecodeRuneInString(strings.TrimLeftFunc(s, func(r rune) bool {
		return !unicode.IsGraphic(r) || unicode.IsSpace(r)
	}))
	if strings.ContainsRune("'=+-@＝＋－＠", first) {
		return "'" + s
	}
	return s
}
