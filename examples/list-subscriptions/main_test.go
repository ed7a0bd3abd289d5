package main

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"
	"go.uber.org/goleak"

	"github.com/commerce-go/commerce"
	"github.com/commerce-go/commerce/commercetest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var all = commerce.SubscriptionInclude{All: true}

// The program needs no flag for the generation of the payload.
func TestList(t *testing.T) {
	t.Parallel()
	const head = "ID                                    STATUS    PLAN                  " +
		"BILLED    PRICE      NEXT INVOICE\n"
	rows := map[commercetest.Generation]string{
		commercetest.FirstGeneration: "" +
			"27af62e6-cb8f-8017-b4b9-4dcb0fc148be  active    Yearly                1 year    $67.50     2024-02-02\n" +
			"5a969bed-a0ce-8c35-90fb-c5e61bc3d2c0  active    Weekly                1 week    $2.25      2024-02-02\n" +
			"0a78ef43-f062-848a-8e85-62b822a8da86  active    Monthly               1 month   $14.00     2024-02-02\n",
		commercetest.SecondGeneration: "" +
			"27af62e6-cb8f-8017-b4b9-4dcb0fc148be  active    Razor Handle          1 month   $6.75      2024-02-02\n" +
			"5a969bed-a0ce-8c35-90fb-c5e61bc3d2c0  active    Digest Subscription   1 week    $2.25      2024-02-02\n" +
			"0a78ef43-f062-848a-8e85-62b822a8da86  active    Green Tea Box         1 month   $14.00     2024-02-02\n",
	}
	commercetest.EachGeneration(t, commercetest.Config{}, func(t *testing.T, s *commercetest.Store) {
		s.Seed(3)
		want := head + rows[s.Config().Generation] + "\n3 subscriptions\n"
		for _, size := range []int{0, 2} {
			got := &strings.Builder{}
			opts := &commerce.SubscriptionListOptions{Include: all, PageSize: size}
			if err := list(t.Context(), s.Client(), opts, got); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, got.String()); diff != "" {
				t.Errorf("pages of %d (-want +got):\n%s", size, diff)
			}
		}
	})
}

// Members may be missing, and texts may hold control characters.
func TestList_oddRecord(t *testing.T) {
	t.Parallel()
	s := commercetest.New(t, commercetest.Config{})
	odd := commerce.Subscription{ID: uuid.Max}
	odd.Meta.Status = "\x1b[31m\tred\n"
	s.AddSubscription(odd)
	got := &strings.Builder{}
	if err := list(t.Context(), s.Client(), &commerce.SubscriptionListOptions{Include: all}, got); err != nil {
		t.Fatal(err)
	}
	want := uuid.Max.String() + "   [31m red   -                     -         -          -"
	if diff := cmp.Diff(want, strings.Split(got.String(), "\n")[1]); diff != "" {
		t.Errorf("row (-want +got):\n%s", diff)
	}
}

// What was read before an error is printed, and no number of subscriptions.
func TestList_failure(t *testing.T) {
	t.Parallel()
	s := commercetest.New(t, commercetest.Config{})
	s.Seed(20)
	s.Inject(commercetest.Fault{Operation: commercetest.OpList, After: 1, Status: 403})
	got := &strings.Builder{}
	err := list(t.Context(), s.Client(), &commerce.SubscriptionListOptions{PageSize: 7}, got)
	if !errors.Is(err, commerce.ErrForbidden) || !strings.HasPrefix(err.Error(), "after 7 subscriptions: ") {
		t.Errorf("list() = %v, want ErrForbidden after 7 subscriptions", err)
	}
	if n := strings.Count(got.String(), "\n"); n != 1+7 || strings.Contains(got.String(), "subscriptions") {
		t.Errorf("printed %d lines, want 8 without a number of subscriptions:\n%s", n, got)
	}
	err = list(t.Context(), s.Client(), nil, full{})
	if !errors.Is(err, errFull) {
		t.Errorf("full disk: list() = %v, want %v", err, errFull)
	}
}

var errFull = errors.New("no space left")

// full is a disk without space.
type full struct{}

func (full) Write([]byte) (int, error) { return 0, errFull }
