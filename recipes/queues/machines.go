package queues

import (
	"github.com/redis/go-redis/v9"

	"github.com/commerce-go/commerce"
	"github.com/commerce-go/commerce/rediscommerce"
)

// Share sets the Client and the Locker of a machine, whose Grace is set. All machines whose Redis
// server is the same share the store's rate limit, and no two of them work on one cart.
// rediscommerce/README.md has the details.
func (c *Carts) Share(server redis.UniversalClient, baseURL string, opts ...commerce.Option) error {
	limiter, err := rediscommerce.NewLimiter(server, rediscommerce.LimiterConfig{
		PerSecond: 90, // 90 % of the 100 of a production store
	})
	if err != nil {
		return err
	}
	locker, err := rediscommerce.NewLocker(server, rediscommerce.LockerConfig{Expiry: 2 * c.Grace})
	if err != nil {
		return err
	}
	c.Locker = locker
	c.Client, err = commerce.New(baseURL,
		append([]commerce.Option{commerce.WithLimiter(limiter), commerce.WithCartLocker(locker)}, opts...)...)
	return err
}
