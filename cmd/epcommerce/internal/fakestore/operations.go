package fakestore

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/commerce-go/commerce/commercetest"
)

// operation is something that drives a store. The table of them has the handlers, and is described
// as OpenAPI.
type operation struct {
	id, method, path, summary string
	in, out                   reflect.Type // of the body, or of the query of a GET, and of the response
	handle                    func(*call, http.ResponseWriter)
	// isOpen is for anybody: without a token, and with any Host.
	isOpen bool
	// needsToken is about one of several namespaces.
	needsToken bool
}

// none is no body.
type none struct{}

// call is a request that drives a namespace.
type call struct {
	server    *Server
	namespace *namespace
	request   *http.Request
}

func (c *call) store() *commercetest.Store { return c.namespace.current.Load().store }

// operations returns the table of all operations.
func operations() []operation {
	return []operation{
		{
			id: "checkHealth", method: "GET", path: HealthPath, handle: checkHealth, isOpen: true,
			in: reflect.TypeFor[none](), out: reflect.TypeFor[health](),
			summary: "Say that the store accepts requests; without a token, for any Host",
		},
		operate("describe GET /_store", "Describe these operations as OpenAPI 3.1", describe),
		operate("listRequests GET /_store/requests", "List the requests that the store received", listRequests),
		operate("clearRequests DELETE /_store/requests", "Forget the requests", clearRequests),
		operate("waitForRequests GET /_store/wait", "Wait for requests and list them, or end with the status 408", wait),
		{
			id: "sendEvents", method: "GET", path: "/_store/events", handle: sendEvents, needsToken: true,
			in: reflect.TypeFor[none](), out: reflect.TypeFor[string](),
			summary: "Send server-sent events: request (its state has changed), cleared (the list is empty), changed",
		},
		operate("listFaults GET /_store/faults", "List the faults, and how often each was met", listFaults),
		operate("addFault POST /_store/faults", "Inject a fault, and return its number", addFault),
		operate("clearFaults DELETE /_store/faults", "Remove all faults", clearFaults),
		operate("listCarts GET /_store/carts", "List the carts", listCarts),
		operate("addCart POST /_store/carts", "Add a cart", addCart),
		operate("listSubscriptions GET /_store/subscriptions", "List the 100 newest subscriptions", listSubscriptions),
		operate("addSubscriptions POST /_store/subscriptions", "Add subscriptions", addSubscriptions),
		operate("addStub POST /_store/stubs", "Add a response to requests for another path, or replace it", addStub),
		operate("verify GET /_store/verify", "Check that each fault and each stub was met, and that no request is pending; "+
			"otherwise the status is 409", verify),
		operate("listStubs GET /_store/stubs", "List the stubs", listStubs),
		operate("clearStubs DELETE /_store/stubs", "Remove all stubs", clearStubs),
		operate("listNamespaces GET /_store/namespaces", "List the namespaces and their credentials", listNamespaces),
		operateFrom("addNamespace POST /_store/namespaces", "Add a namespace, and return its credentials",
			newNamespaceFixture, addNamespace),
		operate("removeNamespace DELETE /_store/namespaces", "Remove the namespace", removeNamespace),
		operateFrom("reset POST /_store/reset", "Bring the store back to its start, or to other settings",
			startOf, reset),
	}
}

// HealthPath is the path of requests that ask whether the server accepts requests.
const HealthPath = "/_store/health"

// health says that the server accepts requests.
type health struct {
	Status string `json:"status"` // ok
}

func checkHealth(_ *call, w http.ResponseWriter) { writeJSON(w, http.StatusOK, health{"ok"}) }

func describe(*call, none) (jsontext.Value, error) { return OpenAPI(), nil }

func removeNamespace(c *call, _ none) (none, error) { return none{}, c.server.remove(c.namespace) }

// operate returns an operation that decodes its body or its query, and encodes what do returns.
// name is its id, method and path.
func operate[In, Out any](name, summary string, do func(*call, In) (Out, error)) operation {
	return operateFrom(name, summary, func(*call) (in In) { return in }, do)
}

// operateFrom is operate with what an input is without members.
func operateFrom[In, Out any](
	name, summary string, start func(*call) In, do func(*call, In) (Out, error),
) operation {
	id, route, _ := strings.Cut(name, " ")
	method, path, _ := strings.Cut(route, " ")
	o := operation{
		id: id, method: method, path: path, summary: summary, in: reflect.TypeFor[In](), out: reflect.TypeFor[Out](),
		needsToken: path != "/_store" && route != "GET /_store/namespaces" && route != "POST /_store/namespaces",
	}
	o.handle = func(c *call, w http.ResponseWriter) {
		var out Out
		in := start(c)
		err := c.receive(w, &in)
		if err == nil {
			out, err = do(c, in)
		}
		if err != nil {
			refuseFor(w, route, err)
			return
		}
		if method != http.MethodGet {
			c.namespace.feed.add(update{name: "changed"})
		}
		if o.status() == http.StatusNoContent {
			w.WriteHeader(http.StatusNoContent)
			return
		}
		writeJSON(w, o.status(), out)
	}
	return o
}

// status is that of a success.
func (o *operation) status() int {
	switch {
	case o.out == reflect.TypeFor[none]():
		return http.StatusNoContent
	case o.method == http.MethodPost:
		return http.StatusCreated
	}
	return http.StatusOK
}

// receive reads the body into v, or the query of a GET, whose parameters are members. Without any,
// v stays as it is.
func (c *call) receive(w http.ResponseWriter, v any) error {
	query, err := url.ParseQuery(c.request.URL.RawQuery)
	if err != nil || !utf8.ValidString(fmt.Sprint(query)) {
		return errors.New("the query cannot be read")
	}
	if c.request.Method != http.MethodGet && c.request.Method != http.MethodHead {
		if len(query) > 0 {
			return errors.New("there must be no query")
		}
		body, err := io.ReadAll(http.MaxBytesReader(w, c.request.Body, 1<<20))
		if err != nil || len(body) == 0 {
			return err
		}
		return readRequest(bytes.NewReader(body), v)
	}
	if c.request.ContentLength != 0 {
		return errors.New("there must be no body: the parameters are in the query")
	}
	members := map[string]string{}
	for name, values := range query {
		if len(values) > 1 {
			return fmt.Errorf("the parameter %q is there more than once", name)
		}
		members[name] = values[0]
	}
	return readRequest(bytes.NewReader(encode(members)), v)
}

// statusError is refused with a status of its own.
type statusError struct {
	status int
	text   string
}

func (e *statusError) Error() string { return e.text }

// refuseFor sends what an operation returned: an error object for each line.
func refuseFor(w http.ResponseWriter, route string, err error) {
	status := http.StatusBadRequest
	if own, ok := errors.AsType[*statusError](err); ok {
		status = own.status
	}
	var list errorList
	for text := range strings.Lines(err.Error()) {
		detail := route + ": " + strings.TrimSuffix(text, "\n")
		list.Errors = append(list.Errors, errorObject{strconv.Itoa(status), http.StatusText(status), detail})
	}
	writeJSON(w, status, list)
}

// refuse sends an error in the form of the service.
func refuse(w http.ResponseWriter, status int, detail string) {
	writeJSON(w, status, errorList{[]errorObject{{strconv.Itoa(status), http.StatusText(status), detail}}})
}

// errorList is what a request gets that is refused.
type errorList struct {
	Errors []errorObject `json:"errors"`
}

type errorObject struct {
	Status string `json:"status"`
	Title  string `json:"title"`
	Detail string `json:"detail"`
}

func writeJSON(w http.ResponseWriter, status int, v any) {
	text := jsontext.Value(encode(v))
	if err := text.Indent(jsontext.WithIndent("  ")); err != nil {
		status, text = http.StatusInternalServerError, []byte(err.Error())
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(status)
	_, _ = w.Write(append(text, '\n')) // an error means that the client has gone
}

// durations are JSON texts such as "2s".
var durations = json.JoinOptions(
	json.WithUnmarshalers(json.UnmarshalFunc(func(text []byte, d *time.Duration) (err error) {
		*d, err = time.ParseDuration(strings.Trim(string(text), `"`))
		if err != nil || text[0] != '"' {
			return errors.New(`must be a text such as "2s"`)
		}
		return nil
	})),
	json.WithMarshalers(json.MarshalFunc(func(d time.Duration) ([]byte, error) {
		return jsontext.AppendQuote(nil, d.String())
	})),
)

// encode returns v as JSON. A nil slice is [].
func encode(v any) []byte {
	text, err := json.Marshal(v, durations, json.Deterministic(true), jsontext.AllowInvalidUTF8(true))
	if err != nil {
		panic("fakestore: " + err.Error()) // a mistake in the type of v
	}
	return text
}

// readRequest is readStrict for what a request has. It refuses 0 for members that cannot be 0.
func readRequest(r io.Reader, v any) error {
	var text bytes.Buffer
	if err := readStrict(io.TeeReader(r, &text), v); err != nil {
		return err
	}
	return refuseZero("", text.Bytes())
}

// readStrict reads JSON. An error of a member names it.
func readStrict(r io.Reader, v any) error {
	var text jsontext.Value
	err := json.UnmarshalRead(r, &text)
	if err == nil && text.Kind() != '{' {
		return errors.New("the body must be an object")
	}
	if err == nil {
		err = json.Unmarshal(text, v, durations, json.RejectUnknownMembers(true))
	}
	at, ok := errors.AsType[*json.SemanticError](err)
	switch {
	case err == nil:
		return nil
	case !ok:
		return fmt.Errorf("not JSON that can be read: %s", strings.TrimPrefix(err.Error(), "jsontext: "))
	case errors.Is(err, json.ErrUnknownName):
		return fmt.Errorf("unknown member %q; there are %s", at.JSONPointer.LastToken(), membersOf(at.GoType))
	case errors.Is(err, strconv.ErrSyntax):
		return fmt.Errorf("member %q must be a whole number, not %s", at.JSONPointer, at.JSONValue)
	case at.Err != nil:
		return fmt.Errorf("member %q: %w", at.JSONPointer, at.Err)
	}
	return fmt.Errorf("member %q must not be %s", at.JSONPointer, kinds[at.JSONKind])
}

// membersOf returns the members of a type.
func membersOf(t reflect.Type) string {
	var list []string
	for _, field := range reflect.VisibleFields(t) {
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		if name != "" && name != "-" && !slices.Contains(list, name) {
			list = append(list, name)
		}
	}
	if list == nil {
		return "none"
	}
	slices.Sort(list)
	return strings.Join(list, ", ")
}

// kinds are those of JSON values.
var kinds = map[jsontext.Kind]string{
	jsontext.KindNull: "null", jsontext.KindTrue: "true", jsontext.KindFalse: "false", jsontext.KindString: "a text",
	jsontext.KindNumber: "a number", jsontext.KindBeginObject: "an object", jsontext.KindBeginArray: "an array",
}

var (
	fieldName = regexp.MustCompile(`\b[A-Z][a-z]+(?:[A-Z][a-z]+)*\b`)
	fieldWord = regexp.MustCompile(`[A-Z][a-z]*`)
)

// inMembers turns an error about fields of a type into one about members of its JSON.
func inMembers(err error) error {
	if err == nil {
		return nil
	}
	_, text, _ := strings.Cut(err.Error(), ".")
	return errors.New(fieldName.ReplaceAllStringFunc(text, func(field string) string {
		return strings.ToLower(strings.Join(fieldWord.FindAllString(field, -1), "_"))
	}))
}
