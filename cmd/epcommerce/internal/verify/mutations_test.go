package verify

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/commerce-go/commerce/commercetest"
)

// response is one that a mutation changes.
type response struct {
	r      *http.Request
	status int
	header http.Header
	body   any
}

// mutations are stores that are wrong in one way.
var mutations = map[string]func(*response){
	"accepts all": func(in *response) {
		if in.status/100 == 4 {
			in.status, in.body = http.StatusOK, map[string]any{"data": []any{}}
		}
	},
	"refuses a read": func(in *response) {
		if in.r.Method == http.MethodGet {
			in.status, in.body = http.StatusConflict, nil
		}
	},
	"refuses some writes": func(in *response) {
		isItem := strings.HasSuffix(in.r.URL.Path, "/items") && in.r.Method == http.MethodPost
		if isItem || in.r.Method == http.MethodDelete || strings.HasSuffix(in.r.URL.Path, "/custom-discounts") {
			in.status = http.StatusConflict
		}
	},
	"other successes": func(in *response) { in.status += 3 * (1 - min(1, in.status/300)) },
	"other titles":    func(in *response) { edit(in.body, "title", func(any) any { return "Other" }) },
	"no titles":       func(in *response) { edit(in.body, "title", func(any) any { return nil }) },
	"errors around":   func(in *response) { in.body = aroundErrors(in) },
	"a total": func(in *response) {
		set(in.body, "meta", map[string]any{"results": map[string]any{"total": 1}})
	},
	"a status":         func(in *response) { addStatus(in.body) },
	"numbers halved":   func(in *response) { edit(in.body, "amount", half) },
	"other quantities": func(in *response) { edit(in.body, "quantity", half) },
	"lists reversed": func(in *response) {
		lists(in.body, func(list []any) []any {
			slices.Reverse(list)
			return list
		})
	},
	"lists empty": func(in *response) { lists(in.body, func([]any) []any { return []any{} }) },
	"lists without end": func(in *response) {
		lists(in.body, func(list []any) []any { return append(list, map[string]any{"id": "more"}) })
	},
	"other accounts": func(in *response) { edit(in.body, "account_id", func(any) any { return "other" }) },
	"other ids": func(in *response) {
		edit(in.body, "id", func(v any) any { s, _ := v.(string); return s + "x" + in.r.Method })
	},
	"other texts": func(in *response) {
		for _, name := range []string{"description", "external_id", "name", "discount_code"} {
			edit(in.body, name, func(any) any { return "other" })
		}
	},
	"no times": func(in *response) {
		for _, name := range []string{"created_at", "updated_at", "expires_at"} {
			edit(in.body, name, func(any) any { return "2020-01-01" })
		}
	},
	"sorted by change": func(in *response) {
		n := 100
		edit(in.body, "updated_at", func(any) any { n--; return fmt.Sprintf("2020-01-01T00:00:00.%03dZ", n) })
		edit(in.body, "created_at", func(any) any { n++; return fmt.Sprintf("2020-01-01T00:00:%02d.000Z", 7*n%60) })
	},
	"short pages": func(in *response) {
		if in.r.URL.RawQuery == "" {
			lists(in.body, func(list []any) []any { return list[:max(0, len(list)-1)] })
		}
	},
	"subtotal differs": func(in *response) {
		edit(in.body, "without_discount", func(any) any { return map[string]any{"amount": rand.IntN(1e9)} })
	},
	"always included": func(in *response) {
		if in.r.Method == http.MethodGet && strings.Contains(in.r.URL.Path, cartPrefix) {
			set(in.body, "included", map[string]any{
				"items": []any{map[string]any{"type": "custom_item"}}, "custom_discounts": []any{map[string]any{"id": "1"}},
			})
		}
	},
	"late reads":    func(in *response) { set(in.body, "included", nil) },
	"no currency":   func(in *response) { edit(in.body, "code", func(any) any { return nil }) },
	"method simple": func(in *response) { edit(in.body, "calculation_method", func(any) any { return "simple" }) },
	"same state": func(in *response) {
		edit(in.body, "state", func(any) any { return map[string]any{"id": "1"} })
	},
	"a reset":        func(in *response) { in.header.Set("X-RateLimit-Reset", "1") },
	"never canceled": func(in *response) { edit(in.body, "canceled", func(any) any { return false }) },
	"no flags":       func(in *response) { edit(in.body, "paused", func(any) any { return nil }) },
	"no included":    func(in *response) { set(in.body, "included", nil) },
	"enabled":        func(in *response) { edit(in.body, "custom_discounts_enabled", func(any) any { return true }) },
	"no settings":    func(in *response) { edit(in.body, "page_length", func(any) any { return nil }) },
}

func half(v any) any {
	n, ok := v.(float64)
	if !ok {
		return v
	}
	return n / 2
}

// edit changes the members of this name, at any depth.
func edit(v any, name string, change func(any) any) {
	switch v := v.(type) {
	case []any:
		for _, in := range v {
			edit(in, name, change)
		}
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(v)) {
			edit(v[key], name, change)
			if key == name {
				v[key] = change(v[key])
			}
		}
	}
}

// set sets a member of an object.
func set(v any, name string, value any) {
	if o, ok := v.(map[string]any); ok {
		o[name] = value
	}
}

// lists changes the list in data, and those in included.
func lists(v any, change func([]any) []any) {
	o, _ := v.(map[string]any)
	if list, ok := o["data"].([]any); ok {
		o["data"] = change(list)
	}
	included, _ := o["included"].(map[string]any)
	for name := range included {
		if list, ok := included[name].([]any); ok {
			included[name] = change(list)
		}
	}
}

func aroundErrors(in *response) any {
	if o, ok := in.body.(map[string]any); ok && in.status >= 400 && o["errors"] == nil {
		return map[string]any{"errors": []any{o}}
	}
	return in.body
}

func addStatus(v any) {
	o, _ := v.(map[string]any)
	if errors, ok := o["errors"].([]any); ok && len(errors) > 0 {
		set(errors[0], "status", "400")
	}
}

// early are mutations that the first facts see.
var early = map[string]bool{"no settings": true, "late reads": true, "no currency": true, "method simple": true}

// Each fact can be another than the same: there is a switch or a wrong store that shows it.
func TestFacts_canDiffer(t *testing.T) {
	t.Parallel()
	differs := map[string][]string{}
	for _, name := range slices.Sorted(maps.Keys(mutations)) {
		synctest.Test(t, func(t *testing.T) {
			s := commercetest.New(t, usual())
			s.Seed(22)
			var n atomic.Int64
			r := run(t.Context(), t, transport(func(r *http.Request) (*http.Response, error) {
				resp, err := s.Transport().RoundTrip(r)
				isFirst := n.Add(1) <= 8
				isRemoval := r.Method == http.MethodDelete && strings.Count(r.URL.Path, "/") == 3
				if err != nil || isFirst && !early[name] || !isFirst && name == "late reads" || isRemoval {
					return resp, err
				}
				in := response{r: r, status: resp.StatusCode, header: resp.Header}
				body, _ := io.ReadAll(resp.Body)
				_ = json.Unmarshal(body, &in.body) // nil if it is not JSON
				mutations[name](&in)
				body, err = json.Marshal(in.body)
				resp.StatusCode, resp.Body, resp.ContentLength = in.status, io.NopCloser(bytes.NewReader(body)), int64(len(body))
				return resp, err
			}), everything(s))
			for _, in := range r.Results {
				if in.Verdict == Differs || in.Verdict == Allowed {
					differs[in.Fact] = append(differs[in.Fact], name)
				}
			}
		})
	}
	for _, s := range switches {
		for _, want := range s.want {
			if verdict, fact, _ := strings.Cut(want, " f-"); verdict != string(NotAsked) {
				differs["f-"+fact] = append(differs["f-"+fact], s.field)
			}
		}
	}
	for _, f := range facts {
		if len(differs[f.name]) == 0 {
			t.Errorf("%s differs in no wrong store", f.name)
		}
	}
	t.Log(differs)
}
