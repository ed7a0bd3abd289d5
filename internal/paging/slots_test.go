package paging

import (
	"strings"
	"testing"
	"testing/synctest"
)

// A page is reserved for an earlier part that may ask next. If later parts took it, the walk could
// not go on.
func TestSlots(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := &slots{requests: 3, pages: 2}
		first, second, third := s.add(), s.add(), s.add()
		ask := func(c *claim) {
			go func() { _ = s.acquire(t.Context(), c) }()
			synctest.Wait()
		}
		check := func(when string, want ...bool) {
			t.Helper()
			for i, c := range []*claim{first, second, third} {
				if c.has != want[i] {
					t.Errorf("%s: part %d has a page: %t, want %t", when, i+1, c.has, want[i])
				}
			}
		}
		ask(third)
		check("two pages, and two parts before it", false, false, false)
		ask(second)
		check("one page more than the parts before it", false, true, false)
		ask(first)
		check("the first part asks", true, true, false)
		s.land(first)
		s.pass(first)
		s.release()
		check("the first part may ask again", false, true, false)
		s.remove(first)
		check("the first part is read", false, true, true)
		s.remove(second)
		s.remove(third)
		if s.pages != 2 || s.requests != 3 {
			t.Errorf("%d pages and %d requests are free at the end, want 2 and 3", s.pages, s.requests)
		}
	})
}

// A request that lands goes to the first that asks for one: keys, and then parts in their order. A
// part that waits for a request keeps its page.
func TestSlots_requests(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newSlots(2)
		first, second, third := s.add(), s.add(), s.add()
		order := []string{}
		ask := func(c *claim, name string) {
			go func() {
				if s.acquire(t.Context(), c) == nil {
					order = append(order, name)
				}
			}()
			synctest.Wait()
		}
		ask(first, "first")
		ask(second, "second")
		ask(third, "third")
		s.land(first)
		synctest.Wait()
		ask(first, "first again")
		keys := s.addFirst()
		ask(keys, "keys")
		s.land(second)
		synctest.Wait()
		s.land(third)
		synctest.Wait()
		s.remove(keys)
		if got, want := strings.Join(order, ", "), "first, second, third, keys, first again"; got != want {
			t.Errorf("requests went to %s, want %s", got, want)
		}
		for _, c := range []*claim{first, second, third} {
			s.remove(c)
		}
		if s.pages != 4 || s.requests != 2 {
			t.Errorf("%d pages and %d requests are free at the end, want 4 and 2", s.pages, s.requests)
		}
	})
}
