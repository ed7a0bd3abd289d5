package paging

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"
	"pgregory.net/rapid"
)

// walks is the number of walks of TestModel: that of -rapid.checks, if it is given.
const walks = 2000

func TestMain(m *testing.M) {
	flag.Parse()
	given := false
	flag.Visit(func(f *flag.Flag) { given = given || f.Name == "rapid.checks" })
	if !given {
		if err := flag.Set("rapid.checks", fmt.Sprint(walks)); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(2)
		}
	}
	goleak.VerifyTestMain(m)
}

// record has an id and a place in the order of the list. The order never
// changes: that is the condition of the promise.
type record struct {
	id    int
	place float64
}

// change is a change of the list between two requests.
type change struct {
	add bool
	at  float64 // of a record removed: which part of the list it is in; of one added: unless the order says
}

// order says where in the list records are added.
type order int

const (
	newestFirst order = iota
	oldestFirst
	anywhere // a stable order that has nothing to do with time
)

// hints say what a model tells of the page after one.
type hints int

const (
	untold hints = iota
	honest
	alwaysNext // "next" is never null: links in a circle
	neverNext  // "next" is null also with full pages
)

// whim is what a store does once, or always, against the rules.
type whim int

const (
	none          whim = iota
	ignoresOffset      // always the first page
	repeatsPage        // once the page before, again, unless it says that it is the last: nobody could tell
	emptyPage          // once an empty page
	variesLength       // pages shorter than they could be
)

// scenario is a store, the changes to its list, and a walk over it.
type scenario struct {
	total, offset, limit, concurrency int
	lengths                           []int // page sizes that the store gives at most, by request; none: as asked
	cycle                             bool  // the lengths begin anew after the last, which else stays
	order                             order
	hints                             hints
	whim                              whim
	at                                int             // request of a whim
	churn                             [][]change      // after the first requests; then again from the first
	before, after                     []time.Duration // latency until the list is read, and from then on
}

// length returns the page size that the store gives at most, to request n from 0 on.
func (s *scenario) length(n int) int {
	switch {
	case len(s.lengths) == 0:
		return 100
	case s.cycle:
		return s.lengths[n%len(s.lengths)]
	}
	return s.lengths[min(n, len(s.lengths)-1)]
}

// shortest returns the page size that the store gives at least, if there is more.
func (s *scenario) shortest() int { return min(s.limit, slices.Min(append([]int{100}, s.lengths...))) }

// varies reports whether the page size changes.
func (s *scenario) varies() bool { return s.whim == variesLength || len(s.lengths) > 1 }

// quiet reports whether the list does not change and pages tell what is true of it.
func (s *scenario) quiet() bool {
	return len(s.churn) == 0 && (s.whim == none || s.whim == variesLength)
}

// moderate reports whether a walk must come to the end: less than a fourth of a
// page changes between two requests, and links tell the end, or else the list holds
// still for two requests now and then.
func (s *scenario) moderate() bool {
	pauses := false
	for i, changes := range s.churn {
		if len(changes) > s.shortest()/4 {
			return false
		}
		pauses = pauses || len(changes) == 0 && len(s.churn[(i+1)%len(s.churn)]) == 0
	}
	tells := s.hints == honest || s.hints == neverNext || s.hints == untold && pauses
	return s.whim == none && s.shortest() >= 4 && tells
}

// around draws a number near the boundaries, or any up to the last.
func around(t *rapid.T, name string, boundaries ...int) int {
	if rapid.Bool().Draw(t, name+" at a boundary") {
		return max(0, rapid.SampledFrom(boundaries).Draw(t, name)+rapid.IntRange(-1, 1).Draw(t, name+" ±"))
	}
	return rapid.IntRange(0, boundaries[len(boundaries)-1]).Draw(t, name)
}

func drawScenario(t *rapid.T) *scenario {
	s := &scenario{
		limit:       rapid.IntRange(1, 100).Draw(t, "limit"),
		concurrency: rapid.IntRange(0, 16).Draw(t, "concurrency"),
		order:       order(rapid.IntRange(0, 2).Draw(t, "order")),
		hints:       hints(rapid.IntRange(0, 3).Draw(t, "hints")),
	}
	if rapid.IntRange(0, 19).Draw(t, "long") == 0 {
		s.total, s.limit = around(t, "total", 10_000, 10_099, 10_100, 10_101), max(s.limit, 40)
	} else {
		s.total = around(t, "total", 0, 1, 99, 100, 101, 198, 199, 500)
	}
	if rapid.IntRange(0, 3).Draw(t, "resumed") == 0 {
		s.offset = rapid.IntRange(0, min(s.total, 10_000)).Draw(t, "offset")
	}
	if rapid.IntRange(0, 4).Draw(t, "whimsical") == 0 {
		s.whim = whim(rapid.IntRange(1, 4).Draw(t, "whim"))
		s.at = rapid.IntRange(1, 8).Draw(t, "at")
	}
	if rapid.IntRange(0, 4).Draw(t, "changes") > 0 {
		most := 1 + s.limit/4
		if rapid.IntRange(0, 2).Draw(t, "wild") == 0 {
			most = 2 * s.limit
		}
		if s.total > 1000 {
			most = min(most, 20) // for speed
		}
		s.churn = rapid.SliceOfN(rapid.SliceOfN(rapid.Custom(func(t *rapid.T) change {
			return change{rapid.Bool().Draw(t, "add"), rapid.Float64Range(0, 1).Draw(t, "at")}
		}), 0, most), 1, 8).Draw(t, "churn")
	}
	s.drawLengths(t)
	latency := rapid.SliceOfN(rapid.Map(rapid.IntRange(0, 40), func(n int) time.Duration { return time.Duration(n) * time.Millisecond }), 1, 8)
	s.before, s.after = latency.Draw(t, "before"), latency.Draw(t, "after")
	return s
}

// drawLengths draws pages shorter than was asked for: all of them, some in the middle,
// or from some request on. A page of one record has no overlap, so that nobody could
// tell what a change of the list did.
func (s *scenario) drawLengths(t *rapid.T) {
	least := 2
	if s.total > 1000 {
		least = 20 // for speed
	}
	length := rapid.IntRange(least, 100)
	switch rapid.IntRange(0, 4).Draw(t, "lengths") {
	case 0:
		if s.quiet() && s.total <= 1000 {
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

// model is a store that acts out a scenario.
type model struct {
	*scenario
	mu                 sync.Mutex
	list, first        []record
	last               Page[record, int]
	added, far         int
	requests, inFlight int
	reads              int
	crowd              int // the most requests in flight
}

func newModel(s *scenario) *model {
	m := &model{scenario: s}
	for i := range s.total {
		m.list = append(m.list, record{i, float64(i)})
	}
	m.first = slices.Clone(m.list)
	return m
}

func (m *model) fetch(ctx context.Context, offset, limit int) (Page[record, int], error) {
	m.mu.Lock()
	m.requests++
	m.inFlight++
	m.crowd = max(m.crowd, m.inFlight)
	m.mu.Unlock()
	defer func() {
		m.mu.Lock()
		defer m.mu.Unlock()
		m.inFlight--
	}()
	// The nanoseconds make the order of events depend on nothing but the scenario.
	if err := pause(ctx, m.before[offset%len(m.before)]+time.Duration(offset)); err != nil {
		return Page[record, int]{}, err
	}
	page := m.read(offset, limit)
	return page, pause(ctx, m.after[offset%len(m.after)]+time.Duration(offset))
}

func pause(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// read answers a request, and changes the list after it.
func (m *model) read(offset, limit int) Page[record, int] {
	m.mu.Lock()
	defer m.mu.Unlock()
	n := m.reads
	m.reads++
	asked := limit
	defer func(offset int) { m.far = max(m.far, offset+limit) }(offset)
	limit = min(limit, m.length(n))
	if m.whim == ignoresOffset {
		offset = 0
	}
	if m.whim == variesLength {
		limit -= offset * 7 % (1 + limit/3) // two at least, of two
	}
	from := min(offset, len(m.list))
	to := min(from+limit, len(m.list))
	page := Page[record, int]{Items: slices.Clone(m.list[from:to]), Info: n}
	if n == m.at && m.whim == emptyPage && offset > 0 {
		page.Items = nil
	}
	switch {
	case m.hints == alwaysNext || m.hints == honest && to < len(m.list):
		page.Next = NextExists
	case m.hints == neverNext && (to == len(m.list) || len(page.Items) == asked) || m.hints == honest:
		page.Next = NextNone
	}
	isLast := m.last.Next == NextNone && len(m.last.Items) < asked
	if n == m.at && m.whim == repeatsPage && !isLast {
		page = m.last
		page.Items = slices.Clone(page.Items)
	}
	m.last = page
	if len(m.churn) > 0 {
		for _, c := range m.churn[n%len(m.churn)] {
			m.apply(c)
		}
	}
	return page
}

func (m *model) apply(c change) {
	at := int(c.at * float64(len(m.list)))
	switch {
	case !c.add && at < len(m.list):
		m.list = slices.Delete(m.list, at, at+1)
	case c.add && len(m.list) < m.total+500: // for speed
		switch m.order {
		case newestFirst:
			at = 0
		case oldestFirst:
			at = len(m.list)
		case anywhere:
		}
		var place float64
		switch n := len(m.list); {
		case n == 0:
		case at == 0:
			place = m.list[0].place - 1
		case at == n:
			place = m.list[n-1].place + 1
		default:
			place = (m.list[at-1].place + m.list[at].place) / 2
		}
		m.added++
		m.list = slices.Insert(m.list, at, record{-m.added, place})
	}
}

// run walks the list of the model to the end. What is wrong with the walk is
// returned in broken.
func (m *model) run(t *testing.T) (got []record, broken string, end error) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		for page, err := range Walk(t.Context(), m.config()) {
			if end != nil {
				broken = "it goes on after an error"
			}
			if end = err; err == nil && len(page.Items) == 0 {
				broken = "a chunk without items"
			}
			got = append(got, page.Items...)
		}
		if m.inFlight != 0 {
			broken = fmt.Sprintf("%d requests in flight after the end", m.inFlight)
		}
	})
	if broken == "" {
		broken = m.verdict(got, end)
	}
	return got, broken, end
}

// verdict says what is wrong with a walk that yielded got and ended in end.
func (m *model) verdict(got []record, end error) string {
	yielded := map[int]bool{}
	for _, r := range got {
		if yielded[r.id] {
			return fmt.Sprintf("record %d came twice", r.id)
		}
		yielded[r.id] = true
	}
	if end != nil && !errors.Is(end, ErrOffsetLimit) && !errors.Is(end, ErrListDrift) && !errors.Is(end, ErrNoProgress) {
		return fmt.Sprintf("error %v", end)
	}
	if stop := (*Error)(nil); end != nil && (!errors.As(end, &stop) || stop.Seen != len(got)) {
		return fmt.Sprintf("%d records came, and the error says %+v", len(got), stop)
	}
	if most := 3*(m.far+100) + 50; m.requests > most { // the smallest pages have two records
		return fmt.Sprintf("%d requests, more than %d", m.requests, most)
	}
	if most := max(1, m.concurrency); m.crowd > most {
		return fmt.Sprintf("%d requests in flight, more than %d", m.crowd, most)
	}
	if lost := m.lost(got, end); len(lost) > 0 && m.whim != ignoresOffset {
		return fmt.Sprintf("%d records lost of %d that came: %v; end %v", len(lost), len(got), lost[:min(len(lost), 10)], end)
	}
	if !slices.IsSortedFunc(m.throughout(got), func(a, b record) int { return cmp.Compare(a.place, b.place) }) {
		return "out of order"
	}
	if m.quiet() {
		return m.quietVerdict(got, end)
	}
	return ""
}

// quietVerdict says what is wrong with a walk over a list that did not change.
func (m *model) quietVerdict(got []record, end error) string {
	if m.varies() && m.total > 10_000 {
		return "" // what is in reach depends on the last page
	}
	if (errors.Is(end, ErrNoProgress) || errors.Is(end, ErrListDrift)) && m.shortest() == 1 {
		return "" // nothing to overlap by
	}
	reach := 10_000 + m.length(0) // records
	want, wantEnd := min(m.total, reach), error(nil)
	saysEnd := m.hints == honest || m.hints == neverNext
	if m.total > reach || m.total == reach && reach == 10_100 || m.total > 10_000 && !saysEnd {
		wantEnd = ErrOffsetLimit
	}
	if m.total == 10_001 && m.hints == untold && end == nil {
		wantEnd = nil // the last page but one may show it
	}
	if len(got) != want-m.offset || !errors.Is(end, wantEnd) {
		return fmt.Sprintf("quiet list of %d records: %d came, end %v, want %v", m.total, len(got), end, wantEnd)
	}
	return ""
}

// throughout returns those of records that were in the list from start to end.
func (m *model) throughout(records []record) []record {
	there := map[int]bool{}
	for _, r := range m.list {
		there[r.id] = true
	}
	var stayed []record
	for _, r := range records {
		if r.id >= 0 && there[r.id] {
			stayed = append(stayed, r)
		}
	}
	return stayed
}

// lost returns the records that were in the list from start to end, and should
// have come and did not: after an error, those before the last one that came.
func (m *model) lost(got []record, end error) []record {
	yielded := map[int]bool{}
	for _, r := range got {
		yielded[r.id] = true
	}
	due := m.throughout(m.first[min(m.offset, len(m.first)):])
	if end != nil {
		last := len(due)
		for last > 0 && !yielded[due[last-1].id] {
			last--
		}
		due = due[:last]
	}
	return slices.DeleteFunc(due, func(r record) bool { return yielded[r.id] })
}

// TestModel walks lists that change between and during requests, at stores whose
// page length changes too, with links and without. Whatever they do, nothing that
// stays is lost, nothing comes twice, and each walk ends.
func TestModel(t *testing.T) {
	t.Parallel()
	var all, churned, moderate, outrun, requests, records int
	rapid.Check(t, func(rt *rapid.T) {
		m := newModel(drawScenario(rt))
		got, broken, end := m.run(t)
		if broken != "" {
			rt.Fatalf("%s", broken)
		}
		all++
		requests += m.requests
		records += len(got)
		if len(m.churn) > 0 {
			churned++
			if m.moderate() {
				moderate++
				if end != nil && !errors.Is(end, ErrOffsetLimit) {
					outrun++
				}
			}
		}
	})
	t.Logf("%d walks, %d of them over a list that changed, %d requests, %d records: none lost, none doubled; %d of %d walks with moderate churn ended early in a typed error",
		all, churned, requests, records, outrun, moderate)
	if moderate < all/20 || outrun > max(5, moderate/50) { // of few, by chance, more
		t.Error("more than 2 % of the walks with moderate churn did not come to the end")
	}
}

// naive reads the list as most clients do: it adds the page size to the offset
// until a page is short.
func (m *model) naive() (got []record) {
	for offset := 0; ; offset += m.limit {
		page := m.read(offset, m.limit)
		if got = append(got, page.Items...); len(page.Items) < m.limit {
			return got
		}
	}
}

// TestModel_naive removes a record after each request, one that was read already:
// what that does to naive paging, and to a walk.
func TestModel_naive(t *testing.T) {
	t.Parallel()
	var walks, records, naiveLost, lost int
	for total := 200; total <= 1000; total += 100 {
		for _, limit := range []int{10, 25, 50, 100} {
			for _, concurrency := range []int{1, 4} {
				s := &scenario{
					total: total, limit: limit, concurrency: concurrency, hints: honest, churn: [][]change{{{at: 0}}},
					before: []time.Duration{time.Millisecond}, after: []time.Duration{time.Millisecond},
				}
				m := newModel(s)
				got, broken, end := m.run(t)
				if broken != "" || end != nil {
					t.Errorf("%d records by %d, %d at a time: %s, end %v", total, limit, concurrency, broken, end)
				}
				walks++
				records += len(m.throughout(m.first))
				lost += len(m.lost(got, nil))

				n := newModel(s)
				naiveLost += len(n.lost(n.naive(), nil))
			}
		}
	}
	t.Logf("one removal a page, %d walks over %d records that stay: naive paging lost %d, this one %d", walks, records, naiveLost, lost)
	if naiveLost == 0 {
		t.Error("the churn harms nobody: this test proves nothing")
	}
}
