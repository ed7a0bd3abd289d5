package commercetest_test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"net/http"
	"os"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/fstest"

	"github.com/commerce-go/commerce/commercetest"
)

func TestEndpoints_refusals(t *testing.T) {
	t.Parallel()
	const (
		unauthorized = `{"errors":[{"status":"401","title":"Unable to validate access token"}]}`
		notFound     = `{"errors":[{"status":"404","title":"Not Found","detail":"There is no such endpoint"}]}`
		list         = "GET /v2/subscriptions/subscriptions"
		basic        = "Authorization: Basic commercetest-token\r\n"
		noScheme     = "Authorization: commercetest-token\r\n"
	)
	bodies := map[int]string{401: unauthorized, 404: notFound}
	for _, tt := range []struct {
		name, line, header string
		host               string // default: store.test
		status             int
	}{
		{name: "no token", line: list, status: 401},
		{name: "wrong token", line: list, header: "Authorization: Bearer nobody\r\n", status: 401},
		{name: "token in another scheme", line: list, header: basic, status: 401},
		{name: "token without a scheme", line: list, header: noScheme, status: 401},
		{name: "no token for a cart", line: "GET /v2/carts/c", status: 401},
		{name: "no token for settings", line: "GET /v2/settings", status: 401},
		{name: "no token for accounts", line: "GET /v2/accounts", status: 401},
		{
			name: "no token for discounts", line: "POST /v2/carts/c/custom-discounts",
			header: "Content-Length: 0\r\n", status: 401,
		},
		{name: "no token for an unknown path", line: "GET /v2/nothing", status: 401},
		{name: "no token for the root of the version", line: "GET /v2", status: 401},
		{name: "unknown path", line: "GET /v2/nothing", header: bearer, status: 404},
		{name: "version twice", line: "GET /v2/v2/settings", header: bearer, status: 404},
		{name: "no version", line: "GET /settings", header: bearer, status: 404},
		{name: "escaped version", line: "GET /%762/settings", status: 404},
		{name: "empty cart id", line: "GET /v2/carts/", header: bearer, status: 404},
		{name: "trailing slash", line: list + "/", header: bearer, status: 404},
		{name: "root", line: "GET /", status: 404},
		{name: "host of the links", line: list, header: bearer, host: "store-links.example", status: 404},
		{name: "empty item id", line: "DELETE /v2/carts/x/items/", header: bearer, status: 404},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if tt.host == "" {
				tt.host = "store.test"
			}
			eachSender(t, func(t *testing.T, send sendFunc) {
				resp := send(commercetest.NewStore(commercetest.Config{DiscountsEnabled: true}),
					fmt.Sprintf("%s HTTP/1.1\r\nHost: %s\r\n%s\r\n", tt.line, tt.host, tt.header))
				want := bodies[tt.status]
				switch {
				case strings.HasSuffix(tt.line, "/v2/settings"): // whose errors have a number
					want = strings.Replace(want, `"401"`, "401", 1)
				case strings.Contains(tt.line, "/v2/carts/c"): // whose errors are one object
					want = strings.NewReplacer("[", "", "]", "").Replace(want)
				}
				wantJSON(t, resp, tt.status, want)
				wantEqual(t, "X-Request-Id", resp.Header.Get("X-Request-Id"), "commercetest-000001")
				wantEqual(t, "Allow", resp.Header.Get("Allow"), "")
			})
		})
	}
}

// A 405 lists the methods that the path allows.
func TestEndpoints_methodNotAllowed(t *testing.T) {
	t.Parallel()
	const itemDiscounts = "/v2/carts/c/items/i/custom-discounts"
	for _, tt := range []struct{ name, line, allow string }{
		{name: "list", line: "DELETE /v2/subscriptions/subscriptions", allow: "GET, HEAD"},
		{name: "token", line: "GET /oauth/access_token", allow: "POST"},
		{name: "carts", line: "GET /v2/carts", allow: "POST"},
		{name: "cart", line: "PATCH /v2/carts/c", allow: "DELETE, GET, HEAD, PUT"},
		{name: "discounts", line: "GET /v2/carts/c/custom-discounts", allow: "DELETE, POST"},
		{name: "discount", line: "GET /v2/carts/c/custom-discounts/d", allow: "DELETE, PUT"},
		{name: "items", line: "PATCH /v2/carts/c/items", allow: "DELETE, GET, HEAD, POST"},
		{name: "item", line: "GET /v2/carts/c/items/i", allow: "DELETE, PUT"},
		{name: "discounts of an item", line: "DELETE " + itemDiscounts, allow: "POST"},
		{name: "discount of an item", line: "GET " + itemDiscounts + "/d", allow: "DELETE, PUT"},
		{name: "cart settings", line: "DELETE /v2/settings/cart", allow: "GET, HEAD, PUT"},
		{name: "checkout", line: "GET /v2/carts/c/checkout", allow: "POST"},
		{name: "orders", line: "POST /v2/orders", allow: "GET, HEAD"},
		{name: "accounts", line: "POST /v2/accounts", allow: "GET, HEAD"},
		{name: "subscription", line: "PUT /v2/subscriptions/subscriptions/s", allow: "GET, HEAD"},
		{name: "states", line: "DELETE /v2/subscriptions/subscriptions/s/states", allow: "GET, HEAD, POST"},
		{name: "state", line: "DELETE /v2/subscriptions/subscriptions/s/states/s", allow: "GET, HEAD"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			eachSender(t, func(t *testing.T, send sendFunc) {
				resp := send(commercetest.NewStore(commercetest.Config{DiscountsEnabled: true}),
					fmt.Sprintf("%s HTTP/1.1\r\nHost: store.test\r\n%s\r\n", tt.line, bearer))
				wantJSON(t, resp, 405, `{"errors":[{"status":"405","title":"Method Not Allowed"}]}`)
				wantEqual(t, "Allow", resp.Header.Get("Allow"), tt.allow)
			})
		})
	}
}

// Each constant of an operation has an endpoint, and each endpoint a constant. The comment of the
// constant and that of the package show the endpoints.
func TestOperations(t *testing.T) {
	t.Parallel()
	short := func(endpoint string) string { return regexp.MustCompile(`\{\w+\}`).ReplaceAllString(endpoint, "{}") }
	doc, err := os.ReadFile("doc.go")
	if err != nil {
		t.Fatal(err)
	}
	listed := short(strings.Join(strings.Fields(string(doc)), " ")) + " "
	constants := declaredOperations(t)
	for _, op := range commercetest.Operations() {
		if _, ok := constants[op]; !ok {
			t.Errorf("endpoints.go has the operation %q: add a constant to faults.go", op)
		}
	}
	delete(constants, commercetest.OpAny)
	for op, comment := range constants {
		if len(op.Endpoints()) == 0 {
			t.Errorf("operation %q of faults.go has no handler: add it to endpoints in endpoints.go", op)
		}
		comment, _, _ = strings.Cut(short(strings.TrimSpace(comment)), ",")
		method, path, _ := strings.Cut(comment, " ")
		for _, endpoint := range op.Endpoints() {
			endpoint = short(endpoint)
			if !strings.HasPrefix(endpoint, method+" ") || !strings.HasSuffix(endpoint, strings.TrimPrefix(path, "...")) {
				t.Errorf("the comment of operation %q in faults.go shows %s, want %s", op, comment, endpoint)
			}
			if !strings.Contains(listed, " "+endpoint+" ") {
				t.Errorf("%s is not in the list of endpoints in doc.go: add it", endpoint)
			}
		}
	}
}

// declaredOperations returns the comments of the constants of operations.
func declaredOperations(t *testing.T) map[commercetest.Operation]string {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), "faults.go", nil, parser.ParseComments)
	if err != nil {
		t.Fatal(err)
	}
	comments := map[commercetest.Operation]string{}
	for _, declaration := range file.Decls {
		constants, _ := declaration.(*ast.GenDecl)
		if constants == nil || constants.Tok != token.CONST {
			continue
		}
		for _, spec := range constants.Specs {
			c, _ := spec.(*ast.ValueSpec)
			if typ, ok := c.Type.(*ast.Ident); ok && typ.Name == "Operation" {
				name, _ := strconv.Unquote(c.Values[0].(*ast.BasicLit).Value)
				comments[commercetest.Operation(name)] = c.Comment.Text()
			}
		}
	}
	return comments
}

// The operation of a request is that of its endpoint.
func TestOperationOf(t *testing.T) {
	t.Parallel()
	for request, want := range map[string]commercetest.Operation{
		"GET /v2/carts/a": commercetest.OpCart, "GET /v2/settings": commercetest.OpSettings,
		"POST /v2/settings": commercetest.OpAny, "GET /v2/carts/a/b": commercetest.OpAny,
	} {
		method, path, _ := strings.Cut(request, " ")
		wantEqual(t, request, commercetest.OperationOf(method, path), want)
	}
}

// AfterRequest is called once for each request, after it took effect and before its
// response is sent.
func TestAfterRequest(t *testing.T) {
	t.Parallel()
	for _, sender := range senders {
		t.Run(sender.name, func(t *testing.T) {
			t.Parallel()
			var mu sync.Mutex
			var calls []string
			store := newCart(t, commercetest.Config{
				DiscountsEnabled: true,
				RateLimit:        1, RateBurst: 5,
				AfterRequest: func(s *commercetest.Store, in commercetest.Request) {
					mu.Lock()
					defer mu.Unlock()
					if in.Duration == 0 {
						t.Errorf("%s has no duration yet", in.ID)
					}
					// Discounts would block if the store were locked.
					calls = append(calls, fmt.Sprintf("%s %s %s %d", in.ID, in.Method, in.Path, len(s.Discounts(cartID))))
					in.Header.Set("Accept", "changed")
					for i := range in.Body {
						in.Body[i] = 'x'
					}
				},
			})
			store.Inject(
				commercetest.Fault{Operation: commercetest.OpAdd, After: 1, Apply: true, Cut: true},
				commercetest.Fault{Operation: commercetest.OpAdd, After: 2, Status: 503},
			)
			var statuses []int
			for i, raw := range []string{
				addRequest(onCart("a")), addRequest(onCart("b")), addRequest(onCart("c")),
				get("/nowhere"), postForm(validForm),
			} {
				resp, _ := sender.send(t, store, raw)
				statuses = append(statuses, resp.Status)
				mu.Lock()
				wantEqual(t, "calls before the response", len(calls), i+1)
				mu.Unlock()
			}
			wantEqual(t, "statuses", statuses, []int{201, 0, 503, 404, 200}) // 0: the connection was cut
			wantEqual(t, "calls", calls, []string{
				"commercetest-000001 POST " + cartPath + "/custom-discounts 1",
				"commercetest-000002 POST " + cartPath + "/custom-discounts 2", // applied, then cut
				"commercetest-000003 POST " + cartPath + "/custom-discounts 2", // not applied
				"commercetest-000004 GET /nowhere 2",
				"commercetest-000005 POST /oauth/access_token 2",
			})
			first := store.Requests()[0]
			wantEqual(t, "recorded body", string(first.Body), bulk(false, onCart("a")))
			wantEqual(t, "recorded header", first.Header.Get("Accept"), "application/json")

			refused := sendUntilRefused(t, store, sender.send)
			mu.Lock()
			defer mu.Unlock()
			wantEqual(t, "calls after "+refused.Header.Get("X-Request-Id"), len(calls), len(store.Requests()))
		})
	}
}

// sendUntilRefused sends a request until the rate limit refuses it. Over a network
// connection that may take several requests, because time passes.
func sendUntilRefused(
	t *testing.T, store *commercetest.Store,
	send func(*testing.T, *commercetest.Store, string) (wireResponse, error),
) wireResponse {
	t.Helper()
	for range 100 {
		resp, err := send(t, store, get(listPath))
		if err != nil {
			t.Fatal(err)
		}
		if resp.Status == 429 {
			return resp
		}
	}
	t.Fatal("100 requests, want one that the rate limit refuses")
	return wireResponse{}
}

// HEAD is GET without the body, over the network and in memory.
func TestEndpoints_head(t *testing.T) {
	t.Parallel()
	store := commercetest.New(t, commercetest.Config{})
	store.Handle("GET /open", http.FileServerFS(fstest.MapFS{"open": {Data: []byte("text")}}))
	fetch := func(hc *http.Client, method, path string) (status string, length int64, body int) {
		t.Helper()
		req, err := http.NewRequestWithContext(t.Context(), method, store.URL()+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Authorization", "Bearer "+commercetest.DefaultToken)
		resp, err := hc.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = resp.Body.Close() }()
		text, err := io.ReadAll(resp.Body)
		if err != nil {
			t.Fatal(err)
		}
		return resp.Status, resp.ContentLength, len(text)
	}
	for name, hc := range map[string]*http.Client{"network": {}, "memory": {Transport: store.Transport()}} {
		for _, path := range []string{settingsPath, "/v2/carts/c", "/v2/subscriptions/subscriptions", "/open"} {
			status, length, _ := fetch(hc, http.MethodGet, path)
			gotStatus, gotLength, body := fetch(hc, http.MethodHead, path)
			if gotStatus != status || gotLength != length || length <= 0 || body != 0 {
				t.Errorf("%s, HEAD %s: %s, length %d, %d bytes; GET: %s, length %d",
					name, path, gotStatus, gotLength, body, status, length)
			}
		}
	}
	wantEqual(t, "operation", commercetest.OperationOf(http.MethodHead, "/v2/carts/c"), commercetest.OpCart)
}
