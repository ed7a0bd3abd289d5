package commerce

import (
	"bytes"
	"errors"
	"strconv"

	"github.com/shopspring/decimal"

	"github.com/commerce-go/commerce/internal/wire"
)

// Decimal is an exact decimal number. It is a number in JSON, and never a float in Go. The
// zero value is 0. Decimal is immutable and safe for concurrent use. Compare with Equal or Cmp,
// not with ==, and do not use a Decimal as the key of a map, because one number has many
// representations. In a database, XML or YAML keep its String, and read that with ParseDecimal.
//
// Results are exact, except in the methods that round. They take time and memory for all digits
// of the numbers: 1e10000 is cheap, 1e1000000000 is not. An exponent beyond 32 bits panics.
//
// Decoding accepts a JSON number of at most 10,000 characters with an exponent within
// ±10,000, a JSON string that holds such a number, and null, which is 0.
type Decimal struct{ number decimal.Decimal }

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
	exp := d.number.Exponent()
	if digits := d.number.NumDigits(); exp >= -maxAmountExponent && digits+int(exp) <= maxAmountExponent {
		return true // most are: it needs no other number
	}
	if exp < -maxDigits || exp > maxAmountExponent || d.number.Abs().GreaterThan(maxAmount) {
		return false
	}
	return exp >= -maxAmountExponent || d.number.Truncate(maxAmountExponent).Equal(d.number)
}

// lowest returns the lower one of a and b.
func lowest(a, b Decimal) Decimal { return Decimal{decimal.Min(a.number, b.number)} }

// highest returns the higher one of a and b.
func highest(a, b Decimal) Decimal { return Decimal{decimal.Max(a.number, b.number)} }

// Add returns d + o.
func (d Decimal) Add(o Decimal) Decimal { return Decimal{d.number.Add(o.number)} }

// Sub returns d - o.
func (d Decimal) Sub(o Decimal) Decimal { return Decimal{d.number.Sub(o.number)} }

// Mul returns d * o.
func (d Decimal) Mul(o Decimal) Decimal { return Decimal{d.number.Mul(o.number)} }

// Neg returns -d.
func (d Decimal) Neg() Decimal { return Decimal{d.number.Neg()} }

// Cmp returns -1 if d is less than o, 0 if they are equal, and +1 if d is greater.
func (d Decimal) Cmp(o Decimal) int { return d.number.Cmp(o.number) }

// Equal reports whether d and o are the same number, whatever their representation.
func (d Decimal) Equal(o Decimal) bool { return d.number.Equal(o.number) }

// Sign returns -1 if d is less than 0, 0 if it is 0, and +1 if it is greater.
func (d Decimal) Sign() int { return d.number.Sign() }

// IsZero reports whether d is 0.
func (d Decimal) IsZero() bool { return d.number.IsZero() }

// IsNegative reports whether d is less than 0.
func (d Decimal) IsNegative() bool { return d.number.IsNegative() }

// IsInteger reports whether d is a whole number.
func (d Decimal) IsInteger() bool { return d.number.IsInteger() }

// Shift moves the point: it returns d * 10^places. 250 shifted by -2 places is 2.5.
func (d Decimal) Shift(places int32) Decimal { return Decimal{d.number.Shift(places)} }

// Round rounds to so many decimal places, half away from zero: 2.5 and -2.5 to 3 and -3.
// Round(-1) rounds to tens.
func (d Decimal) Round(places int32) Decimal {
	return Decimal{d.number.Round(min(places, -d.number.Exponent()))} // zeros are not added
}

// Percent returns percent hundredths of d, rounded to a whole number as Round does:
// price.Percent(NewDecimal(-10)) is minus a tenth of price.
func (d Decimal) Percent(percent Decimal) Decimal { return d.Mul(percent).Shift(-2).Round(0) }

// String returns d without zeros at the end of its decimal places, such as "-12.5". What is
// longer than 10,000 characters has an exponent instead, such as "1e10000".
func (d Decimal) String() string {
	if exp := d.number.Exponent(); exp >= -maxDigits && exp <= maxDigits {
		if text := d.number.String(); len(text) <= maxDigits {
			return text
		}
	}
	// A longer text could not be decoded, and takes long to write.
	return d.number.Coefficient().String() + "e" + strconv.Itoa(int(d.number.Exponent()))
}

// StringFixed returns d rounded as Round does, with exactly so many decimal places: 2.5 with 2
// is "2.50". It writes all digits, however many.
func (d Decimal) StringFixed(places int32) string { return d.number.StringFixed(places) }

// MarshalJSON encodes d as a JSON number.
func (d Decimal) MarshalJSON() ([]byte, error) { return []byte(d.String()), nil }

// UnmarshalJSON decodes a JSON number, a string that holds one, or null.
func (d *Decimal) UnmarshalJSON(b []byte) error {
	if string(b) == "null" {
		*d = Decimal{}
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
