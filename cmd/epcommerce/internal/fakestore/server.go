// Package fakestore serves the fake store of package commercetest to programs in any language, with
// endpoints below /_store that drive it. docs/tool-serve.md describes them.
package fakestore

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/rs/cors"

	"github.com/commerce-go/commerce/commercetest"
)

// Config sets up a [Server].
type Config struct {
	// Store is the configuration of each store at its start. Its credentials are not used.
	Store commercetest.Config
	// Subscriptions is their number in each store at its start.
	Subscriptions int
	// Faults of each store at its start.
	Faults []ParsedFault
	// Latency is a delay before each response of a store, but not of what drives it.
	Latency time.Duration
	// Tokens of the namespaces at the start. None: one namespace, with the usual credentials.
	Tokens []string

	// Origins are web sites whose pages may send requests to the stores, such as
	// "https://shop.example".
	Origins []string
	// Hosts are names of the server beside localhost and the addresses of the loopback interface.
	Hosts []string
	// Public says that other machines reach the server. Credentials are made at random, and all
	// that drives a store needs a token.
	Public bool
	// Page serves the page at /.
	Page bool

	// OnEnd is called for each request to a store when it has ended. It may be nil.
	OnEnd func(in commercetest.Request)
}

// Server is a server of fake stores, one for each namespace. It is an [http.Handler], safe for
// concurrent use.
type Server struct {
	cfg    Config
	mux    *http.ServeMux // of what drives a store, and of the page
	stores http.Handler   // with CORS if there are Origins

	mu         sync.RWMutex
	namespaces []*namespace          // the first serves requests without a known token
	byToken    map[string]*namespace // by Token
	byPrefix   map[string]*namespace // by what the tokens begin with that its store issues
	made       int                   // the number of names that were made
}

// New returns a server with the namespaces of the start. The error names what is not valid.
func New(cfg Config) (*Server, error) {
	s := &Server{cfg: cfg, byToken: map[string]*namespace{}, byPrefix: map[string]*namespace{}}
	for _, token := range cfg.Tokens {
		name := strings.TrimSuffix(token, "-token")
		if cfg.Public { // the token is a secret
			name = s.newName()
		}
		if _, err := s.add(name, token, s.start()); err != nil {
			return nil, err
		}
	}
	if len(cfg.Tokens) == 0 {
		name := strings.TrimSuffix(commercetest.DefaultToken, "-token")
		if _, err := s.add(name, "", s.start()); err != nil {
			return nil, err
		}
	}
	s.stores = http.HandlerFunc(s.serveStore)
	if len(cfg.Origins) > 0 {
		s.stores = cors.New(cors.Options{
			AllowedOrigins: cfg.Origins,
			AllowedMethods: []string{"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"},
			AllowedHeaders: []string{"*"}, // those that a preflight names
			ExposedHeaders: []string{"Retry-After", "X-Request-Id"},
			// A page of a public address may ask for a private one.
			AllowPrivateNetwork: true,
		}).Handler(s.stores)
	}
	s.mux = s.newMux()
	return s, nil
}

// EndWaits ends the requests that wait for others. New ones do not wait.
func (s *Server) EndWaits() {
	s.mu.RLock()
	defer s.mu.RUnlock()
	for _, ns := range s.namespaces {
		ns.feed.close()
	}
}

// Close ends late writes, and the requests that wait for others.
func (s *Server) Close() {
	s.EndWaits()
	s.mu.RLock()
	defer s.mu.RUnlock()
	for _, ns := range s.namespaces {
		ns.current.Load().store.Close()
	}
}

// ServeHTTP passes a request to a store, or to what drives one.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path == HealthPath {
		s.mux.ServeHTTP(w, r)
		return
	}
	drives := r.URL.Path == "/_store" || strings.HasPrefix(r.URL.Path, "/_store/") || s.cfg.Page && r.URL.Path == "/"
	if problem := s.foreign(r, drives); problem != "" {
		refuse(w, http.StatusForbidden, problem)
		return
	}
	if drives {
		s.mux.ServeHTTP(w, r)
		return
	}
	s.stores.ServeHTTP(w, r)
}

// serveStore passes a request to the store of its token. What a store sends may be a page that a
// test made up, at the same origin as the page of the server: it must not act for it.
func (s *Server) serveStore(w http.ResponseWriter, r *http.Request) {
	if s.cfg.Latency > 0 {
		select {
		case <-time.After(s.cfg.Latency):
		case <-r.Context().Done():
			panic(http.ErrAbortHandler)
		}
	}
	s.namespaceOf(r).current.Load().store.ServeHTTP(sandbox{w}, r)
}

// sandbox has the headers that keep a response from acting for the page, whatever a test wants.
type sandbox struct{ http.ResponseWriter }

func (s sandbox) WriteHeader(status int) {
	header := s.Header()
	header.Set("Content-Security-Policy", "sandbox")
	header.Set("X-Content-Type-Options", "nosniff")
	header.Del("Access-Control-Allow-Credentials")
	s.ResponseWriter.WriteHeader(status)
}

// Unwrap is for [http.ResponseController].
func (s sandbox) Unwrap() http.ResponseWriter { return s.ResponseWriter }

// newMux returns the handler of all that drives a store, and of the page.
func (s *Server) newMux() *http.ServeMux {
	mux := http.NewServeMux()
	for _, o := range operations() {
		handle := func(w http.ResponseWriter, r *http.Request) {
			if o.isOpen {
				o.handle(nil, w)
			} else if ns := s.driven(w, r, o.needsToken); ns != nil {
				o.handle(&call{server: s, namespace: ns, request: r}, w)
			}
		}
		mux.HandleFunc(o.method+" "+o.path, handle)
		mux.HandleFunc(o.method+" "+o.path+"/{$}", handle)
	}
	if s.cfg.Page {
		for _, file := range pageFiles {
			mux.HandleFunc("GET "+file.path, func(w http.ResponseWriter, r *http.Request) {
				if s.driven(w, r, false) != nil {
					servePage(w, file)
				}
			})
		}
	}
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		refuse(w, http.StatusNotFound, "There is no endpoint "+r.Method+" "+r.URL.Path)
	})
	return mux
}

// driven returns the namespace that a request drives: that of its token, or the first without one.
// If the token is unknown, or there must be one, it refuses the request and returns nil. If there
// are several namespaces, what drives one of them needs a token: one that was forgotten would show
// in no test.
func (s *Server) driven(w http.ResponseWriter, r *http.Request, drivesOne bool) *namespace {
	token := bearer(r)
	if _, password, ok := r.BasicAuth(); ok { // a browser asks for it
		token = password
	}
	s.mu.RLock()
	defer s.mu.RUnlock()
	if ns := s.byToken[token]; ns != nil {
		return ns
	}
	detail := "The request must have the token of a namespace"
	if r.Header.Get("Authorization") == "" && !s.cfg.Public {
		if !drivesOne || len(s.namespaces) == 1 {
			return s.namespaces[0]
		}
		detail += fmt.Sprintf(": there are %d of them", len(s.namespaces))
	}
	if strings.Contains(r.Header.Get("Accept"), "text/html") { // a browser that opens the page asks for the token
		w.Header().Set("WWW-Authenticate", `Basic realm="epcommerce serve: the password is the token"`)
	}
	refuse(w, http.StatusUnauthorized, detail)
	return nil
}
