package commerce_test

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"log/slog"
	"net/url"
	"reflect"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/commerce-go/commerce"
)

// The canaries. Each has a core of 16 characters that occurs nowhere else, and
// of which no three quarters may be seen either, in whatever encoding.
const (
	leakToken    = "zq7kx2vw9jtokn4b.signed-part"
	leakEmail    = "qx8zvk3jw5emal9p+shop@mail.example"
	leakExternal = "vjx4qz9kw2extn7d 10%/ü"
	leakSecret   = "kzw5xjq8v3secr6m&more=1"
	leakHeader   = "jqv9zxk4w7hedr2c; value"
	leakDetail   = "xwk3qvz7j9detl5f <in a detail>"
	leakProxy    = "wvz6kjx3q8prxy4h"
)

var leakCanaries = map[string]string{
	"token": leakToken, "email": leakEmail, "external id": leakExternal, "client secret": leakSecret,
	"header value": leakHeader, "detail": leakDetail, "proxy password": leakProxy,
}

// needles are the texts that give a canary away: parts of its core of 8 bytes,
// plain, in hex and as numbers, and the core in base64 wherever it may begin.
var needles = sync.OnceValue(func() map[string]string {
	list := map[string]string{}
	for name, canary := range leakCanaries {
		core := canary[:16]
		for i := 0; i <= 8; i += 4 {
			part := core[i : i+8]
			list[part] = name + " as it is"
			list[hex.EncodeToString([]byte(part))] = name + " in hex"
			list[fmt.Sprintf("% x", part)] = name + " in spaced hex"
			list[strings.ToLower(strings.Trim(fmt.Sprintf("%#v", []byte(part)), "[]byte{}"))] = name + " as Go bytes"
			list[strings.Trim(fmt.Sprintf("%d", []byte(part)), "[]")] = name + " as numbers"
			list[strings.ToLower(strings.Trim(fmt.Sprintf("%U", []rune(part)), "[]"))] = name + " as code points"
		}
		for pad := range 3 {
			// What precedes and follows shares the first and the last characters.
			text := base64.RawStdEncoding.EncodeToString([]byte(strings.Repeat("x", pad) + core))
			list[strings.ToLower(text[(pad*4+2)/3:len(text)-2])] = name + " in base64"
		}
	}
	return list
})

// grams is a filter: the hashes of all runs of 4 bytes in needles, which are 8
// bytes long at least. A text that holds a needle has one of these runs at an
// offset that 5 divides.
var grams = sync.OnceValue(func() *[1 << 16]bool {
	var set [1 << 16]bool
	for needle := range needles() {
		for i := range len(needle) - 3 {
			set[gram(needle, i)] = true
		}
	}
	return &set
})

func gram(s string, i int) uint16 {
	n := uint32(s[i]) | uint32(s[i+1])<<8 | uint32(s[i+2])<<16 | uint32(s[i+3])<<24
	return uint16(n * 2654435761 >> 16)
}

// leaksIn returns what a text gives away.
func leaksIn(text string) []string {
	text = strings.ToLower(text)
	set, suspect := grams(), false
	for i := 0; i+4 <= len(text) && !suspect; i += 5 {
		suspect = set[gram(text, i)]
	}
	if !suspect {
		return nil
	}
	var found []string
	for needle, what := range needles() {
		if strings.Contains(text, needle) && !slices.Contains(found, what) {
			found = append(found, what)
		}
	}
	slices.Sort(found)
	return found
}

// leakVerbs are the ways to format a value.
var leakVerbs = []string{"%v", "%+v", "%#v", "%s", "%q", "%+q", "%#q", "%x", "%X", "% x", "%d", "%t", "%c", "%U", "%o", "%b", "%e", "%T", "%p", "%100v", "%.5s"}

// rendering is one text made of a value.
type rendering struct{ how, text string }

// render returns a value in every way to print, log or encode it.
func render(v any) []rendering {
	var all []rendering
	add := func(how, text string) { all = append(all, rendering{how, text}) }
	for _, verb := range leakVerbs {
		add(verb, fmt.Sprintf(verb, v))
	}
	add("Sprintln", fmt.Sprintln(v))
	b, err := json.Marshal(v)
	add("JSON", fmt.Sprintf("%s %v", b, err))
	var out bytes.Buffer
	log.New(&out, "", 0).Print(v)
	add("log", out.String())
	for name, h := range map[string]slog.Handler{
		"slog text": slog.NewTextHandler(&out, &slog.HandlerOptions{Level: slog.LevelDebug}),
		"slog JSON": slog.NewJSONHandler(&out, &slog.HandlerOptions{Level: slog.LevelDebug, AddSource: true}),
	} {
		out.Reset()
		slog.New(h).With("with", v).WithGroup("group").Debug("m", "v", v, slog.Group("g", "v", v))
		add(name, out.String())
	}
	if err, ok := v.(error); ok {
		add("Error", err.Error())
		add("wrapped", fmt.Sprintf("%v|%+v|%#v", fmt.Errorf("w: %w", err), fmt.Errorf("w: %w", err), fmt.Errorf("w: %w", err)))
		joined := errors.Join(err, io.EOF, err)
		add("joined", fmt.Sprintf("%v|%+v|%#v|%q", joined, joined, joined, joined))
	}
	if s, ok := v.(fmt.Stringer); ok {
		add("String", s.String())
	}
	if s, ok := v.(fmt.GoStringer); ok {
		add("GoString", s.GoString())
	}
	return all
}

// around returns a value, and what a program may have put it into.
func around(v any) []any {
	type exported struct{ V any }
	type unexported struct{ v any }
	list := []any{v, []any{v}, map[string]any{"v": v}, [1]any{v}, exported{v}, &exported{v}, unexported{v}, &unexported{v}, &v, []exported{{v}}, map[int][]any{1: {v}}}
	if err, ok := v.(error); ok {
		type named struct{ Err error }
		list = append(list, []error{err}, named{err}, map[string]error{"err": err}, fmt.Errorf("a: %w", err), errors.Join(io.EOF, err),
			&commerce.PagingError{Err: err}, commerce.PagingError{Err: err}, &commerce.Error{Op: "outer", Err: err}, commerce.Error{Op: "outer", Err: err})
	}
	return list
}

// chain returns an error and all that it leads to.
func chain(err error) []error {
	if err == nil {
		return nil
	}
	list := []error{err}
	switch e := err.(type) { //nolint:errorlint // walks the chain itself
	case interface{ Unwrap() error }:
		list = append(list, chain(e.Unwrap())...)
	case interface{ Unwrap() []error }:
		for _, e := range e.Unwrap() {
			list = append(list, chain(e)...)
		}
	}
	return list
}

// leakCheck looks for canaries in renderings, and counts these.
type leakCheck struct {
	values, renderings, calls atomic.Int64
	clean                     sync.Map // texts that give nothing away
	found                     atomic.Int64
}

// text checks one text. It reports whether it gives nothing away.
func (l *leakCheck) text(t *testing.T, what, how, text string) bool {
	t.Helper()
	l.renderings.Add(1)
	if _, ok := l.clean.Load(text); ok {
		return true
	}
	if found := leaksIn(text); found != nil {
		t.Fail()
		if l.found.Add(1) <= 10 { // enough to read
			t.Logf("%s by %s gives away %v:\n%.600s", what, how, found, text)
		}
		return false
	}
	l.clean.Store(text, nil)
	return true
}

// beyondMethods reports whether fmt prints an Error's fields whatever its methods
// say: in an unexported field it asks no method. There a pointer, which is what
// the library returns, shows as an address, but for verbs that addresses do not
// have; a copy shows as it is, as it does by %p, which asks no method either. The fields are exported, for code that asks.
func beyondMethods(v, in any, how string) bool {
	_, pointer := v.(*commerce.Error)
	_, value := v.(commerce.Error)
	if value && how == "%p" {
		return true
	}
	hides := false
	if rt := reflect.Indirect(reflect.ValueOf(in)).Type(); rt.Kind() == reflect.Struct {
		for f := range rt.Fields() {
			hides = hides || !f.IsExported() && f.Type.Kind() != reflect.String
		}
	}
	if !hides || !strings.HasPrefix(how, "%") && how != "Sprintln" {
		return hides && value && !isError(in)
	}
	if isError(in) { // prints its text for the verbs of texts
		return (pointer || value) && !slices.Contains([]string{"%v", "%+v", "%#v", "%s", "%q", "%+q", "%#q", "%x", "%X", "% x", "%100v", "%.5s", "%T", "%p"}, how)
	}
	return value || pointer && !slices.Contains([]string{"%v", "%+v", "%#v", "%x", "%X", "%d", "%T", "%p", "%100v", "Sprintln"}, how)
}

func isError(v any) bool {
	_, ok := v.(error)
	return ok
}

// value checks a value in every rendering, and what it may be put into. An error
// is checked with all that it leads to.
func (l *leakCheck) value(t *testing.T, what string, v any, wrapped bool) {
	t.Helper()
	vs := []any{v}
	if err, ok := v.(error); ok {
		vs = vs[:0]
		for _, e := range chain(err) {
			vs = append(vs, e)
		}
		if e, ok := errors.AsType[*commerce.Error](err); ok {
			vs = append(vs, *e) // a caller may have copied it
		}
	}
	for _, v := range vs {
		in := around(v)
		if !wrapped {
			in = in[:1]
		}
		for _, w := range in {
			l.values.Add(1)
			for _, r := range render(w) {
				if beyondMethods(v, w, r.how) {
					continue
				}
				if !l.text(t, fmt.Sprintf("%s: a %T in a %T", what, v, w), r.how, r.text) {
					return // one is enough to read
				}
			}
		}
	}
}

// TestLeaks_checker plants canaries and has the checker find them.
func TestLeaks_checker(t *testing.T) {
	t.Parallel()
	for name, canary := range leakCanaries {
		planted := map[string]string{
			"as it is":       canary,
			"in upper case":  strings.ToUpper(canary),
			"in a sentence":  "a " + canary + " b",
			"cut at its end": canary[:11],
			"cut before":     canary[4:16],
			"hex":            hex.EncodeToString([]byte(canary)),
			"HEX":            fmt.Sprintf("%X", canary),
			"spaced hex":     fmt.Sprintf("% x", canary),
			"query":          url.QueryEscape(canary),
			"path":           url.PathEscape(canary),
			"twice escaped":  url.QueryEscape(url.QueryEscape(canary)),
			"quoted":         fmt.Sprintf("%q", canary),
			"quoted twice":   fmt.Sprintf("%q", fmt.Sprintf("%+q", canary)),
			"bytes":          fmt.Sprintf("%d", []byte(canary)),
			"Go bytes":       fmt.Sprintf("%#v", []byte(canary)),
			"code points":    fmt.Sprintf("%U", []rune(canary)),
		}
		for pad := range 3 {
			text := []byte(strings.Repeat("?", pad) + canary + "?")
			planted[fmt.Sprint("base64 at ", pad)] = base64.StdEncoding.EncodeToString(text)
			planted[fmt.Sprint("URL base64 at ", pad)] = base64.RawURLEncoding.EncodeToString(text)
		}
		for how, text := range planted {
			if found := leaksIn(text); len(found) == 0 || !strings.HasPrefix(found[0], name) {
				t.Errorf("%s, %s: %v found in %s", name, how, found, text)
			}
		}
		// In a value, by nearly every way to render it, and in what it was put into.
		for _, v := range []any{errors.New(canary), &url.Error{Op: "Get", URL: canary, Err: io.EOF}, canary, []byte(canary), struct{ S string }{canary}} {
			for _, w := range around(v)[:5] {
				if n := shownIn(w); n < len(leakVerbs)/2 {
					t.Errorf("%s: a %T in a %T is found in %d renderings only", name, v, w, n)
				}
			}
		}
	}
	for _, text := range []string{"", "commerce: Carts.AddCustomDiscounts: 503 Service Unavailable", "0x7a0x71", base64.StdEncoding.EncodeToString([]byte("nothing of the kind"))} {
		if found := leaksIn(text); found != nil {
			t.Errorf("%v found in %q", found, text)
		}
	}
	// The library's own types hide nothing that a caller puts into what is printed.
	for _, e := range []*commerce.Error{{Err: errors.New(leakToken)}, {RequestID: leakToken}, {Errors: []commerce.ErrorObject{{Title: leakToken}}}} {
		if n := shownIn(e); n < len(leakVerbs)/2 {
			t.Errorf("found in %d renderings only", n)
		}
	}
	var hidden struct{ client holder }
	hidden.client.inner = &holder{text: leakToken}
	if leaksIn(deepText(hidden)) == nil {
		t.Error("not found by a walk through unexported fields")
	}
}

type holder struct {
	text  string
	inner *holder
}

// shownIn counts the renderings of v that hold a canary.
func shownIn(v any) int {
	n := 0
	for _, r := range render(v) {
		if leaksIn(r.text) != nil {
			n++
		}
	}
	return n
}

// deepText collects every string and byte slice that can be reached from v, as a
// printer would that follows pointers and unexported fields.
func deepText(v any) string {
	var out strings.Builder
	seen := map[[2]uintptr]bool{}
	var walk func(rv reflect.Value)
	walk = func(rv reflect.Value) {
		switch rv.Kind() {
		case reflect.String:
			out.WriteString(rv.String() + "\n")
		case reflect.Pointer, reflect.Interface:
			if rv.IsNil() {
				return
			}
			if rv.Kind() == reflect.Pointer {
				key := [2]uintptr{rv.Pointer(), reflect.ValueOf(rv.Type()).Pointer()}
				if seen[key] {
					return
				}
				seen[key] = true
			}
			walk(rv.Elem())
		case reflect.Struct:
			for _, field := range rv.Fields() {
				walk(field)
			}
		case reflect.Slice, reflect.Array:
			if rv.Type().Elem().Kind() == reflect.Uint8 && rv.Kind() == reflect.Slice {
				out.Write(append(rv.Bytes(), '\n'))
				return
			}
			for i := range rv.Len() {
				walk(rv.Index(i))
			}
		case reflect.Map:
			for it := rv.MapRange(); it.Next(); {
				walk(it.Key())
				walk(it.Value())
			}
		default: // numbers, and functions, which hold what must not be printed
		}
	}
	walk(reflect.ValueOf(v))
	return out.String()
}
