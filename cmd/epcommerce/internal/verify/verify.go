// Package verify asks a store about the facts of docs/service.md. It changes nothing of the store
// but carts of its own, which it deletes, and a subscription that it is given.
package verify

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/commerce-go/commerce"
)

// Options select the facts.
type Options struct {
	Only         []string // names of facts; nil: all
	Promotion    string   // the code of a promotion of the store; "": none
	Currency     string   // the code of one that is not the default of the store; "": none
	Shipping     bool     // whether carts of the store have shipping
	Subscription string   // the id of a subscription to pause and resume; "": none
	Destroy      bool     // whether to cancel the subscription too
	Burst        int      // requests to send at once; 0: none
	// Interrupted is called with the carts that are deleted next, if ctx has ended; nil: nothing.
	Interrupted func(carts []string)
}

// maxBurst is the maximum of Options.Burst. A production store accepts 100 requests a second.
const maxBurst = 150

// Validate returns an error that names the flag that is wrong.
func (o *Options) Validate() error {
	for _, name := range o.Only {
		if !slices.Contains(Names(), name) {
			return fmt.Errorf("--only: there is no fact %q; docs/service.md has them", name)
		}
	}
	fits := min(maxBurst, maxRequests-o.needs().requests)
	switch {
	case o.Subscription != "" && uuid.Validate(o.Subscription) != nil:
		return errors.New("--subscription must be an id like 36fabae3-23f7-533a-97f3-017ba2665c58")
	case o.Destroy && o.Subscription == "":
		return errors.New("--destroy needs --subscription")
	case o.Burst < 0 || o.Burst > fits:
		return fmt.Errorf("--burst must be 1 to %d beside the other facts; with --only f-429,f-429-reset, to %d",
			fits, maxBurst)
	}
	return nil
}

// Names returns the names of all facts, in the order in which they are asked.
func Names() (names []string) {
	for _, f := range facts {
		names = append(names, f.name)
	}
	return names
}

// has reports whether a flag is set.
func (o *Options) has(flag string) bool {
	return map[string]bool{
		"": true, "promotion": o.Promotion != "", "currency": o.Currency != "", "shipping": o.Shipping,
		"subscription": o.Subscription != "", "destroy": o.Destroy, "burst": o.Burst > 0,
	}[flag]
}

// chosen returns the facts to ask. The first ones are always among them.
func (o *Options) chosen() []fact {
	if o.Only == nil {
		return facts
	}
	isFirst := func(f fact) bool {
		return slices.ContainsFunc(firstFacts, func(g fact) bool { return f.name == g.name })
	}
	return slices.DeleteFunc(slices.Clone(facts), func(f fact) bool {
		return !isFirst(f) && !slices.Contains(o.Only, f.name)
	})
}

// Carts returns the number of carts that Run creates at most.
func (o *Options) Carts() (n int) { return o.needs().carts }

// needs returns what the chosen facts need together, without a burst.
func (o *Options) needs() (n need) {
	used := map[string]bool{}
	for _, f := range o.chosen() {
		if !o.has(f.flag) {
			continue
		}
		n.requests, n.carts = n.requests+f.requests, n.carts+f.carts
		if !used[f.uses] {
			n.requests, n.carts = n.requests+shares[f.uses].requests, n.carts+shares[f.uses].carts
		}
		used[f.uses] = true
	}
	return n
}

// Verdict is how the store compares with a fact.
type Verdict string

// The verdicts.
const (
	Same     Verdict = "same"
	Allowed  Verdict = "allowed" // it is one of several possibilities that the page names
	Differs  Verdict = "differs"
	NotAsked Verdict = "not asked" // Result.Observed is the reason
)

// Result is what the store does about a fact. It has no text of the store.
type Result struct {
	Verdict    Verdict `json:"verdict"`
	Grade      string  `json:"grade"`
	Fact       string  `json:"fact"`
	Documented string  `json:"documented"`
	Observed   string  `json:"observed"`
	Flag       string  `json:"-"` // without which the fact is not asked
}

// Report is what a run found out.
type Report struct {
	Date                    time.Time
	Generation, Method, Tax string
	Requests                int // with the deletions
	Took                    time.Duration
	Results                 []Result
	Left                    []string // what could not be deleted or undone
	Interrupted             bool
}

// Run asks a store about facts. It calls each for each of them, and deletes its carts before it
// returns, also if ctx ends. base is the transport of the client.
func Run(
	ctx context.Context, c *commerce.Client, base http.RoundTripper, o Options, each func(Result),
) (*Report, error) {
	l := &limiter{base: base, headers: map[string]bool{}}
	limited, err := c.With(
		commerce.WithHTTPClient(&http.Client{Transport: l}),
		commerce.WithRetry(commerce.RetryPolicy{MaxAttempts: 1}))
	if err != nil {
		return nil, err
	}
	a := &asker{ctx: ctx, client: limited, limiter: l, opts: o, known: map[string]outcome{}}
	report := &Report{Date: time.Now()}
	for _, f := range o.chosen() {
		r := a.result(f)
		report.Results = append(report.Results, r)
		each(r)
	}
	report.Interrupted = ctx.Err() != nil
	if report.Interrupted && o.Interrupted != nil {
		o.Interrupted(a.carts)
	}
	report.Left = a.undo(ctx)
	report.Generation, report.Method = cmp.Or(a.kind.generation, "unknown"), cmp.Or(a.kind.method, "unknown")
	report.Tax = cmp.Or(a.kind.tax, "unknown")
	report.Requests, report.Took = l.count(), time.Since(report.Date)
	return report, nil
}

// result asks about a fact.
func (a *asker) result(f fact) Result {
	r := Result{Grade: f.grade, Fact: f.name, Documented: f.want, Flag: f.flag}
	a.why = a.stopped
	requests := f.requests
	if _, ok := a.known[f.uses]; !ok {
		requests += shares[f.uses].requests
		if f.uses == "burst" {
			requests += a.opts.Burst
		}
	}
	switch {
	case a.ctx.Err() != nil:
		a.skip("interrupted")
	case !a.opts.has(f.flag):
		a.skip("needs --" + f.flag)
	case a.limiter.count()+requests > maxRequests:
		a.skip(fmt.Sprintf("fewer than %d of %d requests are left", requests, maxRequests))
	}
	if a.why == "" {
		r.Observed = f.ask(a)
	}
	seen, _, _ := strings.Cut(r.Observed, "; ")
	switch {
	case a.why != "":
		r.Verdict, r.Observed = NotAsked, a.why
	case seen == f.want, r.Observed == f.want:
		r.Verdict = Same
	case slices.Contains(f.may, seen):
		r.Verdict = Allowed
	default:
		r.Verdict = Differs
	}
	return r
}

// Count returns the number of results with a verdict.
func (r *Report) Count(v Verdict) (n int) {
	for _, result := range r.Results {
		if result.Verdict == v {
			n++
		}
	}
	return n
}

// Unasked returns the number of facts that need no flag, or one that was set, and could not be
// asked.
func (r *Report) Unasked() (n int) {
	for _, result := range r.Results {
		if result.Verdict == NotAsked && !strings.HasPrefix(result.Observed, "needs --") {
			n++
		}
	}
	return n
}

// row is the address of a row of docs/service.md, without the name of the fact.
const row = "https://github.com/commerce-go/commerce/blob/main/docs/service.md#"

// Markdown returns the report as a page. version is that of the program.
func (r *Report) Markdown(version string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "# What a store does\n\n- date: %s\n- version: %s\n- generation: %s\n- calculation method: %s\n"+
		"- tax: %s\n- requests: %d in %.0f s\n", r.Date.UTC().Format(time.RFC3339), version, r.Generation, r.Method, r.Tax,
		r.Requests, r.Took.Seconds())
	if r.Interrupted {
		b.WriteString("- interrupted\n")
	}
	for _, left := range r.Left {
		fmt.Fprintf(&b, "- left in the store: %s\n", left)
	}
	b.WriteString("\n| verdict | grade | fact | documented | observed |\n|---|---|---|---|---|\n")
	for _, in := range r.Results {
		fmt.Fprintf(&b, "| %s | %s | %[3]s [row](%s%[3]s) | %[5]s | %[6]s |\n",
			in.Verdict, in.Grade, in.Fact, row, in.Documented, in.Observed)
	}
	return b.String()
}
