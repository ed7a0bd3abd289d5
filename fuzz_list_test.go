package commerce

import (
	"os"
	"reflect"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"
)

// What the cursor of internal/wire reads must be what the decoder reads, and a list
// must be accepted exactly if it is JSON that encoding/json/v2 takes for an object:
// nothing in it can lose a page but its form.
func FuzzListBody(f *testing.F) {
	for _, generation := range []string{"first", "second"} {
		page, err := os.ReadFile("testdata/payload/" + generation + "_generation.json")
		if err != nil {
			f.Fatal(err)
		}
		f.Add(page)
	}
	for _, page := range []string{
		`{}`, `null`, `[]`, `{"data":null}`, `{"data":[]}`, ` { "data" : [ { } , null ] , "links" : { "next" : null } } `,
		`{"data":[{"id":"","type":"\u0061\\","meta":{"canceled":null,"timestamps":{"created_at":"soon"}},"Extra":1,"\u0069d":"x"}]}`,
		`{"data":[{"relationships":{"r":{"data":[{"id":"3b4de20a-ccd0-44e6-894f-628e7afb3db0"}],"links":{"self":{"href":"/"}}}}}]}`,
		`{"included":{"plans":[{"attributes":{"plan_length":1.50,"fixed_price":{"USD":{"amount":"12"}}},"meta":{"display_price":{"with_tax":5}}}]}}`,
		"{\"data\":[{\"type\":\"\xff\",\"\xff\":{\"a\":[1e9,{}]}}]}",
		`{"data":[{"id":1,"id":2}]}`, `{"data":[{}],"data":[]}`, `{"data":[5]}`, `{"links":[],"included":false}`,
	} {
		f.Add([]byte(page))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		var got, want listBody
		err, plainErr := payloads.Unmarshal(b, &got), payloads.Decode(b, &want)
		if (err == nil) != (plainErr == nil) {
			t.Fatalf("error %v, by the decoder %v", err, plainErr)
		}
		var object map[string]jsontext.Value
		if independent := json.Unmarshal(b, &object, jsontext.AllowInvalidUTF8(true)); (err == nil) != (independent == nil) {
			t.Fatalf("error %v, of encoding/json/v2 %v", err, independent)
		}
		if err != nil {
			return
		}
		if !reflect.DeepEqual(want, got) {
			t.Fatalf("-decoder +cursor:\n%s", cmp.Diff(want, got))
		}
	})
}
