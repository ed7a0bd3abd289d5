package commerce

import (
	"fmt"
	"iter"
)

// The limits of a list (specification, section 8), and of a walk.
const (
	// MaxOffset is the highest offset of a page, in records. With [MaxPageSize] it
	// puts 10,100 records within reach.
	MaxOffset = 10_000
	// MaxPageSize is the largest number of records in a page.
	MaxPageSize = 100
	// MaxConcurrency is the largest number of page requests in flight in a walk.
	MaxConcurrency = 16
)

// Collect reads seq to its end. It returns what was read, and the error that
// ended it, if one did: the records before an error are not lost.
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

// PagingError is every error of a walk but a [*ValidationError]. It unwraps to its
// cause: an [*Error], the error of the context, [ErrOffsetLimit], [ErrListDrift]
// or [ErrNoProgress].
type PagingError struct {
	// Offset of the first record not yet yielded, counted in the list as it was
	// when last read. A walk with that offset in its options resumes here.
	//
	// The promise of a walk does not reach across the gap: a record removed before
	// the offset meanwhile hides another one, and one added repeats one. Where that
	// matters, resume some records earlier and drop what was yielded before; if the
	// first record is not one of those, start over. If Offset is beyond MaxOffset,
	// resume at MaxOffset likewise. After ErrOffsetLimit there is nothing to resume.
	Offset int
	// Seen is the number of records yielded.
	Seen int
	// Err is the cause.
	Err error
}

// Error tells how far the walk came.
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
