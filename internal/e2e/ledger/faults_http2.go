package ledger

import (
	"fmt"
	"slices"
)

// moments are the moments of an HTTP/2 fault.
var moments = []struct {
	name    string
	stage   Stage
	applies bool
}{
	{name: "before the body", stage: AfterHeader},
	{name: "after the body, not applied", stage: AfterBody},
	{name: "after it was applied", stage: AfterBody, applies: true},
}

// streamResets end the stream with RST_STREAM. After some codes, net/http itself sends
// reads again; after REFUSED_STREAM it waits between them, up to the timeout.
func streamResets() []*Fault {
	var list []*Fault
	for _, code := range []struct {
		name string
		code uint32
	}{
		{name: "NO_ERROR", code: codeNone},
		{name: "PROTOCOL_ERROR", code: codeProtocol},
		{name: "INTERNAL_ERROR", code: codeInternal},
		{name: "REFUSED_STREAM", code: codeRefused},
		{name: "CANCEL", code: codeCancel},
		{name: "ENHANCE_YOUR_CALM", code: codeEnhanceCalm},
	} {
		for _, m := range moments {
			list = append(list, &Fault{
				Name: "RST_STREAM " + code.name + " " + m.name, Stage: m.stage, Applies: m.applies,
				Frames:    func(c *Conn, id uint32) { c.resetStream(id, code.code) },
				ReadWaits: code.code == codeRefused,
			})
		}
	}
	return withDefaults(list, HTTP2, wantUnknown(), wantLostRead())
}

// goAways end the connection with GOAWAY. A last stream of 0 means that the request was
// not processed, even if the server has applied it.
func goAways() []*Fault {
	var list []*Fault
	for _, m := range moments {
		for _, c := range []struct {
			name string
			code uint32
		}{{name: "", code: codeNone}, {name: " ENHANCE_YOUR_CALM", code: codeEnhanceCalm}} {
			list = append(list, &Fault{
				Name: fmt.Sprintf("GOAWAY%s, last stream 0, %s", c.name, m.name), Stage: m.stage, Applies: m.applies, End: Close,
				Frames: func(conn *Conn, _ uint32) { conn.goAway(0, c.code) },
			}, &Fault{
				Name: fmt.Sprintf("GOAWAY%s, last stream this, %s", c.name, m.name), Stage: m.stage, Applies: m.applies, End: Close,
				Frames: func(conn *Conn, id uint32) { conn.goAway(id, c.code) },
			})
		}
	}
	list = append(list, &Fault{
		Name: "GOAWAY, last stream this, then the response", Applies: true, End: Close,
		Frames:   func(c *Conn, id uint32) { c.goAway(id, codeNone) },
		Response: &Response{Status: 201, Body: added},
		Write:    wantSuccess(201), Read: wantSuccess(201),
	})
	return withDefaults(list, HTTP2, wantUnknown(), wantLostRead())
}

// invalidFrames break the protocol after the body was applied.
func invalidFrames() []*Fault {
	const endHeadersAndStream = flagEndHeaders | flagEndStream
	thousand := fmt.Sprintf("%01000d", 1)
	list := applied([]*Fault{
		{Name: "DATA without HEADERS", Frames: func(c *Conn, id uint32) { c.data(id, []byte("{}"), flagEndStream) }},
		{Name: "HEADERS that can't be decoded", Frames: func(c *Conn, id uint32) {
			c.frame(frameHeaders, endHeadersAndStream, id, []byte{0xff, 0xff, 0xff, 0xff, 0xff, 0xff})
		}},
		{Name: "HEADERS without a status", Frames: func(c *Conn, id uint32) {
			c.frame(frameHeaders, endHeadersAndStream, id, field(nil, "x", "y"))
		}},
		{Name: "a frame above the maximum length", Heavy: true, Frames: func(c *Conn, id uint32) {
			c.frame(frameData, 0, id, make([]byte, 1<<24-1))
		}},
		{Name: "half a frame", End: Close, Frames: func(c *Conn, _ uint32) {
			_, _ = c.Write([]byte{0, 0, 9, frameHeaders})
		}},
		{Name: "HTTP/1.1 over HTTP/2", End: Close, Frames: func(c *Conn, _ uint32) {
			c.send("HTTP/1.1 201 Created\r\n\r\n")
		}},
		{Name: "1 MB of header fields", Heavy: true, Frames: func(c *Conn, id uint32) {
			fields := slices.Repeat([][2]string{{"x", thousand}}, 1000)
			c.headers(id, 201, fields, flagEndStream)
		}},
		{Name: "200 times 103", Heavy: true, End: Close, Frames: func(c *Conn, id uint32) {
			for range 200 {
				c.headers(id, 103, [][2]string{{"x", thousand}}, 0)
			}
		}},
		{Name: "response header, then RST_STREAM", Frames: func(c *Conn, id uint32) {
			c.headers(id, 201, nil, 0)
			c.resetStream(id, codeCancel)
		}, Write: wantUnreadable(201), Read: wantBadRead(201)},
		{Name: "response with half its body, then RST_STREAM", Frames: func(c *Conn, id uint32) {
			c.headers(id, 201, nil, 0)
			c.data(id, []byte(`{"data":[`), 0)
			c.resetStream(id, codeInternal)
		}, Write: wantUnreadable(201), Read: wantBadRead(201)},
	})
	list = append(list, &Fault{Name: "complete response, then RST_STREAM", Frames: func(c *Conn, id uint32) {
		c.headers(id, 403, nil, flagEndStream)
		c.resetStream(id, codeNone)
	}, Write: wantRejected(403, 1), Read: wantFailedRead(403)})
	return withDefaults(list, HTTP2, wantUnknown(), wantLostRead())
}
