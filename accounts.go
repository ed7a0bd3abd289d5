package commerce

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"iter"
	"math/bits"
	"net/url"
	"strconv"

	"github.com/google/uuid"

	"github.com/commerce-go/commerce/internal/paging"
	"github.com/commerce-go/commerce/internal/wire"
)

// AccountService reads accounts. It is part of a [Client] and safe for concurrent use.
type AccountService struct{ core *core }

// IDs walks the accounts of the store, and yields the id of each whose id is greater than
// after, in increasing order. The zero UUID stands before all ids. It reads by key, not by
// offset, so the number of accounts has no limit:
// https://developer.elasticpath.com/docs/api/accounts/get-accounts
//
// Each account that exists from the start of the walk to its end is yielded exactly once. If
// the ids of a page are not increasing, or not greater than the last one, the walk ends in
// [ErrListDrift]: the store did not sort or did not filter. The token must be from client
// credentials; a shopper's token cannot list accounts.
//
// An error ends the walk and is yielded last. It is a [*PagingError]: walk again after its
// Finished to resume. Nothing is sent before the loop starts, and each loop is a new walk.
func (s *AccountService) IDs(ctx context.Context, after uuid.UUID) iter.Seq2[uuid.UUID, error] {
	return withPagingError(paging.Keys(ctx, s.list(after)))
}

// list describes a walk over the accounts whose ids are greater than after.
func (s *AccountService) list(after uuid.UUID) paging.KeysConfig[uuid.UUID] {
	return paging.KeysConfig[uuid.UUID]{
		Fetch:   s.idsAfter,
		Compare: compareIDs,
		After:   after,
		Limit:   MaxPageSize,
		Predict: predictID,
	}
}

// predictID returns the id that is so many times as far behind last as last is behind first. Its
// version and variant are those of last.
func predictID(first, last uuid.UUID, times int) (id uuid.UUID, ok bool) {
	half := binary.BigEndian.Uint64
	high, low := half(last[:8]), half(last[8:])
	distance, borrow := bits.Sub64(low, half(first[8:]), 0)
	distanceHigh, _ := bits.Sub64(high, half(first[:8]), borrow)
	for range times {
		var carry uint64
		low, carry = bits.Add64(low, distance, 0)
		if high, carry = bits.Add64(high, distanceHigh, carry); carry != 0 {
			return uuid.Nil, false
		}
	}
	binary.BigEndian.PutUint64(id[:8], high)
	binary.BigEndian.PutUint64(id[8:], low)
	id[6], id[8] = id[6]&0x0f|last[6]&0xf0, id[8]&0x3f|last[8]&0xc0
	return id, true
}

func compareIDs(a, b uuid.UUID) int { return bytes.Compare(a[:], b[:]) }

// idsAfter reads a page of ids that are greater than after.
func (s *AccountService) idsAfter(
	ctx context.Context, after uuid.UUID, limit int,
) (paging.KeyPage[uuid.UUID], error) {
	query := url.Values{"page[limit]": {strconv.Itoa(limit)}, "sort": {"id"}}
	if after != uuid.Nil {
		query.Set("filter", "gt(id,"+after.String()+")")
	}
	return s.read(ctx, query)
}

// listed returns those of at most MaxPageSize accounts that the service lists, or some of them.
func (s *AccountService) listed(ctx context.Context, ids []uuid.UUID) ([]uuid.UUID, error) {
	in := wire.Condition{Field: "id"}
	for _, id := range ids {
		in.Values = append(in.Values, id.String())
	}
	query := url.Values{"page[limit]": {strconv.Itoa(MaxPageSize)}, "filter": {wire.Filter([]wire.Condition{in})}}
	page, err := s.read(ctx, query)
	return page.IDs, err
}

const opAccountIDs = "Accounts.IDs"

func (s *AccountService) read(ctx context.Context, query url.Values) (paging.KeyPage[uuid.UUID], error) {
	o := listOperation(opAccountIDs, "/v2/accounts", query, accountIDs)
	page, _, err := o.do(ctx, s.core)
	if err != nil {
		return paging.KeyPage[uuid.UUID]{}, err
	}
	return paging.KeyPage[uuid.UUID]{IDs: page.items, Next: page.next}, nil
}

func accountIDs(accounts []account) (ids []uuid.UUID, err error) {
	for _, a := range accounts {
		if a.ID == uuid.Nil {
			return nil, errors.New("an account has no id that is a UUID")
		}
		ids = append(ids, a.ID)
	}
	return ids, nil
}

// account is what a list of accounts is read for.
type account struct {
	ID uuid.UUID `json:"id"`
}
