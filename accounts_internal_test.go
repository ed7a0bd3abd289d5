package commerce

import (
	"testing"

	"github.com/google/uuid"
)

func TestPredictID(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ name, first, last, want string }{
		{
			name: "random", first: "10000000-0000-4000-8000-000000000000", last: "12000000-0000-4000-a000-000000000000",
			want: "18000000-0000-4001-8000-000000000000",
		},
		{
			name: "by time", first: "01900000-0000-7fff-8000-000000000000", last: "01900000-0100-7000-bfff-ffffffffffff",
			want: "01900000-0400-7004-bfff-fffffffffffc", // it has the version of last
		},
		{
			name: "one prefix", first: "12345678-9abc-4000-8000-000000000001", last: "12345678-9abc-4000-8000-000000000100",
			want: "12345678-9abc-4000-8000-0000000003fd",
		},
		{
			name: "one id", first: "10000000-0000-4000-8000-000000000000", last: "10000000-0000-4000-8000-000000000000",
			want: "10000000-0000-4000-8000-000000000000",
		},
		{name: "too far", first: "10000000-0000-4000-8000-000000000000", last: "50000000-0000-4000-8000-000000000000"},
	} {
		got, ok := predictID(uuid.MustParse(tt.first), uuid.MustParse(tt.last), 3)
		if ok != (tt.want != "") || ok && got.String() != tt.want {
			t.Errorf("%s: got %v, %v, want %q", tt.name, got, ok, tt.want)
		}
	}
}

// Only an error of the list of accounts that does not pass shows that the service does not list
// them.
func TestCannotList(t *testing.T) {
	t.Parallel()
	for status, want := range map[int]bool{
		400: true, 403: true, 404: true, 422: true, 401: false, 408: false, 425: false, 429: false, 500: false, 0: false,
	} {
		if got := cannotList(&Error{Op: opAccountIDs, StatusCode: status}); got != want {
			t.Errorf("status %d: got %t, want %t", status, got, want)
		}
	}
}

// A subscription without a readable account may belong to an account that is not listed.
func TestSubscriptionWalk_isOfHidden(t *testing.T) {
	t.Parallel()
	w := &subscriptionWalk{accounts: map[uuid.UUID]accountState{{1}: accountHidden, {2}: accountLate}}
	for account, want := range map[uuid.UUID]bool{{1}: true, {2}: false, uuid.Nil: true} {
		if got := w.isOfHidden(Subscription{Attributes: SubscriptionAttributes{AccountID: account}}); got != want {
			t.Errorf("account %v: got %t, want %t", account, got, want)
		}
	}
}
