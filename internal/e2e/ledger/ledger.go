// Package ledger is a store that misbehaves on purpose and keeps the books: it
// records each body of a write that reached it and each that it applied, so that
// what a client says of a call can be compared with what became of it. It is for
// tests only.
//
// It speaks HTTP/1.1 and HTTP/2 by hand, since a server that can be told to fail
// at any byte can't be had from net/http.
package ledger

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
)

// Ledger counts what arrived and what was applied, by call. A call is told by
// the external ids of its discounts; see [ExternalID].
type Ledger struct {
	mu      sync.Mutex
	copies  map[string]int
	applied map[string]int
	ids     []string // external ids of the discounts applied, in order
}

// New returns an empty ledger.
func New() *Ledger { return &Ledger{copies: map[string]int{}, applied: map[string]int{}} }

// ExternalID returns the id of the n-th discount of a call.
func ExternalID(call string, n int) string { return fmt.Sprintf("%s-%d", call, n) }

// Copies is how often the whole body of a call reached a server.
func (l *Ledger) Copies(call string) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.copies[call]
}

// Applied is how often a call was applied.
func (l *Ledger) Applied(call string) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.applied[call]
}

// Discounts returns the external ids of the discounts that were applied, in order:
// what a cart would hold.
func (l *Ledger) Discounts() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.ids)
}

// Duplicates is how many calls were applied more than once, and how many
// applications there were in all.
func (l *Ledger) Duplicates() (calls, applications int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, n := range l.applied {
		applications += n
		if n > 1 {
			calls++
		}
	}
	return calls, applications
}

// Request is what a server knows of a request when it answers.
type Request struct {
	Write bool
	Call  string   // of a write
	IDs   []string // external ids of a write
}

// receive books the whole body of a request.
func (l *Ledger) receive(write bool, body []byte) *Request {
	r := &Request{Write: write}
	if !write {
		return r
	}
	var sent struct {
		Data []struct {
			ExternalID string `json:"external_id"`
		} `json:"data"`
	}
	if err := json.Unmarshal(body, &sent); err != nil || len(sent.Data) == 0 {
		r.Call = "unreadable" // a copy that no call accounts for fails the tests that look
	}
	for _, d := range sent.Data {
		r.IDs = append(r.IDs, d.ExternalID)
		r.Call = d.ExternalID[:max(0, strings.LastIndexByte(d.ExternalID, '-'))]
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.copies[r.Call]++
	return r
}

// apply books that a write was applied.
func (l *Ledger) apply(r *Request) {
	if !r.Write {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.applied[r.Call]++
	l.ids = append(l.ids, r.IDs...)
}
