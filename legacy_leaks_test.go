package commerce_test

// What redirect_test.go uses of the tests that are now in internal/e2e/secrets. Delete this file together with
// redirect_test.go.

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/commerce-go/commerce"
)

const leakToken, leakSecret = "zq7kx2vw9jtokn4b", "kzw5xjq8v3secr6m"

func everything() string { return leakToken + " " + leakSecret }

func told(req *http.Request) string {
	if req.Body != nil {
		_, _ = io.Copy(io.Discard, req.Body)
		_ = req.Body.Close()
	}
	return everything()
}

type leakCall struct {
	name string
	make func(context.Context, *commerce.Client) (*commerce.Response, error)
}

func leakCalls() []leakCall {
	do := func(method string) leakCall {
		return leakCall{"Do " + method, func(ctx context.Context, c *commerce.Client) (*commerce.Response, error) {
			return c.Do(ctx, method, []string{"v2", "accounts"}, url.Values{"filter": {leakToken}}, nil, new(any))
		}}
	}
	return []leakCall{
		{"add", func(ctx context.Context, c *commerce.Client) (*commerce.Response, error) {
			_, err := c.Carts.AddCustomDiscounts(ctx, cartID, []commerce.NewCustomDiscount{discount("a")}, nil)
			return nil, err
		}},
		{"list", func(ctx context.Context, c *commerce.Client) (*commerce.Response, error) {
			_, err := c.Subscriptions.List(ctx, nil)
			return nil, err
		}},
		{"walk", func(ctx context.Context, c *commerce.Client) (*commerce.Response, error) {
			_, err := commerce.Collect(c.Subscriptions.All(ctx, nil))
			return nil, err
		}},
		do("GET"), do("POST"),
	}
}

type leakCheck struct{ calls atomic.Int64 }

func newLeakCheck(*testing.T) *leakCheck { return &leakCheck{} }

func (l *leakCheck) value(t *testing.T, what string, v any, _ bool) {
	t.Helper()
	text := fmt.Sprintf("%v %+v %#v", v, v, v)
	if strings.Contains(text, leakToken) || strings.Contains(text, leakSecret) {
		t.Errorf("%s reveals a secret: %s", what, text)
	}
}
