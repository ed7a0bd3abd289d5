package fakestore

import (
	"errors"
	"fmt"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// notZero are members that make no sense with 0. Without them there is a default, which is not 0.
var notZero = []string{
	"add_status", "cart_discount_limit", "exchange_rate", "item_discount_limit", "max_page", "number", "page_length",
	"quantity", "rate_burst", "status", "timeout", "times", "token_life",
}

var zero = regexp.MustCompile(`^("0*(\.0*)?(ns|us|µs|ms|s|m|h)?"|-?0(\.0*)?)$`)

// refuseZero returns an error that names a member of notZero that is 0. It does not look at what a
// response has: a body and a header.
func refuseZero(path string, value jsontext.Value) error {
	var object map[string]jsontext.Value
	var list []jsontext.Value
	if value.Kind() == '{' {
		_ = json.Unmarshal(value, &object) // it was read before
	} else if value.Kind() == '[' {
		_ = json.Unmarshal(value, &list)
	}
	for i, element := range list {
		if err := refuseZero(fmt.Sprint(path, "/", i), element); err != nil {
			return err
		}
	}
	for _, name := range slices.Sorted(maps.Keys(object)) {
		at := path + "/" + name
		switch {
		case name == "body" || name == "header":
		case slices.Contains(notZero, name) && zero.Match(object[name]):
			return fmt.Errorf("member %q must not be 0: leave it out for the default", at)
		default:
			if err := refuseZero(at, object[name]); err != nil {
				return err
			}
		}
	}
	return nil
}

// header is the header of a response that a fault or a stub has.
type header map[string]texts

// texts are those of one name. Their JSON is a text, or a list of texts.
type texts []string

// UnmarshalJSON reads a text or a list of texts.
func (t *texts) UnmarshalJSON(text []byte) error {
	var one *string
	if json.Unmarshal(text, &one) == nil && one != nil {
		*t = texts{*one}
		return nil
	}
	if json.Unmarshal(text, (*[]string)(t)) != nil || *t == nil {
		return errors.New(`must be a text or a list of texts, such as "2"`)
	}
	return nil
}

var (
	headerName = regexp.MustCompile(`^[A-Za-z0-9-]+$`)
	// safe are the headers that are left to the server.
	safe = []string{
		"Content-Security-Policy", "X-Content-Type-Options", "Content-Length", "Transfer-Encoding", "Trailer",
	}
)

func (h header) validate() error {
	for name, values := range h {
		if !headerName.MatchString(name) || strings.ContainsAny(strings.Join(values, ""), "\r\n\x00") ||
			slices.Contains(safe, http.CanonicalHeaderKey(name)) {
			return fmt.Errorf("header must be that of a response, without %s", strings.Join(safe, ", "))
		}
	}
	return nil
}

// http returns h as the standard library has it.
func (h header) http() http.Header {
	if h == nil {
		return nil
	}
	values := http.Header{}
	for name, list := range h {
		for _, value := range list {
			values.Add(name, value)
		}
	}
	return values
}

// bodyText returns what is sent: a text as it is, other JSON as JSON. null is as absent.
func bodyText(body jsontext.Value) (text string) {
	if body.Kind() == 'n' {
		return ""
	}
	if body.Kind() == '"' && json.Unmarshal(body, &text) == nil {
		return text
	}
	return string(body)
}
