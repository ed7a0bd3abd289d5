package commercetest_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/commerce-go/commerce/commercetest"
)

// TestFaultAnswers meets one fault while a discount is added.
func TestFaultAnswers(t *testing.T) {
	t.Parallel()
	const own = 201
	for _, tt := range []struct {
		name   string
		fault  commercetest.Fault
		cut    bool // no answer at all
		status int
		body   string // "": the store's own
		half   bool   // the body is cut
		inCart int
	}{
		{name: "nothing set", status: own, inCart: 1},
		{name: "status", fault: commercetest.Fault{Status: 503}, status: 503},
		{name: "status after it was applied", fault: commercetest.Fault{Status: 504, Apply: true}, status: 504, inCart: 1},
		{name: "status and body", fault: commercetest.Fault{Status: 429, Body: "slow down"}, status: 429, body: "slow down"},
		{name: "no content", fault: commercetest.Fault{Status: 204, Body: "x"}, status: 204},
		{name: "switching protocols", fault: commercetest.Fault{Status: 101, Body: "x"}, status: 101},
		{name: "body", fault: commercetest.Fault{Body: "<html>"}, status: own, body: "<html>", inCart: 1},
		{name: "body after it was applied", fault: commercetest.Fault{Body: "<html>", Apply: true}, status: own, body: "<html>", inCart: 1},
		{name: "cut before", fault: commercetest.Fault{Cut: true}, cut: true},
		{name: "cut after", fault: commercetest.Fault{Cut: true, Apply: true}, cut: true, inCart: 1},
		{name: "cut in the body", fault: commercetest.Fault{Cut: true, CutAfter: 9}, status: own, body: `{"data":[`, half: true, inCart: 1},
		{name: "cut in its body", fault: commercetest.Fault{Cut: true, CutAfter: 2, Status: 500, Body: "12345"}, status: 500, body: "12", half: true},
		{name: "cut before the last byte", fault: commercetest.Fault{Cut: true, CutAfter: 99, Status: 500, Body: "12345"}, status: 500, body: "1234", half: true},
		{name: "cut in no body", fault: commercetest.Fault{Cut: true, CutAfter: 2, Status: 500}, cut: true},
		{name: "another operation", fault: commercetest.Fault{Operation: commercetest.OpList, Status: 500}, status: own, inCart: 1},
		{name: "this operation", fault: commercetest.Fault{Operation: commercetest.OpAdd, Status: 500}, status: 500},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			for _, way := range ways {
				t.Run(way.name, func(t *testing.T) {
					t.Parallel()
					store, path := newCart(commercetest.Config{})
					store.Inject(tt.fault)
					a, err := way.send(t, store, post(path+"/custom-discounts", bulk(false, onCart("a"))))
					if (err != nil) != tt.cut {
						t.Fatalf("error %v, want one: %t", err, tt.cut)
					}
					if a.Status != tt.status {
						t.Errorf("status %d, want %d", a.Status, tt.status)
					}
					if (a.Err != nil) != tt.half || tt.half && !errors.Is(a.Err, io.ErrUnexpectedEOF) {
						t.Errorf("error of the body: %v", a.Err)
					}
					switch {
					case tt.body == "" && tt.status == own:
						wantJSON(t, a, own, `{"data":[`+added(id1, onCart("a"))+`],"options":{"add_all_or_nothing":false}}`)
					case a.Body != tt.body:
						t.Errorf("body %q, want %q", a.Body, tt.body)
					}
					if got := len(store.Discounts(strings.TrimPrefix(path, "/v2/carts/"))); got != tt.inCart {
						t.Errorf("%d discounts in the cart, want %d", got, tt.inCart)
					}
					if got := len(store.Requests()); got != 1 {
						t.Errorf("%d requests recorded, want 1", got)
					}
				})
			}
		})
	}
}

// TestFaultOperations meets each request with a fault that is for one operation.
func TestFaultOperations(t *testing.T) {
	t.Parallel()
	for _, op := range []commercetest.Operation{commercetest.OpAny, commercetest.OpAdd, commercetest.OpCart, commercetest.OpList, commercetest.OpSettings} {
		t.Run(string(op), func(t *testing.T) {
			t.Parallel()
			eachWay(t, func(t *testing.T, send func(store *commercetest.Store, raw string) wireAnswer) {
				store, cart := newCart(commercetest.Config{})
				store.Inject(commercetest.Fault{Operation: op, Status: 503, Times: -1})
				for of, raw := range map[commercetest.Operation]string{
					commercetest.OpAdd: post(cart+"/custom-discounts", bulk(false, onCart("a"))), commercetest.OpCart: get(cart),
					commercetest.OpList: get("/v2/subscriptions/subscriptions"), commercetest.OpSettings: get("/v2/settings"),
				} {
					if met := send(store, raw).Status == 503; met != (of == op || op == commercetest.OpAny) {
						t.Errorf("%s met the fault: %t", of, met)
					}
				}
			})
		})
	}
}

func TestFaultHeaders(t *testing.T) {
	t.Parallel()
	eachWay(t, func(t *testing.T, send func(*commercetest.Store, string) wireAnswer) {
		store := commercetest.NewStore(commercetest.Config{})
		header := http.Header{"retry-after": {"7"}, "X-Request-Id": {"mine"}}
		store.Inject(commercetest.Fault{Status: 429, Header: header}, commercetest.Fault{Header: header})
		header.Set("X-Request-Id", "changed")
		for _, status := range []int{429, 200} {
			a := send(store, get("/v2/settings"))
			if a.Status != status || a.Header.Get("Retry-After") != "7" || a.Header.Get("X-Request-Id") != "mine" {
				t.Errorf("status %d, header %v", a.Status, a.Header)
			}
		}
		if got := send(store, get("/v2/settings")).Header.Get("X-Request-Id"); got != "commercetest-000003" {
			t.Errorf("X-Request-Id %q of the third answer", got)
		}
	})
}

// TestFaultBodies holds that a body says what it is, as a gateway's does.
func TestFaultBodies(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ name, body, media string }{
		{"HTML", "<html><body>502 Bad Gateway</body></html>", "text/html; charset=utf-8"},
		{"plain text", "slow down", "text/plain; charset=utf-8"},
		{"object", `{"errors":[]}`, "application/json"},
		{"array", "[]", "application/json"},
		{"none", "", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			eachWay(t, func(t *testing.T, send func(*commercetest.Store, string) wireAnswer) {
				store := commercetest.NewStore(commercetest.Config{})
				store.Inject(commercetest.Fault{Status: 429, Body: tt.body, Header: http.Header{"Retry-After": {"3"}}})
				a := send(store, get(listPath))
				if a.Status != 429 || a.Body != tt.body || a.Header.Get("Content-Type") != tt.media || a.Header.Get("Retry-After") != "3" {
					t.Errorf("status %d, body %q of type %q, Retry-After %q", a.Status, a.Body, a.Header.Get("Content-Type"), a.Header.Get("Retry-After"))
				}
			})
		})
	}
}

// TestFaultOrder tells which requests are met, by what.
func TestFaultOrder(t *testing.T) {
	t.Parallel()
	list, settings, token := get(listPath), get("/v2/settings"), form(goodForm)
	for _, tt := range []struct {
		name     string
		faults   []commercetest.Fault
		requests []string
		want     []int
	}{
		{"once", []commercetest.Fault{{Status: 500}}, []string{list, list}, []int{500, 200}},
		{"twice", []commercetest.Fault{{Status: 500, Times: 2}}, []string{list, list, list}, []int{500, 500, 200}},
		{"always", []commercetest.Fault{{Status: 500, Times: -1}}, []string{list, list, list}, []int{500, 500, 500}},
		{"after two", []commercetest.Fault{{Status: 500, After: 2}}, []string{list, list, list, list}, []int{200, 200, 500, 200}},
		{"one after the other", []commercetest.Fault{{Status: 500}, {Status: 503}}, []string{list, list, list}, []int{500, 503, 200}},
		{
			"after counts requests met by others", []commercetest.Fault{{Status: 503, After: 2}, {Status: 500, Times: 2}},
			[]string{list, list, list, list},
			[]int{500, 500, 503, 200},
		},
		{
			"by operation", []commercetest.Fault{{Operation: commercetest.OpToken, Status: 503}, {Operation: commercetest.OpList, Status: 500, After: 1}},
			[]string{list, settings, token, list, token},
			[]int{200, 200, 503, 500, 200},
		},
		{"any", []commercetest.Fault{{Status: 500, Times: 4}}, []string{settings, token, list, get("/nowhere")}, []int{500, 500, 500, 500}},
		{"before the token is looked at", []commercetest.Fault{{Status: 500}}, []string{strings.Replace(list, "commercetest-token", "x", 1)}, []int{500}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			eachWay(t, func(t *testing.T, send func(*commercetest.Store, string) wireAnswer) {
				store := commercetest.NewStore(commercetest.Config{})
				store.Inject(tt.faults...)
				var got []int
				for _, raw := range tt.requests {
					got = append(got, send(store, raw).Status)
				}
				if diff := cmp.Diff(tt.want, got); diff != "" {
					t.Errorf("statuses (-want +got):\n%s", diff)
				}
			})
		})
	}
}

func TestInjectRefuses(t *testing.T) {
	t.Parallel()
	for _, status := range []int{-1, 1, 100, 103, 199, 600} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("status %d was taken", status)
				}
			}()
			commercetest.NewStore(commercetest.Config{}).Inject(commercetest.Fault{Status: status})
		}()
	}
}

func TestDelay(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name    string
		fault   commercetest.Fault
		timeout time.Duration
		took    time.Duration
		err     error
		inCart  int
	}{
		{"waits", commercetest.Fault{Delay: time.Minute}, time.Hour, time.Minute, nil, 1},
		{"waits, then fails", commercetest.Fault{Delay: time.Minute, Status: 500}, time.Hour, time.Minute, nil, 0},
		{"given up before it is applied", commercetest.Fault{Delay: time.Hour}, time.Minute, time.Minute, context.DeadlineExceeded, 0},
		{"given up after it is applied", commercetest.Fault{Delay: time.Hour, Apply: true}, time.Minute, time.Minute, context.DeadlineExceeded, 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				store, path := newCart(commercetest.Config{})
				store.Inject(tt.fault)
				ctx, cancel := context.WithTimeout(t.Context(), tt.timeout)
				defer cancel()
				start := time.Now()
				body := &closing{Reader: strings.NewReader(bulk(false, onCart("a")))}
				req, err := http.NewRequestWithContext(ctx, http.MethodPost, "https://store.test"+path+"/custom-discounts", body)
				if err != nil {
					t.Fatal(err)
				}
				req.Header.Set("Authorization", "Bearer commercetest-token")
				req.Header.Set("Content-Type", "application/json")
				resp, err := store.Transport().RoundTrip(req)
				if !errors.Is(err, tt.err) {
					t.Errorf("error %v, want %v", err, tt.err)
				}
				if resp != nil {
					_ = resp.Body.Close()
				}
				if took := time.Since(start); took != tt.took {
					t.Errorf("took %v, want %v", took, tt.took)
				}
				if got := len(store.Discounts(strings.TrimPrefix(path, "/v2/carts/"))); got != tt.inCart {
					t.Errorf("%d discounts in the cart, want %d", got, tt.inCart)
				}
				if !body.closed {
					t.Error("the request's body was not closed")
				}
			})
		})
	}
}

// closing is a body that tells whether it was closed.
type closing struct {
	io.Reader
	closed bool
}

func (c *closing) Close() error {
	c.closed = true
	return nil
}
