// Package redirects_test checks that no redirect is followed: neither credentials nor
// a write may go where a response points.
package redirects_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
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

const (
	baseURL = "https://store.example"
	secret  = "canary-location-8c1f" // in each Location; it must not be in an error
)

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
		all = append(all, call{name: c.Name, op: c.Op, outcome: c.Outcome(commerce.OutcomeUnknown), do: do},
			call{name: "token request of " + c.Name, op: "token", outcome: commerce.OutcomeNotSent, do: do})
	}
	for _, method := range []string{"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"} {
		outcome := commerce.OutcomeUnknown
		if method == http.MethodGet || method == http.MethodHead {
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
		t.Errorf("%s: error = %v, want an *Error that matches ErrBadResponse", c.name, err)
		return
	}
	if c.outcome == commerce.OutcomeUnknown && status >= http.StatusTemporaryRedirect {
		c.outcome = commerce.OutcomeRejected
	}
	want := &commerce.Error{Op: c.op, StatusCode: status, Outcome: c.outcome, Attempts: 1}
	if diff := cmp.Diff(want, e); diff != "" {
		t.Errorf("%s: error (-want +got):\n%s", c.name, diff)
	}
	encoded, _ := json.Marshal(err)
	if text := fmt.Sprintf("%v %+v %#v %s %#v %s", err, err, err, *e, *e, encoded); strings.Contains(text, secret) {
		t.Errorf("%s: the Location is in the error: %s", c.name, text)
	}
}

var statuses = []int{301, 302, 303, 307, 308}

func TestRedirects(t *testing.T) {
	t.Parallel()
	for name, location := range map[string]string{
		"other host":     "https://evil.example/v2/" + secret,
		"other port":     baseURL + ":8443/v2/" + secret,
		"plain HTTP":     "http://store.example/v2/" + secret,
		"subdomain":      "https://" + secret + ".store.example/v2/x",
		"parent domain":  "https://example/v2/" + secret,
		"same origin":    baseURL + "/v2/" + secret,
		"path":           "/v2/" + secret,
		"no scheme":      "//evil.example/v2/" + secret,
		"user info":      "https://" + secret + "@store.example/",
		"other scheme":   "file:///etc/" + secret,
		"malformed":      "https://%zz/" + secret,
		"empty":          "",
		"same address":   "SELF",
		"no such header": "NONE",
	} {
		for _, status := range statuses {
			t.Run(fmt.Sprintf("%s, %d", name, status), func(t *testing.T) {
				t.Parallel()
				for _, c := range everyCall() {
					var got []string // a call sends one request at a time
					transport := calls.Transport(func(req *http.Request) (*http.Response, error) {
						got = append(got, req.URL.Scheme+"://"+req.URL.Host+" "+req.Host)
						header := http.Header{"Location": {strings.Replace(location, "SELF", req.URL.String(), 1)}}
						if location == "NONE" || len(got) > 1 { // a redirect that is followed must not go on forever
							header = nil
						}
						body := io.NopCloser(strings.NewReader("moved to " + location))
						return &http.Response{StatusCode: status, Header: header, Body: body, Request: req}, nil
					})
					c.check(t, baseURL, &http.Client{Transport: transport}, status)
					if diff := cmp.Diff([]string{baseURL + " store.example"}, got); diff != "" {
						t.Errorf("%s: requests (-want +got):\n%s", c.name, diff)
					}
				}
			})
		}
	}
}

// TestRedirects_onTheWire redirects to other servers and paths, which must get no
// request. The path of a call says which redirect it gets.
func TestRedirects_onTheWire(t *testing.T) {
	t.Parallel()
	var strayed atomic.Int32
	stray := http.HandlerFunc(func(http.ResponseWriter, *http.Request) { strayed.Add(1) })
	plain, secure := httptest.NewServer(stray), httptest.NewTLSServer(stray)
	defer plain.Close()
	defer secure.Close()
	locations := map[string]string{
		"other-port":     plain.URL,
		"other-port-tls": secure.URL,
		"other-host":     strings.Replace(plain.URL, "127.0.0.1", "localhost", 1),
		"subdomain":      strings.Replace(plain.URL, "127.0.0.1", "sub.localhost", 1),
		"same-origin":    "",
		"to-plain-http":  "http://HOST",
		"to-https":       "https://HOST",
	}
	mux := http.NewServeMux()
	mux.Handle("/", stray)
	mux.HandleFunc("/{status}/{place}/", func(w http.ResponseWriter, r *http.Request) {
		status, _ := strconv.Atoi(r.PathValue("status"))
		location := strings.Replace(locations[r.PathValue("place")], "HOST", r.Host, 1)
		w.Header().Set("Location", location+"/?"+secret)
		w.WriteHeader(status)
	})
	for name, start := range map[string]func(*httptest.Server){
		"HTTP": (*httptest.Server).Start, "TLS": (*httptest.Server).StartTLS,
	} {
		origin := httptest.NewUnstartedServer(mux)
		start(origin)
		defer origin.Close()
		for place := range locations {
			for _, status := range statuses {
				for _, c := range everyCall() {
					c.name += fmt.Sprintf(", %d over %s to %s", status, name, place)
					c.check(t, fmt.Sprintf("%s/%d/%s", origin.URL, status, place), origin.Client(), status)
				}
			}
		}
	}
	if n := strayed.Load(); n != 0 {
		t.Errorf("%d requests went where a redirect pointed, want none", n)
	}
}
