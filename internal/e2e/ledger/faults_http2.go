package ledger

import (
	"fmt"

	"github.com/commerce-go/commerce"
)

// moments are when an HTTP/2 fault may strike.
var moments = []struct {
	name    string
	stage   Stage
	applies bool
}{
	{"before the body", AfterHeader, false},
	{"after the body, not applied", AfterBody, false},
	{"after it was applied", AfterBody, true},
}

// resets end the stream with RST_STREAM. net/http repeats reads by itself after
// some codes; after REFUSED_STREAM it waits in between, up to the timeout.
func resets() []*Fault {
	var list []*Fault
	for _, code := range []struct {
		name string
		code uint32
	}{
		{"NO_ERROR", codeNone},
		{"PROTOCOL_ERROR", codeProtocol},
		{"INTERNAL_ERROR", codeInternal},
		{"REFUSED_STREAM", codeRefused},
		{"CANCEL", codeCancel},
		{"ENHANCE_YOUR_CALM", codeEnhanceCalm},
	} {
		for _, m := range moments {
			list = append(list, &Fault{
				Name: "RST_STREAM " + code.name + " " + m.name, On: HTTP2, Stage: m.stage, Applies: m.applies,
				Frames:    func(c *Conn, id uint32) { c.resetStream(id, code.code) },
				ReadWaits: code.code == codeRefused,
			})
		}
	}
	return unanswered(list)
}

// goAways end the connection with GOAWAY. A last stream of 0 says that this one
// was not looked at, whatever was done to it.
func goAways() []*Fault {
	var list []*Fault
	for _, m := range moments {
		for name, code := range map[string]uint32{"": codeNone, " ENHANCE_YOUR_CALM": codeEnhanceCalm} {
			list = append(list, &Fault{
				Name: fmt.Sprintf("GOAWAY%s, last stream 0, %s", name, m.name), On: HTTP2, Stage: m.stage, Applies: m.applies, End: Close,
				Frames: func(c *Conn, _ uint32) { c.goAway(0, code) },
			}, &Fault{
				Name: fmt.Sprintf("GOAWAY%s, last stream this, %s", name, m.name), On: HTTP2, Stage: m.stage, Applies: m.applies, End: Close,
				Frames: func(c *Conn, id uint32) { c.goAway(id, code) },
			})
		}
	}
	return append(unanswered(list), &Fault{
		Name: "GOAWAY, last stream this, then the answer", On: HTTP2, Applies: true, End: Close,
		Frames: func(c *Conn, id uint32) { c.goAway(id, codeNone) },
		Answer: &Answer{Status: 201, Body: added},
		Write:  succeeds(201), Read: succeeds(201),
	})
}

// bad is the verdict on a 201 that is not what it should be.
func bad(o commerce.Outcome, attempts int) []Verdict {
	return []Verdict{{Outcome: o, Failed: true, Is: commerce.ErrBadResponse, Status: 201, Attempts: attempts}}
}

// streams are other breaches of the protocol, after the body was applied.
func streams() []*Fault {
	list := []*Fault{
		{Name: "DATA without HEADERS", Frames: func(c *Conn, id uint32) { c.data(id, []byte("{}"), true) }},
		{Name: "HEADERS that can't be decoded", Frames: func(c *Conn, id uint32) {
			c.frame(frameHeaders, flagEnd|flagEndHeaders, id, []byte{0xff, 0xff, 0xff, 0xff, 0xff, 0xff})
		}},
		{Name: "HEADERS without a status", Frames: func(c *Conn, id uint32) { c.frame(frameHeaders, flagEnd|flagEndHeaders, id, field(nil, "x", "y")) }},
		{Name: "a frame larger than any", Heavy: true, Frames: func(c *Conn, id uint32) { c.frame(frameData, 0, id, make([]byte, 1<<24-1)) }},
		{Name: "half a frame", End: Close, Frames: func(c *Conn, _ uint32) { _, _ = c.Write([]byte{0, 0, 9, frameHeaders}) }},
		{Name: "HTTP/1.1 on HTTP/2", End: Close, Frames: func(c *Conn, _ uint32) { c.send("HTTP/1.1 201 Created\r\n\r\n") }},
		{Name: "1 MB of header fields", Heavy: true, Frames: func(c *Conn, id uint32) {
			var fields [][2]string
			for range 1000 {
				fields = append(fields, [2]string{"x", fmt.Sprintf("%01000d", 1)})
			}
			c.headers(id, 201, fields, true)
		}},
		{Name: "200 times 103", Heavy: true, End: Close, Frames: func(c *Conn, id uint32) {
			for range 200 {
				c.headers(id, 103, [][2]string{{"x", fmt.Sprintf("%01000d", 1)}}, false)
			}
		}},
		{
			Name: "answer, then RST_STREAM", Frames: func(c *Conn, id uint32) {
				c.headers(id, 201, nil, false)
				c.resetStream(id, codeCancel)
			},
			Write: bad(commerce.OutcomeUnreadable, 1), Read: bad(commerce.OutcomeNone, 2),
		},
		{
			Name: "answer and half its body, then RST_STREAM", Frames: func(c *Conn, id uint32) {
				c.headers(id, 201, nil, false)
				c.data(id, []byte(`{"data":[`), false)
				c.resetStream(id, codeInternal)
			},
			Write: bad(commerce.OutcomeUnreadable, 1), Read: bad(commerce.OutcomeNone, 2),
		},
		{
			Name: "whole answer, then RST_STREAM", Frames: func(c *Conn, id uint32) {
				c.headers(id, 403, nil, true)
				c.resetStream(id, codeNone)
			},
			Write: failed(commerce.OutcomeRejected, 403, 1), Read: failed(commerce.OutcomeNone, 403, 1),
		},
	}
	for _, f := range list {
		f.On, f.Applies = HTTP2, f.Name != "whole answer, then RST_STREAM"
	}
	return unanswered(list)
}
