package verify

import (
	"net/http"
	"reflect"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/commerce-go/commerce/commercetest"
)

// usual is the store whose switches the test turns. Every fact can be asked of it.
func usual() commercetest.Config {
	return commercetest.Config{
		PromotionCodes: []commercetest.PromotionCode{{Code: "TEN"}}, Shipping: 700, RateLimit: 30, RateBurst: 30,
	}
}

// everything are options that ask about all facts.
func everything(s *commercetest.Store) Options {
	o := Options{Promotion: "TEN", Currency: "GBP", Shipping: true, Destroy: true, Burst: 40}
	for sub := range s.Subscriptions() {
		m := sub.Meta
		if m.Status == "active" && !m.Canceled && !m.Paused && !m.Pending && !m.Suspended {
			o.Subscription = sub.ID.String()
		}
	}
	return o
}

// switches are fields of commercetest.Config, and what they change in a report: all facts that are
// not the same any more.
var switches = []struct {
	field string
	name  string // of the value, if several are tried
	turn  func(*commercetest.Config)
	want  []string // verdict and fact
}{
	{field: "", turn: func(*commercetest.Config) {}},
	{
		field: "Links", name: "objects", turn: func(c *commercetest.Config) { c.Links = commercetest.LinksAsObjects },
		want: []string{"allowed f-links"},
	},
	{
		field: "Links", name: "without next",
		turn: func(c *commercetest.Config) { c.Links = commercetest.LinksWithoutNext },
		want: []string{"allowed f-links"},
	},
	{
		field: "Links", name: "none", turn: func(c *commercetest.Config) { c.Links = commercetest.NoLinks },
		want: []string{"differs f-links"},
	},
	{
		field: "MaxPage", turn: func(c *commercetest.Config) { c.MaxPage = 10 },
		want: []string{"differs f-page-100"},
	},
	{
		field: "UnlistedAccounts", turn: func(c *commercetest.Config) { c.UnlistedAccounts = 2 },
		want: []string{"differs f-accounts-listed"},
	},
	{
		field: "AddStatus", turn: func(c *commercetest.Config) { c.AddStatus = http.StatusOK },
		want: []string{"allowed f-add"},
	},
	{
		field: "DiscountsEnabled", turn: func(c *commercetest.Config) { c.DiscountsEnabled = true },
		want: []string{"not asked f-off-by-default"},
	},
	{
		field: "PromotionsStay", turn: func(c *commercetest.Config) { c.PromotionsStay = true },
		want: []string{"differs f-promotion-removed"},
	},
	{
		field: "PromotionCodes", turn: func(c *commercetest.Config) { c.PromotionCodes[0].Standard = true },
		want: []string{"allowed f-promotion-removed"},
	},
	{
		field: "FractionalAmounts", turn: func(c *commercetest.Config) { c.FractionalAmounts = true },
		want: []string{"differs f-update-fraction", "differs f-whole-amounts"},
	},
	{
		field: "EmptyLists", name: "arrays",
		turn: func(c *commercetest.Config) { c.EmptyLists = commercetest.EmptyListsAsArrays },
		want: []string{"differs f-no-discounts"},
	},
	{
		field: "ErrorsBesideCarts", turn: func(c *commercetest.Config) { c.ErrorsBesideCarts = true },
		want: []string{"allowed f-errors-beside"},
	},
	{
		field: "BarePrices", turn: func(c *commercetest.Config) { c.BarePrices = true },
		want: []string{
			"allowed f-bare-prices", "differs f-item-prices", "not asked f-promotion-only", "not asked f-shipping",
			"not asked f-spread", "not asked f-subtotal", "not asked f-subtotal-tax", "not asked f-total-discount",
		},
	},
	{
		field: "CalculationMethod",
		turn:  func(c *commercetest.Config) { c.CalculationMethod = commercetest.SimpleCalculation },
	},
	{
		field: "TotalsNotBelowZero", turn: func(c *commercetest.Config) { c.TotalsNotBelowZero = true },
		want: []string{"differs f-below-zero"},
	},
	{
		field: "AmountPerPiece", turn: func(c *commercetest.Config) { c.AmountPerPiece = true },
		want: []string{"differs f-once-per-item"},
	},
	{
		field: "Shipping", turn: func(c *commercetest.Config) { c.Shipping = 0 },
		want: []string{"not asked f-shipping"},
	},
	{
		field: "TotalsLag", turn: func(c *commercetest.Config) { c.TotalsLag = 5 * time.Second },
		want: []string{"differs f-totals-follow"},
	},
	{
		field: "ItemDiscountLimit", turn: func(c *commercetest.Config) { c.ItemDiscountLimit = 3 },
		want: []string{"differs f-item-limit"},
	},
	{
		field: "CartDiscountLimit", turn: func(c *commercetest.Config) { c.CartDiscountLimit, c.ItemDiscountLimit = 1, 1 },
		want: []string{"not asked f-same-external-id"},
	},
	{
		field: "RateLimit", turn: func(c *commercetest.Config) { c.RateLimit = 0 },
		want: []string{"not asked f-429", "not asked f-429-reset"},
	},
	{
		field: "RetryAfter", turn: func(c *commercetest.Config) { c.RetryAfter = time.Second },
		want: []string{"allowed f-429"},
	},
	{
		field: "CloseAtOnce", turn: func(c *commercetest.Config) { c.CloseAtOnce = true },
		want: []string{"allowed f-cancel-immediately"},
	},
	{
		field: "LoseOverlappingWrites", turn: func(c *commercetest.Config) { c.LoseOverlappingWrites = true },
		want: []string{"allowed f-parallel"},
	},
	{
		field: "Generation", turn: func(c *commercetest.Config) { c.Generation = commercetest.FirstGeneration },
		want: []string{"not asked f-cancel-immediately", "not asked f-ended"},
	},
}

// kinds are fields that make another kind of store, for which no fact differs.
var kinds = map[string]func(*commercetest.Config){
	"PageLength":       func(c *commercetest.Config) { c.PageLength = 7 },
	"TaxPercent":       func(c *commercetest.Config) { c.TaxPercent = 19 },
	"PricesIncludeTax": func(c *commercetest.Config) { c.TaxPercent, c.PricesIncludeTax = 19, true },
	"Currencies": func(c *commercetest.Config) {
		c.Currencies = []commercetest.Currency{{Code: "XTS"}, {Code: "GBP"}}
	},
	"RateBurst":         func(c *commercetest.Config) { c.RateBurst = 35 },
	"CartDiscountLimit": func(c *commercetest.Config) { c.CartDiscountLimit, c.ItemDiscountLimit = 2, 2 },
}

// unseen are fields that no question shows, with the reason.
var unseen = map[string]string{
	"ClientID": "credentials", "ClientSecret": "credentials", "Token": "credentials", "RandomTokens": "credentials",
	"TokenLife":          "a run is shorter",
	"StandardPromotions": "only of AddPromotion: a code has a kind of its own",
	"FlagsFollowPayment": "needs a subscription whose payment failed",
	"MaxRequests":        "of the store's journal",
	"AfterRequest":       "a hook of tests", "OnState": "a hook of tests",
}

// askAll asks a store with a configuration about everything. Requests take a moment, so that those
// that are sent at once overlap.
func askAll(t *testing.T, cfg commercetest.Config) *Report {
	t.Helper()
	var r *Report
	synctest.Test(t, func(t *testing.T) {
		s := commercetest.New(t, cfg)
		s.Seed(22)
		s.Inject(commercetest.Fault{Operation: commercetest.OpAddItem, Delay: time.Millisecond, Times: -1})
		r = run(t.Context(), t, s.Transport(), everything(s))
		if s.Carts() != nil {
			t.Errorf("the carts %v are left", s.Carts())
		}
	})
	return r
}

// changed returns the verdicts and the names of the facts that are not the same.
func changed(r *Report) (list []string) {
	for _, in := range r.Results {
		if in.Verdict != Same {
			list = append(list, string(in.Verdict)+" "+in.Fact)
		}
	}
	slices.Sort(list)
	return list
}

func TestSwitches(t *testing.T) {
	t.Parallel()
	for _, tt := range switches {
		t.Run(tt.field+" "+tt.name, func(t *testing.T) {
			t.Parallel()
			cfg := usual()
			tt.turn(&cfg)
			r := askAll(t, cfg)
			want := tt.want
			if tt.field == "CalculationMethod" { // all that add discounts
				want = nil
				for _, in := range r.Results {
					if in.Observed == "the calculation method is simple" {
						want = append(want, "not asked "+in.Fact)
					}
				}
				if slices.Sort(want); len(want) < 35 {
					t.Errorf("%d facts are not asked, want those that add discounts: %v", len(want), want)
				}
			}
			if diff := cmp.Diff(want, changed(r)); diff != "" {
				t.Errorf("facts that are not the same (-want +got):\n%s%s", diff, strings.Join(r.results(Differs), "\n"))
			}
		})
	}
	for field, turn := range kinds {
		t.Run(field, func(t *testing.T) {
			t.Parallel()
			cfg := usual()
			turn(&cfg)
			if r := askAll(t, cfg); changed(r) != nil {
				t.Errorf("got %v %v, want all the same", changed(r), r.results(Differs))
			}
		})
	}
}

// Each field of the configuration is a switch, or makes another kind of store, or is not seen.
func TestSwitches_complete(t *testing.T) {
	t.Parallel()
	var fields []string
	for f := range reflect.TypeFor[commercetest.Config]().Fields() {
		fields = append(fields, f.Name)
		turned := slices.ContainsFunc(switches, func(s struct {
			field, name string
			turn        func(*commercetest.Config)
			want        []string
		}) bool {
			return s.field == f.Name
		})
		if !turned && kinds[f.Name] == nil && unseen[f.Name] == "" {
			t.Errorf("commercetest.Config.%s changes no fact: add it to switches, to kinds or to unseen", f.Name)
		}
	}
	for field := range unseen {
		if !slices.Contains(fields, field) {
			t.Errorf("commercetest.Config has no %s", field)
		}
	}
}
