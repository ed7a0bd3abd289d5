package paging

import (
	"context"
	"iter"
)

// KeysConfig describes a walk by key.
type KeysConfig[ID any] struct {
	// Fetch returns the smallest ids that are greater than after, at most limit.
	Fetch   func(ctx context.Context, after ID, limit int) ([]ID, Next, error)
	Compare func(a, b ID) int
	After   ID // the walk begins with the first id that is greater
	Limit   int
}

// Keys yields the ids of a list in increasing order. It uses no offset, so the list may have any
// length, and an id that is added or removed meanwhile moves no other.
//
// The walk ends in [ErrListDrift] if the ids of a page do not increase strictly, or are not greater
// than the last id of the page before: the store did not sort, or did not filter. The list ends at
// an empty page, and at a page that is not full and states that there is no next page. If there
// is an error, it is an [*Error] and the last value.
func Keys[ID any](ctx context.Context, cfg KeysConfig[ID]) iter.Seq2[ID, error] {
	return func(yield func(ID, error) bool) {
		var none ID
		for after, seen := cfg.After, 0; ; {
			ids, next, err := cfg.Fetch(ctx, after, cfg.Limit)
			if err == nil {
				err = cfg.check(ids, next, after)
			}
			for i := 0; err == nil && i < len(ids); i++ {
				if err = ctx.Err(); err != nil {
					break
				}
				after = ids[i]
				seen++
				if !yield(after, nil) {
					return
				}
			}
			if err != nil {
				yield(none, &Error{Seen: seen, Finished: after, Err: err})
				return
			}
			if len(ids) == 0 || len(ids) < cfg.Limit && next == NextNone {
				return
			}
		}
	}
}

// check returns an error if a page is not a sorted part of the list that begins after that id.
func (cfg *KeysConfig[ID]) check(ids []ID, next Next, after ID) error {
	for _, id := range ids {
		if cfg.Compare(id, after) <= 0 {
			return ErrListDrift
		}
		after = id
	}
	if len(ids) == 0 && next == NextExists {
		return ErrNoProgress
	}
	return nil
}
