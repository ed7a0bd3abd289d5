// Package ledger is a server for tests. It injects faults, and records each write that
// it received and each write that it applied, so that a test can compare what a call
// returned with what became of it.
//
// It implements HTTP/1.1 and HTTP/2 itself, because a server of net/http can't fail at
// an arbitrary byte.
package ledger

import (
	"encoding/json"
	"fmt"
	"strings"
	"sync"
)

// Ledger counts the writes that arrived and that were applied, by call. The external
// ids of the discounts identify the call; see [ExternalID].
type Ledger struct {
	mu      sync.Mutex
	copies  map[string]int
	applied map[string]int
}

// New returns an empty ledger.
func New() *Ledger { return &Ledger{copies: map[string]int{}, applied: map[string]int{}} }

// ExternalID returns the external id of the n-th discount of a call.
func ExternalID(call string, n int) string { return fmt.Sprintf("%s-%d", call, n) }

// Copies returns how often the complete body of a call reached a server.
func (l *Ledger) Copies(call string) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.copies[call]
}

// Applied returns how often a call was applied.
func (l *Ledger) Applied(call string) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.applied[call]
}

// Duplicates returns how many calls were applied more than once, and how often calls
// were applied in total.
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

// Request is a request that a server responds to.
type Request struct {
	Write bool
	Call  string   // of a write
	IDs   []string // external ids of a write
}

const (
	unreadable = "unreadable" // the call of a body that can't be read
	bodiless   = "bodiless"   // the call of all writes without a body
)

// receive records the complete body of a write.
func (l *Ledger) receive(body []byte) *Request {
	r := &Request{Write: true, Call: bodiless}
	var sent struct {
		Data []struct {
			ExternalID string `json:"external_id"`
		} `json:"data"`
	}
	if err := json.Unmarshal(body, &sent); len(body) > 0 && (err != nil || len(sent.Data) == 0) {
		r.Call = unreadable
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

// apply records that a write was applied. Reads change nothing.
func (l *Ledger) apply(r *Request) {
	if !r.Write {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.applied[r.Call]++
}
