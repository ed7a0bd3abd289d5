package secrets_test

import (
	"cmp"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net/http"
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

// value searches each rendering of v. For 10 values of each type it also searches the renderings of
// what a program may put v into: they depend on the type. If v is an error, value searches the
// errors that it wraps, and a copy of each Error.
func (s *search) value(t *testing.T, what string, v any) {
	t.Helper()
	list := holders(v)
	held, _ := s.held.LoadOrStore(reflect.TypeOf(v), new(atomic.Int64))
	if held.(*atomic.Int64).Add(1) > 10 {
		list = list[:1] // v alone
	}
	for _, h := range list {
		for how, text := range render(h) {
			s.text(t, fmt.Sprintf("%s: %T in a %T by %s", what, v, h.v, how), text)
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

// holder is a value, and the verbs to format it with.
type holder struct {
	v     any
	verbs []string
}

var (
	// fmt calls the Format method for formatVerbs, and the Error method for errorVerbs. In an
	// unexported field, it prints a pointer as an address for addressVerbs; for other verbs, it
	// prints the fields that the pointer leads to.
	formatVerbs = append([]string{"%d", "%t", "%c", "%U", "%o", "%b", "%e"}, errorVerbs...)
	errorVerbs  = []string{"%v", "%+v", "%#v", "%s", "%q", "%+q", "%#q", "%x", "%X", "% x", "%100v", "%.5s"}

	addressVerbs = []string{"%v", "%+v", "%#v", "%x", "%X", "%d", "%100v"}
	allVerbs     = append([]string{"%p"}, formatVerbs...)
)

// holders returns v, and what a program may put v into. The fields of an Error are exported, so fmt
// prints them if it does not call Format: holders leaves out those verbs, and copies of an Error in
// unexported fields.
func holders(v any) (list []holder) {
	type exported struct{ V any }
	type unexported struct{ v any }
	outside, inField, inError := allVerbs, allVerbs, allVerbs
	switch v.(type) {
	case commerce.Error:
		outside, inField = formatVerbs, nil
	case *commerce.Error:
		inField, inError = addressVerbs, errorVerbs
	}
	add := func(verbs []string, values ...any) {
		for _, v := range values {
			list = append(list, holder{v: v, verbs: verbs})
		}
	}
	add(outside, v, &v, []any{v}, [1]any{v}, map[string]any{"v": v}, exported{v}, &exported{v})
	if inField != nil {
		add(inField, unexported{v}, &unexported{v})
	}
	if err, ok := v.(error); ok {
		add(outside, []error{err}, struct{ Err error }{err}, &commerce.PagingError{Err: err}, commerce.PagingError{Err: err},
			&commerce.Error{Op: "outer", Err: err}, commerce.Error{Op: "outer", Err: err})
		add(inError, fmt.Errorf("a: %w", err), errors.Join(io.EOF, err))
	}
	return list
}

// render returns each text that a program may make of a value, by the way to make it.
func render(h holder) map[string]string {
	texts := map[string]string{}
	for _, verb := range h.verbs {
		texts[verb] = fmt.Sprintf(verb, h.v)
	}
	b, err := json.Marshal(h.v)
	texts["encoding/json"] = fmt.Sprintf("%s %v", b, err)
	log, logger := newLog()
	logger.With("with", h.v).WithGroup("group").Debug("m", "v", h.v, slog.Group("g", "v", h.v))
	texts["slog"] = log.String()
	if err, ok := h.v.(error); ok {
		texts["Error"] = err.Error()
	}
	return texts
}

// fault is a way for calls to go wrong.
type fault struct {
	address   string // default: base
	transport http.RoundTripper
	opts      []commerce.Option
}

// searchFaults makes every call into every fault, and an add with each kind of credentials, whose
// requests for tokens meet the same fault. It searches the errors and the responses, the log and
// the client.
func searchFaults(t *testing.T, faults map[string]fault) {
	t.Helper()
	s := newSearch(t)
	for name, f := range faults {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for how, auth := range credentials() {
				opts := append([]commerce.Option{auth, over(f.transport), commerce.WithInsecureHTTP()}, f.opts...)
				c, log := newClient(t, cmp.Or(f.address, base), opts...)
				for what, call := range everyCall() {
					if how != "static token" && what != "Carts.AddCustomDiscounts" {
						continue
					}
					resp, err := call(t.Context(), c)
					if err != nil {
						s.value(t, how+": "+what, err)
					}
					if resp != nil {
						s.value(t, how+": "+what, resp)
						s.value(t, how+": "+what, *resp)
					}
				}
				s.value(t, how+": client", c)
				s.value(t, how+": client", *c)
				s.text(t, how+": log", log.String())
			}
		})
	}
}

// The search finds what is planted, in each encoding.
func TestLeaks_search(t *testing.T) {
	t.Parallel()
	for name, secret := range secrets {
		planted := map[string]string{
			"as it is":            secret,
			"upper case":          strings.ToUpper(secret),
			"in a sentence":       "a " + secret + " b",
			"end truncated":       secret[:11],
			"beginning truncated": secret[4:16],
			"hex":                 hex.EncodeToString([]byte(secret)),
			"upper case hex":      fmt.Sprintf("%X", secret),
			"query":               url.QueryEscape(secret),
			"path":                url.PathEscape(secret),
			"escaped twice":       url.QueryEscape(url.QueryEscape(secret)),
			"quoted":              fmt.Sprintf("%q", secret),
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
		"string":              secretHeader,
		"bytes":               []byte(secretDetail),
		"struct":              struct{ S string }{secretProxy},
		"cause of an Error":   &commerce.Error{Err: errors.New(secretClient)},
		"request id of Error": &commerce.Error{RequestID: secretExternalID},
		"title in an Error":   &commerce.Error{Errors: []commerce.ErrorObject{{Title: secretToken}}},
	} {
		for _, h := range holders(v)[2:6] {
			texts := render(h)
			maps.DeleteFunc(texts, func(_, text string) bool { return find(text) == nil })
			if got, want := len(texts), len(h.verbs)/2; got < want {
				t.Errorf("%s in a %T: found in %d renderings, want at least %d", name, h.v, got, want)
			}
		}
	}
}
