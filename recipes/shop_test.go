package recipes_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/commerce-go/commerce"
	"github.com/commerce-go/commerce/commercetest"
)

// A shop to copy: offers of a percentage of the cart, of a fixed amount, and of a percentage of
// each item.

const (
	engine   = "shop" // no other program may write discounts of this engine
	currency = "USD"  // of the offers of a fixed amount
)

type shop struct {
	client *commerce.Client
	offers []offer
}

// offer takes something off a cart.
type offer struct {
	code    string // no other offer has it
	percent int64  // of the cart, or
	cents   int64  // a fixed amount
}

// apply gives the cart the offers of these codes, and takes off all others of the shop. It returns
// what the customer pays. Codes that the shop does not know count for nothing.
func (s shop) apply(ctx context.Context, cartID string, codes ...string) (commerce.Money, error) {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	want := func(_ context.Context, cart *commerce.Cart) (list []commerce.NewCustomDiscount, err error) {
		price, err := cart.Subtotal()
		for _, o := range s.offers {
			if slices.Contains(codes, o.code) && (o.cents == 0 || price.Currency == currency) {
				list = append(list, o.discount(price.Amount))
			}
		}
		return list, err
	}
	opts := &commerce.SetCustomDiscountsOptions{Engine: engine}
	result, err := s.client.Carts.SetCustomDiscounts(ctx, cartID, want, opts)
	if err != nil {
		return commerce.Money{}, err
	}
	return result.Cart.Total()
}

func (o offer) discount(price commerce.Decimal) commerce.NewCustomDiscount {
	amount := price.Percent(commerce.NewDecimal(-o.percent))
	if o.cents > 0 {
		amount = commerce.NewDecimal(-o.cents)
	}
	return commerce.NewCustomDiscount{
		Amount: amount, Description: "Offer " + o.code, DiscountCode: o.code,
		ExternalID: o.code, // the same each time, so that the cart has it once
	}
}

// ofEachItem is for SetCustomDiscounts: it takes a percentage off each item of a cart. Give it an
// engine of its own.
func ofEachItem(
	code string, percent int64,
) func(context.Context, *commerce.Cart) ([]commerce.NewCustomDiscount, error) {
	return func(_ context.Context, cart *commerce.Cart) (list []commerce.NewCustomDiscount, err error) {
		for _, item := range cart.Items {
			if item.Type != commerce.ItemTypeCartItem && item.Type != commerce.ItemTypeCustomItem {
				continue // takes no discounts, e.g. a promotion
			}
			price, err := cart.PriceOf(&item)
			if err != nil {
				return nil, err
			}
			if price.Amount.IsNegative() {
				continue // a credit
			}
			list = append(list, commerce.NewCustomDiscount{
				Amount:      price.Amount.Percent(commerce.NewDecimal(-percent)),
				Description: "Offer " + code, DiscountCode: code, ExternalID: code + "/" + item.ID.String(),
				Item: item.Ref(),
			})
		}
		return list, nil
	}
}

// The end of the shop.

var testOffers = []offer{
	{code: "TEN", percent: 10}, {code: "HALF", percent: 50}, {code: "HALF-2", percent: 50},
	{code: "ALL", percent: 100}, {code: "FIVE", cents: 500}, {code: "TWENTY", cents: 2000},
}

// newCart returns the id of a cart with an item of each price, in cents.
func newCart(t *testing.T, store *commercetest.Store, prices ...int64) (cartID string) {
	t.Helper()
	no, cart := false, commercetest.CartFixture{Items: []commercetest.ItemFixture{}}
	cart.DiscountsEnabled = &no // as the service creates a cart
	for _, price := range prices {
		cart.Items = append(cart.Items, commercetest.ItemFixture{Price: &price})
	}
	cartID, err := store.AddCartFixture(cart)
	if err != nil {
		t.Fatal(err)
	}
	return cartID
}

// onCart returns the discounts of a cart as "ID AMOUNT", those of items as "of N AMOUNT".
func onCart(store *commercetest.Store, cartID string) (list []string) {
	items := store.CartItems(cartID)
	for _, d := range store.Discounts(cartID) {
		what := d.ExternalID
		if d.Item != nil {
			what = fmt.Sprint("of ", slices.Index(items, *d.Item))
		}
		list = append(list, what+" "+d.Amount.Amount.String())
	}
	return list
}

// writes returns the number of requests that changed something.
func writes(store *commercetest.Store) (n int) {
	for _, in := range store.Requests() {
		if in.Method != http.MethodGet {
			n++
		}
	}
	return n
}

// pays applies codes twice. The price is right both times, it is what the cart costs, and the
// second call writes nothing.
func pays(t *testing.T, store *commercetest.Store, cartID string, codes ...string) (price string) {
	t.Helper()
	s := shop{client: store.Client(), offers: testOffers}
	first, err := s.apply(t.Context(), cartID, codes...)
	written := writes(store)
	again, errAgain := s.apply(t.Context(), cartID, codes...)
	cart, errCart := store.Client().Carts.Get(t.Context(), cartID)
	if err := errors.Join(err, errAgain, errCart); err != nil {
		t.Fatalf("%q: error %v", codes, err)
	}
	if total, err := cart.Total(); err != nil || first.String() != total.String() || again.String() != total.String() ||
		total.Amount.Sign() < 0 {
		t.Errorf("%q: got %v, and again %v; the cart costs %v, error %v", codes, first, again, total, err)
	}
	if n := writes(store) - written; n != 0 {
		t.Errorf("%q: %d writes of a second call, want none", codes, n)
	}
	return first.String()
}

var shopStores = []struct {
	name string
	cfg  commercetest.Config
}{
	{name: "plain"},
	{name: "bare", cfg: commercetest.Config{BarePrices: true, EmptyLists: commercetest.EmptyListsAsArrays}},
	{name: "tax", cfg: commercetest.Config{TaxPercent: 20}},
	{name: "tax in prices", cfg: commercetest.Config{TaxPercent: 20, PricesIncludeTax: true}},
	{name: "tax in bare prices", cfg: commercetest.Config{
		BarePrices: true, EmptyLists: commercetest.EmptyListsAsArrays, TaxPercent: 20, PricesIncludeTax: true,
	}},
}

var shopTests = []struct {
	name   string
	price  int64
	codes  []string
	pays   [5]string // for each of the stores
	onCart []string  // in a plain store
}{
	{name: "none", price: 10000, pays: [5]string{"$100.00", "$100.00", "$120.00", "$100.00", "$100.00"}},
	{
		name: "a percentage", price: 10000, codes: []string{"TEN"}, onCart: []string{"TEN -1000"},
		pays: [5]string{"$90.00", "$90.00", "$108.00", "$88.00", "$90.00"},
	},
	{
		name: "an amount", price: 10000, codes: []string{"FIVE"}, onCart: []string{"FIVE -500"},
		pays: [5]string{"$95.00", "$95.00", "$114.00", "$94.00", "$94.00"},
	},
	{
		name: "both, twice, and an unknown code", price: 10000, codes: []string{"FIVE", "TEN", "FIVE", "SECRET"},
		onCart: []string{"TEN -1000", "FIVE -500"},
		pays:   [5]string{"$85.00", "$85.00", "$102.00", "$82.00", "$84.00"},
	},
	{name: "100 %", price: 10000, codes: []string{"ALL"}, pays: free, onCart: []string{"ALL -10000"}},
	{
		name: "50 % and 50 %", price: 10000, codes: []string{"HALF", "HALF-2"}, pays: free,
		onCart: []string{"HALF -5000", "HALF-2 -5000"},
	},
	{
		name: "50 % and 50 %, both rounded up", price: 1001, codes: []string{"HALF", "HALF-2"}, pays: free,
		onCart: []string{"HALF -501", "HALF-2 -500"},
	},
	{name: "more than it costs", price: 1001, codes: []string{"TWENTY"}, pays: free, onCart: []string{"TWENTY -1001"}},
	{name: "one leaves nothing", price: 1001, codes: []string{"TWENTY", "ALL"}, pays: free, onCart: []string{"ALL -1001"}},
	{
		name: "less than a cent", price: 4, codes: []string{"TEN"},
		pays: [5]string{"$0.04", "$0.04", "$0.05", "$0.04", "$0.04"},
	},
}

var free = [5]string{"$0.00", "$0.00", "$0.00", "$0.00", "$0.00"}

// Whatever the offers take off, and whatever the store shows of its prices.
func TestShop(t *testing.T) {
	t.Parallel()
	for i, st := range shopStores {
		for _, tt := range shopTests {
			t.Run(st.name+"/"+tt.name, func(t *testing.T) {
				t.Parallel()
				store := commercetest.New(t, st.cfg)
				cartID := newCart(t, store, tt.price)
				if got := pays(t, store, cartID, tt.codes...); got != tt.pays[i] {
					t.Errorf("the customer pays %s, want %s", got, tt.pays[i])
				}
				got := onCart(store, cartID)
				if diff := cmp.Diff(tt.onCart, got); diff != "" && i == 0 {
					t.Errorf("discounts (-want +got):\n%s", diff)
				}
				if len(got) != len(tt.onCart) {
					t.Errorf("the cart has %q, want as many as %q", got, tt.onCart)
				}
			})
		}
	}
}

// The customer enters and removes codes, and changes the cart.
func TestShop_changes(t *testing.T) {
	t.Parallel()
	store := commercetest.New(t, commercetest.Config{})
	cartID := newCart(t, store, 10000, 10000)
	removeLast := func() {
		items := store.CartItems(cartID)
		store.RemoveItem(cartID, items[len(items)-1].ID)
	}
	for _, tt := range []struct {
		name   string
		before func()
		codes  []string
		pays   string
		onCart []string
	}{
		{name: "two codes", codes: []string{"TEN", "FIVE"}, pays: "$175.00", onCart: []string{"TEN -2000", "FIVE -500"}},
		{
			name: "an item less", codes: []string{"TEN", "FIVE"}, before: removeLast,
			pays: "$85.00", onCart: []string{"TEN -1000", "FIVE -500"},
		},
		{name: "another code", codes: []string{"TEN", "HALF"}, pays: "$40.00", onCart: []string{"TEN -1000", "HALF -5000"}},
		{name: "no code", pays: "$100.00"},
		{name: "one code", codes: []string{"FIVE"}, pays: "$95.00", onCart: []string{"FIVE -500"}},
	} {
		if tt.before != nil {
			tt.before()
		}
		if got := pays(t, store, cartID, tt.codes...); got != tt.pays {
			t.Errorf("%s: the customer pays %s, want %s", tt.name, got, tt.pays)
		}
		if diff := cmp.Diff(tt.onCart, onCart(store, cartID)); diff != "" {
			t.Errorf("%s: discounts (-want +got):\n%s", tt.name, diff)
		}
	}
	removeLast()
	s := shop{client: store.Client(), offers: testOffers}
	_, err := s.apply(t.Context(), cartID, "FIVE")
	if got := onCart(store, cartID); !errors.Is(err, commerce.ErrEmptyCart) || got != nil {
		t.Errorf("no item is left: error %v, discounts %q, want ErrEmptyCart and none", err, got)
	}
}

// There is no price if the cart is not as wanted, or may still change.
func TestShop_errors(t *testing.T) {
	t.Parallel()
	loyalty := commerce.CustomDiscount{
		Amount: commerce.Money{Amount: commerce.NewDecimal(-12000)}, Description: "d", DiscountCode: "c",
		DiscountEngine: "loyalty", ExternalID: "1",
	}
	lost := commercetest.Fault{Operation: commercetest.OpAdd, Late: true, Delay: time.Minute, Cut: true}
	tests := []struct {
		name   string
		prices []int64
		offers []offer // default: testOffers
		cartID string  // default: one with items of these prices
		spoil  func(store *commercetest.Store, cartID string)
		want   error
		remedy commerce.Remedy
	}{
		{name: "empty cart", want: commerce.ErrEmptyCart, remedy: commerce.RemedyCart},
		{name: "unknown cart", cartID: "unknown", want: commerce.ErrEmptyCart, remedy: commerce.RemedyCart},
		{
			name: "others take more than all", prices: []int64{10000}, want: commerce.ErrBelowZero, remedy: commerce.RemedyCart,
			spoil: func(store *commercetest.Store, cartID string) { store.AddDiscount(cartID, loyalty) },
		},
		{
			name: "promotion", prices: []int64{10000}, want: commerce.ErrPromotionConflict, remedy: commerce.RemedyCart,
			spoil: (*commercetest.Store).AddPromotion,
		},
		{
			name: "in doubt", prices: []int64{10000}, want: commerce.ErrOutcomeUnknown, remedy: commerce.RemedyAgain,
			spoil: func(store *commercetest.Store, _ string) { store.Inject(lost) },
		},
		{
			name: "two offers of one code", prices: []int64{10000}, want: commerce.ErrInvalidArgument,
			offers: []offer{{code: "TEN", percent: 10}, {code: "TEN", cents: 10}}, remedy: commerce.RemedyStaff,
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				store := commercetest.New(t, commercetest.Config{})
				cartID := tt.cartID
				if cartID == "" {
					cartID = newCart(t, store, tt.prices...)
				}
				if tt.spoil != nil {
					tt.spoil(store, cartID)
				}
				s := shop{client: store.Client(), offers: tt.offers}
				if s.offers == nil {
					s.offers = testOffers
				}
				price, err := s.apply(t.Context(), cartID, "TEN")
				if !errors.Is(err, tt.want) || commerce.RemedyOf(err) != tt.remedy || price.String() != "0" {
					t.Errorf("got %v, %v (%v), want no price, %v (%v)", price, err, commerce.RemedyOf(err), tt.want, tt.remedy)
				}
			})
		})
	}
}

// Two processes want different discounts for one cart of a service that may lose one of two writes
// that overlap. Each gets the price of its own.
func TestShop_processes(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store := commercetest.New(t, commercetest.Config{LoseOverlappingWrites: true})
		store.Inject(commercetest.Fault{Times: -1, Delay: time.Millisecond}) // so that they overlap
		cartID, locker := newCart(t, store, 10000), commercetest.NewLocker()
		var running sync.WaitGroup
		for code, want := range map[string]string{"TEN": "$85.00", "HALF": "$45.00"} {
			process := shop{client: store.Client(commerce.WithCartLocker(locker)), offers: testOffers}
			running.Go(func() {
				for range 20 {
					price, err := process.apply(t.Context(), cartID, code, "FIVE")
					if err != nil || price.String() != want {
						t.Errorf("%s: got %v, error %v, want %s", code, price, err, want)
					}
				}
			})
		}
		running.Wait()
		if got := onCart(store, cartID); len(got) != 2 {
			t.Errorf("the cart has %q, want each of two once", got)
		}
	})
}

// A tenth off each item, whatever the customer does with them.
func TestShop_eachItem(t *testing.T) {
	t.Parallel()
	store := commercetest.New(t, commercetest.Config{})
	cartID, err := store.AddCartFixture(commercetest.CartFixture{Items: []commercetest.ItemFixture{
		{Price: new(int64(1001)), Quantity: 3},
		{CartItemRef: commerce.CartItemRef{Type: commerce.ItemTypeCustomItem}, Price: new(int64(500))},
	}})
	if err != nil {
		t.Fatal(err)
	}
	client, items := store.Client(), store.CartItems(cartID)
	more := func() {
		body := map[string]any{"data": map[string]any{"type": "cart_item", "quantity": 4}}
		path := []string{"v2", "carts", cartID, "items", items[0].ID.String()}
		if _, err := client.Do(t.Context(), http.MethodPut, path, nil, body, nil); err != nil {
			t.Error(err)
		}
	}
	for _, tt := range []struct {
		name    string
		before  func()
		percent int64
		pays    string
		onCart  []string
	}{
		{name: "two items", percent: 10, pays: "$31.53", onCart: []string{"of 0 -300", "of 1 -50"}},
		{name: "again", percent: 10, pays: "$31.53", onCart: []string{"of 0 -300", "of 1 -50"}},
		{name: "one more piece", before: more, percent: 10, pays: "$40.54", onCart: []string{"of 0 -400", "of 1 -50"}},
		{name: "100 %", percent: 100, pays: "$0.00", onCart: []string{"of 0 -4004", "of 1 -500"}},
		{
			name: "an item less", before: func() { store.RemoveItem(cartID, items[1].ID) },
			percent: 10, pays: "$36.04", onCart: []string{"of 0 -400"},
		},
		{name: "0 %", pays: "$40.04"},
	} {
		if tt.before != nil {
			tt.before()
		}
		opts := &commerce.SetCustomDiscountsOptions{Engine: "sale"}
		result, err := client.Carts.SetCustomDiscounts(t.Context(), cartID, ofEachItem("SALE", tt.percent), opts)
		if err != nil {
			t.Fatalf("%s: %v", tt.name, err)
		}
		if got, err := result.Cart.Total(); err != nil || got.String() != tt.pays {
			t.Errorf("%s: the customer pays %v, error %v, want %s", tt.name, got, err, tt.pays)
		}
		if diff := cmp.Diff(tt.onCart, onCart(store, cartID)); diff != "" {
			t.Errorf("%s: discounts (-want +got):\n%s", tt.name, diff)
		}
	}
}

// Whatever the service shows of an item.
func TestOfEachItem(t *testing.T) {
	t.Parallel()
	withoutTax := func(cents int64) commerce.Money {
		extra := commerce.Extra{"includes_tax": json.RawMessage("false")}
		return commerce.Money{Amount: commerce.NewDecimal(cents), Currency: "USD", Extra: extra}
	}
	for _, tt := range []struct {
		name string
		item commerce.CartItem
		want string
		err  error
	}{
		{name: "plain", item: commerce.CartItem{Type: "cart_item", Quantity: 2, Value: withoutTax(1000)}, want: "-100"},
		{name: "free", item: commerce.CartItem{Type: "custom_item", Quantity: 2, Value: withoutTax(0)}, want: "0"},
		{name: "no price", item: commerce.CartItem{Type: "cart_item", Quantity: 2}, err: commerce.ErrBadResponse},
		{name: "promotion", item: commerce.CartItem{Type: "promotion_item", Quantity: 1, Value: withoutTax(-500)}},
	} {
		got, err := ofEachItem("SALE", 10)(t.Context(), &commerce.Cart{Items: []commerce.CartItem{tt.item}})
		amount := ""
		for _, d := range got {
			amount += d.Amount.String()
		}
		if !errors.Is(err, tt.err) || amount != tt.want {
			t.Errorf("%s: got %q, error %v, want %q, %v", tt.name, amount, err, tt.want, tt.err)
		}
	}
}
