package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"sync"

	"github.com/commerce-go/commerce"
)

const (
	gets    = 3000 // small responses that a run reads
	posts   = 4000 // batches that a run adds
	ensures = 1000
	alones  = 10_000
)

// repeat makes calls on several goroutines, each with a cart of its own. It returns the number of
// calls.
func repeat(goroutines, calls int, call func(cart string) error) (n int, err error) {
	errs := make([]error, goroutines)
	var wg sync.WaitGroup
	for i := range goroutines {
		wg.Go(func() {
			cart := fmt.Sprintf("cart-%d", i)
			for n := 0; n < calls/goroutines && errs[i] == nil; n++ {
				errs[i] = call(cart)
			}
		})
	}
	wg.Wait()
	return calls, errors.Join(errs...)
}

// oneRecord is the query of a small response.
const oneRecord = "page%5Blimit%5D=1"

func getByDo(ctx context.Context, c *commerce.Client) (n int, err error) {
	query, err := url.ParseQuery(oneRecord)
	if err != nil {
		return 0, err
	}
	return repeat(1, gets, func(string) error {
		var raw json.RawMessage
		_, err := c.Do(ctx, http.MethodGet, []string{"v2", "subscriptions", "subscriptions"}, query, nil, &raw)
		return err
	})
}

func getByHand(ctx context.Context, base string) (n int, err error) {
	return repeat(1, gets, func(string) error {
		resp, err := get(ctx, base, oneRecord)
		if err != nil {
			return err
		}
		defer func() { _ = resp.Body.Close() }()
		_, err = io.ReadAll(resp.Body)
		return err
	})
}

// cartCall is a call of the library on a cart.
type cartCall func(ctx context.Context, c *commerce.Client, cart string) error

// onNetwork makes calls on several goroutines.
func onNetwork(goroutines, calls int, call cartCall) client {
	return library(func(ctx context.Context, c *commerce.Client) (n int, err error) {
		return repeat(goroutines, calls, func(cart string) error { return call(ctx, c, cart) })
	})
}

// alone makes calls without a network.
func alone(call cartCall) client {
	return func(ctx context.Context, _ string) (n int, err error) {
		carts, err := recordCarts() //nolint:contextcheck // it uses no network
		if err != nil {
			return 0, err
		}
		c, err := commerce.New("https://store.example", commerce.WithToken(token),
			commerce.WithHTTPClient(&http.Client{Transport: carts}))
		if err != nil {
			return 0, err
		}
		return repeat(1, alones, func(cart string) error { return call(ctx, c, cart) })
	}
}

// addDiscounts adds a batch of discounts.
func addDiscounts(ctx context.Context, c *commerce.Client, cart string) error {
	_, err := c.Carts.AddCustomDiscounts(ctx, cart, wanted, nil)
	return err
}

// addByHand does what a careful user would write without a library.
func addByHand(goroutines int) client {
	return func(ctx context.Context, base string) (n int, err error) {
		transport := http.DefaultTransport.(*http.Transport).Clone()
		transport.MaxIdleConnsPerHost = 16 // as in the library; the default is 2
		hc := &http.Client{Transport: transport}
		batch := newBatch(wanted)
		return repeat(goroutines, posts, func(cart string) error {
			return batch.add(ctx, hc, base+cartsPath+url.PathEscape(cart)+"/custom-discounts")
		})
	}
}

// batch is the body of a request that adds discounts, by hand.
type batch struct {
	Data    []discount `json:"data"`
	Options struct {
		AllOrNothing bool `json:"add_all_or_nothing"`
	} `json:"options"`
}

type discount struct {
	Type           string `json:"type"`
	Amount         int64  `json:"amount"`
	Description    string `json:"description"`
	DiscountCode   string `json:"discount_code"`
	DiscountEngine string `json:"discount_engine"`
	ExternalID     string `json:"external_id"`
}

func newBatch(discounts []commerce.NewCustomDiscount) *batch {
	b := &batch{}
	for _, d := range discounts {
		amount, _ := strconv.ParseInt(d.Amount.String(), 10, 64) // the amounts of the bench are whole
		b.Data = append(b.Data, discount{
			Type: "custom_discount", Amount: amount, Description: d.Description,
			DiscountCode: d.DiscountCode, DiscountEngine: d.DiscountEngine, ExternalID: d.ExternalID,
		})
	}
	return b
}

// addedDiscount is a discount of the response.
type addedDiscount struct {
	Type           string    `json:"type"`
	ID             string    `json:"id"`
	Amount         loopMoney `json:"amount"`
	Description    string    `json:"description"`
	DiscountCode   string    `json:"discount_code"`
	DiscountEngine string    `json:"discount_engine"`
	ExternalID     string    `json:"external_id"`
}

// add sends the batch, and checks that the response has each of its discounts.
func (b *batch) add(ctx context.Context, hc *http.Client, address string) error {
	body, err := json.Marshal(b)
	if err != nil {
		return err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, address, bytes.NewReader(body))
	if err != nil {
		return err
	}
	req.Header.Set("Authorization", "Bearer "+token)
	req.Header.Set("Accept", "application/json")
	req.Header.Set("Content-Type", "application/json")
	resp, err := hc.Do(req)
	if err != nil {
		return err
	}
	defer func() { _ = resp.Body.Close() }()
	if resp.StatusCode != http.StatusCreated {
		return errors.New(resp.Status)
	}
	var added struct {
		Data []addedDiscount `json:"data"`
	}
	if err := json.NewDecoder(resp.Body).Decode(&added); err != nil {
		return err
	}
	for _, d := range b.Data {
		if !slices.ContainsFunc(added.Data, func(a addedDiscount) bool { return a.ExternalID == d.ExternalID }) {
			return fmt.Errorf("%s was not added", d.ExternalID)
		}
	}
	return nil
}

// getCart reads a cart. Its cost is a part of that of ensureCart.
func getCart(ctx context.Context, c *commerce.Client, cart string) error {
	_, err := c.Carts.Get(ctx, cart)
	return err
}

// ensureCart ensures the wanted discounts of a cart. Each call should add that number of them.
func ensureCart(cart string, adds int) cartCall {
	return func(ctx context.Context, c *commerce.Client, _ string) error {
		result, err := c.Carts.EnsureCustomDiscounts(ctx, cart, wanted, nil)
		if err == nil && len(result.Added) != adds {
			err = fmt.Errorf("%d discounts were added, want %d", len(result.Added), adds)
		}
		return err
	}
}
