// Command example puts a discount on a cart. Any number of its processes, on any number of
// machines, share the store's rate limit and its carts.
package main

import (
	"context"
	"fmt"
	"log"
	"os"
	"os/signal"

	"github.com/redis/go-redis/v9"

	"github.com/commerce-go/commerce"
	"github.com/commerce-go/commerce/rediscommerce"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := run(ctx, os.Getenv)
	stop()
	if err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context, env func(string) string) error {
	options, err := redis.ParseURL(env("REDIS_URL")) // redis://localhost:6379
	if err != nil {
		return err
	}
	server := redis.NewClient(options)
	defer func() { _ = server.Close() }()

	limiter, err := rediscommerce.NewLimiter(server, rediscommerce.LimiterConfig{
		PerSecond: 90, // 90 % of the 100 of a production store; 22.5 for a development store with 25
		IfUnavailable: func(_ context.Context, err error) error {
			log.Print("without the shared limit: ", err)
			return nil // rather a 429 than no call
		},
	})
	if err != nil {
		return err
	}
	locker, err := rediscommerce.NewLocker(server, rediscommerce.LockerConfig{}) // no lock, no write
	if err != nil {
		return err
	}
	client, err := commerce.New(env("COMMERCE_BASE_URL"), commerce.WithToken(env("COMMERCE_TOKEN")),
		commerce.WithLimiter(limiter), commerce.WithCartLocker(locker),
		commerce.WithRetry(commerce.RetryPolicy{MaxAttempts: 8, MaxRefusals: 12}))
	if err != nil {
		return err
	}
	want := func(context.Context, *commerce.Cart) ([]commerce.NewCustomDiscount, error) {
		return []commerce.NewCustomDiscount{{
			Amount: commerce.NewDecimal(-1000), Description: "Ten dollars off", DiscountCode: "TEN-OFF", ExternalID: "promo-1",
		}}, nil
	}
	opts := &commerce.SetCustomDiscountsOptions{Engine: "redis-example"}
	result, err := client.Carts.SetCustomDiscounts(ctx, env("CART_ID"), want, opts)
	if err != nil {
		return err
	}
	fmt.Println(len(result.Discounts), "on the cart,", len(result.Added), "added by this call")
	return nil
}
