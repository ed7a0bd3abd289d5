package verify

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"regexp"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/google/uuid"

	"github.com/commerce-go/commerce/commercetest"
)

// recorder keeps the texts of all responses, and the bodies of all requests.
type recorder struct {
	base http.RoundTripper

	mu   sync.Mutex
	sent strings.Builder
	got  map[string]bool
}

func (rec *recorder) RoundTrip(r *http.Request) (*http.Response, error) {
	var sent []byte
	if r.Body != nil {
		sent, _ = io.ReadAll(r.Body)
		r.Body = io.NopCloser(bytes.NewReader(sent))
	}
	resp, err := rec.base.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	body, err := io.ReadAll(resp.Body)
	resp.Body = io.NopCloser(bytes.NewReader(body))
	rec.mu.Lock()
	defer rec.mu.Unlock()
	rec.sent.Write(sent)
	var v any
	if json.Unmarshal(body, &v) != nil {
		v = string(body)
	}
	rec.collect(v)
	return resp, err
}

// collect adds the texts in a value.
func (rec *recorder) collect(v any) {
	switch v := v.(type) {
	case string:
		rec.got[v] = true
	case []any:
		for _, in := range v {
			rec.collect(in)
		}
	case map[string]any:
		for _, in := range v {
			rec.collect(in)
		}
	}
}

// Neither the table nor the report has a text of the store: of a usual one, of one that differs,
// and of one whose errors have secrets.
func TestReport_private(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../../../docs/service.md")
	if err != nil {
		t.Fatal(err)
	}
	for name, prepare := range map[string]func(*commercetest.Store){
		"usual": nil,
		"differs": func(s *commercetest.Store) {
			s.Inject(commercetest.Fault{Operation: commercetest.OpAddItemDiscount, Status: 418, Body: secretError, Times: -1})
			s.Inject(commercetest.Fault{Operation: commercetest.OpUpdateDiscount, Status: 409, Body: secretError, Times: -1})
			s.Inject(commercetest.Fault{Operation: commercetest.OpSettings, Body: secretSettings, Times: 1})
		},
		"refuses": func(s *commercetest.Store) {
			s.Inject(commercetest.Fault{Status: 451, Body: secretError, After: 5, Times: -1})
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := commercetest.New(t, usual())
				s.Seed(22)
				if prepare != nil {
					prepare(s)
				}
				rec := &recorder{base: s.Transport(), got: map[string]bool{}}
				r := run(t.Context(), t, rec, everything(s))
				text, err := json.Marshal(r.Results)
				if err != nil {
					t.Fatal(err)
				}
				printed := strings.ReplaceAll(r.Markdown("test")+string(text), row, "")
				searched := 0
				for got := range rec.got {
					isSent := uuid.Validate(got) != nil && strings.Contains(rec.sent.String(), got)
					isSent = isSent || strings.HasPrefix(got, cartPrefix)
					if len(got) <= 3 || isSent || strings.Contains(string(page), got) {
						continue
					}
					if searched++; strings.Contains(printed, got) {
						t.Errorf("the report has the text %q of the store", got)
					}
				}
				if searched < 20 {
					t.Errorf("searched for %d texts, want at least 20", searched)
				}
				t.Logf("searched for %d texts; %d facts differ", searched, r.Count(Differs))
			})
		})
	}
}

const (
	secretError    = `{"errors":[{"title":"secret title","detail":"secret detail","status":"secret status"}]}`
	secretSettings = `{"data":{"calculation_method":"secret method","page_length":"secret length"}}`
)

func TestReport_markdown(t *testing.T) {
	t.Parallel()
	r := &Report{
		Generation: "second", Method: "line", Tax: "unknown", Requests: 12, Interrupted: true, Left: []string{"some cart"},
		Results: []Result{{Verdict: Differs, Grade: "open", Fact: "f-add", Documented: "201", Observed: "418"}},
	}
	got := r.Markdown("epcommerce 1.2.3")
	for _, want := range []string{
		"- version: epcommerce 1.2.3\n", "- generation: second\n", "- calculation method: line\n", "- tax: unknown\n",
		"- requests: 12 in 0 s\n", "- interrupted\n", "- left in the store: some cart\n",
		"| differs | open | f-add [row](https://github.com/commerce-go/commerce/blob/main/docs/service.md#f-add) | 201 |",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("got %s\nwant %q in it", got, want)
		}
	}
	for _, f := range facts {
		for _, text := range append([]string{f.want}, f.may...) {
			if strings.Contains(text, "|") || !regexp.MustCompile(`^f-[a-z0-9-]+$`).MatchString(f.name) {
				t.Errorf("%s: %q breaks the table", f.name, text)
			}
		}
	}
}
