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

// Store is a fake store; make one with [NewStore]. It is an [http.Handler]. Its
// methods are safe for concurrent use.
type Store struct {
	cfg Config

	mu       sync.Mutex
	requests []Request
	limit    bucket
	faults   []*script
	tokens   map[string]time.Time // issued, with their expiry
	issued   int
	carts    map[string]*cart
	added    int // discounts, for their ids

	records     []*record // newest first
	subscribers map[uuid.UUID]Subscriber
	catalog     map[string][]*resource // by the name that includes them

	listening sync.Mutex
	server    *server // nil: not listening
}

// NewStore returns an empty store. It opens nothing, and needs no Close unless
// [Store.URL] is called. It panics if a field of cfg is out of its range.
func NewStore(cfg Config) *Store {
	cfg.check()
	cfg = cfg.withDefaults()
	return &Store{
		cfg:         cfg,
		limit:       bucket{rate: int64(cfg.RateLimit), burst: int64(cfg.RateBurst)},
		tokens:      map[string]time.Time{},
		carts:       map[string]*cart{},
		subscribers: map[uuid.UUID]Subscriber{},
	}
}

// Config returns the store's configuration, defaults filled in: its credentials
// and limits, for instance.
func (s *Store) Config() Config { return s.cfg }

// Client returns a client of the store over [Store.Transport], authorized with
// [Config.Token], so that [Store.Requests] shows no token requests. opts come
// after the store's own and win, e.g. [commerce.WithClientCredentials] with the
// store's id and secret. An http.Client among them needs [Store.Transport] as its
// transport, or calls go to the network. It panics if opts are not valid.
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
