package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Two clients of the vendor must get from the store what they get from the service:
// its JavaScript SDK (npm @elasticpath/js-sdk, repository
// elasticpath/js-sdk, before that moltin/js-sdk) and its command-line tool
// (repository elasticpath/epcc-cli). The tables hold the requests that they make, in
// their order, with their headers, over one connection.

// exchange is a request of a client, and the response of the store.
type exchange struct {
	name string
	// head is the request line and the headers, without those that describe the body.
	// {host}, {token} and {cart} are replaced; {token} is the token that the client got.
	head string
	body string
	// chunked sends the body in chunks, like a client that does not know its length.
	chunked bool

	status int
	want   string // summary of the response
}

// The headers of the SDK, version 35.0.0 on Node 20, recorded.
const (
	jsHeaders = `
host: {host}
connection: keep-alive
X-MOLTIN-SDK-LANGUAGE: JS
X-MOLTIN-SDK-VERSION: 35.0.0
Content-Type: application/json
Authorization: Bearer {token}
X-MOLTIN-APPLICATION: epcc sdk
accept: */*
accept-language: *
sec-fetch-mode: cors
user-agent: node
accept-encoding: gzip, deflate`
	jsTokenHeaders = `
host: {host}
connection: keep-alive
Content-Type: application/x-www-form-urlencoded
X-MOLTIN-SDK-LANGUAGE: JS
X-MOLTIN-SDK-VERSION: 35.0.0
accept: */*
accept-language: *
sec-fetch-mode: cors
user-agent: node
accept-encoding: gzip, deflate`
)

// The SDK writes brackets, commas and parentheses of a query as they are, and
// leaves the rest to the URL parser of fetch (src/utils/helpers.js, buildURL and
// formatQueryString). It gets a token before its first call and after a 401
// (src/factories/request.js, send and fetchRetry).
var jsSDK = []exchange{
	{
		// createAuthRequest of src/factories/request.js
		name:   "Authenticate",
		head:   "POST /oauth/access_token HTTP/1.1" + jsTokenHeaders,
		body:   "grant_type=client_credentials&client_id=commercetest-id&client_secret=commercetest-secret",
		status: 200, want: "token Bearer, 3600 s, client_credentials",
	},
	{
		// All of src/extends/base.js, with src/endpoints/subscriptions.js
		name:   "Subscriptions.All",
		head:   "GET /v2/subscriptions/subscriptions HTTP/1.1" + jsHeaders,
		status: 200, want: "25 subscriptions from order-000100 to order-000076, more",
	},
	{
		// an offset of 0 is left out
		name:   "Subscriptions.Limit(40).Offset(0).All",
		head:   "GET /v2/subscriptions/subscriptions?page[limit]=40 HTTP/1.1" + jsHeaders,
		status: 200, want: "40 subscriptions from order-000100 to order-000061, more",
	},
	{
		name:   "Subscriptions.Limit(40).Offset(40).All",
		head:   "GET /v2/subscriptions/subscriptions?page[limit]=40&page[offset]=40 HTTP/1.1" + jsHeaders,
		status: 200, want: "40 subscriptions from order-000060 to order-000021, more",
	},
	{
		name:   "Subscriptions.Limit(40).Offset(80).All",
		head:   "GET /v2/subscriptions/subscriptions?page[limit]=40&page[offset]=80 HTTP/1.1" + jsHeaders,
		status: 200, want: "20 subscriptions from order-000020 to order-000001, the end",
	},
	{
		name: "Subscriptions.Filter, With",
		head: "GET /v2/subscriptions/subscriptions?include=plans,products&page[limit]=2" +
			"&filter=eq(email,subscriber-0001@example.com) HTTP/1.1" + jsHeaders,
		status: 200, want: "2 subscriptions from order-000005 to order-000003, more, with plans and products",
	},
	{
		// fetch escapes the space, and the SDK puts no quotes around a value
		name: "Subscriptions.Filter, two at once",
		head: "GET /v2/subscriptions/subscriptions?" +
			"filter=eq(name,Ron%20Swanson):eq(external_ref,order-000007) HTTP/1.1" + jsHeaders,
		status: 200, want: "1 subscription order-000007, the end",
	},
	{
		// BulkAddCartCustomDiscount of src/endpoints/cart.js with options; the
		// spaces are those of buildRequestBody
		name: "Cart.BulkAddCartCustomDiscount",
		head: "POST /v2/carts/{cart}/custom-discounts HTTP/1.1" + jsHeaders,
		body: `{
        "data": [` + discountJSON("js-1", "") + `,` + discountJSON("js-2", "00000000-0000-4000-8000-000000000001") + `],
        "options" : {"add_all_or_nothing":false}
      }`,
		status: 201, want: "added js-1; not added: Custom discount not added to cart item.",
	},
	{
		// Get of src/endpoints/cart.js; the recorded form of With("custom_discounts")
		name:   "Cart.With.Get",
		head:   "GET /v2/carts/{cart}?include=custom_discounts HTTP/1.1" + jsHeaders,
		status: 200, want: "cart with js-1",
	},
	{
		name:   "Settings.All",
		head:   "GET /v2/settings HTTP/1.1" + jsHeaders,
		status: 200, want: "settings",
	},
	{
		// what makes the SDK get a new token
		name:   "a token that expired",
		head:   "GET /v2/subscriptions/subscriptions HTTP/1.1" + strings.Replace(jsHeaders, "{token}", "expired", 1),
		status: 401, want: "errors: Unable to validate access token",
	},
}

// The headers of the tool (external/httpclient/httpclient.go, doRequestInternal,
// and external/authentication/auth.go, fetchNewAuthenticationToken).
const (
	cliHeaders = `
Host: {host}
User-Agent: epcc-cli/Development-Snapshot (linux/amd64)
Authorization: Bearer {token}
Content-Type: application/json
Accept-Encoding: gzip`
	cliTokenHeaders = `
Host: {host}
User-Agent: epcc-cli/Development-Snapshot
Accept: application/json
Content-Type: application/x-www-form-urlencoded
Accept-Encoding: gzip`
)

// The tool encodes queries by url.Values, which sorts and escapes them, and gets a
// token before a command's first request.
var cli = []exchange{
	{
		name:   "the token of a command",
		head:   "POST /oauth/access_token HTTP/1.1" + cliTokenHeaders,
		body:   "client_id=commercetest-id&client_secret=commercetest-secret&grant_type=client_credentials",
		status: 200, want: "token Bearer, 3600 s, client_credentials",
	},
	{
		// external/rest/get.go with the URL of external/resources/yaml/subscriptions.yaml
		name:   "epcc get subscriptions",
		head:   "GET /v2/subscriptions/subscriptions HTTP/1.1" + cliHeaders,
		status: 200, want: "25 subscriptions from order-000100 to order-000076, more",
	},
	{
		name: "epcc get subscriptions filter eq(email,…) page[limit] 2",
		head: "GET /v2/subscriptions/subscriptions?" +
			"filter=eq%28email%2Csubscriber-0001%40example.com%29&page%5Blimit%5D=2 HTTP/1.1" + cliHeaders,
		status: 200, want: "2 subscriptions from order-000005 to order-000003, more",
	},
	{
		name: "epcc get subscriptions include plans filter eq(name,…)",
		head: "GET /v2/subscriptions/subscriptions?" +
			"filter=eq%28name%2CRon+Swanson%29%3Aeq%28external_ref%2Corder-000007%29&include=plans HTTP/1.1" + cliHeaders,
		status: 200, want: "1 subscription order-000007, the end, with plans",
	},
	{
		// cmd/get-all.go asks for pages of 100 until one is empty
		name:   "epcc get-all subscriptions",
		head:   "GET /v2/subscriptions/subscriptions?page%5Blimit%5D=100&page%5Boffset%5D=0 HTTP/1.1" + cliHeaders,
		status: 200, want: "100 subscriptions from order-000100 to order-000001, the end",
	},
	{
		name:   "epcc get-all subscriptions, second page",
		head:   "GET /v2/subscriptions/subscriptions?page%5Blimit%5D=100&page%5Boffset%5D=100 HTTP/1.1" + cliHeaders,
		status: 200, want: "0 subscriptions, the end",
	},
	{
		// external/apihelper/get_all_ids.go asks for pages of 25
		name:   "epcc delete-all, the ids it looks for",
		head:   "GET /v2/subscriptions/subscriptions?page%5Blimit%5D=25&page%5Boffset%5D=75 HTTP/1.1" + cliHeaders,
		status: 200, want: "25 subscriptions from order-000025 to order-000001, the end",
	},
	{
		// external/rest/create.go: --data is the body as it is; the URL is that of
		// external/resources/yaml/carts-and-orders.yaml
		name:   "epcc create cart-custom-discount --data",
		head:   "POST /v2/carts/{cart}/custom-discounts HTTP/1.1" + cliHeaders,
		body:   `{"data":[` + discountJSON("cli-1", "") + `]}`,
		status: 201, want: "added cli-1",
	},
	{
		// docs/tutorial.md, "epcc logs show", prints a body that was sent in chunks
		name:    "epcc create cart-custom-discount --data, in chunks",
		head:    "POST /v2/carts/{cart}/custom-discounts HTTP/1.1" + cliHeaders,
		body:    `{"data":[` + discountJSON("cli-2", demoItem.ID.String()) + `],"options":{"add_all_or_nothing":true}}`,
		chunked: true,
		status:  201, want: "added cli-2",
	},
	{
		name:   "epcc get cart include custom_discounts",
		head:   "GET /v2/carts/{cart}?include=custom_discounts HTTP/1.1" + cliHeaders,
		status: 200, want: "cart with cli-1, cli-2",
	},
	{
		name:   "epcc get settings",
		head:   "GET /v2/settings HTTP/1.1" + cliHeaders,
		status: 200, want: "settings",
	},
}

// discountJSON returns the JSON of a discount, for an item if it is not "".
func discountJSON(externalID, item string) string {
	relation := ""
	if item != "" {
		relation = fmt.Sprintf(`,"relationships":{"item":{"data":{"type":"cart_item","id":%q}}}`, item)
	}
	return fmt.Sprintf(`{"type":"custom_discount","amount":-100,"description":"d","discount_code":"c",`+
		`"discount_engine":"e","external_id":%q%s}`, externalID, relation)
}

func TestVendorClients(t *testing.T) {
	t.Parallel()
	for name, table := range map[string][]exchange{"JavaScript SDK": jsSDK, "command-line tool": cli} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := start(t)
			host := strings.TrimPrefix(p.values["address"], "http://")
			conn, err := new(net.Dialer).DialContext(t.Context(), "tcp", host)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = conn.Close() })
			responses := bufio.NewReader(conn)
			token := ""
			for _, x := range table {
				request := strings.NewReplacer("{host}", host, "{token}", token, "{cart}", p.values["cart"]).Replace(x.head)
				if _, err := io.WriteString(conn, strings.ReplaceAll(request, "\n", "\r\n")+frame(x)); err != nil {
					t.Fatalf("%s: %v", x.name, err)
				}
				resp, err := http.ReadResponse(responses, nil)
				if err != nil {
					t.Fatalf("%s: %v", x.name, err)
				}
				body, err := io.ReadAll(resp.Body)
				_ = resp.Body.Close()
				if err != nil {
					t.Fatalf("%s: %v", x.name, err)
				}
				if issued := decode[tokenResponse](t, body).AccessToken; issued != "" {
					token = issued
				}
				got := strconv.Itoa(resp.StatusCode) + " " + summary(t, body)
				if diff := cmp.Diff(strconv.Itoa(x.status)+" "+x.want, got); diff != "" {
					t.Errorf("%s (-want +got):\n%s\n%s", x.name, diff, body)
				}
				if media := resp.Header.Get("Content-Type"); media != "application/json" {
					t.Errorf("%s: content type %q, want application/json", x.name, media)
				}
			}
		})
	}
}

// frame returns what follows the headers of a request.
func frame(x exchange) string {
	switch {
	case x.chunked:
		return fmt.Sprintf("\r\nTransfer-Encoding: chunked\r\n\r\n%x\r\n%s\r\n0\r\n\r\n", len(x.body), x.body)
	case x.body != "":
		return fmt.Sprintf("\r\nContent-Length: %d\r\n\r\n%s", len(x.body), x.body)
	}
	return "\r\n\r\n"
}

// summary describes the body of a response in a sentence.
func summary(t *testing.T, body []byte) string {
	t.Helper()
	resp := decode[struct {
		AccessToken string              `json:"access_token"`
		TokenType   string              `json:"token_type"`
		ExpiresIn   int                 `json:"expires_in"`
		Identifier  string              `json:"identifier"`
		Data        json.RawMessage     `json:"data"`
		Included    map[string][]record `json:"included"`
		Links       map[string]*string  `json:"links"`
		Errors      []struct {
			Title string `json:"title"`
		} `json:"errors"`
	}](t, body)
	if resp.AccessToken != "" {
		return fmt.Sprintf("token %s, %d s, %s", resp.TokenType, resp.ExpiresIn, resp.Identifier)
	}
	var failed []string
	for _, e := range resp.Errors {
		failed = append(failed, e.Title)
	}
	switch {
	case resp.Data == nil:
		return "errors: " + strings.Join(failed, ", ")
	case resp.Data[0] == '{':
		s := decode[record](t, resp.Data).Type
		if discounts := resp.Included["custom_discounts"]; discounts != nil {
			s += " with " + externalIDs(discounts)
		}
		return s
	}
	list := decode[[]record](t, resp.Data)
	if resp.Links == nil {
		s := "added " + externalIDs(list)
		if failed != nil {
			s += "; not added: " + strings.Join(failed, ", ")
		}
		return s
	}
	s := subscriptions(list)
	if resp.Links["next"] != nil {
		s += ", more"
	} else {
		s += ", the end"
	}
	if len(resp.Included) > 0 {
		s += ", with " + strings.Join(slices.Sorted(maps.Keys(resp.Included)), " and ")
	}
	return s
}

// record is a cart, a discount or a subscription.
type record struct {
	Type       string `json:"type"`
	ExternalID string `json:"external_id"`
	Attributes struct {
		ExternalRef string `json:"external_ref"`
	} `json:"attributes"`
}

func externalIDs(discounts []record) string {
	var ids []string
	for _, d := range discounts {
		ids = append(ids, d.ExternalID)
	}
	return strings.Join(ids, ", ")
}

// subscriptions returns the number of subscriptions, and the first and last reference.
func subscriptions(list []record) string {
	switch n := len(list); n {
	case 0:
		return "0 subscriptions"
	case 1:
		return "1 subscription " + list[0].Attributes.ExternalRef
	default:
		return fmt.Sprintf("%d subscriptions from %s to %s",
			n, list[0].Attributes.ExternalRef, list[n-1].Attributes.ExternalRef)
	}
}
