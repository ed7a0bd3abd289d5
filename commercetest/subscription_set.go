package commercetest

import (
	"cmp"
	"slices"

	"github.com/google/uuid"
)

// subscriptionSet holds subscriptions by their age, their id and their account. All lists
// are oldest first, so that a new subscription is appended.
type subscriptionSet struct {
	all             []*storedSubscription
	byID, byAccount map[uuid.UUID][]*storedSubscription // without empty lists
}

// newSubscriptionSet returns an empty set. It has capacity for n subscriptions.
func newSubscriptionSet(n int) subscriptionSet {
	return subscriptionSet{
		all:       make([]*storedSubscription, 0, n),
		byID:      make(map[uuid.UUID][]*storedSubscription, n),
		byAccount: map[uuid.UUID][]*storedSubscription{},
	}
}

// search returns the index of sub in a list that has it, or the index to insert it at.
func search(list []*storedSubscription, sub *storedSubscription) int {
	i, _ := slices.BinarySearchFunc(list, sub, compareAge)
	return i
}

func compareAge(a, b *storedSubscription) int { return cmp.Compare(a.number, b.number) }

func (set *subscriptionSet) add(sub *storedSubscription) {
	set.all = slices.Insert(set.all, search(set.all, sub), sub)
	list := set.byID[sub.id]
	set.byID[sub.id] = slices.Insert(list, search(list, sub), sub)
	list = set.byAccount[sub.accountID]
	set.byAccount[sub.accountID] = slices.Insert(list, search(list, sub), sub)
}

func (set *subscriptionSet) remove(sub *storedSubscription) {
	i := search(set.all, sub)
	set.all = slices.Delete(set.all, i, i+1)
	removeFrom(set.byID, sub.id, sub)
	removeFrom(set.byAccount, sub.accountID, sub)
}

// removeFrom removes sub from one of the lists of a set.
func removeFrom(lists map[uuid.UUID][]*storedSubscription, key uuid.UUID, sub *storedSubscription) {
	list := lists[key]
	if len(list) == 1 {
		delete(lists, key)
		return
	}
	i := search(list, sub)
	lists[key] = slices.Delete(list, i, i+1)
}

// newest returns the newest subscription with this id, or nil.
func (set *subscriptionSet) newest(id uuid.UUID) *storedSubscription {
	list := set.byID[id]
	if len(list) == 0 {
		return nil
	}
	return list[len(list)-1]
}

// ofAccounts returns the subscriptions of these accounts, oldest first. No account may occur
// twice.
func (set *subscriptionSet) ofAccounts(accounts []uuid.UUID) (list []*storedSubscription) {
	for _, id := range accounts {
		list = append(list, set.byAccount[id]...)
	}
	slices.SortFunc(list, compareAge)
	return list
}
