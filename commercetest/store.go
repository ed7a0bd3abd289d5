package commercetest

import (
	"context"
	"crypto/sha256"
	"fmt"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/google/uuid"

	"github.com/commerce-go/commerce"
)

// Store is a fake store; create one with [New]. It is an [http.Handler]. Its
// methods are safe for concurrent use.
type Store struct {
	cfg Config

	// arrivalMu is held while a request is recorded and its fault is chosen, so that
	// faults count requests in the order of Requests. It is locked before mu.
	arrivalMu sync.Mutex

	mu       sync.Mutex
	requests []*journalEntry
	// The number of requests that arrived, and of those that were dropped from the list; what the
	// list takes in bytes; the number of faults that were injected.
	received, droppedRequests, journalSize, faultCount int
	pending                                            int // requests in progress
	limiter                                            tokenBucket
	faults                                             []*activeFault
	// lateWrites holds a function to cancel each late write, by a channel that is
	// closed when its goroutine ends.
	lateWrites map[chan struct{}]context.CancelFunc
	handlers   atomic.Pointer[http.ServeMux] // of Handle

	tokens     map[string]issuedToken // by token
	tokenCount int

	carts          map[string]*cart // by id
	newCarts       cartSettings
	emptyCartCount int // calls of emptyCart
	// The numbers of carts, items and discounts that got an id.
	cartCount, itemCount, discountCount int

	orders []*order // oldest first

	accounts      accountSet
	subscriptions subscriptionSet
	lastNumber    int // of the subscriptions
	subscribers   map[uuid.UUID][]Subscriber
	includable    []*resource // by their include and their offering; replaced, never changed
	stateCount    int         // of states that got an id

	serverMu sync.Mutex
	server   *server // nil: not listening
}

// New returns an empty store and closes it when the test ends. It panics if a field
// of cfg is out of its range.
func New(t testing.TB, cfg Config) *Store {
	t.Helper()
	s := NewStore(cfg)
	t.Cleanup(s.Close)
	return s
}

// EachGeneration runs test for each generation of the payload and each form of [EmptyLists], with
// and without [Config.ErrorsBesideCarts], in subtests with a new store.
func EachGeneration(t *testing.T, cfg Config, test func(t *testing.T, s *Store)) {
	t.Helper()
	for _, cfg.Generation = range []Generation{FirstGeneration, SecondGeneration} {
		for lists, name := range []string{"as printed", "left out", "null", "as arrays"} {
			cfg.EmptyLists = EmptyLists(lists)
			cfg.ErrorsBesideCarts = lists%2 == 1
			t.Run(fmt.Sprintf("%v generation, empty lists %s", cfg.Generation, name), func(t *testing.T) {
				t.Helper()
				test(t, New(t, cfg))
			})
		}
	}
}

// NewStore returns an empty store. Only a store whose [Store.URL] was called, or that
// meets a [Fault] with Late, needs [Store.Close]. NewStore panics if a field of cfg
// is out of its range. Tests should use [New].
func NewStore(cfg Config) *Store {
	if err := cfg.Validate(); err != nil {
		panic(err.Error())
	}
	cfg = cfg.withDefaults()
	s := &Store{
		cfg:           cfg,
		limiter:       tokenBucket{rate: int64(cfg.RateLimit), burst: int64(cfg.RateBurst)},
		lateWrites:    map[chan struct{}]context.CancelFunc{},
		tokens:        map[string]issuedToken{},
		carts:         map[string]*cart{},
		subscriptions: newSubscriptionSet(0),
		subscribers:   map[uuid.UUID][]Subscriber{},
		newCarts:      newCartSettings(&cfg),
	}
	s.ClearHandlers()
	return s
}

// Config returns the configuration of the store with the defaults filled in.
func (s *Store) Config() Config { return s.cfg }

// Client returns a client that sends its requests over [Store.Transport]. It uses
// [Config.Token], so that [Store.Requests] shows no token requests. Its writes take no
// turns with those of other clients, as if each client were a process of its own.
//
// opts are applied after the options of the store and override them. To test
// token requests, pass [commerce.WithClientCredentials] with the ClientID and
// ClientSecret of [Store.Config]. If opts have an HTTP client of their own, set
// its transport to [Store.Transport], or its requests go to the network. Client
// panics if opts are not valid.
func (s *Store) Client(opts ...commerce.Option) *commerce.Client {
	defaults := []commerce.Option{
		commerce.WithHTTPClient(&http.Client{Transport: s.Transport()}),
		commerce.WithToken(s.cfg.Token),
	}
	c, err := commerce.New("https://store.example", append(defaults, opts...)...)
	if err != nil {
		panic("commercetest: " + err.Error())
	}
	return c
}

// newID returns the n-th id of a kind. It is the same in every store.
func newID(kind string, n int) uuid.UUID {
	return hashID(uuid.NameSpaceURL, fmt.Appendf(nil, "https://store.example/%s/%d", kind, n))
}

// hashID returns an id made from data. FIPS 140 allows its hash, but not that of uuid.NewSHA1.
func hashID(space uuid.UUID, data []byte) uuid.UUID {
	return uuid.NewHash(sha256.New(), space, data, 8)
}
