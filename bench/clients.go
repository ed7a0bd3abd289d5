package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/commerce-go/commerce"
	"github.com/commerce-go/commerce/bench/openapi"
)

// A client reads the whole list at base, and counts its records.
type client func(ctx context.Context, base string) (n int, err error)

const token = "bench-token"

// clients are the ways to read the list.
var clients = map[string]client{
	"library":       library(1),
	"library x4":    library(4),
	"library x8":    library(8),
	"library Pages": libraryPages,
	"loop":          loop,
	"oapi-codegen":  generated,
	"floor":         floor,
}

var listed = commerce.SubscriptionInclude{Plans: true, Products: true}

// library reads by All, which requests no included resources. libraryPages requests them, as the other clients do.
func library(concurrency int) client {
	return func(ctx context.Context, base string) (n int, err error) {
		c, err := commerce.New(base, commerce.WithToken(token))
		if err != nil {
			return 0, err
		}
		opts := &commerce.SubscriptionListOptions{Concurrency: concurrency}
		for sub, err := range c.Subscriptions.All(ctx, opts) {
			if err != nil {
				return n, err
			}
			if sub.Attributes.Currency != "" {
				n++
			}
		}
		return n, nil
	}
}

// libraryPages reads by Pages, and so decodes included resources too.
func libraryPages(ctx context.Context, base string) (n int, err error) {
	c, err := commerce.New(base, commerce.WithToken(token))
	if err != nil {
		return 0, err
	}
	for page, err := range c.Subscriptions.Pages(ctx, &commerce.SubscriptionListOptions{Include: listed}) {
		if err != nil {
			return n, err
		}
		if len(page.Included.Plans) != plans || len(page.Included.Products) != products {
			return n, errors.New("included resources are missing")
		}
		for i := range page.Subscriptions {
			if page.Subscriptions[i].Attributes.Currency != "" {
				n++
			}
		}
	}
	return n, nil
}

// get requests a page by net/http alone.
func get(ctx context.Context, base string, offset int) (*http.Response, error) {
	address := fmt.Sprintf("%s%s?include=plans%%2Cproducts&page%%5Boffset%%5D=%d&page%%5Blimit%%5D=%d",
		base, listPath, offset, pageSize)
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return nil, err
	}
	req.Header.Set("Authorization", "Bearer "+token)
	req.Header.Set("Accept", "application/json")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return nil, err
	}
	if resp.StatusCode != http.StatusOK {
		_ = resp.Body.Close()
		return nil, errors.New(resp.Status)
	}
	return resp, nil
}

// loop is what a user would write without a library.
func loop(ctx context.Context, base string) (n int, err error) {
	for offset := 0; ; offset += pageSize {
		resp, err := get(ctx, base, offset)
		if err != nil {
			return n, err
		}
		var page loopPage
		err = json.NewDecoder(resp.Body).Decode(&page)
		_ = resp.Body.Close()
		if err != nil {
			return n, err
		}
		for i := range page.Data {
			if page.Data[i].Attributes.Currency != "" {
				n++
			}
		}
		if len(page.Data) < pageSize {
			return n, nil
		}
	}
}

// floor reads the bodies and does not decode them: no client can be faster.
func floor(ctx context.Context, base string) (n int, err error) {
	for offset := 0; offset < records; offset += pageSize {
		resp, err := get(ctx, base, offset)
		if err != nil {
			return n, err
		}
		_, err = io.Copy(io.Discard, resp.Body)
		_ = resp.Body.Close()
		if err != nil {
			return n, err
		}
		n += pageSize
	}
	return n, nil
}

// generated reads by the client that oapi-codegen generates.
func generated(ctx context.Context, base string) (n int, err error) {
	authorize := func(_ context.Context, req *http.Request) error {
		req.Header.Set("Authorization", "Bearer "+token)
		return nil
	}
	c, err := openapi.NewClientWithResponses(base, openapi.WithRequestEditorFn(authorize))
	if err != nil {
		return 0, err
	}
	include, limit := "plans,products", pageSize
	for offset := 0; ; offset += pageSize {
		params := &openapi.ListSubscriptionsParams{Include: &include, PageOffset: &offset, PageLimit: &limit}
		resp, err := c.ListSubscriptionsWithResponse(ctx, params)
		if err != nil {
			return n, err
		}
		if resp.JSON200 == nil || resp.JSON200.Data == nil {
			return n, errors.New(resp.Status())
		}
		for _, sub := range *resp.JSON200.Data {
			if sub.Attributes != nil && sub.Attributes.Currency != nil && *sub.Attributes.Currency != "" {
				n++
			}
		}
		if len(*resp.JSON200.Data) < pageSize {
			return n, nil
		}
	}
}

// The types of loop, with ids as strings.
type (
	loopPage struct {
		Data     []loopSubscription `json:"data"`
		Included struct {
			Plans    []loopPlan    `json:"plans"`
			Products []loopProduct `json:"products"`
		} `json:"included"`
		Links map[string]*string `json:"links"`
	}
	loopTimestamps struct {
		UpdatedAt   time.Time  `json:"updated_at"`
		CreatedAt   time.Time  `json:"created_at"`
		CanceledAt  *time.Time `json:"canceled_at"`
		PausedAt    *time.Time `json:"paused_at"`
		ResumedAt   *time.Time `json:"resumed_at"`
		EndDate     *time.Time `json:"end_date"`
		GoLiveAfter *time.Time `json:"go_live_after"`
		GoLive      *time.Time `json:"go_live"`
	}
	loopRelationships struct {
		Plans struct {
			Links struct {
				Related string `json:"related"`
				Self    string `json:"self"`
			} `json:"links"`
			Data struct {
				Type string `json:"type"`
				ID   string `json:"id"`
			} `json:"data"`
		} `json:"plans"`
	}
	loopSubscription struct {
		ID         string `json:"id"`
		Type       string `json:"type"`
		Attributes struct {
			ExternalRef string `json:"external_ref"`
			AccountID   string `json:"account_id"`
			AddressID   string `json:"address_id"`
			Offering    struct {
				ID         string `json:"id"`
				Type       string `json:"type"`
				Attributes struct {
					ExternalRef string    `json:"external_ref"`
					Name        string    `json:"name"`
					Description string    `json:"description"`
					UpdatedAt   time.Time `json:"updated_at"`
					CreatedAt   time.Time `json:"created_at"`
				} `json:"attributes"`
				Relationships loopRelationships `json:"relationships"`
				Meta          struct {
					ExternalProductRefs []string       `json:"external_product_refs"`
					Owner               string         `json:"owner"`
					Timestamps          loopTimestamps `json:"timestamps"`
				} `json:"meta"`
			} `json:"offering"`
			PlanID           string            `json:"plan_id"`
			Currency         string            `json:"currency"`
			PaymentAuthority map[string]string `json:"payment_authority"`
		} `json:"attributes"`
		Relationships loopRelationships `json:"relationships"`
		Meta          struct {
			Owner      string         `json:"owner"`
			Timestamps loopTimestamps `json:"timestamps"`
			Status     string         `json:"status"`
			State      struct {
				ID         string `json:"id"`
				Type       string `json:"type"`
				Attributes struct {
					Action string `json:"action"`
				} `json:"attributes"`
				Meta struct {
					CreatedAt time.Time `json:"created_at"`
				} `json:"meta"`
			} `json:"state"`
			ManualPayments bool      `json:"manual_payments"`
			Canceled       bool      `json:"canceled"`
			Paused         bool      `json:"paused"`
			Closed         bool      `json:"closed"`
			Suspended      bool      `json:"suspended"`
			Pending        bool      `json:"pending"`
			InvoiceAfter   time.Time `json:"invoice_after"`
		} `json:"meta"`
	}
	loopPrices map[string]struct {
		Amount      float64 `json:"amount"`
		IncludesTax bool    `json:"includes_tax"`
	}
	loopMoney struct {
		Amount    float64 `json:"amount"`
		Currency  string  `json:"currency"`
		Formatted string  `json:"formatted"`
	}
	loopDisplayPrice struct {
		WithoutTax loopMoney `json:"without_tax"`
		WithTax    loopMoney `json:"with_tax"`
	}
	loopPlan struct {
		ID         string `json:"id"`
		Type       string `json:"type"`
		Attributes struct {
			ExternalRef         string     `json:"external_ref"`
			Name                string     `json:"name"`
			Description         string     `json:"description"`
			BillingIntervalType string     `json:"billing_interval_type"`
			BillingFrequency    float64    `json:"billing_frequency"`
			TrialPeriod         float64    `json:"trial_period"`
			PlanLength          float64    `json:"plan_length"`
			EndBehavior         string     `json:"end_behavior"`
			CanPause            bool       `json:"can_pause"`
			CanResume           bool       `json:"can_resume"`
			CanCancel           bool       `json:"can_cancel"`
			BasePricePercentage float64    `json:"base_price_percentage"`
			FixedPrice          loopPrices `json:"fixed_price"`
			UpdatedAt           time.Time  `json:"updated_at"`
			CreatedAt           time.Time  `json:"created_at"`
		} `json:"attributes"`
		Relationships loopRelationships `json:"relationships"`
		Meta          struct {
			Price        loopPrices       `json:"price"`
			DisplayPrice loopDisplayPrice `json:"display_price"`
			ActivePlan   bool             `json:"active_plan"`
			Owner        string           `json:"owner"`
			Timestamps   loopTimestamps   `json:"timestamps"`
		} `json:"meta"`
	}
	loopProduct struct {
		ID         string `json:"id"`
		Type       string `json:"type"`
		Attributes struct {
			ExternalRef string     `json:"external_ref"`
			Name        string     `json:"name"`
			Description string     `json:"description"`
			SKU         string     `json:"sku"`
			MainImage   string     `json:"main_image"`
			Price       loopPrices `json:"price"`
			PriceUnits  struct {
				Unit   string  `json:"unit"`
				Amount float64 `json:"amount"`
			} `json:"price_units"`
			UpdatedAt time.Time `json:"updated_at"`
			CreatedAt time.Time `json:"created_at"`
		} `json:"attributes"`
		Relationships loopRelationships `json:"relationships"`
		Meta          struct {
			DisplayPrice loopDisplayPrice `json:"display_price"`
			Owner        string           `json:"owner"`
			Timestamps   loopTimestamps   `json:"timestamps"`
		} `json:"meta"`
	}
)
