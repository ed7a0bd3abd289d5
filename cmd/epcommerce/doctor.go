package main

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"
	"syscall"
	"time"

	"github.com/google/uuid"
	"github.com/spf13/cobra"

	"github.com/commerce-go/commerce"
)

// doctor checks a store.
type doctor struct {
	*shop
	cartID  string
	date    string // of the first response
	known   *commerce.Settings
	refused error // of the settings
	hasAny  bool  // there are subscriptions
}

func newDoctorCommand(e *environment) *cobra.Command {
	d := &doctor{}
	cmd := e.command("doctor", "Find out if the setup is right", func(ctx context.Context, s *shop, _ []string) error {
		d.shop, e.cart = s, d.cartID
		return d.start(ctx)
	})
	cmd.Example = "  epcommerce doctor --cart CART"
	cmd.Flags().StringVar(&d.cartID, "cart", "", "check the cart with this `id` too, as carts check does")
	return cmd
}

func (d *doctor) start(ctx context.Context) error {
	d.settings = func(context.Context) (*commerce.Settings, error) { return d.known, d.refused }
	return d.run(ctx, d.environment)
}

// run makes the checks. One that needs what has failed is skipped: a cause is one FAIL.
func (d *doctor) run(ctx context.Context, e *environment) error {
	p := e.newPrinter(nil, check{}.record())
	var all []check
	missing := "" // what the checks after it need
	for _, step := range []struct {
		name string
		run  func(context.Context) []check
	}{
		{name: "address", run: d.checkAddress},
		{name: "clock", run: d.checkClock},
		{name: "token", run: d.checkToken},
		{name: "settings", run: d.checkSettings},
		{name: "payload", run: d.checkPayload},
		{name: "accounts", run: d.checkAccounts},
		{name: "cart", run: d.checkCartID},
	} {
		if step.name == "cart" && d.cartID == "" {
			break
		}
		begin, checks := time.Now(), []check{{name: step.name, found: "needs the " + missing, skipped: true}}
		if missing == "" {
			checks = step.run(ctx)
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		checks[0].took = time.Since(begin)
		for i := range checks {
			checks[i].name = cmp.Or(checks[i].name, step.name)
			p.print(checks[i].record())
		}
		if err := p.flush(); err != nil {
			return err
		}
		if checks[0].failed() && (step.name == "address" || step.name == "token") {
			missing = step.name
		}
		all = append(all, checks...)
	}
	return cmp.Or(p.end(), failures(all))
}

// checked returns the checks of a call.
func (d *doctor) checked(found string, err error) []check {
	if err != nil {
		todo := d.advice(err)
		if todo == d.todo(again) || todo == "" {
			todo = "try again later, then ask the people of the service"
		}
		return []check{{found: d.describe(err), todo: todo}}
	}
	return []check{{found: found}}
}

// checkAddress sends a request without a token, which the service refuses with a 401.
func (d *doctor) checkAddress(ctx context.Context) []check {
	base := strings.TrimSuffix(strings.TrimRight(d.address, "/"), "/v2")
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, base+"/v2/settings", nil)
	if err != nil {
		return d.checked("", err)
	}
	client := &http.Client{
		Transport: d.transport, Timeout: 10 * time.Second,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	resp, err := client.Do(req)
	if err != nil {
		found, todo := unreachable(err)
		return []check{{found: found, todo: todo}}
	}
	_ = resp.Body.Close()
	d.date = resp.Header.Get("Date")
	isJSON := strings.Contains(resp.Header.Get("Content-Type"), "json")
	c := check{found: "something responds with HTTP " + resp.Status}
	switch status := resp.StatusCode; {
	case status/100 == 3:
		location, _ := resp.Location()
		if location != nil {
			c.found += ", to " + location.Scheme + "://" + location.Host
		}
		c.todo = "set COMMERCE_BASE_URL to the address of the service itself, such as https://euwest.api.elasticpath.com"
	case status == http.StatusNotFound:
		c.todo = "COMMERCE_BASE_URL has another path or is of another host: it is like https://euwest.api.elasticpath.com"
	case status == http.StatusBadRequest && !isJSON:
		c.todo = "COMMERCE_BASE_URL probably needs https://"
	case status >= http.StatusInternalServerError, !isJSON && status != http.StatusUnauthorized:
		c.todo = "a proxy or a gateway responds, or the service has a problem: try later, then ask who runs the network"
	default:
		c.found = d.address + " responds"
		if d.from != "" {
			c.found = d.from + ": " + c.found
		}
	}
	return []check{c}
}

// unreachable says why there was no response, and what to do.
func unreachable(err error) (found, todo string) {
	invalid, isInvalid := errors.AsType[x509.CertificateInvalidError](err)
	lookup, isLookup := errors.AsType[*net.DNSError](err)
	op, isOp := errors.AsType[*net.OpError](err)
	timeout, isTimeout := errors.AsType[net.Error](err)
	switch {
	case isOp && op.Op == "proxyconnect":
		return "the proxy cannot be reached", "check HTTPS_PROXY: no proxy responds there"
	case strings.Contains(err.Error(), http.StatusText(http.StatusProxyAuthRequired)):
		return "the proxy wants a name and a password", "put them into HTTPS_PROXY: http://NAME:PASSWORD@HOST:PORT"
	case isInvalid && invalid.Reason == x509.Expired:
		return "the certificate has expired, or is not valid yet",
			"check the clock of this machine; else tell who runs the server"
	case is[x509.HostnameError](err):
		return "the certificate is for another name", "check the host in COMMERCE_BASE_URL"
	case is[x509.UnknownAuthorityError](err), isInvalid:
		return "the certificate is from nobody whom this machine trusts",
			"a proxy of your network may have made it: install its root certificate, or set SSL_CERT_FILE"
	case is[tls.RecordHeaderError](err), strings.Contains(err.Error(), "HTTP response to HTTPS client"):
		return "the server does not use HTTPS",
			"check the port in COMMERCE_BASE_URL, or use http:// for a store on this machine"
	case isLookup && lookup.IsNotFound:
		return "there is no host of this name", "check the host in COMMERCE_BASE_URL, and the network"
	case errors.Is(err, syscall.ECONNREFUSED):
		return "nothing listens at the address", "check COMMERCE_BASE_URL; a fake store must run before it is used"
	case isTimeout && timeout.Timeout():
		return "no response within 10 s", "check the network and the firewall"
	}
	return "no connection: " + err.Error(), "check COMMERCE_BASE_URL, the network and the proxy"
}

func is[E error](err error) bool {
	_, ok := errors.AsType[E](err)
	return ok
}

func (d *doctor) checkClock(context.Context) []check {
	date, err := http.ParseTime(d.date)
	if err != nil {
		return []check{{found: "there is no date to compare with", skipped: true}}
	}
	if ahead := time.Since(date).Round(time.Second); ahead.Abs() > time.Minute { // tokens would seem to expire
		return []check{{found: fmt.Sprintf("%v ahead of the server", ahead), todo: "set the clock of this machine"}}
	}
	return d.checked("as the server's", nil)
}

func (d *doctor) checkToken(ctx context.Context) []check {
	d.known, d.refused = d.Settings(ctx)
	err := d.refused
	if errors.Is(err, commerce.ErrForbidden) && !isGateway(err) {
		err = nil // the token was accepted, see checkSettings
	}
	return d.checked(d.credentials+": accepted", err)
}

func (d *doctor) checkSettings(ctx context.Context) []check {
	if d.refused != nil {
		return []check{{
			found: "the credentials may not read the settings of the store",
			todo:  "use client credentials that may; without them the limit of discounts counts as 5",
		}}
	}
	method := cmp.Or(d.known.CalculationMethod, "unknown")
	if method == "simple" {
		d.refused = errors.New("custom discounts need another method") // said once
		return []check{{found: "calculation method simple", todo: toLine}}
	}
	var carts struct {
		Data struct {
			Discounts struct {
				Enabled *bool `json:"custom_discounts_enabled"`
			}
		}
	}
	_, err := d.Do(ctx, http.MethodGet, []string{"v2", "settings", "cart"}, nil, nil, &carts)
	newCarts := check{name: "new carts", found: "the store does not say if they take custom discounts", skipped: true}
	if on := carts.Data.Discounts.Enabled; err == nil && on != nil {
		enabled := map[bool]string{true: "on", false: "off"}[*on]
		newCarts = check{name: "new carts", found: "custom discounts are " + enabled + " when a cart begins"}
	}
	return []check{
		{found: fmt.Sprintf("method %s, %d discounts, %d a page, offset %d",
			method, d.known.CustomDiscountLimit, d.known.PageLength, d.known.PageOffsetLimit)},
		newCarts,
	}
}

func (d *doctor) checkPayload(ctx context.Context) []check {
	opts := &commerce.SubscriptionListOptions{PageSize: 1}
	opts.Include.All = true
	page, err := d.Subscriptions.List(ctx, opts)
	switch {
	case err != nil:
		return d.checked("", err)
	case len(page.Subscriptions) == 0:
		return []check{{found: "there are no subscriptions", skipped: true}}
	}
	d.hasAny = true
	if page.Subscriptions[0].Attributes.PricingOptionID != uuid.Nil {
		return d.checked("second generation: plans and pricing options", nil)
	}
	return d.checked("first generation: plans and products", nil)
}

func (d *doctor) checkAccounts(ctx context.Context) []check {
	for _, err := range d.Accounts.IDs(ctx, uuid.Nil) {
		if errors.Is(err, commerce.ErrForbidden) && !isGateway(err) {
			return []check{{
				found: "the credentials may not list accounts",
				todo:  "use client credentials: a shopper's token cannot export",
			}}
		}
		return d.checked("can be listed", err)
	}
	c := check{found: "there are none"}
	if d.hasAny {
		c = check{found: "none is listed, but there are subscriptions: export finds none of them",
			todo: "use client credentials that may list accounts"}
	}
	return []check{c}
}

func (d *doctor) checkCartID(ctx context.Context) []check {
	cart, err := d.readCart(ctx, d.cartID)
	if err != nil {
		return d.checked("", err)
	}
	return d.checkCart(ctx, cart, nil)
}
