package commercetest

import (
	"cmp"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"time"
)

// The credentials of a store whose [Config] does not set them.
const (
	DefaultClientID     = "commercetest-id"
	DefaultClientSecret = "commercetest-secret"
	DefaultToken        = "commercetest-token"
)

// Generation is a generation of the subscription payload. It decides what
// [Store.Seed] creates and what a list can include.
type Generation uint8

const (
	// SecondGeneration is the payload of the live service since August 2025. A list
	// can include plans, which have the members of the former products, and
	// pricing_options, which have the members of the former plans.
	SecondGeneration Generation = iota
	// FirstGeneration is the payload before August 2025. A list can include plans and products.
	FirstGeneration
)

var generationNames = []string{"second", "first"}

// String returns "first" or "second".
func (g Generation) String() string {
	if g == FirstGeneration {
		return "first"
	}
	return "second"
}

// MarshalText returns what [Generation.String] does.
func (g Generation) MarshalText() ([]byte, error) { return textOf(g, generationNames) }

// UnmarshalText reads what [Generation.String] returns.
func (g *Generation) UnmarshalText(text []byte) error { return readName(g, text, generationNames) }

// Links is how a store sends the links of a list.
type Links uint8

const (
	// LinksAsStrings are addresses. A link to a page that does not exist is null.
	LinksAsStrings Links = iota
	// LinksAsObjects are objects with the address as href. A link to a page that does not exist is
	// null.
	LinksAsObjects
	// LinksWithoutNext are strings without the member next, on all pages.
	LinksWithoutNext
	// NoLinks leaves out the member links.
	NoLinks
)

var linksNames = []string{"strings", "objects", "without_next", "none"}

// MarshalText returns "strings", "objects", "without_next" or "none".
func (l Links) MarshalText() ([]byte, error) { return textOf(l, linksNames) }

// UnmarshalText reads what [Links.MarshalText] returns.
func (l *Links) UnmarshalText(text []byte) error { return readName(l, text, linksNames) }

// EmptyLists is how a store sends those lists of a cart that are empty: the items and the
// discounts that are included, and those that relationships name.
type EmptyLists uint8

const (
	// EmptyListsAsPrinted sends them as the documentation of the service prints them: the items of
	// a cart and the discounts of an item are null, all others are left out.
	EmptyListsAsPrinted EmptyLists = iota
	// EmptyListsLeftOut leaves them out.
	EmptyListsLeftOut
	// EmptyListsNull sends null.
	EmptyListsNull
	// EmptyListsAsArrays sends [].
	EmptyListsAsArrays
)

var emptyListsNames = []string{"as_printed", "left_out", "null", "arrays"}

// MarshalText returns "as_printed", "left_out", "null" or "arrays".
func (l EmptyLists) MarshalText() ([]byte, error) { return textOf(l, emptyListsNames) }

// UnmarshalText reads what [EmptyLists.MarshalText] returns.
func (l *EmptyLists) UnmarshalText(text []byte) error { return readName(l, text, emptyListsNames) }

// textOf returns the name of a number.
func textOf[T ~uint8](v T, names []string) ([]byte, error) {
	if int(v) >= len(names) {
		return nil, fmt.Errorf("commercetest: %d has no name", v)
	}
	return []byte(names[v]), nil
}

// readName sets v to the number of a name.
func readName[T ~uint8](v *T, text []byte, names []string) error {
	i := slices.Index(names, string(text))
	if i < 0 {
		return fmt.Errorf("must be one of %q", names)
	}
	*v = T(i)
	return nil
}

// Config sets up a [Store]. Zero fields mean the defaults. The members of its JSON are those that
// epcommerce serve reads; a duration is a text such as "2s".
type Config struct {
	// Generation of the payload. Default: SecondGeneration, which the live service sends.
	Generation Generation `json:"generation"`

	// ClientID and ClientSecret that the token endpoint accepts. Defaults:
	// DefaultClientID and DefaultClientSecret.
	ClientID     string `json:"-"`
	ClientSecret string `json:"-"`
	// Token is a bearer token that the store accepts in addition to those it issues.
	// It does not expire. Default: DefaultToken.
	Token string `json:"-"`
	// RandomTokens makes the tokens that the store issues random, for a store that others can
	// reach. Without it, they are numbered.
	RandomTokens bool `json:"-"`
	// TokenLife is how long the store accepts a token after it was issued. The
	// token response states it in whole seconds, rounded down. Default: one hour.
	TokenLife time.Duration `json:"token_life"`

	// PageLength is the number of subscriptions on a page if the request has no
	// page[limit], 1 to 100. Default: 25.
	PageLength int `json:"page_length"`
	// Links of all lists. Default: LinksAsStrings.
	Links Links `json:"links"`
	// MaxPage is the number of records that a page of any list has at most, however many
	// page[limit] asks for, 1 to 100. The links lead to pages of that length. Default: 100.
	MaxPage int `json:"max_page"`
	// UnlistedAccounts leaves each n-th account of Seed out of GET /v2/accounts, although it has
	// subscriptions, as if it were new or the token might not see it. 0: none.
	UnlistedAccounts int `json:"unlisted_accounts"`

	// AddStatus is the status of a response that confirms added discounts, all or
	// some of them: 201 or 200. Default: 201.
	AddStatus int `json:"add_status"`
	// DiscountsEnabled enables custom discounts for new carts. Otherwise a cart takes none before
	// a request enables them, as in the service. PUT /v2/settings/cart changes it.
	DiscountsEnabled bool `json:"discounts_enabled"`
	// PromotionsStay keeps the promotions of the store on a cart for which custom discounts are
	// enabled, so that it still refuses them. Otherwise they go. Which of the two the service does
	// is not documented.
	PromotionsStay bool `json:"promotions_stay"`
	// StandardPromotions makes the promotions of the store those of the older kind, "Promotions
	// Standard", as guides of the service print them: they have no promotion_source. A cart keeps
	// them if custom discounts are enabled for it, and so still refuses these, as the service says
	// of its hybrid mode. Default: those of the Promotions Builder.
	StandardPromotions bool `json:"standard_promotions"`
	// PromotionCodes are the codes that POST /v2/carts/{cartID}/items takes, as items of the type
	// promotion_item. Each adds a promotion such as that of [Store.AddPromotion]. A cart that takes
	// custom discounts takes none, and one without rule promotions takes only those of the older
	// kind. If one is of the Promotions Builder, new carts use rule promotions, unless
	// DiscountsEnabled is set.
	PromotionCodes []PromotionCode `json:"promotion_codes"`
	// FractionalAmounts accepts amounts of discounts that are not whole numbers.
	FractionalAmounts bool `json:"fractional_amounts"`
	// EmptyLists of a cart. Default: EmptyListsAsPrinted.
	EmptyLists EmptyLists `json:"empty_lists"`
	// ErrorsBesideCarts sends an error beside the data of each read of a cart or of its items.
	ErrorsBesideCarts bool `json:"errors_beside_carts"`
	// BarePrices leaves out discount and without_discount in the display_price of carts, as some
	// examples in the documentation of the service do, and the display_price of items.
	BarePrices bool `json:"bare_prices"`
	// Currencies of the store, the default first unless USD is among them. Default: EUR, USD, GBP,
	// JPY and KWD. A cart has the currency of [CartFixture.Currency], or of the header
	// X-Moltin-Currency of the POST that creates it or adds its first item.
	Currencies []Currency `json:"currencies"`
	// CalculationMethod of the totals of carts. Default: LineCalculation.
	CalculationMethod CalculationMethod `json:"calculation_method"`
	// TaxPercent is the tax on each item after all discounts, rounded half away from zero to whole
	// units of the currency. The prices of items are without it. See [ItemFixture.TaxPercent] for
	// one item.
	TaxPercent float64 `json:"tax_percent"`
	// PricesIncludeTax makes the prices of items include the tax. The value of an item without tax
	// is rounded as the tax is. Discounts are still taken off before tax, and so lower the total by
	// more than their amount.
	PricesIncludeTax bool `json:"prices_include_tax"`
	// TotalsNotBelowZero makes a cart whose discounts are more than its prices cost 0. Whether the
	// service does so is not documented.
	TotalsNotBelowZero bool `json:"totals_not_below_zero"`
	// AmountPerPiece takes the amount of a discount of an item off each of its pieces. Otherwise it
	// is taken off once. Which of the two the service does is not documented.
	AmountPerPiece bool `json:"amount_per_piece"`
	// Shipping is what a shipping group costs that each cart with items has, without tax. The
	// totals contain it, as in printed carts of the service. TotalsNotBelowZero is about the rest.
	Shipping int64 `json:"shipping"`
	// TotalsLag is how long after a change the display_price of a cart is that of before: its
	// items, with their own display_price, and its discounts are new, its totals are old.
	TotalsLag time.Duration `json:"totals_lag"`
	// CartDiscountLimit is the maximum number of discounts on a cart, not counting
	// those on its items. Negative: custom discounts are not enabled, and the store
	// refuses all requests to add them. Default: 5.
	CartDiscountLimit int `json:"cart_discount_limit"`
	// ItemDiscountLimit is the maximum number of discounts on one item of a cart.
	// Negative: items accept none. Default: 5.
	ItemDiscountLimit int `json:"item_discount_limit"`

	// MaxRequests is the number of requests that [Store.Requests] returns, the last ones, with the
	// bodies of the responses, and at most 32 MiB of them: for a store that runs for long. 0: all,
	// without the bodies of the responses.
	MaxRequests int `json:"-"`
	// RateLimit is the number of requests that the store accepts per second, at most
	// a million. All requests count, except those to the token endpoint. A request
	// beyond the limit gets a 429 with a line of plain text and has no other effect;
	// it is not counted against the limit. 0: no limit.
	RateLimit int `json:"rate_limit"`
	// RateBurst is the number of requests that the store accepts at once after it was
	// idle, at most a million. Default: RateLimit.
	RateBurst int `json:"rate_burst"`
	// RetryAfter is the Retry-After header of a 429, in whole seconds, rounded up.
	// 0: no header, since the service does not document one.
	RetryAfter time.Duration `json:"retry_after"`

	// CloseAtOnce closes a subscription that is canceled at once. Otherwise it is canceled and
	// inactive, but not closed. Which of the two the service does is not documented.
	CloseAtOnce bool `json:"close_at_once"`
	// FlagsFollowPayment leaves a subscription suspended or closed when a store's own token
	// resumes it. The store makes no payments: a test changes the flags with
	// [Store.UpdateSubscription]. Otherwise the resume clears both flags. Which of the two the
	// service does is not documented.
	FlagsFollowPayment bool `json:"flags_follow_payment"`

	// LoseOverlappingWrites makes concurrent writes to one cart undo each other, as the
	// service may do: each write changes the cart as it was when the request arrived, and
	// so undoes every change that other writes made since. All get the response of a
	// success. A [Fault] with Delay makes writes overlap.
	LoseOverlappingWrites bool `json:"lose_overlapping_writes"`

	// AfterRequest is called once for each request, whether it succeeded, was refused
	// or met a [Fault]: after the request took effect, and before its response is
	// sent, unless a Fault with Late sends the response first. It may use the store, for
	// example to change the list between two pages. It must not call [Store.Close], which
	// waits for the response. Concurrent requests call it concurrently. It may change in,
	// which is a copy.
	AfterRequest func(s *Store, in Request) `json:"-"`
	// OnState is called each time the State of a request changes: when it has arrived, when it
	// got its response before a late write, and when it has ended. Like AfterRequest, it may use
	// the store, and is called concurrently.
	OnState func(s *Store, in Request) `json:"-"`
}

// Validate returns an error if a field is out of its range. The error names it.
func (c Config) Validate() error {
	const maxRate = 1_000_000
	problem := ""
	switch {
	case c.Generation > FirstGeneration:
		problem = "Generation must be SecondGeneration or FirstGeneration"
	case c.TokenLife < 0:
		problem = "TokenLife must not be negative"
	case c.PageLength < 0 || c.PageLength > maxPageLimit:
		problem = fmt.Sprintf("PageLength must be 1 to %d, or 0 for the default", maxPageLimit)
	case c.Links > NoLinks:
		problem = "Links must be LinksAsStrings, LinksAsObjects, LinksWithoutNext or NoLinks"
	case c.EmptyLists > EmptyListsAsArrays:
		problem = "EmptyLists must be EmptyListsAsPrinted, EmptyListsLeftOut, EmptyListsNull or EmptyListsAsArrays"
	case c.MaxPage < 0 || c.MaxPage > maxPageLimit:
		problem = fmt.Sprintf("MaxPage must be 1 to %d, or 0 for the default", maxPageLimit)
	case c.UnlistedAccounts < 0:
		problem = "UnlistedAccounts must not be negative"
	case c.AddStatus != 0 && c.AddStatus != http.StatusOK && c.AddStatus != http.StatusCreated:
		problem = "AddStatus must be 200 or 201, or 0 for the default"
	case c.CalculationMethod > SimpleCalculation:
		problem = "CalculationMethod must be LineCalculation or SimpleCalculation"
	case !(c.TaxPercent >= 0 && c.TaxPercent <= maxRate), c.TotalsLag < 0, c.Shipping < 0:
		problem = "TaxPercent, TotalsLag and Shipping must not be negative"
	case c.MaxRequests < 0:
		problem = "MaxRequests must not be negative"
	case c.RateLimit < 0 || c.RateLimit > maxRate:
		problem = fmt.Sprintf("RateLimit must be 1 to %d, or 0 for none", maxRate)
	case c.RateBurst < 0 || c.RateBurst > maxRate:
		problem = fmt.Sprintf("RateBurst must be 1 to %d, or 0 for the default", maxRate)
	case c.RetryAfter < 0:
		problem = "RetryAfter must not be negative"
	}
	if problem = cmp.Or(problem, currencyProblem(c.Currencies), promotionProblem(c.PromotionCodes)); problem != "" {
		return errors.New("commercetest: Config." + problem)
	}
	return nil
}

func (c Config) withDefaults() Config {
	c.ClientID = cmp.Or(c.ClientID, DefaultClientID)
	c.ClientSecret = cmp.Or(c.ClientSecret, DefaultClientSecret)
	c.Token = cmp.Or(c.Token, DefaultToken)
	c.TokenLife = cmp.Or(c.TokenLife, time.Hour)
	c.PageLength = cmp.Or(c.PageLength, 25)
	c.MaxPage = cmp.Or(c.MaxPage, maxPageLimit)
	c.AddStatus = cmp.Or(c.AddStatus, http.StatusCreated)
	c.CartDiscountLimit = cmp.Or(c.CartDiscountLimit, 5)
	c.ItemDiscountLimit = cmp.Or(c.ItemDiscountLimit, 5)
	c.RateBurst = cmp.Or(c.RateBurst, c.RateLimit)
	if len(c.Currencies) == 0 {
		c.Currencies = defaultCurrencies()
	}
	c.Currencies, c.PromotionCodes = slices.Clone(c.Currencies), slices.Clone(c.PromotionCodes)
	for i := range c.Currencies {
		c.Currencies[i] = c.Currencies[i].withDefaults()
	}
	return c
}
