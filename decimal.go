package commerce

import (
	"bytes"
	"errors"
	"strconv"

	"github.com/shopspring/decimal"

	"github.com/commerce-go/commerce/internal/wire"
)

// Decimal is an exact decimal number. It is a number in JSON, and never a float in Go. The
// zero value is 0. Decimal is immutable and safe for concurrent use.
//
// It embeds [decimal.Decimal], whose arithmetic takes and returns that type: a sum is
// Decimal{a.Add(b.Decimal)}. Compare with Equal or Cmp, not with ==, and do not use a
// Decimal as the key of a map, because one number has many representations.
//
// Decoding accepts a JSON number of at most 10,000 characters with an exponent within
// ±10,000, a JSON string that holds such a number, and null, which is 0.
type Decimal struct{ decimal.Decimal }

// NewDecimal returns n as a Decimal.
func NewDecimal(n int64) Decimal { return Decimal{decimal.NewFromInt(n)} }

// ParseDecimal parses a number such as "-1000", "12.50" or "1e3". Its error matches
// [ErrInvalidArgument] and does not repeat the text.
func ParseDecimal(s string) (Decimal, error) {
	if len(s) <= maxDigits { // the time to parse digits grows with the square of their number
		if d, err := decimal.NewFromString(s); err == nil && max(d.Exponent(), -d.Exponent()) <= maxDigits {
			return Decimal{d}, nil
		}
	}
	const problem = "must be a decimal number of at most 10,000 characters and an exponent within ±10,000"
	return Decimal{}, invalid("decimal", problem)
}

// maxDigits is the maximum number of characters, and the highest exponent, of a number.
// [decimal.NewFromString] has the same limit for the exponent, but a program can raise it.
const maxDigits = 10_000

// maxAmountExponent limits the amount of a discount: its size and its decimal places.
const maxAmountExponent = 30

var maxAmount = decimal.New(1, maxAmountExponent)

// isSet reports whether d was set or decoded: a 0 that was differs from the zero value.
func (d Decimal) isSet() bool { return d != (Decimal{}) }

// isAmount reports whether d is within ±10^30 and has at most 30 decimal places, without
// trailing zeros. It checks the exponent first, because a comparison takes as much memory as
// the exponent states, and [decimal.New] accepts any exponent.
func (d Decimal) isAmount() bool {
	exp := d.Exponent()
	if exp < -maxDigits || exp > maxAmountExponent || d.Abs().GreaterThan(maxAmount) {
		return false
	}
	return exp >= -maxAmountExponent || d.Truncate(maxAmountExponent).Equal(d.Decimal)
}

// Equal reports whether d and o are the same number, whatever their representation.
func (d Decimal) Equal(o Decimal) bool { return d.Decimal.Equal(o.Decimal) }

// Percent returns percent hundredths of d, rounded half away from zero to a whole number:
// price.Percent(NewDecimal(-10)) takes a tenth off.
func (d Decimal) Percent(percent Decimal) Decimal {
	return Decimal{d.Mul(percent.Decimal).Shift(-2).Round(0)}
}

// MarshalJSON encodes d as a JSON number.
func (d Decimal) MarshalJSON() ([]byte, error) {
	if exp := d.Exponent(); exp >= -maxDigits && exp <= maxDigits {
		if text := d.Decimal.String(); len(text) <= maxDigits {
			return []byte(text), nil
		}
	}
	// A longer text could not be decoded, and takes long to write.
	return []byte(d.Coefficient().String() + "e" + strconv.Itoa(int(d.Exponent()))), nil
}

// UnmarshalJSON decodes a JSON number, a string that holds one, or null.
func (d *Decimal) UnmarshalJSON(b []byte) error {
	if string(b) == "null" {
		d.Decimal = decimal.Decimal{}
		return nil
	}
	if !bytes.ContainsAny(b, `".eE`) {
		if n, err := strconv.ParseInt(string(b), 10, 64); err == nil { // much faster than ParseDecimal
			*d = NewDecimal(n)
			return nil
		}
	}
	v, err := ParseDecimal(wire.Text(b))
	if err != nil { // not that of an argument
		return errors.New("not a decimal number with an exponent within ±10,000")
	}
	*d = v
	return nil
}
