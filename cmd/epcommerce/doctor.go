package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/spf13/cobra"

	"github.com/commerce-go/commerce"
)

// doctor checks a store.
type doctor struct {
	*shop
	cartID   string
	date     string // of the first response
	settings *commerce.Settings
}

func newDoctorCommand(e *environment) *cobra.Command {
	d := &doctor{}
	cmd := e.command("doctor", "Find out if the setup is right", func(ctx context.Context, s *shop, _ []string) error {
		d.shop = s
		p := e.newPrinter("", checkRecord("", "", "", ""))
		failed := 0
		for _, check := range []struct {
			name string
			run  func(context.Context) (found string, err error)
		}{
			{name: "address", run: d.checkAddress},
			{name: "clock", run: d.checkClock},
			{name: "token", run: d.checkToken},
			{name: "settings", run: d.checkSettings},
			{name: "payload", run: d.checkPayload},
			{name: "accounts", run: d.checkAccounts},
			{name: "cart", run: d.checkCart},
		} {
			if check.name == "cart" && d.cartID == "" {
				break
			}
			begin := time.Now()
			found, err := check.run(ctx)
			if ctx.Err() != nil {
				return ctx.Err()
			}
			result := "ok"
			if err != nil {
				result, found = "FAIL", explain(err)
				failed++
			}
			p.print(checkRecord(check.name, result, strconv.FormatInt(time.Since(begin).Milliseconds(), 10), found))
			if err := p.flush(); err != nil {
				return err
			}
		}
		if err := p.end(); err != nil || failed == 0 {
			return err
		}
		return fmt.Errorf("%d checks failed", failed)
	})
	cmd.Flags().StringVar(&d.cartID, "cart", "", "check the cart with this `id` too")
	return cmd
}

func checkRecord(name, result, ms, found string) record {
	text, more, _ := strings.Cut(found+"\n", "\n")
	if len(text) > 54 {
		more = "  " + plain(text) + "\n" + more
	}
	return record{
		lines:  line([]int{4, 8, 8, 54}, result, name, ms+" ms", plain(text)) + more,
		cells:  []cell{{"check", name}, {"result", result}, {"ms", ms}, {"found", found}},
		object: map[string]string{"check": name, "result": result, "ms": ms, "found": found},
	}
}

// checkAddress sends a request without a token: any response shows that there is a server.
func (d *doctor) checkAddress(ctx context.Context) (string, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, d.address, nil)
	if err != nil {
		return "", err
	}
	resp, err := (&http.Client{Transport: d.transport, Timeout: 10 * time.Second}).Do(req)
	if err != nil {
		return "", fmt.Errorf("%w\n  to do: check COMMERCE_BASE_URL, the network, the proxy and the certificates", err)
	}
	d.date = resp.Header.Get("Date")
	return d.address + " responds", resp.Body.Close()
}

func (d *doctor) checkClock(context.Context) (string, error) {
	date, err := http.ParseTime(d.date)
	if err != nil {
		return "unknown: there is no date to compare with", nil
	}
	if ahead := time.Since(date).Round(time.Second); ahead.Abs() > time.Minute { // tokens would seem to expire
		return "", fmt.Errorf("%v ahead of the server\n  to do: set the clock of this machine", ahead)
	}
	return "as the server's", nil
}

func (d *doctor) checkToken(ctx context.Context) (found string, err error) {
	d.settings, err = d.Settings(ctx)
	return d.credentials + ": accepted", err
}

func (d *doctor) checkSettings(context.Context) (string, error) {
	if d.settings == nil {
		return "", errors.New("could not be read")
	}
	method := cmp.Or(d.settings.CalculationMethod, "unknown")
	if method == "simple" {
		return "", errors.New("calculation method simple\n  to do: change it to line, which custom discounts need")
	}
	return fmt.Sprintf("method %s, %d discounts, %d a page, offset %d",
		method, d.settings.CustomDiscountLimit, d.settings.PageLength, d.settings.PageOffsetLimit), nil
}

func (d *doctor) checkPayload(ctx context.Context) (string, error) {
	opts := &commerce.SubscriptionListOptions{PageSize: 1}
	opts.Include.All = true
	page, err := d.Subscriptions.List(ctx, opts)
	switch {
	case err != nil:
		return "", err
	case len(page.Subscriptions) == 0:
		return "unknown: there are no subscriptions", nil
	case page.Subscriptions[0].Attributes.PricingOptionID != uuid.Nil:
		return "second generation: plans and pricing options", nil
	}
	return "first generation: plans and products", nil
}

func (d *doctor) checkAccounts(ctx context.Context) (string, error) {
	for _, err := range d.Accounts.IDs(ctx, uuid.Nil) {
		return "can be listed", err
	}
	return "none: export finds no subscription", nil
}

func (d *doctor) checkCart(ctx context.Context) (string, error) {
	cart, err := d.Carts.Get(ctx, d.cartID)
	switch {
	case err != nil:
		return "", err
	case len(cart.Items) == 0:
		return "", errors.New("no items\n  to do: " + todos["empty_cart"])
	case !cart.CustomDiscountsEnabled:
		return "", errors.New("custom discounts are not enabled\n  to do: " + todos["discounts_disabled"])
	}
	return fmt.Sprintf("%d items, %d custom discounts, enabled", len(cart.Items), len(cart.CustomDiscounts)), nil
}
