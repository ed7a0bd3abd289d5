package ensure_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"sync"
	"time"

	"github.com/commerce-go/commerce"
	"github.com/commerce-go/commerce/commercetest"
)

// childVariable is the environment variable that turns the test into a child process. It
// holds a childConfig.
const childVariable = "ENSURE_CHAOS_CHILD"

// childConfig says what a child process does.
type childConfig struct {
	URL      string
	Seed     uint64
	Carts    []cart
	Scenario scenario
}

// runChild makes calls until the process is killed, or the standard input ends because the parent
// died.
func runChild(config string) (code int) {
	var cfg childConfig
	err := json.Unmarshal([]byte(config), &cfg)
	client, err2 := commerce.New(cfg.URL, commerce.WithToken(commercetest.DefaultToken), impatient)
	if err := errors.Join(err, err2); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 2
	}
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		stop()
	}()
	var running sync.WaitGroup
	for worker := range uint64(4) { // so that turns matter too
		running.Go(func() {
			r := rand.New(rand.NewPCG(cfg.Seed, worker))
			for ctx.Err() == nil {
				cfg.call(ctx, client, r)
			}
		})
	}
	running.Wait()
	return 0
}

// call makes one call on a random cart with random options. What calls return is checked
// in TestChaos_shop and TestExhaustive.
func (cfg *childConfig) call(ctx context.Context, client *commerce.Client, r *rand.Rand) {
	c := cfg.Carts[r.IntN(len(cfg.Carts))]
	if r.IntN(5) == 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, time.Duration(1+r.IntN(300))*time.Millisecond)
		defer cancel()
	}
	_, _ = client.Carts.EnsureCustomDiscounts(ctx, c.ID, c.Want, cfg.Scenario.options(r))
}

// options returns random options that the scenario allows.
func (sc scenario) options(r *rand.Rand) *commerce.EnsureCustomDiscountsOptions {
	return &commerce.EnsureCustomDiscountsOptions{
		Update: sc.Update && r.IntN(2) == 0, Prune: sc.Prune && r.IntN(2) == 0, AllOrNothing: r.IntN(4) == 0,
		Enable: true,
		Settle: time.Duration(1 + r.Int64N(int64(maxDelay))),
	}
}
