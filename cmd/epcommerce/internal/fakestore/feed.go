package fakestore

import (
	"sync"

	"github.com/commerce-go/commerce/commercetest"
)

// update is something that happened in a namespace.
type update struct {
	name    string                // of the event: request, changed or cleared
	request *commercetest.Request // whose state has changed
}

// feed tells listeners what happens in a namespace.
type feed struct {
	mu        sync.Mutex
	listeners map[chan update]struct{}
	closed    bool
}

// waiting is the number of updates that wait for a listener. One that is slower loses its channel.
const waiting = 256

// listen returns a channel that is closed when the feed ends or the listener is too slow, and a
// function to call in the end.
func (f *feed) listen() (updates <-chan update, stop func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	c := make(chan update, waiting)
	if f.closed {
		close(c)
		return c, func() {}
	}
	if f.listeners == nil {
		f.listeners = map[chan update]struct{}{}
	}
	f.listeners[c] = struct{}{}
	return c, func() {
		f.mu.Lock()
		defer f.mu.Unlock()
		delete(f.listeners, c)
	}
}

// add tells all listeners.
func (f *feed) add(u update) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for c := range f.listeners {
		select {
		case c <- u:
		default:
			close(c)
			delete(f.listeners, c)
		}
	}
}

// close ends the feed.
func (f *feed) close() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.closed = true
	for c := range f.listeners {
		close(c)
	}
	f.listeners = nil
}

// ended reports whether the feed was closed.
func (f *feed) ended() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.closed
}
