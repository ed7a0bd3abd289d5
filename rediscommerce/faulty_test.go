//go:build unix

package rediscommerce_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"strings"
	"sync"
	"time"
)

// fault is what a faultyStore does with a request.
type fault struct {
	name   string
	adds   share
	late   bool             // it adds after the response, or when the client has gone
	hangs  bool             // until the client has gone
	status int              // of the response; 0: the connection is closed instead
	body   func(add) string // of the response
	cut    bool             // the connection is closed in the middle of the body
}

// share is how much is added of a request.
type share int

const (
	nothing share = iota
	some
	all
)

// faults are all kinds of faults. The first one is none.
var faults = []fault{
	{name: "none", adds: all, status: 201, body: add.json},
	{name: "response lost", adds: all},
	{name: "request lost"},
	{name: "closed, added late", adds: all, late: true},
	{name: "504, added late", adds: all, late: true, status: 504, body: text("<html>")},
	{name: "503, added", adds: all, status: 503, body: text("<html>")},
	{name: "503", status: 503, body: text(refusal)},
	{name: "503 that adds some", adds: some, status: 503, body: add.json},
	{name: "429", status: 429, body: text(refusal)},
	{name: "429 without a body", status: 429, body: text("")},
	{name: "429 that adds some", adds: some, status: 429, body: add.json},
	{name: "201 that adds some", adds: some, status: 201, body: add.json},
	{name: "200 that adds nothing", status: 200, body: add.json},
	{name: "201 with half of its body", adds: all, status: 201, body: add.json, cut: true},
	{name: "201 that is not JSON", adds: all, status: 201, body: text("<html>")},
	{name: "too slow, added", adds: all, hangs: true},
	{name: "too slow, added late", adds: all, hangs: true, late: true},
	{name: "too slow", hangs: true},
}

const refusal = `{"errors":[{"status":"500","title":"refused"}]}`

func text(s string) func(add) string { return func(add) string { return s } }

// of returns a set of so many discounts, as bits.
func (s share) of(n int) set {
	switch s {
	case nothing:
		return 0
	case some:
		return 1 + set(rand.IntN(1<<n-2))
	default:
		return 1<<n - 1
	}
}

// discount is a discount in a request.
type discount struct {
	ID             string `json:"id"`
	Type           string `json:"type"`
	Amount         any    `json:"amount"`
	Description    string `json:"description"`
	DiscountCode   string `json:"discount_code"`
	DiscountEngine string `json:"discount_engine"`
	ExternalID     string `json:"external_id"`
}

// add is a request.
type add struct {
	call callID
	Data []discount // of the request
	set  set        // those that are added
}

// json returns the body that shows what is added.
func (a add) json() string {
	var response struct {
		Data   []discount          `json:"data"`
		Errors []map[string]string `json:"errors,omitempty"`
	}
	for i, d := range a.Data {
		if !a.set.has(i) {
			response.Errors = append(response.Errors, map[string]string{"status": "400", "title": "not added"})
			continue
		}
		d.ID = fmt.Sprintf("%08x-0000-4000-8000-%08x%04x", a.call.process, a.call.n, i)
		d.Amount = map[string]any{"amount": d.Amount, "currency": "USD", "formatted": "-$1.00"}
		response.Data = append(response.Data, d)
	}
	body, _ := json.Marshal(response)
	return string(body)
}

// faultyStore adds discounts, and lets 70 % of the requests meet a fault.
type faultyStore struct {
	*calls

	late sync.WaitGroup // discounts that are added late
	met  map[string]int // requests by the name of their fault; calls.mu is held
}

// ServeHTTP implements [http.Handler]. It is behind a ledger.
func (s *faultyStore) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var a add
	in := w.(*responseWriter).in
	if err := json.NewDecoder(r.Body).Decode(&a); err != nil { // the client has gone
		in.abandoned = true
		return
	}
	a.call = callOf(a.Data[0].ExternalID)
	in.call = a.call
	time.Sleep(rand.N(10 * time.Millisecond)) // a write takes a while
	f := s.next()
	a.set = f.adds.of(len(a.Data))
	if !f.late {
		s.apply(a.call, a.set)
	}
	if f.hangs {
		<-r.Context().Done()
	}
	if f.late {
		s.late.Go(func() {
			time.Sleep(rand.N(2 * attemptTimeout))
			s.apply(a.call, a.set)
		})
	}
	if f.status == 0 {
		panic(http.ErrAbortHandler) // closes the connection
	}
	f.respond(w, f.body(a))
}

// next returns the fault of the next request.
func (s *faultyStore) next() *fault {
	f := &faults[0]
	if rand.IntN(100) < 70 {
		f = &faults[1+rand.IntN(len(faults)-1)]
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.met[f.name]++
	return f
}

func (f *fault) respond(w http.ResponseWriter, body string) {
	w.Header().Set("Content-Length", fmt.Sprint(len(body)))
	if strings.HasPrefix(body, "{") {
		w.Header().Set("Content-Type", "application/json")
	}
	w.WriteHeader(f.status)
	if !f.cut {
		_, _ = w.Write([]byte(body))
		return
	}
	_, _ = w.Write([]byte(body[:len(body)/2]))
	_ = http.NewResponseController(w).Flush()
	panic(http.ErrAbortHandler)
}
