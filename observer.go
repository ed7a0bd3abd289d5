package commerce

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/commerce-go/commerce/internal/transport"
)

// Observer is notified of what a client does: a call is a method of this package that sends
// requests, an attempt is one request. A walk makes a call for each page. A token request is a call
// with the Op "token", made within the call that needs the token first. See [WithObserver].
//
// The library uses the values of a returned context for what happens within the call or the
// attempt, so that spans nest. It ignores the deadline and the cancellation, except that
// [context.Cause] may report the cause of the returned context. A nil context changes nothing. A
// returned function is called once, at the end, also if a transport, a limiter or a locker
// panics; it may be nil.
//
// An Observer must be safe for concurrent use: several goroutines call it at a time, also those
// of one walk. The calls wait for it, so it should be fast.
type Observer interface {
	StartCall(ctx context.Context, call CallInfo) (context.Context, func(CallResult))
	StartAttempt(ctx context.Context, attempt AttemptInfo) (context.Context, func(AttemptResult))
}

// CallInfo describes a call that begins. It and the types below never hold a URL, a network
// address, a header, a body, a token or an id of a record.
type CallInfo struct {
	Op string // like [Error].Op, e.g. "Carts.AddCustomDiscounts"
	// Method of HTTP. A call that sends several requests has none: SetCustomDiscounts,
	// EnsureCustomDiscounts and EnsureState. With DryRun it is GET.
	Method string
}

// CallResult describes a call that ended.
type CallResult struct {
	// Outcome is OutcomeNone if a read or a token request succeeded, otherwise OutcomeOf the error.
	Outcome Outcome
	// Error is empty if the call succeeded. Otherwise it has the status, e.g. "404 Not Found",
	// or describes in a few words what went wrong. There are few different texts.
	Error      string
	Reason     string        // ReasonOf the error, "other" after a panic; empty if the call succeeded
	Remedy     Remedy        // RemedyOf the error, RemedyStaff after a panic; 0 if the call succeeded
	StatusCode int           // of the last response; 0 if there was none
	RequestID  string        // of the last response
	Attempts   int           // number of requests
	Records    int           // number of records in the page that a list returned; 0 after an error
	Duration   time.Duration // without the unlock function of a [Locker]
	Waits      Waits         // sum of the waits before all attempts
}

// AttemptInfo describes an attempt that begins.
type AttemptInfo struct {
	Op      string
	Method  string
	Attempt int   // of the same request: 1, or more for a retry
	Waits   Waits // since the attempt before, or since the start of the call
}

// AttemptResult describes an attempt that ended.
type AttemptResult struct {
	StatusCode int // 0 if there was no response
	RequestID  string
	// Error describes in a few words why there was no usable response, e.g. "unusable response" if
	// it was not what the call needs. It is empty if there was one, of whatever status. There
	// are few different texts. The response to a write is judged later, in CallResult.
	Error    string
	Duration time.Duration
}

// Waits are the times that a call waited before it could send a request. Waits of less than a
// millisecond do not count. Settle is not among them.
type Waits struct {
	Turn    time.Duration // for other writes to the same cart
	Lock    time.Duration // for the [Locker]
	Gate    time.Duration // after a 429, see [WithLimiter]
	Limiter time.Duration // for the [Limiter]
	Token   time.Duration // for an access token
	Backoff time.Duration // between an attempt and its retry
}

func (w *Waits) add(other Waits) {
	w.Turn += other.Turn
	w.Lock += other.Lock
	w.Gate += other.Gate
	w.Limiter += other.Limiter
	w.Token += other.Token
	w.Backoff += other.Backoff
}

// observedCall is a call with an observer, a logger or both. A nil pointer is a call without them.
// It belongs to the goroutine of the call.
type observedCall struct {
	observer Observer // nil: none
	info     CallInfo
	start    time.Time
	finish   func(CallResult)

	waits  Waits // since the last attempt
	result CallResult
	ended  bool
}

type observedCallKey struct{}

// startCall tells an observer that a call begins. The observer and the logger may be nil.
func startCall(
	ctx context.Context, observer Observer, logger *slog.Logger, info CallInfo,
) (context.Context, *observedCall) {
	if observer == nil && logger == nil {
		return ctx, nil
	}
	o := &observedCall{observer: observer, info: info, start: time.Now()}
	var tell func(CallResult)
	if observer != nil {
		var given context.Context
		given, tell = observer.StartCall(ctx, info)
		ctx = transport.WithValues(ctx, given)
	}
	o.finish = func(r CallResult) {
		if logger != nil && r.Reason != "" && info.Op != opToken { // a call waits for the token, and fails too
			logFailure(ctx, logger, info.Op, &r)
		}
		if tell != nil {
			tell(r)
		}
	}
	return context.WithValue(ctx, observedCallKey{}, o), o
}

// logFailure logs a call that failed: at warn, or at info if nobody needs to act.
func logFailure(ctx context.Context, logger *slog.Logger, op string, r *CallResult) {
	level := slog.LevelWarn
	if r.Remedy == RemedyCart || r.Reason == "canceled" {
		level = slog.LevelInfo
	}
	attrs := []slog.Attr{
		slog.String("op", op), slog.String("error", r.Error), slog.String("reason", r.Reason),
		slog.String("remedy", r.Remedy.String()), slog.String("outcome", r.Outcome.String()),
		slog.Int("attempts", r.Attempts), slog.Duration("duration", r.Duration),
	}
	if r.StatusCode != 0 {
		attrs = append(attrs, slog.Int("status", r.StatusCode))
	}
	if r.RequestID != "" {
		attrs = append(attrs, slog.String("request_id", r.RequestID))
	}
	logger.LogAttrs(ctx, level, "commerce: failed", attrs...)
}

// observedIn returns the call of a context, for a client with this observer and this logger.
func observedIn(ctx context.Context, observer Observer, logger *slog.Logger) *observedCall {
	if observer == nil && logger == nil {
		return nil
	}
	o, _ := ctx.Value(observedCallKey{}).(*observedCall)
	return o
}

// end tells the observer and the logger that the call ended with this error, and returns the error.
func (o *observedCall) end(err error) error {
	if o == nil {
		return err
	}
	if err != nil {
		o.result.Error, o.result.Records = describe(err), 0
		o.result.Reason, o.result.Remedy = ReasonOf(err), RemedyOf(err)
	}
	if e, ok := errors.AsType[*Error](err); ok && e.RequestID != "" && e.Op == o.info.Op {
		o.result.RequestID = e.RequestID // it may be in the body only
	}
	o.result.Outcome = OutcomeOf(err)
	if err == nil && (transport.IsRead(o.info.Method) || o.info.Op == opToken) {
		o.result.Outcome = OutcomeNone
	}
	o.tell()
	return err
}

// abandon is deferred: if the call did not end, code of the caller panicked.
func (o *observedCall) abandon() {
	if o != nil && !o.ended {
		o.result.Error, o.result.Outcome, o.result.Records = transport.Panicked, OutcomeUnknown, 0
		o.result.Reason, o.result.Remedy = "other", RemedyStaff
		o.tell()
	}
}

// tell passes on the result.
func (o *observedCall) tell() {
	o.ended = true
	o.result.Waits.add(o.waits)
	o.result.Duration = time.Since(o.start)
	o.finish(o.result)
}

// waited adds a wait before the next attempt.
func (o *observedCall) waited(w Waits) {
	if o != nil {
		o.waits.add(w)
	}
}

// Waited and StartAttempt implement [transport.Observer].
func (o *observedCall) Waited(w transport.Waits) {
	o.waited(Waits{Gate: w.Gate, Limiter: w.Limiter, Token: w.Token, Backoff: w.Backoff})
}

func (o *observedCall) StartAttempt(
	ctx context.Context, method string, n int,
) (context.Context, func(transport.AttemptResult)) {
	o.result.Waits.add(o.waits)
	o.result.Attempts++
	info := AttemptInfo{Op: o.info.Op, Method: method, Attempt: n, Waits: o.waits}
	o.waits = Waits{}
	var end func(AttemptResult)
	if o.observer != nil {
		ctx, end = o.observer.StartAttempt(ctx, info)
	}
	return ctx, func(r transport.AttemptResult) {
		if r.StatusCode != 0 {
			o.result.StatusCode, o.result.RequestID = r.StatusCode, r.RequestID
		}
		if end != nil {
			end(AttemptResult(r))
		}
	}
}

// describe returns what went wrong, without anything of the request or the response but the
// status.
func describe(err error) string {
	for failed := range failuresIn(err) {
		if status := failed.StatusCode; status >= 300 {
			return strings.TrimSpace(strconv.Itoa(status) + " " + http.StatusText(status))
		}
	}
	e, ok := errors.AsType[*Error](err)
	known := sentinelOf(func(s sentinel) bool {
		if s.name == "token" && ok && e.Op == opToken {
			return false // the call is the token request itself: why did it fail?
		}
		return s.isShown && errors.Is(err, s.err)
	})
	if known.err != nil {
		return known.err.Error()
	}
	return transport.Describe(err)
}
