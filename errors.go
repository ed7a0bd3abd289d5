package commerce

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"log/slog"
	"net/http"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/commerce-go/commerce/internal/transport"
	"github.com/commerce-go/commerce/internal/wire"
)

// Error is the error of a call whose arguments were valid. Find it with [errors.AsType], and
// compare it with the sentinels by [errors.Is]:
//
//	if e, ok := errors.AsType[*commerce.Error](err); ok {
//		log.Print(e.StatusCode, e.RequestID)
//	}
//
// Its text is for people and may change; programs should use the fields. However an Error is
// printed, logged or encoded, it shows the titles of the service's errors, but no details,
// URLs, tokens or bodies. After a connection error it may show the host and its address. Do
// not copy an Error into an unexported field: fmt would print all of its fields.
type Error struct {
	// Op is the operation: "Carts.AddCustomDiscounts", "Subscriptions.List", "Client.Do",
	// or "token" if no access token could be obtained.
	Op string
	// Part names the request that failed, e.g. "items" or "add", if the call makes several. It is
	// empty for the first read of a call.
	Part string
	// StatusCode of the response to the last attempt. It is 0 if there was no response, and in an
	// error of SetCustomDiscounts or EnsureCustomDiscounts, whose other facts are those of its last
	// failed request. If the last attempt was not sent, it is the status of the attempt before.
	StatusCode int
	// Errors are the first 1,000 entries of the response's errors array and, of a write, errors
	// inside data. It is empty if the response has none that can be read. The error code of a token
	// request, e.g. "invalid_client", is the Title of an entry.
	Errors []ErrorObject
	// Outcome states whether a write was applied. It is OutcomeNone for a read. If Op is
	// "token", it is OutcomeNotSent for reads too.
	Outcome Outcome
	// RequestID of the response identifies the request to the service's support. It may be
	// empty.
	RequestID string
	// RetryAfter is the time to wait before the next call: what the service asked for, or
	// the wait that was expected at the client's gate. It is 0 if there is neither. The
	// service may ask for any time: limit it before you wait. It asks by Retry-After, or with a 429
	// by RateLimit-Reset or X-RateLimit-Reset. Dates count by the clock of its Date header.
	RetryAfter time.Duration
	// Attempts is the number of times that the HTTP transport was called: for token requests if
	// Op is "token", otherwise for all others of the call. Of EnsureCustomDiscounts and
	// SetCustomDiscounts, it counts only those of the last step that failed.
	Attempts int
	// Err is the cause: e.g. a connection error, the error of the caller's context, or the
	// reason why the response cannot be read. It is nil if the response alone explains the
	// error.
	Err error
	// Raw returns what Body and ContentType return; it may be nil. It prints as "withheld".
	Raw rawResponse
}

// rawResponse returns the beginning of a response. It is a function, so neither fmt nor reflection
// leads to what it returns; nil: there is none.
type rawResponse func() (body []byte, contentType string)

// newRawResponse copies the first 4 KiB of a body, which may be large.
func newRawResponse(r *transport.Result) rawResponse {
	body, contentType := bytes.Clone(r.Body[:min(len(r.Body), 4<<10)]), r.Header.Get("Content-Type")
	if !transport.IsPrintable(contentType) {
		contentType = ""
	}
	return func() ([]byte, string) { return bytes.Clone(body), contentType }
}

// String returns "withheld".
func (rawResponse) String() string { return "withheld" }

// MarshalText returns what String does.
func (rawResponse) MarshalText() ([]byte, error) { return []byte("withheld"), nil }

// Equal lets cmp.Diff compare values of Error. Raw does not count: a test cannot make one.
func (rawResponse) Equal(rawResponse) bool { return true }

// Body returns a copy of the first 4 KiB of the last response, as received: of an error, or of a
// 2xx that cannot be read. It is empty after a partial success, and for a 2xx to a token request.
// It may hold customers' data or credentials, so nothing prints it.
func (e *Error) Body() []byte {
	if e.Raw == nil {
		return nil
	}
	body, _ := e.Raw()
	return body
}

// ContentType returns the Content-Type of the response that Body is part of. It may be empty.
func (e *Error) ContentType() string {
	if e.Raw == nil {
		return ""
	}
	_, contentType := e.Raw()
	return contentType
}

// newError returns the error of a call that failed. It is the error of the token request if
// the call was not sent because of that.
func newError(call *transport.Call, r *transport.Result, outcome Outcome, errs []ErrorObject) *Error {
	e := &Error{
		Op:         call.Op,
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
	if outcome != OutcomePartial && (call.Op != opToken || !r.Is2xx()) { // a 2xx may hold a token
		e.Raw = newRawResponse(r)
	}
	if token, ok := errors.AsType[*Error](r.Err); ok {
		if r.StatusCode == 0 {
			return token
		}
		e.Err = refreshError{transport.Hide(token)}
	}
	ended := errors.Is(e.Err, context.Canceled) || errors.Is(e.Err, context.DeadlineExceeded)
	isCut := errors.Is(e.Err, ErrConnection) || errors.Is(e.Err, ErrTimeout)
	switch {
	case outcome == OutcomePartial:
		e.Err = nil // the caller reports how many were added, and Errors why others were not
	case outcome == OutcomeRejected && r.Is2xx():
		e.Err = nil // Errors has the reasons
	case r.Is2xx() && isCut:
	case outcome == OutcomeUnreadable, r.Is2xx() && !ended:
		e.Err = matching(badResponse(call, r), e.Err)
	case r.StatusCode == http.StatusForbidden && r.IsRateLimited():
		e.Err = matching(ErrRateLimited, e.Err)
	}
	return e
}

// errNotJSON may pass: mostly, the response is the page of a gateway while the service is down.
var errNotJSON = fmt.Errorf("%w: no JSON", ErrBadResponse)

// badResponse returns what is wrong with a 2xx that cannot be read.
func badResponse(call *transport.Call, r *transport.Result) error {
	isEmpty := len(r.Body) == 0 && (transport.IsRead(call.Method) || call.Op == opToken)
	if isEmpty || r.Truncated || wire.Valid(r.Body) {
		return ErrBadResponse
	}
	return errNotJSON
}

// isNilPointer reports whether the methods of err may panic.
func isNilPointer(err error) bool {
	v := reflect.ValueOf(err)
	return v.Kind() == reflect.Pointer && v.IsNil()
}

// withOutcome returns the error of a call with another outcome.
func withOutcome(err error, outcome Outcome) error {
	failed, _ := errors.AsType[*Error](err) // calls return no other error
	unshared := *failed                     // calls that wait for one token share its error
	unshared.Outcome = outcome
	return &unshared
}

// matching returns err, which may be nil, so that it matches a sentinel too.
func matching(sentinel, err error) error {
	if err == nil {
		return sentinel
	}
	return fmt.Errorf("%w: %w", sentinel, err)
}

// refreshError is a failed token request after a call was refused. It matches the causes of
// that request, but not the sentinel of its status, because the call has its own status.
type refreshError struct{ token transport.Hidden[*Error] }

func (e refreshError) Error() string { return e.token().Error() }

func (e refreshError) Unwrap() error { return e.token().Err }

func (e refreshError) Is(target error) bool { return target == ErrToken }

func (e refreshError) As(target any) bool {
	token, ok := target.(**Error)
	if ok {
		*token = e.token()
	}
	return ok
}

// failedCall is the error of one of the calls of EnsureCustomDiscounts. It matches what that
// error matches, except the outcome: only the outcome of the whole call counts.
type failedCall struct{ err transport.Hidden[*Error] }

func (f failedCall) Error() string { return f.err().problem() }

func (f failedCall) Unwrap() error { return f.err().Err }

func (f failedCall) Is(target error) bool {
	return target != ErrOutcomeUnknown && target != ErrPartialFailure && f.err().Is(target)
}

// ensureEnd is the first part of the error of EnsureCustomDiscounts. It keeps all causes, for
// [IsFinal]: two of them may have the same text, and a failedCall does not show its *Error.
type ensureEnd struct {
	matched, wanted int
	causes          transport.Hidden[[]error]
	mayPass         bool // the same call may succeed, whatever the causes are
}

func (e ensureEnd) Error() string {
	if e.wanted == 0 {
		return "the cart is not as wanted"
	}
	return fmt.Sprintf("%d of %d discounts are as wanted", e.matched, e.wanted)
}

// isTemporary reports whether the same request may succeed later. Such a status is about the
// credentials, about the load or the state of the service, or about other requests.
func isTemporary(status int) bool {
	switch status {
	case http.StatusUnauthorized, http.StatusForbidden, http.StatusProxyAuthRequired, http.StatusRequestTimeout,
		http.StatusConflict, http.StatusMisdirectedRequest, http.StatusLocked, http.StatusTooEarly,
		http.StatusTooManyRequests:
		return true
	}
	return status >= 500
}

// failuresIn yields the errors of calls in the tree of err, also of those of EnsureCustomDiscounts.
func failuresIn(err error) iter.Seq[*Error] {
	return func(yield func(*Error) bool) {
		for cause := range transport.Tree(err) {
			e, _ := cause.(*Error)      //nolint:errorlint // part of the tree
			switch of := cause.(type) { //nolint:errorlint // part of the tree
			case failedCall:
				e = of.err()
			case refreshError:
				e = of.token()
			}
			if e != nil && !yield(e) {
				return
			}
		}
	}
}

// anyFailure reports whether one of them is so.
func anyFailure(err error, is func(*Error) bool) bool {
	return slices.ContainsFunc(slices.Collect(failuresIn(err)), is)
}

// Error describes the error for people. The text may change; do not parse it.
func (e *Error) Error() string {
	isEmpty := func(part string) bool { return part == "" }
	text := strings.Join(slices.DeleteFunc([]string{"commerce", e.Op, e.problem()}, isEmpty), ": ")
	var facts []string
	if outcome := e.outcome(); e.Outcome != OutcomeNone && outcome != "" {
		facts = append(facts, "outcome "+outcome)
	}
	if e.Attempts > 0 {
		facts = append(facts, "attempts "+strconv.Itoa(e.Attempts))
	}
	if e.RequestID != "" {
		facts = append(facts, "request id "+e.RequestID)
	}
	if e.RetryAfter > 0 {
		facts = append(facts, "retry after "+e.RetryAfter.String())
	}
	if len(facts) > 0 {
		text += " (" + strings.Join(facts, ", ") + ")"
	}
	return text
}

// problem returns what went wrong: the status, the cause and the titles. The status of a
// partial success is left out, as it is mostly one of success.
func (e *Error) problem() string {
	var parts, titles []string
	status := ""
	if e.Part != "" {
		parts = append(parts, e.Part)
	}
	if e.StatusCode != 0 && e.Outcome != OutcomePartial {
		status = http.StatusText(e.StatusCode)
		parts = append(parts, strings.TrimSpace(fmt.Sprintf("%d %s", e.StatusCode, status)))
	}
	if e.Err != nil {
		parts = append(parts, e.Err.Error())
	}
	if _, hasTitles := errors.AsType[ensureEnd](e.Err); hasTitles {
		return e.Err.Error()
	}
	all := e.titles()
	for _, title := range all {
		if title != status {
			titles = append(titles, strconv.Quote(title))
		}
	}
	for _, o := range e.Errors { // the title says less than is known
		if reason := o.Reason(); o.Title == status && reason != nil && !slices.Contains(all, reason.Error()) {
			all, titles = append(all, reason.Error()), append(titles, reason.Error())
		}
	}
	if titles != nil {
		parts = append(parts, strings.Join(titles, ", "))
	}
	return strings.Join(parts, ": ")
}

// Details returns the details of Errors, for people who debug. They may hold customers' data,
// so nothing prints them.
func (e *Error) Details() []string {
	var details []string
	for _, o := range e.Errors {
		if o.Detail != "" {
			details = append(details, o.Detail)
		}
	}
	return details
}

// maxShown is the number of titles or problems in the text of an error.
const maxShown = 5

// titles returns the titles of the first entries of Errors, truncated.
func (e *Error) titles() []string {
	const maxBytes = 120
	var titles []string
	for _, o := range e.Errors {
		if o.Title == "" {
			continue
		}
		if len(o.Title) > maxBytes {
			o.Title = strings.ToValidUTF8(o.Title[:maxBytes], "") + "…"
		}
		switch {
		case slices.Contains(titles, o.Title):
		case len(titles) == maxShown:
			return append(titles, fmt.Sprintf("and others, %d in all", len(e.Errors)))
		default:
			titles = append(titles, o.Title)
		}
	}
	return titles
}

// isOfCall reports whether a call returned the error, and not a caller that made it for a test.
func (e *Error) isOfCall() bool { return e.Op != "" }

// isUnknown reports whether it is not known whether a write was applied. An Error that a caller
// made of a cause does not say so.
func (e *Error) isUnknown() bool {
	return e.Outcome == OutcomeUnknown && (e.isOfCall() || e.Err == nil)
}

// outcome returns the text of Outcome; "" if the Error does not say it.
func (e *Error) outcome() string {
	if e.Outcome == OutcomeUnknown && !e.isUnknown() {
		return ""
	}
	return e.Outcome.String()
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error {
	if e == nil {
		return nil
	}
	return e.Err
}

// Is reports whether target is the sentinel of the error's status or outcome, or a reason of
// its Errors. If the outcome is OutcomePartial, the status does not count.
func (e *Error) Is(target error) bool {
	switch {
	case e == nil:
		return false
	case hasReason(e.Errors, target):
		return true
	case target == ErrToken:
		return e.Op == opToken
	case e.Outcome == OutcomePartial:
		return target == ErrPartialFailure
	case target == ErrOutcomeUnknown:
		return e.isUnknown()
	case target == ErrRateLimited && errors.Is(e.Err, transport.ErrGate):
		return true
	}
	return target != nil && target == statusSentinel(e.StatusCode)
}

func statusSentinel(status int) error {
	switch {
	case status >= 500:
		return ErrServer
	case status >= 300 && status <= 399, status >= 100 && status <= 199:
		return ErrBadResponse
	}
	// nil for other 4xx; a 2xx has ErrBadResponse as its cause, see newError
	return sentinelOf(func(s sentinel) bool { return s.status != 0 && s.status == status }).err
}

// Format prints the text of Error for every verb, so that no verb shows the fields.
func (e Error) Format(f fmt.State, verb rune) {
	if verb == 'q' {
		_, _ = fmt.Fprintf(f, "%q", e.Error())
		return
	}
	_, _ = io.WriteString(f, e.Error())
}

// LogValue returns the fields that are safe to log.
func (e Error) LogValue() slog.Value {
	attrs := []slog.Attr{slog.String("op", e.Op), slog.Int("attempts", e.Attempts)}
	for _, a := range []slog.Attr{
		slog.String("outcome", e.outcome()), slog.String("part", e.Part), slog.Int("status", e.StatusCode),
		slog.Any("titles", e.titles()),
		slog.String("request_id", e.RequestID), slog.Duration("retry_after", e.RetryAfter),
	} {
		if !reflect.ValueOf(a.Value.Any()).IsZero() {
			attrs = append(attrs, a)
		}
	}
	if e.Err != nil {
		attrs = append(attrs, slog.String("cause", e.Err.Error()))
	}
	return slog.GroupValue(attrs...)
}

// MarshalJSON encodes the fields that are safe to log.
func (e Error) MarshalJSON() ([]byte, error) {
	fields := map[string]any{}
	for _, a := range e.LogValue().Group() {
		fields[a.Key] = a.Value.Any()
	}
	return json.Marshal(fields)
}

// opToken is the Op of the errors of credentials.
const opToken = "token"
