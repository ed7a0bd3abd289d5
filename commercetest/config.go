package commercetest

import (
	"fmt"
	"net/http"
	"time"
)

// The credentials of a store whose [Config] does not set them.
const (
	DefaultClientID     = "commercetest-id"
	DefaultClientSecret = "commercetest-secret"
	DefaultToken        = "commercetest-token"
)

// Generation is a generation of the payload of subscriptions. It decides what
// [Store.Seed] makes, and what a list may include.
type Generation uint8

const (
	// FirstGeneration is that of the specification: a list includes plans and products.
	FirstGeneration Generation = iota
	// SecondGeneration is what the live service sends since August 2025: a list
	// includes plans, which hold what products held, and pricing_options, which
	// hold what plans held.
	SecondGeneration
)

// Config sets up a [Store]. Zero fields mean the defaults.
type Config struct {
	// Generation of the payload. Default: FirstGeneration.
	Generation Generation

	// ClientID and ClientSecret that the token endpoint accepts. Defaults:
	// DefaultClientID and DefaultClientSecret.
	ClientID, ClientSecret string
	// Token is a bearer token that is accepted besides those issued, and does not
	// expire. Default: DefaultToken.
	Token string
	// TokenLife is how long an issued token is accepted. Default: one hour. Clients
	// are told whole seconds, rounded down.
	TokenLife time.Duration

	// PageLength is the number of subscriptions in a page when the request does
	// not say, 1 to 100. Default 25.
	PageLength int

	// AddStatus is the status when discounts are added, all or some: 201, as newer
	// documents of the service have it, or 200, as older ones. Default 201.
	AddStatus int
	// CartDiscountLimit is the highest number of discounts on a cart, those on its
	// items not counted. Default 5. Negative: custom discounts are not enabled, and
	// every request for them is refused.
	CartDiscountLimit int
	// ItemDiscountLimit is the highest number of discounts on one item of a cart.
	// Default 5. Negative: no item takes any.
	ItemDiscountLimit int

	// RateLimit is the number of requests a second that are let through, at most a
	// million. All count but those to the token endpoint. What goes beyond gets a
	// 429 with a line of plain text, has no other effect, and counts for nothing.
	// 0: no limit.
	RateLimit int
	// RateBurst is the number of requests that are let through at once, after a
	// time without any; at most a million. Default: RateLimit.
	RateBurst int
	// RetryAfter is what the Retry-After header of a 429 asks for, in whole seconds,
	// rounded up. 0: there is no such header, as the service documents none.
	RetryAfter time.Duration

	// AfterRequest is called with each request, whatever became of it, when it has
	// taken effect and before its answer goes out. It may use the store, and so
	// change the list between the pages of a walk; but for Close, which waits for the
	// answer. It is called from where the
	// request is answered, so by several goroutines at a time where requests are
	// concurrent. in is its own copy.
	AfterRequest func(s *Store, in Request)
}

// check panics if a field is out of its range.
func (c Config) check() {
	const most = 1_000_000
	for _, field := range []struct {
		ok   bool
		want string
	}{
		{c.Generation <= SecondGeneration, "Generation must be FirstGeneration or SecondGeneration"},
		{c.TokenLife >= 0, "TokenLife must not be negative"},
		{c.PageLength >= 0 && c.PageLength <= maxPageLimit, fmt.Sprintf("PageLength must be 1 to %d, or 0 for the default", maxPageLimit)},
		{c.AddStatus == 0 || c.AddStatus == http.StatusOK || c.AddStatus == http.StatusCreated, "AddStatus must be 200 or 201, or 0 for the default"},
		{c.RateLimit >= 0 && c.RateLimit <= most, fmt.Sprintf("RateLimit must be 1 to %d, or 0 for none", most)},
		{c.RateBurst >= 0 && c.RateBurst <= most, fmt.Sprintf("RateBurst must be 1 to %d, or 0 for the default", most)},
		{c.RetryAfter >= 0, "RetryAfter must not be negative"},
	} {
		if !field.ok {
			panic("commercetest: Config." + field.want)
		}
	}
}

func (c Config) withDefaults() Config {
	for _, text := range []struct {
		field *string
		value string
	}{{&c.ClientID, DefaultClientID}, {&c.ClientSecret, DefaultClientSecret}, {&c.Token, DefaultToken}} {
		if *text.field == "" {
			*text.field = text.value
		}
	}
	for _, number := range []struct {
		field *int
		value int
	}{
		{&c.PageLength, 25}, {&c.AddStatus, http.StatusCreated}, {&c.CartDiscountLimit, 5}, {&c.ItemDiscountLimit, 5},
		{&c.RateBurst, c.RateLimit},
	} {
		if *number.field == 0 {
			*number.field = number.value
		}
	}
	if c.TokenLife == 0 {
		c.TokenLife = time.Hour
	}
	return c
}
