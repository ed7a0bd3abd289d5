package transport

import (
	"io"
	"net/http"
	"sync"
)

// Buffers keeps the buffers of accepted bodies for later responses. The zero value is ready to use,
// and safe for concurrent use. It keeps as many buffers as were in use at once, so it must not
// outlive the calls that share it.
type Buffers struct {
	mu   sync.Mutex
	free [][]byte
}

// maxKept is the capacity of the largest buffer that is kept, in bytes. A page of records needs
// less.
const maxKept = 1 << 20

// get returns a buffer, or nil if there is none. b may be nil.
func (b *Buffers) get() []byte {
	if b == nil {
		return nil
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	n := len(b.free)
	if n == 0 {
		return nil
	}
	buf := b.free[n-1]
	b.free = b.free[:n-1]
	return buf
}

// put takes a buffer that nobody uses any more.
func (b *Buffers) put(buf []byte) {
	if cap(buf) > maxKept {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.free = append(b.free, buf[:0])
}

const (
	unknownLength = 4 << 10 // capacity for a body without Content-Length, in bytes
	maxTrusted    = 1 << 20 // a larger Content-Length is not trusted: the buffer grows as the data arrives
	maxEmptyReads = 100     // in a row
)

// readBody reads a body of at most limit bytes, into buf if its capacity is large enough. If it
// fails, it also returns what it has read.
func readBody(resp *http.Response, limit int, buf []byte) ([]byte, error) {
	capacity := unknownLength
	if length := resp.ContentLength; length >= 0 {
		capacity = int(min(length, maxTrusted))
		capacity += capacity / 8 // the next page may be a little larger, and should fit the same buffer
	}
	// One byte more than the body, so that the read that returns io.EOF needs no larger buffer.
	if capacity = min(capacity, limit) + 1; cap(buf) < capacity {
		buf = make([]byte, 0, capacity)
	}
	for emptyReads := 0; ; {
		n, err := resp.Body.Read(buf[len(buf):cap(buf)])
		if buf = buf[:len(buf)+n]; n > 0 {
			emptyReads = 0
		}
		switch {
		case len(buf) > limit:
			return buf[:limit], errTooLarge
		case err == io.EOF: // an error that wraps io.EOF is not the end of the body
			return buf, nil
		case err != nil:
			return buf, err
		case n == 0:
			if emptyReads++; emptyReads == maxEmptyReads {
				return buf, io.ErrNoProgress
			}
		case len(buf) == cap(buf):
			grown := make([]byte, len(buf), min(2*cap(buf), limit+1))
			copy(grown, buf)
			buf = grown
		}
	}
}
