//go:build unix

package rediscommerce_test

import (
	"context"
	"crypto/fips140"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/alicebob/miniredis/v2/server"
	"github.com/redis/go-redis/v9"

	"github.com/commerce-go/commerce"
	"github.com/commerce-go/commerce/commercetest"
	"github.com/commerce-go/commerce/rediscommerce"
	"github.com/commerce-go/commerce/rediscommerce/internal/redistest"
)

// A server that cannot be used ends a call as not sent, within its deadline, or lets it go on.
func TestUnavailable(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name   string
		server func(t *testing.T) redis.UniversalClient
		option func(t *testing.T, c redis.UniversalClient, f ifUnavailable) commerce.Option
		want   string // in the error of IfUnavailable
	}{
		{name: "refused", server: refusing, option: limiting, want: "connection refused"},
		{name: "refused, locker", server: refusing, option: locking, want: "connection refused"},
		{name: "hangs", server: hanging, option: limiting, want: "did not respond in time"},
		{name: "hangs, locker", server: hanging, option: locking, want: "did not respond in time"},
		{name: "hangs, heeds contexts", server: hangingAndHeeding, option: limiting, want: "did not respond in time"},
		{name: "closed", server: closing, option: limiting, want: "connection"},
		{name: "closed, locker", server: closing, option: locking, want: "connection"},
		{name: "client closed", server: closedClient, option: locking, want: "the client is closed"},
		{name: "not allowed", server: forbidding, option: limiting, want: "ERR to TIME: its user must be allowed"},
		{name: "not allowed, locker", server: forbidding, option: locking, want: "ERR to INFO: its user must be allowed"},
		{name: "no scripts", server: withoutScripts, option: locking, want: "NOPERM to EVALSHA: its user must be allowed"},
		{name: "other data", server: otherData, option: limiting, want: "WRONGTYPE to ZRANGE"},
		{name: "other data, locker", server: otherData, option: locking, want: "WRONGTYPE to HGET"},
		{name: "no INFO", server: withoutINFO, option: locking, want: "ERR to INFO"},
		{name: "INFO without run_id", server: withoutID, option: locking, want: "must show run_id"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			client := tt.server(t)
			for _, mode := range []string{"ends", "goes on", "ends in its own error"} {
				var got error
				decide := func(_ context.Context, err error) error {
					got = err
					return map[string]error{"ends": err, "ends in its own error": errOwn}[mode]
				}
				err := call(t, tt.option(t, client, decide))
				checkUnavailable(t, mode, err)
				if got == nil || !strings.Contains(got.Error(), tt.want) || strings.Contains(got.Error(), "127.0.0.1") ||
					strings.Contains(got.Error(), "/socket") || errors.Is(got, context.DeadlineExceeded) {
					t.Errorf("%s: IfUnavailable got %v, want %q, no address and no error of a context", mode, got, tt.want)
				}
			}
			err := call(t, tt.option(t, client, nil))
			if commerce.OutcomeOf(err) != commerce.OutcomeNotSent || !errors.Is(err, rediscommerce.ErrUnavailable) {
				t.Errorf("without IfUnavailable: got %v, want ErrUnavailable with the outcome not sent", err)
			}
			if !strings.Contains(err.Error(), tt.want) || strings.Contains(err.Error(), "/socket") {
				t.Errorf("the text is %v, want %q and no address", err, tt.want)
			}
			if errors.Is(err, commerce.ErrConnection) || errors.Is(err, commerce.ErrTimeout) {
				t.Errorf("%v looks like an error of the service", err)
			}
		})
	}
}

// callDeadline is far away: a server that hangs must look as if it did, also on a busy machine, and
// others must not. TestTimeout has the exact times.
const callDeadline = 2 * maxWait

type ifUnavailable = func(ctx context.Context, err error) error

func limiting(t *testing.T, c redis.UniversalClient, f ifUnavailable) commerce.Option {
	t.Helper()
	l, err := rediscommerce.NewLimiter(c, rediscommerce.LimiterConfig{
		PerSecond: 1000, Timeout: timeoutOf(c), IfUnavailable: f,
	})
	if err != nil {
		t.Fatal(err)
	}
	return commerce.WithLimiter(l)
}

func locking(t *testing.T, c redis.UniversalClient, f ifUnavailable) commerce.Option {
	t.Helper()
	l, err := rediscommerce.NewLocker(c, rediscommerce.LockerConfig{
		Expiry: expiry, Timeout: timeoutOf(c), IfUnavailable: f,
	})
	if err != nil {
		t.Fatal(err)
	}
	return commerce.WithCartLocker(l)
}

// hung is a client of a server that hangs.
type hung struct{ redis.UniversalClient }

func timeoutOf(c redis.UniversalClient) time.Duration {
	if _, ok := c.(hung); ok {
		return 200 * time.Millisecond
	}
	return maxWait
}

// call adds a discount to a cart, in memory.
func call(t *testing.T, opt commerce.Option) error {
	t.Helper()
	store := commercetest.New(t, commercetest.Config{DiscountsEnabled: true})
	ctx, cancel := context.WithTimeout(t.Context(), callDeadline)
	defer cancel()
	_, err := store.Client(opt).Carts.AddCustomDiscounts(ctx, store.AddCart(commerce.CartItemRef{}), wanted(1), nil)
	if sent := len(store.Requests()) > 0; sent != (err == nil) {
		t.Errorf("sent %t, but the error is %v", sent, err)
	}
	return err
}

// checkUnavailable checks the error of a call whose IfUnavailable is in a mode.
func checkUnavailable(t *testing.T, mode string, err error) {
	t.Helper()
	switch {
	case mode == "goes on" && err != nil:
		t.Errorf("%s: got %v, want no error", mode, err)
	case mode != "goes on" && commerce.OutcomeOf(err) != commerce.OutcomeNotSent:
		t.Errorf("%s: got %v with the outcome %v, want not sent", mode, err, commerce.OutcomeOf(err))
	case (mode == "ends in its own error") != errors.Is(err, errOwn):
		t.Errorf("%s: errors.Is(%v, %v) = %t", mode, err, errOwn, errors.Is(err, errOwn))
	}
}

func refusing(t *testing.T) redis.UniversalClient {
	t.Helper()
	return redistest.Client(t, "127.0.0.1:1")
}

func hanging(t *testing.T) redis.UniversalClient {
	t.Helper()
	s := redistest.Start(t)
	s.Pause(t)
	return hung{s.Client(t)}
}

func hangingAndHeeding(t *testing.T) redis.UniversalClient {
	t.Helper()
	s := redistest.Start(t)
	s.Pause(t)
	c := redis.NewClient(&redis.Options{Addr: s.Addr, ContextTimeoutEnabled: true})
	t.Cleanup(func() { _ = c.Close() })
	return hung{c}
}

func closing(t *testing.T) redis.UniversalClient {
	t.Helper()
	p := redistest.NewProxy(t, redistest.Start(t).Addr)
	p.Refuse()
	return redistest.Client(t, p.Addr)
}

func closedClient(t *testing.T) redis.UniversalClient {
	t.Helper()
	c := redistest.Client(t, "127.0.0.1:1")
	_ = c.Close()
	return c
}

func forbidding(t *testing.T) redis.UniversalClient {
	t.Helper()
	s := redistest.Start(t)
	must(t, s.Client(t).Do(t.Context(), "ACL", "SETUSER", "default", "-info", "-time"))
	return s.Client(t)
}

func withoutScripts(t *testing.T) redis.UniversalClient {
	t.Helper()
	s := redistest.Start(t)
	must(t, s.Client(t).Do(t.Context(), "ACL", "SETUSER", "default", "-evalsha"))
	return s.Client(t)
}

func withoutINFO(t *testing.T) redis.UniversalClient {
	t.Helper()
	return redistest.Client(t, runMini(t).Addr())
}

// runMini runs miniredis, which computes SHA-1.
func runMini(t *testing.T) (s *miniredis.Miniredis) {
	t.Helper()
	fips140.WithoutEnforcement(func() { s = miniredis.RunT(t) })
	return s
}

func otherData(t *testing.T) redis.UniversalClient {
	t.Helper()
	c := redistest.Start(t).Client(t)
	must(t, c.Set(t.Context(), "commerce/limit", "other", 0))
	must(t, c.Set(t.Context(), locksKey, "other", 0))
	return c
}

// withoutID returns a client of a server that does not say which it is: no real one is like that.
func withoutID(t *testing.T) redis.UniversalClient {
	t.Helper()
	s := runMini(t)
	s.Server().SetPreHook(func(c *server.Peer, cmd string, _ ...string) bool {
		if cmd == "INFO" {
			c.WriteBulk("# Server\r\n")
		}
		return cmd == "INFO"
	})
	return redistest.Client(t, s.Addr())
}
