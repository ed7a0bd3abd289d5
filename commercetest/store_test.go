package commercetest_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/iotest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"github.com/commerce-go/commerce"
	"github.com/commerce-go/commerce/commercetest"
)

func TestConfig(t *testing.T) {
	t.Parallel()
	want := commercetest.Config{
		ClientID: commercetest.DefaultClientID, ClientSecret: commercetest.DefaultClientSecret, Token: commercetest.DefaultToken,
		TokenLife: time.Hour, PageLength: 25, AddStatus: 201, CartDiscountLimit: 5, ItemDiscountLimit: 5,
	}
	if diff := cmp.Diff(want, commercetest.NewStore(commercetest.Config{}).Config()); diff != "" {
		t.Errorf("defaults (-want +got):\n%s", diff)
	}
	set := commercetest.Config{
		Generation: commercetest.SecondGeneration, ClientID: "a", ClientSecret: "b", Token: "c", TokenLife: time.Second,
		PageLength: 1, AddStatus: 200, CartDiscountLimit: -1, ItemDiscountLimit: 3, RateLimit: 7, RateBurst: 2, RetryAfter: time.Minute,
	}
	if diff := cmp.Diff(set, commercetest.NewStore(set).Config()); diff != "" {
		t.Errorf("set (-want +got):\n%s", diff)
	}
	if got := commercetest.NewStore(commercetest.Config{RateLimit: 9}).Config().RateBurst; got != 9 {
		t.Errorf("burst %d with a limit of 9, want the same", got)
	}
}

func TestConfigRefuses(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name string
		cfg  commercetest.Config
	}{
		{"Generation", commercetest.Config{Generation: 2}},
		{"TokenLife", commercetest.Config{TokenLife: -1}},
		{"PageLength", commercetest.Config{PageLength: -1}},
		{"PageLength", commercetest.Config{PageLength: 101}},
		{"AddStatus", commercetest.Config{AddStatus: 202}},
		{"RateLimit", commercetest.Config{RateLimit: -1}},
		{"RateLimit", commercetest.Config{RateLimit: 1_000_001}},
		{"RateBurst", commercetest.Config{RateBurst: -1}},
		{"RateBurst", commercetest.Config{RateBurst: 1_000_001}},
		{"RetryAfter", commercetest.Config{RetryAfter: -1}},
	} {
		func() {
			defer func() {
				if got, want := fmt.Sprint(recover()), "commercetest: Config."+tt.name+" must "; !strings.HasPrefix(got, want) {
					t.Errorf("%+v: panic %q, want %q", tt.cfg, got, want)
				}
			}()
			commercetest.NewStore(tt.cfg)
		}()
	}
}

func TestClose(t *testing.T) { //nolint:paralleltest // it counts goroutines
	before := runtime.NumGoroutine()
	store := commercetest.NewStore(commercetest.Config{})
	store.Close() // nothing to close
	address := store.URL()
	if again := store.URL(); again != address {
		t.Errorf("URL %q, then %q", address, again)
	}

	// A request that would wait for an hour does not keep Close from returning.
	store.Inject(commercetest.Fault{Delay: time.Hour})
	hc := &http.Client{Transport: &http.Transport{}}
	fetch := func() error {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, address+"/v2/settings", nil)
		if err != nil {
			return err
		}
		resp, err := hc.Do(req)
		if err == nil {
			_ = resp.Body.Close()
		}
		return err
	}
	failed := make(chan error)
	go func() { failed <- fetch() }()
	for len(store.Requests()) == 0 { // until it waits
		select {
		case err := <-failed:
			t.Fatal(err)
		default:
		}
	}
	store.Close()
	if err := <-failed; err == nil {
		t.Error("the request was answered")
	}
	store.Close()
	if err := fetch(); err == nil {
		t.Error("the listener is still there")
	}
	hc.CloseIdleConnections()
	for deadline := time.Now().Add(10 * time.Second); runtime.NumGoroutine() > before; runtime.Gosched() {
		if time.Now().After(deadline) {
			stacks := make([]byte, 1<<20)
			t.Fatalf("%d goroutines after Close, %d before:\n%s", runtime.NumGoroutine(), before, stacks[:runtime.Stack(stacks, true)])
		}
	}
	if a, err := overTransport(t, store, get("/v2/settings")); err != nil || a.Status != 200 {
		t.Errorf("over the transport after Close: %d, %v", a.Status, err)
	}
	if a, err := overLoopback(t, store, get("/v2/settings")); err != nil || a.Status != 200 {
		t.Errorf("over a new listener: %d, %v", a.Status, err)
	}
}

func TestRoundTripErrors(t *testing.T) {
	t.Parallel()
	store := commercetest.NewStore(commercetest.Config{})
	done, cancel := context.WithCancel(t.Context())
	cancel()
	broken := errors.New("broken")
	for _, tt := range []struct {
		name string
		ctx  context.Context
		body io.Reader
		want error
	}{
		{"context ended", done, strings.NewReader("x"), context.Canceled},
		{"body can't be read", t.Context(), iotest.ErrReader(broken), broken},
	} {
		body := &closing{Reader: tt.body}
		req, err := http.NewRequestWithContext(tt.ctx, http.MethodPost, "https://store.test/", body)
		if err != nil {
			t.Fatal(err)
		}
		resp, err := store.Transport().RoundTrip(req)
		if resp != nil {
			_ = resp.Body.Close()
		}
		if !errors.Is(err, tt.want) {
			t.Errorf("%s: error %v, want %v", tt.name, err, tt.want)
		}
		if !body.closed {
			t.Errorf("%s: the body was not closed", tt.name)
		}
	}
	if resp, err := store.Transport().RoundTrip(new(http.Request)); err == nil {
		_ = resp.Body.Close()
		t.Error("a request without a URL was answered")
	}
	if got := len(store.Requests()); got != 0 {
		t.Errorf("%d requests arrived", got)
	}
}

func TestResponseBody(t *testing.T) {
	t.Parallel()
	store := commercetest.NewStore(commercetest.Config{})
	open := func(ctx context.Context) *http.Response {
		t.Helper()
		req, err := http.NewRequestWithContext(ctx, "", "https://store.test/v2/settings", nil)
		if err != nil {
			t.Fatal(err)
		}
		resp, err := store.Transport().RoundTrip(req)
		if err != nil {
			t.Fatal(err)
		}
		return resp
	}
	resp := open(t.Context())
	if resp.Status != "401 Unauthorized" || resp.Request == nil || resp.Proto != "HTTP/1.1" {
		t.Errorf("status %q, request %v, proto %q", resp.Status, resp.Request, resp.Proto)
	}
	if err := iotest.TestReader(resp.Body, []byte(`{"errors":[{"status":"401","title":"Unable to validate access token"}]}`)); err != nil {
		t.Error(err)
	}
	_ = resp.Body.Close()
	if _, err := resp.Body.Read(make([]byte, 1)); !errors.Is(err, http.ErrBodyReadAfterClose) {
		t.Errorf("after Close: %v", err)
	}

	ctx, cancel := context.WithCancel(t.Context())
	resp = open(ctx)
	defer func() { _ = resp.Body.Close() }()
	cancel()
	if _, err := io.ReadAll(resp.Body); !errors.Is(err, context.Canceled) {
		t.Errorf("after the context ended: %v", err)
	}
}

func TestClientPanics(t *testing.T) {
	t.Parallel()
	defer func() {
		if recover() == nil {
			t.Error("an empty token was taken")
		}
	}()
	commercetest.NewStore(commercetest.Config{}).Client(commerce.WithToken(""))
}

func TestClientAddsDiscounts(t *testing.T) {
	t.Parallel()
	store := commercetest.NewStore(commercetest.Config{})
	cartID := store.AddCart()
	absent := &commerce.CartItemRef{Type: commerce.ItemTypeCartItem, ID: uuid.MustParse(absentItem)}
	discount := func(externalID string, item *commerce.CartItemRef) commerce.NewCustomDiscount {
		return commerce.NewCustomDiscount{
			Amount: commerce.NewDecimal(-500), Description: "d", DiscountCode: "c", DiscountEngine: "e", ExternalID: externalID, Item: item,
		}
	}
	sent := []commerce.NewCustomDiscount{discount("good", nil), discount("bad", absent)}
	result, err := store.Client().Carts.AddCustomDiscounts(t.Context(), cartID, sent, nil)
	if !errors.Is(err, commerce.ErrPartialFailure) {
		t.Fatalf("error %v, want a partial failure", err)
	}
	if diff := cmp.Diff(store.Discounts(cartID), result.Added); diff != "" {
		t.Errorf("added (-store +client):\n%s", diff)
	}
	if diff := cmp.Diff(sent[1:], result.Unconfirmed); diff != "" {
		t.Errorf("unconfirmed (-want +got):\n%s", diff)
	}
	if len(result.Errors) != 1 || result.Errors[0].Meta.ID != absentItem {
		t.Errorf("errors %+v", result.Errors)
	}
	if want := store.Requests()[0].ID; result.Response.RequestID != want {
		t.Errorf("request id %q, want %q", result.Response.RequestID, want)
	}
	_, err = store.Client().Carts.AddCustomDiscounts(t.Context(), cartID, sent, &commerce.AddCustomDiscountsOptions{AllOrNothing: true})
	if !errors.Is(err, commerce.ErrNotFound) || commerce.OutcomeOf(err) != commerce.OutcomeRejected {
		t.Errorf("all or nothing: %v", err)
	}
	if got := len(store.Discounts(cartID)); got != 1 {
		t.Errorf("%d discounts in the cart, want 1", got)
	}
}

// TestClientWalks walks over all that the client can filter by, which checks
// its filters against the store's own parser.
func TestClientWalks(t *testing.T) {
	t.Parallel()
	store := seeded(230)
	client := store.Client()
	walk := func(f commerce.SubscriptionFilter) (ids []uuid.UUID) {
		t.Helper()
		for sub, err := range client.Subscriptions.All(t.Context(), &commerce.SubscriptionListOptions{Filter: f}) {
			if err != nil {
				t.Fatal(err)
			}
			ids = append(ids, sub.ID)
		}
		return ids
	}
	if all := walk(commerce.SubscriptionFilter{}); len(all) != 230 {
		t.Errorf("%d subscriptions, want 230", len(all))
	}
	page, err := client.Subscriptions.List(t.Context(), &commerce.SubscriptionListOptions{PageSize: 100, Include: commerce.SubscriptionInclude{Plans: true, Products: true}})
	if err != nil {
		t.Fatal(err)
	}
	for _, sub := range page.Subscriptions {
		if _, ok := page.Included.Plan(sub.Attributes.PlanID); !ok {
			t.Errorf("%s: its plan is not included", sub.Attributes.ExternalRef)
		}
	}
	if got := len(page.Included.Products); got != 6 {
		t.Errorf("%d products included, want 6", got)
	}
	for _, sub := range page.Subscriptions[:18] { // every name of the seed
		account := sub.Attributes.AccountID
		who, _ := store.SubscriberOf(account)
		for name, f := range map[string]commerce.SubscriptionFilter{
			"account":      {AccountID: account},
			"email":        {Email: who.Email},
			"name":         {Name: who.Name, AccountID: account},
			"external ref": {ExternalRef: sub.Attributes.ExternalRef},
		} {
			ids := walk(f)
			want := 3
			if name == "external ref" {
				want = 1
			}
			if account == page.Subscriptions[0].Attributes.AccountID || account == page.Subscriptions[1].Attributes.AccountID {
				want = 1 // the newest two accounts have one each: 230 is 38 times 6, and 2
			}
			if len(ids) != want {
				t.Errorf("%s of %s (%s): %d found, want %d", name, sub.Attributes.ExternalRef, who.Name, len(ids), want)
			}
		}
	}
}

func TestConcurrentUse(t *testing.T) {
	t.Parallel()
	store := seeded(50)
	client := store.Client()
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			cartID := store.AddCart()
			store.Inject(commercetest.Fault{Operation: commercetest.OpToken})
			sub := commerce.Subscription{ID: uuid.New()}
			store.AddSubscription(sub)
			store.SetSubscriber(uuid.New(), commercetest.Subscriber{})
			store.SubscriberOf(uuid.Nil)
			_, err := client.Carts.AddCustomDiscounts(t.Context(), cartID, []commerce.NewCustomDiscount{{
				Amount: commerce.NewDecimal(-1), Description: "d", DiscountCode: "c", DiscountEngine: "e", ExternalID: "x",
			}}, nil)
			if err != nil {
				t.Error(err)
			}
			for range 5 {
				if _, err := client.Subscriptions.List(t.Context(), nil); err != nil {
					t.Error(err)
				}
			}
			if got := len(store.Discounts(cartID)); got != 1 {
				t.Errorf("%d discounts in the cart, want 1", got)
			}
			if !store.RemoveSubscription(sub.ID) {
				t.Error("the subscription is gone")
			}
		})
	}
	wg.Wait()
	requests := store.Requests()
	ids := map[string]bool{}
	for _, r := range requests {
		ids[r.ID] = true
	}
	if len(requests) != 48 || len(ids) != 48 {
		t.Errorf("%d requests with %d ids, want 48", len(requests), len(ids))
	}
}
