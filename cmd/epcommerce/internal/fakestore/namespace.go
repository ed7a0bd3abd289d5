package fakestore

import (
	"bytes"
	"cmp"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/google/uuid"

	"github.com/commerce-go/commerce"
	"github.com/commerce-go/commerce/commercetest"
)

// Namespace has what a program needs to use a store of its own.
type Namespace struct {
	Name         string    `json:"name"`
	Token        string    `json:"token"`
	ClientID     string    `json:"client_id"`
	ClientSecret string    `json:"client_secret"`
	Cart         string    `json:"cart"`
	CartItem     uuid.UUID `json:"cart_item"`
	AccountToken string    `json:"account_token"`
}

// namespace is a store of its own, and what drives it.
type namespace struct {
	Namespace

	server  *Server
	start   settings
	current atomic.Pointer[generation]
	feed    feed
}

// generation is a store between two resets.
type generation struct {
	store   *commercetest.Store
	stubs   stubs
	matches faultMatches
}

// settings are those of a store at its start.
type settings struct {
	commercetest.Config

	Subscriptions int `json:"subscriptions"`
}

// namespaceFixture is a namespace as a test wants it.
type namespaceFixture struct {
	settings

	Name string `json:"name"`
}

// MaxSubscriptions is the number of subscriptions that a store may have at its start.
const MaxSubscriptions = 250_000

func (st *settings) validate() error {
	if st.Subscriptions < 0 || st.Subscriptions > MaxSubscriptions {
		return fmt.Errorf("subscriptions must be 0 to %d", MaxSubscriptions)
	}
	return inMembers(st.Validate())
}

// start returns the settings of a store that a request does not change.
func (s *Server) start() settings {
	return settings{Config: s.cfg.Store, Subscriptions: s.cfg.Subscriptions}
}

// Namespaces returns those that exist. The first serves requests without a known token.
func (s *Server) Namespaces() []Namespace {
	s.mu.RLock()
	defer s.mu.RUnlock()
	var list []Namespace
	for _, ns := range s.namespaces {
		list = append(list, ns.Namespace)
	}
	return list
}

// Carts returns the number of carts of all namespaces.
func (s *Server) Carts() (n int) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	for _, ns := range s.namespaces {
		n += len(ns.current.Load().store.Carts())
	}
	return n
}

// errTaken means that a name or a token of a namespace is there already.
var errTaken = errors.New("there is a namespace with that name or token already")

var namespaceName = regexp.MustCompile(`^[A-Za-z0-9._-]{1,64}$`)

// add adds a namespace. Its credentials follow from the name, or are made at random.
func (s *Server) add(name, token string, start settings) (*namespace, error) {
	if !namespaceName.MatchString(name) || token != "" && !namespaceName.MatchString(token) ||
		strings.Contains(name, "-issued") {
		return nil, errors.New(`a name or a token must be 1 to 64 letters, digits, dots, dashes and underscores, ` +
			`without "-issued"`)
	}
	ns := &namespace{server: s, start: start, Namespace: Namespace{Name: name, Token: token}}
	ns.Token = cmp.Or(ns.Token, s.credential(name, "token"))
	ns.ClientID, ns.ClientSecret = s.credential(name, "id"), s.credential(name, "secret")
	if err := ns.reset(start); err != nil {
		return nil, err
	}
	store := ns.current.Load().store
	ns.Cart = store.Carts()[0] // the same after each reset, with its item
	ns.CartItem = store.CartItems(ns.Cart)[0].ID
	ns.AccountToken = store.AccountToken(oldestAccount())
	s.mu.Lock()
	defer s.mu.Unlock()
	prefix := tokenPrefix(ns.ClientID)
	if s.byToken[ns.Token] != nil || s.byPrefix[prefix] != nil ||
		slices.ContainsFunc(s.namespaces, func(other *namespace) bool { return other.Name == name }) {
		return nil, errTaken
	}
	s.namespaces, s.byToken[ns.Token], s.byPrefix[prefix] = append(s.namespaces, ns), ns, ns
	return ns, nil
}

// tokenPrefix returns what the tokens begin with that the store of a client id issues.
func tokenPrefix(clientID string) string { return strings.TrimSuffix(clientID, "-id") }

// credential returns one that follows from the name of a namespace, or a random one.
func (s *Server) credential(name, kind string) string {
	if s.cfg.Public {
		return rand.Text()
	}
	return name + "-" + kind
}

// remove removes a namespace, but not the first.
func (s *Server) remove(ns *namespace) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	i := slices.Index(s.namespaces, ns)
	if i == 0 {
		return errors.New("the first namespace cannot be removed")
	}
	if i > 0 { // no other request removed it meanwhile
		s.namespaces = slices.Delete(s.namespaces, i, i+1)
		delete(s.byToken, ns.Token)
		delete(s.byPrefix, tokenPrefix(ns.ClientID))
	}
	ns.feed.close()
	ns.current.Load().store.Close()
	return nil
}

// reset replaces the store by a new one. Each has the same subscriptions and cart.
func (ns *namespace) reset(st settings) error {
	if err := st.validate(); err != nil {
		return err
	}
	st.ClientID, st.ClientSecret, st.Token = ns.ClientID, ns.ClientSecret, ns.Token
	st.RandomTokens, st.OnState = ns.server.cfg.Public, ns.onState
	store := commercetest.NewStore(st.Config)
	store.Seed(st.Subscriptions)
	cart := store.AddCart(commerce.CartItemRef{})
	store.EnableDiscounts(cart)
	next := &generation{store: store, matches: faultMatches{all: map[int]*faultMatch{}}}
	for _, f := range ns.server.cfg.Faults {
		next.inject(f)
	}
	if before := ns.current.Swap(next); before != nil {
		before.store.Close() // requests under way end in it
	}
	return nil
}

// oldestAccount returns the owner of the oldest subscription of each store.
var oldestAccount = sync.OnceValue(func() (account uuid.UUID) {
	store := commercetest.NewStore(commercetest.Config{})
	store.Seed(1)
	for sub := range store.Subscriptions() {
		account = sub.Attributes.AccountID
	}
	return account
})

func (ns *namespace) onState(store *commercetest.Store, in commercetest.Request) {
	if onEnd := ns.server.cfg.OnEnd; onEnd != nil && in.State == commercetest.StateEnded {
		onEnd(in)
	}
	if store == ns.current.Load().store { // not one before a reset
		ns.feed.add(update{name: "request", request: &in})
	}
}

// bearer returns the bearer token of a request, or "".
func bearer(r *http.Request) string {
	scheme, token, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	if !strings.EqualFold(scheme, "Bearer") {
		return ""
	}
	return token
}

// namespaceOf returns the namespace of a request to a store: that of its token, or of its client id
// if it asks for a token. A request of none goes to the first, which refuses it.
func (s *Server) namespaceOf(r *http.Request) *namespace {
	token := bearer(r)
	prefix, _, _ := strings.Cut(token, "-issued-")
	if strings.HasPrefix(r.URL.Path, "/oauth/") && r.Body != nil {
		const enough = 64 << 10
		start, _ := io.ReadAll(io.LimitReader(r.Body, enough)) // an error comes again for the store
		r.Body = struct {
			io.Reader
			io.Closer
		}{io.MultiReader(bytes.NewReader(start), r.Body), r.Body}
		form, _ := url.ParseQuery(string(start)) // what it could read; the store refuses the rest
		prefix = tokenPrefix(form.Get("client_id"))
	}
	s.mu.RLock()
	defer s.mu.RUnlock()
	return cmp.Or(s.byToken[token], s.byPrefix[prefix], s.namespaces[0])
}

// newNamespaceFixture returns a namespace without a name that is as the first ones.
func newNamespaceFixture(c *call) namespaceFixture {
	return namespaceFixture{settings: c.server.start()}
}

// addNamespace adds a namespace as the body says.
func addNamespace(c *call, f namespaceFixture) (Namespace, error) {
	name := f.Name
	for {
		if f.Name == "" {
			name = c.server.newName()
		}
		ns, err := c.server.add(name, "", f.settings)
		if err == nil {
			return ns.Namespace, nil
		}
		if f.Name != "" || !errors.Is(err, errTaken) {
			return Namespace{}, err
		}
	}
}

// newName returns a name that the server did not make before.
func (s *Server) newName() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.made++
	return fmt.Sprintf("namespace-%d", s.made)
}

// startOf returns the settings of a store at its start.
func startOf(c *call) settings { return c.namespace.start }

// reset brings the store back to its start, with other settings if the body has some.
func reset(c *call, st settings) (none, error) {
	if err := c.namespace.reset(st); err != nil {
		return none{}, err
	}
	c.namespace.feed.add(update{name: "cleared"})
	return none{}, nil
}

// namespaceList is what a list of namespaces sends.
type namespaceList struct {
	Namespaces []Namespace `json:"namespaces"`
}

// listNamespaces returns all namespaces, or in public the own one: the credentials of the others
// are secret.
func listNamespaces(c *call, _ none) (namespaceList, error) {
	if c.server.cfg.Public {
		return namespaceList{[]Namespace{c.namespace.Namespace}}, nil
	}
	return namespaceList{c.server.Namespaces()}, nil
}
