package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"github.com/commerce-go/commerce"
	"github.com/commerce-go/commerce/commercetest"
)

const (
	embedded = "using an embedded fake store; set COMMERCE_BASE_URL and COMMERCE_TOKEN to use a live one\n"
	reading  = "reading discounts from standard input\n"
	looking  = "reading the cart\n"
	self     = "add-discounts: "
)

// ended is what a run returned and printed.
type ended struct {
	Code           int
	Stdout, Stderr string
}

func start(ctx context.Context, vars map[string]string, stdin io.Reader, args ...string) ended {
	var stdout, stderr bytes.Buffer
	code := run(ctx, args, system{func(key string) string { return vars[key] }, stdin, &stdout, &stderr})
	return ended{code, stdout.String(), stderr.String()}
}

// live returns a store with a cart that holds demoItem, and the environment that
// names it.
func live(t *testing.T) (s *commercetest.Store, cartID string, vars map[string]string) {
	t.Helper()
	s = commercetest.NewStore(commercetest.Config{})
	t.Cleanup(s.Close)
	return s, s.AddCart(demoItem), map[string]string{"COMMERCE_BASE_URL": s.URL(), "COMMERCE_TOKEN": s.Config().Token}
}

// one returns the JSON of a discount, for item if it is not "".
func one(externalID, item string) string {
	relation := ""
	if item != "" {
		relation = fmt.Sprintf(`, "item": {"type": "cart_item", "id": %q}`, item)
	}
	return fmt.Sprintf(`{"amount": -100, "description": "d", "discount_code": "c", "discount_engine": "e", `+
		`"external_id": %q%s}`, externalID, relation)
}

// discountID is the id of the n-th discount that a store adds.
func discountID(n int) string {
	return uuid.NewSHA1(uuid.NameSpaceURL, fmt.Appendf(nil, "https://store.example/custom-discounts/%d", n)).String()
}

const demoCart = "599c9a5a-e949-5fbb-b06a-814d93202b11" // the first cart of any fake store

func TestSamples(t *testing.T) {
	t.Parallel()
	want := "cart " + demoCart + `
added        summer-10                 -$10.00  id ` + discountID(1) + `
added        loyalty-0042               -$2.50  id ` + discountID(2) + `
added        gift-wrap-1                -$3.99  id ` + discountID(3) + `
outcome: all 3 added
`
	null, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = null.Close() })
	tests := []struct {
		name   string
		stdin  io.Reader
		args   []string
		stderr string
	}{
		{name: "no input", stdin: null, stderr: embedded + looking},
		{name: "nothing piped", stdin: strings.NewReader(""), stderr: embedded + reading + looking},
		{name: "as a file", stdin: null, args: []string{"-file", "discounts.json"}, stderr: embedded + looking},
		{name: "piped", stdin: bytes.NewReader(samples), stderr: embedded + reading + looking},
		{name: "piped, by name", stdin: bytes.NewReader(samples), args: []string{"-file", "-"},
			stderr: embedded + reading + looking},
		{name: "all or nothing", stdin: null, args: []string{"-all-or-nothing", "-cart", demoCart},
			stderr: embedded + looking},
		{name: "in one call", stdin: null, args: []string{"-no-reconcile"}, stderr: embedded},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got := start(t.Context(), nil, tt.stdin, tt.args...)
			if diff := cmp.Diff(ended{exitOK, want, tt.stderr}, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestLive(t *testing.T) {
	t.Parallel()
	s, cart, vars := live(t)
	input := "[" + one("a", "") + "," + one("b", demoItem.ID.String()) + "]"
	got := start(t.Context(), vars, strings.NewReader(input), "-cart", cart)
	if got.Code != exitOK || got.Stderr != reading+looking {
		t.Errorf("code %d, stderr %q", got.Code, got.Stderr)
	}
	var ids []string
	for _, d := range s.Discounts(cart) {
		ids = append(ids, d.ExternalID)
	}
	if diff := cmp.Diff([]string{"a", "b"}, ids); diff != "" {
		t.Errorf("discounts in the cart (-want +got):\n%s", diff)
	}
}

// The sample discounts are only for the embedded store.
func TestLive_noSamples(t *testing.T) {
	t.Parallel()
	s, cart, vars := live(t)
	tests := []struct {
		name, want string
		args       []string
	}{
		{name: "no cart", want: self + "-cart is required on a live store (-h for help)\n"},
		{name: "no discounts", args: []string{"-cart", cart}, want: reading + self +
			"the discounts must be one JSON array of objects: unexpected end of JSON input at byte 0\n"},
	}
	for _, tt := range tests {
		got := start(t.Context(), vars, strings.NewReader(""), tt.args...)
		if diff := cmp.Diff(ended{Code: exitUsage, Stderr: tt.want}, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, diff)
		}
	}
	if n := len(s.Requests()); n != 0 {
		t.Errorf("%d requests, want none", n)
	}
}

func TestInput(t *testing.T) {
	t.Parallel()
	const array = "the discounts must be one JSON array of objects: "
	tests := []struct {
		name, input string
		want        []string
	}{
		{name: "unknown member", input: `[` + one("a", "") + `,{"amount":-1,"code":"x"}]`,
			want: []string{`discount 1: unknown field "code"`}},
		{name: "unknown member of an item", input: `[{"item":{"kind":"cart_item"}}]`,
			want: []string{`discount 0: unknown field "kind"`}},
		{name: "trailing garbage", input: `[` + one("a", "") + `] []`,
			want: []string{array + "invalid character '[' after top-level value at byte 106"}},
		{name: "truncated", input: `[{"amount":-1}`, want: []string{array + "unexpected end of JSON input at byte 14"}},
		{name: "not an array", input: one("a", ""), want: []string{array + "must not be of the JSON type object"}},
		{name: "not objects", input: `[3]`, want: []string{"discount 0: must not be of the JSON type number"}},
		{name: "wrong type", input: `[{"description":3}]`,
			want: []string{"discount 0: description must not be of the JSON type number"}},
		{name: "not a number", input: `[{"amount":"much"}]`,
			want: []string{"discount 0: not a decimal number with an exponent within ±10,000"}},
		{name: "not a uuid", input: `[{"item":{"id":"abc"}}]`, want: []string{"discount 0: invalid UUID length: 3"}},
		{name: "no discounts", input: `[]`, want: []string{"discounts must hold at least one"}},
		{
			name: "several problems",
			input: `[` + one("a", "") + `,{"amount":1,"description":"d","discount_code":"c","discount_engine":"e"},` +
				one("", "") + `]`,
			want: []string{
				"discount 1: amount must be less than zero",
				"discount 1: external_id must not be empty",
				"discount 2: external_id must not be empty",
			},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			want := ended{Code: exitUsage, Stderr: embedded + reading + self + strings.Join(tt.want, "\n"+self) + "\n"}
			got := start(t.Context(), nil, strings.NewReader(tt.input), "-file", "-", "-no-reconcile")
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestUsage(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name string
		vars map[string]string
		args []string
		want string
	}{
		{name: "invalid value", args: []string{"-all-or-nothing=perhaps"},
			want: `invalid boolean value "perhaps" for -all-or-nothing: parse error (-h for help)`},
		{name: "stray argument", args: []string{"discounts.json"},
			want: `unexpected argument "discounts.json" (-h for help)`},
		{name: "incomplete environment", vars: map[string]string{"COMMERCE_TOKEN": "canary"},
			want: "COMMERCE_BASE_URL must be set too, as credentials are set"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			want := ended{Code: exitUsage, Stderr: self + tt.want + "\n"}
			if diff := cmp.Diff(want, start(t.Context(), tt.vars, strings.NewReader(""), tt.args...)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
	got := start(t.Context(), nil, strings.NewReader(""), "-file", filepath.Join(t.TempDir(), "none.json"))
	if got.Code != exitUsage || got.Stdout != "" || !strings.Contains(got.Stderr, "none.json") {
		t.Errorf("missing file: got %+v, want its name", got)
	}
	got = start(t.Context(), nil, strings.NewReader(""), "-cart", "a/b")
	if want := self + "cart id "; got.Code != exitUsage || !strings.Contains(got.Stderr, want) {
		t.Errorf("invalid cart: got %+v, want the problem", got)
	}
	got = start(t.Context(), nil, strings.NewReader(""), "-h")
	if got.Code != exitOK || got.Stderr != "" || !strings.Contains(got.Stdout, "-file path") {
		t.Errorf("help: got %+v, want the flags on stdout", got)
	}
}

// outcomeTest is a call with a fault, and its report.
type outcomeTest struct {
	name   string
	fault  *commercetest.Fault
	input  string
	args   []string
	code   int
	stdout string
	inCart int
}

func outcomeTests() []outcomeTest {
	const (
		stranger = "11111111-2222-4333-8444-555555555555" // not in the cart
		absent   = "rejected     Custom discount not added to cart item: " +
			"Cart Item is not present in the cart. (item " + stranger + ")\n"
		unknown = "unconfirmed  a                            -100\nunconfirmed  b                            -100\n"
		look    = "some or all may have been added; look at the cart before you send them again\n"
	)
	good := "[" + one("a", "") + "," + one("b", demoItem.ID.String()) + "]"
	mixed := "[" + one("a", "") + "," + one("b", stranger) + "]"
	addedFirst := "added        a                          -$1.00  id " + discountID(1) + "\n"
	return []outcomeTest{
		{
			name: "partial", input: mixed, code: exitPartial, inCart: 1,
			stdout: addedFirst + absent + "unconfirmed  b                            -100\n" +
				"outcome: partial: 1 of 2 added; look at the cart before you send the others again\n",
		},
		{
			name: "all or nothing", input: mixed, args: []string{"-all-or-nothing"}, code: exitFailed,
			stdout: absent + "outcome: rejected: none added; fix the reason, then send them again\n",
		},
		{
			name: "rejected by a gateway", input: good, code: exitFailed,
			fault:  &commercetest.Fault{Status: http.StatusForbidden, Body: "<html>"},
			stdout: "outcome: rejected: none added; fix the reason, then send them again\n",
		},
		{
			name: "added, but the gateway timed out", input: good, code: exitUnknown, inCart: 2,
			fault:  &commercetest.Fault{Apply: true, Status: http.StatusGatewayTimeout},
			stdout: unknown + "outcome: unknown: " + look,
		},
		{
			name: "connection closed", input: good, code: exitUnknown,
			fault:  &commercetest.Fault{Cut: true},
			stdout: unknown + "outcome: unknown: " + look,
		},
		{
			name: "server error with a body", input: good, code: exitUnknown,
			fault: &commercetest.Fault{Status: http.StatusInternalServerError,
				Body: `{"errors":[{"title":"Oops","detail":"try\u001b later"}]}`},
			stdout: "error        Oops: try  later\n" + unknown + "outcome: unknown: " + look,
		},
		{
			name: "added, but the response says nothing", input: good, code: exitUnknown, inCart: 2,
			fault:  &commercetest.Fault{Body: "<html>"},
			stdout: unknown + "outcome: unreadable: " + look,
		},
	}
}

// TestOutcomes covers a single call. TestReconcile covers what the program does next.
func TestOutcomes(t *testing.T) {
	t.Parallel()
	for _, tt := range outcomeTests() {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s, cart, vars := live(t)
			if tt.fault != nil {
				tt.fault.Operation = commercetest.OpAdd
				s.Inject(*tt.fault)
			}
			got := start(t.Context(), vars, strings.NewReader(tt.input), append(tt.args, "-cart", cart, "-no-reconcile")...)
			want := ended{Code: tt.code, Stdout: "cart " + cart + "\n" + tt.stdout}
			if diff := cmp.Diff(want, ended{got.Code, got.Stdout, ""}); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if !strings.HasPrefix(got.Stderr, reading+self+"commerce: Carts.AddCustomDiscounts: ") {
				t.Errorf("stderr = %q, want the error", got.Stderr)
			}
			if strings.Contains(got.Stderr+got.Stdout, s.Config().Token) {
				t.Error("the output shows the token")
			}
			if n := len(s.Discounts(cart)); n != tt.inCart {
				t.Errorf("%d discounts in the cart, want %d", n, tt.inCart)
			}
			if n := len(s.Requests()); n != 1 {
				t.Errorf("%d requests, want 1", n)
			}
		})
	}
}

func TestNotSent(t *testing.T) {
	t.Parallel()
	s, cart, _ := live(t)
	vars := map[string]string{
		"COMMERCE_BASE_URL": s.URL(), "COMMERCE_CLIENT_ID": "wrong", "COMMERCE_CLIENT_SECRET": "canary",
	}
	got := start(t.Context(), vars, bytes.NewReader(samples), "-cart", cart)
	want := "cart " + cart + "\nerror        Unauthorized: The client credentials are not valid\n" +
		"outcome: not sent: none added; you may send them again\n"
	if diff := cmp.Diff(want, got.Stdout); diff != "" || got.Code != exitFailed {
		t.Errorf("code %d, stdout (-want +got):\n%s", got.Code, diff)
	}
	if strings.Contains(got.Stderr+got.Stdout, "canary") {
		t.Error("the output shows the secret")
	}
}

// The exit code depends on the moment of the interruption.
func TestInterrupted(t *testing.T) {
	t.Parallel()

	t.Run("while it waits for input", func(t *testing.T) {
		t.Parallel()
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		stdin, w := io.Pipe() // nothing comes
		t.Cleanup(func() { _ = w.Close() })
		want := ended{Code: exitFailed, Stderr: embedded + reading + self + "interrupted: nothing was sent\n"}
		if diff := cmp.Diff(want, start(ctx, nil, stdin)); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	})

	t.Run("before it sends", func(t *testing.T) {
		t.Parallel()
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		got := start(ctx, nil, nil, "-file", "discounts.json")
		want := "cart " + demoCart + "\noutcome: not sent: none added; you may send them again\n"
		if diff := cmp.Diff(want, got.Stdout); diff != "" || got.Code != exitFailed {
			t.Errorf("code %d, stdout (-want +got):\n%s", got.Code, diff)
		}
	})

	t.Run("while it waits for the response", func(t *testing.T) {
		t.Parallel()
		arrived := make(chan struct{})
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		stuck := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.Method == http.MethodGet {
				_, _ = io.WriteString(w, `{"data":{"id":"`+demoCart+`","type":"cart"},"included":{"custom_discounts":null}}`)
				return
			}
			_, _ = io.Copy(io.Discard, r.Body)
			close(arrived)
			<-r.Context().Done()
		}))
		defer stuck.Close()
		go func() {
			<-arrived
			cancel()
		}()
		vars := map[string]string{"COMMERCE_BASE_URL": stuck.URL, "COMMERCE_TOKEN": "token"}
		got := start(ctx, vars, strings.NewReader("["+one("a", "")+"]"), "-cart", demoCart)
		want := "cart " + demoCart + "\nunconfirmed  a                            -100\n" +
			"outcome: unknown: some or all may have been added; look at the cart before you send them again\n"
		if diff := cmp.Diff(want, got.Stdout); diff != "" || got.Code != exitUnknown {
			t.Errorf("code %d, stdout (-want +got):\n%s", got.Code, diff)
		}
	})
}

func TestAmountWithoutFormat(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	printAdded(&out, []commerce.CustomDiscount{
		{ExternalID: "a\tb", Amount: commerce.Money{Amount: commerce.NewDecimal(-5), Currency: "EUR"}},
		{Amount: commerce.Money{Amount: commerce.NewDecimal(-5)}},
	})
	want := "added        a b                        -5 EUR  id " + uuid.Nil.String() + "\n" +
		"added        -                              -5  id " + uuid.Nil.String() + "\n"
	if diff := cmp.Diff(want, out.String()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
