package commercetest_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/commerce-go/commerce"
	"github.com/commerce-go/commerce/commercetest"
)

// subscriptionPath returns the path of the first subscription of a list.
func subscriptionPath(t *testing.T, store *commercetest.Store, query string) string {
	t.Helper()
	return listPath + "/" + decodeList(t, send(t, store, get(listPath+query))).Data[0].ID
}

// A subscription and its included resources are those of a list that has only it.
func TestGetSubscription(t *testing.T) {
	t.Parallel()
	for _, g := range generations {
		for _, include := range []string{"", "plans", g.second, "plans," + g.second} {
			t.Run(g.name+" generation/"+include, func(t *testing.T) {
				t.Parallel()
				eachSender(t, func(t *testing.T, send sendFunc) {
					store := seeded(g.generation, 40)
					target := subscriptionPath(t, store, "?page[offset]=30")
					one := send(store, get(target+"?include="+include))
					list := send(store, get(listPath+"?filter=eq(external_ref,order-000010)&include="+include))
					var want struct {
						Data     []json.RawMessage
						Included json.RawMessage
					}
					if err := json.Unmarshal([]byte(list.Body), &want); err != nil {
						t.Fatal(err)
					}
					wantEqual(t, "list", len(want.Data), 1)
					encoded := `{"data":` + string(want.Data[0]) + `}`
					if want.Included != nil {
						encoded = strings.TrimSuffix(encoded, "}") + `,"included":` + string(want.Included) + `}`
					}
					wantJSON(t, one, 200, encoded)
				})
			})
		}
	}
}

const noSubscription = `"status":"404","title":"Not Found","detail":"There is no such subscription"`

func TestGetSubscription_refusals(t *testing.T) {
	t.Parallel()
	store := seeded(commercetest.SecondGeneration, 3)
	one := subscriptionPath(t, store, "")
	const include = `"status":"400","title":"Validation Error",` +
		`"detail":"include must be plans, pricing_options or plans,pricing_options"`
	for _, tt := range []struct {
		name, target string
		status       int
		want         string
	}{
		{name: "unknown", target: listPath + "/" + absentItem, status: 404, want: noSubscription},
		{name: "no UUID", target: listPath + "/me", status: 404, want: noSubscription},
		{name: "include of the other generation", target: one + "?include=plans,products", status: 400, want: include},
		{
			name: "bad query", target: one + "?include=%zz", status: 400,
			want: `"status":"400","title":"Validation Error","detail":"Could not parse the query"`,
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			wantJSON(t, send(t, store, get(tt.target)), tt.status, `{"errors":[{`+tt.want+`}]}`)
		})
	}
}

// newState returns the body of a request for a new state. more is added to the attributes.
func newState(action, more string) string {
	return `{"data":{"type":"subscription_state","attributes":{"action":"` + action + `"` + more + `}}}`
}

// Each state changes the flags, and the members that have the time of the change.
func TestChangeState(t *testing.T) {
	t.Parallel()
	const atOnce = `,"cancel_immediately":true`
	for _, tt := range []struct {
		name                  string
		action, more          string
		wantFirst, wantSecond string // changes in the meta of an active subscription, in each generation
	}{
		{
			name: "cancel", action: "cancel", wantFirst: "canceled canceled_at active",
			wantSecond: "canceled canceled_at active later",
		},
		{
			name: "cancel at once", action: "cancel", more: atOnce, wantFirst: "canceled canceled_at active",
			wantSecond: "canceled closed canceled_at inactive at once",
		},
		{
			name: "pause", action: "pause", more: atOnce, wantFirst: "paused paused_at active",
			wantSecond: "paused paused_at active by merchandizer",
		},
		{name: "resume", action: "resume", wantFirst: "resumed_at active", wantSecond: "resumed_at active"},
	} {
		for i, want := range []string{tt.wantSecond, tt.wantFirst} { // as in generations
			t.Run(generations[i].name+" generation/"+tt.name, func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					store := seeded(generations[i].generation, 4)
					target := subscriptionPath(t, store, "")
					wantNoContent(t, send(t, store, post(target+"/states", newState(tt.action, tt.more))))
					wantEqual(t, "meta", describeState(t, send(t, store, get(target))), tt.action+": "+want)
					other := describeState(t, send(t, store, get(subscriptionPath(t, store, "?page[offset]=1"))))
					wantEqual(t, "meta of another subscription", other, ": active")
				})
			})
		}
	}
}

// describeState describes those members of a subscription that states change. It names the
// timestamps that are those of the state.
func describeState(t *testing.T, resp wireResponse) string {
	t.Helper()
	var body struct{ Data commerce.Subscription }
	if err := json.Unmarshal([]byte(resp.Body), &body); err != nil {
		t.Fatal(err)
	}
	m := body.Data.Meta
	at := m.State.Meta.CreatedAt
	words := []string{m.State.Attributes.Action + ":"}
	add := func(word string, ok bool) {
		if ok {
			words = append(words, word)
		}
	}
	add("canceled", m.Canceled)
	add("paused", m.Paused)
	add("closed", m.Closed)
	if !at.IsZero() {
		add("canceled_at", m.Timestamps.CanceledAt.Equal(at))
		add("paused_at", m.Timestamps.PausedAt.Equal(at))
		add("resumed_at", m.Timestamps.ResumedAt.Equal(at))
		add("not updated", !m.Timestamps.UpdatedAt.Equal(at))
	}
	add(m.Status, true)
	add("by "+m.PausedBy, m.PausedBy != "")
	if cancel := m.State.Attributes.CancelImmediately; cancel != nil {
		add("at once", *cancel)
		add("later", !*cancel)
	}
	return strings.Join(words, " ")
}

// The states of a subscription begin with that of its meta, if it has one.
func TestStates(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name   string
		ref    string // of the subscription
		before []string
	}{
		{name: "none before", ref: "order-000001"},
		{name: "one before", ref: "order-000007", before: []string{"pause"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			eachSender(t, func(t *testing.T, send sendFunc) {
				store := seeded(commercetest.SecondGeneration, 10)
				target := subscriptionPath(t, store, "?filter=eq(external_ref,"+tt.ref+")")
				get := func(target string) wireResponse { return send(store, get(target)) }
				wantStates(t, get, target, tt.before)
				for _, action := range []string{"resume", "pause", "resume", "cancel"} {
					wantNoContent(t, send(store, post(target+"/states", newState(action, ""))))
				}
				wantStates(t, get, target, append(tt.before, "resume", "pause", "resume", "cancel"))
				wantEqual(t, "meta", describeState(t, get(target)), "cancel: canceled canceled_at active later")
				var sub struct{ Data commerce.Subscription }
				if err := json.Unmarshal([]byte(get(target).Body), &sub); err != nil {
					t.Fatal(err)
				}
				state := get(target + "/states/" + sub.Data.Meta.State.ID.String())
				wantJSON(t, state, 200, `{"data":`+string(encode(t, sub.Data.Meta.State))+`}`)
			})
		})
	}
}

// wantStates compares the actions of the states of a subscription, and reads each state.
func wantStates(t *testing.T, get func(target string) wireResponse, target string, want []string) {
	t.Helper()
	var list struct{ Data []json.RawMessage }
	resp := get(target + "/states")
	if err := json.Unmarshal([]byte(resp.Body), &list); err != nil || list.Data == nil {
		t.Fatalf("states = %s (%v), want an array", resp.Body, err)
	}
	var actions []string
	for _, raw := range list.Data {
		var state commerce.SubscriptionState
		if err := json.Unmarshal(raw, &state); err != nil {
			t.Fatal(err)
		}
		actions = append(actions, state.Attributes.Action)
		wantJSON(t, get(target+"/states/"+state.ID.String()), 200, `{"data":`+string(raw)+`}`)
	}
	wantEqual(t, "states", actions, want)
}

func encode(t *testing.T, v any) []byte {
	t.Helper()
	raw, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

func TestStates_refusals(t *testing.T) {
	t.Parallel()
	store := seeded(commercetest.FirstGeneration, 10)
	states := subscriptionPath(t, store, "?filter=eq(external_ref,order-000007)") + "/states"
	before := send(t, store, get(states)).Body
	problem := func(detail string) string {
		return fmt.Sprintf(`"status":400,"title":"Validation Error","detail":%q`, detail)
	}
	for _, tt := range []struct {
		name, raw string
		status    int
		want      string
	}{
		{name: "list of an unknown subscription", raw: get(listPath + "/me/states"), status: 404, want: noSubscription},
		{name: "of an unknown subscription", raw: get(listPath + "/me/states/me"), status: 404, want: noSubscription},
		{
			name: "change of an unknown subscription", raw: post(listPath+"/"+absentItem+"/states", newState("pause", "")),
			status: 404, want: noSubscription,
		},
		{
			name: "unknown state", raw: get(states + "/" + absentItem), status: 404,
			want: `"status":"404","title":"Not Found","detail":"The subscription has no such state"`,
		},
		{
			name: "unknown action", raw: post(states, newState("close", "")), status: 400,
			want: problem("data.attributes.action must be cancel, pause or resume"),
		},
		{
			name: "no action", raw: post(states, newState("", "")), status: 400,
			want: problem("data.attributes.action" + textRequired),
		},
		{
			name: "no attributes", raw: post(states, `{"data":{"type":"subscription_state"}}`), status: 400,
			want: problem("data.attributes must be an object"),
		},
		{
			name: "another type", raw: post(states, strings.Replace(newState("pause", ""), "_state", "", 1)), status: 400,
			want: problem("data.type must be subscription_state"),
		},
		{
			name: "cancel_immediately is a string", raw: post(states, newState("cancel", `,"cancel_immediately":"x"`)),
			status: 400, want: problem("data.attributes.cancel_immediately must be a boolean"),
		},
		{name: "no data", raw: post(states, `{}`), status: 400, want: problem("data must be an object")},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			wantJSON(t, send(t, store, tt.raw), tt.status, `{"errors":[{`+tt.want+`}]}`)
			wantEqual(t, "states", send(t, store, get(states)).Body, before)
		})
	}
}
