package commerce_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/commerce-go/commerce"
)

type errorEntry = commerce.ErrorObject

var titledA = []errorEntry{{Title: "a"}}

func extra(name, value string) commerce.Extra { return commerce.Extra{name: json.RawMessage(value)} }

var errorBodies = []struct {
	name, body string
	want       []errorEntry
}{
	{
		name: "status is a string", body: `{"errors":[{"title":"Invalid","status":"400","detail":"name is required"}]}`,
		want: []errorEntry{{Status: 400, Title: "Invalid", Detail: "name is required"}},
	},
	{name: "status is a number", body: `{"errors":[{"status":500}]}`, want: []errorEntry{{Status: 500}}},
	{name: "no status", body: `{"errors":[{"title":"a"}]}`, want: titledA},
	{
		name: "odd status", body: `{"errors":[{"status":null},{"status":"bad"},{"status":[4]}]}`,
		want: []errorEntry{{}, {Extra: extra("status", `"bad"`)}, {Extra: extra("status", `[4]`)}},
	},
	{name: "an object, not an array", body: `{"errors":{"title":"a"}}`, want: titledA},
	{name: "a byte order mark", body: "\ufeff" + `{"errors":[{"title":"a"}]}`, want: titledA},
	{
		name: "meta", body: `{"errors":[{"meta":{"missing_ids":["` + itemID + `"],"id":"x","value":2}}]}`,
		want: []errorEntry{{Meta: commerce.ErrorMeta{
			MissingIDs: []uuid.UUID{uuid.MustParse(itemID)}, ID: "x", Extra: extra("value", `2`),
		}}},
	},
	{
		name: "missing ids that are no UUIDs", body: `{"errors":[{"meta":{"missing_ids":["x"],"id":7}}]}`,
		want: []errorEntry{{Meta: commerce.ErrorMeta{ID: "7", Extra: extra("missing_ids", `["x"]`)}}},
	},
	{name: "odd meta", body: `{"errors":[{"meta":[1]}]}`, want: []errorEntry{{Extra: extra("meta", `[1]`)}}},
	{name: "source is text", body: `{"errors":[{"source":"data.name"}]}`, want: []errorEntry{{Source: "data.name"}}},
	{
		name: "source has a pointer", body: `{"errors":[{"source":{"pointer":"/data/name"}}]}`,
		want: []errorEntry{{Source: "/data/name"}},
	},
	{
		name: "source has a parameter", body: `{"errors":[{"source":{"parameter":"page[limit]"}}]}`,
		want: []errorEntry{{Source: "page[limit]"}},
	},
	{
		name: "odd source", body: `{"errors":[{"source":{"a":1,"pointer":"x"}}]}`,
		want: []errorEntry{{Extra: extra("source", `{"a":1,"pointer":"x"}`)}},
	},
	{
		name: "request id and unknown members", body: `{"errors":[{"request_id":"r-9","code":"E1"}]}`,
		want: []errorEntry{{RequestID: "r-9", Extra: extra("code", `"E1"`)}},
	},
	{
		name: "entries that are no objects", body: `{"errors":[{"title":"a"},"b",5,null,{},"",false]}`,
		want: []errorEntry{{Title: "a"}, {Detail: "b"}, {Detail: "5"}},
	},
	{name: "other members", body: `{"errors":[{"title":"a"}],"data":[],"errors2":1}`, want: titledA},
	{name: "errors is a string", body: `{"errors":"bad"}`, want: []errorEntry{{Detail: "bad"}}},
	{name: "empty object", body: `{"errors":{}}`},
	{
		name: "a bare error", body: `{"title":"a","status":422,"request_id":"r-9","code":"E1"}`,
		want: []errorEntry{{Title: "a", Status: 422, RequestID: "r-9", Extra: extra("code", `"E1"`)}},
	},
	{name: "a bare error beside data", body: `{"title":"a","data":{}}`},
	{name: "a bare error beside no errors", body: `{"title":"a","errors":[]}`},
	{name: "without a title", body: `{"status":"422","detail":"a"}`},
	{name: "plain text", body: `Too Many Requests`},
	{name: "empty"},
}

func TestError_mapping(t *testing.T) {
	t.Parallel()
	for _, tt := range errorBodies {
		err := list(t.Context(), newStub(t, respond(418, tt.body)).client(t))
		if e, ok := errors.AsType[*commerce.Error](err); ok {
			diff(t, "errors: "+tt.name, e.Errors, tt.want)
		} else {
			t.Errorf("%s: error = %v, want an *Error", tt.name, err)
		}
	}
}

// Whatever a body holds, its error has the status, as many entries as the array, and a text
// without details and control characters.
func FuzzErrorBody(f *testing.F) {
	for _, body := range []string{
		``, `null`, `[]`, `0`, "\t", `{"":`, `{"errors":null}`, `{"errors":[]}`, `<html>`, `{"errors":[`, "\xff", `0E0`,
		`{"errors":[{"status":"400","title":"Bad Request","detail":"the canary sings"}]}`, `{"errors":"the canary sings"}`,
		`{"errors":[{"status":400,"detail":"the canary sings","source":{"pointer":"/data/0"},"meta":{"missing_ids":["` +
			itemID + `"],"id":"x"},"new":1}, "text", 5, null, {}]}`,
		`{"ERRORS":{"Title":"T"}}`, `{"errors":[{"title":["x"],"status":1e99,"request_id":"\r\n"}]}`,
		"{\"\x7f\xffhe canary sings\"", `{"errorsrsstatus":"400","title":"Bad Request","detail":"the canary sings"}`,
	} {
		f.Add(uint16(400), []byte(body))
		f.Add(uint16(503), []byte(body))
	}
	f.Fuzz(func(t *testing.T, code uint16, body []byte) {
		status := 400 + int(code)%200
		err := list(t.Context(), newStub(t, respond(status, string(body))).client(t, attempts(1)))
		checkError(t, err, commerce.Error{
			Op: "Subscriptions.List", StatusCode: status, Outcome: commerce.OutcomeNone, Attempts: 1,
		})
		e, _ := errors.AsType[*commerce.Error](err)
		shown := e.RequestID
		for _, o := range e.Errors {
			shown += " " + o.Title
		}
		for _, o := range e.Errors {
			if len(o.Detail) > 12 && !strings.Contains(shown, o.Detail) && strings.Contains(err.Error(), o.Detail) {
				t.Errorf("error %q holds the detail %q", err, o.Detail)
			}
		}
		if strings.ContainsFunc(err.Error(), func(r rune) bool { return r < ' ' }) {
			t.Errorf("error %q holds control characters", err)
		}
		// The same array, as encoding/json reads it.
		var v struct{ Errors []json.RawMessage }
		text := strings.ToLower(string(body))
		if json.Unmarshal(body, &v) != nil || strings.Count(text, "errors") != 1 {
			return
		}
		if v.Errors == nil && strings.Contains(text, "title") {
			return // an object with a title is an entry itself: TestError_mapping
		}
		want := slices.DeleteFunc(v.Errors, func(raw json.RawMessage) bool {
			var b bytes.Buffer
			return json.Compact(&b, raw) == nil && slices.Contains([]string{"null", "false", "0", `""`, "{}"}, b.String())
		})
		if len(e.Errors) != len(want) {
			t.Errorf("got %d entries, want %d", len(e.Errors), len(want))
		}
	})
}
