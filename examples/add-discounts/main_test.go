package main

import (
	"bytes"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/commerce-go/commerce"
	"github.com/commerce-go/commerce/commercetest"
)

const (
	enabled  = "enabled    custom discounts of the cart\n"
	allAdded = enabled + "added      \"summer-10\"\nadded      \"loyalty-0042\"\nadded      \"gift-wrap-1\"\n"
)

// ended is what a run returned and printed.
type ended struct {
	Code           int
	Stdout, Stderr string
}

// start runs the program with the environment vars.
func start(vars map[string]string, args ...string) ended {
	var stdout, stderr bytes.Buffer
	code := run(func(key string) string { return vars[key] }, args, &stdout, &stderr)
	return ended{Code: code, Stdout: stdout.String(), Stderr: stderr.String()}
}

// live is a store on a listener with a cart for the samples.
type live struct {
	*commercetest.Store
	cartID string
}

func newLive(t *testing.T, cfg commercetest.Config) live {
	t.Helper()
	s := commercetest.New(t, cfg)
	return live{Store: s, cartID: s.AddCart(sampleItem)}
}

// start runs the program on the live store, with the sample file.
func (l live) start(args ...string) ended {
	vars := map[string]string{"COMMERCE_BASE_URL": l.URL(), "COMMERCE_TOKEN": l.Config().Token}
	return start(vars, append([]string{"-cart", l.cartID, "-file", "discounts.json", "-settle", "-1s"}, args...)...)
}

func TestRun_embedded(t *testing.T) {
	t.Parallel()
	const notice = "using an embedded fake store; set COMMERCE_BASE_URL and COMMERCE_TOKEN to use a live one\n"
	if diff := cmp.Diff(ended{Stdout: allAdded, Stderr: notice}, start(nil)); diff != "" {
		t.Errorf("run() (-want +got):\n%s", diff)
	}
}

// A second run finds the discounts on the cart and writes nothing.
func TestRun_twice(t *testing.T) {
	t.Parallel()
	store := newLive(t, commercetest.Config{})
	if diff := cmp.Diff(ended{Stdout: allAdded}, store.start()); diff != "" {
		t.Errorf("first run (-want +got):\n%s", diff)
	}
	requests := len(store.Requests())
	if diff := cmp.Diff(ended{}, store.start("-update", "-prune")); diff != "" {
		t.Errorf("second run (-want +got):\n%s", diff)
	}
	for _, r := range store.Requests()[requests:] {
		if r.Method != http.MethodGet {
			t.Errorf("the second run sent %s %s, want reads only", r.Method, r.Path)
		}
	}
	if got := len(store.Discounts(store.cartID)); got != 3 {
		t.Errorf("the cart has %d discounts, want 3", got)
	}
}

// outcomeTest is a run on a live store.
type outcomeTest struct {
	name   string
	cfg    commercetest.Config
	fault  commercetest.Fault
	before []commerce.CustomDiscount // on the cart
	args   []string
	want   ended // of Stderr, only whether there is any
	inCart int
}

func outcomeTests() []outcomeTest {
	const (
		failed  = "an error"
		missing = "missing    \"summer-10\"\nmissing    \"loyalty-0042\"\nmissing    \"gift-wrap-1\"\n"
		inDoubt = "in doubt   \"summer-10\"\nin doubt   \"loyalty-0042\"\nin doubt   \"gift-wrap-1\"\n"
	)
	other := commerce.CustomDiscount{
		Type: "custom_discount", Amount: commerce.Money{Amount: commerce.NewDecimal(-5)}, Description: "other",
		DiscountCode: "other", DiscountEngine: "add-discounts example", ExternalID: "\x1b[31mother",
	}
	different := other
	different.ExternalID = "summer-10"
	return []outcomeTest{
		{
			name:  "response lost, discounts added",
			fault: commercetest.Fault{Operation: commercetest.OpAdd, Apply: true, Cut: true},
			want:  ended{Code: 0, Stdout: allAdded}, inCart: 3,
		},
		{
			name:  "response lost, discounts not added",
			fault: commercetest.Fault{Operation: commercetest.OpAdd, Cut: true},
			want:  ended{Code: 4, Stdout: enabled + missing + inDoubt, Stderr: failed},
		},
		{
			name: "limit reached",
			cfg:  commercetest.Config{ItemDiscountLimit: -1},
			want: ended{Code: 3, Stdout: enabled + "added      \"summer-10\"\nadded      \"loyalty-0042\"\n" +
				"missing    \"gift-wrap-1\"\n" +
				"  reason   \"Limit Reached\" \"Custom discount limit reached for this cart item\"\n", Stderr: failed},
			inCart: 2,
		},
		{
			name: "different", before: []commerce.CustomDiscount{different},
			want: ended{Code: 3, Stdout: enabled + "added      \"loyalty-0042\"\nadded      \"gift-wrap-1\"\n" +
				"different  \"summer-10\"\n", Stderr: failed},
			inCart: 3,
		},
		{
			name: "update and prune", before: []commerce.CustomDiscount{different, other}, args: []string{"-update", "-prune"},
			want: ended{Stdout: enabled + "added      \"loyalty-0042\"\nadded      \"gift-wrap-1\"\n" +
				"updated    \"summer-10\"\ndeleted    \"\\x1b[31mother\"\n"},
			inCart: 3,
		},
		{
			name: "dry run", args: []string{"-dry-run"},
			want: ended{Stdout: "nothing was changed; without -dry-run:\n" + allAdded},
		},
	}
}

func TestRun_outcomes(t *testing.T) {
	t.Parallel()
	for _, tt := range outcomeTests() {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			store := newLive(t, tt.cfg)
			for _, d := range tt.before {
				store.AddDiscount(store.cartID, d)
			}
			if tt.fault.Operation != "" {
				store.Inject(tt.fault)
			}
			got := store.start(tt.args...)
			if strings.HasPrefix(got.Stderr, "add-discounts: commerce: Carts.EnsureCustomDiscounts: ") {
				got.Stderr = "an error"
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("run() (-want +got):\n%s", diff)
			}
			if n := len(store.Discounts(store.cartID)); n != tt.inCart {
				t.Errorf("the cart has %d discounts, want %d", n, tt.inCart)
			}
		})
	}
}

// Nothing is sent if an argument is invalid.
func TestRun_usage(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, input, want string
	}{
		{name: "empty file", input: "", want: "-file must name a JSON array of discounts: unexpected end of JSON input"},
		{name: "unknown member", input: `[{"code":"x"}]`, want: "\"code\""},
		{name: "no discounts", input: `[]`, want: "discounts must hold at least one"},
		{name: "two problems", input: `[{"amount":1,"description":"d","discount_code":"c","discount_engine":"e"}]`,
			want: "external_id must not be empty"},
	}
	store := newLive(t, commercetest.Config{})
	for _, tt := range tests {
		file := filepath.Join(t.TempDir(), "discounts.json")
		if err := os.WriteFile(file, []byte(tt.input), 0o600); err != nil {
			t.Fatal(err)
		}
		got := store.start("-file", file)
		if got.Code != 2 || got.Stdout != "" || !strings.Contains(got.Stderr, tt.want) {
			t.Errorf("%s: run() = %+v, want exit code 2 and %q", tt.name, got, tt.want)
		}
	}
	if n := len(store.Requests()); n != 0 {
		t.Errorf("%d requests, want none", n)
	}
}
