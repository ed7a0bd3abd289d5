package ledger

import (
	"errors"
	"net/http"

	"github.com/commerce-go/commerce"
)

// slowed is the number of attempts of a call that gets a 429 without a Retry-After each time.
const slowed = 12

// Want is what a call must return.
type Want struct {
	Outcome  commerce.Outcome // of a write
	Failed   bool
	Is       error // sentinel that the error must match; nil: not checked
	Status   int
	Attempts int
}

func wantError(o commerce.Outcome, status, attempts int) []Want {
	return []Want{{Outcome: o, Failed: true, Is: sentinel(status), Status: status, Attempts: attempts}}
}

// Without a response: the write may have been applied, or was not sent at all. A read
// is made again.
func wantUnknown() []Want  { return wantError(commerce.OutcomeUnknown, 0, 1) }
func wantNotSent() []Want  { return wantError(commerce.OutcomeNotSent, 0, 2) }
func wantLostRead() []Want { return wantError(commerce.OutcomeNone, 0, 2) }

func wantSuccess(status int) []Want { return []Want{{Status: status, Attempts: 1}} }

// With a success that can't be read.
func wantUnreadable(status int) []Want { return wantError(commerce.OutcomeUnreadable, status, 1) }
func wantBadRead(status int) []Want    { return wantError(commerce.OutcomeNone, status, 2) }

func wantPartial(status int) []Want {
	return []Want{{
		Outcome: commerce.OutcomePartial, Failed: true, Is: commerce.ErrPartialFailure, Status: status, Attempts: 1,
	}}
}

func wantRejected(status, attempts int) []Want {
	return wantError(commerce.OutcomeRejected, status, attempts)
}

// wantFailedRead returns what a read must return after a status of 300 or above.
func wantFailedRead(status int) []Want {
	switch status {
	case http.StatusTooManyRequests:
		return wantError(commerce.OutcomeNone, status, slowed)
	case 408, 421, 425, 500, 502, 503, 504:
		return wantError(commerce.OutcomeNone, status, 2)
	}
	return wantError(commerce.OutcomeNone, status, 1)
}

// errCutOrBad stands for one of ErrConnection and ErrBadResponse: net/http decides which ends of a
// body are errors.
var errCutOrBad = errors.New("a connection error, or an unusable response")

// because returns wants whose error matches another sentinel than that of the status.
func because(is error, wants []Want) []Want {
	wants[0].Is = is
	return wants
}

// sentinel returns the error that a status must match.
func sentinel(status int) error {
	switch {
	case status == 400:
		return commerce.ErrBadRequest
	case status == 401:
		return commerce.ErrUnauthorized
	case status == 403:
		return commerce.ErrForbidden
	case status == 404:
		return commerce.ErrNotFound
	case status == 409:
		return commerce.ErrConflict
	case status == 422:
		return commerce.ErrUnprocessable
	case status == 429:
		return commerce.ErrRateLimited
	case status >= 500 && status <= 599:
		return commerce.ErrServer
	case status >= 200 && status <= 299:
		return errCutOrBad
	case status >= 100 && status <= 399:
		return commerce.ErrBadResponse
	}
	return nil
}
