package secrets_test

import (
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net/url"
	"reflect"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/commerce-go/commerce"
)

// Each secret begins with 16 letters and digits, its core, which occurs nowhere else. URLs, JSON
// and %q leave the core as it is; they change the rest.
const (
	secretToken      = "zq7kx2vw9jtokn4b.signed-part"
	secretEmail      = "qx8zvk3jw5emal9p+shop@mail.example"
	secretExternalID = "vjx4qz9kw2extn7d 10%/ü"
	secretClient     = "kzw5xjq8v3secr6m&more=1"
	secretHeader     = "jqv9zxk4w7hedr2c; value"
	secretDetail     = "xwk3qvz7j9detl5f <in a detail>"
	secretProxy      = "wvz6kjx3q8prxy4h"

	allSecrets = secretToken + " " + secretEmail + " " + secretExternalID + " " + secretClient + " " +
		secretHeader + " " + secretDetail + " " + secretProxy
)

var secrets = map[string]string{
	"token": secretToken, "email": secretEmail, "external id": secretExternalID, "client secret": secretClient,
	"header value": secretHeader, "detail": secretDetail, "proxy password": secretProxy,
}

// trace is a text in lower case that reveals a secret.
type trace struct{ text, what string }

// Half a core is enough to reveal a secret, because texts may be truncated.
var traces = sync.OnceValue(func() (list []trace) {
	for name, secret := range secrets {
		core := secret[:16]
		for _, half := range []string{core[:8], core[8:]} {
			numbers := strings.Trim(fmt.Sprintf("%d", []byte(half)), "[]")
			list = append(list, trace{half, name}, trace{hex.EncodeToString([]byte(half)), name + " in hex"},
				trace{numbers, name + " as byte values"})
		}
		for offset := range 3 { // base64 depends on the offset modulo 3; its first and last characters on the neighbours
			text := base64.RawStdEncoding.EncodeToString([]byte(strings.Repeat("x", offset) + core))
			text = text[(offset*4+2)/3 : len(text)-2]
			list = append(list, trace{strings.ToLower(text), name + " in base64"})
		}
	}
	return list
})

// find returns what a text reveals.
func find(text string) (found []string) {
	text = strings.ToLower(text)
	for _, t := range traces() {
		if strings.Contains(text, t.text) {
			found = append(found, t.what)
		}
	}
	slices.Sort(found)
	return slices.Compact(found)
}

// search looks for secrets in texts and in all renderings of values.
type search struct {
	renderings, leaks atomic.Int64
	clean             sync.Map // texts without secrets; most renderings repeat one
	held              sync.Map // the number of values, by type
}

// newSearch returns a search that logs at the end of the test what it did.
func newSearch(t *testing.T) *search {
	t.Helper()
	s := &search{}
	t.Cleanup(func() { t.Logf("%d renderings searched, %d leaks", s.renderings.Load(), s.leaks.Load()) })
	return s
}

func (s *search) text(t *testing.T, what, text string) {
	t.Helper()
	s.renderings.Add(1)
	if _, ok := s.clean.Load(text); ok {
		return
	}
	found := find(text)
	if found == nil {
		s.clean.Store(text, nil)
		return
	}
	t.Fail()
	if s.leaks.Add(1) <= 10 { // enough to read
		t.Logf("%s reveals %v, want no secret:\n%.600s", what, found, text)
	}
}

// value searches each rendering of v. For 5 values of each type it also searches the renderings of
// what a program may put v into: they depend on the type. If v is an error, value searches the
// errors that it wraps, and a copy of each Error.
func (s *search) value(t *testing.T, what string, v any) {
	t.Helper()
	list := holders(v)
	held, _ := s.held.LoadOrStore(reflect.TypeOf(v), new(atomic.Int64))
	if held.(*atomic.Int64).Add(1) > 5 {
		list = list[:1] // v alone
	}
	for _, h := range list {
		for how, text := range render(h) {
			s.text(t, fmt.Sprintf("%s: %T in a %T by %s", what, v, h, how), text)
		}
	}
	switch v := v.(type) {
	case *commerce.Error:
		s.value(t, what, *v)
		if v.Err != nil {
			s.value(t, what, v.Err)
		}
	case interface{ Unwrap() error }:
		if inner := v.Unwrap(); inner != nil {
			s.value(t, what, inner)
		}
	case interface{ Unwrap() []error }:
		for _, inner := range v.Unwrap() {
			s.value(t, what, inner)
		}
	}
}

// unexported holds a value in a field in which fmt calls no methods.
type unexported struct{ v any }

// holders returns v, and what a program may put v into. The fields of an Error are exported, so fmt
// prints them in an unexported field: holders leaves out that.
func holders(v any) []any {
	type exported struct{ V any }
	list := []any{v, &v, []any{v}, map[string]any{"v": v}, exported{v}, &exported{v}}
	if _, ok := v.(commerce.Error); !ok {
		list = append(list, unexported{v}, &unexported{v})
	}
	if err, ok := v.(error); ok {
		list = append(list, fmt.Errorf("a: %w", err), errors.Join(io.EOF, err), &commerce.PagingError{Err: err},
			commerce.PagingError{Err: err}, &commerce.Error{Op: "outer", Err: err}, commerce.Error{Op: "outer", Err: err})
	}
	return list
}

// render returns each text that a program may make of a value, by the way to make it.
func render(v any) map[string]string {
	texts := map[string]string{}
	for _, verb := range []string{"%v", "%+v", "%#v", "%x", "%d", "%s", "%q", "%.5s"} {
		texts[verb] = fmt.Sprintf(verb, v)
	}
	switch v.(type) {
	case unexported, *unexported: // fmt prints the fields of a pointer with a verb that pointers don't have
		for _, verb := range []string{"%s", "%q", "%.5s"} {
			delete(texts, verb)
		}
	}
	b, err := json.Marshal(v)
	texts["encoding/json"] = fmt.Sprintf("%s %v", b, err)
	log, logger := newLog()
	logger.With("with", v).WithGroup("group").Debug("m", "v", v, slog.Group("g", "v", v))
	texts["slog"] = log.String()
	if err, ok := v.(error); ok {
		texts["Error"] = err.Error()
	}
	return texts
}

// The search finds what is planted, in each encoding.
func TestLeaks_search(t *testing.T) {
	t.Parallel()
	for name, secret := range secrets {
		planted := map[string]string{
			"upper case":          strings.ToUpper(secret),
			"in a sentence":       "a " + secret + " b",
			"end truncated":       secret[:11],
			"beginning truncated": secret[4:16],
			"upper case hex":      fmt.Sprintf("%X", secret),
			"query":               url.QueryEscape(secret),
			"path":                url.PathEscape(secret),
			"quoted twice":        fmt.Sprintf("%q", fmt.Sprintf("%+q", secret)),
			"JSON":                expand("$JSON", secret),
			"byte values":         fmt.Sprintf("%d", []byte(secret)),
		}
		for offset := range 3 {
			text := []byte(strings.Repeat("?", offset) + secret + "?")
			planted[fmt.Sprint("base64 at ", offset)] = base64.StdEncoding.EncodeToString(text)
			planted[fmt.Sprint("URL base64 at ", offset)] = base64.RawURLEncoding.EncodeToString(text)
		}
		for how, text := range planted {
			if found := find(text); len(found) == 0 || !strings.HasPrefix(found[0], name) {
				t.Errorf("find(%q) = %v, want the %s: %s", text, found, name, how)
			}
		}
	}
	const harmless = "commerce: Carts.AddCustomDiscounts: 503 Service Unavailable 0x7a0x71"
	for _, text := range []string{"", harmless, base64.StdEncoding.EncodeToString([]byte(harmless))} {
		if found := find(text); found != nil {
			t.Errorf("find(%q) = %v, want nothing", text, found)
		}
	}
}

// Values that show a secret do so in most renderings, whatever they are put into.
func TestLeaks_searchOfValues(t *testing.T) {
	t.Parallel()
	for name, v := range map[string]any{
		"error":               errors.New(secretToken),
		"url.Error":           &url.Error{Op: "Get", URL: secretEmail, Err: io.EOF},
		"bytes":               []byte(secretDetail),
		"struct":              struct{ S string }{secretProxy},
		"cause of an Error":   &commerce.Error{Err: errors.New(secretClient)},
		"request id of Error": &commerce.Error{RequestID: secretExternalID},
		"title in an Error":   &commerce.Error{Errors: []commerce.ErrorObject{{Title: secretToken}}},
	} {
		for _, h := range holders(v)[2:6] {
			texts := render(h)
			all := len(texts)
			maps.DeleteFunc(texts, func(_, text string) bool { return find(text) == nil })
			if got := len(texts); got < all/2 {
				t.Errorf("%s in a %T: found in %d renderings, want at least %d", name, h, got, all/2)
			}
		}
	}
}
