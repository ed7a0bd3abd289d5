package main

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"

	"github.com/commerce-go/commerce"
	"github.com/commerce-go/commerce/commercetest"
)

// wanted are the discounts of a batch.
var wanted = []commerce.NewCustomDiscount{
	newDiscount("promo-1", -1000), newDiscount("promo-2", -250), newDiscount("promo-3", -75),
}

func newDiscount(externalID string, cents int64) commerce.NewCustomDiscount {
	return commerce.NewCustomDiscount{
		Amount: commerce.NewDecimal(cents), Description: "Discount of the week", DiscountCode: "WEEK",
		DiscountEngine: "Promotion Engine", ExternalID: externalID,
	}
}

// shortCart is the id of a cart without the last of the wanted discounts. All others have all of
// them.
const shortCart = "short"

// carts are responses about carts.
type carts struct {
	id               string // in full and short
	full, short      json.RawMessage
	addAll, addLast  json.RawMessage
	shortIsCompleted atomic.Bool
}

// recordCarts lets the fake store make the responses. It is too slow to respond itself.
func recordCarts() (*carts, error) {
	store := commercetest.NewStore(commercetest.Config{DiscountsEnabled: true})
	c := &carts{}
	first := store.AddCart(commerce.CartItemRef{})
	second := store.AddCart(commerce.CartItemRef{})
	c.id = second
	last := len(wanted) - 1
	include := url.Values{"include": {"items,custom_discounts"}}
	for _, call := range []struct {
		method string
		path   []string
		body   any
		out    *json.RawMessage
	}{
		{method: http.MethodPost, path: []string{first, "custom-discounts"}, body: newBatch(wanted), out: &c.addAll},
		{method: http.MethodPost, path: []string{second, "custom-discounts"}, body: newBatch(wanted[:last]), out: &c.short},
		{method: http.MethodGet, path: []string{second}, out: &c.short},
		{method: http.MethodPost, path: []string{second, "custom-discounts"}, body: newBatch(wanted[last:]), out: &c.addLast},
		{method: http.MethodGet, path: []string{second}, out: &c.full},
	} {
		path := append([]string{"v2", "carts"}, call.path...)
		if _, err := store.Client().Do(context.Background(), call.method, path, include, call.body, call.out); err != nil {
			return nil, err
		}
	}
	return c, nil
}

// respond returns the response to a request. After the last discount is added to the short cart,
// the next read shows it in full, and the one after that as short again.
func (c *carts) respond(method, path string) (status int, body []byte) {
	isShort := strings.HasPrefix(path, cartsPath+shortCart)
	switch {
	case method == http.MethodPost && isShort:
		c.shortIsCompleted.Store(true)
		return http.StatusCreated, c.addLast
	case method == http.MethodPost:
		return http.StatusCreated, c.addAll
	}
	body = c.full
	if isShort && !c.shortIsCompleted.Swap(false) {
		body = c.short
	}
	asked := strings.TrimPrefix(path, cartsPath)
	return http.StatusOK, bytes.Replace(body, []byte(c.id), []byte(asked), 1)
}

// RoundTrip responds without a network.
func (c *carts) RoundTrip(req *http.Request) (*http.Response, error) {
	if req.Body != nil {
		if _, err := io.Copy(io.Discard, req.Body); err != nil {
			return nil, err
		}
		_ = req.Body.Close()
	}
	status, body := c.respond(req.Method, req.URL.Path)
	return &http.Response{
		StatusCode: status, ProtoMajor: 1, ProtoMinor: 1, Header: http.Header{"Content-Type": {"application/json"}},
		Body: io.NopCloser(bytes.NewReader(body)), ContentLength: int64(len(body)), Request: req,
	}, nil
}
