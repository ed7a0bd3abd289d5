package ledger

import (
	"slices"
	"strings"
	"time"

	"github.com/commerce-go/commerce"
)

// connectionFaults end the connection before an answer begins.
func connectionFaults() []*Fault {
	// What a client notices first, that the connection is gone or that it can't be
	// written to, is chance where nothing was read.
	either := slices.Concat(unknown(), notSent(), failed(commerce.OutcomeUnknown, 0, 2))
	list := []*Fault{
		{Name: "closed at accept", On: HTTP1, Stage: AtAccept, End: Close, Write: either, Read: lostRead()},
		{Name: "reset at accept", On: HTTP1, Stage: AtAccept, End: Reset, Write: either, Read: lostRead()},
		{Name: "closed in place of TLS", On: anyTLS, Stage: AtAccept, End: Close, Write: notSent(), Read: lostRead()},
		{Name: "reset in place of TLS", On: anyTLS, Stage: AtAccept, End: Reset, Write: notSent(), Read: lostRead()},
		{Name: "silence in place of TLS", On: anyTLS, Stage: AtAccept, End: Stall, Write: notSent(), Read: lostRead(), WriteWaits: true, ReadWaits: true},
		{Name: "closed after TLS", On: anyTLS, Stage: AfterTLS, End: Close, Write: either, Read: lostRead()},
	}
	for end, verb := range map[End]string{Close: "closed", Cut: "cut", Reset: "reset"} {
		list = append(list,
			&Fault{Name: verb + " at the first byte", On: anyHTTP1, Stage: AtFirstByte, End: end},
			&Fault{Name: verb + " after the header", On: all, Stage: AfterHeader, End: end},
			&Fault{Name: verb + " in the request's body", On: anyHTTP1, Stage: HalfTheBody, End: end},
			&Fault{Name: verb + " after the body, not applied", On: all, End: end},
			&Fault{Name: verb + " after it was applied", On: all, End: end, Applies: true},
		)
	}
	slices.SortFunc(list[6:], func(a, b *Fault) int { return strings.Compare(a.Name, b.Name) }) // a map has no order
	return unanswered(list)
}

// stalls answer nothing, or not to the end, until the attempt times out.
func stalls() []*Fault {
	stall := func(s string) func(c *Conn) { return func(c *Conn) { c.send(s) } }
	list := []*Fault{
		{Name: "stalled at the first byte", On: anyHTTP1, Stage: AtFirstByte},
		{Name: "stalled after the header", On: all, Stage: AfterHeader},
		{Name: "stalled after the body, not applied", On: all},
		{Name: "stalled after it was applied", On: all, Applies: true},
		{Name: "stalled in the status line", On: anyHTTP1, Applies: true, Raw: stall("HTTP/1.1 20")},
		{Name: "stalled in the answer's header", On: anyHTTP1, Applies: true, Raw: stall("HTTP/1.1 201 Created\r\nContent-")},
		{Name: "stalled after a 103", On: anyHTTP1, Applies: true, Raw: stall("HTTP/1.1 103 Early Hints\r\n\r\n")},
		{Name: "a header that drips without an end", On: anyHTTP1, Applies: true, Raw: drip},
	}
	for _, f := range list {
		f.End, f.WriteWaits, f.ReadWaits = Stall, true, true
	}
	return unanswered(list)
}

// unanswered sets the verdict of faults without an answer where it is not set: a
// write may have been applied, a read is made again.
func unanswered(list []*Fault) []*Fault {
	for _, f := range list {
		if f.Write == nil {
			f.Write, f.Read = unknown(), lostRead()
		}
	}
	return list
}

// drip sends a header byte by byte until the client goes. The pause between the
// bytes is the fault itself.
func drip(c *Conn) {
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for c.send("HTTP/1.1 201 Created\r\nX: "); c.send("x"); {
		<-tick.C
	}
}

// garbage is no answer, though bytes came.
func garbage() []*Fault {
	const head, rest = "HTTP/1.1 201 Created\r\n", "Content-Length: 2\r\n\r\n{}"
	list := []*Fault{}
	for _, g := range []struct{ name, bytes string }{
		{"half a status line", "HTTP/1.1 20"},
		{"another protocol", "SSH-2.0-OpenSSH_9.9\r\n\r\n"},
		{"random bytes", "\x00\x17\xff\xfe\x80\x03\r\n\x1b[31m\r\n\r\n"},
		{"a TLS alert", "\x15\x03\x01\x00\x02\x02\x28"},
		{"an HTTP/2 preface", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"},
		{"no version", "201 Created\r\n" + rest},
		{"status 000", "HTTP/1.1 000 X\r\n" + rest},
		{"status with two digits", "HTTP/1.1 20 X\r\n" + rest},
		{"status in words", "HTTP/1.1 abc Created\r\n" + rest},
		{"cut in the answer's header", head + "Content-"},
		{"a header without a colon", head + "nothing\r\n" + rest},
		{"a header without a name", head + ": c\r\n" + rest},
		{"two lengths", head + "Content-Length: 3\r\n" + rest},
		{"a length that is no number", head + "Content-Length: two\r\n\r\n{}"},
		{"a negative length", head + "Content-Length: -2\r\n\r\n{}"},
		{"an unknown transfer encoding", head + "Transfer-Encoding: zip\r\n\r\n{}"},
		{"1 MB of headers", head + strings.Repeat("X: "+strings.Repeat("x", 1000)+"\r\n", 1000) + rest},
		{"one header of 1 MB", head + "X: " + strings.Repeat("x", 1<<20) + "\r\n" + rest},
		{"1 MB of status line", "HTTP/1.1 201 " + strings.Repeat("x", 1<<20) + "\r\n" + rest},
		{"100 Continue and no more", "HTTP/1.1 100 Continue\r\n\r\n"},
		{"103 and no more", "HTTP/1.1 103 Early Hints\r\n\r\n"},
	} {
		list = append(list, &Fault{Name: g.name, On: anyHTTP1, Applies: true, End: Close, Heavy: len(g.bytes) > 1<<19, Raw: func(c *Conn) { c.send(g.bytes) }})
	}
	return append(unanswered(append(list,
		&Fault{Name: "endless 1xx", Heavy: true, On: anyHTTP1, Applies: true, End: Close, Raw: func(c *Conn) {
			for c.send("HTTP/1.1 103 Early Hints\r\nX: " + strings.Repeat("x", 1000) + "\r\n\r\n") {
			}
		}},
	)), &Fault{
		Name: "101", On: anyHTTP1, Applies: true, End: Close,
		Raw: func(c *Conn) {
			c.send("HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: x\r\n\r\nraw")
		},
		Write: failed(commerce.OutcomeUnknown, 101, 1), Read: failed(commerce.OutcomeNone, 101, 1),
	})
}
