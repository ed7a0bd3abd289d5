package main

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/google/uuid"
)

// The list has pages of about 230 kB, like that of a store with few offerings and many subscribers.
const (
	records    = 10_000
	pageSize   = 100
	offerings  = 12
	plans      = 20
	products   = 10
	maxOffset  = 10_000
	listPath   = "/v2/subscriptions/subscriptions"
	timeFormat = "2006-01-02T15:04:05.000000Z"
)

func id(kind string, n int) string {
	return uuid.NewSHA1(uuid.NameSpaceURL, fmt.Appendf(nil, "%s/%d", kind, n)).String()
}

func stamp(n int) string {
	return time.Date(2025, 1, 1, 0, 0, 0, 0, time.UTC).Add(time.Duration(n)*7919*time.Second + time.Duration(n)*time.Microsecond).Format(timeFormat)
}

func relations(path, kind, of string) string {
	return fmt.Sprintf(`{"plans":{"links":{"related":"/v2/subscriptions/%s/plans","self":"/v2/subscriptions/%s"},"data":{"type":%q,"id":%q}}}`, path, path, kind, of)
}

func subscription(n int) string {
	offering, plan := id("offering", n%offerings), id("plan", n%plans)
	canceled, paused := "null", "null"
	if n%9 == 0 {
		canceled = strconv.Quote(stamp(n + 5))
	}
	if n%11 == 0 {
		paused = strconv.Quote(stamp(n + 6))
	}
	return fmt.Sprintf(`{"id":%q,"type":"subscription","attributes":{"external_ref":"order-%06d","account_id":%q,"address_id":%q,`+
		`"offering":{"id":%q,"type":"subscription_offering","attributes":{"external_ref":"offering-%d","name":"Coffee Club %d","description":"Fresh beans at your door, %d of them","updated_at":%q,"created_at":%q},`+
		`"relationships":%s,"meta":{"external_product_refs":["product-%d","product-%d"],"owner":"store","timestamps":{"updated_at":%q,"created_at":%q}}},`+
		`"plan_id":%q,"currency":"USD","payment_authority":{"type":"elastic_path_payments_stripe","customer_id":"cus_%d","card_id":"card_%d"}},`+
		`"relationships":%s,"meta":{"owner":"store","timestamps":{"updated_at":%q,"created_at":%q,"canceled_at":%s,"paused_at":%s,"resumed_at":null,"end_date":%q,"go_live_after":null,"go_live":%q},`+
		`"status":"active","state":{"id":%q,"type":"subscription_state","attributes":{"action":"resume"},"meta":{"created_at":%q}},`+
		`"manual_payments":false,"canceled":%t,"paused":%t,"closed":false,"suspended":false,"pending":false,"invoice_after":%q}}`,
		id("subscription", n), n, id("account", n/3), id("address", n/3),
		offering, n%offerings, n%offerings, n%offerings, stamp(n%offerings), stamp(n%offerings),
		relations("offerings/"+offering, "subscription_offering_plan", plan), n%products, (n+1)%products, stamp(n%offerings), stamp(n%offerings),
		plan, n, n,
		relations("subscriptions/"+id("subscription", n), "subscription_offering_plan", plan), stamp(n), stamp(n), canceled, paused, stamp(n+1000), stamp(n+1),
		id("state", n), stamp(n+2),
		n%9 == 0, n%11 == 0, stamp(n+3))
}

func price(cents int) string {
	return fmt.Sprintf(`{"USD":{"amount":%d,"includes_tax":false},"EUR":{"amount":%d,"includes_tax":true}}`, cents, cents+100)
}

func displayPrice(cents int) string {
	return fmt.Sprintf(`{"without_tax":{"amount":%d,"currency":"USD","formatted":"$%d.%02d"},"with_tax":{"amount":%d,"currency":"USD","formatted":"$%d.%02d"}}`,
		cents, cents/100, cents%100, cents+200, cents/100+2, cents%100)
}

func plan(n int) string {
	return fmt.Sprintf(`{"id":%q,"type":"subscription_offering_plan","attributes":{"external_ref":"plan-%d","name":"Monthly %d","description":"Billed by the month",`+
		`"billing_interval_type":"month","billing_frequency":1,"trial_period":0,"plan_length":%d,"end_behavior":"close","can_pause":true,"can_resume":true,"can_cancel":true,`+
		`"base_price_percentage":87.5,"fixed_price":%s,"updated_at":%q,"created_at":%q},"relationships":%s,`+
		`"meta":{"price":%s,"display_price":%s,"active_plan":true,"owner":"store","timestamps":{"updated_at":%q,"created_at":%q}}}`,
		id("plan", n), n, n, 12+n, price(1850+n), stamp(n), stamp(n), relations("offerings/"+id("offering", n%offerings), "subscription_offering_plan", id("plan", n)),
		price(1850+n), displayPrice(1850+n), stamp(n), stamp(n))
}

func product(n int) string {
	return fmt.Sprintf(`{"id":%q,"type":"subscription_offering_product","attributes":{"external_ref":"product-%d","name":"Beans %d","description":"A bag of beans, roasted on the day",`+
		`"sku":"beans-%d","main_image":"https://images.store.example/beans-%d.jpg","price":%s,"price_units":{"unit":"month","amount":1},"updated_at":%q,"created_at":%q},`+
		`"relationships":%s,"meta":{"display_price":%s,"owner":"store","timestamps":{"updated_at":%q,"created_at":%q}}}`,
		id("product", n), n, n, n, n, price(1500+n), stamp(n), stamp(n), relations("offerings/"+id("offering", n), "subscription_offering_plan", id("plan", n)),
		displayPrice(1500+n), stamp(n), stamp(n))
}

func list(n int, of func(int) string) string {
	all := make([]string, n)
	for i := range all {
		all[i] = of(i)
	}
	return strings.Join(all, ",")
}

// server serves the list on the loopback interface.
type server struct {
	*httptest.Server
	plain, zipped map[string][]byte // pages by offset and include
	one           []byte            // a page of one record
	connections   atomic.Int64
}

func newServer() *server {
	s := &server{plain: map[string][]byte{}, zipped: map[string][]byte{}}
	included := `,"included":{"plans":[` + list(plans, plan) + `],"products":[` + list(products, product) + `]}`
	subscriptions := make([]string, records)
	for n := range subscriptions {
		subscriptions[n] = subscription(n)
	}
	page := func(offset int, include, included string) {
		from, to := min(offset, records), min(offset+pageSize, records)
		next := `"https://pages.store.example` + listPath + `?page%5Blimit%5D=100&page%5Boffset%5D=` + strconv.Itoa(to) + `"`
		if to == records {
			next = "null"
		}
		b := []byte(`{"data":[` + strings.Join(subscriptions[from:to], ",") + `]` + included + `,"links":{"first":"/","last":null,"next":` + next + `,"prev":null}}`)
		var z bytes.Buffer
		w := gzip.NewWriter(&z)
		if _, err := w.Write(b); err != nil {
			panic(err)
		}
		if err := w.Close(); err != nil {
			panic(err)
		}
		key := strconv.Itoa(offset) + include
		s.plain[key], s.zipped[key] = b, z.Bytes()
	}
	for _, step := range []int{pageSize, pageSize - 1} {
		for offset := 0; offset <= maxOffset; offset += step {
			page(offset, "", "")
			page(offset, "plans,products", included)
		}
	}
	s.one = []byte(`{"data":[` + subscriptions[0] + `],"links":{"next":null}}`)
	s.Server = httptest.NewUnstartedServer(s)
	s.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		if state == http.StateNew {
			s.connections.Add(1)
		}
	}
	s.Start()
	return s
}

func (s *server) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	body := s.one
	q := req.URL.Query()
	if q.Get("page[limit]") != "1" {
		key := cmp.Or(q.Get("page[offset]"), "0") + q.Get("include")
		body = s.plain[key]
		if strings.HasPrefix(req.URL.Path, "/gzip/") && strings.Contains(req.Header.Get("Accept-Encoding"), "gzip") {
			body = s.zipped[key]
			w.Header().Set("Content-Encoding", "gzip")
		}
	}
	if body == nil {
		http.NotFound(w, req)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	if !strings.HasPrefix(req.URL.Path, "/chunked/") {
		w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	}
	_, _ = w.Write(body)
}
