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
		if !c.exchange1(c.take()) {
			return
		}
	}
}

// exchange1 does to a request what f says, and reports whether the connection goes on.
func (c *Conn) exchange1(f *Fault) bool {
	if f.Stage == AtFirstByte {
		c.reach()
		return c.end(f.End)
	}
	req, err := http.ReadRequest(c.in)
	if err != nil {
		return false
	}
	switch f.Stage {
	case AfterHeader:
		c.reach()
		return c.end(f.End)
	case HalfTheBody:
		_, _ = io.CopyN(io.Discard, req.Body, req.ContentLength/2)
		c.reach()
		return c.end(f.End)
	default:
	}
	body, err := io.ReadAll(req.Body)
	if err != nil {
		return false
	}
	r := c.server.ledger.receive(req.Method == http.MethodPost, body)
	if f.Applies {
		c.server.ledger.apply(r)
	}
	if f.Answer == nil {
		c.reach() // before what may take until the client goes
	}
	if f.Raw != nil {
		f.Raw(c)
	}
	if f.Answer != nil {
		c.answer1(f.Answer, r)
		c.reach()
	}
	return c.end(f.End)
}

// send writes s and reports whether the client took it.
func (c *Conn) send(s string) bool {
	_, err := io.WriteString(c.Conn, s)
	return err == nil
}

func (c *Conn) answer1(a *Answer, r *Request) {
	body, length, whole := a.body(r)
	var b strings.Builder
	fmt.Fprintf(&b, "HTTP/1.1 %03d %s\r\n", a.Status, http.StatusText(a.Status))
	if a.Promise < 0 {
		b.WriteString("connection: close\r\n") // what is beyond the length must not answer the next request
	}
	for _, h := range a.header(length) {
		b.WriteString(h[0] + ": " + h[1] + "\r\n")
	}
	switch {
	case a.Chunked:
		b.WriteString("transfer-encoding: chunked\r\n\r\n")
		const chunk = 16
		for ; len(body) > chunk; body = body[chunk:] {
			fmt.Fprintf(&b, "%x\r\n%s\r\n", chunk, body[:chunk])
		}
		if len(body) > 0 {
			fmt.Fprintf(&b, "%x\r\n%s\r\n", len(body), body)
		}
		if whole {
			b.WriteString("0\r\n\r\n")
		}
	case a.ToClose:
		b.WriteString("connection: close\r\n\r\n")
		b.Write(body)
	default:
		if a.Body == nil && a.Status != http.StatusNoContent && a.Status != http.StatusNotModified {
			b.WriteString("content-length: 0\r\n")
		}
		b.WriteString("\r\n")
		b.Write(body)
	}
	c.send(b.String())
}
