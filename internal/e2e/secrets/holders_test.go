package secrets_test

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/commerce-go/commerce"
)

// reach returns all text that reflection leads to from v, as go-spew and go-cmp do: through
// unexported fields, pointers, interfaces, maps and slices, but not into functions.
func reach(v any) string {
	r := &reacher{seen: map[any]bool{}}
	r.walk(reflect.ValueOf(v))
	return r.text.String()
}

type reacher struct {
	seen map[any]bool // pointers, with their types
	text strings.Builder
}

func (r *reacher) walk(v reflect.Value) {
	switch v.Kind() {
	case reflect.String:
		r.text.WriteString(v.String() + "\n")
	case reflect.Uint8:
		r.text.WriteByte(byte(v.Uint())) // an element of a []byte
	case reflect.Pointer, reflect.Interface:
		isZone := v.Type() == reflect.TypeFor[*time.Location]() // shared by all, and loaded when first used
		if v.IsNil() || isZone {
			return
		}
		if v.Kind() == reflect.Pointer {
			key := [2]any{v.Type(), v.Pointer()}
			if r.seen[key] {
				return
			}
			r.seen[key] = true
		}
		r.walk(v.Elem())
	case reflect.Struct:
		for _, field := range v.Fields() {
			r.walk(field)
		}
	case reflect.Slice, reflect.Array:
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

// The walk finds what is hidden from fmt, but not what a function keeps.
func TestLeaks_reach(t *testing.T) {
	t.Parallel()
	type hidden struct{ list []any }
	text := secretToken
	got := reach(map[string]*hidden{secretHeader: {list: []any{&text, []byte(secretDetail)}}})
	for _, want := range []string{secretToken, secretHeader, secretDetail} {
		if !strings.Contains(got, want) {
			t.Errorf("reach() = %q, want %q in it", got, want)
		}
	}
	if got := reach(func() string { return text }); got != "" {
		t.Errorf("reach(a function) = %q, want nothing", got)
	}
}

// Clients, options and services hide their secrets from all printers, after calls over connections
// that stay open. A test that fails prints a client with go-spew.
func TestLeaks_holders(t *testing.T) {
	t.Parallel()
	s := newSearch(t)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		if req.URL.Path == "/oauth/access_token" {
			_, _ = fmt.Fprintf(w, `{"access_token":%q,"refresh_token":%q}`, secretToken, secretClient)
			return
		}
		w.Header().Set("Set-Cookie", "session="+secretHeader)
		w.WriteHeader(http.StatusUnprocessableEntity)
		_, _ = io.WriteString(w, expand(errorsBody, describe(req)))
	}))
	t.Cleanup(server.Close)
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	hc := &http.Client{Transport: &http.Transport{}, Jar: jar}
	t.Cleanup(hc.CloseIdleConnections)
	for name, auth := range credentials() {
		for how, connect := range map[string]commerce.Option{
			"own transport":          commerce.WithUserAgent("shop/1"),
			"transport of a program": commerce.WithHTTPClient(hc),
		} {
			opts := []commerce.Option{auth, connect, commerce.WithHeader("X-Other", secretEmail), commerce.WithInsecureHTTP()}
			c, _ := newClient(t, server.URL, opts...)
			derived, err := c.With(commerce.WithHeader("X-Third", secretHeader))
			if err != nil {
				t.Fatal(err)
			}
			for what, call := range someCalls() {
				if _, err := call(t.Context(), c); !errors.Is(err, commerce.ErrUnprocessable) {
					t.Errorf("%s: error %v, want ErrUnprocessable", what, err)
				}
			}
			for what, v := range map[string]any{
				"client": c, "client value": *c, "copy": derived, "options": opts, "option": auth, "header": opts[2],
				"carts": c.Carts, "carts value": *c.Carts,
				"subscriptions": c.Subscriptions, "subscriptions value": *c.Subscriptions,
			} {
				what = name + ", " + how + ": " + what
				s.value(t, what, v)
				s.text(t, what+" by reflection", reach(v))
			}
		}
	}
}

// Nothing but Body and ContentType shows the body of an error, nor its type.
func TestLeaks_raw(t *testing.T) {
	t.Parallel()
	s := newSearch(t)
	c, _ := newClient(t, base, over(transport(func(req *http.Request) (*http.Response, error) {
		resp, err := echo(http.StatusForbidden, htmlBody)(req)
		resp.Header.Set("Content-Type", secretDetail)
		return resp, err
	})))
	for name, call := range someCalls() {
		_, err := call(t.Context(), c)
		e, _ := errors.AsType[*commerce.Error](err)
		if e == nil || find(string(e.Body())) == nil || find(e.ContentType()) == nil {
			t.Fatalf("%s: error %v, want one with secrets in its body", name, err)
		}
		s.value(t, name, err)
		s.value(t, name+": Raw", e.Raw)
		s.text(t, name+": by reflection", reach(e))
		other := *e
		other.Errors = []commerce.ErrorObject{{Detail: "a"}} // not in the text: cmp.Diff shows the fields
		s.text(t, name+": difference", cmp.Diff(e, &other))
	}
}
