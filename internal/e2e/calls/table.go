package calls

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/google/uuid"

	"github.com/commerce-go/commerce"
)

const (
	subscriptions = `{"data":[{"id":"$subscription","type":"subscription","account_id":"$account"}],"links":{"next":null}}`
	accounts      = `{"data":[{"id":"$account"}],"links":{"next":null}}`
	emptyCart     = `{"data":{"id":"$cart"},"included":{"items":[{"id":"$account"}],"custom_discounts":[]}}`
	enabledCart   = `{"data":{"id":"$cart","discount_settings":{"custom_discounts_enabled":true}}}`
	prices        = `"discount_settings":{"custom_discounts_enabled":true},"meta":{"display_price":{` +
		`"with_tax":{"amount":5000},"without_discount":{"amount":5000}}}`
	pricedCart = `{"data":{"id":"$cart",` + prices + `},` +
		`"included":{"items":[{"id":"$account"}],"custom_discounts":[]}}`
	pricedFilledCart = `{"data":{"id":"$cart",` + prices +
		`,"relationships":{"custom_discounts":{"data":[{"id":"$added-id"}]}}},` +
		`"included":{"items":[{"id":"$account"}],"custom_discounts":[$added]}}`
	filledCart = `{"data":{"id":"$cart","relationships":{"custom_discounts":{"data":[{"id":"$added-id"}]}}},` +
		`"included":{"items":[{"id":"$account"}],"custom_discounts":[$added]}}`
)

// subscriptionIn returns a subscription that is paused, or not.
func subscriptionIn(paused bool) string {
	return fmt.Sprintf(`{"data":{"id":"$subscription","type":"subscription","meta":{"paused":%t}}}`, paused)
}

// All returns the table.
func All() []Call {
	list := slices.Clone(table)
	for i := range list {
		if list[i].Op == "" {
			list[i].Op, _, _ = strings.Cut(list[i].Name, " (")
		}
	}
	return list
}

// Named returns the row with a name.
func Named(name string) Call {
	list := All()
	return list[slices.IndexFunc(list, func(c Call) bool { return c.Name == name })]
}

// lists returns a row of a call that reads lists of subscriptions.
func lists(name string, do func(context.Context, *commerce.Client, *Args) (any, error)) Call {
	return Call{
		Name: name, Op: "Subscriptions.List", Method: http.MethodGet, List: true,
		responses: respond(http.StatusOK, subscriptions), Do: do,
	}
}

var table = []Call{
	{
		Name: "Carts.AddCustomDiscounts", Method: http.MethodPost, Write: true,
		responses: respond(http.StatusCreated, `{"data":[$added]}`),
		Do: func(ctx context.Context, c *commerce.Client, a *Args) (any, error) {
			return c.Carts.AddCustomDiscounts(ctx, a.CartID, []commerce.NewCustomDiscount{a.NewDiscount}, nil)
		},
	},
	{
		Name: "Carts.UpdateCustomDiscount", Method: http.MethodPut, Write: true,
		responses: respond(http.StatusOK, `{"data":$existing}`),
		Do: func(ctx context.Context, c *commerce.Client, a *Args) (any, error) {
			return c.Carts.UpdateCustomDiscount(ctx, a.CartID, a.Discount)
		},
	},
	{
		Name: "Carts.DeleteCustomDiscount", Method: http.MethodDelete, Write: true, Replayable: true,
		responses: respond(http.StatusNoContent, ""),
		Do: func(ctx context.Context, c *commerce.Client, a *Args) (any, error) {
			return nil, c.Carts.DeleteCustomDiscount(ctx, a.CartID, a.Discount)
		},
	},
	{
		Name: "Carts.DeleteCustomDiscounts", Method: http.MethodDelete, Write: true,
		responses: respond(http.StatusNoContent, ""),
		Do: func(ctx context.Context, c *commerce.Client, a *Args) (any, error) {
			return nil, c.Carts.DeleteCustomDiscounts(ctx, a.CartID)
		},
	},
	{
		Name: "Carts.EnableCustomDiscounts", Method: http.MethodPut, Write: true, Replayable: true,
		responses: respond(http.StatusOK, enabledCart),
		Do: func(ctx context.Context, c *commerce.Client, a *Args) (any, error) {
			return nil, c.Carts.EnableCustomDiscounts(ctx, a.CartID)
		},
	},
	{
		Name: "Carts.EnsureCustomDiscounts", Write: true,
		responses: []Response{
			{Status: http.StatusOK, Body: emptyCart},
			{Status: http.StatusCreated, Body: `{"data":[$added]}`},
			{Status: http.StatusOK, Body: filledCart},
		},
		Do: func(ctx context.Context, c *commerce.Client, a *Args) (any, error) {
			want := []commerce.NewCustomDiscount{a.NewDiscount}
			opts := &commerce.EnsureCustomDiscountsOptions{Settle: -1}
			return c.Carts.EnsureCustomDiscounts(ctx, a.CartID, want, opts)
		},
	},
	{
		Name: "Carts.SetCustomDiscounts", Write: true,
		responses: []Response{
			{Status: http.StatusOK, Body: pricedCart},
			{Status: http.StatusCreated, Body: `{"data":[$added]}`},
			{Status: http.StatusOK, Body: pricedFilledCart},
		},
		Do: func(ctx context.Context, c *commerce.Client, a *Args) (any, error) {
			want := func(context.Context, *commerce.Cart) ([]commerce.NewCustomDiscount, error) {
				return []commerce.NewCustomDiscount{a.NewDiscount}, nil
			}
			opts := &commerce.SetCustomDiscountsOptions{Engine: a.NewDiscount.DiscountEngine, Settle: -1}
			return c.Carts.SetCustomDiscounts(ctx, a.CartID, want, opts)
		},
	},
	{
		Name: "Carts.Get", Method: http.MethodGet, responses: respond(http.StatusOK, filledCart),
		Do: func(ctx context.Context, c *commerce.Client, a *Args) (any, error) { return c.Carts.Get(ctx, a.CartID) },
	},
	{
		Name: "Client.Settings", Method: http.MethodGet, TakesAll: true,
		responses: respond(http.StatusOK, `{"data":{"custom_discount_limit":5}}`),
		Do:        func(ctx context.Context, c *commerce.Client, _ *Args) (any, error) { return c.Settings(ctx) },
	},
	{
		Name: "Client.Do (read)", Method: http.MethodGet, responses: respond(http.StatusOK, `{}`),
		Do: func(ctx context.Context, c *commerce.Client, a *Args) (any, error) {
			return c.Do(ctx, http.MethodGet, a.Path, a.Query, nil, new(json.RawMessage))
		},
	},
	{
		Name: "Client.Do (write)", Method: http.MethodPost, Write: true, responses: respond(http.StatusCreated, `{}`),
		Do: func(ctx context.Context, c *commerce.Client, a *Args) (any, error) {
			return c.Do(ctx, http.MethodPost, a.Path, a.Query, a.Body, new(json.RawMessage))
		},
	},
	{
		Name: "Subscriptions.Get", Method: http.MethodGet,
		responses: respond(http.StatusOK, `{"data":{"id":"$subscription","type":"subscription"}}`),
		Do: func(ctx context.Context, c *commerce.Client, a *Args) (any, error) {
			return c.Subscriptions.Get(ctx, a.SubscriptionID, commerce.SubscriptionInclude{})
		},
	},
	{
		Name: "Subscriptions.ChangeState", Method: http.MethodPost, Write: true,
		responses: respond(http.StatusNoContent, ""),
		Do: func(ctx context.Context, c *commerce.Client, a *Args) (any, error) {
			return nil, c.Subscriptions.ChangeState(ctx, a.SubscriptionID, commerce.StateChange{Action: commerce.ActionPause})
		},
	},
	{
		Name: "Subscriptions.EnsureState", Write: true,
		responses: []Response{
			{Status: http.StatusOK, Body: subscriptionIn(false)},
			{Status: http.StatusNoContent},
			{Status: http.StatusOK, Body: subscriptionIn(true)},
		},
		Do: func(ctx context.Context, c *commerce.Client, a *Args) (any, error) {
			return c.Subscriptions.EnsureState(ctx, a.SubscriptionID, commerce.StateChange{Action: commerce.ActionPause})
		},
	},
	lists("Subscriptions.List", func(ctx context.Context, c *commerce.Client, a *Args) (any, error) {
		return c.Subscriptions.List(ctx, a.Options)
	}),
	lists("Subscriptions.All", func(ctx context.Context, c *commerce.Client, a *Args) (any, error) {
		return commerce.Collect(c.Subscriptions.All(ctx, a.Options))
	}),
	lists("Subscriptions.Pages", func(ctx context.Context, c *commerce.Client, a *Args) (any, error) {
		return commerce.Collect(c.Subscriptions.Pages(ctx, a.Options))
	}),
	{
		Name: "Accounts.IDs", Method: http.MethodGet, List: true, TakesAll: true,
		responses: respond(http.StatusOK, accounts),
		Do: func(ctx context.Context, c *commerce.Client, _ *Args) (any, error) {
			return commerce.Collect(c.Accounts.IDs(ctx, uuid.Nil))
		},
	},
	{
		Name: "Walk", Method: http.MethodGet, List: true, responses: respond(http.StatusOK, accounts),
		Do: func(ctx context.Context, c *commerce.Client, a *Args) (any, error) {
			return commerce.Collect(commerce.Walk(ctx, c, a.list()))
		},
	},
}
