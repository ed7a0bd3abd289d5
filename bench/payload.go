package main

import (
	"crypto/sha256"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"
)

// Pages of 100 subscriptions have about 240 kB, like those of a store with few offerings and many
// subscribers.
const (
	offerings  = 12
	plans      = 20
	products   = 10
	perAccount = 3 // subscriptions of an account

	accountsPath = "/v2/accounts"
	cartsPath    = "/v2/carts/"
	listPath     = "/v2/subscriptions/subscriptions"
)

func id(kind string, n int) string {
	return uuid.NewHash(sha256.New(), uuid.NameSpaceURL, fmt.Appendf(nil, "%s/%d", kind, n), 8).String()
}

func stamp(n int) string {
	start := time.Date(2025, 1, 1, 0, 0, 0, 0, time.UTC)
	return start.Add(time.Duration(n) * (7919*time.Second + time.Microsecond)).Format("2006-01-02T15:04:05.000000Z")
}

// dates returns the members updated_at and created_at.
func dates(n int) string { return fmt.Sprintf(`"updated_at":%q,"created_at":%[1]q`, stamp(n)) }

func relations(path string, planID string) string {
	return fmt.Sprintf(`{"plans":{"links":{"related":"/v2/subscriptions/%s/plans","self":"/v2/subscriptions/%[1]s"},`+
		`"data":{"type":"subscription_offering_plan","id":%q}}}`, path, planID)
}

func offering(n int, planID string) string {
	n %= offerings
	return fmt.Sprintf(`{"id":%q,"type":"subscription_offering","attributes":{"external_ref":"offering-%d",`+
		`"name":"Coffee Club %[2]d","description":"Fresh beans at your door, %[2]d of them",%s},"relationships":%s,`,
		id("offering", n), n, dates(n), relations("offerings/"+id("offering", n), planID))
}

func subscription(n int) string {
	subscriptionID, planID := id("subscription", n), id("plan", n%plans)
	canceled, paused := "null", "null"
	if n%9 == 0 {
		canceled = strconv.Quote(stamp(n + 5))
	}
	if n%11 == 0 {
		paused = strconv.Quote(stamp(n + 6))
	}
	var b strings.Builder
	fmt.Fprintf(&b, `{"id":%q,"type":"subscription","attributes":{"external_ref":"order-%06d","account_id":%q,`+
		`"address_id":%q,"offering":%s`, subscriptionID, n, id("account", n/perAccount), id("address", n/perAccount),
		offering(n, planID))
	fmt.Fprintf(&b, `"meta":{"external_product_refs":["product-%d","product-%d"],"owner":"store","timestamps":{%s}}},`,
		n%products, (n+1)%products, dates(n%offerings))
	fmt.Fprintf(&b, `"plan_id":%q,"currency":"USD","payment_authority":{"type":"elastic_path_payments_stripe",`+
		`"customer_id":"cus_%d","card_id":"card_%[2]d"}},"relationships":%s,`,
		planID, n, relations("subscriptions/"+subscriptionID, planID))
	fmt.Fprintf(&b, `"meta":{"owner":"store","timestamps":{%s,"canceled_at":%s,"paused_at":%s,"resumed_at":null,`+
		`"end_date":%q,"go_live_after":null,"go_live":%q},`, dates(n), canceled, paused, stamp(n+1000), stamp(n+1))
	fmt.Fprintf(&b, `"status":"active","state":{"id":%q,"type":"subscription_state","attributes":{"action":"resume"},`+
		`"meta":{"created_at":%q}},`, id("state", n), stamp(n+2))
	fmt.Fprintf(&b, `"manual_payments":false,"canceled":%t,"paused":%t,"closed":false,"suspended":false,"pending":false,`+
		`"invoice_after":%q}}`, n%9 == 0, n%11 == 0, stamp(n+3))
	return b.String()
}

func price(cents int) string {
	return fmt.Sprintf(`{"USD":{"amount":%d,"includes_tax":false},"EUR":{"amount":%d,"includes_tax":true}}`,
		cents, cents+100)
}

func displayPrice(cents int) string {
	money := func(cents, dollars int) string {
		return fmt.Sprintf(`{"amount":%d,"currency":"USD","formatted":"$%d.%02d"}`, cents, dollars, cents%100)
	}
	return fmt.Sprintf(`{"without_tax":%s,"with_tax":%s}`, money(cents, cents/100), money(cents+200, cents/100+2))
}

func plan(n int) string {
	planID := id("plan", n)
	return fmt.Sprintf(`{"id":%q,"type":"subscription_offering_plan","attributes":{"external_ref":"plan-%d",`+
		`"name":"Monthly %[2]d","description":"Billed by the month","billing_interval_type":"month",`+
		`"billing_frequency":1,"trial_period":0,"plan_length":%d,"end_behavior":"close","can_pause":true,`+
		`"can_resume":true,"can_cancel":true,"base_price_percentage":87.5,"fixed_price":%s,%s},"relationships":%s,`,
		planID, n, 12+n, price(1850+n), dates(n), relations("offerings/"+id("offering", n%offerings), planID)) +
		fmt.Sprintf(`"meta":{"price":%s,"display_price":%s,"active_plan":true,"owner":"store","timestamps":{%s}}}`,
			price(1850+n), displayPrice(1850+n), dates(n))
}

func product(n int) string {
	return fmt.Sprintf(`{"id":%q,"type":"subscription_offering_product","attributes":{"external_ref":"product-%d",`+
		`"name":"Beans %[2]d","description":"A bag of beans, roasted on the day","sku":"beans-%[2]d",`+
		`"main_image":"https://images.store.example/beans-%[2]d.jpg","price":%s,`+
		`"price_units":{"unit":"month","amount":1},%s},"relationships":%s,`,
		id("product", n), n, price(1500+n), dates(n),
		relations("offerings/"+id("offering", n), id("plan", n))) +
		fmt.Sprintf(`"meta":{"display_price":%s,"owner":"store","timestamps":{%s}}}`, displayPrice(1500+n), dates(n))
}

// list returns the elements of an array from i to end-1.
func list(i, end int, element func(i int) string) string {
	var all []string
	for ; i < end; i++ {
		all = append(all, element(i))
	}
	return strings.Join(all, ",")
}
