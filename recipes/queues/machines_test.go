package queues

import (
	"sync"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	redisserver "github.com/alicebob/miniredis/v2/server"
	"github.com/redis/go-redis/v9"

	"github.com/commerce-go/commerce"
	"github.com/commerce-go/commerce/commercetest"
)

// Two machines work on one cart, one after the other. The first lock of a server takes 1.8 Grace.
func TestShare(t *testing.T) {
	t.Parallel()
	s := newShop(t, commerce.CartItemRef{})
	server := miniredis.RunT(t)
	server.Server().SetPreHook(func(c *redisserver.Peer, cmd string, _ ...string) bool {
		if cmd == "INFO" { // which miniredis does not have
			c.WriteBulk("run_id:1\r\nmaster_replid:1\r\n")
		}
		return cmd == "INFO"
	})
	store := commercetest.New(t, commercetest.Config{LoseOverlappingWrites: true})
	s.store, s.cart = store, store.AddCart(commerce.CartItemRef{})
	s.set(-1, -2, -3)
	s.carts.Grace = time.Second
	var running sync.WaitGroup
	for range 2 {
		client := redis.NewClient(&redis.Options{Addr: server.Addr()})
		t.Cleanup(func() { _ = client.Close() })
		machine := *s.carts
		if err := machine.Share(client, store.URL(), commerce.WithToken(commercetest.DefaultToken)); err != nil {
			t.Fatal(err)
		}
		running.Go(func() {
			if err := machine.ensure(t.Context(), s.cart); err != nil {
				t.Error(err)
			}
		})
	}
	running.Wait()
	if got := s.amounts(); got != "-1 -2 -3" {
		t.Errorf("the cart has %q, want each discount once", got)
	}
	adds := 0
	for _, in := range store.Requests() {
		if in.Operation == commercetest.OpAdd {
			adds++
		}
	}
	if adds != 1 {
		t.Errorf("%d adds, want one: the second machine finds the discounts", adds)
	}
}
