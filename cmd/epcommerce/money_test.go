package main

import (
	"net/http"
	"strings"
	"testing"

	"github.com/commerce-go/commerce"
	"github.com/commerce-go/commerce/commercetest"
)

// currenciesOf returns a list of currencies, as a fault sends it.
func currenciesOf(text string) commercetest.Fault {
	return commercetest.Fault{Operation: commercetest.OpCurrencies, Status: 200, Body: text, Times: -1}
}

// An amount is as the store shows it, otherwise in its currency, with the store's decimal places.
// What is absent is not 0.
func TestMoney(t *testing.T) {
	t.Parallel()
	s := commercetest.New(t, commercetest.Config{})
	env := storeEnv(s)
	open := func() *shop { return openShop(t, env) }
	amount := func(n int64, currency string) commerce.Money {
		return commerce.Money{Amount: commerce.NewDecimal(n), Currency: currency}
	}
	shown, part := amount(-250, "USD"), amount(0, "USD")
	shown.Formatted = "-$2.50"
	part.Amount, _ = commerce.ParseDecimal("-250.5")
	inAll := open()
	for want, m := range map[string]commerce.Money{
		"-$2.50": shown, "-2.50 USD": amount(-250, "USD"), "-0.05 EUR": amount(-5, "EUR"), "-250 JPY": amount(-250, "JPY"),
		"-0.250 KWD": amount(-250, "KWD"), "-2.505 USD": part, "-251": amount(-251, ""), "0.00 USD": amount(0, "USD"),
		"-": {}, "-250 (smallest unit of XXX)": amount(-250, "XXX"),
	} {
		if got := inAll.money(t.Context(), m); got != want {
			t.Errorf("%+v: got %q, want %q", m, got, want)
		}
	}
	n := 0
	for _, in := range s.Requests() {
		if in.Operation == commercetest.OpCurrencies {
			n++
		}
	}
	if n != 1 {
		t.Errorf("the currencies were read %d times, want once", n)
	}
	for name, fault := range map[string]commercetest.Fault{
		"forbidden":   {Operation: commercetest.OpCurrencies, Status: http.StatusForbidden, Times: -1},
		"no list":     currenciesOf(`{}`),
		"null":        currenciesOf(`{"data":null}`),
		"no places":   currenciesOf(`{"data":[{"code":"USD"}]}`),
		"a text":      currenciesOf(`{"data":[{"code":"USD","decimal_places":"two"}]}`),
		"a fraction":  currenciesOf(`{"data":[{"code":"USD","decimal_places":1.5}]}`),
		"below 0":     currenciesOf(`{"data":[{"code":"USD","decimal_places":-1}]}`),
		"very large":  currenciesOf(`{"data":[{"code":"USD","decimal_places":1e9}]}`),
		"other codes": currenciesOf(`{"data":[{"code":"EUR","decimal_places":2}]}`),
	} {
		s.ClearFaults()
		s.Inject(fault)
		if got, want := open().money(t.Context(), amount(-250, "USD")), "-250 (smallest unit of USD)"; got != want {
			t.Errorf("%s: got %q, want %q", name, got, want)
		}
	}
}

// --amount with a point is in the cart's currency, and a code must be that of the cart.
func TestAdd_amount(t *testing.T) {
	t.Parallel()
	for text, row := range map[string]struct {
		places string // of USD; default: 2
		want   string // the amount on the cart, or words of the error
	}{
		"-500": {want: "-500"}, "-5.00": {want: "-500"}, "-5.50": {want: "-550"}, "-5.00USD": {want: "-500"},
		"-5.00usd": {want: "-500"}, "-0.01": {want: "-1"},
		"-5.00EUR": {want: "the cart is in USD"}, "-500EUR": {want: "the cart is in USD"},
		"-5USD":     {want: "USD has 2 decimal places"},
		"-500.0":    {want: "USD has 2 decimal places"},
		"-5.001":    {want: "USD has 2 decimal places"},
		"-5,00":     {want: "must be like"},
		"-5.00 USD": {want: "must be like"},
		"-5.":       {want: "must be like"},
		"-1e3":      {want: "must be like"},
		"":          {want: "must be like"},
		"5.00":      {want: "amount must be less than zero"},
		"-5.000USD": {places: "3", want: "-5000"},
		"-7USD":     {places: "0", want: "-7"},
		"-8.0":      {places: "0", want: "USD has 0 decimal places"},
		"-8.5":      {places: "0", want: "USD has 0 decimal places"},
		"-9.00":     {places: "null", want: "use the smallest unit"},
		"-9":        {places: "null", want: "-9"},
	} {
		t.Run(text, func(t *testing.T) {
			t.Parallel()
			s := commercetest.New(t, commercetest.Config{DiscountsEnabled: true})
			if row.places != "" {
				s.Inject(currenciesOf(`{"data":[{"code":"USD","decimal_places":` + row.places + `}]}`))
			}
			cart := s.AddCart(commerce.CartItemRef{})
			got := caller{env: storeEnv(s)}.run(t, "discounts", "add", cart, "--amount", text, "--engine", "e",
				"--external-id", "1", "--code", "c", "--description", "d", "--yes")
			if strings.HasPrefix(row.want, "-") {
				if got.code != 0 || onCart(s, cart) != "e/1"+row.want {
					t.Errorf("got %+v and %q, want %s", got, onCart(s, cart), row.want)
				}
			} else if got.code != exitUsage || !strings.Contains(got.stderr, row.want) || onCart(s, cart) != "" {
				t.Errorf("got %+v and %q, want exit code %d and %q", got, onCart(s, cart), exitUsage, row.want)
			}
		})
	}
	got := caller{}.run(t, "--demo", "discounts", "add", "empty", "--amount", "-5.00", "--engine", "e",
		"--external-id", "1", "--code", "c", "--description", "d", "--yes")
	if got.code != exitUsage || !strings.Contains(got.stderr, "the cart shows no currency") {
		t.Errorf("an empty cart: got %+v, want exit code %d", got, exitUsage)
	}
}

// A narrow terminal does not cut an amount, and a wide one does not tear it apart.
func TestAmounts_width(t *testing.T) {
	t.Parallel()
	s := commercetest.New(t, commercetest.Config{DiscountsEnabled: true})
	s.Inject(commercetest.Fault{Operation: commercetest.OpCurrencies, Status: 403, Times: -1})
	cart := s.AddCart(commerce.CartItemRef{})
	for _, width := range []int{60, 80, 200} {
		long := strings.Replace(twoDiscounts, "-100", "-12345678", 1)
		c := caller{env: storeEnv(s), terminal: true, width: width, stdin: long}
		got := c.run(t, "discounts", "apply", cart, "-", "--dry-run")
		if !strings.Contains(got.stdout, " -12345678 (smallest unit of USD)  e") {
			t.Errorf("%d columns: got %q, want the amount", width, got.stdout)
		}
		for line := range strings.Lines(got.stdout) {
			if len([]rune(line)) > width+1 {
				t.Errorf("%d columns: got %q", width, line)
			}
		}
	}
}
