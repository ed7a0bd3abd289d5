package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/spf13/cobra"

	"github.com/commerce-go/commerce"
)

// maxClockError is the difference of clocks from which on tokens may be taken for expired.
const maxClockError = time.Minute

// check is a line of doctor.
type check struct {
	name string
	took time.Duration
	text string // what was found
	todo string // what to do; "" if all is well
	run  func(context.Context) (text, todo string)
}

func (c check) result() string {
	if c.todo != "" {
		return "FAIL"
	}
	return "ok"
}

var checkView = view[check]{
	widths: []int{4, 10, 7, 53},
	lines: func(c check) [][]string {
		lines := [][]string{{c.result(), c.name, c.took.Round(time.Millisecond).String(), c.text}}
		for _, text := range wrap(c.todo, 53) {
			lines = append(lines, []string{"", "", "", text})
		}
		return lines
	},
	cells: func(c check) []cell {
		return []cell{
			{"check", c.name}, {"ok", c.todo == ""}, {"milliseconds", c.took.Milliseconds()}, {"found", c.text}, {"todo", c.todo},
		}
	},
	object: func(c check) any {
		return map[string]any{
			"check": c.name, "ok": c.todo == "", "milliseconds": c.took.Milliseconds(), "found": c.text, "todo": c.todo,
		}
	},
}

// wrap returns the words of a text in lines of at most width bytes, unless a word is longer.
func wrap(text string, width int) (lines []string) {
	for _, word := range strings.Fields(text) {
		if last := len(lines) - 1; last >= 0 && len(lines[last])+1+len(word) <= width {
			lines[last] += " " + word
		} else {
			lines = append(lines, word)
		}
	}
	return lines
}

func newDoctorCommand(e *environment) *cobra.Command {
	cartID := ""
	cmd := &cobra.Command{
		Use:   "doctor",
		Short: "Find out whether the setup is right",
		Long:  "Find out whether the setup is right. It changes nothing. Exit code 1 if a check fails.",
		Args:  cobra.NoArgs,
	}
	cmd.Flags().StringVar(&cartID, "cart", "", "check the cart with this `id` too")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		s, err := e.open()
		if err != nil {
			return err
		}
		d := &doctor{shop: s, cartID: cartID}
		checks := d.checks()
		p := newPrinter(e, checkView)
		failed := 0
		for _, c := range checks {
			begin := time.Now()
			c.text, c.todo = c.run(cmd.Context())
			if c.took = time.Since(begin); c.todo != "" {
				failed++
			}
			if err := errors.Join(cmd.Context().Err(), p.print(c), p.flush()); err != nil {
				return err
			}
		}
		if err := p.end(); err != nil {
			return err
		}
		if failed > 0 {
			return fmt.Errorf("%d of %d checks failed", failed, len(checks))
		}
		return nil
	}
	return e.addOutputFlag(cmd)
}

// doctor checks a store.
type doctor struct {
	*shop
	cartID string
	ahead  time.Duration // how far the clock of this machine is ahead
	dated  bool          // whether that is known
	cart   *commerce.Cart
}

func (d *doctor) checks() []check {
	checks := []check{
		{name: "address", run: d.checkAddress},
		{name: "clock", run: d.checkClock},
		{name: "token", run: d.checkToken},
		{name: "settings", run: d.checkSettings},
		{name: "payload", run: d.checkPayload},
		{name: "accounts", run: d.checkAccounts},
	}
	if d.cartID != "" {
		checks = append(checks, check{name: "discounts", run: d.checkDiscounts}, check{name: "items", run: d.checkItems})
	}
	return checks
}

// checkAddress sends a request without a token: any response shows that there is a server.
func (d *doctor) checkAddress(ctx context.Context) (text, todo string) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, d.address, nil)
	if err != nil {
		return "not an address", "correct COMMERCE_BASE_URL"
	}
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	resp, err := d.transport.RoundTrip(req.WithContext(ctx))
	if err != nil {
		return "no response", err.Error() + ": correct COMMERCE_BASE_URL, or the network, the proxy, the certificates"
	}
	_ = resp.Body.Close()
	if date, err := http.ParseTime(resp.Header.Get("Date")); err == nil {
		d.ahead, d.dated = time.Since(date), true
	}
	if resp.StatusCode >= 300 && resp.StatusCode < 400 {
		return "a redirect", "set COMMERCE_BASE_URL to where the redirect leads: " + resp.Header.Get("Location")
	}
	return d.address + " responds", ""
}

func (d *doctor) checkClock(context.Context) (text, todo string) {
	switch {
	case !d.dated:
		return "unknown: the server sent no date", ""
	case d.ahead.Abs() > maxClockError:
		return fmt.Sprintf("%v off", d.ahead.Round(time.Second)), "set the clock of this machine: tokens seem to expire"
	}
	return "as the server's", ""
}

func (d *doctor) checkToken(ctx context.Context) (text, todo string) {
	_, err := d.Settings(ctx)
	switch {
	case errors.Is(err, commerce.ErrToken), errors.Is(err, commerce.ErrUnauthorized):
		return d.credentials + ": refused", err.Error() + ": " + advice(err)
	case err != nil && !errors.Is(err, commerce.ErrForbidden):
		return "unknown", err.Error()
	}
	return d.credentials + ": accepted", ""
}

func (d *doctor) checkSettings(ctx context.Context) (text, todo string) {
	settings, err := d.Settings(ctx)
	if err != nil {
		return "can't be read", explain(err)
	}
	text = fmt.Sprintf("calculation %s, %d discounts, pages of %d up to %d",
		cmp.Or(settings.CalculationMethod, "unknown"), settings.CustomDiscountLimit, settings.PageLength,
		settings.PageOffsetLimit)
	if settings.CalculationMethod == "simple" {
		todo = "custom discounts need the calculation method line: change it in the settings of the store"
	}
	return text, todo
}

func (d *doctor) checkPayload(ctx context.Context) (text, todo string) {
	page, err := d.Subscriptions.List(ctx, &commerce.SubscriptionListOptions{
		PageSize: 1, Include: commerce.SubscriptionInclude{All: true},
	})
	switch {
	case err != nil:
		return "subscriptions can't be listed", explain(err)
	case len(page.Subscriptions) == 0:
		return "unknown: there are no subscriptions", ""
	case page.Subscriptions[0].Attributes.PricingOptionID != uuid.Nil || len(page.Included.PricingOptions) > 0:
		return "second generation: plans and pricing options", ""
	}
	return "first generation: plans and products", ""
}

func (d *doctor) checkAccounts(ctx context.Context) (text, todo string) {
	for _, err := range d.Accounts.IDs(ctx, uuid.Nil) {
		if err != nil {
			return "can't be listed", explain(err) + "; export needs client credentials, not a shopper's token"
		}
		return "can be listed", ""
	}
	return "none: export would find no subscription", ""
}

func (d *doctor) checkDiscounts(ctx context.Context) (text, todo string) {
	cart, err := d.Carts.Get(ctx, d.cartID)
	if err != nil {
		return "the cart can't be read", explain(err)
	}
	d.cart = cart
	if !cart.CustomDiscountsEnabled {
		return "not enabled for the cart", "run: epcommerce discounts enable CART"
	}
	return fmt.Sprintf("enabled for the cart, which has %d", len(cart.CustomDiscounts)), ""
}

func (d *doctor) checkItems(context.Context) (text, todo string) {
	if d.cart == nil {
		return "unknown", "see above"
	}
	if len(d.cart.Items) == 0 {
		return "none", "check the id: a cart that does not exist reads as an empty one, which takes no discounts"
	}
	return fmt.Sprint(len(d.cart.Items)), ""
}
