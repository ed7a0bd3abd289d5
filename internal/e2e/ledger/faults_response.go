package ledger

import (
	"bytes"
	"fmt"
	"strings"
	"sync"

	"github.com/commerce-go/commerce"
)

const failedItem = `{"status":404,"title":"Custom discount not added to cart item."}`

// additions are responses that show discounts as added: all or a part of them, also in
// unusual encodings and with unusual status codes.
func additions() []*Fault {
	half := func(ids []string) string { return `{"data":` + discounts(ids[:1]) + `}` }
	halfWithError := func(ids []string) string {
		return `{"data":` + discounts(ids[:1]) + `,"errors":[` + failedItem + `]}`
	}
	allWithErrors := func(entries string) func(ids []string) string {
		return func(ids []string) string { return `{"data":` + discounts(ids) + `,"errors":[` + entries + `]}` }
	}
	allUnnamed := func(ids []string) string { return `{"data":` + discounts(make([]string, len(ids))) + `}` }
	other := func([]string) string { return `{"data":` + discounts([]string{"other"}) + `}` }
	list := []*Fault{
		{Name: "200, all added", Response: &Response{Status: 200, Body: added}},
		{Name: "202, all added", Response: &Response{Status: 202, Body: added}},
		{Name: "all added, in chunks", Response: &Response{Status: 201, Body: added, Chunked: true}},
		{Name: "all added, compressed", Response: &Response{Status: 201, Body: added, Gzip: true}},
		{Name: "all added, no length", On: anyHTTP1, End: Close,
			Response: &Response{Status: 201, Body: added, ToClose: true}},
		{Name: "all added, then closed", Response: &Response{Status: 201, Body: added}, End: Close},
		{Name: "all added, after a 103", On: anyHTTP1, Response: &Response{Status: 201, Body: added},
			Raw: func(c *Conn) { c.send("HTTP/1.1 103 Early Hints\r\nX: y\r\n\r\n") }},
		{Name: "all added, without external ids", Response: &Response{Status: 201, Body: forWrites(allUnnamed)}},
		{Name: "all added, with empty errors", Response: &Response{Status: 201, Body: forWrites(allWithErrors(""))}},

		{Name: "half added, half failed", Write: wantPartial(201),
			Response: &Response{Status: 201, Body: forWrites(halfWithError)}},
		{Name: "half added, the rest not mentioned", Write: wantPartial(201),
			Response: &Response{Status: 201, Body: forWrites(half)}},
		{Name: "a discount that was not sent", Write: wantPartial(201),
			Response: &Response{Status: 201, Body: forWrites(other)}},
		{Name: "all added, with an error", Write: wantPartial(201),
			Response: &Response{Status: 201, Body: forWrites(allWithErrors(failedItem))}},
	}
	for _, f := range list {
		f.Read = wantSuccess(f.Response.Status)
		if f.Write == nil {
			f.Write = f.Read
		}
	}
	for _, status := range []int{307, 404, 429, 500, 503} {
		list = append(list, &Fault{
			Name: fmt.Sprintf("%d that adds half", status), Response: &Response{Status: status, Body: forWrites(halfWithError)},
			Write: wantPartial(status), Read: wantFailedRead(status),
		})
	}
	list = append(list, &Fault{Name: "500 that adds all", Response: &Response{Status: 500, Body: added},
		Write: wantPartial(500), Read: wantFailedRead(500)})
	return applied(withDefaults(list, all, nil, nil))
}

// unreadableResponses are successes that do not show what was done. One states that
// nothing was.
func unreadableResponses() []*Fault {
	var list []*Fault
	for _, b := range []struct{ name, body string }{
		{name: "null", body: "null"},
		{name: "{}", body: "{}"},
		{name: "[]", body: "[]"},
		{name: "a string", body: `"added"`},
		{name: "HTML", body: "<html><body>Please log in</body></html>"},
		{name: "an empty body", body: ""},
		{name: "white space", body: " \r\n"},
		{name: "half a character", body: `{"data":[{"id":"` + "\xc3"},
		{name: "data: a number", body: `{"data":1}`},
		{name: "data twice", body: `{"data":[],"data":[]}`},
		{name: "two values", body: `{"data":[]}{}`},
		{name: "fewer errors than discounts", body: `{"data":[],"errors":[` + failedItem + `]}`},
	} {
		list = append(list, &Fault{Name: "201 with " + b.name, Response: &Response{Status: 201, Body: text(b.body)}})
	}
	gzipHeader := []string{"Content-Encoding: gzip"}
	list = applied(append(list,
		&Fault{Name: "204", Response: &Response{Status: 204}, Write: wantUnreadable(204), Read: wantBadRead(204)},
		&Fault{Name: "201 with no discount and no error", Response: &Response{Status: 201, Body: text(page)},
			Read: wantSuccess(201)},
		&Fault{Name: "201 with data: null", Response: &Response{Status: 201, Body: text(`{"data":null}`)},
			Read: wantSuccess(201)},
		&Fault{Name: "201, not gzip despite its header",
			Response: &Response{Status: 201, Header: gzipHeader, Body: text("garbage, not gzip")}},
		&Fault{Name: "201, truncated gzip", End: Close,
			Response: &Response{Status: 201, Gzip: true, Body: added, Truncate: halfOf}},
		&Fault{Name: "201, invalid chunks", On: anyHTTP1, End: Close, Raw: func(c *Conn) {
			c.send("HTTP/1.1 201 Created\r\nTransfer-Encoding: chunked\r\n\r\nxyz\r\n{}")
		}},
		&Fault{Name: "201, a length too short", Response: &Response{Status: 201, Body: added, ExtraLength: -3}, End: Close},
		// The next response would be too large, too: the read is not made again.
		&Fault{Name: "201, a decompression bomb", Heavy: true, On: HTTP1 | HTTP2,
			Response: &Response{Status: 201, Header: gzipHeader, Body: func(*Request) string { return bomb() }},
			Read:     wantError(commerce.OutcomeNone, 201, 1)},
	))
	list = append(list, &Fault{
		Name: "200, all rejected", Response: &Response{Status: 200, Body: forWrites(func(ids []string) string {
			return `{"data":[],"errors":[` + strings.Repeat(failedItem+",", len(ids)-1) + failedItem + `]}`
		})},
		Write: []Want{{Outcome: commerce.OutcomeRejected, Failed: true, Status: 200, Attempts: 1}}, Read: wantSuccess(200),
	})
	return withDefaults(list, all, wantUnreadable(201), wantBadRead(201))
}

// bomb returns 33 MB, compressed: more than the library accepts.
var bomb = sync.OnceValue(func() string { return string(zip(bytes.Repeat([]byte("x"), 33<<20))) })

func halfOf(n int) int { return n / 2 }

// truncatedResponses are successes of which a part arrives.
func truncatedResponses() []*Fault {
	var list []*Fault
	for _, t := range []struct {
		where    string
		truncate func(int) int
		stalls   bool
	}{
		{where: "before its first byte", truncate: func(int) int { return 0 }, stalls: true},
		{where: "after its first byte", truncate: func(int) int { return 1 }},
		{where: "in the middle", truncate: halfOf, stalls: true},
		{where: "before its last byte", truncate: func(n int) int { return n - 1 }},
	} {
		body := Response{Status: 201, Body: added, Truncate: t.truncate}
		chunks, unlimited := body, body
		chunks.Chunked, unlimited.ToClose = true, true
		list = append(list,
			&Fault{Name: "201, body closed " + t.where, Response: &body, End: Close},
			&Fault{Name: "201, body reset " + t.where, Response: &body, End: Reset},
			&Fault{Name: "201, chunks closed " + t.where, On: anyHTTP1, Response: &chunks, End: Close},
		)
		list = append(list, &Fault{
			Name: "201, body without a length closed " + t.where, On: anyHTTP1, Response: &unlimited, End: Close,
			Write: because(commerce.ErrBadResponse, wantUnreadable(201)),
			Read:  because(commerce.ErrBadResponse, wantBadRead(201)),
		})
		if t.stalls {
			list = append(list, &Fault{
				Name: "201, body stalled " + t.where, Response: &body, End: Stall, WriteWaits: true, ReadWaits: true,
				Write: because(commerce.ErrTimeout, wantUnreadable(201)), Read: because(commerce.ErrTimeout, wantBadRead(201)),
			})
		}
	}
	// The JSON is complete, so it shows what was added. A read needs the whole length.
	list = append(list, &Fault{
		Name: "201, all added, and a length too long", Response: &Response{Status: 201, Body: added, ExtraLength: 5},
		End: Close, Write: wantSuccess(201),
	})
	isCut := commerce.ErrConnection
	return applied(withDefaults(list, all, because(isCut, wantUnreadable(201)), because(isCut, wantBadRead(201))))
}

// statuses are responses whose status alone gives the outcome.
func statuses() []*Fault {
	var list []*Fault
	for _, status := range []int{
		300, 302, 304, 307, 308, 400, 401, 403, 404, 408, 409, 421, 422, 425, 429, 499, 500, 501, 503, 599, 600, 999,
	} {
		outcome, attempts := commerce.OutcomeUnknown, 1
		switch {
		case status == 421, status == 425:
			outcome, attempts = commerce.OutcomeRejected, 2
		case status == 429:
			outcome, attempts = commerce.OutcomeRejected, slowed
		case status == 307, status == 308, status >= 400 && status <= 499 && status != 408:
			outcome = commerce.OutcomeRejected
		}
		resp := &Response{Status: status, Body: text(fmt.Sprintf(`{"errors":[{"status":"%d","title":"refused"}]}`, status))}
		if status == 304 {
			resp.Body = nil
		}
		if status/100 == 3 {
			resp.Header = []string{"Location: /elsewhere"}
		}
		list = append(list, &Fault{
			Name: fmt.Sprint(status), On: all, Response: resp,
			Write: wantError(outcome, status, attempts), Read: wantFailedRead(status),
		})
	}
	for _, status := range []int{302, 408, 500, 502, 503, 504} {
		list = append(list, &Fault{
			Name: fmt.Sprintf("%d after it was applied", status), On: all, Applies: true,
			Response: &Response{Status: status, Body: text("<html>")},
			Write:    wantError(commerce.OutcomeUnknown, status, 1), Read: wantFailedRead(status),
		})
	}
	return list
}

// errorBodies are responses with an error status and an unusual header or body.
func errorBodies() []*Fault {
	unknown := func(status int) []Want { return wantError(commerce.OutcomeUnknown, status, 1) }
	once := func(status int) []Want { return wantError(commerce.OutcomeNone, status, 1) }
	retryAfter := func(status int, value string) *Response {
		return &Response{Status: status, Header: []string{"Retry-After: " + value}}
	}
	notFound := text(`{"errors":[{"status":404,"title":"Not Found"}]}`)
	truncated := func(status int) *Response {
		return &Response{Status: status, Body: notFound, Truncate: halfOf}
	}
	list := []*Fault{
		{Name: "429 with Retry-After: 0", Response: retryAfter(429, "0"), Write: wantRejected(429, slowed)},
		{Name: "429 with an invalid Retry-After", Response: retryAfter(429, "soon"), Write: wantRejected(429, slowed)},
		{Name: "429 with Retry-After: 3600", Response: retryAfter(429, "3600"), Write: wantRejected(429, 1), Read: once(429)},
		{Name: "503 with Retry-After: 3600", Response: retryAfter(503, "3600"), Write: unknown(503), Read: once(503)},
		{Name: "404 with HTML", Response: &Response{Status: 404, Body: text("<html>")}, Write: wantRejected(404, 1)},
		{Name: "404 with truncated HTML", Response: &Response{Status: 404, Body: text("<html></html>"), Truncate: halfOf},
			End: Close, Write: wantRejected(404, 1)},
		{Name: "400, then closed", Response: &Response{Status: 400, Body: notFound}, End: Close, Write: wantRejected(400, 1)},
		// The missing part of the JSON may show discounts that were added.
		{Name: "404 with truncated JSON", Response: truncated(404), End: Close, Write: unknown(404)},
		{Name: "429 with truncated JSON", Response: truncated(429), End: Close, Write: unknown(429)},
		{Name: "500 with truncated JSON", Response: truncated(500), End: Reset, Write: unknown(500)},
		{Name: "404 with JSON that stalls", Response: truncated(404), End: Stall, Write: unknown(404),
			WriteWaits: true, ReadWaits: true},
		{Name: "500 with 2 MB", Heavy: true, Response: &Response{Status: 500, Body: text(strings.Repeat("x", 2<<20))},
			Write: unknown(500), Read: once(500)},
	}
	for _, f := range list {
		if f.On = all; f.Read == nil {
			f.Read = wantFailedRead(f.Response.Status)
		}
	}
	return list
}
