package commerce_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"golang.org/x/oauth2"

	"github.com/commerce-go/commerce"
)

// The text of a ValidationError is bounded, and says how many problems there are.
func TestValidationError_text(t *testing.T) {
	t.Parallel()
	_, err := newStub(t).client(t).Carts.AddCustomDiscounts(bg, cartID, make([]commerce.NewCustomDiscount, 10_000), nil)
	if v, ok := errors.AsType[*commerce.ValidationError](err); !ok || len(v.Fields) != 50_000 {
		t.Fatalf("%T, want a ValidationError with 50,000 problems", err)
	}
	if text := err.Error(); len(text) > 500 || !strings.HasSuffix(text, "; and others, 50000 in all") {
		t.Errorf("%d bytes: %.500s", len(text), text)
	}
}

func TestError_mapping(t *testing.T) {
	t.Parallel()
	const missing = "3b4de20a-ccd0-44e6-894f-628e7afb3db0"
	tests := []struct {
		name, body string
		want       []commerce.ErrorObject
	}{
		{"status as a string", `{"errors":[{"title":"Validation Error","status":"400","detail":"name is required"}]}`,
			[]commerce.ErrorObject{{Status: 400, Title: "Validation Error", Detail: "name is required"}}},
		{"status as a number", `{"errors":[{"title":"Internal Server Error","status":500}]}`, []commerce.ErrorObject{{Status: 500, Title: "Internal Server Error"}}},
		{"status absent", `{"errors":[{"title":"Bad Request","detail":"Could not parse the supplied filter"}]}`,
			[]commerce.ErrorObject{{Title: "Bad Request", Detail: "Could not parse the supplied filter"}}},
		{"status null or odd", `{"errors":[{"status":null},{"status":"bad"},{"status":[4]}]}`,
			[]commerce.ErrorObject{{}, {Extra: commerce.Extra{"status": json.RawMessage(`"bad"`)}}, {Extra: commerce.Extra{"status": json.RawMessage(`[4]`)}}}},
		{"names in upper case", `{"errors":[{"Status":404,"Title":"T","Detail":"D"}]}`, []commerce.ErrorObject{{Status: 404, Title: "T", Detail: "D"}}},
		{"the last of duplicates", `{"errors":[{"title":"a","Title":"b"}]}`, []commerce.ErrorObject{{Title: "b"}}},
		{"an object instead of an array", `{"errors":{"title":"Alone","status":"409"}}`, []commerce.ErrorObject{{Status: 409, Title: "Alone"}}},
		{"meta", `{"errors":[{"title":"T","meta":{"missing_ids":["` + missing + `"],"id":"x","ids":[1],"value":2}}]}`,
			[]commerce.ErrorObject{{Title: "T", Meta: commerce.ErrorMeta{MissingIDs: []uuid.UUID{id(missing)}, ID: "x",
				Extra: commerce.Extra{"ids": json.RawMessage(`[1]`), "value": json.RawMessage(`2`)}}}}},
		{"missing ids that are no UUIDs", `{"errors":[{"meta":{"missing_ids":["x"],"id":7}}]}`,
			[]commerce.ErrorObject{{Meta: commerce.ErrorMeta{ID: "7", Extra: commerce.Extra{"missing_ids": json.RawMessage(`["x"]`)}}}}},
		{"meta of another kind", `{"errors":[{"meta":[1]}]}`, []commerce.ErrorObject{{Extra: commerce.Extra{"meta": json.RawMessage(`[1]`)}}}},
		{"source as text", `{"errors":[{"source":"data.name"}]}`, []commerce.ErrorObject{{Source: "data.name"}}},
		{"source as an object", `{"errors":[{"source":{"pointer":"/data/name"}},{"source":{"parameter":"page[limit]"}}]}`,
			[]commerce.ErrorObject{{Source: "/data/name"}, {Source: "page[limit]"}}},
		{"source of another form", `{"errors":[{"source":{"a":1,"pointer":"x"}}]}`, []commerce.ErrorObject{{Extra: commerce.Extra{"source": json.RawMessage(`{"a":1,"pointer":"x"}`)}}}},
		{"request id and unknown members", `{"errors":[{"request_id":"r-9","code":"E1"}]}`,
			[]commerce.ErrorObject{{RequestID: "r-9", Extra: commerce.Extra{"code": json.RawMessage(`"E1"`)}}}},
		{"several, not all objects", `{"errors":[{"title":"a"},"b",5,null,{},"",false]}`, []commerce.ErrorObject{{Title: "a"}, {Detail: "b"}, {Detail: "5"}}},
		{"more than the errors", `{"errors":[{"title":"a"}],"data":[],"errors2":1}`, []commerce.ErrorObject{{Title: "a"}}},
		{"errors a string", `{"errors":"bad"}`, []commerce.ErrorObject{{Detail: "bad"}}},
		{"errors in upper case", `{"Errors":[{"title":"a"}]}`, []commerce.ErrorObject{{Title: "a"}}},
		{"errors twice", `{"errors":[],"errors":[{"title":"a"}]}`, []commerce.ErrorObject{{Title: "a"}}},
		{"no error in an object", `{"errors":{}}`, nil},
		{"no errors", `{}`, nil},
		{"HTML", `<html><title>502</title></html>`, nil},
		{"plain text", `Too Many Requests`, nil},
		{"empty", ``, nil},
		{"null", `null`, nil},
		{"cut after the first entry", `{"errors":[{"title":"a"}`, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			_, err := newStub(t, answerWith(418, tt.body)).client(t).Subscriptions.List(bg, nil)
			var e *commerce.Error
			if !errors.As(err, &e) || e.StatusCode != 418 || e.Attempts != 1 || e.Outcome != commerce.OutcomeNone {
				t.Fatalf("error %v", err)
			}
			diff(t, "errors", e.Errors, tt.want)
		})
	}
}

func TestError_statusSentinels(t *testing.T) {
	t.Parallel()
	sentinels := map[string]error{
		"bad request": commerce.ErrBadRequest, "unauthorized": commerce.ErrUnauthorized, "forbidden": commerce.ErrForbidden,
		"not found": commerce.ErrNotFound, "conflict": commerce.ErrConflict, "unprocessable": commerce.ErrUnprocessable,
		"rate limited": commerce.ErrRateLimited, "server": commerce.ErrServer, "bad response": commerce.ErrBadResponse,
		"unknown": commerce.ErrOutcomeUnknown, "partial": commerce.ErrPartialFailure, "argument": commerce.ErrInvalidArgument,
		"offset": commerce.ErrOffsetLimit, "drift": commerce.ErrListDrift, "progress": commerce.ErrNoProgress,
	}
	for status, want := range map[int]string{
		101: "bad response", 204: "bad response", 301: "bad response", 304: "bad response", 400: "bad request", 401: "unauthorized", 402: "",
		403: "forbidden", 404: "not found", 408: "", 409: "conflict", 418: "", 422: "unprocessable", 429: "rate limited", 500: "server", 503: "server", 599: "server",
	} {
		t.Run(fmt.Sprint(status), func(t *testing.T) {
			t.Parallel()
			s := newStub(t, answerWith(status, ""))
			_, err := s.client(t, commerce.WithRetry(commerce.RetryPolicy{MaxAttempts: 1})).Subscriptions.List(bg, nil)
			for name, sentinel := range sentinels {
				if got := errors.Is(err, sentinel); got != (name == want) {
					t.Errorf("is %q: %v (error %v)", name, got, err)
				}
			}
			var e *commerce.Error
			if !errors.As(err, &e) || e.StatusCode != status {
				t.Errorf("error %v", err)
			}
		})
	}
}

func TestError_facts(t *testing.T) {
	t.Parallel()
	s := newStub(t, answerWith(503, `{"errors":[{"title":"a","request_id":"from-body"}]}`, "X-Moltin-Request-Id", "from-header", "Retry-After", "120"))
	_, err := s.client(t).Subscriptions.List(bg, nil)
	var e *commerce.Error
	if !errors.As(err, &e) || e.RequestID != "from-header" || e.RetryAfter != 2*time.Minute || e.Attempts != 1 {
		t.Fatalf("error %+v", e)
	}
	const want = `commerce: Subscriptions.List: 503 Service Unavailable: "a" (attempts 1, request id from-header, retry after 2m0s)`
	if err.Error() != want {
		t.Errorf("text\n%s\nwant\n%s", err, want)
	}
	s = newStub(t, answerWith(418, `{"errors":[{"title":"a","request_id":"from-body"}]}`, "X-Request-Id", "not an id"))
	_, err = s.client(t).Subscriptions.List(bg, nil)
	if !errors.As(err, &e) || e.RequestID != "from-body" {
		t.Errorf("request id %q", e.RequestID)
	}
}

func TestError_oversizedBodies(t *testing.T) {
	t.Parallel()
	endless := func(status int) func(*http.Request) (*http.Response, error) {
		return func(*http.Request) (*http.Response, error) {
			return &http.Response{StatusCode: status, Header: http.Header{}, Body: io.NopCloser(zeros{}), ContentLength: -1}, nil
		}
	}
	for _, status := range []int{200, 404} {
		t.Run(fmt.Sprint(status), func(t *testing.T) {
			t.Parallel()
			_, err := newStub(t, endless(status)).client(t).Subscriptions.List(bg, nil)
			var e *commerce.Error
			if !errors.As(err, &e) || e.StatusCode != status || e.Err == nil || !strings.Contains(err.Error(), "larger than the limit") {
				t.Errorf("error %v", err)
			}
			if errors.Is(err, commerce.ErrBadResponse) != (status == 200) || errors.Is(err, commerce.ErrNotFound) != (status == 404) {
				t.Errorf("error %v", err)
			}
		})
	}
	_, err := newStub(t, endless(201)).client(t).Carts.AddCustomDiscounts(bg, cartID, []commerce.NewCustomDiscount{discount("a")}, nil)
	if commerce.OutcomeOf(err) != commerce.OutcomeUnreadable || !errors.Is(err, commerce.ErrBadResponse) {
		t.Errorf("error %v", err)
	}
}

// zeros is an endless body.
type zeros struct{}

func (zeros) Read(p []byte) (int, error) { return len(p), nil }

// TestError_holdsNoSecrets renders errors in every way and looks for what must
// not be there.
func TestError_holdsNoSecrets(t *testing.T) {
	t.Parallel()
	const email = "canary@mail.example"
	const externalID = "canary-external-id"
	canaries := []string{token, email, externalID, "canary-detail"}
	body := `{"errors":[{"title":"T","detail":"canary-detail ` + email + ` ` + externalID + `","source":"` + email + `"}]}`
	leaky := fmt.Errorf("Get \"https://store.example/?filter=%s\": %s %w", email, token, errors.New(externalID))

	var log bytes.Buffer
	logger := slog.New(slog.NewJSONHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	fault := func(*http.Request) (*http.Response, error) { return nil, leaky }
	s := newStub(t, answerWith(500, body), fault, answerWith(302, body, "Location", "https://x.example/"+token), fault, answerWith(400, body))
	c := s.client(t, commerce.WithLogger(logger), commerce.WithHeader("X-Key", token), commerce.WithTokenSource(oauth2.StaticTokenSource(&oauth2.Token{AccessToken: token})))
	credentials := newStub(t).client(t, commerce.WithClientCredentials("id", token))
	_, err1 := c.Subscriptions.List(bg, &commerce.SubscriptionListOptions{Filter: commerce.SubscriptionFilter{Email: email}})
	_, err2 := c.Carts.AddCustomDiscounts(bg, cartID, []commerce.NewCustomDiscount{discount(externalID)}, nil)
	_, err3 := commerce.Collect(c.Subscriptions.All(bg, &commerce.SubscriptionListOptions{Filter: commerce.SubscriptionFilter{Email: email}}))
	_, err4 := c.Carts.AddCustomDiscounts(bg, "c/"+externalID, []commerce.NewCustomDiscount{{ExternalID: externalID}}, nil)
	var failed *commerce.Error
	if !errors.As(err1, &failed) {
		t.Fatal(err1)
	}
	values := []any{err1, err2, err3, err4, errors.Join(err1, err2), fmt.Errorf("wrapped: %w", err2), c, *c, credentials, *credentials, credentials.Carts, c.Carts, *c.Subscriptions,
		commerce.WithToken(token), commerce.WithHeader("X-Key", token), failed.Err,
		struct{ Err error }{err2}, []error{err1, err3}}
	for _, v := range values {
		texts := []string{fmt.Sprintf("%v", v), fmt.Sprintf("%+v", v), fmt.Sprintf("%#v", v), fmt.Sprintf("%s", v), fmt.Sprintf("%q", v), fmt.Sprintf("%x", v)}
		if b, err := json.Marshal(v); err == nil {
			texts = append(texts, string(b))
		}
		for _, h := range []slog.Handler{slog.NewTextHandler(&log, nil), slog.NewJSONHandler(&log, nil)} {
			slog.New(h).Info("x", "v", v)
		}
		for _, text := range texts {
			for _, canary := range canaries {
				if strings.Contains(text, canary) || strings.Contains(text, fmt.Sprintf("%x", canary)) {
					t.Errorf("%T holds %s: %s", v, canary, text)
				}
			}
		}
	}
	for _, canary := range canaries {
		if strings.Contains(log.String(), canary) {
			t.Errorf("the log holds %s: %s", canary, log.String())
		}
	}
	for _, event := range []string{"commerce: attempt", "commerce: retry", `"op":"Subscriptions.List"`, `"status":500`, `"wait":`} {
		if !strings.Contains(log.String(), event) {
			t.Errorf("the log has no %s:\n%s", event, log.String())
		}
	}
	if !errors.Is(err2, commerce.ErrOutcomeUnknown) || !errors.Is(err2, leaky) {
		t.Errorf("errors.Is does not find the cause of %v", err2)
	}
}

// TestError_texts pins the texts: not for callers, who must not rely on them, but
// so that a change is seen.
func TestError_texts(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 120)
	for _, tt := range []struct {
		err  error
		want string
	}{
		{&commerce.Error{Op: "op", Outcome: commerce.OutcomeNone}, `commerce: op (attempts 0)`},
		{&commerce.Error{Op: "op", StatusCode: 599, Attempts: 2, Err: io.EOF}, `commerce: op: 599: EOF (outcome unknown, attempts 2)`},
		{&commerce.Error{Op: "op", Outcome: commerce.OutcomeRejected, Errors: []commerce.ErrorObject{{Title: long}, {}, {Title: long + "y"}}, RetryAfter: 1},
			`commerce: op: "` + long + `", "` + long + `…" (outcome rejected, attempts 0, retry after 1ns)`},
		{&commerce.ValidationError{Fields: []commerce.FieldError{{Index: -1, Field: "a", Message: "b"}, {Index: 0, Field: "c", Message: "d"}}},
			"commerce: invalid argument: a b; discount 0: c d"},
	} {
		if got := tt.err.Error(); got != tt.want {
			t.Errorf("got  %s\nwant %s", got, tt.want)
		}
		if got, want := fmt.Sprintf("%q", tt.err), fmt.Sprintf("%q", tt.want); got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
	}
	b, err := json.Marshal(&commerce.Error{Op: "op", Outcome: commerce.OutcomeNone})
	if want := `{"attempts":0,"op":"op","outcome":"none"}`; err != nil || string(b) != want {
		t.Errorf("got %s, want %s (%v)", b, want, err)
	}
}

// TestError_value renders the struct itself, which a caller may have copied.
func TestError_value(t *testing.T) {
	t.Parallel()
	e := commerce.Error{Op: "op", Errors: []commerce.ErrorObject{{Title: "t", Detail: "canary"}}}
	var log bytes.Buffer
	slog.New(slog.NewJSONHandler(&log, nil)).Info("x", "e", e)
	b, err := json.Marshal(e)
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{fmt.Sprint(e), fmt.Sprintf("%+v %#v", e, e), string(b), log.String()} {
		if strings.Contains(text, "canary") || !strings.Contains(text, "op") {
			t.Error(text)
		}
	}
}

func TestError_nilAndJSON(t *testing.T) {
	t.Parallel()
	var none *commerce.Error
	if none.Error() != "<nil>" || none.Unwrap() != nil || none.Is(commerce.ErrServer) || fmt.Sprint(none) != "<nil>" {
		t.Errorf("nil: %v", none)
	}
	e := &commerce.Error{Op: "op", StatusCode: 500, Errors: []commerce.ErrorObject{{Title: "t", Detail: "d"}}, RequestID: "r", RetryAfter: time.Second, Attempts: 2, Err: io.EOF}
	b, err := json.Marshal(e)
	if err != nil {
		t.Fatal(err)
	}
	diff(t, "JSON", string(b), `{"attempts":2,"cause":"EOF","op":"op","outcome":"unknown","request_id":"r","retry_after":1000000000,"status":500,"titles":["t"]}`)
	for i := range 7 {
		e.Errors = append(e.Errors, commerce.ErrorObject{Title: strings.Repeat("é", 100) + fmt.Sprint(i)})
	}
	if text := e.Error(); len(text) > 800 || !strings.Contains(text, "and others, 8 in all") {
		t.Errorf("%d bytes: %s", len(text), text)
	}
}
