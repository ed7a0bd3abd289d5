// Fake-store serves a fake store over plain HTTP on the loopback interface, until
// Ctrl-C or SIGTERM, so that any program can be tried against it: one that uses
// package commerce, a client in another language, or curl.
//
//	go run ./examples/fake-store
//	go run ./examples/fake-store -addr 127.0.0.1:8080 -n 250
//
// The flags are
//
//	-addr host:port  address to listen on (default 127.0.0.1:0, a free port). It must
//	                 be a loopback address: the store speaks plain HTTP, and its
//	                 credentials are public
//	-n count         number of subscriptions in the store, 0 to 250000 (default 100)
//	-generation g    payload of the subscriptions: first (default) or second
//	-rate count      requests per second, 0 to 1000000; more get a 429 (default 0, no limit)
//	-latency time    delay before each response, such as 200ms (default 0s)
//	-fault f         makes requests fail; may be repeated, see below
//
// Standard output lists the address, the client id, the client secret, a token that
// does not expire, the id of a cart, the id of the item in it, and a token for the
// header EP-Account-Management-Authentication-Token of a shopper, one a line. The shopper
// is the owner of the first subscription. Three curl commands follow, one a line, to
// paste into a shell such as bash: they get a token, list subscriptions with a filter
// and a page size, and add a custom discount to the cart. All else goes to standard
// error. Its last line counts the carts and the subscriptions that the store holds at
// the end; at the start it has one cart.
//
// A fault is operation:response[:word...]. An operation is one of package commercetest
// with - for each space, such as add or delete-discount, or any. A response is a status,
// or cut, which closes the connection instead. The request has no effect, and the next
// one meets no fault, unless the words, in any order, say so:
//
//	applied   the request takes effect before the response
//	late      the response is sent at once, the request takes effect later
//	500ms     a delay before the response, or before a late request takes effect, which
//	          is 2s unless it is set
//	3         number of requests that meet the fault
//	always    all requests meet the fault
//
// For example, -fault add:504:late adds the discounts two seconds after a 504, and
// -fault any:429:3 refuses three requests.
//
// The documentation of package commercetest lists the endpoints of the store. The
// store keeps its data in memory until the program ends. Each start makes the same
// subscriptions and the same cart.
//
// The exit code is 0 after Ctrl-C or SIGTERM, 1 if the store can't be served, e.g.
// because the address is in use, and 2 for an invalid flag. After the signal,
// requests under way have 5 seconds to end. go run forwards Ctrl-C but not SIGTERM:
// to stop the program by SIGTERM, build it first.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/google/uuid"

	"github.com/commerce-go/commerce"
	"github.com/commerce-go/commerce/commercetest"
	"github.com/commerce-go/commerce/examples/internal/flags"
)

// The exit codes.
const (
	exitOK     = 0
	exitFailed = 1
	exitUsage  = 2
)

// grace is how long requests under way may take after the signal.
const grace = 5 * time.Second

// demoItem is the item of the cart.
var demoItem = commerce.CartItemRef{
	Type: commerce.ItemTypeCartItem,
	ID:   uuid.MustParse("3b4de20a-ccd0-44e6-894f-628e7afb3db0"),
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second Ctrl-C ends the program at once
	os.Exit(run(ctx, os.Args[1:], os.Stdout, os.Stderr))
}

// config holds the values of the flags.
type config struct {
	addr    string
	n       int
	latency time.Duration
	store   commercetest.Config
	faults  []commercetest.Fault
}

func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	cfg, err := parse(args, stdout)
	if errors.Is(err, flag.ErrHelp) {
		return exitOK
	}
	if err != nil {
		fmt.Fprintf(stderr, "fake-store: %v (-h for help)\n", err)
		return exitUsage
	}
	listener, err := listen(ctx, cfg.addr)
	if err != nil {
		fmt.Fprintln(stderr, "fake-store:", err)
		return exitFailed
	}
	store := commercetest.NewStore(cfg.store)
	shopper := firstAccount(store)
	store.Seed(cfg.n)
	store.Inject(cfg.faults...)
	fmt.Fprint(stdout, welcome("http://"+listener.Addr().String(), store, shopper))
	fmt.Fprintf(stderr, "serving %d subscriptions; Ctrl-C stops the store\n", cfg.n)
	err = serve(ctx, listener, newServer(slowed(store, cfg.latency), stderr), grace)
	store.Close() // ends late faults
	if err != nil {
		fmt.Fprintln(stderr, "fake-store:", err)
		return exitFailed
	}
	subscriptions := 0
	for range store.Subscriptions() {
		subscriptions++
	}
	fmt.Fprintf(stderr, "stopped with %d carts and %d subscriptions\n", len(store.Carts()), subscriptions)
	return exitOK
}

// firstAccount returns the account of the oldest subscription, which does not depend on
// their number. It replaces the subscriptions.
func firstAccount(store *commercetest.Store) (account uuid.UUID) {
	store.Seed(1)
	for sub := range store.Subscriptions() {
		account = sub.Attributes.AccountID
	}
	return account
}

// slowed passes requests to h after a delay.
func slowed(h http.Handler, latency time.Duration) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if latency > 0 {
			select {
			case <-time.After(latency):
			case <-r.Context().Done():
			}
		}
		h.ServeHTTP(w, r)
	})
}

// listen opens addr, which parse has checked.
func listen(ctx context.Context, addr string) (net.Listener, error) {
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", addr)
	switch {
	case errors.Is(err, syscall.EADDRINUSE):
		return nil, fmt.Errorf("the address %s is in use: stop what listens there, or choose another with -addr", addr)
	case err != nil:
		return nil, fmt.Errorf("can't listen: %w", err)
	}
	// The machine may resolve localhost to another address.
	if tcp, ok := listener.Addr().(*net.TCPAddr); !ok || !tcp.IP.IsLoopback() {
		_ = listener.Close()
		return nil, fmt.Errorf("%s is not on the loopback interface", addr)
	}
	return listener, nil
}

func newServer(handler http.Handler, stderr io.Writer) *http.Server {
	return &http.Server{
		Handler:           handler,
		ReadHeaderTimeout: 10 * time.Second,
		ErrorLog:          log.New(stderr, "fake-store: ", 0),
	}
}

// serve serves requests until ctx ends. Then it waits for requests under way, for
// at most grace.
func serve(ctx context.Context, listener net.Listener, server *http.Server, grace time.Duration) error {
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(listener) }()
	select {
	case err := <-ended:
		return fmt.Errorf("can't serve: %w", err)
	case <-ctx.Done():
	}
	graceful, cancel := context.WithTimeout(context.WithoutCancel(ctx), grace)
	defer cancel()
	err := server.Shutdown(graceful)
	if err != nil {
		_ = server.Close()
		err = fmt.Errorf("requests still under way after %s were aborted", grace)
	}
	if served := <-ended; err == nil && !errors.Is(served, http.ErrServerClosed) {
		err = fmt.Errorf("can't serve: %w", served)
	}
	return err
}

// welcome adds a cart and returns the text for standard output: names and values, then the
// commands that use them.
func welcome(address string, store *commercetest.Store, shopper uuid.UUID) string {
	cfg, cartID := store.Config(), store.AddCart(demoItem)
	var b strings.Builder
	for _, line := range [][2]string{
		{"address", address},
		{"client id", cfg.ClientID},
		{"client secret", cfg.ClientSecret},
		{"token", cfg.Token},
		{"cart", cartID},
		{"cart item", demoItem.ID.String()},
		{"account token", store.AccountToken(shopper)},
	} {
		fmt.Fprintf(&b, "%s: %s\n", line[0], line[1])
	}
	// Without -g, curl would expand the brackets of page[limit] and of [::1].
	const (
		curl     = `curl -sSg -w '\n' `
		auth     = `-H 'Authorization: Bearer %s' `
		list     = `'%s/v2/subscriptions/subscriptions?filter=eq(email,subscriber-0001@example.com)&page[limit]=2'`
		discount = `{"data":[{"type":"custom_discount","amount":-1000,"description":"Ten dollars off",` +
			`"discount_code":"TEN-OFF","discount_engine":"curl","external_id":"ten-off-1"}]}`
	)
	fmt.Fprintf(&b, "\nGet a token:\n\n"+curl+
		"-d grant_type=client_credentials -d client_id=%s -d client_secret=%s %s/oauth/access_token\n",
		cfg.ClientID, cfg.ClientSecret, address)
	fmt.Fprintf(&b, "\nList subscriptions of one subscriber, two in a page:\n\n"+curl+auth+list+"\n", cfg.Token, address)
	fmt.Fprintf(&b, "\nAdd a custom discount to the cart:\n\n"+curl+auth+
		"-H 'Content-Type: application/json' -d '%s' %s/v2/carts/%s/custom-discounts\n", cfg.Token, discount, address, cartID)
	return b.String()
}

var help = flags.Help{
	Before: "Fake-store serves a fake store over plain HTTP on the loopback interface.",
	After:  "The faults, what it prints, and the exit codes: go doc ./examples/fake-store",
}

// parse reads the flags. Help goes to stdout, with flag.ErrHelp as the error.
func parse(args []string, stdout io.Writer) (config, error) {
	cfg := config{addr: "127.0.0.1:0", n: 100}
	set := flag.NewFlagSet("fake-store", flag.ContinueOnError)
	set.Func("addr", "`host:port` to listen on, a loopback address; port 0 for a free one (default 127.0.0.1:0)",
		func(s string) error {
			cfg.addr = s
			return checkAddr(s)
		})
	set.Func("n", "`number` of subscriptions in the store, 0 to 250000 (default 100)", flags.Number(&cfg.n, 0, 250_000))
	set.Func("generation", "payload of the subscriptions: `first or second` (default first)",
		func(s string) error { return readGeneration(s, &cfg.store.Generation) })
	set.Func("rate", "`number` of requests per second, 0 to 1000000; more get a 429 (default 0, no limit)",
		flags.Number(&cfg.store.RateLimit, 0, 1_000_000))
	set.Func("latency", "`delay` before each response, such as 200ms (default 0s)", func(s string) (err error) {
		cfg.latency, err = readDelay(s)
		return err
	})
	set.Func("fault", "makes requests fail, such as add:504:late: `operation:response[:word...]`; may be repeated",
		func(s string) error {
			fault, err := parseFault(s)
			cfg.faults = append(cfg.faults, fault)
			return err
		})
	err := flags.Parse(set, args, help, stdout)
	return cfg, err
}

func readGeneration(s string, g *commercetest.Generation) error {
	switch s {
	case "first":
		*g = commercetest.FirstGeneration
	case "second":
		*g = commercetest.SecondGeneration
	default:
		return errors.New("must be first or second")
	}
	return nil
}

func readDelay(s string) (time.Duration, error) {
	d, err := time.ParseDuration(s)
	if err != nil || d < 0 {
		return 0, errors.New("must be a delay such as 200ms or 2s")
	}
	return d, nil
}

// checkAddr checks that addr is a loopback address with a port.
func checkAddr(addr string) error {
	host, port, err := net.SplitHostPort(addr)
	if err != nil {
		return errors.New("must be a host and a port, such as 127.0.0.1:8080")
	}
	if n, err := strconv.Atoi(port); err != nil || n < 0 || n > 65535 {
		return errors.New("must have a port from 0 to 65535")
	}
	if ip := net.ParseIP(host); host != "localhost" && (ip == nil || !ip.IsLoopback()) {
		return errors.New("must be on the loopback interface, such as 127.0.0.1:8080: " +
			"the store speaks plain HTTP, and its credentials are public")
	}
	return nil
}
