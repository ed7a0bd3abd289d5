package commerce_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"

	shopspring "github.com/shopspring/decimal"

	"github.com/commerce-go/commerce"
)

func TestDecimal_JSON(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"0": "0", "-0": "0", "-1000": "-1000", "12.50": "12.5", "1e3": "1000", "1E-3": "0.001", "0.1": "0.1",
		"123456789012345678901234567890.123456789": "123456789012345678901234567890.123456789",
		`"12.5"`: "12.5", "null": "0",
	} {
		var d commerce.Decimal
		if err := json.Unmarshal([]byte(in), &d); err != nil {
			t.Errorf("%s: %v", in, err)
		}
		b, err := json.Marshal(d)
		if err != nil || string(b) != want {
			t.Errorf("%s: encoded as %s, want %s (%v)", in, b, want, err)
		}
	}
	for _, in := range []string{strings.Repeat("9", 10_001), `""`, `"x"`, "true", "[]", "1e10001", "1e-10001", "1e999999999999"} {
		var d commerce.Decimal
		if err := json.Unmarshal([]byte(in), &d); err == nil {
			t.Errorf("%s: decoded as %s", in, d)
		}
	}
}

func TestDecimal(t *testing.T) {
	t.Parallel()
	if !decimal(t, "1.0").Equal(commerce.NewDecimal(1)) || commerce.NewDecimal(1).Equal(commerce.NewDecimal(2)) || !(commerce.Decimal{}).Equal(commerce.NewDecimal(0)) {
		t.Error("Equal")
	}
	if got := fmt.Sprint(commerce.NewDecimal(-5)); got != "-5" {
		t.Errorf("prints as %s", got)
	}
	for _, in := range []string{strings.Repeat("9", 10_001), "", "x", "1e10001", "1 000", "0x10"} {
		if _, err := commerce.ParseDecimal(in); !errors.Is(err, commerce.ErrInvalidArgument) {
			t.Errorf("ParseDecimal(%q): %v", in, err)
		}
	}
}

// A number with a huge exponent has as many digits: nothing may write them out.
func TestDecimal_hugeExponent(t *testing.T) {
	t.Parallel()
	for exponent, want := range map[int32]string{
		16_000_000: "-1e16000000", -16_000_000: "-1e-16000000",
		math.MaxInt32: "-1e2147483647", math.MinInt32: "-1e-2147483648",
	} {
		b, err := json.Marshal(commerce.Decimal{Decimal: shopspring.New(-1, exponent)})
		if err != nil || string(b) != want {
			t.Errorf("exponent %d: %d bytes, %.40s, error %v, want %s", exponent, len(b), b, err, want)
		}
	}
}

// Every number that is accepted can be read back.
func TestDecimal_longOnes(t *testing.T) {
	t.Parallel()
	for _, s := range []string{"1e10000", "-1e10000", "-1e9999", "1e-9999", "-12.5e-9999", strings.Repeat("9", 10_000), "-" + strings.Repeat("9", 9_999)} {
		d, err := commerce.ParseDecimal(s)
		if err != nil {
			t.Fatalf("%.20s: %v", s, err)
		}
		b, err := json.Marshal(d)
		if err != nil {
			t.Fatal(err)
		}
		var again commerce.Decimal
		if err := json.Unmarshal(b, &again); err != nil || !again.Equal(d) {
			t.Errorf("%.20s, %d characters as JSON: %v", s, len(b), err)
		}
		var plan, back commerce.Plan
		plan.Attributes.PlanLength = d
		if b, err = json.Marshal(plan); err == nil {
			err = json.Unmarshal(b, &back)
		}
		if err != nil || !back.Attributes.PlanLength.Equal(d) {
			t.Errorf("%.20s in a plan: %v", s, err)
		}
	}
}
