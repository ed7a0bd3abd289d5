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
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/commerce-go/commerce"
	"github.com/commerce-go/commerce/commercetest"
	"github.com/commerce-go/commerce/rediscommerce"
)

// shop is the store that a command works on.
type shop struct {
	*commerce.Client
	*environment
	settings    func(context.Context) (*commerce.Settings, error)
	places      map[string]int32 // the decimal places of currencies; nil: not read
	errPlaces   error
	address     string
	credentials string            // in words
	unknown     int               // subscriptions without the address of a subscriber
	identity    string            // has no secret
	identified  bool              // whether stores with the same identity are the same
	transport   http.RoundTripper // of requests without a token
}

const noStore = ` names no store, or only a part of one. Set
  COMMERCE_BASE_URL and COMMERCE_TOKEN, or
  COMMERCE_BASE_URL, COMMERCE_CLIENT_ID and COMMERCE_CLIENT_SECRET,
or use --demo, an embedded fake store`

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
			return nil, usagef("use one of --demo, --env-file and --store")
		}
		return e.openDemo(ctx, opts)
	}
	if err := e.readVariables(); err != nil {
		return nil, err
	}
	get := func(name string) string { return strings.TrimSpace(e.getenv(name)) }
	s := e.shopAt(get("COMMERCE_BASE_URL"), http.DefaultTransport)
	token, id, secret := get("COMMERCE_TOKEN"), get("COMMERCE_CLIENT_ID"), get("COMMERCE_CLIENT_SECRET")
	where := cmp.Or(e.from, "the environment")
	switch {
	case token != "" && (id != "" || secret != ""):
		return nil, usagef("%s: COMMERCE_TOKEN must not be set together with COMMERCE_CLIENT_ID or "+
			"COMMERCE_CLIENT_SECRET", where)
	case s.address == "" || token == "" && (id == "" || secret == ""):
		return nil, usagef("%s", where+noStore)
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
		text := strings.NewReplacer("base URL", "COMMERCE_BASE_URL", "client id", "COMMERCE_CLIENT_ID",
			"client secret", "COMMERCE_CLIENT_SECRET", "token must", "COMMERCE_TOKEN must",
			" (plain http to another machine needs WithInsecureHTTP)", "").Replace(err.Error())
		return nil, usagef("%s: %s", where, text)
	}
	s.Client, s.identity = client, fmt.Sprintf("%x", sha256.Sum256([]byte(s.address+"\n"+id)))
	return s, nil
}

// shopAt returns a shop without a client.
func (e *environment) shopAt(address string, transport http.RoundTripper) *shop {
	s := &shop{environment: e, address: address, transport: transport}
	s.settings = func(ctx context.Context) (*commerce.Settings, error) { return s.Settings(ctx) }
	return s
}

// sharing returns the lock of carts and the rate limit that the services of the store use, if
// COMMERCE_REDIS_URL is set.
func (e *environment) sharing(ctx context.Context) ([]commerce.Option, error) {
	address := strings.TrimSpace(e.getenv("COMMERCE_REDIS_URL"))
	if address == "" {
		return nil, nil
	}
	rate, err := strconv.ParseFloat(cmp.Or(strings.TrimSpace(e.getenv("COMMERCE_RATE")), "22.5"), 64)
	if err != nil {
		return nil, usagef("COMMERCE_RATE must be a number of requests a second")
	}
	server, err := openRedis(ctx, address)
	if err != nil {
		return nil, err
	}
	context.AfterFunc(ctx, func() { _ = server.Close() })
	limiter, err1 := rediscommerce.NewLimiter(server, rediscommerce.LimiterConfig{PerSecond: rate})
	locker, err2 := rediscommerce.NewLocker(server, rediscommerce.LockerConfig{})
	if errors.Join(err1, err2) != nil {
		return nil, usagef("COMMERCE_RATE must be a number of requests a second that is above 0")
	}
	return []commerce.Option{commerce.WithLimiter(limiter), commerce.WithCartLocker(locker)}, nil
}

// openRedis returns a client of a single server, or of a cluster: if the URL has other addresses,
// or the server says that it belongs to one.
func openRedis(ctx context.Context, address string) (redis.UniversalClient, error) {
	if cluster, err := redis.ParseClusterURL(address); err == nil && len(cluster.Addrs) > 1 {
		return redis.NewClusterClient(cluster), nil
	}
	o, err := redis.ParseURL(address)
	if err != nil {
		return nil, usagef("COMMERCE_REDIS_URL must be like redis://localhost:6379")
	}
	server := redis.NewClient(o)
	limited, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	info, err := server.Info(limited, "cluster").Result()
	switch {
	case err != nil && !is[redis.Error](err): // a server may refuse INFO
		_ = server.Close()
		text := "the server of COMMERCE_REDIS_URL does not respond\n  to do: check the variable, and whether the server runs"
		return nil, cmp.Or(ctx.Err(), errors.New(text))
	case strings.Contains(info, "cluster_enabled:1"):
		_ = server.Close()
		return redis.NewClusterClient(&redis.ClusterOptions{
			Addrs: []string{o.Addr}, Username: o.Username, Password: o.Password, TLSConfig: o.TLSConfig,
			DialTimeout: o.DialTimeout, ReadTimeout: o.ReadTimeout, WriteTimeout: o.WriteTimeout,
		}), nil
	}
	return server, nil
}

//go:embed demo.json
var demo []byte

// openDemo returns a fake store that is the same each time, with the cart "demo".
func (e *environment) openDemo(ctx context.Context, opts []commerce.Option) (*shop, error) {
	fake := commercetest.NewStore(commercetest.Config{})
	fake.Seed(2500)
	s := e.shopAt("https://store.example", fake.Transport())
	s.Client, s.credentials, s.identity, s.identified = fake.Client(), "the token of the fake store", "demo", true
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
