package ledger

import (
	"slices"
	"strings"
	"time"

	"github.com/commerce-go/commerce"
)

// closedConnections end the connection before a response begins.
func closedConnections() []*Fault {
	// If the server reads nothing, a client may first see that the connection is
	// closed, or that it can't write.
	either := slices.Concat(wantUnknown(), wantNotSent(), wantError(commerce.OutcomeUnknown, 0, 2))
	list := []*Fault{
		{Name: "closed at accept", On: HTTP1, Stage: AtAccept, End: Close, Write: either},
		{Name: "reset at accept", On: HTTP1, Stage: AtAccept, End: Reset, Write: either},
		{Name: "closed instead of TLS", On: anyTLS, Stage: AtAccept, End: Close, Write: wantNotSent()},
		{Name: "reset instead of TLS", On: anyTLS, Stage: AtAccept, End: Reset, Write: wantNotSent()},
		{Name: "stalled instead of TLS", On: anyTLS, Stage: AtAccept, End: Stall, Write: wantNotSent(),
			WriteWaits: true, ReadWaits: true},
		{Name: "closed after TLS", On: anyTLS, Stage: AfterTLS, End: Close, Write: either},
	}
	for _, e := range []struct {
		end  End
		verb string
	}{
		{end: Close, verb: "closed"},
		{end: CloseTCP, verb: "closed without close_notify"},
		{end: Reset, verb: "reset"},
	} {
		list = append(list,
			&Fault{Name: e.verb + " at the first byte", On: anyHTTP1, Stage: AtFirstByte, End: e.end},
			&Fault{Name: e.verb + " after the header", Stage: AfterHeader, End: e.end},
			&Fault{Name: e.verb + " in the request body", On: anyHTTP1, Stage: HalfTheBody, End: e.end},
			&Fault{Name: e.verb + " after the body, not applied", End: e.end},
			&Fault{Name: e.verb + " after it was applied", End: e.end, Applies: true},
		)
	}
	return withDefaults(list, all, wantUnknown(), wantLostRead())
}

// stalls send no response, or a part of one, until the attempt times out.
func stalls() []*Fault {
	stallAfter := func(s string) func(c *Conn) { return func(c *Conn) { c.send(s) } }
	list := []*Fault{
		{Name: "stalled at the first byte", On: anyHTTP1, Stage: AtFirstByte},
		{Name: "stalled after the header", Stage: AfterHeader},
		{Name: "stalled after the body, not applied"},
		{Name: "stalled after it was applied", Applies: true},
		{Name: "stalled in the status line", On: anyHTTP1, Applies: true, Raw: stallAfter("HTTP/1.1 20")},
		{Name: "stalled in the response header", On: anyHTTP1, Applies: true,
			Raw: stallAfter("HTTP/1.1 201 Created\r\nContent-")},
		{Name: "stalled after a 103", On: anyHTTP1, Applies: true, Raw: stallAfter("HTTP/1.1 103 Early Hints\r\n\r\n")},
		{Name: "an endless header, one byte at a time", On: anyHTTP1, Applies: true, Raw: endlessHeader},
	}
	for _, f := range list {
		f.End, f.WriteWaits, f.ReadWaits = Stall, true, true
	}
	return withDefaults(list, all, wantUnknown(), wantLostRead())
}

// endlessHeader sends a header byte by byte until the client closes the connection.
// The pause between the bytes is the fault itself.
func endlessHeader(c *Conn) {
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for c.send("HTTP/1.1 201 Created\r\nX: "); c.send("x"); {
		<-tick.C
	}
}

// invalidResponses are bytes that are not an HTTP/1.1 response.
func invalidResponses() []*Fault {
	const head, rest = "HTTP/1.1 201 Created\r\n", "Content-Length: 2\r\n\r\n{}"
	var list []*Fault
	for _, r := range []struct{ name, bytes string }{
		{name: "half a status line", bytes: "HTTP/1.1 20"},
		{name: "another protocol", bytes: "SSH-2.0-OpenSSH_9.9\r\n\r\n"},
		{name: "random bytes", bytes: "\x00\x17\xff\xfe\x80\x03\r\n\x1b[31m\r\n\r\n"},
		{name: "a TLS alert", bytes: "\x15\x03\x01\x00\x02\x02\x28"},
		{name: "an HTTP/2 preface", bytes: "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"},
		{name: "no version", bytes: "201 Created\r\n" + rest},
		{name: "status 000", bytes: "HTTP/1.1 000 X\r\n" + rest},
		{name: "a status with two digits", bytes: "HTTP/1.1 20 X\r\n" + rest},
		{name: "a status in words", bytes: "HTTP/1.1 abc Created\r\n" + rest},
		{name: "truncated in the header", bytes: head + "Content-"},
		{name: "a header without a colon", bytes: head + "nothing\r\n" + rest},
		{name: "a header without a name", bytes: head + ": c\r\n" + rest},
		{name: "two lengths", bytes: head + "Content-Length: 3\r\n" + rest},
		{name: "a length that is not a number", bytes: head + "Content-Length: two\r\n\r\n{}"},
		{name: "a negative length", bytes: head + "Content-Length: -2\r\n\r\n{}"},
		{name: "an unknown transfer encoding", bytes: head + "Transfer-Encoding: zip\r\n\r\n{}"},
		{name: "1 MB of headers", bytes: head + strings.Repeat("X: "+strings.Repeat("x", 1000)+"\r\n", 1000) + rest},
		{name: "one header of 1 MB", bytes: head + "X: " + strings.Repeat("x", 1<<20) + "\r\n" + rest},
		{name: "1 MB of status line", bytes: "HTTP/1.1 201 " + strings.Repeat("x", 1<<20) + "\r\n" + rest},
		{name: "100 Continue and nothing else", bytes: "HTTP/1.1 100 Continue\r\n\r\n"},
		{name: "103 and nothing else", bytes: "HTTP/1.1 103 Early Hints\r\n\r\n"},
	} {
		list = append(list, &Fault{
			Name: r.name, Heavy: len(r.bytes) > 1<<19, End: Close, Raw: func(c *Conn) { c.send(r.bytes) },
		})
	}
	list = append(list,
		&Fault{Name: "endless 1xx", Heavy: true, End: Close, Raw: func(c *Conn) {
			for c.send("HTTP/1.1 103 Early Hints\r\nX: " + strings.Repeat("x", 1000) + "\r\n\r\n") {
			}
		}},
		&Fault{Name: "101", End: Close, Raw: func(c *Conn) {
			c.send("HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: x\r\n\r\nraw")
		}, Write: wantError(commerce.OutcomeUnknown, 101, 1), Read: wantError(commerce.OutcomeNone, 101, 1)},
	)
	return applied(withDefaults(list, anyHTTP1, wantUnknown(), wantLostRead()))
}
