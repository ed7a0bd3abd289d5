package main

import (
	"cmp"
	"context"
	"crypto/sha256"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strconv"
	"strings"

	"github.com/redis/go-redis/v9"

	"github.com/commerce-go/commerce"
	"github.com/commerce-go/commerce/commercetest"
	"github.com/commerce-go/commerce/rediscommerce"
)

// shop is the store that a command works on.
type shop struct {
	*commerce.Client
	address     string
	from        string            // the file that names the store, or ""
	credentials string            // in words
	identity    string            // has no secret
	identified  bool              // whether stores with the same identity are the same
	transport   http.RoundTripper // of requests without a token
}

var errNoStore = errors.New(`the environment names no store, or only a part of one. Set
  COMMERCE_BASE_URL and COMMERCE_TOKEN, or
  COMMERCE_BASE_URL, COMMERCE_CLIENT_ID and COMMERCE_CLIENT_SECRET,
or use --demo, an embedded fake store`)

// open returns the store that --demo or the environment names. Its errors never hold the value of
// a variable.
func (e *environment) open(ctx context.Context) (*shop, error) {
	opts := []commerce.Option{commerce.WithUserAgent("epcommerce/" + commerce.Version)}
	if e.verbose {
		level := &slog.HandlerOptions{Level: slog.LevelDebug}
		opts = append(opts, commerce.WithLogger(slog.New(slog.NewTextHandler(e.stderr, level))))
	}
	if e.demo {
		if e.envFile != "" || e.store != "" {
			return nil, usagef("--demo uses no other store")
		}
		return openDemo(ctx, opts)
	}
	if err := e.readVariables(); err != nil {
		return nil, err
	}
	s := &shop{address: strings.TrimSpace(e.getenv("COMMERCE_BASE_URL")), transport: http.DefaultTransport}
	token, id, secret := e.getenv("COMMERCE_TOKEN"), e.getenv("COMMERCE_CLIENT_ID"), e.getenv("COMMERCE_CLIENT_SECRET")
	switch {
	case token != "" && (id != "" || secret != ""):
		return nil, usagef("COMMERCE_TOKEN must not be set together with COMMERCE_CLIENT_ID or COMMERCE_CLIENT_SECRET")
	case s.address == "" || token == "" && (id == "" || secret == ""):
		return nil, &exitError{exitUsage, errNoStore}
	case token != "":
		opts, s.credentials = append(opts, commerce.WithToken(token)), "the token of COMMERCE_TOKEN"
	default:
		opts, s.credentials = append(opts, commerce.WithClientCredentials(id, secret)), "client credentials"
		s.identified = true
	}
	shared, err := e.sharing(ctx)
	if err != nil {
		return nil, err
	}
	client, err := commerce.New(s.address, append(opts, shared...)...)
	if err != nil {
		text := strings.ReplaceAll(err.Error(), " (plain http to another machine needs WithInsecureHTTP)", "")
		return nil, usagef("the COMMERCE_ variables can't be used: %s", text)
	}
	s.from = e.from
	s.Client, s.identity = client, fmt.Sprintf("%x", sha256.Sum256([]byte(s.address+"\n"+id)))
	return s, nil
}

// sharing returns the lock of carts and the rate limit that the services of the store use, if
// COMMERCE_REDIS_URL is set.
func (e *environment) sharing(ctx context.Context) ([]commerce.Option, error) {
	address := e.getenv("COMMERCE_REDIS_URL")
	if address == "" {
		return nil, nil
	}
	options, err := redis.ParseURL(address)
	if err != nil {
		return nil, usagef("COMMERCE_REDIS_URL must be like redis://localhost:6379")
	}
	rate, err := strconv.ParseFloat(cmp.Or(e.getenv("COMMERCE_RATE"), "22.5"), 64)
	if err != nil {
		return nil, usagef("COMMERCE_RATE must be a number of requests a second")
	}
	server := redis.NewClient(options)
	context.AfterFunc(ctx, func() { _ = server.Close() })
	limiter, err1 := rediscommerce.NewLimiter(server, rediscommerce.LimiterConfig{PerSecond: rate})
	locker, err2 := rediscommerce.NewLocker(server, rediscommerce.LockerConfig{})
	if err := errors.Join(err1, err2); err != nil {
		return nil, usagef("COMMERCE_RATE can't be used: %w", err)
	}
	return []commerce.Option{commerce.WithLimiter(limiter), commerce.WithCartLocker(locker)}, nil
}

//go:embed demo.json
var demo []byte

// openDemo returns a fake store that is the same each time, with the cart "demo".
func openDemo(ctx context.Context, opts []commerce.Option) (*shop, error) {
	fake := commercetest.NewStore(commercetest.Config{})
	fake.Seed(2500)
	s := &shop{
		Client: fake.Client(), address: "https://store.example", credentials: "the token of the fake store",
		identity: "demo", identified: true, transport: fake.Transport(),
	}
	var cart struct {
		Item      json.RawMessage // its id is the same each time
		Discounts []commerce.NewCustomDiscount
	}
	err := json.Unmarshal(demo, &cart)
	if err == nil {
		_, err = s.Do(ctx, http.MethodPost, []string{"v2", "carts", "demo", "items"}, nil, cart.Item, nil)
	}
	if err == nil {
		err = s.Carts.EnableCustomDiscounts(ctx, "demo")
	}
	if err == nil {
		_, err = s.Carts.AddCustomDiscounts(ctx, "demo", cart.Discounts, nil)
	}
	s.Client = fake.Client(opts...) // without the requests above in its log
	return s, err
}
