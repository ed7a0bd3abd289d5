package main

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"log"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/spf13/cobra"

	"github.com/commerce-go/commerce"
	"github.com/commerce-go/commerce/commercetest"
)

// fakeStore is what serve serves.
type fakeStore struct {
	addr, generation string
	subscriptions    int
	latency          time.Duration
	config           commercetest.Config
	faults           []commercetest.Fault
}

func newServeCommand(e *environment) *cobra.Command {
	var f fakeStore
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Run the fake store, for programs in any language",
		Long: "Serves a fake store on the loopback interface, until Ctrl-C. Prints its address,\n" +
			"credentials, a cart and commands for curl. Programs can drive it by requests to\n/_store/.",
		Example: `  epcommerce serve --fault '{"operation":"add","status":504,"apply":true}'`,
		Args:    cobra.NoArgs,
		RunE:    func(cmd *cobra.Command, _ []string) error { return f.serve(cmd.Context(), e) },
	}
	flags := cmd.Flags()
	flags.StringVar(&f.addr, "addr", "127.0.0.1:0", "loopback `address` to listen on; port 0 for a free one")
	flags.StringVar(&f.generation, "generation", "second", "`generation` of the subscriptions: first or second")
	flags.IntVar(&f.subscriptions, "subscriptions", 100, "`number` of subscriptions, 0 to 250000")
	flags.DurationVar(&f.latency, "latency", 0, "`delay` before each response, such as 200ms")
	flags.IntVar(&f.config.RateLimit, "rate", 0, "`number` of requests a second; more get a 429; 0: no limit")
	flags.Func("fault", "`JSON` of requests that fail, as for POST /_store/faults; may be repeated", func(s string) error {
		fault, err := parseFault(strings.NewReader(s))
		f.faults = append(f.faults, fault)
		return err
	})
	return cmd
}

// maxRequests is how many requests serve keeps.
const maxRequests = 10_000

// serve serves a store until ctx ends.
func (f fakeStore) serve(ctx context.Context, e *environment) error {
	switch {
	case f.generation != "first" && f.generation != "second":
		return usagef("--generation must be first or second")
	case f.subscriptions < 0 || f.subscriptions > 250_000:
		return usagef("--subscriptions must be 0 to 250000")
	case f.latency < 0:
		return usagef("--latency must not be negative")
	case f.config.RateLimit < 0 || f.config.RateLimit > 1_000_000:
		return usagef("--rate must be 0 to 1000000")
	}
	if f.generation == "first" {
		f.config.Generation = commercetest.FirstGeneration
	}
	logger, c := log.New(e.stderr, "", 0), &control{}
	f.config.MaxRequests = maxRequests
	f.config.AfterRequest = func(_ *commercetest.Store, in commercetest.Request) {
		if e.verbose {
			logger.Print(in.Method, " ", in.Path, " ", in.Status)
		}
		c.arrivals.add()
	}
	listener, err := listen(f.addr)
	if err != nil {
		return err
	}
	c.newStore = f.newStore
	c.store.Store(f.newStore())
	if _, err := fmt.Fprint(e.stdout, f.welcome("http://"+listener.Addr().String())); err != nil {
		return err
	}
	logger.Printf("serving %d subscriptions; Ctrl-C stops the store", f.subscriptions)
	err = serveUntil(ctx, listener, &http.Server{
		Handler: c.handler(f.latency), ReadHeaderTimeout: 10 * time.Second, ErrorLog: logger,
	}, 5*time.Second)
	logger.Printf("stopped with %d carts and %d subscriptions", len(c.store.Load().Carts()), f.subscriptions)
	return err
}

// listen opens a loopback address: the store speaks plain HTTP, and its credentials are public.
func listen(addr string) (net.Listener, error) {
	tcp, err := net.ResolveTCPAddr("tcp", addr)
	if err != nil || !tcp.IP.IsLoopback() {
		return nil, usagef("--addr must be a loopback address with a port, such as 127.0.0.1:8080, not %q", addr)
	}
	return net.ListenTCP("tcp", tcp)
}

// serveUntil serves requests until ctx ends. Then it waits for requests under way, for at most
// grace.
func serveUntil(ctx context.Context, listener net.Listener, server *http.Server, grace time.Duration) error {
	ended := make(chan error, 1)
	stop := context.AfterFunc(ctx, func() {
		graceful, cancel := context.WithTimeout(context.WithoutCancel(ctx), grace)
		defer cancel()
		ended <- server.Shutdown(graceful)
	})
	defer stop()
	if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("can't serve: %w", err)
	}
	if err := <-ended; err != nil {
		_ = server.Close()
		return fmt.Errorf("requests still under way after %s were aborted", grace)
	}
	return nil
}

// newStore returns a store as it is at the start. Each has the same subscriptions and cart.
func (f fakeStore) newStore() *commercetest.Store {
	store := commercetest.NewStore(f.config)
	store.Seed(f.subscriptions)
	store.EnableDiscounts(store.AddCart(commerce.CartItemRef{}))
	store.Inject(f.faults...)
	return store
}

// welcome returns the text for standard output.
func (f fakeStore) welcome(address string) string {
	f.subscriptions = 1
	store := f.newStore()
	var shopper uuid.UUID // the owner of the oldest subscription
	for sub := range store.Subscriptions() {
		shopper = sub.Attributes.AccountID
	}
	c, cart := store.Config(), store.Carts()[0]
	return fmt.Sprintf(welcome, address, c.ClientID, c.ClientSecret, c.Token,
		cart, store.CartItems(cart)[0].ID, store.AccountToken(shopper))
}

// welcome has names and values, and then commands that use them. Without -g, curl would expand
// the brackets of page[limit] and of [::1].
//
//go:embed serve_welcome.txt
var welcome string
