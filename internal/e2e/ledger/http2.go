package ledger

import (
	"encoding/binary"
	"io"
	"strconv"
)

// Frames, flags and error codes of HTTP/2 (RFC 9113), as far as faults need them.
const (
	frameData         = 0
	frameHeaders      = 1
	frameReset        = 3
	frameSettings     = 4
	framePing         = 6
	frameGoAway       = 7
	frameWindowUpdate = 8
	frameContinuation = 9

	flagEnd        = 1 // END_STREAM, or ACK
	flagEndHeaders = 4

	codeNone          = 0
	codeProtocol      = 1
	codeInternal      = 2
	codeRefused       = 7
	codeCancel        = 8
	codeEnhanceCalm   = 11
	maxFrame          = 16 << 10
	lengthOfPreface   = 24
	lengthOfFrameHead = 9
)

// stream is a request under way.
type stream struct {
	fault *Fault
	body  []byte
	done  bool // the fault struck: what arrives now is booked only
}

// frame writes a frame and reports whether the client took it.
func (c *Conn) frame(kind, flags byte, id uint32, payload []byte) bool {
	n := len(payload)
	head := []byte{byte(n >> 16), byte(n >> 8), byte(n), kind, flags, 0, 0, 0, 0} //nolint:gosec // cut to its three bytes: no frame is longer
	binary.BigEndian.PutUint32(head[5:], id)
	_, err := c.Write(append(head, payload...))
	return err == nil
}

func number(n ...uint32) []byte {
	var b []byte
	for _, v := range n {
		b = binary.BigEndian.AppendUint32(b, v)
	}
	return b
}

// resetStream sends RST_STREAM.
func (c *Conn) resetStream(id, code uint32) { c.frame(frameReset, 0, id, number(code)) }

// goAway sends GOAWAY: streams above last were not looked at.
func (c *Conn) goAway(last, code uint32) { c.frame(frameGoAway, 0, 0, number(last, code)) }

// headers sends a header block, in as many frames as it takes. Fields are sent
// as literals that no table keeps, so that there is no state.
func (c *Conn) headers(id uint32, status int, fields [][2]string, end bool) {
	block := field(nil, ":status", strconv.Itoa(status))
	for _, f := range fields {
		block = field(block, f[0], f[1])
	}
	kind, flags := byte(frameHeaders), byte(0)
	if end {
		flags = flagEnd
	}
	for len(block) > maxFrame {
		if !c.frame(kind, flags, id, block[:maxFrame]) {
			return
		}
		block, kind, flags = block[maxFrame:], frameContinuation, 0
	}
	c.frame(kind, flags|flagEndHeaders, id, block)
}

// field appends a field to a header block: a literal never indexed (RFC 7541, 6.2.3).
func field(block []byte, name, value string) []byte {
	block = append(block, 0x10)
	for _, s := range []string{name, value} {
		n := len(s)
		if n < 127 {
			block = append(block, byte(n))
		} else {
			block = append(block, 127)
			for n -= 127; n >= 128; n >>= 7 {
				block = append(block, byte(n&127|128)) //nolint:gosec // cut to seven bits
			}
			block = append(block, byte(n))
		}
		block = append(block, s...)
	}
	return block
}

// data sends a body, in as many frames as it takes.
func (c *Conn) data(id uint32, body []byte, end bool) {
	for len(body) > maxFrame {
		if !c.frame(frameData, 0, id, body[:maxFrame]) {
			return
		}
		body = body[maxFrame:]
	}
	flags := byte(0)
	if end {
		flags = flagEnd
	}
	c.frame(frameData, flags, id, body)
}

// serveHTTP2 serves streams, one frame after the other, until a fault ends the
// connection. It does not decode the headers of requests: one without a body is
// a read.
func (c *Conn) serveHTTP2() {
	if _, err := c.in.Discard(lengthOfPreface); err != nil || !c.frame(frameSettings, 0, 0, nil) {
		return
	}
	streams := map[uint32]*stream{}
	for {
		head := make([]byte, lengthOfFrameHead)
		if _, err := io.ReadFull(c.in, head); err != nil {
			return
		}
		payload := make([]byte, int(head[0])<<16|int(head[1])<<8|int(head[2]))
		if _, err := io.ReadFull(c.in, payload); err != nil {
			return
		}
		kind, ended, id := head[3], head[4]&flagEnd != 0, binary.BigEndian.Uint32(head[5:])
		switch {
		case kind == frameSettings && !ended:
			c.frame(frameSettings, flagEnd, 0, nil)
		case kind == framePing && !ended:
			c.frame(framePing, flagEnd, 0, payload)
		case kind == frameReset:
			delete(streams, id)
		case kind == frameHeaders:
			s := &stream{fault: c.take()}
			streams[id] = s
			if !c.opened(id, s, !ended) || ended && !c.ended(id, s, false) {
				return
			}
		case kind == frameData && streams[id] != nil:
			s := streams[id]
			s.body = append(s.body, payload...)
			if len(payload) > 0 {
				c.frame(frameWindowUpdate, 0, 0, number(uint32(len(payload)))) //nolint:gosec // no frame is longer than 2^24
			}
			if ended && !c.ended(id, s, true) {
				return
			}
		}
	}
}

// opened strikes with the faults that do not wait for the body, and reports
// whether the connection goes on.
func (c *Conn) opened(id uint32, s *stream, write bool) bool {
	if s.fault.Stage == AfterBody || !write && s.fault.Stage == HalfTheBody {
		return true
	}
	s.done = true
	c.reach()
	if s.fault.Frames != nil {
		s.fault.Frames(c, id)
	}
	return c.over(s.fault.End)
}

// ended books the request and strikes with the faults that wait for the body.
func (c *Conn) ended(id uint32, s *stream, write bool) bool {
	r := c.server.ledger.receive(write, s.body)
	if s.done {
		return true
	}
	f := s.fault
	if f.Applies {
		c.server.ledger.apply(r)
	}
	s.done = true
	if f.Frames != nil {
		f.Frames(c, id)
	}
	if f.Answer != nil {
		c.answer2(id, f.Answer, r)
	}
	c.reach()
	if f.Answer != nil && f.Answer.Promise != 0 {
		return true // the end of the stream says what that of an HTTP/1.1 connection does
	}
	return c.over(f.End)
}

// over ends an exchange. A stall is of the stream: the connection goes on.
func (c *Conn) over(e End) bool { return e == Stall || c.end(e) }

func (c *Conn) answer2(id uint32, a *Answer, r *Request) {
	body, length, whole := a.body(r)
	if a.Promise != 0 && a.Cut == nil {
		whole = true // the stream ends, at another length than it promised
	}
	c.headers(id, a.Status, a.header(length), len(body) == 0 && whole)
	if len(body) > 0 {
		c.data(id, body, whole)
	}
}
