package commerce

import (
	"context"
	"errors"

	"github.com/commerce-go/commerce/internal/transport"
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
	// beforeAttempt is called before each attempt. Its error ends the call. nil: none.
	beforeAttempt func() error
	// vary makes the requests, one for each query that it sends. nil: one request, with query.
	vary func(send func(query string) *transport.Result) *transport.Result
	// accept reads the body of a read. If it fails, the request is sent again. nil: not needed.
	accept func(body []byte) (T, error)
	// buffers are for accept, which must then keep no reference to the body. nil: none.
	buffers *transport.Buffers
	// finish checks the result of a success, or reads it from the response of a write. nil: the
	// result of accept is right; a write without a result must be confirmed.
	finish func(*T, *transport.Result) error
	// count returns the number of records in the result, for the observer. nil: not reported.
	count func(T) int
}

// none is the result of a write without a result.
type none = struct{}

// do makes the call of a method that is this operation and nothing else.
func (o *operation[T]) do(ctx context.Context, c *core) (result T, response *Response, err error) {
	ctx, observed := c.startCall(ctx, o.op, o.method)
	defer observed.abandon()
	result, r, err := o.send(ctx, c)
	if err != nil {
		return result, nil, observed.end(err)
	}
	if o.count != nil {
		observed.setRecords(o.count(result))
	}
	return result, newResponse(r), observed.end(nil)
}

// send makes the request, as a part of a call that has begun.
func (o *operation[T]) send(ctx context.Context, c *core) (result T, r *transport.Result, err error) {
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
	switch {
	case !r.OK():
	case o.finish != nil:
		r.Err = o.finish(&result, r)
	case o.accept == nil:
		r.Err = checkConfirmation(r.Body)
	}
	if !r.OK() {
		return *new(T), r, callError(call, r)
	}
	return result, r, nil
}

// call returns the request.
func (o *operation[T]) call(c *core) *transport.Call {
	call := &transport.Call{
		Op: o.op, Method: o.method, URL: c.address(o.path, o.query), Body: o.body,
		BeforeAttempt: o.beforeAttempt, Buffers: o.buffers,
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
