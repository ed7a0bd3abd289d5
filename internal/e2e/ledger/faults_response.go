package ledger

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/commerce-go/commerce"
)

const failedItem = `{"status":404,"title":"Custom discount not added to cart item."}`

// successes are answers in which some of the body was applied, and odd ways to
// send them.
func successes() []*Fault {
	partial := func(status int) []Verdict {
		return []Verdict{{Outcome: commerce.OutcomePartial, Failed: true, Is: commerce.ErrPartialFailure, Status: status, Attempts: 1}}
	}
	half := write(func(ids []string) string { return `{"data":` + discounts(ids[:1]) + `,"errors":[` + failedItem + `]}` })
	list := []*Fault{
		{Name: "200, all added", Answer: &Answer{Status: 200, Body: added}},
		{Name: "202, all added", Answer: &Answer{Status: 202, Body: added}},
		{Name: "all added, in chunks", Answer: &Answer{Status: 201, Body: added, Chunked: true}},
		{Name: "all added, zipped", Answer: &Answer{Status: 201, Body: added, Gzip: true}},
		{Name: "all added, to the connection's end", On: anyHTTP1, Answer: &Answer{Status: 201, Body: added, ToClose: true}, End: Close},
		{Name: "all added, then closed", Answer: &Answer{Status: 201, Body: added}, End: Close},
		{Name: "all added, after a 103", On: anyHTTP1, Raw: func(c *Conn) { c.send("HTTP/1.1 103 Early Hints\r\nX: y\r\n\r\n") }, Answer: &Answer{Status: 201, Body: added}},
		{
			Name:   "all added without external ids",
			Answer: &Answer{Status: 201, Body: write(func(ids []string) string { return `{"data":` + discounts(make([]string, len(ids))) + `}` })},
		},
		{Name: "all added, with empty errors", Answer: &Answer{Status: 201, Body: write(func(ids []string) string { return `{"data":` + discounts(ids) + `,"errors":[]}` })}},

		{Name: "half added, half failed", Answer: &Answer{Status: 201, Body: half}, Write: partial(201)},
		{Name: "half added, silence on the rest", Answer: &Answer{Status: 201, Body: write(func(ids []string) string { return `{"data":` + discounts(ids[:1]) + `}` })}, Write: partial(201)},
		{Name: "another's discount", Answer: &Answer{Status: 201, Body: write(func([]string) string { return `{"data":` + discounts([]string{"other"}) + `}` })}, Write: partial(201)},
		{Name: "all added, with an error", Answer: &Answer{Status: 201, Body: write(func(ids []string) string { return `{"data":` + discounts(ids) + `,"errors":[` + failedItem + `]}` })}, Write: partial(201)},
	}
	for _, f := range list {
		if f.Write == nil {
			f.Write = succeeds(f.Answer.Status)
		}
		f.Read = succeeds(f.Answer.Status)
	}
	// The same under a status that is no success.
	for _, status := range []int{307, 404, 429, 500, 503} {
		list = append(list, &Fault{
			Name: fmt.Sprintf("%d that adds half", status), Answer: &Answer{Status: status, Body: half},
			Write: partial(status), Read: readOf(status),
		})
	}
	list = append(list, &Fault{Name: "500 that adds all", Answer: &Answer{Status: 500, Body: added}, Write: partial(500), Read: readOf(500)})
	return applied(list)
}

// applied marks faults that apply the body, on all protocols where none are named.
func applied(list []*Fault) []*Fault {
	for _, f := range list {
		f.Applies = true
		if f.On == 0 {
			f.On = all
		}
	}
	return list
}

// unreadable answers are a success that does not tell what it did, and those
// that tell that nothing was done.
func unreadable() []*Fault {
	var list []*Fault
	for _, b := range []struct{ name, body string }{
		{"null", "null"}, {"{}", "{}"}, {"[]", "[]"}, {"a string", `"added"`}, {"HTML", "<html><body>Welcome to this hotel</body></html>"},
		{"an empty body", ""}, {"white space", " \r\n"}, {"half a character", `{"data":[{"id":"` + "\xc3"}, {"data: null", `{"data":null}`},
		{"data: a number", `{"data":1}`}, {"data twice", `{"data":[],"data":[]}`}, {"two values", `{"data":[]}{}`},
	} {
		list = append(list, &Fault{Name: "201 with " + b.name, Answer: &Answer{Status: 201, Body: text(b.body)}, Write: noWord(201), Read: badRead(201)})
	}
	list = append(applied(append(list,
		&Fault{Name: "204", Answer: &Answer{Status: 204}, Write: noWord(204), Read: badRead(204)},
		&Fault{Name: "201 with no discount and no reason", Answer: &Answer{Status: 201, Body: text(page)}, Write: noWord(201), Read: succeeds(201)},
		&Fault{Name: "201 with fewer errors than discounts", Answer: &Answer{Status: 201, Body: text(`{"data":[],"errors":[` + failedItem + `]}`)}, Write: noWord(201), Read: badRead(201)},
		&Fault{Name: "201, no gzip though it says so", Answer: &Answer{Status: 201, Header: []string{"Content-Encoding: gzip"}, Body: text("garbage, not gzip")}, Write: noWord(201), Read: badRead(201)},
		&Fault{Name: "201, gzip that is cut", Answer: &Answer{Status: 201, Gzip: true, Body: added, Cut: halfOf}, End: Close, Write: noWord(201), Read: badRead(201)},
		&Fault{Name: "201, chunks that are none", On: anyHTTP1, Raw: func(c *Conn) { c.send("HTTP/1.1 201 Created\r\nTransfer-Encoding: chunked\r\n\r\nxyz\r\n{}") }, End: Close, Write: noWord(201), Read: badRead(201)},
		&Fault{Name: "201, a length too short", Answer: &Answer{Status: 201, Body: added, Promise: -3}, End: Close, Write: noWord(201), Read: badRead(201)},
		// Too large would be too large again: it is not read twice.
		&Fault{Name: "201, a bomb", Heavy: true, On: HTTP1 | HTTP2, Answer: &Answer{Status: 201, Header: []string{"Content-Encoding: gzip"}, Body: func(*Request) string { return bomb() }}, Write: noWord(201), Read: failed(commerce.OutcomeNone, 201, 1)},
	)), &Fault{
		Name: "200, all refused", On: all, Answer: &Answer{Status: 200, Body: write(func(ids []string) string {
			return `{"data":[],"errors":[` + strings.Repeat(failedItem+",", len(ids)-1) + failedItem + `]}`
		})},
		Write: []Verdict{{Outcome: commerce.OutcomeRejected, Failed: true, Status: 200, Attempts: 1}}, Read: succeeds(200),
	})
	for _, f := range list {
		for _, verdicts := range [][]Verdict{f.Write, f.Read} {
			if v := &verdicts[0]; v.Failed && v.Outcome != commerce.OutcomeRejected {
				v.Is = commerce.ErrBadResponse
			}
		}
	}
	return list
}

// bomb is 33 MB, zipped, that no decoder would read far into.
var bomb = sync.OnceValue(func() string { return string(zip(bytes.Repeat([]byte("x"), 33<<20))) })

func none(int) int     { return 0 }
func halfOf(n int) int { return n / 2 }

// cuts are answers of which not all arrives.
func cuts() []*Fault {
	bad := func(f *Fault) *Fault {
		f.Write, f.Read = noWord(201), badRead(201)
		f.Write[0].Is, f.Read[0].Is = commerce.ErrBadResponse, commerce.ErrBadResponse
		return f
	}
	var list []*Fault
	for name, cut := range map[string]func(int) int{
		"before its first byte": none,
		"after its first byte":  func(int) int { return 1 },
		"in the middle":         halfOf,
		"before its last byte":  func(n int) int { return n - 1 },
	} {
		list = append(list,
			bad(&Fault{Name: "201, body closed " + name, Answer: &Answer{Status: 201, Body: added, Cut: cut}, End: Close}),
			bad(&Fault{Name: "201, body reset " + name, Answer: &Answer{Status: 201, Body: added, Cut: cut}, End: Reset}),
			bad(&Fault{Name: "201, chunks closed " + name, On: anyHTTP1, Answer: &Answer{Status: 201, Body: added, Cut: cut, Chunked: true}, End: Close}),
			bad(&Fault{Name: "201, ended " + name, On: anyHTTP1, Answer: &Answer{Status: 201, Body: added, Cut: cut, ToClose: true}, End: Close}),
		)
	}
	for name, cut := range map[string]func(int) int{"before its first byte": none, "in the middle": halfOf} {
		list = append(list, bad(&Fault{Name: "201, body stalled " + name, Answer: &Answer{Status: 201, Body: added, Cut: cut}, End: Stall, WriteWaits: true, ReadWaits: true}))
	}
	slices.SortFunc(list, func(a, b *Fault) int { return strings.Compare(a.Name, b.Name) }) // a map has no order
	// All of the JSON is there, so it tells what was added. A read is held to its length.
	whole := bad(&Fault{Name: "201, all added, and a longer length", Answer: &Answer{Status: 201, Body: added, Promise: 5}, End: Close})
	whole.Write = succeeds(201)
	return applied(append(list, whole))
}

// readOf is the verdict on a read that is answered with a status of 300 and above.
func readOf(status int) []Verdict {
	switch status {
	case 408, 421, 425, 429, 500, 502, 503, 504:
		return failed(commerce.OutcomeNone, status, 2)
	}
	return failed(commerce.OutcomeNone, status, 1)
}

// statuses are answers of which the status tells all.
func statuses() []*Fault {
	var list []*Fault
	for _, status := range []int{300, 301, 302, 303, 304, 307, 308, 400, 401, 402, 403, 404, 405, 408, 409, 410, 413, 415, 421, 422, 425, 429, 431, 451, 499, 500, 501, 502, 503, 504, 507, 511, 599, 600, 999} {
		outcome, attempts := commerce.OutcomeUnknown, 1
		switch {
		case status == 421, status == 425, status == 429:
			outcome, attempts = commerce.OutcomeRejected, 2
		case status == 307, status == 308, status >= 400 && status <= 499 && status != 408:
			outcome = commerce.OutcomeRejected
		}
		a := &Answer{Status: status, Body: text(`{"errors":[{"status":"` + fmt.Sprint(status) + `","title":"refused"}]}`)}
		if status == 304 {
			a.Body = nil
		}
		if status/100 == 3 {
			a.Header = []string{"Location: /elsewhere"}
		}
		list = append(list, &Fault{Name: fmt.Sprint(status), On: all, Answer: a, Write: failed(outcome, status, attempts), Read: readOf(status)})
	}
	for _, status := range []int{302, 408, 500, 502, 503, 504} {
		list = append(list, &Fault{
			Name: fmt.Sprintf("%d after it was applied", status), On: all, Applies: true, Answer: &Answer{Status: status, Body: text("<html>")},
			Write: failed(commerce.OutcomeUnknown, status, 1), Read: readOf(status),
		})
	}
	return list
}

// errorBodies are refusals with something odd besides their status.
func errorBodies() []*Fault {
	refusal := text(`{"errors":[{"status":404,"title":"Not Found"}]}`)
	rejected := func(status, attempts int) []Verdict { return failed(commerce.OutcomeRejected, status, attempts) }
	list := []*Fault{
		{Name: "429 that lets repeat at once", Answer: &Answer{Status: 429, Header: []string{"Retry-After: 0"}}, Write: rejected(429, 2), Read: readOf(429)},
		{Name: "429 with a wait that is no time", Answer: &Answer{Status: 429, Header: []string{"Retry-After: soon"}}, Write: rejected(429, 2), Read: readOf(429)},
		{Name: "429 with a long wait", Answer: &Answer{Status: 429, Header: []string{"Retry-After: 3600"}}, Write: rejected(429, 1), Read: failed(commerce.OutcomeNone, 429, 1)},
		{Name: "503 with a long wait", Answer: &Answer{Status: 503, Header: []string{"Retry-After: 3600"}}, Write: failed(commerce.OutcomeUnknown, 503, 1), Read: failed(commerce.OutcomeNone, 503, 1)},
		{Name: "404 with HTML", Answer: &Answer{Status: 404, Body: text("<html>")}, Write: rejected(404, 1), Read: readOf(404)},
		{Name: "404 of HTML that is cut", Answer: &Answer{Status: 404, Body: text("<html></html>"), Cut: halfOf}, End: Close, Write: rejected(404, 1), Read: readOf(404)},
		{Name: "400, closed", Answer: &Answer{Status: 400, Body: refusal}, End: Close, Write: rejected(400, 1), Read: readOf(400)},
		// What is cut off may have told of discounts that were added.
		{Name: "404 of JSON that is cut", Answer: &Answer{Status: 404, Body: refusal, Cut: halfOf}, End: Close, Write: failed(commerce.OutcomeUnknown, 404, 1), Read: readOf(404)},
		{Name: "429 of JSON that is cut", Answer: &Answer{Status: 429, Body: refusal, Cut: halfOf}, End: Close, Write: failed(commerce.OutcomeUnknown, 429, 1), Read: readOf(429)},
		{Name: "500 of JSON that is cut", Answer: &Answer{Status: 500, Body: refusal, Cut: halfOf}, End: Reset, Write: failed(commerce.OutcomeUnknown, 500, 1), Read: readOf(500)},
		{
			Name: "404 of JSON that stalls", Answer: &Answer{Status: 404, Body: refusal, Cut: halfOf}, End: Stall, WriteWaits: true, ReadWaits: true,
			Write: failed(commerce.OutcomeUnknown, 404, 1), Read: readOf(404),
		},
		{Name: "500 of 2 MB", Heavy: true, Answer: &Answer{Status: 500, Body: text(strings.Repeat("x", 2<<20))}, Write: failed(commerce.OutcomeUnknown, 500, 1), Read: failed(commerce.OutcomeNone, 500, 1)},
	}
	for _, f := range list {
		f.On = all
	}
	return list
}
