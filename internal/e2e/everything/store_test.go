package everything_test

import (
	"encoding/json"
	"io"
	"maps"
	"math/rand/v2"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/commerce-go/commerce"
	"github.com/commerce-go/commerce/commercetest"
)

// storeConfig describes a store in a process of its own.
type storeConfig struct {
	Subscriptions int   // in accounts of two to four
	Big           []int // the numbers of subscriptions of some more accounts
	Changes       int   // a second
	Seed          uint64
}

// storeReport is what the store has when its input ends.
type storeReport struct {
	Stayed  []uuid.UUID // subscriptions from the start, in accounts that stayed too
	Changes int
}

// remoteStore is the store as a test sees it.
type remoteStore struct {
	stdin  io.Closer
	stdout *json.Decoder
	storeStart
}

// storeStart is the first value that a store writes.
type storeStart struct {
	URL           string
	Subscriptions int
}

func (s *remoteStore) report(t *testing.T) storeReport {
	t.Helper()
	if err := s.stdin.Close(); err != nil {
		t.Fatal(err)
	}
	return read[storeReport](t, s)
}

// runStore is the process of a store. It writes a report when its input ends.
func runStore(cfg storeConfig) {
	s := &changingStore{random: rand.New(rand.NewPCG(cfg.Seed, 0))}
	s.Store = commercetest.NewStore(commercetest.Config{AfterRequest: s.remember})
	output := json.NewEncoder(os.Stdout)
	_ = output.Encode(s.fill(cfg))
	if cfg.Changes > 0 {
		go s.changeAll(time.Second / time.Duration(cfg.Changes))
	}
	_, _ = io.Copy(io.Discard, os.Stdin)
	_ = output.Encode(s.report())
}

// changingStore is a store that changes.
type changingStore struct {
	*commercetest.Store
	recent atomic.Pointer[string] // the query of the last request for subscriptions

	mu       sync.Mutex
	random   *rand.Rand
	template commerce.Subscription
	stayed   map[uuid.UUID][]uuid.UUID // the subscriptions that stayed, by account
	accounts []uuid.UUID               // of the start
	added    []uuid.UUID
	removed  []uuid.UUID // accounts
	changes  int
}

// fill adds the records of the start.
func (s *changingStore) fill(cfg storeConfig) storeStart {
	start := storeStart{URL: s.URL(), Subscriptions: cfg.Subscriptions}
	s.Seed(cfg.Subscriptions)
	s.stayed = map[uuid.UUID][]uuid.UUID{}
	for sub := range s.Subscriptions() {
		s.template = sub
		s.stayed[sub.Attributes.AccountID] = append(s.stayed[sub.Attributes.AccountID], sub.ID)
	}
	for id := range s.stayed {
		s.accounts = append(s.accounts, id)
	}
	slices.SortFunc(s.accounts, func(a, b uuid.UUID) int { return strings.Compare(a.String(), b.String()) })
	for i, n := range cfg.Big {
		account := s.accounts[len(s.accounts)*(i+1)/(len(cfg.Big)+1)]
		for len(s.stayed[account]) < n {
			s.stayed[account] = append(s.stayed[account], s.add(account))
			start.Subscriptions++
		}
	}
	return start
}

// add adds a subscription to an account, and the account too.
func (s *changingStore) add(account uuid.UUID) uuid.UUID {
	sub := s.template
	sub.ID, sub.Attributes.AccountID = s.newID(), account
	s.AddSubscription(sub)
	return sub.ID
}

func (s *changingStore) newID() (id uuid.UUID) {
	for i := range id {
		id[i] = byte(s.random.Uint32())
	}
	return id
}

func (s *changingStore) remember(_ *commercetest.Store, in commercetest.Request) {
	if in.Operation == commercetest.OpList {
		s.recent.Store(&in.RawQuery)
	}
}

// changeAll makes a change after each interval.
func (s *changingStore) changeAll(interval time.Duration) {
	for range time.Tick(interval) {
		s.mu.Lock()
		s.change()
		s.changes++
		s.mu.Unlock()
	}
}

var uuidPattern = regexp.MustCompile(`[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}`)

// account returns one of the accounts that the walk reads just now, or any. Accounts with many
// subscriptions stay as they are.
func (s *changingStore) account() uuid.UUID {
	for {
		id := s.accounts[s.random.IntN(len(s.accounts))]
		if recent := s.recent.Load(); recent != nil && s.random.IntN(2) == 0 {
			if ids := uuidPattern.FindAllString(*recent, -1); len(ids) > 0 { // not of a page by offset
				id = uuid.MustParse(ids[s.random.IntN(len(ids))])
			}
		}
		if len(s.stayed[id]) < 100 {
			return id
		}
	}
}

// change makes a random change.
func (s *changingStore) change() {
	account := s.account()
	switch s.random.IntN(8) {
	case 0, 1:
		s.added = append(s.added, s.add(account))
	case 2: // a new account
		id := s.newID()
		for range 1 + s.random.IntN(3) {
			s.added = append(s.added, s.add(id))
		}
	case 3:
		if n := len(s.added); n > 0 {
			s.RemoveSubscription(s.added[s.random.IntN(n)])
		}
	case 4, 5:
		if ids := s.stayed[account]; len(ids) > 0 {
			i := s.random.IntN(len(ids))
			s.RemoveSubscription(ids[i])
			s.stayed[account] = slices.Delete(ids, i, i+1)
		}
	case 6:
		s.RemoveAccount(account)
		s.removed = append(s.removed, account)
		if s.random.IntN(2) == 0 {
			for _, id := range s.stayed[account] {
				s.RemoveSubscription(id)
			}
		}
		delete(s.stayed, account)
	case 7:
		if n := len(s.removed); n > 0 {
			s.AddAccount(s.removed[s.random.IntN(n)])
		}
	}
}

func (s *changingStore) report() storeReport {
	s.mu.Lock()
	defer s.mu.Unlock()
	return storeReport{Stayed: slices.Concat(slices.Collect(maps.Values(s.stayed))...), Changes: s.changes}
}
