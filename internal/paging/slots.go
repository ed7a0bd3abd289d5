package paging

import (
	"context"
	"slices"
	"sync"
)

// slots limit the requests in flight, and the pages that are in flight or wait for the consumer.
// A part claims both for each request. When its request has landed, it passes the page on to the
// consumer, who releases it.
//
// Requests and pages go to the earliest part that can use them. A part without a page that asks for
// none is between two pages and will ask soon, so a page is reserved for it. Otherwise later parts
// could take all pages, and the consumer would wait forever for the page of an earlier one.
type slots struct {
	mu       sync.Mutex
	requests int      // that may begin
	pages    int      // that may be claimed; requests for keys may make it negative
	claims   []*claim // of the parts that are not read to their end, in order
}

// claim is the state of a part.
type claim struct {
	asks  chan struct{} // closed when it has a page and a request
	has   bool          // it has a page
	flies bool          // it has a request too
}

// newSlots allows so many requests in flight. If they are several, as many pages may wait, so
// that a consumer that waits for an earlier page does not stop the requests: TestIdeal,
// TestParts_slowConsumer.
func newSlots(concurrency int) *slots {
	pages := 2 * concurrency
	if concurrency == 1 {
		pages = 1
	}
	return &slots{requests: concurrency, pages: pages}
}

// add adds a part after all others.
func (s *slots) add() *claim {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := &claim{}
	s.claims = append(s.claims, c)
	return c
}

// addFirst adds a request for keys before all parts, which need them. It has a page at once, and
// needs no other.
func (s *slots) addFirst() *claim {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := &claim{has: true}
	s.pages--
	s.claims = slices.Insert(s.claims, 0, c)
	return c
}

// acquire waits until c has a page and a request. It returns an error if ctx ends before that.
func (s *slots) acquire(ctx context.Context, c *claim) error {
	s.mu.Lock()
	if c.flies {
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

// acquirePage waits until c has a page.
func (s *slots) acquirePage(ctx context.Context, c *claim) error {
	s.mu.Lock()
	has := c.has
	s.mu.Unlock()
	if has {
		return nil
	}
	err := s.acquire(ctx, c)
	if err == nil {
		s.land(c)
	}
	return err
}

// grant gives what is free to the parts that ask, earlier ones first. The caller holds s.mu.
func (s *slots) grant() {
	unreserved := s.pages
	for _, c := range s.claims {
		if !c.has {
			if unreserved <= 0 {
				continue
			}
			unreserved--
		}
		if c.asks == nil || s.requests == 0 {
			continue
		}
		if !c.has {
			s.pages--
		}
		s.requests--
		close(c.asks)
		c.asks, c.has, c.flies = nil, true, true
	}
}

// land gives back the request of c. Its page is not in flight any more.
func (s *slots) land(c *claim) {
	s.mu.Lock()
	defer s.mu.Unlock()
	c.flies = false
	s.requests++
	s.grant()
}

// pass gives the page of c to the consumer.
func (s *slots) pass(c *claim) {
	s.mu.Lock()
	defer s.mu.Unlock()
	c.has = false
}

// release frees a page of the consumer.
func (s *slots) release() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.pages++
	s.grant()
}

// remove removes a part that needs nothing any more.
func (s *slots) remove(c *claim) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if c.has {
		s.pages++
	}
	if c.flies {
		s.requests++
	}
	s.claims = slices.DeleteFunc(s.claims, func(other *claim) bool { return other == c })
	s.grant()
}
