package otelcommerce_test

import (
	"context"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	tracenoop "go.opentelemetry.io/otel/trace/noop"

	"github.com/commerce-go/commerce"
	"github.com/commerce-go/commerce/commercetest"
	"github.com/commerce-go/commerce/otelcommerce"
)

// rule is an alert of README.md.
type rule struct {
	name, expr string
	pending    time.Duration // how long the expression must hold
}

func readRules(t *testing.T) (rules []rule) {
	t.Helper()
	page, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	yaml := regexp.MustCompile(`(?m)^- alert: (\w+)\n  expr: \|\n((?:    .*\n)+)(?:  for: (\w+)\n)?`)
	for _, m := range yaml.FindAllStringSubmatch(string(page), -1) {
		expr := strings.ReplaceAll(strings.Join(strings.Fields(m[2]), " "), "( ", "(")
		pending, _ := time.ParseDuration(m[3]) // no "for": 0
		rules = append(rules, rule{m[1], expr, pending})
	}
	if len(rules) != 2 {
		t.Fatalf("README.md has the rules %v, want two", rules)
	}
	return rules
}

// interval is the time between two scrapes.
const interval = 30 * time.Second

// scrapes are what Prometheus reads of commerce.client.call.duration, the last one last: the counts
// by attributes.
type scrapes []map[string]float64

func (e *exported) scrape(t *testing.T) map[string]float64 {
	t.Helper()
	counts := map[string]float64{}
	for attrs, value := range e.metrics(t)["commerce.client.call.duration s"] {
		count, _, _ := strings.Cut(value, " in ")
		counts[attrs], _ = strconv.ParseFloat(count, 64)
	}
	return counts
}

// before returns the scrape of some time before the last one; nil if there was none.
func (s scrapes) before(age time.Duration) map[string]float64 {
	if i := len(s) - 1 - int(age/interval); i >= 0 {
		return s[i]
	}
	return nil
}

var matcher = regexp.MustCompile(`(\w+)(=|!=|=~|!~)"([^"]*)"`)

// selects reports whether a selector of PromQL selects the attributes.
func selects(selector, attrs string) bool {
	values := map[string]string{}
	for attr := range strings.SplitSeq(attrs, ",") {
		key, value, _ := strings.Cut(attr, "=")
		values[strings.ReplaceAll(key, ".", "_")] = value
	}
	for _, m := range matcher.FindAllStringSubmatch(selector, -1) {
		if slices.Contains(strings.Split(m[3], "|"), values[m[1]]) == strings.HasPrefix(m[2], "!") {
			return false
		}
	}
	return strings.HasPrefix(selector, "commerce_client_call_duration_seconds_count")
}

// increase is that of PromQL, without extrapolation: it does not see the first count of a series.
func (s scrapes) increase(selector, window string) (sum float64) {
	length, _ := time.ParseDuration(window)
	for attrs, now := range s.before(0) {
		for age := length; age > 0 && selects(selector, attrs); age -= interval {
			if then, ok := s.before(age)[attrs]; ok {
				sum += now - then
				break
			}
		}
	}
	return sum
}

var (
	isNew   = regexp.MustCompile(`^(\S+) > \((\S+) offset (\w+) or (\S+) \* 0\)$`)
	isShare = regexp.MustCompile(`^sum\(increase\((\S+)\[(\w+)\]\)\) / sum\(increase\((\S+)\[(\w+)\]\)\) > (\S+)$`)
)

// holds evaluates an expression that has one of the two forms.
func (s scrapes) holds(t *testing.T, expr string) bool {
	t.Helper()
	if m := isShare.FindStringSubmatch(expr); m != nil {
		limit, _ := strconv.ParseFloat(m[5], 64)
		return s.increase(m[1], m[2])/s.increase(m[3], m[4]) > limit // NaN is not
	}
	m := isNew.FindStringSubmatch(expr)
	if m == nil || m[2] != m[1] || m[4] != m[1] {
		t.Fatalf("the test cannot evaluate %s", expr)
	}
	age, _ := time.ParseDuration(m[3])
	for attrs, now := range s.before(0) {
		if selects(m[1], attrs) && now > s.before(age)[attrs] {
			return true
		}
	}
	return false
}

// trouble is what happens to calls, from begin on.
type trouble struct {
	fault  commercetest.Fault
	length time.Duration // of the fault, which begins again after an hour
	empty  bool          // the cart
	leave  time.Duration // how long a customer waits; 0: to the end
	want   string        // the alerts, and when they are raised, rounded up
}

const begin = 10 * time.Minute

// The alerts of README.md are raised when they should be, within these minutes, and only then.
func TestRules(t *testing.T) {
	t.Parallel()
	unavailable, slow := commercetest.Fault{Status: 503}, commercetest.Fault{Delay: time.Hour}
	revoked, refused := commercetest.Fault{Status: 401}, commercetest.Fault{Status: 400}
	for name, tt := range map[string]trouble{
		"an outage of 30 s":    {fault: unavailable, length: 30 * time.Second, want: "map[]"},
		"an outage":            {fault: unavailable, length: time.Hour, want: "map[StoreFails:7m0s]"},
		"no responses":         {fault: slow, length: time.Hour, want: "map[StoreFails:10m0s]"},
		"customers who leave":  {fault: slow, length: time.Hour, leave: time.Second, want: "map[]"},
		"a day of empty carts": {length: 24 * time.Hour, empty: true, want: "map[]"},
		"a revoked credential": {fault: revoked, length: time.Hour, want: "map[StoreNeedsStaff:1m0s]"},
		"one refused call":     {fault: refused, length: time.Second, want: "map[StoreNeedsStaff:1m0s]"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, tt.check)
		})
	}
}

func (tt trouble) check(t *testing.T) {
	e, store, start := newExported(), commercetest.New(t, commercetest.Config{DiscountsEnabled: true}), time.Now()
	tt.fault.Times = -1
	tt.fault.Match = func(commercetest.Request) bool {
		age := time.Since(start) - begin
		return age >= 0 && age%time.Hour < tt.length
	}
	store.Inject(tt.fault)
	cart := store.AddCart(commerce.CartItemRef{})
	if tt.empty {
		cart = store.AddCart()
	}
	client := store.Client(commerce.WithObserver(otelcommerce.New(tracenoop.NewTracerProvider(), e.meters)), credentials)
	var s scrapes
	rules, since, raised := readRules(t), map[string]time.Time{}, map[string]time.Duration{}
	for time.Since(start) < begin+max(tt.length, time.Hour)+begin {
		go func() {
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			if tt.leave > 0 {
				defer time.AfterFunc(tt.leave, cancel).Stop()
			}
			_, _ = client.Carts.EnsureCustomDiscounts(ctx, cart, discounts("a"), nil)
			_ = callList(ctx, client)
		}()
		time.Sleep(interval)
		s = append(s, e.scrape(t))
		for _, r := range rules {
			if !s.holds(t, r.expr) {
				delete(since, r.name)
				continue
			}
			if since[r.name].IsZero() {
				since[r.name] = time.Now()
			}
			if raised[r.name] == 0 && time.Since(since[r.name]) >= r.pending {
				raised[r.name] = (time.Since(start) - begin).Truncate(time.Minute) + time.Minute
			}
		}
	}
	if got := fmt.Sprint(raised); got != tt.want {
		t.Errorf("got the alerts %s, want %s", got, tt.want)
	}
}
