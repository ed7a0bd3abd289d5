package everything_test

import (
	"bufio"
	"encoding/json"
	"io"
	"math/rand/v2"
	"net/http"
	"net/url"
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

// record is a subscription.
type record struct{ ID, Account uuid.UUID }

// storeReport is what the store saw, and what it has.
type storeReport struct {
	Stayed   []record // from the start, in accounts that stayed too
	Changes  int
	Accounts int      // requests for accounts
	Lists    int      // requests for subscriptions
	Parts    int      // different filters of them
	AtLimit  []string // filters of those at the highest offset, except the probes of one record
}

// remoteStore is the store as a test sees it.
type remoteStore struct {
	stdin  io.Writer
	stdout *json.Decoder
	storeStart
}

// storeStart is the first value that a store writes.
type storeStart struct {
	URL                     string
	Accounts, Subscriptions int
	Big                     []uuid.UUID // the accounts of storeConfig.Big
}

func (s *remoteStore) report(t *testing.T) storeReport {
	t.Helper()
	if _, err := s.stdin.Write([]byte("report\n")); err != nil {
		t.Fatal(err)
	}
	return read[storeReport](t, s)
}

// runStore is the process of a store. It writes a report for each line of its input.
func runStore(cfg storeConfig) {
	s := &changingStore{random: rand.New(rand.NewPCG(cfg.Seed, 0))}
	s.Store = commercetest.NewStore(commercetest.Config{AfterRequest: s.remember})
	output := json.NewEncoder(os.Stdout)
	_ = output.Encode(s.fill(cfg))
	if cfg.Changes > 0 {
		go s.changeAll(time.Second / time.Duration(cfg.Changes))
	}
	for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
		_ = output.Encode(s.report())
	}
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
	added    []record
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
		start.Big = append(start.Big, account)
	}
	start.Accounts = len(s.accounts)
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
			ids := uuidPattern.FindAllString(*recent, -1)
			id = uuid.MustParse(ids[s.random.IntN(len(ids))])
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
		s.added = append(s.added, record{ID: s.add(account), Account: account})
	case 2: // a new account
		id := s.newID()
		for range 1 + s.random.IntN(3) {
			s.added = append(s.added, record{ID: s.add(id), Account: id})
		}
	case 3:
		if n := len(s.added); n > 0 {
			s.RemoveSubscription(s.added[s.random.IntN(n)].ID)
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

// report returns what the store saw until now.
func (s *changingStore) report() storeReport {
	s.mu.Lock()
	defer s.mu.Unlock()
	r := storeReport{Changes: s.changes}
	for account, ids := range s.stayed {
		for _, id := range ids {
			r.Stayed = append(r.Stayed, record{ID: id, Account: account})
		}
	}
	filters := map[string]bool{}
	for _, in := range s.Requests() {
		query, _ := url.ParseQuery(in.RawQuery)
		switch {
		case in.Method != http.MethodGet:
		case in.Operation == commercetest.OpAccounts:
			r.Accounts++
		case in.Operation == commercetest.OpList:
			r.Lists++
			filters[query.Get("filter")] = true
			if query.Get("page[offset]") == "10000" && query.Get("page[limit]") != "1" {
				r.AtLimit = append(r.AtLimit, query.Get("filter"))
			}
		}
	}
	r.Parts = len(filters)
	return r
}
