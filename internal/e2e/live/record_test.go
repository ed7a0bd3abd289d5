package live_test

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"

	"github.com/commerce-go/commerce"
	"github.com/commerce-go/commerce/commercetest"
)

// finding is the response to a question.
type finding struct {
	Question string `json:"question"`
	Status   int    `json:"status"`            // 0: no response, or an id is missing, so that nothing was sent
	Records  *int   `json:"records,omitempty"` // number of elements in data, if it is an array
	Request  string `json:"request"`
	Errors   []text `json:"errors,omitempty"`
}

// text is what the service says about an error, scrubbed.
type text struct {
	Title  string `json:"title,omitempty"`
	Detail string `json:"detail,omitempty"`
}

// isAnswer reports whether the response answers the question: other circumstances of the run
// can be the reason for some.
func (f finding) isAnswer() bool {
	for _, e := range f.Errors {
		o := commerce.ErrorObject{Title: e.Title, Detail: e.Detail}
		if errors.Is(o.Reason(), commerce.ErrDiscountLimit) {
			return false
		}
	}
	switch f.Status {
	case 0, http.StatusUnauthorized, http.StatusForbidden, http.StatusTooManyRequests:
		return false
	}
	return f.Status < 500
}

// record is what a run leaves in a file for the maintainers.
type record struct {
	Library    string    `json:"library"`
	Date       string    `json:"date"`
	Unanswered []string  `json:"unanswered"`
	Findings   []finding `json:"findings"`

	client *commerce.Client
	hide   scrubber
	ids    map[string]string // by their names in braces
}

func newRecord(c *commerce.Client, hide scrubber) *record {
	return &record{
		Library: commerce.Version, Date: time.Now().UTC().Format(time.DateOnly), Unanswered: []string{},
		client: c, hide: hide,
		ids: map[string]string{"{missing}": uuid.NewString(), "{account}": uuid.NewString()},
	}
}

// ask asks all questions. It removes the carts when the test ends.
func (r *record) ask(t *testing.T) {
	t.Helper()
	ctx := liveContext(t)
	for _, q := range questions {
		f := finding{Question: q.name, Request: q.ask}
		if q.query != "" {
			f.Request += "?" + q.query
		}
		if !names.MatchString(r.fill(q.ask + q.query + q.body)) {
			if q.clear != "" {
				_ = r.client.Carts.DeleteCustomDiscounts(ctx, r.fill(q.clear)) // there may be none
			}
			body, err := r.send(ctx, q, &f)
			if q.ask == "POST /v2/carts" {
				removeLater(t, r.client, body, err)
			}
			for _, id := range q.gives {
				if value := find(body, id.member, id.value)[cmp.Or(id.is, "id")]; value != "" {
					r.ids[id.name] = value
				}
			}
		}
		r.Findings = append(r.Findings, f)
		if !f.isAnswer() {
			r.Unanswered = append(r.Unanswered, q.name)
		}
	}
}

var names = regexp.MustCompile(`\{[a-z ]+\}`)

// fill replaces the names in braces that have an id.
func (r *record) fill(text string) string {
	return names.ReplaceAllStringFunc(text, func(name string) string { return cmp.Or(r.ids[name], name) })
}

// send sends the request of a question, and notes the response in f.
func (r *record) send(ctx context.Context, q question, f *finding) (body json.RawMessage, err error) {
	method, path, _ := strings.Cut(q.ask, " /")
	elements := strings.Split(path, "/")
	for i := range elements {
		elements[i] = r.fill(elements[i])
	}
	var query url.Values
	if name, value, ok := strings.Cut(q.query, "="); ok {
		query = url.Values{name: {r.fill(value)}}
	}
	var in any
	if q.body != "" {
		in = json.RawMessage(r.fill(q.body))
	}
	resp, err := r.client.Do(ctx, method, elements, query, in, &body)
	var list struct {
		Data   []json.RawMessage `json:"data"`
		Errors []text            `json:"errors"`
	}
	_ = json.Unmarshal(body, &list) // what fits
	if list.Data != nil {
		f.Records = new(len(list.Data))
	}
	if resp != nil {
		f.Status = resp.StatusCode
	} else if e, ok := errors.AsType[*commerce.Error](err); ok && e.Op == "Client.Do" {
		f.Status = e.StatusCode
		for _, o := range e.Errors {
			list.Errors = append(list.Errors, text{Title: o.Title, Detail: o.Detail})
		}
	}
	for _, e := range list.Errors {
		f.Errors = append(f.Errors, text{Title: r.hide(e.Title), Detail: r.hide(e.Detail)})
	}
	return body, err
}

// write writes a line for each finding.
func (r *record) write(path string) error {
	encoded, err := json.Marshal(r)
	if err != nil {
		return err
	}
	lines := strings.ReplaceAll(string(encoded), `{"question"`, "\n"+`{"question"`)
	return os.WriteFile(path, []byte(lines+"\n"), 0o600)
}

// TestLiveRecord asks what the documentation leaves open. It writes a file, whatever the
// responses, which can be sent to the maintainers: COMMERCE_LIVE_RECORD names it.
func TestLiveRecord(t *testing.T) {
	t.Parallel()
	r := newRecord(liveClient(t), newScrubber(os.Getenv))
	path := cmp.Or(os.Getenv("COMMERCE_LIVE_RECORD"), "live-record.json")
	t.Cleanup(func() {
		if err := r.write(path); err != nil {
			t.Error(err)
		}
		t.Logf("%s: %d findings, not answered: %q", path, len(r.Findings), r.Unanswered)
	})
	r.ask(t)
}

// Some stores do not respond to each question.
func TestRecord_stores(t *testing.T) {
	t.Parallel()
	always := func(operation commercetest.Operation, status int) []commercetest.Fault {
		return []commercetest.Fault{{Operation: operation, Status: status, Times: -1}}
	}
	for _, tt := range []struct {
		name       string
		cfg        commercetest.Config
		faults     []commercetest.Fault
		unanswered int
		one        string // of those that are not answered
	}{
		{name: "all is well"},
		{
			name: "one discount", cfg: commercetest.Config{CartDiscountLimit: 1},
			unanswered: 1, one: "add the same external id again",
		},
		{
			name: "no custom discounts", cfg: commercetest.Config{CartDiscountLimit: -1},
			unanswered: 5, one: "update with a fractional amount", // there is no discount
		},
		{
			name: "too many requests", faults: always(commercetest.OpAny, http.StatusTooManyRequests),
			unanswered: len(questions), one: "create a cart",
		},
		{
			name: "an invalid token", faults: always(commercetest.OpAny, http.StatusUnauthorized),
			unanswered: len(questions), one: "create a cart",
		},
		{
			name: "no right to list", faults: always(commercetest.OpList, http.StatusForbidden),
			unanswered: 10, one: "in, quoted",
		},
		{
			name: "a bad gateway", faults: always(commercetest.OpDeleteDiscount, http.StatusBadGateway),
			unanswered: 4, one: "delete a missing discount",
		},
		{
			name:   "a cart is removed at the fifth attempt",
			faults: []commercetest.Fault{{Operation: commercetest.OpDeleteCart, Status: 503, Times: 4}},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				store := commercetest.New(t, tt.cfg)
				store.Seed(8)
				store.Inject(tt.faults...)
				t.Cleanup(func() { diff(t, "carts that are left", len(store.Carts()), 0) }) // it runs after those of ask
				r := newRecord(store.Client(), newScrubber(os.Getenv))
				r.ask(t)
				diff(t, "findings", len(r.Findings), len(questions))
				if n := len(r.Unanswered); n != tt.unanswered || n > 0 && !slices.Contains(r.Unanswered, tt.one) {
					t.Errorf("not answered: got %d, %q, want %d and %q", n, r.Unanswered, tt.unanswered, tt.one)
				}
			})
		})
	}
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(req *http.Request) (*http.Response, error) { return f(req) }

// A store may add lines of its own to a cart.
func TestFind(t *testing.T) {
	t.Parallel()
	items := json.RawMessage(`{"data":[{"type":"promotion_item","id":"a"},{"meta":[1],"type":"custom_item","id":"b"}]}`)
	diff(t, "id of the custom_item", find(items, "type", "custom_item")["id"], "b")
	diff(t, "id of a cart", find(items, "type", "cart")["id"], "")
}

// A service may put anything into the texts of its errors.
func TestRecord_secrets(t *testing.T) {
	t.Parallel()
	env := map[string]string{
		"COMMERCE_BASE_URL": "https://Shop.example:8443/v2", "COMMERCE_TOKEN": "opaquetoken",
		"COMMERCE_CLIENT_ID": "client", "COMMERCE_CLIENT_SECRET": "client-secret Item",
	}
	planted := []string{
		"https:", "shop", "example", "8443", "opaquetoken", "client", "secret", "item", // words of the environment
		"3b4de20a-ccd0-44e6-894f-628e7afb3db0", "ron+1@swanson.com", "Ron Swanson", "10.1.2.3", "acme.com", "4155550100",
		"415 555 0100", "4111 1111 1111 1111", "8f14e45f", "Zoë", "SHOP.EXAMPLE", "OpaqueToken", "api.acme.internal",
	}
	const plain = `Cannot exceed custom discount limit of (1) at 10000: data.amount of custom_discounts_enabled`
	problem := plain + " <" + strings.Join(planted, "> '") + "'"
	errs := []any{map[string]string{"title": problem, "detail": problem}}
	body, err := json.Marshal(map[string]any{
		"errors": errs, "data": []any{map[string]string{"type": "cart", "id": "cart-1"}},
	})
	if err != nil {
		t.Fatal(err)
	}
	transport := roundTripper(func(req *http.Request) (*http.Response, error) {
		status := map[string]int{"POST": http.StatusCreated, "DELETE": http.StatusNotFound}[req.Method]
		return &http.Response{
			StatusCode: cmp.Or(status, http.StatusConflict), Header: http.Header{}, Request: req,
			Body: io.NopCloser(bytes.NewReader(body)),
		}, nil
	})
	c, err := commerce.New("https://store.example", commerce.WithToken("a"),
		commerce.WithHTTPClient(&http.Client{Transport: transport}))
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "record.json")
	r := newRecord(c, newScrubber(func(name string) string { return env[name] }))
	r.ask(t)
	if err := r.write(path); err != nil {
		t.Fatal(err)
	}
	written, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var decoded record
	if err := json.Unmarshal(written, &decoded); err != nil || len(decoded.Findings) != len(questions) {
		t.Fatalf("got %d findings, error %v, want %d", len(decoded.Findings), err, len(questions))
	}
	kept := 0
	for _, f := range decoded.Findings {
		for _, e := range f.Errors {
			rest, ok := strings.CutPrefix(e.Title, plain)
			leaks := func(secret string) bool { return strings.Contains(strings.ToLower(rest), strings.ToLower(secret)) }
			if kept++; !ok || e.Detail != e.Title || slices.ContainsFunc(planted, leaks) {
				t.Fatalf("%s: got %q, want %q and none of %q", f.Question, e, plain, planted)
			}
		}
	}
	if kept == 0 {
		t.Error("got no text")
	}
}
