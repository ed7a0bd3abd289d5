package commerce_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/big"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

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
		d := commerce.NewDecimal(9)
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

func TestDecimal_arithmetic(t *testing.T) {
	t.Parallel()
	a, b, zero := parseDecimal(t, "7.25"), parseDecimal(t, "-2.5"), commerce.Decimal{}
	for _, tt := range []struct {
		name string
		got  commerce.Decimal
		want string
	}{
		{name: "sum", got: a.Add(b), want: "4.75"},
		{name: "difference", got: a.Sub(b), want: "9.75"},
		{name: "product", got: a.Mul(b), want: "-18.125"},
		{name: "with the zero value", got: zero.Sub(a.Mul(zero)).Add(b).Neg(), want: "2.5"},
		{name: "negative", got: a.Neg(), want: "-7.25"},
		{name: "shifted up", got: a.Shift(3), want: "7250"},
		{name: "shifted down", got: a.Shift(-2), want: "0.0725"},
		{name: "half of an even number rounded", got: b.Round(0), want: "-3"},
		{name: "half of a positive one", got: b.Neg().Round(0), want: "3"},
		{name: "half of a decimal place", got: a.Round(1), want: "7.3"},
		{name: "tens", got: commerce.NewDecimal(-25).Round(-1), want: "-30"},
		{name: "more places than there are", got: a.Round(16_000_000), want: "7.25"},
		{name: "places of a huge number", got: a.Shift(16_000_000).Round(2), want: "725e15999998"},
		{name: "half a percent", got: commerce.NewDecimal(50).Percent(commerce.NewDecimal(5)), want: "3"},
		{name: "half a percent below 0", got: commerce.NewDecimal(50).Percent(commerce.NewDecimal(-5)), want: "-3"},
		{name: "less than half", got: commerce.NewDecimal(49).Percent(commerce.NewDecimal(-5)), want: "-2"},
		{name: "a part of a percent", got: commerce.NewDecimal(1000).Percent(parseDecimal(t, "12.5")), want: "125"},
	} {
		if got := tt.got.String(); got != tt.want {
			t.Errorf("%s: got %s, want %s", tt.name, got, tt.want)
		}
	}
	for places, want := range map[int32]string{-1: "-10", 0: "-13", 1: "-12.5", 3: "-12.500"} {
		if got := parseDecimal(t, "-12.5").StringFixed(places); got != want {
			t.Errorf("StringFixed(%d) of -12.5: got %s, want %s", places, got, want)
		}
	}
	diff(t, "the operands", []string{a.String(), b.String(), zero.String()}, []string{"7.25", "-2.5", "0"})
}

// Numbers are compared by value, whatever their representation, also by cmp.Diff.
func TestDecimal_comparison(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		a, b string
		want int
	}{
		{a: "1", b: "2", want: -1},
		{a: "1.00", b: "1"},
		{a: "1e3", b: "1000"},
		{a: "-0.00", b: "0"},
		{a: "-3", b: "-20", want: 1},
	} {
		a, b := parseDecimal(t, tt.a), parseDecimal(t, tt.b)
		if got, back := a.Cmp(b), b.Cmp(a); got != tt.want || back != -tt.want {
			t.Errorf("%s and %s are compared as %d and %d, want %d and %d", tt.a, tt.b, got, back, tt.want, -tt.want)
		}
		if want := tt.want == 0; a.Equal(b) != want || (cmp.Diff(a, b) == "") != want {
			t.Errorf("Equal of %s and %s is %t, cmp.Diff %q, want equal: %t", tt.a, tt.b, a.Equal(b), cmp.Diff(a, b), want)
		}
	}
	for _, tt := range []struct {
		d         commerce.Decimal
		sign      int
		isInteger bool
	}{
		{d: commerce.Decimal{}, isInteger: true},
		{d: parseDecimal(t, "-0.00"), isInteger: true},
		{d: parseDecimal(t, "0.5"), sign: 1},
		{d: parseDecimal(t, "-2.00"), sign: -1, isInteger: true},
		{d: parseDecimal(t, "-1e-10"), sign: -1},
	} {
		got := []any{tt.d.Sign(), tt.d.IsZero(), tt.d.IsNegative(), tt.d.IsInteger()}
		diff(t, "Sign, IsZero, IsNegative, IsInteger of "+tt.d.String(), got,
			[]any{tt.sign, tt.sign == 0, tt.sign < 0, tt.isInteger})
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
