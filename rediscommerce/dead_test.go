//go:build unix

package rediscommerce_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/commerce-go/commerce"
	"github.com/commerce-go/commerce/rediscommerce"
	"github.com/commerce-go/commerce/rediscommerce/internal/redistest"
)

// All calls that wait for one lock end together when the server dies: after Timeout without a
// response, however it dies and however many they are.
func TestLocker_deadServer(t *testing.T) {
	t.Parallel()
	const timeout = time.Second
	for _, tt := range []struct {
		name string
		die  func(t *testing.T, s *redistest.Server, p *redistest.Proxy)
	}{
		{name: "killed", die: func(_ *testing.T, s *redistest.Server, p *redistest.Proxy) { s.Kill(); p.Cut() }},
		{name: "closed", die: func(_ *testing.T, _ *redistest.Server, p *redistest.Proxy) { p.Refuse() }},
		{name: "stalled", die: func(t *testing.T, s *redistest.Server, _ *redistest.Proxy) { t.Helper(); s.Pause(t) }},
	} {
		for _, waiters := range []int{20, 200} {
			t.Run(fmt.Sprintf("%s, %d", tt.name, waiters), func(t *testing.T) {
				t.Parallel()
				s := redistest.Start(t)
				open(t, s.Client(t))
				late := lateness(t, redistest.Start(t).Client(t))
				p := redistest.NewProxy(t, s.Addr)
				other, cancelOther := context.WithCancel(t.Context())
				_, unlock, err := newLockerOf(t, s.Client(t), long).Lock(other, cart) // another process
				if err != nil {
					t.Fatal(err)
				}
				defer unlock()
				defer cancelOther() // unlock does not wait
				l, err := rediscommerce.NewLocker(redistest.Client(t, p.Addr),
					rediscommerce.LockerConfig{Expiry: long, Timeout: timeout})
				if err != nil {
					t.Fatal(err)
				}
				ctx, cancel := context.WithTimeout(t.Context(), 4*maxWait)
				defer cancel()
				var begun, running sync.WaitGroup
				begun.Add(waiters)
				for range waiters {
					running.Go(func() {
						begun.Done()
						if _, _, err := l.Lock(ctx, cart); commerce.ReasonOf(err) == "" || ctx.Err() != nil {
							t.Errorf("Lock() = %v, want an error before the deadline", err)
						}
					})
				}
				begun.Wait()
				<-time.After(300 * time.Millisecond) // the server responds
				_ = late()
				start := time.Now()
				tt.die(t, s, p)
				running.Wait()
				if took, most := time.Since(start), timeout+500*time.Millisecond+late(); took > most {
					t.Errorf("the last call ended after %v, want at most %v", took, most)
				}
			})
		}
	}
}
