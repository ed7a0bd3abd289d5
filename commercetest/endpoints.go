package commercetest

import (
	"context"
	"net/http"
	"net/url"
	"slices"
	"strings"
)

// endpoint is a method and a path that the store handles.
type endpoint struct {
	method, path string // {name} in the path stands for one path element
	op           Operation
	handle       func(*Store, *call) response
}

const (
	discountsPath     = "/v2/carts/{cart}/custom-discounts"
	itemsPath         = "/v2/carts/{cart}/items"
	itemDiscountsPath = itemsPath + "/{item}/custom-discounts"
	subscriptionPath  = "/v2/subscriptions/subscriptions/{subscription}"
)

var endpoints = []*endpoint{
	{method: "POST", path: "/oauth/access_token", op: OpToken, handle: (*Store).issueToken},

	{method: "POST", path: "/v2/carts", op: OpCreateCart, handle: (*Store).createCart},
	{method: "GET", path: "/v2/carts/{cart}", op: OpCart, handle: (*Store).getCart},
	{method: "PUT", path: "/v2/carts/{cart}", op: OpUpdateCart, handle: (*Store).updateCart},
	{method: "DELETE", path: "/v2/carts/{cart}", op: OpDeleteCart, handle: (*Store).deleteCart},

	{method: "POST", path: itemsPath, op: OpAddItem, handle: (*Store).addCartItem},
	{method: "GET", path: itemsPath, op: OpItems, handle: (*Store).getItems},
	{method: "DELETE", path: itemsPath, op: OpDeleteItems, handle: (*Store).deleteItems},
	{method: "PUT", path: itemsPath + "/{item}", op: OpUpdateItem, handle: (*Store).updateCartItem},
	{method: "DELETE", path: itemsPath + "/{item}", op: OpDeleteItem, handle: (*Store).deleteItem},

	{method: "POST", path: discountsPath, op: OpAdd, handle: (*Store).addDiscounts},
	{method: "DELETE", path: discountsPath, op: OpDeleteDiscounts, handle: (*Store).deleteDiscounts},
	{method: "PUT", path: discountsPath + "/{discount}", op: OpUpdateDiscount, handle: (*Store).updateDiscount},
	{method: "DELETE", path: discountsPath + "/{discount}", op: OpDeleteDiscount, handle: (*Store).deleteDiscount},
	{method: "POST", path: itemDiscountsPath, op: OpAddItemDiscount, handle: (*Store).addItemDiscount},
	{method: "PUT", path: itemDiscountsPath + "/{discount}", op: OpUpdateDiscount, handle: (*Store).updateDiscount},
	{method: "DELETE", path: itemDiscountsPath + "/{discount}", op: OpDeleteDiscount, handle: (*Store).deleteDiscount},

	{method: "POST", path: "/v2/carts/{cart}/checkout", op: OpCheckout, handle: (*Store).checkOut},
	{method: "GET", path: "/v2/orders", op: OpOrders, handle: (*Store).listOrders},
	{method: "GET", path: "/v2/orders/{order}", op: OpOrder, handle: (*Store).getOrder},

	{method: "GET", path: "/v2/settings", op: OpSettings, handle: (*Store).getSettings},
	{method: "GET", path: "/v2/settings/cart", op: OpGetCartSettings, handle: (*Store).getCartSettings},
	{method: "PUT", path: "/v2/settings/cart", op: OpCartSettings, handle: (*Store).updateCartSettings},

	{method: "GET", path: "/v2/currencies", op: OpCurrencies, handle: (*Store).listCurrencies},
	{method: "GET", path: "/v2/accounts", op: OpAccounts, handle: (*Store).listAccounts},

	{method: "GET", path: "/v2/subscriptions/subscriptions", op: OpList, handle: (*Store).listSubscriptions},
	{method: "GET", path: subscriptionPath, op: OpSubscription, handle: (*Store).getSubscription},
	{method: "GET", path: subscriptionPath + "/plans", op: OpPlans, handle: listRelated(plansInclude)},
	{method: "GET", path: subscriptionPath + "/products", op: OpProducts, handle: listRelated(productsInclude)},
	{
		method: "GET", path: subscriptionPath + "/pricing-options", op: OpPricingOptions,
		handle: listRelated(pricingOptionsInclude),
	},
	{method: "GET", path: subscriptionPath + "/features", op: OpFeatures, handle: (*Store).listFeatures},
	{method: "GET", path: "/v2/subscriptions/subscribers", op: OpSubscribers, handle: (*Store).listSubscribers},
	{method: "GET", path: "/v2/subscriptions/invoices", op: OpInvoices, handle: (*Store).listInvoices},
	{method: "GET", path: subscriptionPath + "/states", op: OpStates, handle: (*Store).listStates},
	{method: "POST", path: subscriptionPath + "/states", op: OpChangeState, handle: (*Store).changeState},
	{method: "GET", path: subscriptionPath + "/states/{state}", op: OpState, handle: (*Store).getState},
}

// Operations returns the operations of a [Store], without OpAny, in alphabetical order.
func Operations() []Operation {
	var list []Operation
	for _, e := range endpoints {
		list = append(list, e.op)
	}
	slices.Sort(list)
	return slices.Compact(list)
}

// Endpoints returns the methods and paths of an operation, such as "GET /v2/carts/{cart}".
func (op Operation) Endpoints() (list []string) {
	for _, e := range endpoints {
		if e.op == op {
			list = append(list, e.method+" "+e.path)
		}
	}
	return list
}

// isOfCarts reports whether op is about carts, and not about their settings.
func (op Operation) isOfCarts() bool {
	isPath := func(route string) bool { return strings.Contains(route, " /v2/carts") }
	return slices.ContainsFunc(op.Endpoints(), isPath)
}

// OperationOf returns the operation of requests with a method and a path, percent-encoded, or OpAny
// if a [Store] has no such endpoint.
func OperationOf(method, path string) Operation {
	if e, _, _ := lookUp(method, path); e != nil {
		return e.op
	}
	return OpAny
}

// lookUp returns the endpoint with a method and a path, and the ids of the path. If there is none,
// it returns the methods that the path has. HEAD is GET.
func lookUp(method, path string) (found *endpoint, ids map[string]string, allowed []string) {
	if method == http.MethodHead {
		method = http.MethodGet
	}
	for _, e := range endpoints {
		ids, ok := matchPath(e.path, path)
		switch {
		case !ok:
		case e.method == method:
			return e, ids, nil
		default:
			allowed = append(allowed, e.method)
			if e.method == http.MethodGet {
				allowed = append(allowed, http.MethodHead)
			}
		}
	}
	return nil, nil, allowed
}

// respond handles a request from its arrival to its response. The error is errCut,
// or that of ctx.
func (s *Store) respond(ctx context.Context, in *call) (response, error) {
	e := s.findEndpoint(in)
	in.Operation = e.op
	handle := func() response { return s.handle(e, in) }
	fault, allowed := s.receive(in)
	if !allowed {
		handle = func() response { return tooManyRequests(s.cfg.RetryAfter) }
	}
	s.setState(in, StateInProgress)
	finish := func(ctx context.Context) (response, error) { return s.finish(ctx, in, fault, handle) }
	if fault != nil && fault.Late && !fault.Apply {
		return s.respondLate(ctx, in, fault, finish)
	}
	return finish(ctx)
}

// finish returns the response to a request. fault is nil if it meets none.
func (s *Store) finish(ctx context.Context, in *call, fault *Fault, handle func() response) (response, error) {
	defer s.setState(in, StateEnded)
	resp, err := fault.respond(ctx, in.Operation, handle)
	resp = s.recordResponse(in, resp, err)
	if s.cfg.AfterRequest != nil {
		s.mu.Lock()
		now := in.clone()
		s.mu.Unlock()
		s.cfg.AfterRequest(s, now)
	}
	return resp, err
}

// handle returns the response of an endpoint, if the request is not too large and the
// token allows it.
func (s *Store) handle(e *endpoint, in *call) response {
	if in.lineTooLong() {
		return errorResponse(http.StatusRequestURITooLong, "URI Too Long", "")
	}
	if in.bodyTooLarge {
		return errorResponse(http.StatusRequestEntityTooLarge, "Request Entity Too Large", "")
	}
	if isVersioned(in.Path) {
		if refusal := s.authorize(in); refusal != nil {
			return *refusal
		}
	}
	return e.handle(s, in)
}

// isVersioned reports whether a path is one that needs a token.
func isVersioned(path string) bool { return path == "/v2" || strings.HasPrefix(path, "/v2/") }

// findEndpoint returns the endpoint of a request, and sets the ids of in. If there
// is none, not even one of Handle, it returns one that responds with 404 or 405.
func (s *Store) findEndpoint(in *call) *endpoint {
	refuse := func(resp response) *endpoint {
		return &endpoint{handle: func(*Store, *call) response { return resp }}
	}
	notFound := errorResponse(http.StatusNotFound, "Not Found", "There is no such endpoint")
	if in.Host == linkHost {
		return refuse(notFound)
	}
	found, ids, allowed := lookUp(in.Method, in.Path)
	if found != nil {
		in.ids = ids
		return found
	}
	// The handlers see a decoded path, which must not need a token that the encoded one does not.
	handlers := s.handlers.Load()
	_, pattern := handlers.Handler(in.http)
	if pattern != "" && isVersioned(in.http.URL.Path) == isVersioned(in.Path) {
		in.handlers = handlers
		return &endpoint{handle: (*Store).callHandlers}
	}
	if allowed == nil {
		return refuse(notFound)
	}
	slices.Sort(allowed)
	resp := errorResponse(http.StatusMethodNotAllowed, "Method Not Allowed", "")
	resp.header = http.Header{"Allow": {strings.Join(allowed, ", ")}}
	return refuse(resp)
}

// matchPath reports whether path matches pattern. If so, it returns the path
// elements at the {names}, decoded.
func matchPath(pattern, path string) (ids map[string]string, ok bool) {
	want, got := strings.Split(pattern, "/"), strings.Split(path, "/")
	if len(want) != len(got) {
		return nil, false
	}
	ids = map[string]string{}
	for i := range want {
		switch {
		case want[i] == got[i]:
		case !strings.HasPrefix(want[i], "{") || got[i] == "":
			return nil, false
		default:
			ids[strings.Trim(want[i], "{}")], _ = url.PathUnescape(got[i]) // cannot fail: net/url encoded it
		}
	}
	return ids, true
}
