package ledger

import (
	"fmt"
	"slices"
	"sync"
)

// Protocol is a set of ways to use HTTP.
type Protocol uint8

// The protocols of a [Server].
const (
	HTTP1 Protocol = 1 << iota // HTTP/1.1 without TLS
	TLS                        // HTTP/1.1 over TLS
	HTTP2                      // HTTP/2 over TLS
	H2C                        // HTTP/2 without TLS; only in the tests of custom transports

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

// The stages of a request.
const (
	AfterBody   Stage = iota // the zero value: the complete request
	AtAccept                 // nothing, not even TLS
	AfterTLS                 // the TLS handshake
	AtFirstByte              // nothing, but the first byte of the request has arrived
	AfterHeader
	HalfTheBody // HTTP/1.1 only
)

// End is what a server does with the connection after a fault.
type End uint8

// The ends of an exchange.
const (
	Keep     End = iota // wait for the next request
	Close               // close it, with the close_notify of TLS
	CloseTCP            // close it without close_notify
	Reset               // reset it (RST)
	Stall               // send nothing more until the client closes it
)

// Fault is what a server does with a request: it reads up to Stage, applies the
// body of a write or not, responds by at most one of Response, Raw and Frames (or by
// Raw or Frames, then Response), and ends.
type Fault struct {
	Name     string
	On       Protocol
	Stage    Stage
	Applies  bool // the body of a write is applied
	Response *Response
	Raw      func(c *Conn)            // HTTP/1.1
	Frames   func(c *Conn, id uint32) // HTTP/2, on stream id
	End      End

	// Write and Read are what a call must return, with at most two attempts: any one
	// of them, if it depends on timing.
	Write, Read []Want
	// WriteWaits and ReadWaits mean that only the timeout ends the attempt.
	WriteWaits, ReadWaits bool
	// Heavy faults send megabytes.
	Heavy bool
}

// NoFault applies the body, and confirms it.
func NoFault() *Fault {
	return &Fault{
		Name: "none", On: all, Applies: true, Response: &Response{Status: 201, Body: added},
		Write: wantSuccess(201), Read: wantSuccess(201),
	}
}

// Faults returns all faults, each with a unique name. They are shared, as some have megabytes.
var Faults = sync.OnceValue(func() []*Fault {
	return slices.Concat([]*Fault{NoFault()},
		closedConnections(), stalls(), invalidResponses(),
		additions(), unreadableResponses(), truncatedResponses(), statuses(), errorBodies(),
		streamResets(), goAways(), invalidFrames())
})

// withDefaults sets On, Write and Read of the faults that do not have their own.
func withDefaults(list []*Fault, on Protocol, write, read []Want) []*Fault {
	for _, f := range list {
		if f.On == 0 {
			f.On = on
		}
		if f.Write == nil {
			f.Write = write
		}
		if f.Read == nil {
			f.Read = read
		}
	}
	return list
}

// applied marks faults that apply the body.
func applied(list []*Fault) []*Fault {
	for _, f := range list {
		f.Applies = true
	}
	return list
}
