package commerce

import (
	"bytes"
	"errors"
	"strconv"

	"github.com/shopspring/decimal"
)

// Decimal is an exact decimal number: a JSON number on the wire, never a
// float. The zero value is 0. It embeds [decimal.Decimal]: its arithmetic takes and
// returns that type, so a sum is Decimal{a.Add(b.Decimal)}. Compare with Equal or Cmp,
// never with ==, and use no Decimal as the key of a map: one number has many forms.
//
// Decoding accepts any JSON number of at most 10,000 characters and an exponent
// within ±10,000 (far beyond what a float64 holds), the same written as a JSON
// string, and null, which is 0.
//
// Decimal is immutable and safe for concurrent use.
type Decimal struct{ decimal.Decimal }

// NewDecimal returns n as a Decimal.
func NewDecimal(n int64) Decimal { return Decimal{decimal.NewFromInt(n)} }

// ParseDecimal reads a number such as "-1000", "12.50" or "1e3". Its error
// matches [ErrInvalidArgument] and does not repeat the text.
func ParseDecimal(s string) (Decimal, error) {
	d, ok := parseDecimal(s)
	if !ok {
		return Decimal{}, invalid("decimal", "must be a decimal number of at most 10,000 characters and an exponent within ±10,000")
	}
	return Decimal{d}, nil
}

// mostDigits is the most characters, and the highest exponent, that are read.
const mostDigits = 10_000

// parseDecimal reads a number within bounds: reading digits takes time by their
// square, and an exponent takes its value in memory once the number is used.
func parseDecimal(s string) (decimal.Decimal, bool) {
	if len(s) > mostDigits {
		return decimal.Decimal{}, false
	}
	if n, ok := small(s); ok {
		return n, true
	}
	d, err := decimal.NewFromString(s)
	if exp := d.Exponent(); err != nil || exp > mostDigits || exp < -2*mostDigits { // the digits after the point count too
		return decimal.Decimal{}, false
	}
	return d, true
}

// smallNumbers are the whole numbers below 100, which most counts are: a Decimal
// that is never changed can be shared.
var smallNumbers = func() (list [100]decimal.Decimal) {
	for n := range list {
		list[n] = decimal.NewFromInt(int64(n))
	}
	return list
}()

// small returns the number that s is, if it is a whole one of one or two digits.
func small(s string) (decimal.Decimal, bool) {
	if len(s) == 0 || len(s) > 2 {
		return decimal.Decimal{}, false
	}
	n := 0
	for _, c := range []byte(s) {
		if c < '0' || c > '9' {
			return decimal.Decimal{}, false
		}
		n = 10*n + int(c-'0')
	}
	return smallNumbers[n], true
}

// maxAmountExponent limits the amount of a discount, in its size and in its places.
const maxAmountExponent = 30

var maxAmount = decimal.New(1, maxAmountExponent)

// isAmount reports whether d is within ±10^30 and has at most 30 decimal places. It
// checks the exponent first, because a comparison writes out all digits.
func (d Decimal) isAmount() bool {
	const longest = 1_000 // places with zeros at the end
	exp := d.Exponent()
	if exp < -longest || exp > maxAmountExponent || d.Abs().GreaterThan(maxAmount) {
		return false
	}
	return exp >= -maxAmountExponent || d.Truncate(maxAmountExponent).Equal(d.Decimal)
}

// Equal reports whether d and o are the same number, however they are written.
func (d Decimal) Equal(o Decimal) bool { return d.Decimal.Equal(o.Decimal) }

// MarshalJSON writes d as a JSON number.
func (d Decimal) MarshalJSON() ([]byte, error) {
	if exp := d.Exponent(); exp >= -mostDigits && exp <= mostDigits {
		if text := d.Decimal.String(); len(text) <= mostDigits {
			return []byte(text), nil
		}
	}
	// Longer text cannot be read back, and takes long to write.
	return []byte(d.Coefficient().String() + "e" + strconv.Itoa(int(d.Exponent()))), nil
}

// UnmarshalJSON reads a JSON number, a string that holds one, or null.
func (d *Decimal) UnmarshalJSON(b []byte) error {
	if string(b) == "null" {
		d.Decimal = decimal.Decimal{}
		return nil
	}
	v, ok := parseDecimal(string(bytes.Trim(b, `"`)))
	if !ok {
		return errors.New("not a decimal number with an exponent within ±10,000")
	}
	d.Decimal = v
	return nil
}

// Money is an amount of a currency. The service's amounts are whole numbers of
// the currency's smallest unit wherever its documentation shows them: -1000 with
// currency USD is -$10.00.
type Money struct {
	// Amount in the currency's smallest unit.
	Amount Decimal `json:"amount"`
	// Currency code, e.g. "USD". Empty where the service answers with a bare number.
	Currency string `json:"currency,omitzero"`
	// Formatted is the amount as the store shows it, e.g. "-$10.00". Empty where the service leaves it out.
	Formatted string `json:"formatted,omitzero"`
	// Extra holds members that this type does not name.
	Extra Extra `json:",embed"`
}

// Price is the price of a product or plan in one currency.
type Price struct {
	// Amount in the currency's smallest unit.
	Amount Decimal `json:"amount"`
	// IncludesTax says whether tax is part of Amount.
	IncludesTax bool `json:"includes_tax"`
	// Extra holds members that this type does not name.
	Extra Extra `json:",embed"`
}

// Prices maps a currency code to the price in that currency.
type Prices map[string]Price
