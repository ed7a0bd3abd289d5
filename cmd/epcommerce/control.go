package main

import (
	"net"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/commerce-go/commerce"
	"github.com/commerce-go/commerce/commercetest"
)

// control lets programs drive a store, as docs/tool-serve.md describes.
type control struct {
	newStore func() *commercetest.Store
	store    atomic.Pointer[commercetest.Store]
}

// handler serves the store, each request after a delay, and the endpoints of control.
func (c *control) handler(delay time.Duration) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /_store/requests", c.listRequests)
	mux.HandleFunc("POST /_store/faults", c.addFault)
	mux.HandleFunc("DELETE /_store/faults", func(w http.ResponseWriter, _ *http.Request) {
		c.store.Load().ClearFaults()
		w.WriteHeader(http.StatusNoContent)
	})
	mux.HandleFunc("POST /_store/reset", func(w http.ResponseWriter, _ *http.Request) {
		c.store.Swap(c.newStore()).Close() // requests under way end in the old store
		w.WriteHeader(http.StatusNoContent)
	})
	mux.HandleFunc("POST /_store/carts", c.addCart)
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		refuse(w, http.StatusNotFound, "There is no endpoint "+r.Method+" "+r.URL.Path)
	})
	return guard(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasPrefix(r.URL.Path, "/_store/") {
			mux.ServeHTTP(w, r)
			return
		}
		time.Sleep(delay)
		c.store.Load().ServeHTTP(w, r)
	}))
}

// guard refuses requests that a web site may have caused, in the browser of somebody who runs
// the store. Browsers name the site in Origin, or say in Sec-Fetch-Site that it is another one.
// A site whose name resolves to the loopback interface (DNS rebinding) has its name in Host.
func guard(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		host := (&url.URL{Host: r.Host}).Hostname()
		origin, site := r.Header.Get("Origin"), r.Header.Get("Sec-Fetch-Site")
		switch {
		case host != "localhost" && !net.ParseIP(host).IsLoopback():
			refuse(w, http.StatusForbidden, "Host must be localhost or a loopback address")
		case origin != "" && origin != "http://"+r.Host:
			refuse(w, http.StatusForbidden, "Origin must be that of the store, or absent")
		case site != "" && site != "same-origin" && site != "none":
			refuse(w, http.StatusForbidden, "Sec-Fetch-Site must be same-origin or none, or absent")
		default:
			h.ServeHTTP(w, r)
		}
	})
}

// refuse sends an error in the form of the service.
func refuse(w http.ResponseWriter, status int, detail string) {
	writeJSON(w, status, map[string]any{"errors": []map[string]string{
		{"status": strconv.Itoa(status), "title": http.StatusText(status), "detail": detail},
	}})
}

func writeJSON(w http.ResponseWriter, status int, v any) {
	text, err := json.Marshal(v, jsontext.WithIndent("  "), json.Deterministic(true), jsontext.AllowInvalidUTF8(true))
	if err != nil {
		status, text = http.StatusInternalServerError, []byte(err.Error())
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(append(text, '\n')) // an error means that the client has gone
}

func (c *control) addFault(w http.ResponseWriter, r *http.Request) {
	fault, err := parseFault(http.MaxBytesReader(w, r.Body, 1<<20))
	if err != nil {
		refuse(w, http.StatusBadRequest, err.Error())
		return
	}
	c.store.Load().Inject(fault)
	w.WriteHeader(http.StatusNoContent)
}

// addCart adds a cart that accepts custom discounts, with an item of each kind.
func (c *control) addCart(w http.ResponseWriter, _ *http.Request) {
	store := c.store.Load()
	id := store.AddCart(commerce.CartItemRef{}, commerce.CartItemRef{Type: commerce.ItemTypeCustomItem})
	store.EnableDiscounts(id)
	writeJSON(w, http.StatusCreated, map[string]any{"id": id, "items": store.CartItems(id)})
}

// listRequests sends the requests that the store received, without credentials.
func (c *control) listRequests(w http.ResponseWriter, _ *http.Request) {
	store := c.store.Load()
	var list []map[string]any
	for _, in := range store.Requests() {
		query, err := url.ParseQuery(in.RawQuery)
		if err != nil {
			query.Add("not readable", in.RawQuery)
		}
		list = append(list, map[string]any{
			"method": in.Method, "path": in.Path, "query": show(query, shownParameters),
			"header": show(in.Header, shownHeaders), "body": showBody(in),
			"operation": in.Operation, "status": in.Status, "time": in.Time,
		})
	}
	writeJSON(w, http.StatusOK, map[string]any{"requests": list, "pending": store.Pending()})
}

// Values of others are not shown: a program may send real credentials by mistake, anywhere.
var (
	shownHeaders    = []string{"Accept", "Content-Length", "Content-Type", "Ep-Channel", "Ep-Context-Tag", "User-Agent"}
	shownParameters = []string{"filter", "include", "sort", "page[limit]", "page[offset]"}
)

// show returns the values that have one of these names, and the names of all.
func show(values map[string][]string, names []string) map[string][]string {
	shown := map[string][]string{}
	for name, list := range values {
		if !slices.Contains(names, name) {
			list = []string{"redacted"}
		}
		shown[name] = list
	}
	return shown
}

// showBody returns the JSON that was sent to an endpoint of the store, except that of tokens.
func showBody(in commercetest.Request) jsontext.Value {
	body := jsontext.Value(in.Body)
	if in.Operation == commercetest.OpAny || in.Operation == commercetest.OpToken || !body.IsValid() {
		return nil
	}
	return body
}
