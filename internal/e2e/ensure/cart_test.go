package ensure_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/google/uuid"

	"github.com/commerce-go/commerce"
	"github.com/commerce-go/commerce/commercetest"
)

// engine is the engine of all wanted discounts.
const engine = "engine"

// cart is a cart of the store, and the discounts that all callers want on it.
type cart struct {
	ID   string
	Want []commerce.NewCustomDiscount
}

// newCart adds a cart with one or two items to the store. Two discounts that nobody wants
// are on it: one of another engine, and one that only Prune may delete.
func newCart(s *commercetest.Store, r *rand.Rand) cart {
	items := make([]commerce.CartItemRef, 1+r.IntN(2))
	for i := range items {
		items[i] = commerce.CartItemRef{Type: commerce.ItemTypeCartItem, ID: newID(r)}
	}
	items[0].Type = commerce.ItemTypeCustomItem
	c := cart{ID: s.AddCart(items...)}
	for i := range 2 {
		c.Want = append(c.Want, newDiscount(fmt.Sprintf("cart-%d", i), nil))
	}
	for i := range items {
		c.Want = append(c.Want, newDiscount(fmt.Sprintf("item-%d", i), &items[i]))
	}
	for _, d := range c.bystanders() {
		s.AddDiscount(c.ID, d)
	}
	return c
}

func newDiscount(externalID string, item *commerce.CartItemRef) commerce.NewCustomDiscount {
	return commerce.NewCustomDiscount{
		Amount: commerce.NewDecimal(-100), Description: "Summer sale", DiscountCode: "SUMMER", DiscountEngine: engine,
		ExternalID: externalID, Item: item,
	}
}

// onCart returns d as a discount of a cart, with the zero id.
func onCart(d commerce.NewCustomDiscount) commerce.CustomDiscount {
	return commerce.CustomDiscount{
		Amount: commerce.Money{Amount: d.Amount}, Description: d.Description, DiscountCode: d.DiscountCode,
		DiscountEngine: d.DiscountEngine, ExternalID: d.ExternalID, Item: d.Item,
	}
}

// onCarts is onCart for a list.
func onCarts(list []commerce.NewCustomDiscount) (discounts []commerce.CustomDiscount) {
	for _, d := range list {
		discounts = append(discounts, onCart(d))
	}
	return discounts
}

// bystanders are the unwanted discounts that are on the cart from the start.
func (c cart) bystanders() []commerce.CustomDiscount {
	foreign, unwanted := onCart(newDiscount("cart-0", nil)), onCart(newDiscount("unwanted", nil))
	foreign.DiscountEngine = "another engine"
	return []commerce.CustomDiscount{foreign, unwanted}
}

// describe returns discounts as sorted lines without their ids. White space around an external id
// does not count.
func describe(list []commerce.CustomDiscount) string {
	var lines []string
	for _, d := range list {
		item := "the cart"
		if d.Item != nil {
			item = d.Item.ID.String()
		}
		lines = append(lines, fmt.Sprintf("%s/%s: %v, %q, %q on %s",
			d.DiscountEngine, strings.TrimSpace(d.ExternalID), d.Amount.Amount, d.Description, d.DiscountCode, item))
	}
	slices.Sort(lines)
	return strings.Join(lines, "\n")
}

// mismatch returns how the discounts of the cart differ from the wanted ones and the
// bystanders; "" if they do not. pruned: the unwanted discounts of the engine are gone.
func (c cart) mismatch(s *commercetest.Store, opts scenario) string {
	want := c.bystanders()
	if opts.Prune {
		want = want[:1]
	}
	want = append(want, onCarts(c.Want)...)
	if got, want := describe(s.Discounts(c.ID)), describe(want); got != want {
		return fmt.Sprintf("the cart has the discounts\n%s\nwant\n%s", got, want)
	}
	return ""
}

// contradiction returns how a result contradicts an error that is nil; "" if it does not.
func (c cart) contradiction(result *commerce.CustomDiscountsResult) string {
	if len(result.Missing) > 0 || len(result.Different) > 0 || len(result.Discounts) != len(c.Want) {
		return fmt.Sprintf("the error is nil, but %d discounts are missing, %d different, and %d of %d are on the cart",
			len(result.Missing), len(result.Different), len(result.Discounts), len(c.Want))
	}
	for i, d := range result.Discounts {
		want, got := onCart(c.Want[i]), []commerce.CustomDiscount{d}
		if want := describe([]commerce.CustomDiscount{want}); describe(got) != want {
			return fmt.Sprintf("the error is nil, but Discounts[%d] is %s, want %s", i, describe(got), want)
		}
	}
	return ""
}

// scenario says what the callers of a test do to their carts.
type scenario struct {
	Update, Prune bool
	LoseWrites    bool // see commercetest.Config.LoseOverlappingWrites
	Lists         commercetest.EmptyLists
	Errors        bool // reads report an error beside the cart
}

func newScenario(r *rand.Rand) scenario {
	return scenario{
		Update: r.IntN(2) == 0, Prune: r.IntN(2) == 0, LoseWrites: r.IntN(2) == 0,
		Lists: commercetest.EmptyLists(r.IntN(4)), Errors: r.IntN(2) == 0,
	}
}

// config allows many discounts, because surplus ones come from several sides.
func (sc scenario) config() commercetest.Config {
	return commercetest.Config{
		EmptyLists: sc.Lists, ErrorsBesideCarts: sc.Errors, Generation: commercetest.Generation(sc.Lists % 2),
		CartDiscountLimit: 1000, ItemDiscountLimit: 1000, LoseOverlappingWrites: sc.LoseWrites,
	}
}

func newID(r *rand.Rand) (id uuid.UUID) {
	for i := range id {
		id[i] = byte(r.Uint32())
	}
	return id
}
