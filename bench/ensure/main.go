// Command ensure measures what a call of EnsureCustomDiscounts costs: requests, time and allocations per call, with a
// transport that responds from memory. Its own share is what "GET a cart" costs.
//
//	go run ./ensure
package main

import (
	"context"
	"fmt"
	"io"
	"log"
	"net/http"
	"strings"
	"testing"

	"github.com/commerce-go/commerce"
)

const (
	cartBody = `{"data":{"id":"c","type":"cart","discount_settings":{"custom_discounts_enabled":true},` +
		`"meta":{"display_price":{"discount":{"amount":0}}},"relationships":{"items":{"data":[{"type":"cart_item",` +
		`"id":"3b4de20a-ccd0-44e6-894f-628e7afb3db0"}]},"custom_discounts":{"data":[%s]}}},"included":{"items":[` +
		`{"id":"3b4de20a-ccd0-44e6-894f-628e7afb3db0","type":"cart_item"}],"custom_discounts":[%s]}}`
	ref      = `{"type":"custom_discount","id":"f09030b0-cdcd-4c47-b889-adbf690c537a"}`
	discount = `{"type":"custom_discount","id":"f09030b0-cdcd-4c47-b889-adbf690c537a","external_id":"promo-1",` +
		`"discount_engine":"engine","amount":{"amount":-1000,"currency":"USD","formatted":"-$10.00"},` +
		`"description":"Ten off","discount_code":"TEN"}`
)

// cart is a transport with one cart. A write adds the discount.
type cart struct {
	hasDiscount bool
	requests    int
}

func (c *cart) RoundTrip(req *http.Request) (*http.Response, error) {
	c.requests++
	status, body := http.StatusOK, fmt.Sprintf(cartBody, "", "")
	if c.hasDiscount {
		body = fmt.Sprintf(cartBody, ref, discount)
	}
	if req.Method == http.MethodPost {
		c.hasDiscount = true
		status, body = http.StatusCreated, `{"data":[`+discount+`]}`
	}
	return &http.Response{StatusCode: status, Body: io.NopCloser(strings.NewReader(body)), Request: req}, nil
}

func main() {
	want := []commerce.NewCustomDiscount{{
		Amount: commerce.NewDecimal(-1000), Description: "Ten off", DiscountCode: "TEN",
		DiscountEngine: "engine", ExternalID: "promo-1",
	}}
	fmt.Println("| call | requests | µs | allocations | bytes |\n|---|--:|--:|--:|--:|")
	for _, b := range []struct {
		name  string
		there bool
		call  func(c *commerce.Client) error
	}{
		{name: "GET a cart", there: true, call: func(c *commerce.Client) error {
			_, err := c.Carts.Get(context.Background(), "c")
			return err
		}},
		{name: "ensure, already there", there: true, call: func(c *commerce.Client) error {
			_, err := c.Carts.EnsureCustomDiscounts(context.Background(), "c", want, nil)
			return err
		}},
		{name: "ensure, to be added", call: func(c *commerce.Client) error {
			_, err := c.Carts.EnsureCustomDiscounts(context.Background(), "c", want, nil)
			return err
		}},
	} {
		t := &cart{}
		client, err := commerce.New("https://store.example", commerce.WithToken("t"),
			commerce.WithHTTPClient(&http.Client{Transport: t}))
		if err != nil {
			log.Fatal(err)
		}
		calls := 0
		r := testing.Benchmark(func(tb *testing.B) {
			for range tb.N {
				t.hasDiscount = b.there
				if err := b.call(client); err != nil {
					log.Fatal(err)
				}
				calls++
			}
		})
		fmt.Printf("| %s | %.0f | %.1f | %d | %d |\n", b.name, float64(t.requests)/float64(calls),
			float64(r.NsPerOp())/1000, r.AllocsPerOp(), r.AllocedBytesPerOp())
	}
}
