// Package redirects_test checks that no redirect is followed: neither credentials nor
// a write may go where a response points.
package redirects_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/commerce-go/commerce"
	"github.com/commerce-go/commerce/internal/e2e/calls"
)

const secret = "canary-location-8c1f" // in each Location; it must not be in an error

// call is a call that gets a redirect.
type call struct {
	name    string
	op      string           // Error.Op; "token" if the token request is redirected
	outcome commerce.Outcome // after 301, 302 and 303; a write with 307 or 308 is rejected
	do      func(context.Context, *commerce.Client) error
}

func everyCall() (all []call) {
	for _, c := range calls.All() {
		if c.Method == "" { // its error wraps that of a read
			continue
		}
		do := func(ctx context.Context, client *commerce.Client) error {
			_, err := c.Do(ctx, client, calls.NewArgs())
			return err
		}
		all = append(all, call{name: c.Name, op: c.Op, outcome: c.Outcome(commerce.OutcomeUnknown), do: do})
		if c.Name == "Carts.AddCustomDiscounts" {
			all = append(all, call{name: "its token request", op: "token", outcome: commerce.OutcomeNotSent, do: do})
		}
	}
	for _, method := range []string{"HEAD", "PUT", "PATCH", "DELETE"} {
		outcome := commerce.OutcomeUnknown
		if method == http.MethodHead {
			outcome = commerce.OutcomeNone
		}
		do := func(ctx context.Context, c *commerce.Client) error {
			_, err := c.Do(ctx, method, []string{"v2", "accounts"}, nil, nil, new(any))
			return err
		}
		all = append(all, call{name: method, op: "Client.Do", outcome: outcome, do: do})
	}
	return all
}

// check makes the call to a service that redirects it with a status.
func (c call) check(t *testing.T, address string, hc *http.Client, status int) {
	t.Helper()
	auth := commerce.WithToken("an-invented-token")
	if c.op == "token" {
		auth = commerce.WithClientCredentials("id", "secret")
	}
	noBackoff := commerce.WithRetry(commerce.RetryPolicy{MinBackoff: 1, MaxBackoff: 1})
	client, err := commerce.New(address, commerce.WithHTTPClient(hc), auth, noBackoff)
	if err != nil {
		t.Fatal(err)
	}
	err = c.do(t.Context(), client)
	e, ok := errors.AsType[*commerce.Error](err)
	if !ok || !errors.Is(err, commerce.ErrBadResponse) {
		t.Errorf("%s, %s: error = %v, want an *Error that matches ErrBadResponse", address, c.name, err)
		return
	}
	if c.outcome == commerce.OutcomeUnknown && status >= http.StatusTemporaryRedirect {
		c.outcome = commerce.OutcomeRejected
	}
	want := &commerce.Error{Op: c.op, StatusCode: status, Outcome: c.outcome, Attempts: 1}
	if diff := cmp.Diff(want, e); diff != "" {
		t.Errorf("%s, %s: error (-want +got):\n%s", address, c.name, diff)
	}
	encoded, _ := json.Marshal(err)
	if text := fmt.Sprintf("%v %+v %#v %s %#v %s", err, err, err, *e, *e, encoded); strings.Contains(text, secret) {
		t.Errorf("%s, %s: the Location is in the error: %s", address, c.name, text)
	}
}

// TestRedirects redirects to other servers and paths, which must get no request. The path of a
// call shows which redirect it gets. $HOST is the host that redirects, $SELF its address.
func TestRedirects(t *testing.T) {
	t.Parallel()
	var strayed atomic.Int32
	stray := http.HandlerFunc(func(http.ResponseWriter, *http.Request) { strayed.Add(1) })
	plain, secure := httptest.NewServer(stray), httptest.NewTLSServer(stray)
	defer plain.Close()
	defer secure.Close()
	locations := map[string]string{
		"other-port":     plain.URL + "/?" + secret,
		"other-port-tls": secure.URL + "/?" + secret,
		"other-host":     strings.Replace(plain.URL, "127.0.0.1", "localhost", 1) + "/?" + secret,
		"subdomain":      strings.Replace(plain.URL, "127.0.0.1", secret+".localhost", 1),
		"no-scheme":      strings.TrimPrefix(plain.URL, "http:") + "/" + secret,
		"user-info":      strings.Replace(plain.URL, "//", "//"+secret+"@", 1),
		"path":           "/?" + secret,
		"to-plain-http":  "http://$HOST/" + secret,
		"to-https":       "https://$HOST/" + secret,
		"same-address":   "$SELF?" + secret,
		"other-scheme":   "file:///etc/" + secret,
		"malformed":      "https://%zz/" + secret,
		"empty":          "",
	}
	mux := http.NewServeMux()
	mux.Handle("/", stray)
	mux.HandleFunc("/{status}/{place}/", func(w http.ResponseWriter, r *http.Request) {
		status, _ := strconv.Atoi(r.PathValue("status"))
		location := strings.NewReplacer("$HOST", r.Host, "$SELF", r.URL.Path).Replace(locations[r.PathValue("place")])
		if strings.Contains(r.URL.RawQuery, secret) {
			strayed.Add(1)
			location = "" // it must not go on forever
		}
		w.Header()["Location"] = []string{location}
		w.WriteHeader(status)
	})
	for _, start := range []func(*httptest.Server){(*httptest.Server).Start, (*httptest.Server).StartTLS} {
		origin := httptest.NewUnstartedServer(mux)
		start(origin)
		defer origin.Close()
		for place := range locations {
			for _, status := range []int{301, 302, 303, 307, 308} {
				for _, c := range everyCall() {
					c.check(t, fmt.Sprintf("%s/%d/%s", origin.URL, status, place), origin.Client(), status)
				}
			}
		}
	}
	if n := strayed.Load(); n != 0 {
		t.Errorf("%d requests went where a redirect pointed, want none", n)
	}
}
