package verify

import (
	"cmp"
	"fmt"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/google/uuid"

	"github.com/commerce-go/commerce"
)

// timeText is a time as the service prints it.
var timeText = regexp.MustCompile(`^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.(\d{3}|\d{6}|\d{9})Z$`)

// listFacts only read: lists, filters, subscriptions and accounts.
var listFacts = []fact{
	{
		name: "f-no-total", grade: "doc", uses: "page", want: "no total", ask: func(a *asker) string {
			page := a.page()
			hasTotal := page.at("meta.results.total") != nil || page.at("meta.page.total") != nil
			return or(hasTotal, "a total", "no total")
		},
	},
	{
		name: "f-links", grade: "doc", uses: "page", want: "texts or null",
		may: []string{"objects with href", "without next"},
		ask: func(a *asker) string {
			links, _ := a.page().at("links").(map[string]any)
			_, hasNext := links["next"]
			for _, link := range links {
				if link != nil && textAt(link, "href") != "" {
					return "objects with href"
				}
				if _, isText := link.(string); link != nil && !isText {
					return "another form"
				}
			}
			if links == nil {
				return "there are none"
			}
			return or(hasNext, "texts or null", "without next")
		},
	},
	{
		name: "f-page-0", grade: "doc", need: need{requests: 1}, want: "400", may: []string{"at most 100"},
		ask: func(a *asker) string { return a.pageOf("0", "0") },
	},
	{
		name: "f-page-101", grade: "doc", need: need{requests: 1}, want: "400", may: []string{"at most 100"},
		ask: func(a *asker) string { return a.pageOf("101", "0") },
	},
	{
		name: "f-offset-10000", grade: "doc", need: need{requests: 1}, want: "at most 100",
		ask: func(a *asker) string { return a.pageOf("100", "10000") },
	},
	{
		name: "f-offset-10001", grade: "doc", need: need{requests: 1}, want: "400", may: []string{"422"},
		ask: func(a *asker) string { return a.pageOf("100", "10001") },
	},
	{
		name: "f-offset", grade: "doc", uses: "page", need: need{requests: 1}, want: "counts records",
		ask: func(a *asker) string {
			ids := idsOf(a.page().list("data"))
			if len(ids) < 3 {
				return a.skip("the store has fewer than 3 subscriptions")
			}
			r := a.must(a.get(subscriptions, "page[limit]", "2", "page[offset]", "1"), "the next page")
			areNext := slices.Equal(idsOf(r.list("data")), ids[1:3])
			return or(areNext, "counts records", "counts something else, or the list changed")
		},
	},
	{
		name: "f-page-100", grade: "doc", uses: "page", need: need{requests: 1}, want: "as many as requested",
		ask: func(a *asker) string {
			n := len(a.page().list("data"))
			rest := a.get(subscriptions, "page[limit]", "1", "page[offset]", strconv.Itoa(n))
			if n < 100 {
				a.must(rest, "the next page")
			}
			return or(n == 100 || len(rest.list("data")) == 0, "as many as requested", "fewer than requested, and more follow")
		},
	},
	{
		name: "f-page-length", grade: "doc", uses: "page", need: need{requests: 1}, want: "as the settings state",
		ask: func(a *asker) string {
			all, n := len(a.page().list("data")), len(a.must(a.get(subscriptions), "a page").list("data"))
			return or(n == min(cmp.Or(a.kind.pageLength, 25), all), "as the settings state", "another length")
		},
	},
	{
		name: "f-last-page", grade: "guess", uses: "page", need: need{requests: 2}, want: "the last one",
		ask: func(a *asker) string {
			filter := "eq(account_id," + a.account() + ")"
			page := a.get(subscriptions, "filter", filter, "page[limit]", "100")
			n := len(page.list("data"))
			if n == 0 || n == 100 || page.at("links.next") != nil {
				return a.skip("the list of the first account is not short")
			}
			rest := a.get(subscriptions, "filter", filter, "page[limit]", "100", "page[offset]", strconv.Itoa(n))
			a.must(rest, "the next page")
			return or(len(rest.list("data")) == 0, "the last one", "more follow")
		},
	},
	{
		name: "f-all-states", grade: "open", uses: "page", need: need{requests: 1}, want: "has those of the list",
		ask: func(a *asker) string {
			account, page := a.account(), a.page()
			r := a.get(subscriptions, "filter", "eq(account_id,"+account+")", "page[limit]", "100")
			a.must(r, "a filter on an account")
			found := idsOf(r.list("data"))
			for _, sub := range page.list("data") {
				if textAt(sub, "attributes.account_id") == account && !slices.Contains(found, textAt(sub, "id")) {
					return "lacks some"
				}
			}
			return "has those of the list"
		},
	},
	{
		name: "f-order", grade: "seen", uses: "page", want: "created_at falls",
		ask: func(a *asker) string {
			list := a.page().list("data")
			created := instants(list, "meta.timestamps.created_at")
			if len(created) < 2 {
				return a.skip("the store has fewer than 2 subscriptions")
			}
			updated := instants(list, "meta.timestamps.updated_at")
			return fmt.Sprintf("created_at %s; updated_at %s, id %s",
				direction(created), direction(updated), direction(idsOf(list)))
		},
	},
	{
		name: "f-no-move", grade: "guess", uses: "page", want: "not sorted by updated_at",
		ask: func(a *asker) string {
			list := a.page().list("data")
			switch direction(instants(list, "meta.timestamps.updated_at")) {
			case "mixed":
				return "not sorted by updated_at"
			case direction(instants(list, "meta.timestamps.created_at")):
				return a.skip("created_at and updated_at have the same order")
			}
			return "sorted by updated_at"
		},
	},
	{
		name: "f-flags", grade: "guess", uses: "page", want: "all five, as booleans", ask: func(a *asker) string {
			for _, sub := range a.page().list("data") {
				for _, name := range flags {
					if _, ok := dig(sub, "meta."+name).(bool); !ok {
						return "lacks " + name
					}
				}
			}
			return "all five, as booleans"
		},
	},
	{
		name: "f-times", grade: "seen", uses: "page", want: "3, 6 or 9 digits and Z", ask: func(a *asker) string {
			n := 0
			for _, sub := range a.page().list("data") {
				times, _ := dig(sub, "meta.timestamps").(map[string]any)
				n += len(times)
				for _, v := range times {
					if text, ok := v.(string); v != nil && (!ok || !timeText.MatchString(text)) {
						return "another form"
					}
				}
			}
			return or(n > 0, "3, 6 or 9 digits and Z", "there are none")
		},
	},
	{
		name: "f-get", grade: "doc", uses: "page", need: need{requests: 1}, want: "200 with included",
		ask: func(a *asker) string {
			id := a.firstOf("id")
			include := or(a.kind.generation == "first", "plans,products", "plans,pricing_options")
			r := a.get(subscriptions+"/"+id, "include", include)
			if !r.ok() || textAt(r.body, "data.id") != id {
				return r.says()
			}
			_, isMap := r.at("included").(map[string]any)
			return or(isMap, "200 with included", "200 without included")
		},
	},
	{
		name: "f-get-unknown", grade: "doc", uses: "unknown subscription", want: "404",
		ask: func(a *asker) string { return refusal(a.unknownSubscription()) },
	},
	{
		name: "f-errors", grade: "doc", uses: "unknown subscription", want: "an array of objects with title",
		ask: func(a *asker) string {
			r := a.unknownSubscription()
			isArray := len(r.list("errors")) > 0 && textAt(r.error(), "title") != ""
			return or(isArray, "an array of objects with title", "another form")
		},
	},
	{
		name: "f-unknown-include", grade: "guess", uses: "page", need: need{requests: 1}, want: "400",
		may: []string{"accepted"},
		ask: func(a *asker) string {
			a.page()
			return refusal(a.get(subscriptions, "page[limit]", "1", "include", "verify_unknown"))
		},
	},
	{
		name: "f-other-include", grade: "guess", uses: "page", need: need{requests: 1}, want: "400",
		may: []string{"accepted"},
		ask: func(a *asker) string {
			a.page() // sets the generation
			include := or(a.kind.generation == "first", "pricing_options", "products")
			return refusal(a.get(subscriptions, "page[limit]", "1", "include", include))
		},
	},
	{
		name: "f-eq", grade: "doc", uses: "page", need: need{requests: 2}, want: findsIts,
		ask: func(a *asker) string {
			unknown := a.get(subscriptions, "filter", "eq(account_id,"+uuid.NewString()+")")
			return or(len(unknown.list("data")) > 0, "finds others", a.filtered("eq(account_id,%s)"))
		},
	},
	{
		name: "f-in", grade: "doc", uses: "page", need: need{requests: 1}, want: findsIts,
		may: []string{"400 Bad Request", "400 with another title"},
		ask: func(a *asker) string { return a.filtered("in(account_id,%s," + uuid.NewString() + ")") },
	},
	{
		name: "f-in-quotes", grade: "guess", uses: "page", need: need{requests: 1}, want: findsIts,
		ask: func(a *asker) string { return a.filtered(`in(account_id,"%s","` + uuid.NewString() + `")`) },
	},
	{
		name: "f-quotes", grade: "doc", uses: "page", need: need{requests: 1}, want: findsIts,
		ask: func(a *asker) string { return a.filtered(`eq(account_id,"%s")`) },
	},
	{
		name: "f-joined", grade: "doc", uses: "page", need: need{requests: 1}, want: findsIts,
		ask: func(a *asker) string { return a.filtered("eq(account_id,%[1]s):eq(account_id,%[1]s)") },
	},
	{
		name: "f-unquoted", grade: "doc", need: need{requests: 1}, want: "a list",
		ask: func(a *asker) string {
			return listed(a.get(subscriptions, "page[limit]", "1", "filter", "eq(external_ref,epcommerce-verify_1.2@3*4$5)"))
		},
	},
	{
		name: "f-letter-case", grade: "open", uses: "page", need: need{requests: 3}, want: "whole texts, with letter case",
		ask: func(a *asker) string {
			ref := a.firstOf("attributes.external_ref")
			finds := func(text string) bool {
				r := a.get(subscriptions, "page[limit]", "100", "filter", "eq(external_ref,"+quoted(text)+")")
				return hasAny(r.list("data"), "id")
			}
			other := strings.ToUpper(ref)
			if other == ref {
				other = strings.ToLower(ref)
			}
			switch {
			case other == ref:
				return a.skip("no external_ref with letters")
			case !finds(ref):
				return "does not find the text itself"
			case finds(other):
				return "without letter case"
			}
			half := string([]rune(ref)[:len([]rune(ref))/2])
			return or(half != "" && finds(half), "parts of texts", "whole texts, with letter case")
		},
	},
	{
		name: "f-unknown-filter", grade: "guess", need: need{requests: 1}, want: "400",
		ask: func(a *asker) string {
			return refusal(a.get(subscriptions, "page[limit]", "1", "filter", "eq(verify_unknown,1)"))
		},
	},
	{
		name: "f-bad-filter", grade: "doc", need: need{requests: 1}, want: "400 Bad Request without status",
		ask: func(a *asker) string {
			r := a.get(subscriptions, "page[limit]", "1", "filter", "eq(account_id")
			return r.says() + or(dig(r.error(), "status") == nil, " without status", " with status")
		},
	},
	{
		name: "f-capital-operator", grade: "doc", need: need{requests: 1}, want: "400",
		ask: func(a *asker) string {
			return refusal(a.get(subscriptions, "page[limit]", "1", "filter", "EQ(account_id,"+uuid.NewString()+")"))
		},
	},
	{
		name: "f-invoices", grade: "doc", need: need{requests: 1}, want: "a list",
		ask: func(a *asker) string {
			filter := "eq(subscription_id," + uuid.NewString() + ")"
			return listed(a.get("subscriptions/invoices", "page[limit]", "1", "filter", filter))
		},
	},
	{
		name: "f-subscribers", grade: "doc", need: need{requests: 1}, want: "have name and email",
		ask: func(a *asker) string {
			r := a.get("subscriptions/subscribers", "page[limit]", "1")
			if r.ok() && len(r.list("data")) == 0 {
				return a.skip("the store has no subscribers")
			}
			hasBoth := r.at("data.0.attributes.name") != nil && r.at("data.0.attributes.email") != nil
			return or(!r.ok() || hasBoth, or(r.ok(), "have name and email", r.says()), "lack name or email")
		},
	},
	{
		name: "f-accounts", grade: "doc", uses: "accounts", want: "id rises",
		ask: func(a *asker) string {
			r := a.accounts()
			if r.ok() && len(r.list("data")) < 2 {
				return a.skip("the store lists fewer than 2 accounts")
			}
			return or(r.ok(), "id "+direction(idsOf(r.list("data"))), r.says())
		},
	},
	{
		name: "f-accounts-after", grade: "doc", uses: "accounts", need: need{requests: 1}, want: "the accounts after it",
		ask: func(a *asker) string {
			ids := idsOf(a.accounts().list("data"))
			if len(ids) < 3 {
				return a.skip("the store lists fewer than 3 accounts")
			}
			r := a.get("accounts", "page[limit]", "2", "sort", "id", "filter", "gt(id,"+ids[0]+")")
			return or(slices.Equal(idsOf(r.list("data")), ids[1:3]), "the accounts after it", refusal(r)+", others")
		},
	},
	{
		name: "f-accounts-listed", grade: "guess", uses: "page", need: need{requests: 4}, want: "all of the first page",
		ask: func(a *asker) string {
			ids := map[string]bool{}
			for _, sub := range a.page().list("data") {
				ids[textAt(sub, "attributes.account_id")] = true
			}
			var missing []string
			for part := range slices.Chunk(slices.Sorted(maps.Keys(ids)), 25) { // 100 ids are 4 KB
				r := a.get("accounts", "page[limit]", "100", "filter", "in(id,"+strings.Join(part, ",")+")")
				a.must(r, "the filter of accounts")
				found := idsOf(r.list("data"))
				missing = append(missing, slices.DeleteFunc(part, func(id string) bool { return slices.Contains(found, id) })...)
			}
			return or(len(missing) == 0, "all of the first page", "some are not listed")
		},
	},
	{
		name: "f-token", grade: "doc", need: need{requests: 2}, want: "401 Unable to validate access token",
		ask: func(a *asker) string {
			c, err := a.client.With(commerce.WithToken("epcommerce-verify"))
			if err != nil {
				return a.skip("the client refuses the token")
			}
			r := ask(a.ctx, c, http.MethodGet, "settings", nil, nil)
			if r.status == 0 || r.status/100 == 5 || r.status == http.StatusTooManyRequests {
				return a.skip("no response to a GET")
			}
			return r.says()
		},
	},
}

// flags are those of the meta of a subscription.
var flags = []string{"canceled", "paused", "closed", "pending", "suspended"}

// pageOf returns in words how the store responds to a page of subscriptions.
func (a *asker) pageOf(limit, offset string) string {
	r := a.get(subscriptions, "page[limit]", limit, "page[offset]", offset)
	if text := listed(r); text != "a list" {
		return text
	}
	return or(len(r.list("data")) > 100, "more than 100", "at most 100")
}

// listed returns the status of a response, or "a list".
func listed(r reply) string {
	body, _ := r.body.(map[string]any)
	if _, ok := body["data"]; ok && r.ok() {
		return "a list"
	}
	return or(r.ok(), "no list", fmt.Sprint(r.status))
}

func (a *asker) unknownSubscription() reply {
	return once(a, "unknown subscription", func() reply { return a.get(subscriptions + "/" + uuid.NewString()) })
}

func (a *asker) accounts() reply {
	return once(a, "accounts", func() reply { return a.get("accounts", "page[limit]", "100", "sort", "id") })
}
