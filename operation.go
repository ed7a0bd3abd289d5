package commerce

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"time"

	"github.com/commerce-go/commerce/internal/transport"
	"github.com/commerce-go/commerce/internal/wire"
)

// operation describes a call of the service with a result of type T. What is left out has the
// careful value: a write is sent once, and its response must be a confirmation without a result.
type operation[T any] struct {
	op     string // name of the method of this library, for errors and observers
	method string
	path   string // escaped, after the base address
	query  string // encoded
	body   []byte // nil: none
	// harmlessTwice is for a write that does no harm if it is applied twice. It is sent again like
	// a read.
	harmlessTwice bool
	// decides is for a read whose result decides what is written: no cache may respond.
	decides bool
	// deletes is for a write that deletes a record. If an earlier attempt may have been applied, a
	// 404 is a success.
	deletes bool
	// part names the request in errors, if a call makes several.
	part string
	// cart has the turn and the lock of the cart that a write changes. nil: it changes no cart.
	cart *cartWriter
	// vary makes the requests, one for each query that it sends. nil: one request, with query.
	vary func(send func(query string) *transport.Result) *transport.Result
	// accept reads the body of a read. If it fails, the request is sent again. nil: not needed.
	accept func(body []byte) (T, error)
	// buffers are for accept, which must then keep no reference to the body. nil: none.
	buffers *transport.Buffers
	// finish checks the result of a success, or reads it from the response of a write. nil: the
	// result of accept is right; a write without a result must be confirmed.
	finish func(*T, *transport.Result) error
	// conclude is for a write whose response may show both a result and an error. It takes the
	// place of finish, whatever the status. After other errors than OutcomePartial, the result does
	// not count.
	conclude func(*T, *transport.Call, *transport.Result) error
	// count returns the number of records in the result, for the observer. nil: not reported.
	count func(T) int
}

// none is the result of a write without a result.
type none = struct{}

// do makes the call of a method that is this operation and nothing else.
func (o *operation[T]) do(ctx context.Context, c *core) (result T, r *transport.Result, err error) {
	if o.cart != nil {
		if err := o.cart.checkContext(c); err != nil {
			return result, nil, err
		}
	}
	ctx, observed := startCall(ctx, c.cfg.observer, c.cfg.logger, CallInfo{Op: o.op, Method: o.method})
	defer observed.abandon()
	if o.cart != nil {
		if err := o.cart.lock(ctx, c); err != nil {
			return result, nil, observed.end(err)
		}
		defer o.cart.end()
	}
	result, r, err = o.request(ctx, c)
	if observed != nil && err == nil && o.count != nil {
		observed.result.Records = o.count(result)
	}
	return result, r, observed.end(err)
}

// request makes the request, as a part of a call that has begun. A write to a cart needs its turn
// and its lock.
func (o *operation[T]) request(ctx context.Context, c *core) (result T, r *transport.Result, err error) {
	call := o.call(c)
	if accept := o.accept; accept != nil {
		call.Accept = func(body []byte) (err error) {
			result, err = accept(body)
			return err
		}
	}
	if o.vary == nil {
		r = c.send(ctx, call)
	} else {
		r = o.vary(func(query string) *transport.Result {
			call.URL.RawQuery = query
			return c.send(ctx, call)
		})
	}
	err = o.read(&result, call, r)
	failed, _ := err.(*Error) //nolint:errorlint // it was just made
	if failed != nil && o.part != "" && failed.Op == o.op {
		failed.Part = o.part
	}
	isApplied := err == nil || failed != nil && failed.Outcome == OutcomePartial
	if o.cart != nil && isApplied {
		if lost := o.cart.checkWritten(r); lost != nil {
			err, isApplied = lost, false
		}
	}
	if !isApplied {
		return *new(T), r, err
	}
	return result, r, err
}

// read reads the result and the error from the response.
func (o *operation[T]) read(result *T, call *transport.Call, r *transport.Result) error {
	switch {
	case o.conclude != nil:
		return o.conclude(result, call, r)
	case o.deletes && r.StatusCode == http.StatusNotFound && r.Err == nil && r.MaybeAppliedBefore:
		return nil // an earlier attempt deleted it
	case !r.OK():
	case o.finish != nil:
		r.Err = o.finish(result, r)
	case o.accept == nil:
		r.Err = checkConfirmation(r.Body)
	}
	if r.OK() {
		return nil
	}
	if transport.IsRead(call.Method) {
		return newError(call, r, OutcomeNone, readErrors(r.Body))
	}
	b, body := readBatch(r), showsNothing
	if b.mayHold {
		body = mayShow
	}
	if b.Errors == nil && r.Is2xx() { // readBatch looks only for those beside data
		b.Errors = readErrors(r.Body)
	}
	return newError(call, r, outcomeOfWrite(r, body), b.Errors)
}

// call returns the request.
func (o *operation[T]) call(c *core) *transport.Call {
	call := &transport.Call{
		Op: o.op, Method: o.method, URL: c.address(o.path, o.query), Body: o.body,
		NoCache: o.decides, Buffers: o.buffers,
	}
	if o.cart != nil {
		call.BeforeAttempt = o.cart.checkLock
	}
	if o.harmlessTwice || transport.IsRead(o.method) {
		call.Class = transport.Replayable
	}
	return call
}

// checkConfirmation returns an error if the body of a 2xx to a write is neither empty nor an object
// without errors: such a response may report a failure, or come from a gateway.
func checkConfirmation(body []byte) error {
	if isForeign(body) || len(readErrors(body)) > 0 {
		return errors.New("the response is not a confirmation")
	}
	return nil
}

// pause waits for a time, or until ctx ends. It returns false at once if the time is negative, or
// the deadline of ctx comes before.
func pause(ctx context.Context, wait time.Duration) bool {
	if deadline, ok := ctx.Deadline(); wait < 0 || ok && time.Until(deadline) <= wait {
		return false
	}
	waiting, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	<-waiting.Done()
	return true
}

// core is what the services of a client share.
type core struct {
	base       *url.URL // its path has no trailing slash and no /v2
	lockPrefix string   // of the keys of carts
	cfg        config
	header     transport.Hidden[http.Header] // what all requests have in common
}

// address returns the base address with an escaped path and a query appended.
func (c *core) address(path, query string) *url.URL {
	u := *c.base
	u.RawPath = u.Path + path
	u.Path, _ = url.PathUnescape(u.RawPath) // no error: the path is escaped
	u.RawQuery = query
	return &u
}

// send makes a call with credentials and an optional JSON body. Any write may add discounts:
// [Client.Do] does not know which.
func (c *core) send(ctx context.Context, call *transport.Call) *transport.Result {
	call.Auth, call.Gate, call.Applied = c, c.cfg.gate, func(r *transport.Result) bool { return readBatch(r).mayHold }
	call.ContentType = "application/json"
	return c.exchange(ctx, call)
}

// observe makes a call, and notifies the observer and the logger.
func (c *core) observe(ctx context.Context, op, method string, call func(context.Context) error) error {
	ctx, observed := startCall(ctx, c.cfg.observer, c.cfg.logger, CallInfo{Op: op, Method: method})
	defer observed.abandon()
	return observed.end(call(ctx))
}

// exchange makes a call with the settings of the client that hold for token requests too.
func (c *core) exchange(ctx context.Context, call *transport.Call) *transport.Result {
	call.Header = c.header()
	if o := observedIn(ctx, c.cfg.observer, c.cfg.logger); o != nil {
		call.Observer = o
	}
	call.Policy, call.Limiter, call.Logger = transport.Policy(c.cfg.retry), c.cfg.limiter, c.cfg.logger
	return c.cfg.transport.Do(ctx, call)
}

// acceptJSON returns an error if b is not one JSON value. The error holds nothing of b.
func acceptJSON(b []byte) (none, error) {
	if !wire.Valid(b) {
		return none{}, errors.New("the response is not JSON")
	}
	return none{}, nil
}
