package paging

import (
	"slices"
	"sync"
)

// partSize decides how many keys a part has.
type partSize struct {
	records    int // that a part should have
	suspicious int // number of pages after which a part is probably much longer than that

	mu     sync.Mutex
	limit  int       // the maximum number of keys; lowered when the store refuses a part
	proven int       // the largest number of keys that the store accepted
	perKey []float64 // the records per key of the last parts
}

// newPartSize aims at parts of two pages if several may be read at a time. Each part has one
// request in flight, so short parts make the walk faster. If only one may be read at a time, it
// aims at 20 pages: long parts save requests. The numbers are by TestParts, TestIdeal and
// TestPartSize_limits.
func newPartSize(limit, pageSize, concurrency int) *partSize {
	pages := 2
	if concurrency == 1 {
		pages = 20
	}
	// Pages overlap by a record. The factor is 9/10 so that few parts need one more page: parts
	// with the same number of keys differ in their number of records.
	return &partSize{limit: limit, records: max(1, pages*(pageSize-1)*9/10), suspicious: max(10, pages+5)}
}

// next returns the number of keys of the next part. The first parts have one. Then it grows in
// large steps, because the store may refuse each, but not at once: what is known about few keys may
// not hold for many. The factors are by TestIdeal.
func (s *partSize) next() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := 1
	if len(s.perKey) > 0 {
		sorted := slices.Sorted(slices.Values(s.perKey))
		median := sorted[len(sorted)/2] // so that a single key with many records counts little
		if n = s.limit; float64(n)*median > float64(s.records) {
			n = max(1, int(float64(s.records)/median))
		}
	}
	if n > s.proven && n < s.proven*9/8 && n < s.limit {
		return s.proven
	}
	return min(n, 8*max(1, s.proven))
}

// learn is called with the number of records of a part.
func (s *partSize) learn(keys, records int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	const last = 15 // by TestPartSize
	s.perKey = append(s.perKey, float64(records)/float64(keys))
	s.perKey = s.perKey[max(0, len(s.perKey)-last):]
}

// maximum returns the number of keys that a request may have.
func (s *partSize) maximum() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.limit
}

// isProven reports whether the store accepted as many keys before.
func (s *partSize) isProven(keys int) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return keys <= s.proven
}

// accept is called if the store accepted a request with this many keys.
func (s *partSize) accept(keys int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.proven = max(s.proven, keys)
}

// refuse is called if the store refused a request with this many keys.
func (s *partSize) refuse(keys int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.limit = max(1, min(s.limit, keys/2))
	s.proven = min(s.proven, s.limit)
}
