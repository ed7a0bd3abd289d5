package commerce

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"maps"
	"net/http"
	"net/url"
	"strconv"

	"github.com/google/uuid"

	"github.com/commerce-go/commerce/internal/paging"
	"github.com/commerce-go/commerce/internal/wire"
)

// The limits of a list and of a walk. A walk reads a list from an offset to its end.
const (
	// MaxOffset is the highest offset of a page, in records. With the last page of
	// [MaxPageSize] records, a walk by offset reads at most 10,100 records.
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

// OffsetList describes a list for [Walk].
type OffsetList[T any] struct {
	// Path has the elements of the path after the base address, as in [Client.Do], e.g. "v2",
	// "subscriptions", "invoices".
	Path []string
	// Query of all requests, e.g. a filter. It must not have page[offset] or page[limit].
	Query url.Values
	// ID returns the id of a record. It must be different for each record of the list, and not
	// empty. The requests call it, so it must be safe for concurrent use.
	ID func(*T) string
	// Offset is the number of records to skip.
	Offset int
	// MaxOffset is the highest offset that the service allows for this list. 0 means the
	// constant MaxOffset.
	MaxOffset int
	// PageSize and Concurrency mean the same as in [SubscriptionListOptions].
	PageSize, Concurrency int
}

// Walk walks any list that has the parameters page[offset] and page[limit], and an array data in
// its responses, e.g. invoices or subscribers. null is an empty array. If the responses have links,
// a link next shows whether there is another page. The rules for order, errors and concurrency are
// the same as for [SubscriptionService.All].
//
// The list must be sorted by a value that does not change, such as the id or the time of
// creation. If the list has a sort parameter, set it. Do not walk carts: the service sorts them
// by their last change and has no sort parameter. A cart that changes during a walk moves to
// the part that was read already, and is missed without an error.
//
// Each element of data is decoded by [encoding/json]. If it does not fit T, or its ID is empty,
// the walk ends in [ErrBadResponse]. A page with more than 1,000 elements or 100,000
// JSON values ends it too; a smaller PageSize helps.
func Walk[T any](ctx context.Context, c *Client, list OffsetList[T]) iter.Seq2[*T, error] {
	path, err := list.check()
	if err != nil {
		return func(yield func(*T, error) bool) { yield(nil, err) }
	}
	common, _ := url.ParseQuery(list.Query.Encode()) // a copy; no error: it was encoded
	fetch := func(ctx context.Context, offset, limit int) (*listPage[T], error) {
		query := url.Values{"page[offset]": {strconv.Itoa(offset)}, "page[limit]": {strconv.Itoa(limit)}}
		maps.Copy(query, common)
		o := listOperation("Walk", path, query, list.decode)
		page, _, err := o.do(ctx, c.core)
		return page, err
	}
	pages := paging.Walk(ctx, paging.Config[*listPage[T], string]{
		Fetch: fetch,
		Pages: paging.Pages[*listPage[T], string]{
			Look:    func(p *listPage[T]) ([]string, paging.Next) { return idsOf(p.items, list.ID), p.next },
			Keep:    (*listPage[T]).keep,
			Repeats: fmt.Errorf("%w; OffsetList.ID must be different for each record", errRepeats),
		},
		Offset: list.Offset, Limit: list.PageSize, MaxOffset: list.MaxOffset, MaxLimit: MaxPageSize,
		Concurrency: list.Concurrency,
	})
	return records(ctx, withPagingError(pages), func(p *listPage[T]) []T { return p.items },
		func(stop *PagingError, p *listPage[T], n int) { stop.Offset = p.offset + n })
}

var errRepeats = fmt.Errorf("%w: a page has an id twice", ErrBadResponse)

// listPage is a page of a list.
type listPage[T any] struct {
	items  []T
	offset int // of the first item
	next   paging.Next
}

func (p *listPage[T]) keep(indexes []int, offset int) {
	p.items, p.offset = paging.Kept(p.items, indexes), offset
}

// idsOf returns the ids of records.
func idsOf[T, ID any](records []T, id func(*T) ID) []ID {
	ids := make([]ID, len(records))
	for i := range records {
		ids[i] = id(&records[i])
	}
	return ids
}

// records yields the records of each page, which items returns, until ctx ends. reached writes into
// the error where the walk then is: after n records of the page.
func records[P, T any](
	ctx context.Context, pages iter.Seq2[P, error], items func(P) []T, reached func(stop *PagingError, page P, n int),
) iter.Seq2[*T, error] {
	return func(yield func(*T, error) bool) {
		stop := PagingError{}
		for page, err := range pages {
			if err != nil {
				yield(nil, err)
				return
			}
			list := items(page)
			for i := range list {
				if stop.Err = ctx.Err(); stop.Err != nil {
					reached(&stop, page, i)
					yield(nil, &stop)
					return
				}
				stop.Seen++
				if !yield(&list[i], nil) {
					return
				}
			}
			reached(&stop, page, len(list))
		}
	}
}

// check returns the escaped path of the list, and sets its defaults.
func (l *OffsetList[T]) check() (path string, err error) {
	problems := &ValidationError{}
	path, err = wire.Path(l.Path...)
	if err != nil {
		problems.add("path", err.Error())
	}
	if l.Query.Has("page[offset]") || l.Query.Has("page[limit]") {
		problems.add("query", "must not have page[offset] or page[limit]: set Offset and PageSize")
	}
	if l.ID == nil {
		problems.add("id", "must be a function that returns the id of a record")
	}
	if l.MaxOffset < 0 {
		problems.add("maximum offset", "must not be negative; 0 means "+strconv.Itoa(MaxOffset))
	}
	if l.MaxOffset = cmp.Or(l.MaxOffset, MaxOffset); l.Offset < 0 || l.Offset > max(0, l.MaxOffset) {
		problems.add("offset", "must be 0 to "+strconv.Itoa(max(0, l.MaxOffset)))
	}
	checkPaging(problems, l.PageSize, l.Concurrency)
	l.PageSize, l.Concurrency = cmp.Or(l.PageSize, MaxPageSize), max(1, l.Concurrency)
	return path, problems.err()
}

// checkPaging checks what all lists have in common.
func checkPaging(problems *ValidationError, pageSize, concurrency int) {
	if pageSize < 0 || pageSize > MaxPageSize {
		problems.add("page size", "must be 1 to "+strconv.Itoa(MaxPageSize)+", or 0 for the default")
	}
	if concurrency < 0 || concurrency > MaxConcurrency {
		problems.add("concurrency", "must be 1 to "+strconv.Itoa(MaxConcurrency)+", or 0 for the default")
	}
}

// decode decodes the elements of data.
func (l *OffsetList[T]) decode(data []json.RawMessage) ([]T, error) {
	records := make([]T, len(data))
	for i, raw := range data {
		if json.Unmarshal(raw, &records[i]) != nil || l.ID(&records[i]) == "" {
			return nil, errors.New("an element of data does not fit the record to decode into, or has no id")
		}
	}
	return records, nil
}

// listOperation reads a page of a list with elements of type E. convert turns them into records.
func listOperation[E, T any](
	op, path string, query url.Values, convert func([]E) ([]T, error),
) operation[*listPage[T]] {
	return operation[*listPage[T]]{
		op: op, method: http.MethodGet, path: path, query: wire.Query(query),
		accept: func(b []byte) (*listPage[T], error) {
			var body struct {
				Data  []E   `json:"data"`
				Links Links `json:"links"`
				Extra Extra `json:",embed"`
			}
			if err := payloads.Unmarshal(b, &body); err != nil {
				return nil, err
			}
			if len(body.Data) > maxRecords {
				return nil, errExcessive
			}
			items, err := convert(body.Data)
			page := &listPage[T]{items: items, next: body.Links.next()}
			return page, cmp.Or(err, checkList(b, len(body.Data), body.Extra), checkErrors(body.Extra))
		},
		count: func(page *listPage[T]) int { return len(page.items) },
	}
}

// checkList returns an error if data, in a response with n records, is not a list. extra holds what
// does not fit.
func checkList(b []byte, n int, extra Extra) error {
	var body struct {
		Data json.RawMessage `json:"data"`
	}
	if n == 0 && (payloads.Unmarshal(b, &body) != nil || !isList(body.Data) || extra["data"] != nil) {
		return errors.New("data is missing, or not an array of records")
	}
	return nil
}

// next returns what the links of a page say about the next page.
func (l Links) next() paging.Next {
	link, ok := l.Get("next")
	switch {
	case ok && link.isNull():
		return paging.NextNone
	case link.Href != "":
		return paging.NextExists
	}
	return paging.NextUnknown
}

// PagingError is the error of a walk whose options were valid. It unwraps to its cause: an
// [*Error], the error of the context, [ErrOffsetLimit], [ErrListDrift], [ErrNoProgress], or
// [ErrBadResponse] if a page has a record twice. [PagingError.Resume] returns the options of a walk
// of All or Pages that goes on.
type PagingError struct {
	// Offset is the position right after the last record that a walk by offset yielded, at the time
	// when its page was read. If it yielded none, it is the offset where the walk began.
	//
	// It is 0 in a walk by account, also after All and Pages passed the offset limit. It is also 0
	// if the records do not prove the order of the list: what changed meanwhile may be at its
	// start.
	//
	// A walk with this Offset resumes here. It ends in [ErrOffsetLimit] if the list has more than
	// 10,100 records; then begin again at 0. It cannot know what changed in between: if a record
	// before Offset was removed, it misses a record; if one was added, it yields a record again. If
	// that matters, resume some records earlier and drop those that were yielded before. If the
	// first record of the resumed walk was not yielded before, begin again at 0.
	Offset int
	// Seen is the number of records that the walk yielded.
	Seen int
	// Finished is the last account that is complete: up to it, a walk by account yielded every
	// record of the listed accounts, and [AccountService.IDs] every id. It is the zero UUID if
	// there is none. It is also set if All and Pages went on by account. A walk that goes on after
	// it reads again the accounts that are not listed.
	Finished uuid.UUID
	// Account is the account whose subscriptions could not be read, if the error concerns a
	// single one. Unless Err is ErrOffsetLimit it may pass: try again before you leave out the
	// account, by ByAccount and Skip in [SubscriptionListOptions].
	Account uuid.UUID
	// Err is the cause.
	Err error
}

// withPagingError converts the error of a walk to a [PagingError].
func withPagingError[T any](walk iter.Seq2[T, error]) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		for item, err := range walk {
			if err != nil {
				err = newPagingError(err)
			}
			if !yield(item, err) {
				return
			}
		}
	}
}

// newPagingError returns the error of a walk that ended in err, a [*paging.Error]. It names an
// account only if the error concerns its subscriptions, not if any other request would have
// failed too.
func newPagingError(err error) *PagingError {
	stop, _ := errors.AsType[*paging.Error](err)
	e := &PagingError{Offset: stop.Offset, Seen: stop.Seen, Err: stop.Err}
	e.Finished, _ = stop.Finished.(uuid.UUID)
	if isOfOneAccount(stop.Err) || errors.Is(stop.Err, ErrOffsetLimit) {
		e.Account, _ = stop.Key.(uuid.UUID)
	}
	return e
}

// Error describes where the walk stopped, and why.
func (e *PagingError) Error() string {
	at := ""
	if e.Offset > 0 {
		at = fmt.Sprintf(" at offset %d", e.Offset)
	}
	return fmt.Sprintf("commerce: walk stopped%s after %d records: %v", at, e.Seen, e.Err)
}

// Unwrap returns the cause.
func (e *PagingError) Unwrap() error {
	if e == nil {
		return nil
	}
	return e.Err
}

// isOfOneAccount reports whether an error may be caused by a record of a single account.
func isOfOneAccount(err error) bool {
	isBad := errors.Is(err, ErrBadResponse) && !errors.Is(err, errFilterIgnored)
	return isBad || errors.Is(err, ErrListDrift) || errors.Is(err, ErrNoProgress)
}
