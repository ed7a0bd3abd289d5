package main

import (
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/commerce-go/commerce"
	"github.com/commerce-go/commerce/commercetest"
	"github.com/commerce-go/commerce/rediscommerce/internal/redistest"
)

// Several programs at once add the discount once.
func TestRun(t *testing.T) {
	t.Parallel()
	server, store := redistest.Start(t), commercetest.New(t, commercetest.Config{LoseOverlappingWrites: true})
	cart := store.AddCart(commerce.CartItemRef{})
	env := map[string]string{
		"REDIS_URL": "unix://" + server.Addr, "COMMERCE_BASE_URL": store.URL(),
		"COMMERCE_TOKEN": commercetest.DefaultToken, "CART_ID": cart,
	}
	var running sync.WaitGroup
	for range 3 {
		running.Go(func() {
			if err := run(t.Context(), func(name string) string { return env[name] }); err != nil {
				t.Error(err)
			}
		})
	}
	running.Wait()
	if got := len(store.Discounts(cart)); got != 1 {
		t.Errorf("the cart has %d discounts, want 1", got)
	}
}

// README.md shows a part of the program.
func TestREADME(t *testing.T) {
	t.Parallel()
	readme, err1 := os.ReadFile("../README.md")
	program, err2 := os.ReadFile("main.go")
	if err1 != nil || err2 != nil {
		t.Fatal(err1, err2)
	}
	_, sample, _ := strings.Cut(string(readme), "```go\n")
	if sample, _, _ = strings.Cut(sample, "```\n"); sample == "" || !strings.Contains(string(program), sample) {
		t.Errorf("this sample of README.md is not a part of main.go:\n%s", sample)
	}
}
