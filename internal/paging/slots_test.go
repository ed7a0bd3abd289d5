package paging

import (
	"testing"
	"testing/synctest"
)

// A slot is reserved for an earlier part that may ask next. If later parts took it, the walk could
// not go on.
func TestSlots(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := &slots{free: 2}
		first, second, third := s.add(), s.add(), s.add()
		ask := func(c *claim) {
			go func() { _ = s.acquire(t.Context(), c) }()
			synctest.Wait()
		}
		check := func(when string, want ...bool) {
			t.Helper()
			for i, c := range []*claim{first, second, third} {
				if c.has != want[i] {
					t.Errorf("%s: part %d has a slot: %t, want %t", when, i+1, c.has, want[i])
				}
			}
		}
		ask(third)
		check("two slots, and two parts before it", false, false, false)
		ask(second)
		check("one slot more than the parts before it", false, true, false)
		ask(first)
		check("the first part asks", true, true, false)
		s.pass(first)
		s.release()
		check("the first part may ask again", false, true, false)
		s.remove(first)
		check("the first part is read", false, true, true)
		s.remove(second)
		s.remove(third)
		if s.free != 2 {
			t.Errorf("%d slots are free at the end, want 2", s.free)
		}
	})
}
