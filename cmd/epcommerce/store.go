package main

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"log/slog"
	"net/http"

	"github.com/google/uuid"

	"github.com/commerce-go/commerce"
	"github.com/commerce-go/commerce/commercetest"
)

// shop is the store that a command works on.
type shop struct {
	*commerce.Client
	address     string
	credentials string            // in words
	identity    string            // differs between stores, and has no secret
	transport   http.RoundTripper // of requests without a token
}

var errNoCredentials = errors.New(`no store is named. Set one of
  COMMERCE_BASE_URL and COMMERCE_TOKEN
  COMMERCE_BASE_URL, COMMERCE_CLIENT_ID and COMMERCE_CLIENT_SECRET
or use --demo, an embedded fake store`)

// open returns the store that --demo or the environment names. Its errors never hold the value of
// a variable.
func (e *environment) open() (*shop, error) {
	opts := []commerce.Option{commerce.WithUserAgent("epcommerce/" + commerce.Version)}
	if e.verbose {
		level := &slog.HandlerOptions{Level: slog.LevelDebug}
		opts = append(opts, commerce.WithLogger(slog.New(slog.NewTextHandler(e.stderr, level))))
	}
	if e.demo {
		return openDemo(opts)
	}
	s := &shop{address: e.getenv("COMMERCE_BASE_URL"), transport: http.DefaultTransport}
	token, id, secret := e.getenv("COMMERCE_TOKEN"), e.getenv("COMMERCE_CLIENT_ID"), e.getenv("COMMERCE_CLIENT_SECRET")
	switch {
	case s.address == "" && token == "" && id == "" && secret == "":
		return nil, &exitError{exitUsage, errNoCredentials}
	case token != "" && (id != "" || secret != ""):
		return nil, usagef("COMMERCE_TOKEN must not be set together with COMMERCE_CLIENT_ID or COMMERCE_CLIENT_SECRET")
	case s.address == "" || token == "" && (id == "" || secret == ""):
		return nil, usagef("the environment names only a part of a store: %w", errNoCredentials)
	case token != "":
		opts, s.credentials = append(opts, commerce.WithToken(token)), "the token of COMMERCE_TOKEN"
	default:
		opts, s.credentials = append(opts, commerce.WithClientCredentials(id, secret)), "client credentials"
	}
	client, err := commerce.New(s.address, opts...)
	if err != nil {
		return nil, usagef("the COMMERCE_ variables can't be used: %w", err)
	}
	s.Client, s.identity = client, fmt.Sprintf("%x", sha256.Sum256([]byte(s.address+"\n"+id)))
	return s, nil
}

const (
	demoCart          = "demo"
	demoSubscriptions = 2500
)

// openDemo returns a fake store that is the same each time.
func openDemo(opts []commerce.Option) (*shop, error) {
	fake := commercetest.NewStore(commercetest.Config{})
	fake.Seed(demoSubscriptions)
	s := &shop{
		Client: fake.Client(opts...), address: "https://store.example", credentials: "the token of the fake store",
		identity: "demo", transport: fake.Transport(),
	}
	item := map[string]any{"data": map[string]any{
		"type": "custom_item", "name": "Coffee grinder", "sku": "GRIND-1", "quantity": 1,
		"price": map[string]int{"amount": 12900},
	}}
	ctx := context.Background()
	var added struct {
		Data []struct{ ID uuid.UUID }
	}
	if _, err := s.Do(ctx, http.MethodPost, []string{"v2", "carts", demoCart, "items"}, nil, item, &added); err != nil {
		return nil, err
	}
	if err := s.Carts.EnableCustomDiscounts(ctx, demoCart); err != nil {
		return nil, err
	}
	grinder := &commerce.CartItemRef{Type: commerce.ItemTypeCustomItem, ID: added.Data[0].ID}
	_, err := s.Carts.AddCustomDiscounts(ctx, demoCart, []commerce.NewCustomDiscount{
		demoDiscount(-500, "promo-engine", "promo-1", nil),
		demoDiscount(-250, "promo-engine", "promo-2", grinder),
		demoDiscount(-700, "loyalty", "gold-0042", nil),
	}, nil)
	return s, err
}

func demoDiscount(cents int64, engine, externalID string, item *commerce.CartItemRef) commerce.NewCustomDiscount {
	return commerce.NewCustomDiscount{
		Amount: commerce.NewDecimal(cents), DiscountEngine: engine, ExternalID: externalID,
		DiscountCode: "SUMMER", Description: "A discount of the demo", Item: item,
	}
}
