package ledger

import (
	"fmt"
	"io"
	"net/http"
	"strings"
)

// serveHTTP1 serves requests until one of them ends the connection.
func (c *Conn) serveHTTP1() {
	for {
		if _, err := c.in.Peek(1); err != nil {
			return
		}
		if !c.exchange(c.nextFault()) {
			return
		}
	}
}

// exchange serves one request with a fault, and reports whether the connection stays
// open.
func (c *Conn) exchange(f *Fault) bool {
	if f.Stage == AtFirstByte {
		c.reached()
		return c.end(f.End)
	}
	req, err := http.ReadRequest(c.in)
	if err != nil {
		return false
	}
	switch f.Stage {
	case AfterHeader:
		c.reached()
		return c.end(f.End)
	case HalfTheBody:
		_, _ = io.CopyN(io.Discard, req.Body, req.ContentLength/2)
		c.reached()
		return c.end(f.End)
	default:
	}
	body, err := io.ReadAll(req.Body)
	if err != nil {
		return false
	}
	r := &Request{}
	if c.server.isWrite(len(body) > 0) {
		r = c.server.ledger.receive(body)
	}
	if f.Applies {
		c.server.ledger.apply(r)
	}
	if f.Response == nil {
		c.reached() // before Raw, which may wait for the client
	}
	if f.Raw != nil {
		f.Raw(c)
	}
	if f.Response != nil {
		c.respondHTTP1(f.Response, r)
		c.reached()
	}
	return c.end(f.End)
}

// send writes s, and reports whether that succeeded.
func (c *Conn) send(s string) bool {
	_, err := io.WriteString(c.Conn, s)
	return err == nil
}

func (c *Conn) respondHTTP1(resp *Response, r *Request) {
	body, length, complete := resp.body(r)
	var b strings.Builder
	fmt.Fprintf(&b, "HTTP/1.1 %03d %s\r\n", resp.Status, http.StatusText(resp.Status))
	if resp.ExtraLength < 0 {
		b.WriteString("connection: close\r\n") // the surplus bytes must not look like the next response
	}
	for _, h := range resp.header(length) {
		b.WriteString(h[0] + ": " + h[1] + "\r\n")
	}
	switch {
	case resp.Chunked:
		b.WriteString("transfer-encoding: chunked\r\n\r\n")
		const chunk = 16
		for ; len(body) > chunk; body = body[chunk:] {
			fmt.Fprintf(&b, "%x\r\n%s\r\n", chunk, body[:chunk])
		}
		if len(body) > 0 {
			fmt.Fprintf(&b, "%x\r\n%s\r\n", len(body), body)
		}
		if complete {
			b.WriteString("0\r\n\r\n")
		}
	case resp.ToClose:
		b.WriteString("connection: close\r\n\r\n")
		b.Write(body)
	default:
		if resp.Body == nil && resp.Status != http.StatusNoContent && resp.Status != http.StatusNotModified {
			b.WriteString("content-length: 0\r\n")
		}
		b.WriteString("\r\n")
		b.Write(body)
	}
	c.send(b.String())
}
