package commerce_test

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/google/uuid"
	"github.com/jarcoal/httpmock"
	"go.uber.org/goleak"

	"github.com/commerce-go/commerce"
	"github.com/commerce-go/commerce/internal/e2e/calls"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	baseURL   = "https://store.example"
	token     = "canary-token-5f2e"
	cartID    = "0a8d0b6c-cart"
	itemID    = "3b4de20a-ccd0-44e6-894f-628e7afb3db0"
	emptyList = `{"data":[],"links":{"next":null}}`
)

// request is what a stub received.
type request struct {
	Method, Path, RawQuery string
	Header                 http.Header
	Body                   string
}

type responders = []httpmock.Responder

// stub is a transport that passes each request to the next of its responders. A request
// beyond them fails the test.
type stub struct {
	t          *testing.T
	responders responders
	mu         sync.Mutex
	requests   []request
}

// refused is the responder of a connection that is refused, so that nothing is sent.
var refused httpmock.Responder

func newStub(t *testing.T, responders ...httpmock.Responder) *stub {
	t.Helper()
	return &stub{t: t, responders: responders}
}

func (s *stub) RoundTrip(req *http.Request) (*http.Response, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := len(s.requests)
	isRefused := n < len(s.responders) && s.responders[n] == nil
	var body []byte
	if req.Body != nil && !isRefused { // a body that was read is no proof that nothing was sent
		var err error
		if body, err = io.ReadAll(req.Body); err != nil {
			s.t.Errorf("read request body: %v", err)
		}
	}
	s.requests = append(s.requests, request{
		Method: req.Method, Path: req.URL.EscapedPath(), RawQuery: req.URL.RawQuery,
		Header: req.Header.Clone(), Body: string(body),
	})
	switch {
	case n >= len(s.responders):
		s.t.Errorf("got request %d, %s %s, want %d", n+1, req.Method, req.URL.Path, len(s.responders))
		return httpmock.NewStringResponse(http.StatusTeapot, ""), nil
	case isRefused:
		httptrace.ContextClientTrace(req.Context()).GetConn("store.example:443")
		return nil, errors.New("connection refused")
	}
	s.mu.Unlock() // a responder may block
	defer s.mu.Lock()
	return s.responders[n](req)
}

func (s *stub) client(t *testing.T, opts ...commerce.Option) *commerce.Client {
	t.Helper()
	return newClient(t, s, opts...)
}

// sent returns the requests so far.
func (s *stub) sent() []request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.requests)
}

// newClient returns a client that does not wait between attempts.
func newClient(t *testing.T, transport http.RoundTripper, opts ...commerce.Option) *commerce.Client {
	t.Helper()
	return newClientAt(t, baseURL, transport, opts...)
}

// newClientAt is newClient for another base address.
func newClientAt(
	t *testing.T, address string, transport http.RoundTripper, opts ...commerce.Option,
) *commerce.Client {
	t.Helper()
	c, err := commerce.New(address, append([]commerce.Option{
		commerce.WithToken(token), commerce.WithHTTPClient(&http.Client{Transport: transport}), attempts(4),
	}, opts...)...)
	if err != nil {
		t.Fatalf("New: %v", err)
	}
	return c
}

// attempts allows n attempts, without waits between them.
func attempts(n int) commerce.Option {
	return commerce.WithRetry(commerce.RetryPolicy{MaxAttempts: n, MinBackoff: 1, MaxBackoff: 1})
}

// respond is a responder with a status, a body, and keys and values of headers in turn.
func respond(status int, body string, header ...string) httpmock.Responder {
	return func(req *http.Request) (*http.Response, error) {
		resp := httpmock.NewStringResponse(status, body)
		for pair := range slices.Chunk(header, 2) {
			resp.Header.Set(pair[0], pair[1])
		}
		resp.Request = req
		return resp, nil
	}
}

// successOf returns responders with which a call of [calls.NewArgs] succeeds.
func successOf(call calls.Call) (list responders) {
	for _, r := range call.Responses(calls.NewArgs()) {
		list = append(list, respond(r.Status, r.Body))
	}
	return list
}

// respondTruncated is a responder whose connection is closed after a part of the body.
func respondTruncated(status int, body string) httpmock.Responder {
	return func(*http.Request) (*http.Response, error) {
		r := io.MultiReader(strings.NewReader(body), iotest.ErrReader(io.ErrUnexpectedEOF))
		return &http.Response{StatusCode: status, Header: http.Header{}, Body: io.NopCloser(r)}, nil
	}
}

// failTransport is a responder that fails without saying whether anything was sent.
func failTransport(*http.Request) (*http.Response, error) {
	return nil, errors.New("transport error with " + token)
}

// recorder is a transport that keeps requests as they would be written to a connection.
// It returns the same response to all of them.
type recorder struct {
	respond httpmock.Responder
	mu      sync.Mutex
	written []string
}

func (r *recorder) RoundTrip(req *http.Request) (*http.Response, error) {
	var b bytes.Buffer
	if err := req.Clone(req.Context()).Write(&b); err != nil {
		return nil, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.written = append(r.written, b.String())
	return r.respond(req)
}

// read returns the only request, as a server reads it.
func (r *recorder) read(t *testing.T) *http.Request {
	t.Helper()
	if len(r.written) != 1 {
		t.Fatalf("got %d requests, want 1", len(r.written))
	}
	b := bufio.NewReader(strings.NewReader(r.written[0]))
	req, err := http.ReadRequest(b)
	if err != nil {
		t.Fatalf("no server can read the request: %v\n%q", err, r.written[0])
	}
	if _, err := io.Copy(io.Discard, req.Body); err != nil || b.Buffered() > 0 {
		t.Fatalf("got more than one request, error %v\n%q", err, r.written[0])
	}
	return req
}

// lines returns the first lines of the requests, with their line breaks.
func (r *recorder) lines() (lines []string) {
	for _, written := range r.written {
		line, _, _ := strings.Cut(written, "\n")
		lines = append(lines, line+"\n")
	}
	return lines
}

// checkRefused checks that err is a ValidationError that does not repeat the argument,
// and that nothing was sent.
func (r *recorder) checkRefused(t *testing.T, err error, argument string) {
	t.Helper()
	if invalidFields(err) == nil || commerce.OutcomeOf(err) != commerce.OutcomeNotSent || len(r.written) > 0 {
		t.Fatalf("got error %v and requests %q, want a ValidationError and none", err, r.written)
	}
	if len(argument) >= 40 && strings.Contains(err.Error(), argument) { // a short one may be there by chance
		t.Errorf("error %q repeats the argument", err)
	}
}

// invalidFields returns the fields that a ValidationError names.
func invalidFields(err error) (fields []string) {
	if invalid, ok := errors.AsType[*commerce.ValidationError](err); ok && errors.Is(err, commerce.ErrInvalidArgument) {
		for _, f := range invalid.Fields {
			fields = append(fields, f.Field)
		}
	}
	return fields
}

// checkError compares the Op, StatusCode, Outcome and Attempts of an error.
func checkError(t *testing.T, err error, want commerce.Error) {
	t.Helper()
	got, ok := errors.AsType[*commerce.Error](err)
	if !ok {
		t.Fatalf("error = %v, want an *Error", err)
	}
	others := cmpopts.IgnoreFields(commerce.Error{}, "Errors", "RequestID", "RetryAfter", "Err")
	if d := cmp.Diff(want, *got, others); d != "" {
		t.Errorf("error %v (-want +got):\n%s", err, d)
	}
}

// checkStop compares the fields of a PagingError. It compares Err by errors.Is.
func checkStop(t *testing.T, err error, want commerce.PagingError) {
	t.Helper()
	got, ok := errors.AsType[*commerce.PagingError](err)
	if !ok {
		t.Fatalf("error = %v, want a *PagingError", err)
	}
	if d := cmp.Diff(want, *got, cmpopts.EquateErrors()); d != "" {
		t.Errorf("error %v (-want +got):\n%s", err, d)
	}
}

func diff(t *testing.T, what string, got, want any) {
	t.Helper()
	if reflect.DeepEqual(got, want) {
		return // much faster
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("%s (-want +got):\n%s", what, d)
	}
}

// checkRoundTrip decodes text by encoding/json, compares, encodes and decodes again.
func checkRoundTrip[T any](t *testing.T, text string, want T) {
	t.Helper()
	var decoded, again T
	if err := json.Unmarshal([]byte(text), &decoded); err != nil {
		t.Fatalf("decode %s: %v", text, err)
	}
	diff(t, "decoded from "+text, decoded, want)
	if err := json.Unmarshal([]byte(encode(t, decoded)), &again); err != nil {
		t.Fatalf("decode again: %v", err)
	}
	diff(t, "after a round trip of "+text, again, want)
}

func encode(t *testing.T, v any) string {
	t.Helper()
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatalf("encode %T: %v", v, err)
	}
	return string(b)
}

// list calls List, for its error.
func list(ctx context.Context, c *commerce.Client) error {
	_, err := c.Subscriptions.List(ctx, nil)
	return err
}

// addDiscount calls AddCustomDiscounts with one discount, for its error.
func addDiscount(ctx context.Context, c *commerce.Client) error {
	_, err := c.Carts.AddCustomDiscounts(ctx, cartID, discounts("a"), nil)
	return err
}

func discount(externalID string) commerce.NewCustomDiscount {
	return commerce.NewCustomDiscount{
		Amount: commerce.NewDecimal(-1000), Description: "ten off", DiscountCode: "TEN",
		DiscountEngine: "engine", ExternalID: externalID,
	}
}

func discounts(externalIDs ...string) (list []commerce.NewCustomDiscount) {
	for _, externalID := range externalIDs {
		list = append(list, discount(externalID))
	}
	return list
}

// numberedID returns the n-th of a series of UUIDs.
func numberedID(n int) uuid.UUID {
	return uuid.NewHash(sha256.New(), uuid.NameSpaceOID, []byte{byte(n >> 8), byte(n)}, 8)
}

func parseQuery(t *testing.T, raw string) url.Values {
	t.Helper()
	q, err := url.ParseQuery(raw)
	if err != nil {
		t.Fatalf("query %q: %v", raw, err)
	}
	return q
}

func parseDecimal(t *testing.T, s string) commerce.Decimal {
	t.Helper()
	d, err := commerce.ParseDecimal(s)
	if err != nil {
		t.Fatal(err)
	}
	return d
}
