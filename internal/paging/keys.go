package paging

import (
	"cmp"
	"context"
	"iter"
)

// KeysConfig describes a walk by key.
type KeysConfig[ID any] struct {
	// Fetch reads the ids that are greater than after, at most limit. It may run in any goroutine;
	// calls overlap if Segments is more than 1. It must return when ctx ends.
	Fetch   func(ctx context.Context, after ID, limit int) (KeyPage[ID], error)
	Compare func(a, b ID) int
	After   ID // the walk begins with the first id that is greater
	Limit   int

	// Segments is the maximum number of segments that are read at a time. If it is more than 1,
	// pages are fetched ahead.
	Segments int
	// Predict returns the id that is so many times as far behind last as last is behind first. It
	// need not exist. ok is false if no id is so far behind. It is not used if Segments is 1.
	Predict func(first, last ID, times int) (id ID, ok bool)
}

// KeyPage is a page of ids.
type KeyPage[ID any] struct {
	IDs  []ID
	Next Next
}

// Keys yields the ids of a list in increasing order. It uses no offset, so the list may have any
// length, and an id that is added or removed meanwhile moves no other.
//
// The walk ends in [ErrListDrift] if the ids of a page do not increase strictly, or are not greater
// than the last id of the page before: the store did not sort, or did not filter. The list ends at
// an empty page, and at a page that is not full and states that there is no next page. If there
// is an error, it is an [*Error] and the last value. When the range ends, no fetch is running.
func Keys[ID any](ctx context.Context, cfg KeysConfig[ID]) iter.Seq2[ID, error] {
	return func(yield func(ID, error) bool) {
		ctx, cancel := context.WithCancel(ctx)
		w := &keysWalk[ID]{
			KeysConfig: cfg, segments: []*segment[ID]{{after: cfg.After}}, landed: make(chan *segment[ID]),
		}
		stop := func() {
			cancel()
			w.wait()
		}
		defer stop()
		end := Error{Finished: cfg.After}
		for ids := w.next(ctx); len(ids) > 0; ids = w.next(ctx) {
			for i := 0; i < len(ids) && ctx.Err() == nil; i++ {
				end.Seen, end.Finished = end.Seen+1, ids[i]
				if !yield(ids[i], nil) {
					return
				}
			}
		}
		if end.Err = cmp.Or(ctx.Err(), w.segments[0].err); end.Err != nil {
			stop()
			yield(*new(ID), &end)
		}
	}
}

// check returns an error if a page is not a sorted part of the list that begins after that id.
func (cfg *KeysConfig[ID]) check(page KeyPage[ID], after ID) error {
	for _, id := range page.IDs {
		if cfg.Compare(id, after) <= 0 {
			return ErrListDrift
		}
		after = id
	}
	if len(page.IDs) == 0 && page.Next == NextExists {
		return ErrNoProgress
	}
	return nil
}
