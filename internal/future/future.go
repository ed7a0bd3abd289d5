// Package future runs a function in a goroutine of its own, and lets others wait for
// its result until their context ends.
package future

import (
	"context"
	"errors"
)

// errExited is the error of a function that ended its goroutine, as testing.T.FailNow does.
var errExited = errors.New("the function ended its goroutine")

// A Future is the result of a function that may still be running. It is safe for
// concurrent use.
type Future[T any] struct {
	done     chan struct{} // closed when the fields below are set
	value    T
	err      error
	panicked any
}

// Go calls f in a goroutine.
func Go[T any](f func() (T, error)) *Future[T] {
	fut := &Future[T]{done: make(chan struct{})}
	go func() {
		defer close(fut.done)
		fut.err = errExited // unless f returns
		defer func() { fut.panicked = recover() }()
		fut.value, fut.err = f()
	}()
	return fut
}

// Done returns a channel that is closed when the function has returned.
func (f *Future[T]) Done() <-chan struct{} { return f.done }

// Wait returns what the function returned. If the function panicked, Wait panics with
// the same value, so that its caller can recover. If ctx ends first, Wait returns the
// error of ctx, and the function goes on.
func (f *Future[T]) Wait(ctx context.Context) (T, error) {
	select {
	case <-f.done:
		if f.panicked != nil {
			panic(f.panicked)
		}
		return f.value, f.err
	case <-ctx.Done():
		var zero T
		return zero, ctx.Err()
	}
}
