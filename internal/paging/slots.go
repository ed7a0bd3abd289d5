package paging

import (
	"context"
	"slices"
	"sync"
)

// slots limit the number of pages that are in flight or wait for the consumer. A part claims a slot
// for each page, and passes it on with the page; the consumer releases it.
//
// A slot goes to the earliest part that can use one. A part without a slot that asks for none is
// between two pages and will ask soon, so a slot is reserved for it. Otherwise later parts could
// take all slots, and the consumer would wait forever for the page of an earlier one.
type slots struct {
	mu     sync.Mutex
	free   int
	claims []*claim // of the parts that are not read to their end, in order
}

// claim is the state of a part. At most one of its fields is set.
type claim struct {
	asks chan struct{} // closed when it gets a slot
	has  bool
}

// add adds a part after all others.
func (s *slots) add() *claim {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := &claim{}
	s.claims = append(s.claims, c)
	return c
}

// acquire waits until c has a slot. It returns an error if ctx ends before that.
func (s *slots) acquire(ctx context.Context, c *claim) error {
	s.mu.Lock()
	if c.has {
		s.mu.Unlock()
		return nil
	}
	granted := make(chan struct{})
	c.asks = granted
	s.grant()
	s.mu.Unlock()
	select {
	case <-granted:
	case <-ctx.Done():
	}
	return ctx.Err()
}

// grant gives the free slots to the parts that ask, earlier ones first. The caller holds s.mu.
func (s *slots) grant() {
	free := s.free
	for _, c := range s.claims {
		switch {
		case free == 0:
			return
		case c.has:
			continue
		case c.asks != nil:
			close(c.asks)
			c.asks, c.has = nil, true
			s.free--
		}
		free--
	}
}

// pass gives the slot of c to the consumer.
func (s *slots) pass(c *claim) {
	s.mu.Lock()
	defer s.mu.Unlock()
	c.has = false
}

// release frees a slot of the consumer.
func (s *slots) release() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.free++
	s.grant()
}

// remove removes a part that needs no more slots.
func (s *slots) remove(c *claim) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if c.has {
		s.free++
	}
	s.claims = slices.DeleteFunc(s.claims, func(other *claim) bool { return other == c })
	s.grant()
}
