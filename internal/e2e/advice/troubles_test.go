// Package advice obeys RemedyOf: for each trouble and each kind of call it compares the advice with
// what helps.
package advice_test

import (
	"cmp"
	"context"
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/uuid"
	"go.uber.org/goleak"

	"github.com/commerce-go/commerce"
	"github.com/commerce-go/commerce/commercetest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// trouble is what happens to each request until it is over.
type trouble struct {
	name string
	send func(req *http.Request, store http.RoundTripper) (*http.Response, error)
	want string // the remedies of the calls, in their order: again, cart, staff, read or none
}

var callNames = []string{"Set", "Add", "All", "EnsureState", "Do"}

const object = `{"errors":[{"title":"Refused","status":"422"}]}`

var troubles = []trouble{
	{name: "no response, nothing applied", send: lose, want: "again read again again read"},
	{name: "no response, applied", send: after(lose), want: "none read none none read"},
	{name: "503, nothing applied", send: reply(503, "busy"), want: "again read again again read"},
	{name: "503, applied", send: after(reply(503, "busy")), want: "none read none none read"},
	{name: "a body cut by a reset, applied", send: after(cut), want: "none read none none read"},
	{name: "each body cut", send: cut, want: "again read again again read"},
	{name: "a maintenance page", send: reply(200, "<html>back soon</html>"), want: "again read again again read"},
	{name: "an empty 200", send: reply(200, ""), want: "staff read staff staff read"},
	{name: "other JSON", send: reply(200, `[{"x":1}]`), want: "staff staff staff staff staff"},
	{name: "a redirect", send: reply(302, ""), want: "staff staff staff staff staff"},
	{name: "a token that is refused", send: reply(401, ""), want: "staff staff staff staff staff"},
	{name: "403 of a gateway", send: reply(403, "blocked"), want: "staff staff staff staff staff"},
	{name: "404 of a gateway", send: reply(404, "no route"), want: "staff staff staff staff staff"},
	{name: "407 of a gateway", send: reply(407, "who?"), want: "staff staff staff staff staff"},
	{name: "409", send: reply(409, object), want: "again again again again again"},
	{name: "422", send: reply(422, object), want: "cart cart staff staff staff"},
	{name: "429", send: reply(429, "slow down"), want: "again again again again again"},
	{name: "no host", send: dial(&net.DNSError{IsNotFound: true}), want: "staff staff staff staff staff"},
	{name: "no listener", send: dial(errors.New("connection refused")), want: "again again again again again"},
	{name: "no TLS", send: dialled((*httptest.Server).Start), want: "staff staff staff staff staff"},
	{name: "another certificate", send: dialled((*httptest.Server).StartTLS), want: "staff staff staff staff staff"},
}

// TestTroubles makes each call until the advice is not to call again, or nothing is left to do. The
// trouble ends after the first call.
func TestTroubles(t *testing.T) {
	t.Parallel()
	healed := 0
	for _, tr := range troubles {
		wants := strings.Fields(tr.want)
		for n, name := range callNames {
			s := commercetest.NewStore(commercetest.Config{DiscountsEnabled: true})
			w := newWorld(t, s)
			isOver := false
			c := newClient(t, func(req *http.Request) (*http.Response, error) {
				if isOver {
					return s.Transport().RoundTrip(req)
				}
				return tr.send(req, s.Transport())
			})
			err := w.call(t.Context(), c, name)
			if got := cmp.Or(commerce.RemedyOf(err).String(), "none"); got != wants[n] {
				t.Errorf("%s, %s: RemedyOf(%v) = %s, want %s", tr.name, name, err, got, wants[n])
			}
			isOver = true
			for calls := 1; commerce.RemedyOf(err) == commerce.RemedyAgain; calls++ {
				if err = w.call(t.Context(), c, name); calls == 3 {
					t.Fatalf("%s, %s: the advice is to call again for ever, at last after %v", tr.name, name, err)
				}
			}
			if wants[n] == "again" {
				healed++
				if err != nil {
					t.Errorf("%s, %s: the trouble is over, but the call ends in %v", tr.name, name, err)
				}
			}
			if copies := len(s.Discounts(w.cartID)); copies > 1 {
				t.Errorf("%s, %s: the cart has %d discounts, want at most 1", tr.name, name, copies)
			}
			s.Close()
		}
	}
	t.Logf("%d troubles, %d calls; %d healed by calling again", len(troubles), len(troubles)*len(callNames), healed)
	if healed < 25 {
		t.Errorf("%d calls healed, want at least 25", healed)
	}
}

// world is what the calls change.
type world struct {
	cartID       string
	subscription uuid.UUID
}

func newWorld(t *testing.T, s *commercetest.Store) world {
	t.Helper()
	ids, err := s.AddSubscriptionFixture(commercetest.SubscriptionFixture{})
	if err != nil {
		t.Fatal(err)
	}
	return world{cartID: s.AddCart(commerce.CartItemRef{}), subscription: ids[0]}
}

// roundTripper is a function that is a transport.
type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(req *http.Request) (*http.Response, error) { return f(req) }

func newClient(t *testing.T, f roundTripper) *commerce.Client {
	t.Helper()
	c, err := commerce.New("https://store.example", commerce.WithToken(commercetest.DefaultToken),
		commerce.WithHTTPClient(&http.Client{Transport: f}), commerce.WithRetry(commerce.RetryPolicy{MaxAttempts: 1}))
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// call makes the call with a name.
func (w world) call(ctx context.Context, c *commerce.Client, name string) error {
	discount := commerce.NewCustomDiscount{
		Amount: commerce.NewDecimal(-100), Description: "one off", DiscountCode: "ONE", DiscountEngine: "shop",
		ExternalID: "a",
	}
	var err error
	switch name {
	case "Set":
		want := func(context.Context, *commerce.Cart) ([]commerce.NewCustomDiscount, error) {
			return []commerce.NewCustomDiscount{discount}, nil
		}
		opts := &commerce.SetCustomDiscountsOptions{Engine: "shop", Settle: -1}
		_, err = c.Carts.SetCustomDiscounts(ctx, w.cartID, want, opts)
	case "Add":
		_, err = c.Carts.AddCustomDiscounts(ctx, w.cartID, []commerce.NewCustomDiscount{discount}, nil)
	case "All":
		_, err = commerce.Collect(c.Subscriptions.All(ctx, nil))
	case "EnsureState":
		_, err = c.Subscriptions.EnsureState(ctx, w.subscription, commerce.StateChange{Action: commerce.ActionPause})
	case "Do":
		body := map[string]any{"data": []commerce.NewCustomDiscount{discount}}
		var out map[string]any
		_, err = c.Do(ctx, http.MethodPost, []string{"v2", "carts", w.cartID, "custom-discounts"}, nil, body, &out)
	}
	return err
}

func lose(*http.Request, http.RoundTripper) (*http.Response, error) {
	return nil, errors.New("connection reset by peer")
}

func respond(req *http.Request, status int, body io.Reader) (*http.Response, error) {
	resp := &http.Response{StatusCode: status, Header: http.Header{}, Request: req, ContentLength: -1}
	resp.Body = io.NopCloser(body)
	return resp, nil
}

func reply(status int, body string) func(*http.Request, http.RoundTripper) (*http.Response, error) {
	return func(req *http.Request, _ http.RoundTripper) (*http.Response, error) {
		return respond(req, status, strings.NewReader(body))
	}
}

func cut(req *http.Request, _ http.RoundTripper) (*http.Response, error) {
	body := io.MultiReader(strings.NewReader(`{"data":`), iotest.ErrReader(io.ErrUnexpectedEOF))
	return respond(req, http.StatusOK, body)
}

// after returns a trouble that comes when the store has applied a write.
func after(
	f func(*http.Request, http.RoundTripper) (*http.Response, error),
) func(*http.Request, http.RoundTripper) (*http.Response, error) {
	return func(req *http.Request, store http.RoundTripper) (*http.Response, error) {
		resp, err := store.RoundTrip(req)
		if err != nil || req.Method == http.MethodGet && resp.StatusCode < 300 {
			return resp, err
		}
		_ = resp.Body.Close()
		return f(req, store)
	}
}

func dial(failure error) func(*http.Request, http.RoundTripper) (*http.Response, error) {
	return func(req *http.Request, _ http.RoundTripper) (*http.Response, error) {
		fail := func(context.Context, string, string) (net.Conn, error) { return nil, failure }
		return (&http.Transport{DialContext: fail}).RoundTrip(req)
	}
}

// dialled sends the request to a server, which is started so. The client does not know its
// certificate.
func dialled(start func(*httptest.Server)) func(*http.Request, http.RoundTripper) (*http.Response, error) {
	return func(req *http.Request, _ http.RoundTripper) (*http.Response, error) {
		server := httptest.NewUnstartedServer(http.NotFoundHandler())
		server.Config.ErrorLog = log.New(io.Discard, "", 0)
		start(server)
		defer server.Close()
		rt := &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, "tcp", server.Listener.Addr().String())
		}}
		defer rt.CloseIdleConnections()
		return rt.RoundTrip(req)
	}
}
