package commercetest

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/commerce-go/commerce"
)

// The credentials of a store whose [Config] does not set them.
const (
	DefaultClientID     = "commercetest-id"
	DefaultClientSecret = "commercetest-secret"
	DefaultToken        = "commercetest-token"
)

// Config sets up a [Store]. Zero fields mean the defaults.
type Config struct {
	// ClientID and ClientSecret that the token endpoint accepts. Defaults:
	// DefaultClientID and DefaultClientSecret.
	ClientID, ClientSecret string
	// Token is a bearer token that is accepted besides those issued, and does not
	// expire. Default: DefaultToken.
	Token string
	// PageLength is the number of subscriptions in a page when the request does
	// not say, 1 to 100. Default 25.
	PageLength int
	// CartDiscountLimit is the highest number of discounts on a cart, those on its
	// items not counted. Default 5. Negative: custom discounts are not enabled, and
	// every request for them is refused.
	CartDiscountLimit int
	// ItemDiscountLimit is the highest number of discounts on one item of a cart.
	// Default 5. Negative: no item takes any.
	ItemDiscountLimit int
}

func (c Config) withDefaults() Config {
	for _, text := range []struct {
		field *string
		value string
	}{{&c.ClientID, DefaultClientID}, {&c.ClientSecret, DefaultClientSecret}, {&c.Token, DefaultToken}} {
		if *text.field == "" {
			*text.field = text.value
		}
	}
	for _, number := range []struct {
		field *int
		value int
	}{{&c.PageLength, 25}, {&c.CartDiscountLimit, 5}, {&c.ItemDiscountLimit, 5}} {
		if *number.field == 0 {
			*number.field = number.value
		}
	}
	return c
}

// Store is a fake store; make one with [NewStore]. It is an [http.Handler]. Its
// methods are safe for concurrent use.
type Store struct {
	cfg Config

	mu       sync.Mutex
	requests []Request
	faults   []*script
	tokens   map[string]time.Time // issued, with their expiry
	issued   int
	carts    map[string]*cart
	added    int // discounts, for their ids

	records     []*record // newest first
	subscribers map[uuid.UUID]Subscriber
	plans       []*resource
	products    []*resource

	listening sync.Mutex
	server    *server // nil: not listening
}

// NewStore returns an empty store. It opens nothing, and needs no Close unless
// [Store.URL] is called. It panics if cfg.PageLength is not 0 to 100.
func NewStore(cfg Config) *Store {
	if cfg.PageLength < 0 || cfg.PageLength > maxPageLimit {
		panic(fmt.Sprintf("commercetest: page length %d is not 0 to %d", cfg.PageLength, maxPageLimit))
	}
	return &Store{
		cfg:         cfg.withDefaults(),
		tokens:      map[string]time.Time{},
		carts:       map[string]*cart{},
		subscribers: map[uuid.UUID]Subscriber{},
	}
}

// Config returns the store's configuration, defaults filled in: its credentials
// and limits.
func (s *Store) Config() Config { return s.cfg }

// Client returns a client of the store over [Store.Transport], authorized with
// [Config.Token], so that [Store.Requests] shows no token requests. opts come
// after the store's own and win, e.g. [commerce.WithClientCredentials] with the
// store's id and secret. It panics if opts are not valid.
func (s *Store) Client(opts ...commerce.Option) *commerce.Client {
	own := []commerce.Option{
		commerce.WithHTTPClient(&http.Client{Transport: s.Transport()}),
		commerce.WithToken(s.cfg.Token),
	}
	c, err := commerce.New("https://store.example", append(own, opts...)...)
	if err != nil {
		panic("commercetest: " + err.Error())
	}
	return c
}

// server is the store's listener on the loopback interface.
type server struct {
	http  http.Server
	url   string
	serve sync.WaitGroup // the accept loop
	conns sync.WaitGroup
	stop  context.CancelFunc // ends delays
}

// URL returns the address of the store on the loopback interface, such as
// "http://127.0.0.1:40123". The first call starts the listener, and [Store.Close]
// stops it. It panics if there is no port to be had.
func (s *Store) URL() string {
	s.listening.Lock()
	defer s.listening.Unlock()
	if s.server != nil {
		return s.server.url
	}
	ctx, cancel := context.WithCancel(context.Background())
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		cancel()
		panic("commercetest: " + err.Error())
	}
	srv := &server{url: "http://" + l.Addr().String(), stop: cancel}
	srv.http.Handler = s
	srv.http.ReadHeaderTimeout = time.Minute
	srv.http.BaseContext = func(net.Listener) context.Context { return ctx }
	srv.http.ConnState = func(_ net.Conn, state http.ConnState) {
		if state == http.StateNew { // comes from the accept loop
			srv.conns.Add(1)
		}
		if state == http.StateClosed {
			srv.conns.Done()
		}
	}
	srv.serve.Go(func() { _ = srv.http.Serve(l) })
	s.server = srv
	return srv.url
}

// Close stops the listener, cuts what is under way on it, and waits for it to
// end. Without a listener it does nothing. The store stays usable over
// [Store.Transport], and [Store.URL] would listen again, at another address.
func (s *Store) Close() {
	s.listening.Lock()
	defer s.listening.Unlock()
	if s.server == nil {
		return
	}
	s.server.stop()
	_ = s.server.http.Close()
	s.server.serve.Wait() // no new connections after this
	s.server.conns.Wait()
	s.server = nil
}

// newID returns the id of the n-th thing of a kind: the same in every store.
func newID(kind string, n int) uuid.UUID {
	return uuid.NewSHA1(uuid.NameSpaceURL, fmt.Appendf(nil, "https://store.example/%s/%d", kind, n))
}
