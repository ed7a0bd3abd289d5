package commerce

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"time"

	"github.com/commerce-go/commerce/internal/paging"
	"github.com/commerce-go/commerce/internal/transport"
)

// Sentinels to test an error for with [errors.Is]. The first group follows
// [Error.StatusCode]. ErrRateLimited also matches a call that the gate held back (see
// [WithLimiter]), ErrBadResponse an answer that can't be read. Where [Error.Op] is
// "token" they follow the status of the token request: look at it before you take an
// ErrNotFound for a missing cart.
var (
	ErrBadRequest    = errors.New("bad request")     // 400
	ErrUnauthorized  = errors.New("unauthorized")    // 401
	ErrForbidden     = errors.New("forbidden")       // 403
	ErrNotFound      = errors.New("not found")       // 404
	ErrConflict      = errors.New("conflict")        // 409
	ErrUnprocessable = errors.New("unprocessable")   // 422
	ErrRateLimited   = errors.New("rate limited")    // 429
	ErrServer        = errors.New("server error")    // 5xx
	ErrBadResponse   = errors.New("unusable answer") // a 2xx that is not what it should be; 1xx and 3xx

	// ErrOutcomeUnknown matches an [*Error] with [OutcomeUnknown]: the write may
	// or may not have been applied.
	ErrOutcomeUnknown = errors.New("outcome unknown")
	// ErrPartialFailure matches an [*Error] with [OutcomePartial]: a result came
	// with the error.
	ErrPartialFailure = errors.New("partial failure")
	// ErrInvalidArgument matches a [*ValidationError].
	ErrInvalidArgument = errors.New("invalid argument")

	// ErrOffsetLimit ends a walk that read up to the highest offset of the
	// service: there may be more records.
	ErrOffsetLimit = paging.ErrOffsetLimit
	// ErrListDrift ends a walk over a list whose order changed so much that no
	// record read before was found again.
	ErrListDrift = paging.ErrListDrift
	// ErrNoProgress ends a walk that was given a page without anything new which
	// was not the end of the list.
	ErrNoProgress = paging.ErrNoProgress
)

// Error is every failure of a call after its arguments were checked. Find it with
// [errors.As], and test it against the sentinels with [errors.Is].
//
// Its text is for people and may change. It holds the titles of the service's errors,
// and no details, URLs, tokens or bodies, in whatever way it is printed, logged or
// encoded; after a connection error it may name the host and its address. The fields are
// there for code that asks. Do not copy an Error into an unexported field: fmt would
// print all of it.
type Error struct {
	// Op is the operation: "Carts.AddCustomDiscounts", "Subscriptions.List",
	// "Client.Do", or "token" where no token could be had.
	Op string
	// StatusCode of the answer to the last attempt. 0: it got none, also where an
	// attempt before it was answered and this one may have been sent.
	StatusCode int
	// Errors are the first 1,000 entries of the response's errors array (specification,
	// section 2.6), in order. Empty if the response had none that could be read.
	Errors []ErrorObject
	// Outcome is what is known about a write; OutcomeNone for a read. It is
	// OutcomeNotSent, for either, where Op is "token": the call was not begun.
	Outcome Outcome
	// RequestID of that answer identifies the request to the service's support; may be
	// empty.
	RequestID string
	// RetryAfter is how long to wait before another call: what the service asked for,
	// or until the gate opens; 0 if it did not ask. It is as long as the service says:
	// bound it before you wait.
	RetryAfter time.Duration
	// Attempts is how often the request, the token request where Op is "token", was
	// handed to the HTTP transport.
	Attempts int
	// Err is the cause, if the answer is not the whole of it: a fault of the
	// exchange, the error of the caller's context, an unreadable body.
	Err error
}

// Error returns a sentence for people. It is not part of the API.
func (e *Error) Error() string {
	if e == nil {
		return "<nil>"
	}
	var b strings.Builder
	b.WriteString("commerce: ")
	b.WriteString(e.Op)
	if e.StatusCode != 0 {
		fmt.Fprintf(&b, ": %d", e.StatusCode)
		if text := http.StatusText(e.StatusCode); text != "" {
			b.WriteString(" " + text)
		}
	}
	for i, title := range e.titles() {
		sep := ", "
		if i == 0 {
			sep = ": "
		}
		fmt.Fprintf(&b, "%s%q", sep, title)
	}
	if e.Err != nil {
		b.WriteString(": " + e.Err.Error())
	}
	b.WriteString(" (")
	if e.Outcome != OutcomeNone {
		fmt.Fprintf(&b, "outcome %s, ", e.Outcome)
	}
	fmt.Fprintf(&b, "attempts %d", e.Attempts)
	if e.RequestID != "" {
		b.WriteString(", request id " + e.RequestID)
	}
	if e.RetryAfter > 0 {
		fmt.Fprintf(&b, ", retry after %s", e.RetryAfter)
	}
	b.WriteString(")")
	return b.String()
}

// maxShown is how many titles or problems the text of an error shows.
const maxShown = 5

// titles of the error objects, shortened to what a line can hold.
func (e *Error) titles() []string {
	const longest = 120
	var titles []string
	for _, o := range e.Errors {
		if o.Title == "" {
			continue
		}
		if len(titles) == maxShown {
			return append(titles, fmt.Sprintf("and others, %d in all", len(e.Errors)))
		}
		if len(o.Title) > longest {
			o.Title = strings.ToValidUTF8(o.Title[:longest], "") + "…"
		}
		titles = append(titles, o.Title)
	}
	return titles
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error {
	if e == nil {
		return nil
	}
	return e.Err
}

// Is reports whether target is the sentinel of the error's status or outcome. A
// partial success matches ErrPartialFailure and the sentinel of no status.
func (e *Error) Is(target error) bool {
	if e == nil {
		return false
	}
	if e.Outcome == OutcomePartial {
		return target == ErrPartialFailure
	}
	if e.Outcome == OutcomeUnknown && target == ErrOutcomeUnknown {
		return true
	}
	if target == ErrRateLimited && errors.Is(e.Err, transport.ErrGate) {
		return true
	}
	return target != nil && target == statusSentinel(e.StatusCode)
}

func statusSentinel(status int) error {
	switch status {
	case http.StatusBadRequest:
		return ErrBadRequest
	case http.StatusUnauthorized:
		return ErrUnauthorized
	case http.StatusForbidden:
		return ErrForbidden
	case http.StatusNotFound:
		return ErrNotFound
	case http.StatusConflict:
		return ErrConflict
	case http.StatusUnprocessableEntity:
		return ErrUnprocessable
	case http.StatusTooManyRequests:
		return ErrRateLimited
	}
	switch {
	case status >= 500:
		return ErrServer
	case status >= 300 && status <= 399, status >= 100 && status <= 199:
		return ErrBadResponse
	}
	return nil // no answer, a 2xx (where badResponse marks the cause), another 4xx
}

// Format prints the same for every verb, so that no way of printing shows the fields.
func (e Error) Format(f fmt.State, verb rune) {
	if verb == 'q' {
		_, _ = fmt.Fprintf(f, "%q", e.Error())
		return
	}
	_, _ = io.WriteString(f, e.Error())
}

// LogValue gives the facts that belong in a log.
func (e Error) LogValue() slog.Value {
	attrs := []slog.Attr{slog.String("op", e.Op), slog.String("outcome", e.Outcome.String()), slog.Int("attempts", e.Attempts)}
	if e.StatusCode != 0 {
		attrs = append(attrs, slog.Int("status", e.StatusCode))
	}
	if titles := e.titles(); len(titles) > 0 {
		attrs = append(attrs, slog.Any("titles", titles))
	}
	if e.RequestID != "" {
		attrs = append(attrs, slog.String("request_id", e.RequestID))
	}
	if e.RetryAfter > 0 {
		attrs = append(attrs, slog.Duration("retry_after", e.RetryAfter))
	}
	if e.Err != nil {
		attrs = append(attrs, slog.String("cause", e.Err.Error()))
	}
	return slog.GroupValue(attrs...)
}

// MarshalJSON encodes the facts that belong in a log.
func (e Error) MarshalJSON() ([]byte, error) {
	facts := map[string]any{}
	for _, a := range e.LogValue().Group() {
		facts[a.Key] = a.Value.Any()
	}
	return json.Marshal(facts)
}

// newError returns the error of a call that failed, from what came back of it.
func newError(op string, r *transport.Result, outcome Outcome, errs []ErrorObject) *Error {
	e := &Error{
		Op:         op,
		StatusCode: r.StatusCode,
		Errors:     errs,
		Outcome:    outcome,
		RequestID:  transport.RequestID(r.Header),
		RetryAfter: r.RetryAfter,
		Attempts:   r.Attempts,
		Err:        r.Err,
	}
	for _, o := range e.Errors {
		if e.RequestID == "" && transport.IsRequestID(o.RequestID) {
			e.RequestID = o.RequestID
		}
	}
	ended := errors.Is(r.Err, context.Canceled) || errors.Is(r.Err, context.DeadlineExceeded)
	switch {
	case outcome == OutcomePartial, outcome == OutcomeRejected && r.Is2xx():
		e.Err = nil // the entries of Errors are the cause
	case outcome == OutcomeUnreadable, r.Is2xx() && !ended:
		e.Err = badResponse(r.Err)
	}
	return e
}

// badResponse makes err match ErrBadResponse, besides what it is.
func badResponse(err error) error {
	if err == nil {
		return ErrBadResponse
	}
	if errors.Is(err, ErrBadResponse) {
		return err
	}
	return fmt.Errorf("%w: %w", ErrBadResponse, err)
}
