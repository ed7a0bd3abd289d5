package main

import (
	"context"
	"crypto/tls"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/signal"
	"regexp"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/commerce-go/commerce/cmd/epcommerce/internal/fakestore"
	"github.com/commerce-go/commerce/commercetest"
)

// serveFlags are the flags of serve.
type serveFlags struct {
	config       fakestore.Config
	addr         string
	generation   string
	tls          bool
	page, noPage bool
	openAPI      bool
	check        bool
	stopWithIn   bool
}

func newServeCommand(e *environment) *cobra.Command {
	var f serveFlags
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Run the fake store, for programs in any language",
		Long: "Serves a fake store on the loopback interface, until Ctrl-C. Prints its address,\n" +
			"credentials, a cart and commands for curl. Programs can drive it by requests to\n" +
			"/_store/, and a page at / shows what they do.",
		Example: `  epcommerce serve --fault '{"operation":"add","status":504,"apply":true}'
  epcommerce serve --allow-origin http://localhost:3000 --token a --token b`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return f.serve(cmd.Context(), e) },
	}
	flags := cmd.Flags()
	flags.StringVar(&f.addr, "addr", "127.0.0.1:0", "`address` to listen on; port 0 for a free one")
	flags.StringSliceVar(&f.config.Hosts, "allow-host", nil, "`name` of this machine for others; may be repeated")
	flags.StringSliceVar(&f.config.Origins, "allow-origin", nil, "`URL` of a web site that may use it; may be repeated")
	flags.BoolVar(&f.tls, "tls", false, "serve HTTPS, with a certificate made at the start")
	flags.StringSliceVar(&f.config.Tokens, "token", nil, "`token` of a store of its own; may be repeated")
	flags.BoolVar(&f.page, "page", false, "serve the page also if --addr is not of the loopback interface")
	flags.BoolVar(&f.noPage, "no-page", false, "serve no page")
	flags.StringVar(&f.generation, "generation", "second", "`generation` of the subscriptions: first or second")
	flags.IntVar(&f.config.Subscriptions, "subscriptions", 100, "`number` of subscriptions, 0 to 250000")
	flags.DurationVar(&f.config.Latency, "latency", 0, "`delay` before each response, such as 200ms")
	flags.IntVar(&f.config.Store.RateLimit, "rate", 0, "`number` of requests a second; more get a 429; 0: no limit")
	flags.Func("fault", "`JSON` of requests that fail, as for POST /_store/faults; may be repeated", func(s string) error {
		fault, err := fakestore.ParseFault(strings.NewReader(s))
		f.config.Faults = append(f.config.Faults, fault)
		return err
	})
	flags.BoolVar(&f.stopWithIn, "stop-with-stdin", false, "stop at the end of standard input, with its program")
	flags.BoolVar(&f.check, "check", false, "ask the store at --addr whether it accepts requests, and end")
	flags.BoolVar(&f.openAPI, "openapi", false, "print what /_store/ offers as OpenAPI 3.1, and end")
	cmd.MarkFlagsMutuallyExclusive("page", "no-page")
	return cmd
}

// maxRequests is how many requests serve keeps.
const maxRequests = 10_000

// maxHeader is the size of the header that a request may have, in bytes.
const maxHeader = 64 << 10

// validate returns what is wrong with the flags.
func (f *serveFlags) validate() error {
	c := &f.config
	switch {
	case c.Store.Generation.UnmarshalText([]byte(f.generation)) != nil:
		return usagef("--generation must be first or second")
	case c.Subscriptions < 0 || c.Subscriptions > fakestore.MaxSubscriptions:
		return usagef("--subscriptions must be 0 to %d", fakestore.MaxSubscriptions)
	case c.Latency < 0:
		return usagef("--latency must not be negative")
	case c.Store.RateLimit < 0 || c.Store.RateLimit > 1_000_000:
		return usagef("--rate must be 0 to 1000000")
	}
	for i, origin := range c.Origins {
		u, err := url.Parse(origin)
		if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Scheme+"://"+u.Host != origin ||
			strings.Contains(u.Host, "*") || !isBrowserHost(u) {
			return usagef("--allow-origin must be an address without a path, such as http://localhost:3000, not %q", origin)
		}
		c.Origins[i] = strings.ToLower(origin)
	}
	for i, host := range c.Hosts {
		if net.ParseIP(host) == nil && !hostName.MatchString(host) {
			return usagef("--allow-host must be a name or an IP address without a port, not %q", host)
		}
		c.Hosts[i] = strings.ToLower(host)
	}
	return nil
}

// isBrowserHost reports whether a browser sends the host of a web site so: without a usual port.
func isBrowserHost(u *url.URL) bool {
	usual := map[string]string{"http": "80", "https": "443"}[u.Scheme]
	return u.Hostname() != "" && u.Port() != usual && !strings.HasSuffix(u.Host, ":")
}

var hostName = regexp.MustCompile(`^[A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9])?$`)

// serve does what the flags ask for: it serves stores until ctx ends, unless they ask for less.
func (f *serveFlags) serve(ctx context.Context, e *environment) error {
	if f.openAPI {
		_, err := fmt.Fprintf(e.stdout, "%s\n", fakestore.OpenAPI())
		return err
	}
	if f.check {
		return f.checkHealth(ctx, e)
	}
	if err := f.validate(); err != nil {
		return err
	}
	if f.stopWithIn {
		ctx = untilInputEnds(ctx, e.stdin)
	}
	return f.serveStores(ctx, e)
}

// untilInputEnds returns a context that ends with standard input too: the program that holds it has
// ended then.
func untilInputEnds(ctx context.Context, stdin io.Reader) context.Context {
	signal.Ignore(syscall.SIGPIPE) // the program may hold standard output too, and this one must clean up
	ctx, stop := context.WithCancel(ctx)
	go func() {
		defer stop()
		_, _ = io.Copy(io.Discard, stdin) // an error ends it too
	}()
	return ctx
}

// serveStores serves stores until ctx ends.
func (f *serveFlags) serveStores(ctx context.Context, e *environment) error {
	logger := log.New(e.stderr, "", 0)
	f.config.Store.MaxRequests = maxRequests
	if e.verbose {
		f.config.OnEnd = func(in commercetest.Request) {
			logger.Print(in.Method, " ", in.Path, " ", in.Status)
		}
	}
	listener, isPublic, err := f.listen()
	if err != nil {
		return err
	}
	f.config.Public, f.config.Page = isPublic, !f.noPage && (f.page || !isPublic)
	stores, err := fakestore.New(f.config)
	if err != nil {
		return usagef("--token: %v", err)
	}
	defer stores.Close()
	server := newServer(stores, logger)
	server.RegisterOnShutdown(stores.EndWaits)
	certificate := ""
	if f.tls {
		if server.TLSConfig, certificate, err = newCertificate(f.config.Hosts); err != nil {
			return err
		}
		defer func() { _ = os.Remove(certificate) }()
	}
	if _, err := fmt.Fprint(e.stdout, f.welcome(listener.Addr(), certificate, stores.Namespaces())); err != nil {
		return err
	}
	logger.Printf("serving %d subscriptions; Ctrl-C stops the store", f.config.Subscriptions)
	err = serveUntil(ctx, listener, server, 5*time.Second, logger)
	logger.Printf("stopped with %d carts and %d subscriptions", stores.Carts(), f.config.Subscriptions)
	return err
}

// newServer returns a server that closes a connection whose request has no end of its header.
func newServer(stores http.Handler, logger *log.Logger) *http.Server {
	return &http.Server{
		Handler: stores, ReadHeaderTimeout: 10 * time.Second, MaxHeaderBytes: maxHeader, ErrorLog: logger,
	}
}

// listen opens the address. One that is not of the loopback interface must be asked for twice.
func (f *serveFlags) listen() (_ net.Listener, isPublic bool, _ error) {
	tcp, err := net.ResolveTCPAddr("tcp", f.addr)
	isPublic = err == nil && !tcp.IP.IsLoopback()
	switch {
	case err != nil:
		return nil, false, usagef("--addr must be an address with a port, such as 127.0.0.1:8080, not %q", f.addr)
	case isPublic && len(f.config.Hosts)+len(f.config.Origins) == 0:
		return nil, false, usagef("--addr must be a loopback address with a port, such as 127.0.0.1:8080, not %q, "+
			"unless --allow-host or --allow-origin is set", f.addr)
	case isPublic && len(tcp.IP) > 0 && !tcp.IP.IsUnspecified() && !slices.Contains(f.config.Hosts, tcp.IP.String()):
		return nil, false, usagef("--addr %s needs --allow-host %s", f.addr, tcp.IP)
	}
	listener, err := net.ListenTCP("tcp", tcp)
	return listener, isPublic, err
}

// serveUntil serves requests until ctx ends. Then it waits for requests under way, for at most
// grace, and aborts the others.
func serveUntil(
	ctx context.Context, listener net.Listener, server *http.Server, grace time.Duration, logger *log.Logger,
) error {
	var unused sync.Map // connections that sent nothing yet: browsers open them ahead
	server.ConnState = func(c net.Conn, state http.ConnState) {
		if state == http.StateNew {
			unused.Store(c, nil)
			return
		}
		unused.Delete(c)
	}
	server.RegisterOnShutdown(func() {
		for c := range unused.Range {
			_ = c.(net.Conn).Close()
		}
	})
	ended := make(chan error, 1)
	stop := context.AfterFunc(ctx, func() {
		graceful, cancel := context.WithTimeout(context.WithoutCancel(ctx), grace)
		defer cancel()
		ended <- server.Shutdown(graceful)
	})
	defer stop()
	serve := func() error { return server.Serve(listener) }
	if server.TLSConfig != nil {
		serve = func() error { return server.ServeTLS(listener, "", "") }
	}
	if err := serve(); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("can't serve: %w", err)
	}
	if err := <-ended; err != nil {
		_ = server.Close()
		logger.Printf("requests still under way after %s were aborted", grace)
	}
	return nil
}

// checkHealth asks the store at the address of f whether it accepts requests.
func (f *serveFlags) checkHealth(ctx context.Context, e *environment) error {
	host, port, err := net.SplitHostPort(f.addr)
	if err != nil || port == "0" || port == "" {
		return usagef("--check needs --addr with the port of the store, such as 127.0.0.1:8080")
	}
	if ip := net.ParseIP(host); host == "" || ip.IsUnspecified() {
		host = "localhost"
	}
	address := url.URL{Scheme: "http", Host: net.JoinHostPort(host, port), Path: fakestore.HealthPath}
	transport := &http.Transport{} // without a proxy
	client := &http.Client{Timeout: 5 * time.Second, Transport: transport}
	client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	if f.tls {
		address.Scheme = "https"
		// The program that asks has no file of the certificate, and sends nothing secret.
		transport.TLSClientConfig = &tls.Config{InsecureSkipVerify: true} //nolint:gosec // see above
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address.String(), nil)
	if err != nil {
		return err
	}
	resp, err := client.Do(req)
	if err != nil {
		return fmt.Errorf("the store does not respond: %w", err)
	}
	defer func() { _ = resp.Body.Close() }()
	body, err := io.ReadAll(io.LimitReader(resp.Body, 1<<10))
	if err != nil || resp.StatusCode != http.StatusOK || !strings.Contains(string(body), `"status": "ok"`) {
		return fmt.Errorf("what responds at %s is no store: status %d", address.Host, resp.StatusCode)
	}
	_, err = fmt.Fprintf(e.stdout, "the store at %s accepts requests\n", address.Host)
	return err
}

// welcome returns the text for standard output.
func (f *serveFlags) welcome(addr net.Addr, certificate string, namespaces []fakestore.Namespace) string {
	host, port, _ := net.SplitHostPort(addr.String()) // it has both
	if net.ParseIP(host).IsUnspecified() {
		host = "localhost"
		if len(f.config.Hosts) > 0 {
			host = f.config.Hosts[0]
		}
	}
	address, curl := "http://"+net.JoinHostPort(host, port), "curl -sSg"
	if f.tls {
		address, curl = "https://"+net.JoinHostPort(host, port), "curl -sSg --cacert "+certificate
	}
	text := fmt.Sprintf("address: %s\n", address)
	if f.tls {
		text += fmt.Sprintf("certificate: %s\n", certificate)
	}
	if f.config.Page {
		text += fmt.Sprintf("page: %s/\n", address)
	}
	first := namespaces[0]
	text += fmt.Sprintf("client id: %s\nclient secret: %s\ntoken: %s\ncart: %s\ncart item: %s\naccount token: %s\n",
		first.ClientID, first.ClientSecret, first.Token, first.Cart, first.CartItem, first.AccountToken)
	for _, n := range namespaces[1:] {
		text += fmt.Sprintf("namespace %s: client id %s, client secret %s, token %s\n",
			n.Name, n.ClientID, n.ClientSecret, n.Token)
	}
	return text + fmt.Sprintf(welcome, address, first.ClientID, first.ClientSecret, first.Token, first.Cart, curl)
}

// welcome has commands that use the names and values. Without -g, curl would expand the brackets of
// page[limit] and of [::1].
//
//go:embed serve_welcome.txt
var welcome string
