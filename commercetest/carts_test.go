package commercetest_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"

	"github.com/commerce-go/commerce"
	"github.com/commerce-go/commerce/commercetest"
)

func TestDiscounts_returnsCopy(t *testing.T) {
	t.Parallel()
	store := newCart(t, commercetest.Config{})
	send(t, store, addRequest(discount{"a", "cart_item", cartItem}))
	first := store.Discounts(cartID)
	first[0].ExternalID, first[0].Item.ID = "changed", uuid.Nil
	wantEqual(t, "discounts", store.Discounts(cartID), []commerce.CustomDiscount{{
		ID: uuid.MustParse(discountIDs[0]), Type: "custom_discount",
		Amount:      commerce.Money{Amount: commerce.NewDecimal(-1000), Currency: "USD", Formatted: "-$10.00"},
		Description: "custom discount description", DiscountCode: "10 off cart",
		DiscountEngine: "Custom Discount Engine", ExternalID: "a",
		Item: &commerce.CartItemRef{Type: commerce.ItemTypeCartItem, ID: uuid.MustParse(cartItem)},
	}})
}

// The default of an item is a new id and the type cart_item.
func TestAddCart_defaults(t *testing.T) {
	t.Parallel()
	store := commercetest.NewStore(commercetest.Config{DiscountsEnabled: true})
	c := readCart(t, store, store.AddCart(commerce.CartItemRef{}, commerce.CartItemRef{}))
	items := c.Data.Relationships.Items.Data
	if len(items) != 2 || items[0] == items[1] || items[0].ID == uuid.Nil || items[0].Type != commerce.ItemTypeCartItem {
		t.Errorf("items = %v, want two cart_items with new ids", items)
	}
	wantEqual(t, "custom discounts enabled", c.Data.DiscountSettings.Enabled, true)
}

func TestCartItems(t *testing.T) {
	t.Parallel()
	store := commercetest.NewStore(commercetest.Config{DiscountsEnabled: true})
	id := store.AddCart(commerce.CartItemRef{}, commerce.CartItemRef{Type: commerce.ItemTypeCustomItem})
	got := store.CartItems(id)
	if len(got) != 2 || got[0].Type != commerce.ItemTypeCartItem || got[1].Type != commerce.ItemTypeCustomItem {
		t.Fatalf("CartItems() = %v, want a cart_item and a custom_item", got)
	}
	wantEqual(t, "an item was removed by its id", store.RemoveItem(id, got[0].ID), true)
	wantEqual(t, "items afterwards", store.CartItems(id), got[1:])
	wantEqual(t, "items of a cart that does not exist", len(store.CartItems("unknown")), 0)
}

func TestAddDiscount(t *testing.T) {
	t.Parallel()
	store := newCart(t, commercetest.Config{CartDiscountLimit: 1})
	ref := &commerce.CartItemRef{Type: commerce.ItemTypeCustomItem, ID: uuid.MustParse(customItem)}
	own := uuid.New()
	for _, d := range []commerce.CustomDiscount{
		{ExternalID: "a"},
		{ExternalID: "beyond the limit", ID: own, Amount: commerce.Money{Amount: commerce.NewDecimal(-5)}},
		{ExternalID: "item", Item: ref, Amount: commerce.Money{Currency: "EUR"}},
	} {
		store.AddDiscount(cartID, d)
	}
	ref.ID = uuid.Nil
	got := store.Discounts(cartID)
	wantEqual(t, "external ids", externalIDs(got), []string{"a", "beyond the limit", "item"})
	wantEqual(t, "new id", got[0].ID.String(), discountIDs[0])
	wantEqual(t, "own id", got[1].ID, own)
	wantEqual(t, "amount", got[1].Amount, commerce.Money{
		Amount: commerce.NewDecimal(-5), Currency: "USD", Formatted: "-$0.05",
	})
	wantEqual(t, "currency", got[2].Amount.Currency, "EUR")
	wantEqual(t, "item", got[2].Item.ID.String(), customItem)

	store.AddDiscount("new", commerce.CustomDiscount{})
	wantEqual(t, "discounts of a cart that was not there", len(store.Discounts("new")), 1)
}

func TestEnableDiscounts(t *testing.T) {
	t.Parallel()
	store := commercetest.NewStore(commercetest.Config{})
	for _, id := range []string{store.AddCart(commerce.CartItemRef{}), "new"} {
		store.EnableDiscounts(id)
		cart, err := store.Client().Carts.Get(t.Context(), id)
		if err != nil || !cart.CustomDiscountsEnabled {
			t.Errorf("cart %+v, error %v, want an enabled one", cart, err)
		}
	}
	wantEqual(t, "carts", len(store.Carts()), 2)
}

// To enable custom discounts turns promotions of the store off, in the settings and in the cart.
func TestEnableDiscounts_promotions(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name string
		cfg  commercetest.Config
		want int // status of an add
	}{
		{name: "they go", want: 201},
		{name: "they stay", cfg: commercetest.Config{PromotionsStay: true}, want: 422},
		{name: "those of the older kind stay", cfg: commercetest.Config{StandardPromotions: true}, want: 422},
	} {
		store := newCart(t, tt.cfg)
		send(t, store, put(cartPath, usePromotions))
		store.AddPromotion(cartID)
		store.EnableDiscounts(cartID)
		wantEqual(t, tt.name+": settings", settingsOf(t, send(t, store, get(cartPath))), [2]bool{true, false})
		wantEqual(t, tt.name+": status of an add", send(t, store, addRequest(onCartA)).Status, tt.want)
	}
}

// A cart with a promotion of the store takes no custom discounts. Those that it has stay.
func TestAddPromotion(t *testing.T) {
	t.Parallel()
	store := commercetest.NewStore(commercetest.Config{DiscountsEnabled: true})
	cartID := store.AddCart(commerce.CartItemRef{})
	c, want := store.Client(), []commerce.NewCustomDiscount{{
		Amount: commerce.NewDecimal(-1), Description: "d", DiscountCode: "c", DiscountEngine: "e", ExternalID: "x",
	}}
	if _, err := c.Carts.AddCustomDiscounts(t.Context(), cartID, want, nil); err != nil {
		t.Fatal(err)
	}
	store.AddPromotion(cartID)
	if _, err := c.Carts.EnsureCustomDiscounts(t.Context(), cartID, want, nil); err != nil {
		t.Errorf("Ensure of a discount that is there: %v", err)
	}
	want[0].ExternalID = "y"
	_, addErr := c.Carts.AddCustomDiscounts(t.Context(), cartID, want, nil)
	_, ensureErr := c.Carts.EnsureCustomDiscounts(t.Context(), cartID, want, nil)
	for name, err := range map[string]error{"Add": addErr, "Ensure": ensureErr} {
		if !errors.Is(err, commerce.ErrPromotionConflict) || !commerce.IsFinal(err) {
			t.Errorf("%s: error %v, want ErrPromotionConflict, a final one", name, err)
		}
	}
	wantEqual(t, "discounts", len(store.Discounts(cartID)), 1)
	store.AddPromotion("other")
	wantEqual(t, "carts", len(store.Carts()), 2)
}

func TestRemove(t *testing.T) {
	t.Parallel()
	store := newCart(t, commercetest.Config{})
	send(t, store, addRequest(onCartA, item, custom))
	id := uuid.MustParse(discountIDs[0])
	for _, tt := range []struct {
		name   string
		remove func() bool
		want   []string // external ids of the discounts that stay
	}{
		{name: "discount", remove: func() bool { return store.RemoveDiscount(cartID, id) }, want: []string{"i", "c"}},
		{
			name: "item with its discount", want: []string{"c"},
			remove: func() bool { return store.RemoveItem(cartID, uuid.MustParse(cartItem)) },
		},
		{name: "cart", remove: func() bool { return store.RemoveCart(cartID) }},
	} {
		wantEqual(t, tt.name+" removed", tt.remove(), true)
		wantEqual(t, "discounts without the "+tt.name, externalIDs(store.Discounts(cartID)), tt.want)
		wantEqual(t, tt.name+" removed again", tt.remove(), false)
	}
	if second := store.AddCart(); second == cartID {
		t.Errorf("AddCart() after RemoveCart = %s, want a new id", second)
	}
}

// A cart expires 7 days after its last change.
func TestCart_expires(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store := newCart(t, commercetest.Config{})
		time.Sleep(6 * 24 * time.Hour)
		send(t, store, addRequest(onCartA))
		time.Sleep(7 * 24 * time.Hour)
		wantEqual(t, "discounts after 7 days", len(store.Discounts(cartID)), 1)
		time.Sleep(time.Nanosecond)
		wantEqual(t, "discounts later", len(store.Discounts(cartID)), 0)
		wantEqual(t, "items", len(readCart(t, store, cartID).Data.Relationships.Items.Data), 0)
		wantEqual(t, "carts after the read", store.Carts(), []string{cartID})
	})
}

// The store sets after how many days new carts expire.
func TestCart_expires_settings(t *testing.T) {
	t.Parallel()
	const path = "/v2/settings/cart"
	settings := func(more string) string { return `{"data":{"type":"settings",` + more + `}}` }
	const (
		none  = `"discounts":{"custom_discounts_enabled":false}`
		shown = `{"custom_discounts_enabled":false,"use_rule_promotions":false}`
	)
	synctest.Test(t, func(t *testing.T) {
		store := commercetest.NewStore(commercetest.Config{})
		wantJSON(t, send(t, store, get(path)), 200, cartSettings(7, shown, false))
		before := store.AddCart()
		set := []struct {
			days int
			body string
		}{
			{days: 365, body: `"cart_expiry_days":365`}, {days: 1, body: `"cart_expiry_days":1`},
			{days: 1, body: none}, {days: 30, body: `"cart_expiry_days":30,` + none},
		}
		var carts []string
		for _, s := range set {
			want := cartSettings(s.days, shown, false)
			wantJSON(t, send(t, store, put(path, settings(s.body))), 200, want)
			wantJSON(t, send(t, store, get(path)), 200, want)
			carts = append(carts, decodeCart(t, send(t, store, post("/v2/carts", `{"data":{}}`)), 201).Data.ID)
		}
		refused := settings(`"cart_expiry_days":9,"discounts":{"custom_discounts_enabled":true,"use_rule_promotions":true}`)
		wantEqual(t, "both discount settings", send(t, store, put(path, refused)).Status, 422)
		wantJSON(t, send(t, store, get(path)), 200, cartSettings(30, shown, false))
		wantEqual(t, "carts", store.Carts(), append([]string{before}, carts...))
		for i, s := range set {
			expires := time.Now().UTC().AddDate(0, 0, s.days).Format("2006-01-02T15:04:05.000Z")
			if body := send(t, store, get("/v2/carts/"+carts[i])).Body; !strings.Contains(body, `"expires_at":"`+expires+`"`) {
				t.Errorf("body = %s, want it to expire at %s", body, expires)
			}
		}
		for _, tt := range []struct {
			days int
			want []string
		}{
			{days: 1, want: []string{before, carts[0], carts[3]}}, {days: 7, want: []string{carts[0], carts[3]}},
			{days: 30, want: carts[:1]}, {days: 365},
		} {
			start := time.Date(2000, time.January, 1, 0, 0, 0, 1, time.UTC) // that of the bubble, and a nanosecond
			time.Sleep(time.Until(start.AddDate(0, 0, tt.days)))
			wantEqual(t, fmt.Sprint("carts after days: ", tt.days), store.Carts(), tt.want)
		}
	})
}

// A read creates a cart with the settings that the store then has.
func TestCart_createdByRead(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store := commercetest.NewStore(commercetest.Config{DiscountsEnabled: true})
		first := send(t, store, get("/v2/carts/new"))
		time.Sleep(7 * 24 * time.Hour)
		send(t, store, put("/v2/settings/cart", `{"data":{"type":"settings","discounts":{"custom_discounts_enabled":true}}}`))
		wantEqual(t, "another read", send(t, store, get("/v2/carts/new")).Body, first.Body)
		time.Sleep(time.Nanosecond)
		wantEqual(t, "enabled in a new cart", readCart(t, store, "new").Data.DiscountSettings.Enabled, true)
	})
}

// Carts lists those that exist, whatever created them, also a read of the cart: not those that
// expired.
func TestCarts(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store := commercetest.NewStore(commercetest.Config{DiscountsEnabled: true})
		wantEqual(t, "none", store.Carts(), []string(nil))
		var want []string
		for range 5 {
			want = append(want, store.AddCart())
		}
		readCart(t, store, "read")
		send(t, store, get("/v2/carts/only-items-read/items"))
		created := decodeCart(t, send(t, store, post("/v2/carts", `{"data":{}}`)), 201)
		send(t, store, put("/v2/carts/updated", `{"data":{}}`))
		store.AddDiscount("discount", commerce.CustomDiscount{})
		want = append(want, "read", created.Data.ID, "updated", "discount")
		wantEqual(t, "carts", store.Carts(), want)

		send(t, store, del("/v2/carts/"+want[1]))
		send(t, store, put("/v2/carts/"+want[3], `{"data":{"name":"x"}}`))
		want = slices.Delete(want, 1, 2)
		wantEqual(t, "carts after a deletion and a change", store.Carts(), want)

		time.Sleep(7 * 24 * time.Hour)
		send(t, store, put("/v2/carts/"+want[4], `{"data":{}}`))
		time.Sleep(time.Nanosecond)
		wantEqual(t, "carts after 7 days", store.Carts(), want[4:5])
	})
}

// overlappingWrites are writes to a cart with the discounts a, of the cart, and i, of an item.
var overlappingWrites = []struct {
	name, raw string
	status    int
	want      string // the cart after it, see summary
}{
	{name: "add", raw: addRequest(onCartB), status: 201, want: "2 items: a=-1000 i=-1000 b=-1000"},
	{
		name: "add to an item", raw: post(itemPath+"/custom-discounts", `{"data":`+onCart("i2").request()+`}`),
		status: 201, want: "2 items: a=-1000 i=-1000 i2=-1000",
	},
	{
		name: "update", raw: put(cartPath+"/custom-discounts/"+firstID, `{"data":{"type":"custom_discount","amount":-7}}`),
		status: 200, want: "2 items: a=-7 i=-1000",
	},
	{name: "delete", raw: del(cartPath + "/custom-discounts/" + firstID), status: 204, want: "2 items: i=-1000"},
	{name: "delete all", raw: del(cartPath + "/custom-discounts"), status: 204, want: "2 items: i=-1000"},
	{name: "delete the item", raw: del(itemPath), status: 200, want: "1 items: a=-1000"},
	{
		name: "add an item", raw: post(cartPath+"/items", `{"data":{"type":"cart_item","id":"p","quantity":1}}`),
		status: 201, want: "3 items: a=-1000 i=-1000",
	},
	{
		name: "disable", raw: put(cartPath, `{"data":{"discount_settings":{"custom_discounts_enabled":false}}}`),
		status: 200, want: "disabled 2 items: a=-1000 i=-1000",
	},
	{name: "delete the cart", raw: del(cartPath), status: 204, want: "0 items:"},
}

// summary describes the cart of newCart.
func summary(t *testing.T, store *commercetest.Store) string {
	t.Helper()
	c := readCart(t, store, cartID)
	text := fmt.Sprintf("%d items:", len(c.Data.Relationships.Items.Data))
	for _, d := range store.Discounts(cartID) {
		text += fmt.Sprintf(" %s=%s", d.ExternalID, d.Amount.Amount)
	}
	if !c.Data.DiscountSettings.Enabled {
		return "disabled " + text
	}
	return text
}

// Of two writes that overlap, both succeed, and the cart is as if only the one that
// took effect later had been sent.
func TestLoseOverlappingWrites(t *testing.T) {
	t.Parallel()
	for _, early := range overlappingWrites {
		for _, late := range overlappingWrites {
			t.Run(early.name+", then "+late.name, func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					store := newCart(t, commercetest.Config{LoseOverlappingWrites: true})
					send(t, store, addRequest(onCartA, item))
					store.Inject(fault{Delay: time.Minute}) // the first request takes effect last
					done := make(chan wireResponse)
					go func() {
						resp, _ := overRoundTripper(t, store.Transport(), late.raw)
						done <- resp
					}()
					synctest.Wait()
					wantEqual(t, "status of the early write", send(t, store, early.raw).Status, early.status)
					wantEqual(t, "cart after the early write", summary(t, store), early.want)
					wantEqual(t, "status of the late write", (<-done).Status, late.status)
					wantEqual(t, "cart", summary(t, store), late.want)
				})
			})
		}
	}
}

// Writes that do not overlap keep their changes, and without the setting all do.
func TestLoseOverlappingWrites_keeps(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name  string
		lose  bool
		delay time.Duration
	}{
		{name: "overlapping, not set", delay: time.Minute},
		{name: "one after the other", lose: true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				store := newCart(t, commercetest.Config{LoseOverlappingWrites: tt.lose})
				store.Inject(fault{Delay: tt.delay})
				done := make(chan struct{})
				go func() {
					_, _ = overRoundTripper(t, store.Transport(), addRequest(onCartA))
					close(done)
				}()
				synctest.Wait()
				send(t, store, addRequest(onCartB))
				<-done
				got := externalIDs(store.Discounts(cartID))
				slices.Sort(got)
				wantEqual(t, "discounts", strings.Join(got, " "), "a b")
			})
		})
	}
}
