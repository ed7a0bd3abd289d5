package main

import (
	"context"
	"crypto/fips140"
	"errors"
	"maps"
	"math/rand/v2"
	"net/http"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"

	"github.com/commerce-go/commerce"
	"github.com/commerce-go/commerce/commercetest"
)

// TestDay plays DAYS (8) days of a shop with two replicas: customers look at carts, enter codes,
// change items, and pay in two tabs; requests and responses are lost or late, and replicas are
// killed. Each reference has at most one order, and whoever paid has an order of the price that the
// page showed.
func TestDay(t *testing.T) {
	t.Parallel()
	if fips140.Enabled() {
		t.Skip("with FIPS 140, the clock of a bubble has no entropy for references")
	}
	days, seed := 8, rand.Uint64()
	if testing.Short() {
		days = 1
	}
	for name, set := range map[string]func(string) error{
		"DAYS":     func(s string) (err error) { days, err = strconv.Atoi(s); return err },
		"DAY_SEED": func(s string) (err error) { seed, err = strconv.ParseUint(s, 10, 64); return err },
	} {
		if s := os.Getenv(name); s != "" {
			if err := set(s); err != nil {
				t.Fatal(name, err)
			}
		}
	}
	total := map[string]int{}
	for n := range days {
		synctest.Test(t, func(t *testing.T) {
			d := newDay(rand.New(rand.NewPCG(seed, uint64(n))))
			d.play(t)
			for name, count := range d.counts {
				total[name] += count
			}
		})
		if t.Failed() {
			t.Fatalf("DAY_SEED=%d, day %d", seed, n)
		}
	}
	t.Logf("DAY_SEED=%d, %d days: %v", seed, days, total)
	for _, name := range []string{"requests", "views", "paid", "killed", "in doubt", "another price", "late orders"} {
		if total[name] == 0 && days >= 20 {
			t.Errorf("none of the %s: the test proves little", name)
		}
	}
}

// day is a day of a shop.
type day struct {
	r      *rand.Rand // with mu
	store  *commercetest.Store
	locker *commercetest.Locker

	mu     sync.Mutex
	counts map[string]int
}

func newDay(r *rand.Rand) *day {
	d := &day{r: r, locker: commercetest.NewLocker(), counts: map[string]int{}}
	d.store = commercetest.NewStore(commercetest.Config{DiscountsEnabled: true, TaxPercent: float64(r.IntN(2) * 19)})
	return d
}

func (d *day) intN(n int) int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.r.IntN(n)
}

func (d *day) count(name string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.counts[name]++
}

// faults are what may become of a request. A late one comes within 10 s.
var faults = []commercetest.Fault{
	{Status: 503}, {Status: 503, Apply: true}, {Status: 504, Late: true, Delay: 7 * time.Second},
	{Cut: true}, {Cut: true, Apply: true}, {Cut: true, CutAfter: 30, Apply: true},
	{Cut: true, Late: true, Delay: 5 * time.Second}, {Status: 429}, {Body: "<html>back soon</html>", Status: 200},
	{Delay: 2 * time.Second}, {Apply: true, Delay: 2 * time.Second},
}

func (d *day) play(t *testing.T) {
	t.Helper()
	defer d.store.Close()
	for i := range faults {
		f := faults[i]
		f.Times, f.Match = -1, func(commercetest.Request) bool { return d.intN(100) < 2 }
		d.store.Inject(f)
	}
	var customers sync.WaitGroup
	for range 10 {
		customers.Go(func() { d.buy(t) })
	}
	customers.Wait()
	time.Sleep(time.Minute)
	d.mu.Lock()
	defer d.mu.Unlock()
	d.counts["requests"] = len(d.store.Requests())
}

// page is what a tab of a customer shows.
type page struct {
	price commerce.Money
	ref   string
}

// buy lets a customer look at a cart until the order is placed, or the customer has enough.
func (d *day) buy(t *testing.T) {
	t.Helper()
	cartID := d.store.AddCart(commerce.CartItemRef{ID: uuid.New()}, commerce.CartItemRef{ID: uuid.New()})
	paid, tried, ref := map[string]commerce.Money{}, map[string]bool{}, newRef()
	for range 6 {
		time.Sleep(time.Duration(d.intN(30)) * time.Second)
		shown := page{ref: ref}
		if !d.serve(func(s *shop) (err error) {
			shown.price, err = s.view(t.Context(), cartID)
			return err
		}) {
			continue
		}
		d.count("views")
		tried[shown.ref] = true
		if d.intN(4) == 0 { // in another tab
			d.store.AddDiscount(cartID, commerce.CustomDiscount{
				Amount: commerce.Money{Amount: commerce.NewDecimal(-100)}, DiscountEngine: "loyalty", ExternalID: uuid.NewString(),
			})
		}
		for range 1 + d.intN(3) { // clicks, again after an error
			prices, isOther := d.click(t, cartID, shown)
			if len(prices) > 0 {
				paid[ref] = prices[0]
			}
			if isOther || len(prices) > 0 {
				ref = newRef() // for another price, or the next order
				break
			}
		}
	}
	orders := map[string][]commercetest.Order{}
	for _, o := range d.store.Orders() {
		if o.CartID == cartID {
			orders[o.ExternalRef] = append(orders[o.ExternalRef], o)
		}
	}
	for _, ref := range slices.Sorted(maps.Keys(tried)) {
		price, isPaid := paid[ref]
		switch list := orders[ref]; {
		case len(list) > 1:
			t.Errorf("%s has %d orders", ref, len(list))
		case isPaid && (len(list) == 0 || !list[0].Total.Amount.Equal(price.Amount)):
			t.Errorf("%s: paid %v for %+v", ref, price, list)
		}
	}
}

// click sends the form of a page once or twice, and returns what the customer paid, for each, and
// whether one of them got another price.
func (d *day) click(t *testing.T, cartID string, shown page) (paid []commerce.Money, isOther bool) {
	t.Helper()
	var clicks sync.WaitGroup
	for range 1 + d.intN(2) {
		clicks.Go(func() {
			d.serve(func(s *shop) error {
				placed, err := s.pay(t.Context(), cartID, shown.ref, shown.price)
				switch {
				case err == nil:
					d.count("paid")
					d.mu.Lock()
					paid = append(paid, placed.Meta.DisplayPrice.Total)
					d.mu.Unlock()
				case errors.Is(err, errPrice):
					d.count("another price")
					d.mu.Lock()
					isOther = true
					d.mu.Unlock()
				case commerce.RemedyOf(err) == commerce.RemedyRead:
					d.count("in doubt")
				}
				return err
			})
		})
	}
	clicks.Wait()
	return paid, isOther
}

// serve lets a replica serve a request of a customer. It reports whether there was no error. The
// replica may be killed meanwhile: then its lock stays for 10 s.
func (d *day) serve(f func(*shop) error) (ok bool) {
	d.count("calls")
	p := &replica{day: d, base: d.store.Transport(), rest: 1 << 30}
	if d.intN(10) == 0 {
		p.rest = d.intN(8)
	}
	client, err := commerce.New("https://store.example", commerce.WithToken(commercetest.DefaultToken),
		commerce.WithHTTPClient(&http.Client{Transport: p}), commerce.WithCartLocker(p))
	if err != nil {
		panic(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		ok = f(&shop{client: client, offers: tenPercent}) == nil
	}()
	<-done
	return ok
}

// replica is the transport and the lock of a process that handles one request of a customer.
type replica struct {
	*day

	base   http.RoundTripper
	rest   int // requests until it is killed
	killed bool
}

func (p *replica) RoundTrip(req *http.Request) (*http.Response, error) {
	if p.rest--; p.rest >= 0 {
		return p.base.RoundTrip(req)
	}
	p.killed = true
	p.count("killed")
	ctx := context.WithoutCancel(req.Context())
	time.AfterFunc(time.Duration(p.intN(3))*time.Second, func() { // what was sent comes late
		if resp, err := p.base.RoundTrip(req.WithContext(ctx)); err == nil {
			p.count("late requests")
			if strings.HasSuffix(req.URL.Path, "/checkout") {
				p.count("late orders")
			}
			_ = resp.Body.Close()
		}
	})
	runtime.Goexit()
	return nil, nil //nolint:nilnil // not reached
}

func (p *replica) Lock(ctx context.Context, key string) (context.Context, func(), error) {
	held, unlock, err := p.locker.Lock(ctx, key)
	return held, func() {
		if p.killed {
			time.AfterFunc(10*time.Second, unlock)
		} else {
			unlock()
		}
	}, err
}
