package verify

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/commerce-go/commerce"
)

const (
	maxRequests  = 300 // of a run, without those that delete its carts
	perSecond    = 20  // requests; a small store accepts 25
	maxRefusals  = 3   // responses with 429 in a row
	removalTime  = 30 * time.Second
	cartPrefix   = "epcommerce-verify-"
	maxVisibleIn = 10 * time.Second // how long a run waits for the totals of a cart
)

// asker sends the requests of the facts. A fact whose question cannot be asked sets why: then
// nothing more is sent for it.
type asker struct {
	ctx     context.Context //nolint:containedctx // that of a run: a fact is one function of the asker
	client  *commerce.Client
	limiter *limiter
	opts    Options
	kind    kind
	known   map[string]outcome // what several facts use, by name
	why     string             // the question of this fact cannot be asked
	stopped string             // nor can those after it
	silent  int                // requests without a response, in a row

	// What must be undone. Each cart is here before the first request that may create it.
	carts     []string
	restore   []func(context.Context) error
	lost      bool      // whether a request got no response, so that it may still take effect
	lastWrite time.Time // to a cart
}

// kind is what the settings and the first responses of the store show. Facts choose by it.
type kind struct {
	generation, method, tax string
	limit, pageLength       int
	enabled                 bool // whether new carts take custom discounts
	expiryDays              int
	lag                     time.Duration // of the totals of a cart
}

// skip ends the fact: its question cannot be asked, or has no clear response. The first reason
// counts.
func (a *asker) skip(why string) string {
	if a.why == "" {
		a.why = why
	}
	return ""
}

// must ends the fact if what it needs, in words, was refused. It returns the response.
func (a *asker) must(r reply, what string) reply {
	if !r.ok() {
		a.skip(what + " got " + r.says())
	}
	return r
}

// reply is a response. Its body is decoded without the types of the library, which it judges.
type reply struct {
	status int
	body   any
}

func (r reply) ok() bool { return r.status/100 == 2 }

// at returns what is at a path such as data.0.id, or nil.
func (r reply) at(path string) any { return dig(r.body, path) }

func (r reply) list(path string) []any { return listAt(r.body, path) }

func dig(v any, path string) any {
	for name := range strings.SplitSeq(path, ".") {
		switch in := v.(type) {
		case map[string]any:
			v = in[name]
		case []any:
			i, err := strconv.Atoi(name)
			if err != nil || i >= len(in) {
				return nil
			}
			v = in[i]
		default:
			return nil
		}
	}
	return v
}

func listAt(v any, path string) []any {
	list, _ := dig(v, path).([]any)
	return list
}

func textAt(v any, path string) string {
	text, _ := dig(v, path).(string)
	return text
}

// numberAt returns a number, and whether there is one.
func numberAt(v any, path string) (float64, bool) {
	n, ok := dig(v, path).(float64)
	return n, ok
}

// titles are those of errors that docs/service.md names. Others are not printed.
var titles = []string{
	"Bad Request", "Limit Reached", "Custom discount not added to cart", "Custom discount not added to cart item.",
	"Cart contains Elastic Path promotions", "Cart is empty", "Cannot use both discounts together",
	"Unable to validate access token", "The cart is configured to use custom discounts",
}

// error returns the first error of a response, of either form.
func (r reply) error() any {
	for _, path := range []string{"errors.0", "errors"} {
		if o, ok := r.at(path).(map[string]any); ok {
			return o
		}
	}
	return r.body
}

// says returns the status of a response and the title of its first error.
func (r reply) says() string {
	status := strconv.Itoa(r.status)
	title := textAt(r.error(), "title")
	switch {
	case r.ok():
		return status
	case slices.Contains(titles, title):
		return status + " " + title
	}
	return status + " with another title"
}

// object is a JSON object to send.
type object = map[string]any

// send sends a request below /v2. The path has no characters that need an escape. A response that
// says nothing about the fact ends it: that of a gateway, one of notAboutFacts, or a 429 that does
// not pass.
func (a *asker) send(method, path string, query url.Values, in any) (r reply) {
	for range maxRefusals {
		switch {
		case a.why != "":
			return reply{}
		case a.limiter.count() >= maxRequests:
			a.skip("all " + strconv.Itoa(maxRequests) + " requests were sent")
			return reply{}
		}
		r = a.try(a.ctx, method, path, query, in)
		if a.silent++; r.status != 0 {
			a.silent = 0
		}
		switch {
		case a.ctx.Err() != nil:
			a.skip("interrupted")
		case a.silent == maxRefusals:
			a.stopped = "three requests without a response in a row"
			a.skip(a.stopped)
		case textAt(r.error(), "title") == "Cart contains Elastic Path promotions":
			a.skip("carts have promotions that stay")
		case r.status == 0:
			a.skip("no response to a " + method)
		case r.status/100 == 5, slices.Contains(notAboutFacts, r.status):
			a.skip("a " + method + " got a " + strconv.Itoa(r.status))
		case r.status == http.StatusTooManyRequests:
			_ = pause(a.ctx, time.Second)
			continue
		}
		return r
	}
	a.stopped = "three responses with 429 in a row"
	a.skip(a.stopped)
	return r
}

// notAboutFacts are statuses that say nothing about what was asked.
var notAboutFacts = []int{http.StatusUnauthorized, http.StatusForbidden, http.StatusRequestTimeout}

// try sends a request once. The status is 0 if there is no response that can be read.
func (a *asker) try(ctx context.Context, method, path string, query url.Values, in any) reply {
	r := ask(ctx, a.client, method, path, query, in)
	a.lost = a.lost || r.status == 0 || r.status/100 == 5
	if method != http.MethodGet {
		a.lastWrite = time.Now()
	}
	return r
}

func ask(
	ctx context.Context, c *commerce.Client, method, path string, query url.Values, in any,
) reply {
	var body json.RawMessage
	resp, err := c.Do(ctx, method, strings.Split("v2/"+path, "/"), query, in, &body)
	if err == nil {
		return reply{resp.StatusCode, decoded(body)}
	}
	failed, ok := errors.AsType[*commerce.Error](err)
	if !ok || failed.StatusCode < http.StatusBadRequest || failed.Err != nil && !json.Valid(failed.Body()) {
		return reply{}
	}
	return reply{failed.StatusCode, decoded(failed.Body())}
}

func decoded(body []byte) (v any) {
	_ = json.Unmarshal(body, &v) // nil if there is no JSON
	return v
}

// get reads what is at a path. The query has names and values in turn.
func (a *asker) get(path string, query ...string) reply {
	values := url.Values{}
	for i := 0; i+1 < len(query); i += 2 {
		values.Set(query[i], query[i+1])
	}
	return a.send(http.MethodGet, path, values, nil)
}

func (a *asker) post(path string, data any) reply {
	return a.send(http.MethodPost, path, nil, object{"data": data})
}

func (a *asker) put(path string, data any) reply {
	return a.send(http.MethodPut, path, nil, object{"data": data})
}

func (a *asker) delete(path string) reply { return a.send(http.MethodDelete, path, nil, nil) }

// once returns what f returned for this name when it was called first. If f could not ask, nor can
// the facts after it that use the name.
func once[T any](a *asker, name string, f func() T) T {
	if _, ok := a.known[name]; !ok && a.why == "" {
		v := f()
		a.known[name] = outcome{v, a.why}
	}
	o := a.known[name]
	a.skip(o.why)
	v, _ := o.value.(T)
	return v
}

// outcome is what a call of once returned, and why it could not ask.
type outcome struct {
	value any
	why   string
}

// newCartID returns the id of a cart to come, which the run deletes at its end.
func (a *asker) newCartID() string {
	id := cartPrefix + strings.ToLower(rand.Text()[:12])
	a.carts = append(a.carts, id)
	return id
}

// undo deletes all carts and undoes other changes, in a time of its own, even if the run was
// interrupted. It returns what may be left.
func (a *asker) undo(ctx context.Context) (left []string) {
	detached := context.WithoutCancel(ctx)
	for _, restore := range a.restore {
		ctx, cancel := context.WithTimeout(detached, removalTime)
		if err := restore(ctx); err != nil {
			left = append(left, err.Error())
		}
		cancel()
	}
	ctx, cancel := context.WithTimeout(detached, removalTime)
	defer cancel()
	carts := a.remove(ctx, a.carts)
	if a.lost && len(carts) == 0 && pause(ctx, 2*time.Second) == nil {
		carts = a.remove(ctx, a.carts) // a late write may have created one again
	}
	return append(left, carts...)
}

// remove deletes carts. It returns those that may be left.
func (a *asker) remove(ctx context.Context, carts []string) []string {
	for wait := 2 * time.Second; ; wait *= 2 {
		var left []string
		for _, id := range carts {
			r := a.try(ctx, http.MethodDelete, "carts/"+id, nil, nil)
			if !r.ok() && r.status != http.StatusNotFound {
				left = append(left, id)
			}
		}
		if len(left) == 0 || pause(ctx, wait) != nil {
			return left
		}
		carts = left
	}
}

// pause waits, or returns the error of the context.
func pause(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}

// limiter is a transport that starts at most perSecond requests in a second. It counts all that it
// sends, also the retries and the token requests of the client.
type limiter struct {
	base http.RoundTripper

	mu      sync.Mutex
	starts  []time.Time // of the last requests, at most perSecond
	sent    int
	headers map[string]bool // the names in the responses with 429
}

// inBurst marks the context of requests that are not limited.
type inBurst struct{}

func (l *limiter) count() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.sent
}

// refusals returns the names of the headers of the responses with 429.
func (l *limiter) refusals() map[string]bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return maps.Clone(l.headers)
}

// RoundTrip implements [http.RoundTripper].
func (l *limiter) RoundTrip(r *http.Request) (*http.Response, error) {
	if err := l.wait(r.Context()); err != nil {
		if r.Body != nil {
			_ = r.Body.Close()
		}
		return nil, err
	}
	resp, err := l.base.RoundTrip(r)
	if err == nil && resp.StatusCode == http.StatusTooManyRequests {
		l.mu.Lock()
		defer l.mu.Unlock()
		for name := range resp.Header {
			l.headers[name] = true
		}
	}
	return resp, err
}

func (l *limiter) wait(ctx context.Context) error {
	l.mu.Lock()
	start := time.Now()
	if free := len(l.starts) - perSecond; free >= 0 && ctx.Value(inBurst{}) == nil {
		if next := l.starts[free].Add(time.Second); next.After(start) {
			start = next
		}
	}
	l.starts = append(l.starts, start)
	l.starts = l.starts[max(0, len(l.starts)-perSecond):]
	l.sent++
	l.mu.Unlock()
	return pause(ctx, time.Until(start))
}
