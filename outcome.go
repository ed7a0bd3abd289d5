package commerce

import (
	"net/http"
	"strconv"

	"github.com/commerce-go/commerce/internal/transport"
)

// Outcome is what is known about a call: whether a write was applied.
type Outcome uint8

const (
	// OutcomeUnknown means that the write may have been applied, in full, in part, or not
	// at all. Read what it changes before you send it again. It is the zero value.
	OutcomeUnknown Outcome = iota
	// OutcomeNone means that a read, or a walk, failed. There was nothing to apply.
	OutcomeNone
	// OutcomeNotSent means that nothing of the call reached the service. Send it again when
	// the cause is gone: e.g. invalid arguments, bad credentials, a context that ended.
	OutcomeNotSent
	// OutcomeRejected means that the service applied nothing of the write: mostly, it refused
	// it. Send it again when the cause is gone.
	OutcomeRejected
	// OutcomePartial means that some of the write was applied, or all of it with errors. The
	// result lists what. Do not send the whole write again.
	OutcomePartial
	// OutcomeUnreadable means that the service accepted the write, but its response does not
	// show what was applied. Read what it changes before you send it again.
	OutcomeUnreadable
	// OutcomeApplied means that there is no error: a write was applied in full, or a read
	// succeeded.
	OutcomeApplied
)

var outcomeNames = [...]string{"unknown", "none", "not sent", "rejected", "partial", "unreadable", "applied"}

// String returns the outcome in lower case, e.g. "not sent".
func (o Outcome) String() string {
	if int(o) < len(outcomeNames) {
		return outcomeNames[o]
	}
	return "Outcome(" + strconv.Itoa(int(o)) + ")"
}

// MarshalText returns what String does, so that JSON and logs show a word.
func (o Outcome) MarshalText() ([]byte, error) { return []byte(o.String()), nil }

// bodyShows is what the body of a response shows of a write.
type bodyShows uint8

const (
	showsNothing bodyShows = iota
	mayShow                // what was applied, in an unknown form
	showsAll               // all of the write was applied
	showsPart              // a part of it was applied, or all of it with errors
	showsRefusal           // nothing was applied
)

// outcomeOfWrite returns what is known about a write, from the result of its last attempt. The
// cases follow the table of outcomes in docs/promises.md: the first that matches counts.
func outcomeOfWrite(r *transport.Result, body bodyShows) Outcome {
	switch is2xx := r.Is2xx(); {
	case r.MaybeSent, r.MaybeAppliedBefore && !is2xx:
		return OutcomeUnknown
	case r.StatusCode == 0:
		return OutcomeNotSent
	case body == showsAll && is2xx && !r.SentTwice:
		return OutcomeApplied
	case body == showsAll, body == showsPart:
		return OutcomePartial
	case body == showsRefusal && is2xx && !r.SentTwice:
		return OutcomeRejected
	case is2xx:
		return OutcomeUnreadable
	case didNotAct(r.StatusCode) && body != mayShow && !r.SentTwice:
		return OutcomeRejected
	}
	return OutcomeUnknown
}

// didNotAct reports whether a status means that the service, or a gateway before it, did not
// act.
func didNotAct(status int) bool {
	return status == http.StatusTemporaryRedirect || status == http.StatusPermanentRedirect ||
		status >= 400 && status <= 499 && status != http.StatusRequestTimeout
}
