package main

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"log"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/commerce-go/commerce"
	"github.com/commerce-go/commerce/commercetest"
)

func TestDoctor(t *testing.T) {
	t.Parallel()
	commercetest.EachGeneration(t, commercetest.Config{DiscountsEnabled: true}, func(t *testing.T, s *commercetest.Store) {
		s.Seed(5)
		cart := s.AddCart(commerce.CartItemRef{})
		got := caller{env: storeEnv(s)}.run(t, "doctor", "--cart", cart)
		if got.code != 0 || strings.Contains(got.stdout, "FAIL") || strings.Count(got.stdout, "\n") != 15 {
			t.Errorf("got %+v, want 15 checks without a failure", got)
		}
		if want := s.Config().Generation.String() + " generation"; !strings.Contains(got.stdout, want) {
			t.Errorf("got %q, want %q", got.stdout, want)
		}
	})
}

// situation is something that is wrong with a setup, and what doctor says: one FAIL, with what to
// do.
type situation struct {
	name string
	// setUp returns the variables, besides those of the store.
	setUp func(t *testing.T, s *commercetest.Store) map[string]string
	want  string // the check that fails and what it found
	todo  string
}

var situations = []situation{
	{name: "wrong token", want: "token", todo: "set COMMERCE_TOKEN to a new one",
		setUp: func(*testing.T, *commercetest.Store) map[string]string {
			return map[string]string{"COMMERCE_TOKEN": "x"}
		}},
	{name: "wrong secret", want: "token", todo: "check COMMERCE_CLIENT_ID and COMMERCE_CLIENT_SECRET",
		setUp: func(*testing.T, *commercetest.Store) map[string]string {
			return map[string]string{"COMMERCE_TOKEN": "", "COMMERCE_CLIENT_ID": "x", "COMMERCE_CLIENT_SECRET": "x"}
		}},
	{name: "wrong path", want: "address     something responds with HTTP 404", todo: "has another path",
		setUp: func(_ *testing.T, s *commercetest.Store) map[string]string {
			return map[string]string{"COMMERCE_BASE_URL": s.URL() + "/api"}
		}},
	{name: "another host's 404", want: "address     something responds with HTTP 404", todo: "of another host",
		setUp: front(http.StatusNotFound, "text/html", nil)},
	{name: "a gateway's 403", want: "address     something responds with HTTP 403", todo: "ask who runs the network",
		setUp: front(http.StatusForbidden, "text/html", nil)},
	{name: "a gateway's 502", want: "address     something responds with HTTP 502", todo: "ask who runs the network",
		setUp: front(http.StatusBadGateway, "text/html", nil)},
	{name: "redirect", want: "to https://other.example", todo: "set COMMERCE_BASE_URL to",
		setUp: front(http.StatusMovedPermanently, "", http.Header{"Location": {"https://other.example/v2/settings"}})},
	{name: "https, but the server speaks http", want: "the server does not use HTTPS", todo: "check the port",
		setUp: func(_ *testing.T, s *commercetest.Store) map[string]string {
			return map[string]string{"COMMERCE_BASE_URL": strings.Replace(s.URL(), "http:", "https:", 1)}
		}},
	{name: "http, but the server speaks https", want: "HTTP 400", todo: "probably needs https://",
		setUp: func(t *testing.T, _ *commercetest.Store) map[string]string {
			t.Helper()
			address := certified(t, "127.0.0.1", time.Hour)["COMMERCE_BASE_URL"]
			return map[string]string{"COMMERCE_BASE_URL": strings.Replace(address, "https:", "http:", 1)}
		}},
	{name: "expired certificate", want: "the certificate has expired", todo: "check the clock",
		setUp: func(t *testing.T, _ *commercetest.Store) map[string]string {
			t.Helper()
			return certified(t, "127.0.0.1", -time.Hour)
		}},
	{name: "certificate for another name", want: "the certificate is for another name", todo: "check the host",
		setUp: func(t *testing.T, _ *commercetest.Store) map[string]string {
			t.Helper()
			return certified(t, "192.0.2.1", time.Hour)
		}},
	{name: "self-signed certificate", want: "from nobody whom this machine trusts", todo: "install its root certificate",
		setUp: func(t *testing.T, _ *commercetest.Store) map[string]string {
			t.Helper()
			env := certified(t, "127.0.0.1", time.Hour)
			delete(env, "SSL_CERT_FILE")
			return env
		}},
	{name: "refused", want: "nothing listens at the address", todo: "must run before it is used",
		setUp: func(*testing.T, *commercetest.Store) map[string]string {
			return map[string]string{"COMMERCE_BASE_URL": "http://127.0.0.1:1"}
		}},
	{name: "dead proxy", want: "the proxy cannot be reached", todo: "check HTTPS_PROXY",
		setUp: func(*testing.T, *commercetest.Store) map[string]string {
			return map[string]string{"COMMERCE_BASE_URL": "https://store.example", "HTTPS_PROXY": "http://127.0.0.1:1"}
		}},
	{name: "proxy wants a password", want: "the proxy wants a name and a password", todo: "http://NAME:PASSWORD@HOST:PORT",
		setUp: func(t *testing.T, s *commercetest.Store) map[string]string {
			t.Helper()
			proxy := front(http.StatusProxyAuthRequired, "text/html", nil)(t, s)["COMMERCE_BASE_URL"]
			return map[string]string{"COMMERCE_BASE_URL": "https://store.example", "HTTPS_PROXY": proxy}
		}},
	{name: "the clock is ahead", want: "clock       1h0m", todo: "set the clock of this machine",
		setUp: func(t *testing.T, s *commercetest.Store) map[string]string {
			t.Helper()
			return late(t, s, time.Now().Add(-time.Hour).UTC().Format(http.TimeFormat))
		}},
	{name: "a gateway's 403 for requests with a token", want: "token", todo: "a gateway or a firewall",
		setUp: func(_ *testing.T, s *commercetest.Store) map[string]string {
			authorized := func(in commercetest.Request) bool { return in.Header.Get("Authorization") != "" }
			s.Inject(commercetest.Fault{Status: 403, Body: "<html>", Times: -1, Match: authorized})
			return nil
		}},
	{name: "no permission for settings", want: "may not read the settings", todo: "client credentials that may",
		setUp: refusing(commercetest.OpSettings)},
	{name: "no permission for accounts", want: "the credentials may not list accounts", todo: "cannot export",
		setUp: refusing(commercetest.OpAccounts)},
	{name: "no account is listed", want: "none is listed, but there are subscriptions", todo: "may list accounts",
		setUp: func(_ *testing.T, s *commercetest.Store) map[string]string {
			s.Inject(commercetest.Fault{Operation: commercetest.OpAccounts, Status: 200, Body: `{"data": []}`, Times: -1})
			return nil
		}},
	{name: "simple calculation", want: "calculation method simple", todo: "change the calculation method to line",
		setUp: func(_ *testing.T, s *commercetest.Store) map[string]string {
			body := `{"data": {"calculation_method": "simple"}}`
			s.Inject(commercetest.Fault{Operation: commercetest.OpSettings, Status: 200, Body: body, Times: -1})
			return nil
		}},
}

// Each situation is one FAIL, with what to do. What depends on it is skipped.
func TestDoctor_situations(t *testing.T) {
	t.Parallel()
	for _, tt := range situations {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := commercetest.New(t, commercetest.Config{DiscountsEnabled: true})
			s.Seed(3)
			cmd := exec.CommandContext(t.Context(), binary, "doctor", "--cart", s.AddCart(commerce.CartItemRef{}))
			cmd.Env = []string{"PATH=" + os.Getenv("PATH")}
			env := storeEnv(s)
			for name, value := range tt.setUp(t, s) {
				env[name] = value
			}
			for name, value := range env {
				cmd.Env = append(cmd.Env, name+"="+value)
			}
			var stdout, stderr bytes.Buffer
			cmd.Stdout, cmd.Stderr = &stdout, &stderr
			_ = cmd.Run()
			got := stdout.String()
			if fails := strings.Count(got, "FAIL"); fails != 1 || cmd.ProcessState.ExitCode() != exitFailed {
				t.Errorf("got %d failures and exit code %d, want 1 and %d", fails, cmd.ProcessState.ExitCode(), exitFailed)
			}
			failed := regexp.MustCompile(`(?s)FAIL.*?\n  to do: [^\n]*`).FindString(got)
			plainly := regexp.MustCompile(`\b\d+ ms +`).ReplaceAllString(failed, "")
			want := regexp.MustCompile(`\b\d+ ms +`).ReplaceAllString(tt.want, "")
			if !strings.Contains(plainly, want) || !strings.Contains(failed, tt.todo) || strings.Count(got, "to do: ") != 1 {
				t.Errorf("got\n%s%s, want %q, and %q to do", got, &stderr, tt.want, tt.todo)
			}
			t.Logf("\n%s", failed)
		})
	}
}

// What no test can set up without a network.
func TestDoctor_unreachable(t *testing.T) {
	t.Parallel()
	noHost := &net.OpError{Op: "dial", Err: &net.DNSError{IsNotFound: true}}
	for want, err := range map[string]error{
		"there is no host of this name": noHost,
		"no response within 10 s":       &net.OpError{Op: "dial", Err: os.ErrDeadlineExceeded},
		"no connection: other":          errors.New("other"),
	} {
		found, todo := unreachable(fmt.Errorf("wrapped: %w", err))
		if start, _, _ := strings.Cut(want, ":"); !strings.HasPrefix(found, start) || todo == "" {
			t.Errorf("%v: got %q and %q, want %q and what to do", err, found, todo, want)
		}
	}
}

// A clock that cannot be compared is no failure.
func TestDoctor_noDate(t *testing.T) {
	t.Parallel()
	s := commercetest.New(t, commercetest.Config{})
	env := storeEnv(s)
	env["COMMERCE_BASE_URL"] = late(t, s, "")["COMMERCE_BASE_URL"]
	got := caller{env: env}.run(t, "doctor")
	if got.code != 0 || !strings.Contains(got.stdout, "skip  clock") {
		t.Errorf("got %+v, want a clock that is unknown, and no failure", got)
	}
}

type setUp = func(t *testing.T, s *commercetest.Store) map[string]string

// front responds instead of the store.
func front(status int, contentType string, header http.Header) setUp {
	return func(t *testing.T, _ *commercetest.Store) map[string]string {
		t.Helper()
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			for name, values := range header {
				w.Header()[name] = values
			}
			w.Header().Set("Content-Type", contentType)
			w.WriteHeader(status)
		}))
		t.Cleanup(server.Close)
		return map[string]string{"COMMERCE_BASE_URL": server.URL}
	}
}

// late serves the store with another date.
func late(t *testing.T, s *commercetest.Store, date string) map[string]string {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header()["Date"] = []string{date}
		if date == "" {
			w.Header()["Date"] = nil // none is added
		}
		s.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	return map[string]string{"COMMERCE_BASE_URL": server.URL}
}

// forbidden is a refusal by the service.
const forbidden = `{"errors": [{"status": 403, "title": "Forbidden"}]}`

func refusing(operation commercetest.Operation) setUp {
	return func(_ *testing.T, s *commercetest.Store) map[string]string {
		authorized := func(in commercetest.Request) bool { return in.Header.Get("Authorization") != "" }
		s.Inject(commercetest.Fault{
			Operation: operation, Status: http.StatusForbidden, Body: forbidden, Times: -1, Match: authorized,
		})
		return nil
	}
}

// certified serves https with a certificate for an address that is valid until a time from now. The
// program trusts it.
func certified(t *testing.T, address string, until time.Duration) map[string]string {
	t.Helper()
	if runtime.GOOS != "linux" {
		t.Skip("only there SSL_CERT_FILE sets whom a program trusts")
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), IPAddresses: []net.IP{net.ParseIP(address)}, IsCA: true, BasicConstraintsValid: true,
		NotBefore: time.Now().Add(-2 * time.Hour), NotAfter: time.Now().Add(until),
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "root.pem")
	if err := os.WriteFile(path, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), 0o600); err != nil {
		t.Fatal(err)
	}
	server := httptest.NewUnstartedServer(http.NotFoundHandler())
	server.TLS = &tls.Config{Certificates: []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: key}}}
	server.Config.ErrorLog = log.New(io.Discard, "", 0)
	server.StartTLS()
	t.Cleanup(server.Close)
	return map[string]string{"COMMERCE_BASE_URL": server.URL, "SSL_CERT_FILE": path}
}
