package paging

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"
)

// record is a record of a key.
type record struct{ key, id int }

var (
	errTooManyKeys = errors.New("too many keys")
	errBroken      = errors.New("broken")
)

// keyedList is a fake store with records that belong to keys.
type keyedList struct {
	records   []record // newest first
	keys      []int    // in increasing order
	links     links
	accepts   int   // maximum number of keys in a request
	broken    int   // a key whose records cannot be read
	most      int   // highest offset
	keysErr   error // follows the last key
	listsKeys bool  // by requests
	change    func(l *keyedList)
	delays    []time.Duration // by request
	pageSize  int

	traffic
	refused int
	beyond  int // requests that found the highest offset reached
	added   int
}

type partsConfig = PartsConfig[*testPage[record], int, int]

// newKeyedList returns a list in which key k has counts(k) records.
func newKeyedList(keys int, counts func(key int) int) *keyedList {
	l := &keyedList{accepts: 1000, most: 2000, pageSize: 100, delays: []time.Duration{latency}}
	for key := 1; key <= keys; key++ {
		l.keys = append(l.keys, key)
		for range counts(key) {
			l.records = append(l.records, record{key: key, id: len(l.records) + 1})
		}
	}
	// Records of all keys are mixed in the list.
	slices.SortStableFunc(l.records, func(a, b record) int { return a.id*7919%10007 - b.id*7919%10007 })
	return l
}

func each(n int) func(int) int { return func(int) int { return n } }

func (l *keyedList) config(concurrency int) partsConfig {
	return partsConfig{
		KeyList: KeysConfig[int]{Fetch: l.knownKeys, Compare: cmp.Compare[int], Limit: 10_000, Predict: predict},
		MaxKeys: 145, Fetch: l.fetch, Pages: testPages(func(r record) int { return r.id }),
		Finish:      func(p *testPage[record], key int) { p.Finished = key },
		TooManyKeys: func(err error) bool { return errors.Is(err, errTooManyKeys) },
		OfOneKey:    func(err error) bool { return errors.Is(err, errBroken) },
		Limit:       l.pageSize, MaxOffset: l.most, MaxLimit: l.pageSize, Concurrency: concurrency,
	}
}

// knownKeys returns all keys at once, without a request.
func (l *keyedList) knownKeys(_ context.Context, after, _ int) (p KeyPage[int], err error) {
	p = KeyPage[int]{IDs: l.keys[min(after, len(l.keys)):], Next: NextNone} // key n is after n-1 others
	if l.keysErr != nil {
		p.Next = NextExists
	}
	if len(p.IDs) == 0 {
		err = l.keysErr
	}
	return p, err
}

// listKeys lets the walk read the keys page by page.
func (l *keyedList) listKeys(cfg *partsConfig) {
	list := keyList{ids: l.keys, delays: []time.Duration{0}}
	cfg.KeyList, l.listsKeys = list.config(10, 1), true
	cfg.KeyList.Fetch = func(ctx context.Context, after, limit int) (p KeyPage[int], err error) {
		n := l.begin()
		defer l.end()
		if err := wait(ctx, l.delays[n%len(l.delays)]+time.Duration(n)); err != nil {
			return p, err
		}
		if p, err = list.fetch(ctx, after, limit); p.Next == NextNone {
			err = l.keysErr
		}
		return p, err
	}
}

func (l *keyedList) fetch(ctx context.Context, keys []int, offset, limit int) (*testPage[record], error) {
	n := l.begin()
	defer l.end()
	if err := wait(ctx, l.delays[n%len(l.delays)]+time.Duration(n)); err != nil {
		return nil, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(keys) > l.accepts {
		l.refused++
		return nil, errTooManyKeys
	}
	if slices.Contains(keys, l.broken) {
		return nil, errBroken
	}
	p := l.page(keys, offset, limit)
	if l.change != nil {
		l.change(l)
	}
	return p, nil
}

func (l *keyedList) page(keys []int, offset, limit int) *testPage[record] {
	isWanted := make([]bool, len(l.keys)+1)
	for _, key := range keys {
		isWanted[key] = true
	}
	var list []record
	for _, r := range l.records {
		if isWanted[r.key] {
			list = append(list, r)
		}
	}
	end := min(offset+limit, len(list))
	p := &testPage[record]{Items: slices.Clone(list[min(offset, len(list)):end])}
	p.Next = l.links.next(end == len(list), len(p.Items) == limit)
	if offset == l.most && len(p.Items) > 0 {
		l.beyond++
	}
	return p
}

// result is what a walk over parts yielded, and what is wrong with it.
type result struct {
	list     *keyedList
	existed  map[int]bool // the ids of the list before the walk
	yielded  map[int]bool
	lastKey  int // of the yielded records
	finished int // of the last page that has it
	elapsed  time.Duration
	problem  string
	err      *Error
}

// run walks the list.
func (l *keyedList) run(t *testing.T, cfg partsConfig) *result {
	t.Helper()
	r := &result{list: l, existed: make(map[int]bool, len(l.records)), yielded: make(map[int]bool, len(l.records))}
	for _, rec := range l.records {
		r.existed[rec.id] = true
	}
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		defer func() { r.elapsed = time.Since(start) }()
		for p, err := range Parts(t.Context(), cfg) {
			if r.err != nil {
				r.problem = "the walk goes on after an error"
			}
			if err != nil {
				r.err, _ = errors.AsType[*Error](err)
				continue
			}
			r.add(p)
		}
	})
	last := 0
	if n := len(l.keys); n > 0 {
		last = l.keys[n-1]
	}
	if r.err != nil {
		last, _ = r.err.Finished.(int)
		if r.err.Seen != len(r.yielded) {
			r.problem = fmt.Sprintf("Seen = %d, want %d", r.err.Seen, len(r.yielded))
		}
	}
	r.checkFinished(last)
	most := cfg.Concurrency
	if l.listsKeys && most == 1 {
		most = 2 // one of them for keys
	}
	if l.inFlight > 0 || l.maxInFlight > most {
		r.problem = fmt.Sprintf("%d requests in flight at the end, up to %d before, want 0 and at most %d",
			l.inFlight, l.maxInFlight, most)
	}
	return r
}

func (r *result) add(p *testPage[record]) {
	if len(p.Items) == 0 {
		r.problem = "a page without records"
	}
	for _, rec := range p.Items {
		if r.yielded[rec.id] {
			r.problem = fmt.Sprintf("record %d is yielded twice", rec.id)
		}
		r.yielded[rec.id] = true
		r.lastKey = max(r.lastKey, rec.key)
	}
	if p.Finished != 0 {
		r.checkFinished(p.Finished)
		if r.lastKey > p.Finished {
			r.problem = fmt.Sprintf("a record of key %d is yielded before key %d is finished", r.lastKey, p.Finished)
		}
	}
}

// checkFinished checks that all records that stayed are yielded, of the keys up to this one.
func (r *result) checkFinished(key int) {
	r.list.mu.Lock()
	defer r.list.mu.Unlock()
	for _, rec := range r.list.records {
		if r.existed[rec.id] && rec.key <= key && !r.yielded[rec.id] {
			r.problem = fmt.Sprintf("record %d of key %d is missing, but key %d is finished", rec.id, rec.key, key)
		}
	}
	if key < r.finished {
		r.problem = fmt.Sprintf("Finished = %d after %d", key, r.finished)
	}
	r.finished = key
}

func only(large, count int) func(int) int {
	return func(key int) int {
		if key == large {
			return count
		}
		return 3
	}
}

var partsTests = []struct {
	name        string
	keys        int
	counts      func(int) int
	setUp       func(*keyedList)
	maxRequests int
	inFlight    int           // more requests with concurrency 8, as goroutines run
	maxTime     time.Duration // with concurrency 8
	minRefused  int
	want        *Error
}{
	{name: "no keys", counts: each(3)},
	{name: "no records", keys: 500, counts: each(0), maxRequests: 6},
	{name: "one key", keys: 1, counts: each(3), maxRequests: 1},
	{name: "one key with many records", keys: 1, counts: each(2099), maxRequests: 22},
	{
		name: "one key with too many records", keys: 1, counts: each(2101), maxRequests: 22,
		want: &Error{Seen: 2100, Key: 1, Err: ErrOffsetLimit},
	},
	{
		name: "three records per key", keys: 1000, counts: each(3), maxRequests: 36,
		maxTime: 8 * latency, // 36 one by one
	},
	{
		name: "without links", keys: 1000, counts: each(3), maxRequests: 71,
		setUp: func(l *keyedList) { l.links = noLinks },
	},
	{
		name: "many records per key", keys: 50, counts: each(250), maxRequests: 150,
		maxTime: 75 * latency, // 150 one by one; here 46 to 51, as goroutines run
	},
	{
		name: "the store accepts 20 keys", keys: 300, counts: each(3), maxRequests: 30,
		inFlight: 8, // 6 in 1 of 1,000 runs: refused before the first refusal is known
		setUp:    func(l *keyedList) { l.accepts = 20 },
	},
	{
		name: "the store accepts one key", keys: 300, counts: each(3), maxRequests: 307, // 7 to find that out
		setUp: func(l *keyedList) { l.accepts = 1 },
	},
	{
		name: "the store accepts no request", keys: 300, counts: each(3), maxRequests: 2,
		setUp: func(l *keyedList) { l.accepts = 0 }, want: &Error{Key: 1, Err: errTooManyKeys},
	},
	{name: "a key with many records", keys: 300, counts: only(77, 2099), maxRequests: 73},
	{
		name: "a key with too many records", keys: 300, counts: only(77, 2101), maxRequests: 57,
		want: &Error{Finished: 76, Key: 77, Err: ErrOffsetLimit},
	},
	{
		name: "a key that cannot be read", keys: 300, counts: each(3), maxRequests: 21,
		inFlight: 8, // more in few runs: parts after the key begin before its error is known
		setUp:    func(l *keyedList) { l.broken = 77 }, want: &Error{Finished: 76, Key: 77, Err: errBroken},
	},
	{
		name: "an error after the keys", keys: 300, counts: each(3), maxRequests: 12,
		setUp: func(l *keyedList) { l.keysErr = errBroken }, want: &Error{Finished: 300, Err: errBroken},
	},
	{
		// The page before the error is yielded, although it could have been the last one.
		name: "an error after a page", keys: 1, counts: each(250), maxRequests: 2,
		setUp: func(l *keyedList) {
			l.links = noLinks
			l.change = func(l *keyedList) { l.broken = 1 }
		},
		want: &Error{Seen: 100, Key: 1, Err: errBroken},
	},
	{
		// Records of later keys are yielded before that, so Finished waits for the end of the part.
		name: "a list that is refused in its middle", keys: 40, counts: each(20), maxRequests: 39, inFlight: 8, minRefused: 1,
		setUp: func(l *keyedList) {
			l.change = func(l *keyedList) {
				l.accepts = 1000
				if l.requests%9 == 8 {
					l.accepts = 1
				}
			}
		},
	},
}

func TestParts(t *testing.T) {
	t.Parallel()
	for _, tt := range partsTests {
		for _, concurrency := range []int{1, 2, 8} {
			t.Run(fmt.Sprintf("%s, concurrency %d", tt.name, concurrency), func(t *testing.T) {
				t.Parallel()
				l := newKeyedList(tt.keys, tt.counts)
				if tt.setUp != nil {
					tt.setUp(l)
				}
				r := l.run(t, l.config(concurrency))
				if r.problem != "" {
					t.Error(r.problem)
				}
				maxRequests := tt.maxRequests
				if concurrency == 8 {
					maxRequests += tt.inFlight
				}
				if l.requests > maxRequests {
					t.Errorf("%d requests, want at most %d", l.requests, maxRequests)
				}
				if l.refused < tt.minRefused {
					t.Errorf("%d requests refused, want at least %d", l.refused, tt.minRefused)
				}
				if tt.maxTime > 0 && concurrency == 8 && r.elapsed.Round(time.Millisecond) > tt.maxTime {
					t.Errorf("took %s, want at most %s", r.elapsed, tt.maxTime)
				}
				if r.err == nil || tt.want == nil {
					if (r.err == nil) != (tt.want == nil) {
						t.Errorf("error %+v, want %+v", r.err, tt.want)
					}
					return
				}
				if r.err.Finished != tt.want.Finished || r.err.Key != tt.want.Key || !errors.Is(r.err, tt.want.Err) ||
					tt.want.Seen > 0 && r.err.Seen != tt.want.Seen {
					t.Errorf("error %+v, want %+v", r.err, tt.want)
				}
			})
		}
	}
}

// Pages wait for a slow consumer, and no more of them are requested.
func TestParts_slowConsumer(t *testing.T) {
	t.Parallel()
	for _, concurrency := range []int{1, 2, 8} {
		t.Run(strconv.Itoa(concurrency), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				l := newKeyedList(2000, each(3))
				pages, ahead := 0, 2*concurrency
				if concurrency == 1 {
					ahead = 1
				}
				for _, err := range Parts(t.Context(), l.config(concurrency)) {
					if err != nil {
						t.Fatal(err)
					}
					pages++
					time.Sleep(time.Minute)
					synctest.Wait()
					if got := l.requests - pages; got > ahead || pages > 10 && pages < 50 && got < ahead {
						t.Errorf("%d pages are read ahead after page %d, want %d", got, pages, ahead)
					}
				}
			})
		})
	}
}

// Requests for keys are among those in flight, but for Concurrency 1, and at most four or half of
// them.
func TestParts_keyList(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ concurrency, keys, all int }{
		{concurrency: 1, keys: 1, all: 2}, {concurrency: 3, keys: 1, all: 3}, {concurrency: 4, keys: 2, all: 4},
		{concurrency: 8, keys: 4, all: 8}, {concurrency: 16, keys: 4, all: 16},
	} {
		t.Run(strconv.Itoa(tt.concurrency), func(t *testing.T) {
			t.Parallel()
			l := newKeyedList(2000, each(3))
			cfg := l.config(tt.concurrency)
			l.listKeys(&cfg)
			cfg.KeyList.Limit = 100
			fetch, keys := cfg.KeyList.Fetch, traffic{}
			cfg.KeyList.Fetch = func(ctx context.Context, after, limit int) (KeyPage[int], error) {
				keys.begin()
				defer keys.end()
				return fetch(ctx, after, limit)
			}
			r := l.run(t, cfg)
			if r.problem != "" || r.err != nil || keys.maxInFlight != tt.keys || l.maxInFlight != tt.all {
				t.Errorf("up to %d requests in flight, %d of them for keys, want %d and %d; error %v, %s",
					l.maxInFlight, keys.maxInFlight, tt.all, tt.keys, r.err, r.problem)
			}
		})
	}
}

// When the loop ends, or its context, no request is in flight, also none for keys.
func TestParts_break(t *testing.T) {
	t.Parallel()
	for breakAt := range 12 {
		for _, isCanceled := range []bool{false, true} {
			synctest.Test(t, func(t *testing.T) {
				l := newKeyedList(2000, each(3))
				cfg := l.config(8)
				l.listKeys(&cfg)
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				pages, err := 0, error(nil)
				for _, err = range Parts(ctx, cfg) {
					if pages++; pages > breakAt && isCanceled {
						cancel()
					} else if pages > breakAt {
						break
					}
				}
				if l.inFlight > 0 || errors.Is(err, context.Canceled) != isCanceled {
					t.Errorf("page %d, canceled %t: %d requests in flight, error %v", breakAt+1, isCanceled, l.inFlight, err)
				}
			})
		}
	}
}

// A panic of the caller's code reaches the loop, so that it can be recovered.
func TestParts_panic(t *testing.T) {
	t.Parallel()
	for name, setUp := range map[string]func(*partsConfig){
		"keys": func(cfg *partsConfig) {
			cfg.KeyList.Fetch = func(context.Context, int, int) (KeyPage[int], error) { panic("planned") }
		},
		"fetch": func(cfg *partsConfig) { cfg.TooManyKeys = func(error) bool { panic("planned") } },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			defer func() {
				if got := recover(); got != "planned" {
					t.Errorf("recover() = %v, want planned", got)
				}
			}()
			l := newKeyedList(10, each(3))
			l.accepts, l.delays = 1, []time.Duration{0}
			cfg := l.config(2)
			setUp(&cfg)
			for _, err := range Parts(t.Context(), cfg) {
				if err != nil {
					t.Errorf("error %v, want a panic", err)
				}
			}
		})
	}
}

// keyedChange adds a record of a key at the start of the list, or removes a record.
type keyedChange struct {
	add bool
	at  float64
}

// drawKeyedChanges draws the changes after each request, at most so many after one.
func drawKeyedChanges(t *rapid.T, most int) [][]keyedChange {
	draw := rapid.Custom(func(t *rapid.T) keyedChange {
		return keyedChange{add: rapid.Bool().Draw(t, "add"), at: rapid.Float64Range(0, 1).Draw(t, "at")}
	})
	return rapid.SliceOfN(rapid.SliceOfN(draw, 0, most), 1, 8).Draw(t, "changes after each request")
}

// drawParts draws a store and a walk over parts of it.
func drawParts(t *rapid.T) (*keyedList, partsConfig) {
	pageSize := rapid.IntRange(3, 10).Draw(t, "page size")
	most := pageSize * rapid.IntRange(3, 40).Draw(t, "most pages")
	keys := rapid.IntRange(0, 120).Draw(t, "keys")
	count := rapid.IntRange(0, rapid.SampledFrom([]int{0, 1, 3, 20}).Draw(t, "most records"))
	counts := rapid.SliceOfN(count, keys, keys).Draw(t, "counts")
	for range rapid.IntRange(0, min(2, keys)).Draw(t, "large keys") {
		counts[rapid.IntRange(0, keys-1).Draw(t, "large key")] = drawNear(t, "large", most, most+pageSize)
	}
	l := newKeyedList(keys, func(key int) int { return counts[key-1] })
	l.pageSize, l.most = pageSize, most
	l.links = links(rapid.IntRange(0, 1).Draw(t, "links"))
	l.accepts = rapid.SampledFrom([]int{1, 2, 5, 13, 1000}).Draw(t, "accepts")
	if rapid.IntRange(0, 9).Draw(t, "has a broken key") == 0 {
		l.broken = rapid.IntRange(0, keys).Draw(t, "broken")
	}
	l.delays = delays().Draw(t, "delays")
	if rapid.Bool().Draw(t, "changes") {
		changes := drawKeyedChanges(t, 3)
		l.change = func(l *keyedList) {
			for _, c := range changes[l.requests%len(changes)] {
				l.apply(c)
			}
		}
	}
	cfg := l.config(rapid.IntRange(1, 9).Draw(t, "concurrency"))
	if rapid.Bool().Draw(t, "keys are read") {
		l.listKeys(&cfg)
	}
	cfg.MaxKeys = rapid.IntRange(1, 40).Draw(t, "max keys")
	return l, cfg
}

// allows reports whether a walk may end in this error.
func (l *keyedList) allows(err *Error) bool {
	if errors.Is(err, errBroken) {
		return err.Key == l.broken
	}
	if errors.Is(err, ErrOffsetLimit) {
		key, ok := err.Key.(int)
		return ok && (l.change != nil || len(l.page([]int{key}, l.most-1, 1).Items) > 0)
	}
	return l.change != nil && (errors.Is(err, ErrListDrift) || errors.Is(err, ErrNoProgress))
}

func (l *keyedList) apply(c keyedChange) {
	at := int(c.at * float64(len(l.records)))
	switch {
	case c.add && len(l.keys) > 0 && l.added < 500:
		l.added++
		r := record{key: l.keys[at%len(l.keys)], id: -l.added}
		l.records = slices.Insert(l.records, 0, r)
	case !c.add && at < len(l.records):
		l.records = slices.Delete(l.records, at, at+1)
	}
}

// TestModel_parts walks parts of lists that change during the walk, with keys that have too many
// records, and stores that accept few keys. No record that stays is lost before the walk ends, and
// none is yielded twice.
func TestModel_parts(t *testing.T) {
	t.Parallel()
	var walks, changed, ended, halved, refused, requests, records int
	rapid.Check(t, func(rt *rapid.T) {
		l, cfg := drawParts(rt)
		r := l.run(t, cfg)
		if r.problem != "" {
			rt.Fatal(r.problem)
		}
		if r.err != nil && !l.allows(r.err) {
			rt.Fatalf("error %+v", r.err)
		}
		walks++
		requests += l.requests
		records += len(r.yielded)
		refused += min(1, l.refused)
		halved += min(1, l.beyond)
		ended += map[bool]int{true: 1}[r.err == nil]
		changed += map[bool]int{true: 1}[l.change != nil]
	})
	t.Logf("%d walks, %d of them over a list that changed, %d with a refused part, %d with a part that was too long, "+
		"%d requests, %d records: none lost, none yielded twice; %d walks read the whole list",
		walks, changed, refused, halved, requests, records, ended)
	if refused < walks/20 || halved < walks/20 || ended < walks/2 {
		t.Errorf("of %d walks, %d had a refused part, %d one that was too long, %d read the whole list: want more",
			walks, refused, halved, ended)
	}
}

// After a part has failed, no request is made for the next one, also while the consumer still works
// on a page.
func TestParts_failed(t *testing.T) {
	t.Parallel()
	l := newKeyedList(300, each(150))
	l.links = trueLinks
	l.change = func(l *keyedList) { l.broken = 1 } // after the first page
	synctest.Test(t, func(t *testing.T) {
		for _, err := range Parts(t.Context(), l.config(1)) {
			if err == nil {
				time.Sleep(time.Minute)
			} else if !errors.Is(err, errBroken) {
				t.Errorf("got error %v, want %v", err, errBroken)
			}
		}
	})
	if l.requests != 2 {
		t.Errorf("got %d requests, want 2", l.requests)
	}
}
