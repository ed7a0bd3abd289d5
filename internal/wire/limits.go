// Package wire turns the service's JSON, paths and queries into Go values and
// back. It knows neither HTTP nor the payload types: the root package tells it
// which types are records and which need a reading of their own.
package wire

import (
	"bytes"
	"errors"
)

// errTooMany is the error of input that would take much more memory than its size.
var errTooMany = errors.New("more elements than a response may have")

// maxCommas limits the number of values in one input: each value but the first of an
// object or array follows a comma. The largest pages have about 20,000.
const maxCommas = 100_000

// IsExcessive reports whether JSON text has more values than may be read. Text of up to
// 1 MiB, the limit of an error response, is always read.
func IsExcessive(b []byte) bool { return len(b) > 1<<20 && hasTooManyValues(b) }

func hasTooManyValues(b []byte) bool { return bytes.Count(b, []byte(",")) > maxCommas }
