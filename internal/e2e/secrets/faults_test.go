package secrets_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/url"
	"os"
	"strings"
	"testing"
	"testing/synctest"

	"golang.org/x/oauth2"

	"github.com/commerce-go/commerce"
)

// fault is a way for calls to go wrong.
type fault struct {
	address   string // default: base
	transport http.RoundTripper
	opts      []commerce.Option
	ended     bool  // the context has ended before the call
	want      error // that each error matches; nil: not checked
}

// endKey is the key of a function that ends the context of a call, in that context.
type endKey struct{}

// searchFaults makes the calls into every fault, and an add with each kind of credentials, whose
// requests for tokens meet the same fault. It searches the errors and the responses, the log and
// the client.
func searchFaults(t *testing.T, calls map[string]call, faults map[string]fault) {
	t.Helper()
	s := newSearch(t)
	for name, f := range faults {
		for how, auth := range credentials() {
			t.Run(name+", "+how, func(t *testing.T) {
				t.Parallel()
				chosen := maps.Clone(calls)
				maps.DeleteFunc(chosen, func(what string, _ call) bool {
					return how != "static token" && what != "Carts.AddCustomDiscounts"
				})
				own := f // not shared with the other kinds of credentials
				own.opts = append([]commerce.Option{auth, over(f.transport), commerce.WithInsecureHTTP()}, f.opts...)
				search := func(t *testing.T) {
					t.Helper()
					own.searchAll(t, s, chosen)
				}
				if f.address != "" {
					search(t)
					return
				}
				synctest.Test(t, search) // without a network, nothing need wait in real time
			})
		}
	}
}

// searchAll makes the calls with one client.
func (f fault) searchAll(t *testing.T, s *search, calls map[string]call) {
	t.Helper()
	c, log := newClient(t, cmp.Or(f.address, base), f.opts...)
	for _, call := range calls {
		f.search(t, s, c, call)
	}
	s.value(t, "client", c)
	s.value(t, "client", *c)
	s.text(t, "log", log.String())
	for _, address := range []string{host, "127.0.0."} {
		if strings.Contains(log.String(), address) {
			t.Errorf("the log contains %s, want no address:\n%s", address, log)
		}
	}
}

// search makes a call, and searches what it returns.
func (f fault) search(t *testing.T, s *search, c *commerce.Client, call call) {
	t.Helper()
	ctx, end := context.WithCancelCause(t.Context())
	defer end(nil)
	ctx = context.WithValue(ctx, endKey{}, end)
	if f.ended {
		end(verboseError{allSecrets})
	}
	resp, err := call(ctx, c)
	if f.want != nil && !errors.Is(err, f.want) {
		t.Errorf("error %v, want %v", err, f.want)
	}
	if err != nil {
		s.value(t, "error", err)
	}
	if resp != nil {
		s.value(t, "response", resp)
		s.value(t, "response", *resp)
	}
}

// Templates of bodies that repeat the request where the library must not show it: anywhere but in
// titles.
const (
	errorsBody = `{"errors":[{"status":"500","title":"Failed","detail":"$JSON","source":{"pointer":"$JSON"},` +
		`"request_id":"$JSON","meta":{"id":"$JSON","missing_ids":["$JSON"],"$JSON":1},"$JSON":"$JSON"},"$JSON"],` +
		`"$JSON":"$JSON"}`
	htmlBody = `<html><body><h1>$TEXT</h1></body></html>`
)

// Responses with any status repeat the request in their status text, headers and body.
func TestLeaks_statuses(t *testing.T) {
	t.Parallel()
	faults := map[string]fault{}
	for _, status := range []int{0, 101, 200, 201, 204, 302, 307, 400, 401, 404, 408, 422, 429, 500, 503, 999} {
		faults[fmt.Sprint(status, " errors")] = fault{transport: echo(status, errorsBody)}
		faults[fmt.Sprint(status, " HTML")] = fault{transport: echo(status, htmlBody)}
	}
	for _, status := range []int{200, 404, 503} {
		failing := func(req *http.Request) (*http.Response, error) {
			resp, err := echo(status, "")(req)
			resp.Body = failingBody{strings.NewReader(`{"data":["` + allSecrets)}
			return resp, err
		}
		faults[fmt.Sprint(status, " failing body")] = fault{transport: transport(failing)}
	}
	searchFaults(t, everyCall(), faults)
}

// failingBody fails with a text after a part of it was read.
type failingBody struct{ *strings.Reader }

func (b failingBody) Read(p []byte) (int, error) {
	n, err := b.Reader.Read(p)
	if err != nil {
		err = verboseError{allSecrets}
	}
	return n, err
}

func (b failingBody) Close() error { return verboseError{allSecrets} }

// Bodies that repeat the request, well formed and not.
func TestLeaks_bodies(t *testing.T) {
	t.Parallel()
	faults := map[string]fault{}
	for name, body := range map[string]string{
		"text":                       `$TEXT`,
		"JSON string":                `"$JSON"`,
		"member name":                `{"data":{"$JSON":[]}}`,
		"duplicate member names":     `{"$JSON":1,"$JSON":2}`,
		"id":                         `{"data":[{"id":"$JSON"}]}`,
		"odd discount":               `{"data":[{"type":"custom_discount","id":"$JSON","amount":{"amount":"$JSON"}}]}`,
		"broken literal":             `{"data":[$TEXT`,
		"broken string":              "{\"data\":[\"$JSON\n",
		"broken escape":              `{"data":["$JSON\q"]}`,
		"value after the end":        `{"data":[]}"$JSON"`,
		"data is a string":           `{"data":"$JSON"}`,
		"errors is a string":         `{"data":[],"errors":"$JSON"}`,
		"token with spaces":          `{"access_token":"$JSON"}`,
		"token is an object":         `{"access_token":{"$JSON":1}}`,
		"OAuth error":                `{"error":"$JSON","error_description":"$JSON","error_uri":"$JSON"}`,
		"expiry is a text":           `{"access_token":"x","expires_in":"$JSON"}`,
		"subscription without an id": `{"data":[{"id":"","type":"$JSON"}]}`,
		"partial success":            `{"data":[{"type":"custom_discount"}],"errors":[{"detail":"$JSON"}]}`,
		"link":                       `{"data":[],"links":{"next":"https://x.example/$JSON"}}`,
		"large number":               `{"data":[{"type":"subscription","meta":1e99999}]}`,
		"invalid UTF-8":              "{\"$TEXT\xff\":",
	} {
		faults["200 "+name] = fault{transport: echo(200, body)}
		faults["422 "+name] = fault{transport: echo(422, body)}
	}
	searchFaults(t, everyCall(), faults)
}

// Errors of a transport, of every kind, that contain the request.
func TestLeaks_transportErrors(t *testing.T) {
	t.Parallel()
	faults := map[string]fault{}
	for name, failure := range map[string]func(text string) error{
		"plain":   func(s string) error { return verboseError{s} },
		"timeout": func(s string) error { return verboseError{"timeout " + s} },
		"url.Error": func(s string) error {
			return &url.Error{Op: s, URL: s, Err: &url.Error{Op: "Get", URL: s, Err: verboseError{s}}}
		},
		"url.Error, EOF":  func(s string) error { return &url.Error{Op: "Get", URL: s, Err: io.EOF} },
		"wraps a timeout": func(s string) error { return &url.Error{Op: "Get", URL: s, Err: os.ErrDeadlineExceeded} },
		"wraps two":       func(s string) error { return fmt.Errorf("%s: %w: %w", s, verboseError{s}, io.EOF) },
		"wraps a context": func(s string) error { return fmt.Errorf("%s: %w", s, context.DeadlineExceeded) },
		"joined":          func(s string) error { return errors.Join(errors.New(s), verboseError{s}, net.ErrClosed) },
		"net.OpError":     func(s string) error { return &net.OpError{Op: "read", Net: "tcp", Err: verboseError{s}} },
		"SyscallError":    func(s string) error { return &os.SyscallError{Syscall: "read", Err: verboseError{s}} },
		"oauth2":          func(s string) error { return retrieveError(s) },
		"commerce.Error": func(s string) error {
			return &commerce.Error{Op: "x", Errors: []commerce.ErrorObject{{Detail: s}}, Err: verboseError{s}}
		},
		"none": func(string) error { return nil }, // and no response
	} {
		faults[name] = fault{transport: transport(func(req *http.Request) (*http.Response, error) {
			return nil, failure(describe(req))
		})}
	}
	searchFaults(t, someCalls(), faults)
}

func retrieveError(text string) *oauth2.RetrieveError {
	return &oauth2.RetrieveError{
		Response: &http.Response{StatusCode: 400, Status: text}, Body: []byte(text),
		ErrorCode: text, ErrorDescription: text, ErrorURI: text,
	}
}

// Every call succeeds, and the headers of the responses repeat the requests.
func TestLeaks_success(t *testing.T) {
	t.Parallel()
	c, log := newClient(t, base, over(transport(succeed)))
	for name, call := range everyCall() {
		if _, err := call(t.Context(), c); err != nil {
			t.Errorf("%s: error %v, want none", name, err)
		}
	}
	for _, op := range []string{"Carts.EnsureCustomDiscounts", "Subscriptions.List", "Client.Do"} {
		if !strings.Contains(log.String(), op) {
			t.Errorf("log without %s:\n%s", op, log)
		}
	}
	searchFaults(t, everyCall(), map[string]fault{"none": {transport: transport(succeed)}})
}
