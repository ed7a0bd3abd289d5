package ledger

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"slices"
	"strings"

	"github.com/commerce-go/commerce"
)

// Protocol is a set of ways to speak HTTP.
type Protocol uint8

// The protocols of a [Server].
const (
	HTTP1 Protocol = 1 << iota // in the clear
	TLS                        // HTTP/1.1 over TLS
	HTTP2                      // over TLS
	H2C                        // HTTP/2 in the clear; only for what transports do

	anyHTTP1 = HTTP1 | TLS
	anyTLS   = TLS | HTTP2
	all      = HTTP1 | TLS | HTTP2
)

// String returns the name of a single protocol.
func (p Protocol) String() string {
	switch p {
	case HTTP1:
		return "HTTP1"
	case TLS:
		return "TLS"
	case HTTP2:
		return "HTTP2"
	case H2C:
		return "H2C"
	default:
		return fmt.Sprintf("Protocol(%d)", p)
	}
}

// Stage is how far a server reads before a fault.
type Stage uint8

// The stages of a request. The zero value is the whole of it.
const (
	AfterBody   Stage = iota
	AtAccept          // before TLS, and before a byte
	AfterTLS          // before a byte of HTTP
	AtFirstByte       // of the request, which is not read
	AfterHeader
	HalfTheBody // HTTP/1.1 only
)

// End is what becomes of the connection after a fault.
type End uint8

// The ends of an exchange.
const (
	Keep  End = iota // for the next request
	Close            // in order
	Cut              // without the farewell of TLS
	Reset            // RST of TCP
	Stall            // nothing more is sent until the client goes
)

// Fault is what a server does to a request: it reads up to Stage, applies the
// body of a write or not, answers by one of Answer, Raw and Frames or not at all,
// and ends.
type Fault struct {
	Name  string
	On    Protocol
	Stage Stage
	// Applies tells that the body of a write is applied. Reads change nothing.
	Applies bool
	Answer  *Answer
	Raw     func(c *Conn)            // HTTP/1.1
	Frames  func(c *Conn, id uint32) // HTTP/2, on stream id
	End     End

	// Write and Read are what design.md says the library must make of it, with at
	// most two attempts: one of them, where it is a matter of timing.
	Write, Read []Verdict
	// WriteWaits and ReadWaits tell that only the timeout of the attempt ends it.
	WriteWaits, ReadWaits bool
	// Heavy faults move megabytes.
	Heavy bool
}

// Verdict is what a call returns.
type Verdict struct {
	Outcome  commerce.Outcome
	Failed   bool
	Is       error // a sentinel that the error must match; nil: none of those of a status
	Status   int
	Attempts int
}

// Answer is an HTTP answer, fit for each protocol.
type Answer struct {
	Status  int
	Header  []string              // "Name: value"
	Body    func(*Request) string // nil: none
	Gzip    bool
	Chunked bool // HTTP/1.1; HTTP/2 leaves out the length
	ToClose bool // without length or chunks: the end of the connection ends it
	Promise int  // how much more than it has the length says
	// Cut returns how many of n bytes of the body are sent; nil: all.
	Cut func(n int) int
}

// body returns the body to send and the length to promise.
func (a *Answer) body(r *Request) (sent []byte, length int, whole bool) {
	if a.Body == nil {
		return nil, 0, true
	}
	b := []byte(a.Body(r))
	if a.Gzip {
		b = zip(b)
	}
	length, whole = len(b)+a.Promise, a.Promise == 0
	if a.Cut != nil {
		b, whole = b[:a.Cut(len(b))], false
	}
	return b, length, whole
}

// header returns the headers to send, with names in lower case.
func (a *Answer) header(length int) [][2]string {
	var list [][2]string
	for _, line := range a.Header {
		name, value, _ := strings.Cut(line, ": ")
		list = append(list, [2]string{strings.ToLower(name), value})
	}
	if a.Gzip {
		list = append(list, [2]string{"content-encoding", "gzip"})
	}
	if a.Body != nil && !a.Chunked && !a.ToClose {
		list = append(list, [2]string{"content-length", fmt.Sprint(length)})
	}
	return list
}

func zip(b []byte) []byte {
	var buf bytes.Buffer
	z := gzip.NewWriter(&buf)
	_, _ = z.Write(b) // to memory: can't fail
	_ = z.Close()
	return buf.Bytes()
}

// Clean is no fault: all is applied and the answer says so.
func Clean() *Fault {
	return &Fault{
		Name: "none", On: all, Applies: true,
		Answer: &Answer{Status: 201, Body: added},
		Write:  []Verdict{{Status: 201, Attempts: 1}}, Read: []Verdict{{Status: 201, Attempts: 1}},
	}
}

// Faults returns all kinds of faults, under names of their own.
func Faults() []*Fault {
	return slices.Concat([]*Fault{Clean()},
		connectionFaults(), stalls(), garbage(), successes(), unreadable(), cuts(), statuses(), errorBodies(), resets(), goAways(), streams())
}

// page is an empty page of subscriptions.
const page = `{"data":[],"links":{"next":null}}`

// discounts renders ids as discounts that were added, each with an id of its own.
func discounts(ids []string) string {
	var list []string
	for n, id := range ids {
		const discount = `{"type":"custom_discount","id":"f09030b0-cdcd-4c47-b889-%012d","external_id":%q}`
		list = append(list, fmt.Sprintf(discount, n, id))
	}
	return "[" + strings.Join(list, ",") + "]"
}

// added answers that all was added, or with a page.
func added(r *Request) string {
	if !r.Write {
		return page
	}
	return `{"data":` + discounts(r.IDs) + `}`
}

// text is a body that is the same for each request.
func text(s string) func(*Request) string { return func(*Request) string { return s } }

// write is a body of answers to writes; reads get a page.
func write(f func(ids []string) string) func(*Request) string {
	return func(r *Request) string {
		if !r.Write {
			return page
		}
		return f(r.IDs)
	}
}

// sentinel of a status, as design.md lists them.
func sentinel(status int) error {
	switch status {
	case 400:
		return commerce.ErrBadRequest
	case 401:
		return commerce.ErrUnauthorized
	case 403:
		return commerce.ErrForbidden
	case 404:
		return commerce.ErrNotFound
	case 409:
		return commerce.ErrConflict
	case 422:
		return commerce.ErrUnprocessable
	case 429:
		return commerce.ErrRateLimited
	}
	switch {
	case status >= 500 && status <= 599:
		return commerce.ErrServer
	case status >= 100 && status <= 399:
		return commerce.ErrBadResponse
	}
	return nil
}

// failed is the verdict on an answer that is no success.
func failed(o commerce.Outcome, status, attempts int) []Verdict {
	return []Verdict{{Outcome: o, Failed: true, Is: sentinel(status), Status: status, Attempts: attempts}}
}

// The verdicts on exchanges without an answer.
func unknown() []Verdict       { return failed(commerce.OutcomeUnknown, 0, 1) }
func notSent() []Verdict       { return failed(commerce.OutcomeNotSent, 0, 2) }
func lostRead() []Verdict      { return failed(commerce.OutcomeNone, 0, 2) }
func succeeds(s int) []Verdict { return []Verdict{{Status: s, Attempts: 1}} }
func noWord(s int) []Verdict   { return failed(commerce.OutcomeUnreadable, s, 1) }
func badRead(s int) []Verdict  { return failed(commerce.OutcomeNone, s, 2) }
