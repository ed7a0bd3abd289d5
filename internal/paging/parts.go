package paging

import (
	"context"
	"errors"
	"iter"
	"slices"
	"sync"

	"github.com/commerce-go/commerce/internal/future"
)

// PartsConfig describes a walk over the records that belong to some keys. The keys are read in
// parts: a part is the list of the records of several keys, and [Walk] reads it.
type PartsConfig[P any, K, ID comparable] struct {
	// KeyList has the keys. If Concurrency is more than 1, its requests count as requests in
	// flight, and several segments of it are read at a time.
	KeyList KeysConfig[K]
	// Listed is called with each key of KeyList, and reports whether to read its records. It may be
	// nil: then all are read.
	Listed func(K) bool
	// MaxKeys is the maximum number of keys in a part, at least 1.
	MaxKeys int
	// Fetch reads a page of a part. Calls overlap if Concurrency is more than 1. It must return
	// when ctx ends.
	Fetch func(ctx context.Context, keys []K, offset, limit int) (P, error)
	// TooManyKeys reports whether an error of Fetch may mean that the part has too many keys.
	TooManyKeys func(error) bool
	// OfOneKey reports whether an error may be about the records of a single key. The part is then
	// split, so that the error names the key.
	OfOneKey func(error) bool

	// Before are records that Parts does not yield. It must not change meanwhile.
	Before map[ID]struct{}

	// Finish is called with a page after which all records of this key and of the keys before it
	// are yielded, and none of later keys.
	Finish func(page P, key K)

	// These are like the fields of Config. Parts calls Keep with offset 0.
	Pages[P, ID]
	Limit, MaxOffset, MaxLimit int

	// Concurrency is the maximum number of requests in flight, at least 1. If it is more than 1,
	// twice as many pages may be in flight or wait for the consumer. If pages do not say whether
	// there is a next one, one page of each part may wait in addition, until it is known whether
	// it is the last.
	Concurrency int
}

// Parts yields each record of the keys exactly once, under the conditions of [Walk], in the order
// of the parts.
//
// Each part is read page by page: the next page is requested if the last one states that there is
// one, or if only another request can show the end. Therefore no request is wasted on a guess,
// and the concurrency is that of several parts. Earlier parts come first, see slots. A part that
// is larger than any that the store has accepted is the only one of its kind until it is
// accepted, see partSize.
//
// A part that is too long for Walk is halved. Each half is read from its start, without the records
// that were yielded already. So is a part with an error that OfOneKey may explain. If a part has
// too many keys, its first key is read alone, to see whether their number is the reason, and then
// half as many at a time.
//
// If there is an error, it is a [*Error] and the last value. When the range ends, no fetch is
// running.
func Parts[P any, K, ID comparable](ctx context.Context, cfg PartsConfig[P, K, ID]) iter.Seq2[P, error] {
	return func(yield func(P, error) bool) {
		ctx, cancel := context.WithCancel(ctx)
		packing, stopPacking := context.WithCancel(ctx)
		defer stopPacking()
		w := &partsWalk[P, K, ID]{
			PartsConfig: cfg,
			stopPacking: stopPacking,
			slots:       newSlots(cfg.Concurrency),
			size:        newPartSize(cfg.MaxKeys, cfg.Limit, cfg.Concurrency),
			keys:        make(chan K, cfg.MaxKeys),
			parts:       make(chan *part[P, K, ID], 2*cfg.Concurrency),
		}
		puller := background(func() error { return w.pull(ctx) })
		packer := background(func() error { return w.pack(ctx, packing) })
		stop := func() {
			cancel()
			<-puller.Done()
			<-packer.Done()
		}
		defer stop()
		end := Error{}
		for p := range w.parts {
			for page := range p.pages {
				w.slots.release()
				end.Seen += page.records
				if !yield(page.page, nil) {
					return
				}
			}
			_, end.Err = p.done.Wait(context.WithoutCancel(ctx))
			if p.finished != nil {
				end.Finished = p.finished
			}
			if end.Key = p.failed; end.Err != nil {
				break
			}
		}
		for _, last := range []*future.Future[struct{}]{packer, puller} {
			if end.Err == nil {
				_, end.Err = last.Wait(context.WithoutCancel(ctx))
			}
		}
		if stop(); end.Err != nil {
			yield(*new(P), &end)
		}
	}
}

// background runs f in a goroutine.
func background(f func() error) *future.Future[struct{}] {
	return future.Go(func() (struct{}, error) { return struct{}{}, f() })
}

// partsWalk is the state of a walk over parts.
type partsWalk[P any, K, ID comparable] struct {
	PartsConfig[P, K, ID]
	stopPacking func() // called when a part fails, before its slot lets the next part begin
	slots       *slots
	size        *partSize
	keys        chan K               // from pull to pack
	parts       chan *part[P, K, ID] // from pack to the consumer
}

// pull passes the keys to pack.
func (w *partsWalk[P, K, ID]) pull(ctx context.Context) error {
	defer close(w.keys)
	for key, err := range w.keyList(ctx) {
		if stop, ok := errors.AsType[*Error](err); ok {
			return stop.Err
		}
		if w.Listed != nil && !w.Listed(key) {
			continue
		}
		select {
		case w.keys <- key:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}

// keyList yields the keys of KeyList.
func (w *partsWalk[P, K, ID]) keyList(ctx context.Context) iter.Seq2[K, error] {
	cfg := w.KeyList
	if w.Concurrency == 1 {
		return Keys(ctx, cfg)
	}
	const maxSegments = 4 // more than two requests of parts follow one for keys; by TestIdeal
	cfg.Segments = min(w.Concurrency/2, maxSegments)
	cfg.Fetch = func(ctx context.Context, after K, limit int) (KeyPage[K], error) {
		c := w.slots.addFirst()
		defer w.slots.remove(c)
		if err := w.slots.acquire(ctx, c); err != nil {
			return KeyPage[K]{}, err
		}
		return w.KeyList.Fetch(ctx, after, limit)
	}
	return Keys(ctx, cfg)
}

// pack packs the keys into parts, and starts to read each as soon as it has a slot, until packing
// ends. It returns when all parts are read.
func (w *partsWalk[P, K, ID]) pack(ctx, packing context.Context) error {
	defer close(w.parts)
	var running sync.WaitGroup
	defer running.Wait()
	var keys []K
	for {
		filled, more := w.fill(keys)
		if keys = filled; len(keys) == 0 {
			return ctx.Err()
		}
		c := w.slots.add()
		if err := w.slots.acquire(packing, c); err != nil {
			w.slots.remove(c)
			return err
		}
		size := w.size.next()
		if more && len(keys) < size { // it grew while the part waited for its slot
			w.slots.remove(c)
			continue
		}
		n := min(len(keys), size)
		p := &part[P, K, ID]{
			partsWalk: w, keys: keys[:n:n], slot: c, accepted: make(chan struct{}),
			pages: make(chan partsPage[P], 2*w.Concurrency), yielded: map[ID]struct{}{},
		}
		keys = keys[n:]
		running.Add(1)
		p.done = background(func() error {
			defer running.Done()
			return p.run(ctx)
		})
		select {
		case w.parts <- p:
		case <-ctx.Done():
			return ctx.Err()
		}
		if !w.size.isProven(n) {
			<-p.accepted
		}
	}
}

// fill adds keys until there are enough for a part, or no more. When ctx ends, pull closes the
// channel.
func (w *partsWalk[P, K, ID]) fill(keys []K) (filled []K, more bool) {
	for len(keys) < w.size.next() {
		key, ok := <-w.keys
		if !ok {
			return keys, false
		}
		keys = append(keys, key)
	}
	return keys, true
}

// partsPage is a page for the consumer, with the number of its records.
type partsPage[P any] struct {
	page    P
	records int
}

// part is a part of the list. Its fields belong to the goroutine that reads it, and to the consumer
// after done is closed.
type part[P any, K, ID comparable] struct {
	*partsWalk[P, K, ID]
	keys  []K
	slot  *claim
	pages chan partsPage[P] // never full: each page has a slot
	done  *future.Future[struct{}]
	// accepted is closed when the store has accepted a list of the part, or the part has ended.
	accepted chan struct{}
	begun    bool // accepted is closed

	finished, failed any           // Finished and Key of Error
	held             *partsPage[P] // not passed to the consumer yet, because it may be the last
	yielded          map[ID]struct{}
	split            bool // a list of several keys was left early, so records of later keys may be yielded already
	unproven         bool // records may come after the last page of a list, see Config
	tooLong          bool // a list was too long: check the length of the next ones first
}

// run reads the part.
func (p *part[P, K, ID]) run(ctx context.Context) error {
	defer close(p.pages)
	defer p.slots.remove(p.slot)
	defer p.accept(0)
	err := p.read(ctx, p.keys)
	if errHeld := p.passHeld(ctx); err == nil {
		err = errHeld
	}
	if err != nil {
		p.stopPacking()
	}
	return err
}

// read reads the records of keys, in as many lists as necessary.
func (p *part[P, K, ID]) read(ctx context.Context, keys []K) error {
	for len(keys) > 0 {
		n := min(len(keys), p.size.maximum())
		err := p.readList(ctx, keys[:n])
		switch {
		case err == nil:
			keys = keys[n:]
		case n == 1:
			p.failed = keys[0]
			return err
		case errors.Is(err, ErrOffsetLimit) || p.OfOneKey(err):
			p.split, p.tooLong = true, p.tooLong || errors.Is(err, ErrOffsetLimit)
			if err := p.read(ctx, keys[:n/2]); err != nil {
				return err
			}
			keys = keys[n/2:]
		case p.TooManyKeys(err):
			p.size.refuse(n)
			p.split = p.split || len(p.yielded) > 0 // it may have been refused in its middle
			switch errOne := p.readList(ctx, keys[:1]); {
			case errOne == nil:
				keys = keys[1:]
			case p.TooManyKeys(errOne):
				return err // the number of keys is not the reason
			default:
				p.failed = keys[0]
				return errOne
			}
		default:
			return err
		}
	}
	return nil
}

// readList reads the list of the records of keys.
func (p *part[P, K, ID]) readList(ctx context.Context, keys []K) error {
	fetch := func(ctx context.Context, offset, limit int) (P, error) {
		if err := p.slots.acquire(ctx, p.slot); err != nil {
			return *new(P), err
		}
		defer p.slots.land(p.slot)
		return p.Fetch(ctx, keys, offset, limit)
	}
	// A list with records at the highest offset is too long, or nearly so. To ask is cheaper than
	// to read it.
	checkLength := func() error {
		page, err := fetch(ctx, p.MaxOffset, 1)
		if err != nil {
			return err
		}
		if ids, _ := p.Look(page); len(ids) > 0 {
			return ErrOffsetLimit
		}
		return nil
	}
	isPart := len(keys) > 1
	if isPart && p.tooLong {
		if err := checkLength(); err != nil {
			return err
		}
	}
	pages := 0
	for page, err := range Walk(ctx, Config[P, ID]{
		Fetch: fetch, Pages: p.Pages, Limit: p.Limit, MaxOffset: p.MaxOffset, MaxLimit: p.MaxLimit,
		Unproven: &p.unproven,
	}) {
		if stop, ok := errors.AsType[*Error](err); ok {
			return stop.Err
		}
		if err := p.add(ctx, page, len(keys)); err != nil {
			return err
		}
		if pages++; pages == p.size.suspicious && isPart && !p.tooLong {
			if err := checkLength(); err != nil {
				return err
			}
		}
	}
	return p.finish(ctx, keys)
}

// accept is called if the store accepted a list of so many keys, and at the end of the part.
func (p *part[P, K, ID]) accept(keys int) {
	p.size.accept(keys)
	if !p.begun {
		p.begun = true
		close(p.accepted)
	}
}

// add passes the new records of a page to the consumer, unless the list, of so many keys, may end
// with them.
func (p *part[P, K, ID]) add(ctx context.Context, page P, keys int) error {
	ids, next := p.Look(page)
	if next != NextNone { // otherwise finish accepts, after it has learned
		p.accept(keys)
	}
	added := slices.DeleteFunc(addNew(p.yielded, ids, 0), func(i int) bool {
		_, isBefore := p.Before[ids[i]]
		return isBefore
	})
	if len(added) == 0 {
		return nil
	}
	p.Keep(page, added, 0)
	if err := p.passHeld(ctx); err != nil {
		return err
	}
	p.held = &partsPage[P]{page, len(added)}
	if next == NextExists && !p.unproven {
		return p.passHeld(ctx)
	}
	return nil
}

// finish is called when all records of a list of keys were added.
func (p *part[P, K, ID]) finish(ctx context.Context, keys []K) error {
	key := keys[len(keys)-1]
	isLast := key == p.keys[len(p.keys)-1]
	if isLast { // before accept and the last page, which let the next part begin
		p.size.learn(len(p.keys), len(p.yielded))
	}
	p.accept(len(keys))
	if p.held != nil && (!p.split || isLast) {
		p.Finish(p.held.page, key)
	}
	err := p.passHeld(ctx)
	if err == nil {
		p.finished = key
	}
	return err
}

// passHeld passes the held page to the consumer, with a slot.
func (p *part[P, K, ID]) passHeld(ctx context.Context) error {
	if p.held == nil {
		return nil
	}
	if err := p.slots.acquirePage(ctx, p.slot); err != nil {
		return err
	}
	p.slots.pass(p.slot)
	p.pages <- *p.held
	p.held = nil
	return nil
}
