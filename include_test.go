package commerce_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"

	"github.com/commerce-go/commerce"
	"github.com/commerce-go/commerce/commercetest"
)

var everything = commerce.SubscriptionInclude{All: true}

// pagesOf returns the pages of each method that includes, by its name. Each reads all of a store of
// at most 25 subscriptions, walks in pages of 2.
func pagesOf(c *commerce.Client, id uuid.UUID) map[string]func(context.Context) ([]*commerce.SubscriptionPage, error) {
	opts := &commerce.SubscriptionListOptions{Include: everything, PageSize: 2, Concurrency: 8}
	return map[string]func(context.Context) ([]*commerce.SubscriptionPage, error){
		"Get": func(ctx context.Context) ([]*commerce.SubscriptionPage, error) {
			result, err := c.Subscriptions.Get(ctx, id, everything)
			if err != nil {
				return nil, err
			}
			subs := []commerce.Subscription{result.Subscription}
			return []*commerce.SubscriptionPage{{Subscriptions: subs, Included: result.Included}}, nil
		},
		"List": func(ctx context.Context) ([]*commerce.SubscriptionPage, error) {
			page, err := c.Subscriptions.List(ctx, &commerce.SubscriptionListOptions{Include: everything})
			return []*commerce.SubscriptionPage{page}, err
		},
		"Pages": func(ctx context.Context) ([]*commerce.SubscriptionPage, error) {
			return commerce.Collect(c.Subscriptions.Pages(ctx, opts))
		},
		"by account": func(ctx context.Context) ([]*commerce.SubscriptionPage, error) {
			byAccount := *opts
			byAccount.ByAccount = true
			return commerce.Collect(c.Subscriptions.Pages(ctx, &byAccount))
		},
	}
}

func isForSubscriptions(r commercetest.Request) bool {
	return r.Operation == commercetest.OpList || r.Operation == commercetest.OpSubscription
}

// includesOf returns how many requests for subscriptions had each include and status.
func includesOf(t *testing.T, s *commercetest.Store) map[string]int {
	t.Helper()
	got := map[string]int{}
	for _, r := range s.Requests() {
		if isForSubscriptions(r) {
			got[fmt.Sprint(parseQuery(t, r.RawQuery).Get("include"), " ", r.Status)]++
		}
	}
	return got
}

// Whatever its generation, a store sends the plan and the billing of each subscription. Only the
// first call of a client finds the generation out.
func TestSubscriptionInclude_all(t *testing.T) {
	t.Parallel()
	commercetest.EachGeneration(t, commercetest.Config{}, func(t *testing.T, s *commercetest.Store) {
		s.Seed(6)
		isFirst := s.Config().Generation == commercetest.FirstGeneration
		for sub := range s.Subscriptions() {
			for name := range pagesOf(s.Client(), sub.ID) {
				before := includesOf(t, s)
				c := s.Client()
				for call := range 2 {
					pages, err := pagesOf(c, sub.ID)[name](t.Context())
					if err != nil {
						t.Fatalf("%s: %v", name, err)
					}
					checkRelated(t, fmt.Sprint(name, " ", call), pages, s.Config().Generation)
				}
				got := includesOf(t, s)
				refused := got["plans,pricing_options 400"] - before["plans,pricing_options 400"]
				if want := map[bool]int{true: 1}[isFirst]; refused != want {
					t.Errorf("%s: %d requests were refused, want %d", name, refused, want)
				}
			}
			break
		}
	})
}

// checkRelated compares what pages include with what their generation has.
func checkRelated(t *testing.T, name string, pages []*commerce.SubscriptionPage, g commercetest.Generation) {
	t.Helper()
	n, isFirst := 0, g == commercetest.FirstGeneration
	for _, page := range pages {
		for i := range page.Subscriptions {
			n++
			sub := &page.Subscriptions[i]
			plan, hasPlan := page.Included.PlanOf(sub)
			option, hasOption := page.Included.PricingOptionOf(sub)
			billing, ok := page.Included.BillingOf(sub)
			if !hasPlan || plan.ID != sub.Attributes.PlanID || !ok || billing.BillingIntervalType == "" {
				t.Errorf("%s: %s has plan %+v, billing %+v, want both", name, sub.ID, plan, billing)
			}
			if hasOption == isFirst || hasOption && option.ID != sub.Attributes.PricingOptionID {
				t.Errorf("%s: %s has pricing option %+v, want one of the second generation", name, sub.ID, option)
			}
			var refs []string
			for _, product := range page.Included.ProductsOf(sub) {
				refs = append(refs, product.Attributes.ExternalRef)
			}
			diff(t, name+": references of products", refs, sub.Attributes.Offering.Meta.ExternalProductRefs)
			if hasProducts := len(refs) > 0; hasProducts != isFirst {
				t.Errorf("%s: %s has products: %t, want %t", name, sub.ID, hasProducts, isFirst)
			}
		}
	}
	if n == 0 {
		t.Errorf("%s: got no subscriptions", name)
	}
}

// A 400 for another reason is reported as it is for the second generation, and nothing is
// remembered. Other refusals are not repeated.
func TestSubscriptionInclude_allRefused(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name     string
		faults   []commercetest.Fault
		want     error
		requests int
		then     map[string]int // the requests of the next call
	}{
		{
			name: "both refused", faults: []commercetest.Fault{{Status: 400}, {Status: 400}},
			want: commerce.ErrBadRequest, requests: 2,
			then: map[string]int{"plans,pricing_options 400": 1, "plans,products 200": 1},
		},
		{
			name: "the second for another reason", faults: []commercetest.Fault{{Status: 400}, {Status: 429}},
			want: commerce.ErrRateLimited, requests: 2,
			then: map[string]int{"plans,pricing_options 400": 1, "plans,products 200": 1},
		},
		{name: "422", faults: []commercetest.Fault{{Status: 422}}, want: commerce.ErrUnprocessable, requests: 1},
		{
			name: "the page of a gateway", faults: []commercetest.Fault{{Status: 400, Body: gateway}},
			want: commerce.ErrBadRequest, requests: 1,
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := commercetest.New(t, commercetest.Config{Generation: commercetest.FirstGeneration})
			s.Seed(1)
			s.Inject(tt.faults...)
			opts := &commerce.SubscriptionListOptions{Include: everything}
			c, err := s.Client().With(attempts(1))
			if err != nil {
				t.Fatal(err)
			}
			_, err = c.Subscriptions.List(t.Context(), opts)
			if n := len(s.Requests()); !errors.Is(err, tt.want) || n != tt.requests || attemptsOf(err) != n {
				t.Errorf("got error %v after %d requests, want %v after %d", err, n, tt.want, tt.requests)
			}
			before := includesOf(t, s)
			if _, err := c.Subscriptions.List(t.Context(), opts); err != nil {
				t.Fatal(err)
			}
			for include, want := range tt.then {
				if got := includesOf(t, s)[include] - before[include]; got != want {
					t.Errorf("then: %d requests with %s, want %d", got, include, want)
				}
			}
		})
	}
}

func attemptsOf(err error) int {
	e, _ := errors.AsType[*commerce.Error](err)
	return e.Attempts
}

// Each loop over an iterator is a walk of its own.
func TestSubscriptionInclude_allOfLoops(t *testing.T) {
	t.Parallel()
	s := commercetest.New(t, commercetest.Config{Generation: commercetest.FirstGeneration})
	s.Seed(3)
	s.Inject(commercetest.Fault{Operation: commercetest.OpList, Status: 400})
	s.Inject(commercetest.Fault{Operation: commercetest.OpList, Status: 404})
	pages := s.Client().Subscriptions.Pages(t.Context(), &commerce.SubscriptionListOptions{Include: everything})
	if _, err := commerce.Collect(pages); !errors.Is(err, commerce.ErrNotFound) {
		t.Errorf("first loop: error %v, want ErrNotFound", err)
	}
	got, err := commerce.Collect(pages)
	if err != nil {
		t.Fatal(err)
	}
	checkRelated(t, "second loop", got, commercetest.FirstGeneration)
}

// A later page of a walk that is refused is not asked for with other includes.
func TestSubscriptionInclude_allRefusedLater(t *testing.T) {
	t.Parallel()
	s := commercetest.New(t, commercetest.Config{})
	s.Seed(20)
	s.Inject(commercetest.Fault{Match: isForSubscriptions, After: 2, Status: 400, Times: -1})
	opts := &commerce.SubscriptionListOptions{Include: everything, PageSize: 5}
	_, err := commerce.Collect(s.Client().Subscriptions.Pages(t.Context(), opts))
	if !errors.Is(err, commerce.ErrBadRequest) {
		t.Errorf("got error %v, want ErrBadRequest", err)
	}
	diff(t, "requests", includesOf(t, s), map[string]int{"plans,pricing_options 200": 2, "plans,pricing_options 400": 1})
}

// A store that refuses several accounts in a filter is no store of the first generation, and the
// other way round. Accounts are added without subscriptions, so that the first page is empty.
func TestSubscriptionInclude_allOfOlderStore(t *testing.T) {
	t.Parallel()
	for _, concurrency := range []int{1, 8} {
		commercetest.EachGeneration(t, commercetest.Config{}, func(t *testing.T, s *commercetest.Store) {
			s.Seed(24)
			s.AddAccount(uuid.UUID{1}) // the first one
			s.Inject(commercetest.Fault{Match: isIn, Status: 400, Times: -1})
			opts := &commerce.SubscriptionListOptions{Include: everything, ByAccount: true, Concurrency: concurrency}
			pages, err := commerce.Collect(s.Client().Subscriptions.Pages(t.Context(), opts))
			if err != nil {
				t.Fatal(err)
			}
			checkRelated(t, "pages", pages, s.Config().Generation)
			n := 0
			for _, page := range pages {
				n += len(page.Subscriptions)
			}
			diff(t, "subscriptions", n, 24)
		})
	}
}

// Copies of a client remember too, but not with other credentials: they may be of another store.
func TestSubscriptionInclude_allOfCopies(t *testing.T) {
	t.Parallel()
	s := commercetest.New(t, commercetest.Config{Generation: commercetest.FirstGeneration})
	s.Seed(1)
	c := s.Client()
	for _, tt := range []struct {
		name    string
		opts    []commerce.Option
		refused int // requests
	}{
		{name: "the client", refused: 1},
		{name: "a copy", opts: []commerce.Option{attempts(1)}},
		{name: "other credentials", opts: []commerce.Option{commerce.WithToken(s.Config().Token)}, refused: 1},
	} {
		before := includesOf(t, s)["plans,pricing_options 400"]
		other, err := c.With(tt.opts...)
		if err != nil {
			t.Fatal(err)
		}
		_, err = other.Subscriptions.List(t.Context(), &commerce.SubscriptionListOptions{Include: everything})
		if got := includesOf(t, s)["plans,pricing_options 400"] - before; err != nil || got != tt.refused {
			t.Errorf("%s: %d requests refused, error %v, want %d", tt.name, got, err, tt.refused)
		}
	}
}

// A store that moved to the second generation refuses products.
func TestSubscriptionInclude_allAfterMove(t *testing.T) {
	t.Parallel()
	s := newStub(t,
		respond(400, `{}`), respond(200, `{"data":[],"links":{"next":null}}`), // the first generation
		respond(400, `{}`), respond(200, `{"data":[],"links":{"next":null}}`), // moved
		respond(200, `{"data":[],"links":{"next":null}}`),
	)
	c := s.client(t)
	for range 3 {
		if _, err := c.Subscriptions.List(t.Context(), &commerce.SubscriptionListOptions{Include: everything}); err != nil {
			t.Fatal(err)
		}
	}
	want := []string{"pricing_options", "products", "products", "pricing_options", "pricing_options"}
	diff(t, "includes", s.includes(t), want)
}

// includes returns what each request asked for besides plans.
func (s *stub) includes(t *testing.T) (includes []string) {
	t.Helper()
	for _, r := range s.sent() {
		includes = append(includes, strings.TrimPrefix(parseQuery(t, r.RawQuery).Get("include"), "plans,"))
	}
	return includes
}

// A store of the second generation refuses its includes once, by mistake. The records that it then
// sends show which generation it has.
func TestSubscriptionInclude_allRefusedByMistake(t *testing.T) {
	t.Parallel()
	record := fmt.Sprintf(`{"id":"%s","attributes":{"pricing_option_id":"%s"}}`, numberedID(1), numberedID(2))
	without := fmt.Sprintf(`{"id":"%s"}`, numberedID(3))
	for name, data := range map[string]string{"List": "[" + without + "," + record + "]", "Get": record} {
		s := newStub(t, respond(400, `{"errors":[{"title":"Bad Request"}]}`),
			respond(200, `{"data":`+data+`,"links":{"next":null}}`), respond(200, `{"data":`+data+`,"links":{"next":null}}`))
		c := s.client(t)
		for range 2 {
			if _, err := pagesOf(c, numberedID(1))[name](t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		diff(t, name+": includes", s.includes(t), []string{"pricing_options", "products", "pricing_options"})
	}
}

// While the first request of a walk is in flight, there is no other.
func TestSubscriptionInclude_allFirstRequest(t *testing.T) {
	t.Parallel()
	for name := range pagesOf(nil, uuid.Nil) {
		synctest.Test(t, func(t *testing.T) {
			s := commercetest.New(t, commercetest.Config{Generation: commercetest.FirstGeneration})
			s.Seed(20)
			s.Inject(commercetest.Fault{Match: isForSubscriptions, Delay: time.Minute})
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			_, err := pagesOf(s.Client(), numberedID(1))[name](ctx)
			if !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("%s: got error %v, want the deadline", name, err)
			}
			n := 0
			for _, r := range s.Requests() {
				if isForSubscriptions(r) {
					n++
				}
			}
			diff(t, name+": requests", n, 1)
		})
	}
}

// A store may ignore an include that it does not know. Then the plan says how it is billed.
func TestIncluded_BillingOf(t *testing.T) {
	t.Parallel()
	id, option := numberedID(1), numberedID(2)
	sub := &commerce.Subscription{Attributes: commerce.SubscriptionAttributes{PlanID: id, PricingOptionID: option}}
	monthly, yearly := commerce.Billing{BillingIntervalType: "month"}, commerce.Billing{BillingIntervalType: "year"}
	plan := []commerce.Plan{{ID: id, Attributes: commerce.PlanAttributes{Billing: monthly}}}
	options := []commerce.PricingOption{{ID: option, Attributes: commerce.PricingOptionAttributes{Billing: yearly}}}
	for _, tt := range []struct {
		name     string
		sub      *commerce.Subscription
		included *commerce.Included
		want     string // interval; "": no billing
	}{
		{name: "pricing option", sub: sub, included: &commerce.Included{Plans: plan, PricingOptions: options}, want: "year"},
		{name: "plan", sub: sub, included: &commerce.Included{Plans: plan}, want: "month"},
		{
			name: "pricing option without billing", sub: sub, want: "month",
			included: &commerce.Included{Plans: plan, PricingOptions: []commerce.PricingOption{{ID: option}}},
		},
		{name: "plan without billing", sub: sub, included: &commerce.Included{Plans: []commerce.Plan{{ID: id}}}},
		{name: "nothing included", sub: sub, included: &commerce.Included{}},
		{name: "nil", sub: sub},
		{name: "no subscription", included: &commerce.Included{Plans: plan, PricingOptions: options}},
	} {
		billing, ok := tt.included.BillingOf(tt.sub)
		if ok != (tt.want != "") || (billing != nil) != ok || ok && billing.BillingIntervalType != tt.want {
			t.Errorf("%s: got %+v, %t, want %q", tt.name, billing, ok, tt.want)
		}
	}
}
