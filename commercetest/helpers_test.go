package commercetest_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"
	"go.uber.org/goleak"

	"github.com/commerce-go/commerce"
	"github.com/commerce-go/commerce/commercetest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// wireResponse is a response as it came over the wire.
type wireResponse struct {
	Status  int
	Header  http.Header
	Body    string
	BodyErr error // of reading the body
}

// senders are the ways to send a request to a store. The responses must be the same.
var senders = []struct {
	name string
	send func(t *testing.T, store *commercetest.Store, raw string) (wireResponse, error)
}{
	{name: "loopback", send: overLoopback},
	{name: "transport", send: func(t *testing.T, store *commercetest.Store, raw string) (wireResponse, error) {
		t.Helper()
		return overRoundTripper(t, store.Transport(), raw)
	}},
	{name: "handler", send: func(t *testing.T, store *commercetest.Store, raw string) (wireResponse, error) {
		t.Helper()
		return overRoundTripper(t, handlerTransport{store}, raw)
	}},
}

// sendFunc sends a request and ends the test if there is no response.
type sendFunc func(store *commercetest.Store, raw string) wireResponse

// eachSender runs test with each of the senders.
func eachSender(t *testing.T, test func(t *testing.T, send sendFunc)) {
	t.Helper()
	for _, sender := range senders {
		t.Run(sender.name, func(t *testing.T) {
			t.Parallel()
			test(t, func(store *commercetest.Store, raw string) wireResponse {
				t.Helper()
				resp, err := sender.send(t, store, raw)
				if err != nil {
					t.Fatal(err)
				}
				return resp
			})
		})
	}
}

// send sends a request over the transport of the store.
func send(t *testing.T, store *commercetest.Store, raw string) wireResponse {
	t.Helper()
	resp, err := overRoundTripper(t, store.Transport(), raw)
	if err != nil {
		t.Fatal(err)
	}
	return resp
}

// overLoopback writes the bytes of a request to the server of the store.
func overLoopback(t *testing.T, store *commercetest.Store, raw string) (wireResponse, error) {
	t.Helper()
	t.Cleanup(store.Close)
	u, err := url.Parse(store.URL())
	if err != nil {
		t.Fatal(err)
	}
	conn, err := new(net.Dialer).DialContext(t.Context(), "tcp", u.Host)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	if _, err := io.WriteString(conn, raw); err != nil {
		return wireResponse{}, err
	}
	resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		return wireResponse{}, err
	}
	return readResponse(resp), nil
}

func overRoundTripper(t *testing.T, rt http.RoundTripper, raw string) (wireResponse, error) {
	t.Helper()
	req, err := http.ReadRequest(bufio.NewReader(strings.NewReader(raw)))
	if err != nil {
		t.Fatal(err)
	}
	req.URL.Scheme, req.URL.Host, req.RequestURI = "https", req.Host, ""
	resp, err := rt.RoundTrip(req.WithContext(t.Context()))
	if err != nil {
		return wireResponse{}, err
	}
	return readResponse(resp), nil
}

func readResponse(resp *http.Response) wireResponse {
	body, err := io.ReadAll(resp.Body)
	_ = resp.Body.Close()
	return wireResponse{Status: resp.StatusCode, Header: resp.Header, Body: string(body), BodyErr: err}
}

// handlerTransport passes requests to a handler. If the handler aborts, it does what
// a server does: it ends the body early, or the connection if nothing was sent.
type handlerTransport struct{ http.Handler }

func (h handlerTransport) RoundTrip(req *http.Request) (resp *http.Response, err error) {
	w := httptest.NewRecorder()
	defer func() {
		switch cause := recover(); {
		case cause == nil:
			resp = w.Result()
		case cause != http.ErrAbortHandler: //nolint:errorlint // the value of a panic
			panic(cause)
		case w.Flushed:
			resp = w.Result()
			resp.Body = io.NopCloser(io.MultiReader(resp.Body, iotest.ErrReader(io.ErrUnexpectedEOF)))
		default:
			err = io.ErrUnexpectedEOF
		}
	}()
	if req.Body != nil {
		defer func() { _ = req.Body.Close() }()
	}
	in := req.Clone(req.Context())
	in.Host = in.URL.Host
	h.ServeHTTP(w, in)
	return nil, nil //nolint:nilnil // the deferred function sets them
}

const (
	bearer       = "Authorization: Bearer commercetest-token\r\n"
	listPath     = "/v2/subscriptions/subscriptions"
	settingsPath = "/v2/settings"
	validForm    = "grant_type=client_credentials&client_id=commercetest-id&client_secret=commercetest-secret"
)

// get returns a GET as it is sent. The target is percent-encoded already.
func get(target string) string {
	return "GET " + target + " HTTP/1.1\r\nHost: store.test\r\nAccept: application/json\r\n" + bearer + "\r\n"
}

// post returns a POST as it is sent.
func post(target, body string) string {
	return fmt.Sprintf("POST %s HTTP/1.1\r\nHost: store.test\r\nAccept: application/json\r\n%s"+
		"Content-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", target, bearer, len(body), body)
}

// put returns a PUT as it is sent.
func put(target, body string) string { return strings.Replace(post(target, body), "POST", "PUT", 1) }

// del returns a DELETE as it is sent.
func del(target string) string { return strings.Replace(get(target), "GET", "DELETE", 1) }

// postForm returns a token request as it is sent.
func postForm(body string) string {
	return fmt.Sprintf("POST /oauth/access_token HTTP/1.1\r\nHost: store.test\r\n"+
		"Content-Type: application/x-www-form-urlencoded\r\nContent-Length: %d\r\n\r\n%s", len(body), body)
}

// The cart of newCart, and its items.
const (
	cartID     = "e464336d-da0a-8870-9408-6383528dbe14"
	cartPath   = "/v2/carts/" + cartID
	cartItem   = "3b4de20a-ccd0-44e6-894f-628e7afb3db0"
	customItem = "5c1b2a2e-6c9f-4f0e-9d7c-0d7f2a0b9c11"
	absentItem = "00000000-0000-4000-8000-000000000000" // of no cart
	itemPath   = cartPath + "/items/" + cartItem
)

// newCart returns a store with a cart that has two items.
func newCart(t *testing.T, cfg commercetest.Config) *commercetest.Store {
	t.Helper()
	cfg.DiscountsEnabled = true
	store := commercetest.NewStore(cfg)
	wantEqual(t, "AddCart", store.AddCart(
		commerce.CartItemRef{ID: uuid.MustParse(cartItem)},
		commerce.CartItemRef{Type: commerce.ItemTypeCustomItem, ID: uuid.MustParse(customItem)},
	), cartID)
	return store
}

// discountIDs are the ids of the first discounts of any store.
var discountIDs = []string{firstID, secondID}

const (
	firstID  = "d4334f18-56f6-87a4-8eea-75308ab42b32"
	secondID = "d25d0a9e-fac3-8171-89c4-5e8f5e59a951"
)

// discount is a custom discount of a cart, or of an item if itemID is set.
type discount struct{ externalID, itemType, itemID string }

func onCart(externalID string) discount { return discount{externalID: externalID} }

// request returns the discount as a client sends it.
func (d discount) request() string {
	item := ""
	if d.itemID != "" {
		item = `,"relationships":{"item":{"data":{"type":"` + d.itemType + `","id":"` + d.itemID + `"}}}`
	}
	return `{"type":"custom_discount","external_id":"` + d.externalID + `","discount_engine":"Custom Discount Engine",` +
		`"amount":-1000,"description":"custom discount description","discount_code":"10 off cart"` + item + `}`
}

// response returns the discount as the service sends it: with an id, and with the
// amount as an object.
func (d discount) response(id string) string {
	withID := `{"id":"` + id + `",` + d.request()[1:]
	return strings.Replace(withID, `-1000`, `{"amount":-1000,"currency":"USD","formatted":"-$10.00"}`, 1)
}

// bulk returns the body of a bulk request.
func bulk(allOrNothing bool, discounts ...discount) string {
	var requests []string
	for _, d := range discounts {
		requests = append(requests, d.request())
	}
	return fmt.Sprintf(`{"data":[%s],"options":{"add_all_or_nothing":%t}}`, strings.Join(requests, ","), allOrNothing)
}

// addRequest returns a request that adds discounts to the cart.
func addRequest(discounts ...discount) string {
	return post(cartPath+"/custom-discounts", bulk(false, discounts...))
}

// newDiscounts returns discounts of a cart with these external ids, for the client.
func newDiscounts(externalIDs ...string) (list []commerce.NewCustomDiscount) {
	for _, id := range externalIDs {
		list = append(list, commerce.NewCustomDiscount{
			Amount: commerce.NewDecimal(-500), Description: "d", DiscountCode: "c", DiscountEngine: "e", ExternalID: id,
		})
	}
	return list
}

// seeded returns a store with n subscriptions.
func seeded(g commercetest.Generation, n int) *commercetest.Store {
	store := commercetest.NewStore(commercetest.Config{DiscountsEnabled: true, Generation: g})
	store.Seed(n)
	return store
}

// listBody is the part of a list that the tests check.
type listBody struct {
	Data []struct {
		ID         string
		Attributes struct {
			ExternalRef string `json:"external_ref"`
			PlanID      string `json:"plan_id"`
		}
	}
	Included map[string][]struct{ ID, Type string }
	Links    map[string]*string
}

// refs returns the external refs of the subscriptions.
func (l listBody) refs() []string {
	refs := []string{}
	for _, d := range l.Data {
		refs = append(refs, d.Attributes.ExternalRef)
	}
	return refs
}

func decodeList(t *testing.T, resp wireResponse) (l listBody) {
	t.Helper()
	if resp.Status != http.StatusOK {
		t.Fatalf("status = %d, want 200: %s", resp.Status, resp.Body)
	}
	if err := json.Unmarshal([]byte(resp.Body), &l); err != nil {
		t.Fatal(err)
	}
	return l
}

// wantEqual compares two values.
func wantEqual(t *testing.T, what string, got, want any) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

// wantJSON compares a response with a status and a JSON body.
func wantJSON(t *testing.T, resp wireResponse, status int, want string) {
	t.Helper()
	wantEqual(t, "status", resp.Status, status)
	wantEqual(t, "Content-Type", resp.Header.Get("Content-Type"), "application/json")
	wantEqual(t, "body", decodeJSON(t, resp.Body), decodeJSON(t, want))
	if resp.BodyErr != nil {
		t.Errorf("reading the body: error = %v, want nil", resp.BodyErr)
	}
}

func decodeJSON(t *testing.T, body string) any {
	t.Helper()
	dec := json.NewDecoder(strings.NewReader(body))
	dec.UseNumber() // 5 and 5.0 differ
	var v any
	if err := dec.Decode(&v); err != nil {
		t.Fatalf("%v in %s", err, body)
	}
	return v
}

// panicText returns the text of the panic of f, or "" if f does not panic.
func panicText(f func()) (text string) {
	defer func() {
		if v := recover(); v != nil {
			text = fmt.Sprint(v)
		}
	}()
	f()
	return ""
}
