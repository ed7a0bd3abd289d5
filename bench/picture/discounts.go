package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/commerce-go/commerce"
	"github.com/commerce-go/commerce/commercetest"
)

const (
	adds     = 100
	lostEach = 5 // each fifth response to an add is lost
)

// adder puts a discount on a cart. An error means that the client does not know whether it did.
type adder func(ctx context.Context, store *commercetest.Store, cartID string, d commerce.NewCustomDiscount) error

// drawDiscounts shows how often 100 discounts are on their carts after the responses to some adds
// were lost: with a loop that retries, without a retry, and with the library.
func drawDiscounts(ctx context.Context) (string, error) {
	p := picture{
		title:   fmt.Sprintf("%d discounts on their carts, after each fifth response to an add was lost", adds),
		heading: fmt.Sprintf("%d discounts are added; each fifth response is lost on its way back", adds),
		columns: 50,
		legend: []legend{
			{right, "on the cart once"}, {wrong, "on the cart twice"}, {unknown, "on the cart, unknown to the client"},
		},
	}
	for _, client := range []struct {
		name string
		add  adder
	}{{"a loop that retries", retry}, {"no retry", sendOnce}, {"SetCustomDiscounts", set}} {
		r, err := write(ctx, client.name, client.add)
		if err != nil {
			return "", err
		}
		p.rows = append(p.rows, r)
	}
	return p.svg(), nil
}

// write adds each discount to a cart of its own, and looks at the carts of the store afterwards.
func write(ctx context.Context, name string, add adder) (row, error) {
	store := commercetest.NewStore(commercetest.Config{DiscountsEnabled: true})
	sent := 0
	store.Inject(commercetest.Fault{
		Operation: commercetest.OpAdd, Apply: true, Cut: true, Times: -1,
		Match: func(commercetest.Request) bool { sent++; return sent%lostEach == 0 },
	})
	counts, squares := map[class]int{}, make([]class, adds)
	for i := range squares {
		cartID := store.AddCart(commerce.CartItemRef{})
		err := add(ctx, store, cartID, commerce.NewCustomDiscount{
			Amount: commerce.NewDecimal(-1000), Description: "Ten dollars off", DiscountCode: "TEN-OFF",
			DiscountEngine: "promo-engine", ExternalID: "promo-1",
		})
		switch onCart := len(store.Discounts(cartID)); {
		case onCart == 1 && err == nil:
			squares[i] = right
		case onCart == 1:
			squares[i] = unknown
		case onCart == 2:
			squares[i] = wrong
		default:
			return row{}, fmt.Errorf("%s: %d discounts on the cart, error %w", name, onCart, err)
		}
		counts[squares[i]]++
	}
	facts := fmt.Sprintf("%d adds sent: %d once, %d twice, %d unknown",
		sent, counts[right], counts[wrong], counts[unknown])
	return row{name: name, facts: facts, squares: squares}, nil
}

// sendOnce sends a request without the library.
func sendOnce(ctx context.Context, store *commercetest.Store, cartID string, d commerce.NewCustomDiscount) error {
	body, err := json.Marshal(map[string]any{"data": []commerce.NewCustomDiscount{d}})
	if err != nil {
		return err
	}
	const host = "http://store.example/v2/carts/"
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, host+cartID+"/custom-discounts", bytes.NewReader(body))
	if err != nil {
		return err
	}
	req.Header.Set("Authorization", "Bearer "+store.Config().Token)
	req.Header.Set("Content-Type", "application/json")
	resp, err := store.Transport().RoundTrip(req)
	if err != nil {
		return err
	}
	_, err = io.Copy(io.Discard, resp.Body)
	if closeErr := resp.Body.Close(); err == nil {
		err = closeErr
	}
	if err == nil && resp.StatusCode != http.StatusCreated {
		err = fmt.Errorf("the store responded with %s", resp.Status)
	}
	return err
}

// retry sends a request up to three times.
func retry(ctx context.Context, store *commercetest.Store, cartID string, d commerce.NewCustomDiscount) (err error) {
	for range 3 {
		if err = sendOnce(ctx, store, cartID, d); err == nil {
			return nil
		}
	}
	return err
}

// set makes one call of the library. It need not wait for late writes: the store has none.
func set(ctx context.Context, store *commercetest.Store, cartID string, d commerce.NewCustomDiscount) error {
	want := func(context.Context, *commerce.Cart) ([]commerce.NewCustomDiscount, error) {
		return []commerce.NewCustomDiscount{d}, nil
	}
	opts := &commerce.SetCustomDiscountsOptions{Engine: d.DiscountEngine, Settle: time.Millisecond}
	_, err := store.Client().Carts.SetCustomDiscounts(ctx, cartID, want, opts)
	return err
}
