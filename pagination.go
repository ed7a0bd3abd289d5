package commerce

import (
	"fmt"
	"iter"
)

// The limits of a list and of a walk. A walk reads a list from an offset to its end.
const (
	// MaxOffset is the highest offset of a page, in records. With the last page of
	// [MaxPageSize] records, a walk reads at most 10,100 records.
	MaxOffset = 10_000
	// MaxPageSize is the maximum number of records in a page.
	MaxPageSize = 100
	// MaxConcurrency is the maximum number of page requests in flight in a walk.
	MaxConcurrency = 16
)

// Collect reads seq to its end, or to its first error. If there is an error, it also returns
// what it read before.
func Collect[T any](seq iter.Seq2[T, error]) ([]T, error) {
	var list []T
	for v, err := range seq {
		if err != nil {
			return list, err
		}
		list = append(list, v)
	}
	return list, nil
}

// PagingError is the error of a walk whose options were valid. It unwraps to its cause: an
// [*Error], the error of the context, [ErrOffsetLimit], [ErrListDrift] or [ErrNoProgress].
type PagingError struct {
	// Offset is the position right after the last record that the walk yielded, at the time
	// when its page was read. If the walk yielded none, it is the offset where it began. A
	// walk with this offset in its options resumes here.
	//
	// The resumed walk cannot know what changed in between: if a record before Offset was
	// removed, it misses a record; if one was added, it yields a record again. If that
	// matters, resume some records earlier and drop those that were yielded before. If the
	// first record is not one of those, start again from the beginning. If Offset is beyond
	// MaxOffset, resume at MaxOffset in the same way. After ErrOffsetLimit there is nothing
	// to resume.
	Offset int
	// Seen is the number of records that the walk yielded.
	Seen int
	// Err is the cause.
	Err error
}

// Error says where the walk stopped, and why.
func (e *PagingError) Error() string {
	if e == nil {
		return "<nil>"
	}
	return fmt.Sprintf("commerce: walk stopped at offset %d after %d records: %v", e.Offset, e.Seen, e.Err)
}

// Unwrap returns the cause.
func (e *PagingError) Unwrap() error {
	if e == nil {
		return nil
	}
	return e.Err
}
