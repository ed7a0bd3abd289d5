package main

import (
	"fmt"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/commerce-go/commerce/commercetest"
)

// control lets programs drive a store, as docs/tool-serve.md describes.
type control struct {
	newStore func() *commercetest.Store
	store    atomic.Pointer[commercetest.Store]
	arrivals arrivals
}

// handler serves the store, each request after a delay, and the endpoints of control.
func (c *control) handler(delay time.Duration) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /_store/requests", c.listRequests)
	mux.HandleFunc("DELETE /_store/requests", func(w http.ResponseWriter, _ *http.Request) {
		c.store.Load().ClearRequests()
		w.WriteHeader(http.StatusNoContent)
	})
	mux.HandleFunc("GET /_store/wait", c.wait)
	mux.HandleFunc("GET /_store/faults", c.listFaults)
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

// listFaults sends how often each fault was met.
func (c *control) listFaults(w http.ResponseWriter, _ *http.Request) {
	list := []map[string]any{}
	for _, f := range c.store.Load().Faults() {
		list = append(list, map[string]any{
			"number": f.Number, "operation": f.Operation, "status": f.Status, "apply": f.Apply, "late": f.Late, "cut": f.Cut,
			"after": f.After, "met": f.Met, "left": f.Left,
		})
	}
	writeJSON(w, http.StatusOK, map[string]any{"faults": list})
}

// filter is the query of the list of requests.
type filter struct{ operation, cart, since string }

// parseFilter refuses unknown parameters: a misspelled one would select all.
func parseFilter(r *http.Request, others ...string) (f filter, err error) {
	query := r.URL.Query()
	for name := range query {
		if !slices.Contains(append(others, "operation", "cart", "since"), name) {
			return filter{}, fmt.Errorf("unknown parameter %q", name)
		}
	}
	f = filter{query.Get("operation"), query.Get("cart"), query.Get("since")}
	if f.operation != "" && !slices.Contains(commercetest.Operations(), commercetest.Operation(f.operation)) {
		return filter{}, fmt.Errorf("operation must be one of %q", commercetest.Operations())
	}
	return f, nil
}

// apply returns the requests that a filter selects. Their ids have six digits at least.
func (f filter) apply(requests []commercetest.Request) []commercetest.Request {
	return slices.DeleteFunc(requests, func(in commercetest.Request) bool {
		isLater := len(in.ID) > len(f.since) || len(in.ID) == len(f.since) && in.ID > f.since
		return f.operation != "" && string(in.Operation) != f.operation || !isOfCart(in, f.cart) || !isLater
	})
}

// listRequests sends the requests that the store received, without credentials.
func (c *control) listRequests(w http.ResponseWriter, r *http.Request) {
	f, err := parseFilter(r)
	if err != nil {
		refuse(w, http.StatusBadRequest, err.Error())
		return
	}
	c.sendRequests(w, f.apply(c.store.Load().Requests()))
}

// maxWait is how long wait waits at most.
const maxWait = time.Minute

// wait sends the requests that a filter selects when there are some, or none after a time. A
// request counts when the store has responded.
func (c *control) wait(w http.ResponseWriter, r *http.Request) {
	f, err := parseFilter(r, "timeout")
	timeout := 10 * time.Second
	if text := r.URL.Query().Get("timeout"); err == nil && text != "" {
		if timeout, err = time.ParseDuration(text); err == nil && (timeout < 0 || timeout > maxWait) {
			err = fmt.Errorf("timeout must be at most %v", maxWait)
		}
	}
	if err != nil {
		refuse(w, http.StatusBadRequest, err.Error())
		return
	}
	timer := time.NewTimer(timeout)
	defer timer.Stop()
	for {
		next := c.arrivals.next()
		list := f.apply(c.store.Load().Requests())
		list = slices.DeleteFunc(list, func(in commercetest.Request) bool { return in.Duration == 0 })
		if len(list) > 0 {
			c.sendRequests(w, list)
			return
		}
		select {
		case <-next:
			continue
		case <-timer.C:
		case <-r.Context().Done():
		}
		c.sendRequests(w, nil)
		return
	}
}

// arrivals lets others wait for the next request.
type arrivals struct {
	mu      sync.Mutex
	waiting chan struct{}
}

// next returns a channel that is closed when the next request has ended.
func (a *arrivals) next() <-chan struct{} {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.waiting == nil {
		a.waiting = make(chan struct{})
	}
	return a.waiting
}

func (a *arrivals) add() {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.waiting != nil {
		close(a.waiting)
		a.waiting = nil
	}
}

func (c *control) sendRequests(w http.ResponseWriter, requests []commercetest.Request) {
	store, list := c.store.Load(), []map[string]any{}
	for _, in := range requests {
		query, err := url.ParseQuery(in.RawQuery)
		if err != nil {
			query.Add("not readable", in.RawQuery)
		}
		list = append(list, map[string]any{
			"id": in.ID, "method": in.Method, "path": in.Path, "query": show(query, shownParameters),
			"header": show(in.Header, shownHeaders), "body": showBody(in, in.Body), "response": showBody(in, in.Response),
			"operation": in.Operation, "status": in.Status, "fault": in.Fault,
			"time": in.Time, "duration_ms": in.Duration.Milliseconds(),
		})
	}
	writeJSON(w, http.StatusOK, map[string]any{
		"requests": list, "pending": store.Pending(), "dropped": store.Dropped(),
	})
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

// showBody returns the JSON that was sent to or by an endpoint of the store, except that of tokens.
func showBody(in commercetest.Request, text []byte) jsontext.Value {
	body := jsontext.Value(text)
	if in.Operation == commercetest.OpAny || in.Operation == commercetest.OpToken || !body.IsValid() {
		return nil
	}
	return body
}
