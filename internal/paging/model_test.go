package paging

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// change is a change of the list between two requests.
type change struct {
	add bool    // else a record is removed
	at  float64 // where, from 0 for the start to 1 for the end; see place for records that are added
}

// place is where in the list records are added.
type place int

const (
	atStart place = iota
	atEnd
	anywhere
)

// quirk is what a store does wrong.
type quirk int

const (
	noQuirk       quirk = iota
	ignoresOffset       // returns the first page always
	cutsFirst           // returns the first page always, cut to what is left of the list
	oldEnd              // returns the page before, cut to what is left and before the tail, instead of each last page
	earlierEnd          // returns earlier records, as many as are left, instead of each last page
	repeatsPage         // returns the page before once more
	emptyPage           // returns an empty page once
)

// scenario is a list, its changes, and a walk over it.
type scenario struct {
	total, offset, limit, concurrency int
	lengths                           []int // maximum page lengths, by request; none: as requested
	cycle                             bool  // after the last of lengths comes the first; else the last stays
	links                             links
	quirk                             quirk
	quirkAt                           int // request of a quirk that happens once
	place                             place
	changes                           [][]change      // after each request; after the last, the first again
	grows                             bool            // each of the changes adds as many records at the start
	before, after                     []time.Duration // delays until the list is read, and from then on
}

// length returns the maximum length of page n.
func (s *scenario) length(n int) int {
	switch {
	case len(s.lengths) == 0:
		return 100
	case s.cycle:
		return s.lengths[n%len(s.lengths)]
	}
	return s.lengths[min(n, len(s.lengths)-1)]
}

// shortest returns the length of the shortest page before the end.
func (s *scenario) shortest() int { return min(s.limit, slices.Min(append([]int{100}, s.lengths...))) }

// still reports whether the list does not change and has no quirks.
func (s *scenario) still() bool { return len(s.changes) == 0 && s.quirk == noQuirk }

// hasOldEnd reports whether the store returns old records as the end of the list. If the list
// changes too, it may be what the store shows.
func (s *scenario) hasOldEnd() bool {
	return s.quirk == cutsFirst || s.quirk == oldEnd || s.quirk == earlierEnd
}

// moderate reports whether a walk must reach the end: at most a fourth of a page changes between
// two requests, and links show the end, or the list does not change for two requests now and then,
// or it only grows at its start, by at most a twentieth of a page.
func (s *scenario) moderate() bool {
	pauses := false
	for i, changes := range s.changes {
		if len(changes) > s.shortest()/4 {
			return false
		}
		pauses = pauses || len(changes) == 0 && len(s.changes[(i+1)%len(s.changes)]) == 0
	}
	growsSlowly := s.grows && len(s.changes[0]) <= s.shortest()/20
	showsEnd := s.links == trueLinks || s.links == neverNext || s.links == noLinks && (pauses || growsSlowly)
	return s.quirk == noQuirk && s.shortest() >= 4 && showsEnd
}

// drawNear draws a number near one of boundaries, or any number up to the last of them.
func drawNear(t *rapid.T, name string, boundaries ...int) int {
	if rapid.Bool().Draw(t, name+" at a boundary") {
		return max(0, rapid.SampledFrom(boundaries).Draw(t, name)+rapid.IntRange(-1, 1).Draw(t, name+" ±"))
	}
	return rapid.IntRange(0, boundaries[len(boundaries)-1]).Draw(t, name)
}

// delays generates the times that requests take, which come in turn.
func delays() *rapid.Generator[[]time.Duration] {
	ms := rapid.Map(rapid.IntRange(0, 40), func(n int) time.Duration { return time.Duration(n) * time.Millisecond })
	return rapid.SliceOfN(ms, 1, 8)
}

func drawScenario(t *rapid.T) *scenario {
	s := &scenario{
		limit:       rapid.IntRange(1, 100).Draw(t, "limit"),
		concurrency: rapid.IntRange(0, 16).Draw(t, "concurrency"),
		place:       place(rapid.IntRange(0, 2).Draw(t, "place")),
		links:       links(rapid.IntRange(0, 3).Draw(t, "links")),
	}
	if rapid.IntRange(0, 19).Draw(t, "long") == 0 {
		s.total, s.limit = drawNear(t, "total", 10_000, 10_099, 10_100, 10_101), max(s.limit, 40)
	} else {
		s.total = drawNear(t, "total", 0, 1, 99, 100, 101, 198, 199, 500)
	}
	if rapid.IntRange(0, 3).Draw(t, "resumed") == 0 {
		s.offset = rapid.IntRange(0, min(s.total, 10_000)).Draw(t, "offset")
	}
	if rapid.IntRange(0, 4).Draw(t, "has a quirk") == 0 {
		s.quirk = quirk(rapid.IntRange(1, int(emptyPage)).Draw(t, "quirk"))
		s.quirkAt = rapid.IntRange(1, 8).Draw(t, "quirk at")
		if s.quirk < repeatsPage {
			s.offset = 0 // nobody can know whether the first page of a resumed walk is an old one
		}
		if s.hasOldEnd() && s.links == noLinks {
			s.links = trueLinks // without links, an old page at the end may be a list that became shorter
		}
	}
	if !s.hasOldEnd() && rapid.IntRange(0, 4).Draw(t, "is changed") > 0 {
		s.drawChanges(t)
	}
	if !s.grows {
		s.drawLengths(t)
	}
	s.before, s.after = delays().Draw(t, "before"), delays().Draw(t, "after")
	return s
}

func (s *scenario) drawChanges(t *rapid.T) {
	if s.quirk == ignoresOffset && (s.links == noLinks || s.links == neverNext) {
		s.links = trueLinks // without a next link, a first page that is cut at the tail, and changes, may be the end
	}
	if s.grows = rapid.IntRange(0, 3).Draw(t, "grows") == 0; s.grows {
		s.limit, s.links, s.quirk = max(20, s.limit), noLinks, noQuirk // all else hides how the walk finds the end
		added := rapid.IntRange(1, s.limit/20).Draw(t, "added")
		s.place, s.changes = atStart, [][]change{slices.Repeat([]change{{add: true}}, added)}
		return
	}
	most := 1 + s.limit/4
	if rapid.IntRange(0, 2).Draw(t, "wild") == 0 {
		most = 2 * s.limit
	}
	if s.total > 1000 {
		most = min(most, 20) // for speed
	}
	draw := rapid.Custom(func(t *rapid.T) change {
		return change{add: rapid.Bool().Draw(t, "add"), at: rapid.Float64Range(0, 1).Draw(t, "at")}
	})
	s.changes = rapid.SliceOfN(rapid.SliceOfN(draw, 0, most), 1, 8).Draw(t, "changes")
}

// drawLengths draws pages shorter than requested: all of them, some, or from some request on. A
// page of one record has no overlap, so it is drawn only for lists that do not change.
func (s *scenario) drawLengths(t *rapid.T) {
	least := 2
	if s.total > 1000 {
		least = 20 // for speed
	}
	length := rapid.IntRange(least, 100)
	switch rapid.IntRange(0, 4).Draw(t, "lengths") {
	case 0:
		if s.still() && s.total <= 1000 {
			length = rapid.IntRange(1, 100)
		}
		s.lengths = []int{length.Draw(t, "length")}
	case 1:
		s.lengths = rapid.SliceOfN(length, 2, 8).Draw(t, "lengths, one by one")
		s.cycle = rapid.Bool().Draw(t, "cycle")
	case 2:
		usual := length.Draw(t, "usual length")
		s.lengths = slices.Repeat([]int{usual}, rapid.IntRange(1, 8).Draw(t, "pages before"))
		s.lengths = append(s.lengths, length.Draw(t, "other length"))
		if rapid.Bool().Draw(t, "once") {
			s.lengths = append(s.lengths, usual)
		}
	}
}

// list returns the list of the scenario.
func (s *scenario) list() *list {
	l := newList(s.total)
	l.links, l.length = s.links, s.length
	l.delay = func(offset int) (before, after time.Duration) {
		unique := time.Duration(offset) // so that the order of events depends on the scenario only
		return s.before[offset%len(s.before)] + unique, s.after[offset%len(s.after)] + unique
	}
	var last page
	l.alter = func(r request, p page) page {
		p = s.wrong(l, r, p, last)
		last = p
		last.Items = slices.Clone(p.Items)
		return p
	}
	if len(s.changes) > 0 {
		l.change = func(l *list) {
			for _, c := range s.changes[(l.pages-1)%len(s.changes)] {
				s.apply(l, c)
			}
		}
	}
	return l
}

// wrong returns what the store returns instead of page p, after the page last.
func (s *scenario) wrong(l *list, r request, p, last page) page {
	n := len(p.Items)
	isEnd := r.start > 0 && n > 0 && r.start+n == len(l.ids)
	switch {
	case s.quirk == ignoresOffset:
		first := l.page(request{0, r.limit})
		p.Items, p.Next = first.Items, first.Next
	case s.quirk == cutsFirst:
		p.Items = slices.Clone(l.ids[:n])
	case s.quirk == oldEnd && isEnd:
		if old := last.Items[:min(len(last.Items), n)]; !slices.Contains(old, l.ids[r.start-1]) {
			p.Items = old
		}
	case s.quirk == earlierEnd && isEnd && n < r.limit && r.start >= r.limit:
		p.Items = slices.Clone(l.ids[r.start-r.limit:][:n])
	case l.pages != s.quirkAt:
	case s.quirk == emptyPage && r.start > 0:
		p.Items = nil
	case s.quirk == repeatsPage:
		p.Items, p.Next = last.Items, last.Next
		if s.links == neverNext && len(p.Items) < r.limit {
			p.Next = NextUnknown // else what a full page states ends a list that goes on, and no walk can know
		}
	}
	return p
}

// apply changes the list. Records that are added have new ids, which are negative.
func (s *scenario) apply(l *list, c change) {
	at := int(c.at * float64(len(l.ids)))
	switch {
	case !c.add && at < len(l.ids):
		l.ids = slices.Delete(l.ids, at, at+1)
	case c.add && (len(l.ids) < s.total+500 || s.grows && len(l.ids) < s.total+3000): // for speed
		switch s.place {
		case atStart:
			at = 0
		case atEnd:
			at = len(l.ids)
		case anywhere:
		}
		l.added++
		l.ids = slices.Insert(l.ids, at, -l.added)
	}
}

// run walks the list of the scenario. problem is the promise that the walk broke.
func (s *scenario) run(t *testing.T) (l *list, got []int, problem string, err error) {
	t.Helper()
	l = s.list()
	cfg := l.config()
	cfg.Offset, cfg.Limit, cfg.Concurrency = s.offset, s.limit, s.concurrency
	if got, problem, err = l.run(t, cfg); problem == "" {
		problem = s.verdict(l, got, err)
	}
	return l, got, problem, err
}

// verdict says what is wrong with a walk over l that yielded got and ended in err.
func (s *scenario) verdict(l *list, got []int, err error) string {
	if err != nil && !errors.Is(err, ErrOffsetLimit) && !errors.Is(err, ErrListDrift) && !errors.Is(err, ErrNoProgress) {
		return fmt.Sprintf("error %v", err)
	}
	if most := 3*(l.farthest+100) + 50; l.requests > most {
		return fmt.Sprintf("%d requests, want at most %d", l.requests, most)
	}
	want := slices.DeleteFunc(l.staying(s.total), func(id int) bool { return id < s.offset })
	if missing := lost(s.beforeError(want, got, err), got); len(missing) > 0 {
		return fmt.Sprintf("records %v of %d are missing, error %v", missing, len(want), err)
	}
	if stayed := lost(got, lost(got, want)); !slices.IsSorted(stayed) {
		return "records are out of order"
	}
	if s.still() && s.shortest() > 1 && (s.total < 10_000 || !errors.Is(err, ErrOffsetLimit)) {
		if !errors.Is(err, s.endOfStill()) || len(got) < len(want) {
			return fmt.Sprintf("%d of %d records and error %v for a list that does not change", len(got), len(want), err)
		}
	}
	return ""
}

// endOfStill returns the error of a walk over all of a list that does not change. If each page
// states that there is a next one, nothing shows the end.
func (s *scenario) endOfStill() error {
	if s.links == alwaysNext {
		return ErrNoProgress
	}
	return nil
}

// beforeError returns the records that a walk must yield: after an error, those up to the last one
// that it yielded.
func (s *scenario) beforeError(want, got []int, err error) []int {
	if err == nil {
		return want
	}
	missing := lost(want, got)
	for len(want) > 0 && len(missing) > 0 && want[len(want)-1] == missing[len(missing)-1] {
		want, missing = want[:len(want)-1], missing[:len(missing)-1]
	}
	return want
}

// TestModel walks lists that change during the walk, with all page lengths, with links and without.
// Whatever happens, no record that stays is lost, none is yielded twice, and each walk ends.
func TestModel(t *testing.T) {
	t.Parallel()
	var walks, changed, moderate, stopped, growing, growingStopped, requests, records int
	rapid.Check(t, func(rt *rapid.T) {
		s := drawScenario(rt)
		l, got, problem, err := s.run(t)
		if problem != "" {
			rt.Fatal(problem)
		}
		walks++
		requests += l.requests
		records += len(got)
		if len(s.changes) > 0 {
			changed++
			if s.moderate() {
				moderate++
				if s.grows {
					growing++
				}
				if err != nil && !errors.Is(err, ErrOffsetLimit) {
					stopped++
					if s.grows {
						growingStopped++
					}
				}
			}
		}
	})
	t.Logf("%d walks, %d of them over a list that changed, %d requests, %d records: none lost, none yielded twice; "+
		"%d of %d walks over a list with moderate changes ended in an error, %d of %d over one that grew",
		walks, changed, requests, records, stopped, moderate, growingStopped, growing)
	if moderate < walks/20 || stopped > max(5, moderate/50) { // 5: by chance, if there are few
		t.Errorf("%d of %d walks over a list with moderate changes ended in an error, want at most 2 %%", stopped, moderate)
	}
	if growingStopped > growing/100 {
		t.Errorf("%d of %d walks over a list that grew ended in an error, want at most 1 %%", growingStopped, growing)
	}
}

// naive reads the list as many clients do: it adds the page size to the offset until a page is
// short.
func (l *list) naive(limit int) (got []int) {
	for offset := 0; ; offset += limit {
		p := l.read(request{offset, limit})
		if got = append(got, p.Items...); len(p.Items) < limit {
			return got
		}
	}
}

// TestModel_naive removes the first record after each page, and compares naive paging with a walk.
func TestModel_naive(t *testing.T) {
	t.Parallel()
	var records, lostByNaive int
	for total := 200; total <= 1000; total += 100 {
		for _, limit := range []int{10, 25, 50, 100} {
			for _, concurrency := range []int{1, 4} {
				s := &scenario{
					total: total, limit: limit, concurrency: concurrency, links: trueLinks, changes: [][]change{{{at: 0}}},
					before: []time.Duration{time.Millisecond}, after: []time.Duration{time.Millisecond},
				}
				l, _, problem, err := s.run(t)
				if problem != "" || err != nil {
					t.Errorf("%d records by %d, %d at a time: %s, error %v", total, limit, concurrency, problem, err)
				}
				records += len(l.staying(total))
				l = s.list()
				got := l.naive(limit)
				lostByNaive += len(lost(l.staying(total), got))
			}
		}
	}
	t.Logf("of %d records that stay, naive paging lost %d, this package none", records, lostByNaive)
	if lostByNaive == 0 {
		t.Error("naive paging lost no record: this test proves nothing")
	}
}
