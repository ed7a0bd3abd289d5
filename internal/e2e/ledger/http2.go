package ledger

import (
	"encoding/binary"
	"io"
	"strconv"
)

// The frames, flags and error codes of HTTP/2 (RFC 9113) that faults use.
const (
	frameData         = 0
	frameHeaders      = 1
	frameReset        = 3
	frameSettings     = 4
	framePing         = 6
	frameGoAway       = 7
	frameWindowUpdate = 8
	frameContinuation = 9

	flagEndStream  = 1
	flagAck        = 1
	flagEndHeaders = 4

	codeNone        = 0
	codeProtocol    = 1
	codeInternal    = 2
	codeRefused     = 7
	codeCancel      = 8
	codeEnhanceCalm = 11

	maxFrameLength    = 16 << 10
	prefaceLength     = 24
	frameHeaderLength = 9
)

// stream is a request under way.
type stream struct {
	fault *Fault
	write bool
	body  []byte
	done  bool // the fault is done: what arrives now is only recorded
}

// frame writes a frame, and reports whether that succeeded.
func (c *Conn) frame(kind, flags byte, id uint32, payload []byte) bool {
	n := len(payload)
	//nolint:gosec // the length has three bytes
	head := []byte{byte(n >> 16), byte(n >> 8), byte(n), kind, flags, 0, 0, 0, 0}
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

// goAway sends GOAWAY: streams with an id above last were not processed.
func (c *Conn) goAway(last, code uint32) { c.frame(frameGoAway, 0, 0, number(last, code)) }

// headers sends a header block, in as many frames as it needs. flags is 0 or
// flagEndStream. Fields are literals that are never indexed, so that there is no state.
func (c *Conn) headers(id uint32, status int, fields [][2]string, flags byte) {
	block := field(nil, ":status", strconv.Itoa(status))
	for _, f := range fields {
		block = field(block, f[0], f[1])
	}
	kind := byte(frameHeaders)
	for len(block) > maxFrameLength {
		if !c.frame(kind, flags, id, block[:maxFrameLength]) {
			return
		}
		block, kind, flags = block[maxFrameLength:], frameContinuation, 0
	}
	c.frame(kind, flags|flagEndHeaders, id, block)
}

// field appends a field to a header block: a literal that is never indexed (RFC 7541,
// section 6.2.3).
func field(block []byte, name, value string) []byte {
	block = append(block, 0x10)
	for _, s := range []string{name, value} {
		n := len(s)
		if n < 127 {
			block = append(block, byte(n))
		} else {
			block = append(block, 127)
			for n -= 127; n >= 128; n >>= 7 {
				block = append(block, byte(n&127|128)) //nolint:gosec // seven bits
			}
			block = append(block, byte(n))
		}
		block = append(block, s...)
	}
	return block
}

// data sends a body, in as many frames as it needs. flags is 0 or flagEndStream.
func (c *Conn) data(id uint32, body []byte, flags byte) {
	for len(body) > maxFrameLength {
		if !c.frame(frameData, 0, id, body[:maxFrameLength]) {
			return
		}
		body = body[maxFrameLength:]
	}
	c.frame(frameData, flags, id, body)
}

// serveHTTP2 serves streams, frame by frame, until a fault ends the connection. It does
// not decode the headers of requests: a request without a body is a read, see WriteWithoutBody.
func (c *Conn) serveHTTP2() {
	if _, err := c.in.Discard(prefaceLength); err != nil || !c.frame(frameSettings, 0, 0, nil) {
		return
	}
	streams := map[uint32]*stream{}
	for {
		head := make([]byte, frameHeaderLength)
		if _, err := io.ReadFull(c.in, head); err != nil {
			return
		}
		payload := make([]byte, int(head[0])<<16|int(head[1])<<8|int(head[2]))
		if _, err := io.ReadFull(c.in, payload); err != nil {
			return
		}
		kind, ended, id := head[3], head[4]&flagEndStream != 0, binary.BigEndian.Uint32(head[5:])
		switch {
		case kind == frameSettings && !ended:
			c.frame(frameSettings, flagAck, 0, nil)
		case kind == framePing && !ended:
			c.frame(framePing, flagAck, 0, payload)
		case kind == frameReset:
			delete(streams, id)
		case kind == frameHeaders:
			s := &stream{fault: c.nextFault(), write: c.server.isWrite(!ended)}
			streams[id] = s
			if !c.headerReceived(id, s) || ended && !c.requestReceived(id, s) {
				return
			}
		case kind == frameData && streams[id] != nil:
			s := streams[id]
			s.body = append(s.body, payload...)
			if len(payload) > 0 {
				c.frame(frameWindowUpdate, 0, 0, number(uint32(len(payload)))) //nolint:gosec // no frame is longer than 2^24
			}
			if ended && !c.requestReceived(id, s) {
				return
			}
		}
	}
}

// headerReceived applies a fault that does not wait for the body, and reports whether
// the connection stays open.
func (c *Conn) headerReceived(id uint32, s *stream) bool {
	if s.fault.Stage == AfterBody || !s.write && s.fault.Stage == HalfTheBody {
		return true
	}
	s.done = true
	c.reached()
	if s.fault.Frames != nil {
		s.fault.Frames(c, id)
	}
	return c.endStream(s.fault.End)
}

// requestReceived records the request, applies a fault that waits for the body, and
// reports whether the connection stays open.
func (c *Conn) requestReceived(id uint32, s *stream) bool {
	r := &Request{}
	if s.write {
		r = c.server.ledger.receive(s.body)
	}
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
	if f.Response != nil {
		c.respondHTTP2(id, f.Response, r)
	}
	c.reached()
	if f.Response != nil && f.Response.ExtraLength != 0 {
		return true // the end of the stream is enough: over HTTP/1.1, it is the end of the connection
	}
	return c.endStream(f.End)
}

// endStream ends an exchange. A stall is for the stream only: the connection stays open.
func (c *Conn) endStream(e End) bool { return e == Stall || c.end(e) }

func (c *Conn) respondHTTP2(id uint32, resp *Response, r *Request) {
	body, length, complete := resp.body(r)
	if resp.ExtraLength != 0 && resp.Truncate == nil {
		complete = true // the stream ends, but not at the content length
	}
	flags := byte(0)
	if complete {
		flags = flagEndStream
	}
	if len(body) == 0 {
		c.headers(id, resp.Status, resp.header(length), flags)
		return
	}
	c.headers(id, resp.Status, resp.header(length), 0)
	c.data(id, body, flags)
}
