package transport

import (
	"io"
	"net/http"
	"sync"
)

// Buffers keeps the room of bodies that were read and accepted, for the next ones.
// It is safe for concurrent use; its zero value is empty. It holds as many as were
// in use at a time, so it should go when the calls that share it are done.
type Buffers struct {
	mu   sync.Mutex
	free [][]byte
}

// get returns room, which may be none; also if b is nil.
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
	room := b.free[n-1]
	b.free = b.free[:n-1]
	return room
}

// put takes room that nobody uses any more. More than a few pages take is let go.
func (b *Buffers) put(room []byte) {
	const most = 1 << 20
	if cap(room) > most {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.free = append(b.free, room[:0])
}

// readBody reads a body of at most limit bytes, into buf if there is room. With an
// error it returns what arrived. It never holds room for more than the limit, but
// for the half that is copied when room runs out.
func readBody(resp *http.Response, limit int, buf []byte) ([]byte, error) {
	const untold, promised = 4 << 10, 1 << 20 // no more room than that on a mere promise
	room := untold
	if length := resp.ContentLength; length >= 0 {
		// The end of a body of that length is found without growth, and a little more
		// is enough for the next page.
		room = int(min(length, promised))
		room += room / 8
	}
	if room = min(room, limit); cap(buf) <= room {
		buf = make([]byte, 0, room+1)
	}
	const mostEmpty = 100 // reads one after the other
	for empty := 0; ; {
		n, err := resp.Body.Read(buf[len(buf):cap(buf)])
		if buf = buf[:len(buf)+n]; n > 0 {
			empty = 0
		}
		switch {
		case len(buf) > limit:
			return buf[:limit], errTooLarge
		case err == io.EOF: // what wraps it is a fault, not the end
			return buf, nil
		case err != nil:
			return buf, err
		case n == 0:
			if empty++; empty == mostEmpty {
				return buf, io.ErrNoProgress
			}
		case len(buf) == cap(buf):
			grown := make([]byte, len(buf), min(2*cap(buf), limit+1))
			copy(grown, buf)
			buf = grown
		}
	}
}
