package commerce_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/big"
	"strings"
	"testing"

	"github.com/commerce-go/commerce"
)

func TestDecimal_JSON(t *testing.T) {
	t.Parallel()
	const exact = "123456789012345678901234567890.123456789"
	for in, want := range map[string]string{
		"0": "0", "-0": "0", "7": "7", "42": "42", "-1000": "-1000", "12.50": "12.5", "1e3": "1000", "1E-3": "0.001",
		"0.1": "0.1", exact: exact, `"12.5"`: "12.5", `"\u0031\u0032\u002e5"`: "12.5", `"\u002d7"`: "-7", "null": "0",
		"999999999999999999": "999999999999999999", "9223372036854775808": "9223372036854775808",
		"18446744073709551617": "18446744073709551617", // 1 more than 64 bits hold
	} {
		var d commerce.Decimal
		if err := json.Unmarshal([]byte(in), &d); err != nil {
			t.Errorf("decode %s: %v", in, err)
		}
		if got := encode(t, d); got != want || d.String() != want {
			t.Errorf("%s is encoded as %s and printed as %v, want %s", in, got, d, want)
		}
	}
	tooLong := strings.Repeat("9", 10_001)
	for _, in := range []string{tooLong, `""`, `"x"`, "true", "[]", "1e10001", "1e-10001", "1e999999999999"} {
		var d commerce.Decimal
		if err := json.Unmarshal([]byte(in), &d); err == nil {
			t.Errorf("%s is decoded as %s, want an error", in, d)
		}
	}
	for _, in := range []string{tooLong, "", "x", "1e10001", "1 000", "0x10"} {
		if _, err := commerce.ParseDecimal(in); !errors.Is(err, commerce.ErrInvalidArgument) {
			t.Errorf("ParseDecimal(%q): error %v, want ErrInvalidArgument", in, err)
		}
	}
}

// A number with a huge exponent has as many digits: they are never written out.
func TestDecimal_hugeExponent(t *testing.T) {
	t.Parallel()
	for exponent, want := range map[int32]string{
		9_999: "-1e9999", 16_000_000: "-1e16000000", -16_000_000: "-1e-16000000",
		math.MaxInt32: "-1e2147483647", math.MinInt32: "-1e-2147483648",
	} {
		d := commerce.NewDecimal(-1).Shift(exponent)
		for how, got := range map[string]string{"JSON": encode(t, d), "String": d.String(), "%v": fmt.Sprint(d)} {
			if got != want {
				t.Errorf("%s of exponent %d: got %d bytes, %.40s, want %s", how, exponent, len(got), got, want)
			}
		}
	}
}

// Every number that is accepted can be read back, alone and in a record.
func TestDecimal_longNumbers(t *testing.T) {
	t.Parallel()
	nines := strings.Repeat("9", 9_999)
	for _, s := range []string{"1e10000", "-1e10000", "-1e9999", "1e-9999", "-12.5e-9999", "9" + nines, "-" + nines} {
		var again commerce.Decimal
		var plan, planAgain commerce.Plan
		d := parseDecimal(t, s)
		plan.Attributes.PlanLength = d
		err := errors.Join(json.Unmarshal([]byte(encode(t, d)), &again), json.Unmarshal([]byte(encode(t, plan)), &planAgain))
		if err != nil || !again.Equal(d) || !planAgain.Attributes.PlanLength.Equal(d) {
			t.Errorf("%.20s is not the same after a round trip, error %v", s, err)
		}
	}
}

// A number is what math/big says it is, and is encoded as a JSON number.
func FuzzDecimal(f *testing.F) {
	for _, s := range []string{
		"0", "-1000", "12.50", "1e3", "-0.0001", "+5", ".5", "5.", "1_0", "0x1", "NaN", "", " 1", "1e-9999", "1e10001",
		"99999999999999999999999", "1/2", `{"`, "\n\x02", `""`, `"1`, "1e100", ".505",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		d, err := commerce.ParseDecimal(s)
		if err != nil {
			if !errors.Is(err, commerce.ErrInvalidArgument) || len(s) > 60 && strings.Contains(err.Error(), s) {
				t.Fatalf("error %v, want ErrInvalidArgument without the text", err)
			}
			if json.Valid([]byte(s)) && strings.Trim(s, "0123456789.-") == "" && len(s) < 1000 {
				t.Fatalf("the number %q is refused", s)
			}
			return
		}
		got, ok1 := new(big.Rat).SetString(d.String())
		if want, ok2 := new(big.Rat).SetString(s); !ok1 || !ok2 || got.Cmp(want) != 0 {
			t.Fatalf("%q is parsed as %v, want %v", s, d, want)
		}
		var again commerce.Decimal
		text := encode(t, d)
		if err := json.Unmarshal([]byte(text), &again); text[0] == '"' || err != nil || !again.Equal(d) {
			t.Fatalf("%q is encoded as %s and decoded as %v, error %v", s, text, again, err)
		}
	})
}
