package ledger

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"strings"
)

// Response is an HTTP response over any protocol.
type Response struct {
	Status      int
	Header      []string              // "Name: value"
	Body        func(*Request) string // nil: none
	Gzip        bool
	Chunked     bool // HTTP/1.1: in chunks; HTTP/2: without a length
	ToClose     bool // without a length or chunks: the body ends with the connection
	ExtraLength int  // content length minus length of the body
	// Truncate returns how many of the n bytes of the body are sent; nil: all.
	Truncate func(n int) int
}

// body returns the body to send, the content length, and whether the body is complete.
func (resp *Response) body(r *Request) (sent []byte, length int, complete bool) {
	if resp.Body == nil {
		return nil, 0, true
	}
	b := []byte(resp.Body(r))
	if resp.Gzip {
		b = zip(b)
	}
	length, complete = len(b)+resp.ExtraLength, resp.ExtraLength == 0
	if resp.Truncate != nil {
		b, complete = b[:resp.Truncate(len(b))], false
	}
	return b, length, complete
}

// header returns the headers to send, with names in lower case.
func (resp *Response) header(length int) [][2]string {
	var list [][2]string
	for _, line := range resp.Header {
		name, value, _ := strings.Cut(line, ": ")
		list = append(list, [2]string{strings.ToLower(name), value})
	}
	if resp.Gzip {
		list = append(list, [2]string{"content-encoding", "gzip"})
	}
	if resp.Body != nil && !resp.Chunked && !resp.ToClose {
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

// page is an empty page of subscriptions.
const page = `{"data":[],"links":{"next":null}}`

// discounts returns the JSON of discounts with these external ids.
func discounts(externalIDs []string) string {
	var list []string
	for n, externalID := range externalIDs {
		const discount = `{"type":"custom_discount","id":"f09030b0-cdcd-4c47-b889-%012d","external_id":%q}`
		list = append(list, fmt.Sprintf(discount, n, externalID))
	}
	return "[" + strings.Join(list, ",") + "]"
}

// text is a body that is the same for each request.
func text(s string) func(*Request) string { return func(*Request) string { return s } }

// forWrites is a body that depends on the external ids of a write. Reads get a page.
func forWrites(f func(ids []string) string) func(*Request) string {
	return func(r *Request) string {
		if !r.Write {
			return page
		}
		return f(r.IDs)
	}
}

// added is a body which confirms that all discounts were added.
func added(r *Request) string {
	return forWrites(func(ids []string) string { return `{"data":` + discounts(ids) + `}` })(r)
}
