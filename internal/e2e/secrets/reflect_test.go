// Package secrets_test looks for secrets in what a program can reach or print.
package secrets_test

import (
	"bytes"
	"context"
	"crypto/x509"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"reflect"
	"strings"
	"testing"
	"time"
	"unsafe"

	"github.com/commerce-go/commerce"
)

const (
	token    = "canary-token-0d51"
	header   = "canary-header-77ac"
	external = "canary-external-id-91be"
	detail   = "canary-detail-3cc0"
)

// reach returns all text that reflection leads to from v, as go-spew does: through
// unexported fields, pointers, interfaces, maps and slices, but not into functions.
func reach(v any) string {
	r := &reacher{seen: map[visit]bool{}}
	r.walk(reflect.ValueOf(v))
	return r.text.String()
}

type visit struct {
	at  unsafe.Pointer
	typ reflect.Type
}

type reacher struct {
	seen map[visit]bool
	text strings.Builder
}

func (r *reacher) walk(v reflect.Value) {
	switch v.Kind() {
	case reflect.String:
		r.text.WriteString(v.String() + "\n")
	case reflect.Pointer:
		isZone := v.Type() == reflect.TypeFor[*time.Location]() // shared by all, and loaded when first used
		if v.IsNil() || isZone || r.seen[visit{v.UnsafePointer(), v.Type()}] {
			return
		}
		r.seen[visit{v.UnsafePointer(), v.Type()}] = true
		r.walk(v.Elem())
	case reflect.Interface:
		if !v.IsNil() {
			r.walk(v.Elem())
		}
	case reflect.Struct:
		for _, field := range v.Fields() {
			r.walk(field)
		}
	case reflect.Slice, reflect.Array:
		if v.Type().Elem().Kind() == reflect.Uint8 {
			for i := range v.Len() {
				r.text.WriteByte(byte(v.Index(i).Uint()))
			}
			r.text.WriteByte('\n')
			return
		}
		for i := range v.Len() {
			r.walk(v.Index(i))
		}
	case reflect.Map:
		for _, key := range v.MapKeys() {
			r.walk(key)
			r.walk(v.MapIndex(key))
		}
	default: // numbers, functions, channels
	}
}

// TestReach shows that the search finds what is hidden from fmt only.
func TestReach(t *testing.T) {
	t.Parallel()
	type hidden struct{ list []any }
	text := token
	got := reach(map[string]*hidden{header: {list: []any{&text, []byte(detail)}}})
	for _, want := range []string{token, header, detail} {
		if !strings.Contains(got, want) {
			t.Errorf("%q is not found in %q", want, got)
		}
	}
	if got := reach(func() string { return text }); strings.Contains(got, token) {
		t.Errorf("%q is found behind a function", token)
	}
}

// TestReflection makes calls, whose connections stay open, and looks for their secrets
// behind the client and its options: a test that fails prints a client with go-spew.
func TestReflection(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		_, _ = io.Copy(io.Discard, req.Body)
		w.Header().Set("Set-Cookie", "session="+header)
		w.WriteHeader(http.StatusUnprocessableEntity)
		_, _ = fmt.Fprintf(w, `{"errors":[{"title":"refused","detail":%q}]}`, detail)
	}))
	t.Cleanup(server.Close)
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	hc := &http.Client{Transport: &http.Transport{}, Jar: jar}
	t.Cleanup(hc.CloseIdleConnections)
	for name, opts := range map[string][]commerce.Option{
		"own transport":      {commerce.WithToken(token)},
		"a user's transport": {commerce.WithToken(token), commerce.WithHTTPClient(hc)},
	} {
		opts = append(opts, commerce.WithHeader("X-Secret", header))
		client, err := commerce.New(server.URL, opts...)
		if err != nil {
			t.Fatal(err)
		}
		_, err = client.Carts.AddCustomDiscounts(t.Context(), "cart", []commerce.NewCustomDiscount{{
			Amount: commerce.NewDecimal(-1), Description: "d", DiscountCode: "c", DiscountEngine: "e", ExternalID: external,
		}}, nil)
		if commerce.OutcomeOf(err) != commerce.OutcomeRejected {
			t.Fatalf("%s: error %v, want a refusal", name, err)
		}
		if _, err := client.Subscriptions.List(t.Context(), nil); err == nil {
			t.Fatalf("%s: no error", name)
		}
		derived, err := client.With(opts...)
		if err != nil {
			t.Fatal(err)
		}
		for what, v := range map[string]any{"client": client, "copy": derived, "options": opts} {
			got := reach(v)
			for _, secret := range []string{token, header, external, detail} {
				if strings.Contains(got, secret) {
					t.Errorf("%s: %s leads to %s", name, what, secret)
				}
			}
		}
	}
}

// TestLog looks for network addresses and URLs in the events of a logger.
func TestLog(t *testing.T) {
	t.Parallel()
	const host, address = "store.example", "192.0.2.7"
	for name, cause := range map[string]error{
		"refused": &net.OpError{
			Op: "dial", Net: "tcp", Addr: &net.TCPAddr{IP: net.ParseIP(address), Port: 443}, Err: io.ErrUnexpectedEOF,
		},
		"no such host": &net.OpError{
			Op: "dial", Net: "tcp", Err: &net.DNSError{Err: "no such host", Name: host, Server: address + ":53"},
		},
		"DNS server is down": &net.OpError{
			Op: "dial", Net: "tcp", Err: &net.DNSError{Err: "read udp 127.0.0.1:5->" + address + ":53: refused", Name: host},
		},
		"wrong certificate": x509.HostnameError{Certificate: &x509.Certificate{}, Host: host},
		"bad address":       &net.AddrError{Err: "missing port in address", Addr: host},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var log bytes.Buffer
			logger := slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))
			dial := func(context.Context, string, string) (net.Conn, error) { return nil, cause }
			client, err := commerce.New("https://"+host, commerce.WithToken(token), commerce.WithLogger(logger),
				commerce.WithHTTPClient(&http.Client{Transport: &http.Transport{DialContext: dial}}),
				commerce.WithRetry(commerce.RetryPolicy{MaxAttempts: 2, MinBackoff: 1, MaxBackoff: 1}))
			if err != nil {
				t.Fatal(err)
			}
			if _, err := client.Subscriptions.List(t.Context(), nil); err == nil {
				t.Fatal("no error")
			}
			if !strings.Contains(log.String(), "error=") {
				t.Errorf("no event has the error:\n%s", &log)
			}
			for _, secret := range []string{host, address, ":443", ":53"} {
				if strings.Contains(log.String(), secret) {
					t.Errorf("the log holds %s:\n%s", secret, &log)
				}
			}
		})
	}
}
