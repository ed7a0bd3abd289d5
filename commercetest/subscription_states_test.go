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

const atOnce = `,"cancel_immediately":true` // for newState

// newState returns the body of a request for a new state. more is added to the attributes.
func newState(action, more string) string {
	return `{"data":{"type":"subscription_state","attributes":{"action":"` + action + `"` + more + `}}}`
}

// Each state changes the flags, and the members that have the time of the change.
func TestChangeState(t *testing.T) {
	t.Parallel()
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
			wantSecond: "canceled canceled_at inactive at once",
		},
		{
			name: "pause", action: "pause", more: atOnce, wantFirst: "paused paused_at active",
			wantSecond: "paused paused_at active by merchandizer",
		},
		{name: "resume", action: "resume", wantFirst: "resumed_at active", wantSecond: "resumed_at active"},
		{name: "pending", action: "pending", wantFirst: "pending active", wantSecond: "pending active"},
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

// A cancellation at once closes a subscription only if the store is configured so.
func TestChangeState_atOnce(t *testing.T) {
	t.Parallel()
	pending := func(m *commerce.SubscriptionMeta) { m.Pending = true }
	for _, tt := range []struct {
		name        string
		closeAtOnce bool
		before      func(*commerce.SubscriptionMeta)
		more, want  string
	}{
		{name: "at once", more: atOnce, want: "canceled canceled_at inactive at once"},
		{name: "pending", before: pending, want: "canceled canceled_at inactive at once"},
		{
			name: "closed before", before: func(m *commerce.SubscriptionMeta) { m.Closed = true }, more: atOnce,
			want: "canceled closed canceled_at inactive at once",
		},
		{
			name: "close at once", closeAtOnce: true, more: atOnce, want: "canceled closed canceled_at inactive at once",
		},
		{
			name: "close at once, pending", closeAtOnce: true, before: pending,
			want: "canceled closed canceled_at inactive at once",
		},
		{name: "close at once, but later", closeAtOnce: true, want: "canceled canceled_at active later"},
	} {
		for _, g := range generations {
			t.Run(g.name+" generation/"+tt.name, func(t *testing.T) {
				t.Parallel()
				store := commercetest.NewStore(commercetest.Config{CloseAtOnce: tt.closeAtOnce, Generation: g.generation})
				store.Seed(1)
				target := changed(t, store, tt.before)
				wantNoContent(t, send(t, store, post(target+"/states", newState("cancel", tt.more))))
				got := describeState(t, send(t, store, get(target)))
				if g.generation == commercetest.SecondGeneration {
					wantEqual(t, "meta", got, "cancel: "+tt.want)
				} else if !strings.HasSuffix(got, "canceled_at active") {
					t.Errorf("meta = %q, want a subscription that is canceled and active", got)
				}
			})
		}
	}
}

// changed changes the newest subscription of a store, and returns its path.
func changed(t *testing.T, store *commercetest.Store, change func(*commerce.SubscriptionMeta)) (target string) {
	t.Helper()
	target = subscriptionPath(t, store, "")
	for sub := range store.Subscriptions() {
		store.UpdateSubscription(sub.ID, func(sub *commerce.Subscription) {
			if change != nil {
				change(&sub.Meta)
			}
		})
		break
	}
	return target
}

// A resume by the store ends all that stops a subscription, but not what follows the next payment.
// A shopper's resume ends a pause.
func TestChangeState_resume(t *testing.T) {
	t.Parallel()
	stopped := func(m *commerce.SubscriptionMeta) {
		m.Canceled, m.Paused, m.PausedBy, m.Suspended, m.Closed = true, true, "subscriber", true, true
		m.Status = "inactive"
	}
	for _, tt := range []struct {
		name                  string
		flagsFollowPayment    bool
		isShopper             bool
		wantFirst, wantSecond string
	}{
		{name: "store", wantFirst: "canceled resumed_at inactive", wantSecond: "resumed_at inactive"},
		{
			name: "store, flags follow the payment", flagsFollowPayment: true,
			wantFirst:  "canceled closed suspended resumed_at inactive",
			wantSecond: "closed suspended resumed_at inactive",
		},
		{
			name: "shopper", isShopper: true,
			wantFirst:  "canceled closed suspended resumed_at inactive",
			wantSecond: "canceled closed suspended resumed_at inactive",
		},
	} {
		for i, want := range []string{tt.wantSecond, tt.wantFirst} { // as in generations
			t.Run(generations[i].name+" generation/"+tt.name, func(t *testing.T) {
				t.Parallel()
				store := commercetest.NewStore(commercetest.Config{
					FlagsFollowPayment: tt.flagsFollowPayment, Generation: generations[i].generation,
				})
				store.Seed(12)
				sub := withOption(t, store, allows(true))
				store.UpdateSubscription(sub.ID, func(sub *commerce.Subscription) { stopped(&sub.Meta) })
				target := listPath + "/" + sub.ID.String()
				raw := post(target+"/states", newState("resume", ""))
				if tt.isShopper {
					send(t, store, postForm(implicitForm))
					raw = shopper(raw, store.AccountToken(sub.Attributes.AccountID))
				}
				wantNoContent(t, send(t, store, raw))
				resp := send(t, store, get(target))
				wantEqual(t, "meta", describeState(t, resp), "resume: "+want)
				if strings.Contains(resp.Body, "paused_by") {
					t.Errorf("body = %s, want no paused_by", resp.Body)
				}
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
	add("suspended", m.Suspended)
	add("pending", m.Pending)
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

// A state has the documented members, and no others.
func TestStates_members(t *testing.T) {
	t.Parallel()
	eachSender(t, func(t *testing.T, send sendFunc) {
		store := seeded(commercetest.SecondGeneration, 11)
		target := subscriptionPath(t, store, "") + "/states"
		const id = "73977b77-ff20-8094-995f-e946b3c5c780"
		state := `{"id":"` + id + `","type":"subscription_state",` +
			`"attributes":{"action":"cancel","cancel_immediately":true},"meta":{"created_at":"2024-03-06T02:17:00.123456111Z"}}`
		wantJSON(t, send(store, get(target)), 200, `{"data":[`+state+`]}`)
		wantJSON(t, send(store, get(target+"/"+id)), 200, `{"data":`+state+`}`)
	})
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
		return fmt.Sprintf(`"status":"400","title":"Validation Error","detail":%q`, detail)
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
			want: problem("data.attributes.action must be cancel, pause, resume or pending"),
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

// A shopper may do less than a store, in the second generation.
func TestChangeState_shopper(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name         string
		change       func(*commerce.SubscriptionMeta) // before
		locked       bool                             // the pricing option allows neither pause nor resume
		action, more string
		status       int // in the second generation
		want         string
	}{
		{name: "cancel", action: "cancel", status: 204, want: "cancel: canceled canceled_at active later"},
		{name: "cancel at once", action: "cancel", more: atOnce, status: 403},
		{name: "pause, with the flag", action: "pause", more: atOnce, status: 403},
		{
			name: "cancel what is pending", change: func(m *commerce.SubscriptionMeta) { m.Pending = true },
			action: "cancel", status: 204, want: "cancel: canceled canceled_at inactive at once",
		},
		{name: "pause", action: "pause", status: 204, want: "pause: paused paused_at active"},
		{name: "pause, not allowed", locked: true, action: "pause", status: 422},
		{name: "resume what nobody paused", action: "resume", status: 422},
		{
			name: "resume", change: pausedBy("subscriber"), action: "resume", status: 204, want: "resume: resumed_at active",
		},
		{name: "resume, not allowed", locked: true, change: pausedBy("subscriber"), action: "resume", status: 422},
		{name: "resume what dunning paused", change: pausedBy("dunning"), action: "resume", status: 422},
		{
			name: "resume does not undo a cancellation", action: "resume", status: 204,
			want:   "resume: canceled resumed_at active",
			change: func(m *commerce.SubscriptionMeta) { m.Canceled, m.Paused, m.PausedBy = true, true, "subscriber" },
		},
	} {
		for _, g := range generations {
			t.Run(g.name+" generation/"+tt.name, func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					store := seeded(g.generation, 12)
					sub := withOption(t, store, allows(!tt.locked))
					store.UpdateSubscription(sub.ID, func(sub *commerce.Subscription) {
						if tt.change != nil {
							tt.change(&sub.Meta)
						}
					})
					target := listPath + "/" + sub.ID.String()
					before := send(t, store, get(target)).Body
					token := store.AccountToken(sub.Attributes.AccountID)
					send(t, store, postForm(implicitForm))
					resp := send(t, store, shopper(post(target+"/states", newState(tt.action, tt.more)), token))
					if g.generation == commercetest.FirstGeneration {
						wantNoContent(t, resp)
						return
					}
					wantEqual(t, "status", resp.Status, tt.status)
					if tt.status != 204 {
						wantEqual(t, "subscription", send(t, store, get(target)).Body, before)
						return
					}
					wantEqual(t, "meta", describeState(t, send(t, store, shopper(get(target), token))), tt.want)
				})
			})
		}
	}
}

func pausedBy(who string) func(*commerce.SubscriptionMeta) {
	return func(m *commerce.SubscriptionMeta) { m.Paused, m.PausedBy = true, who }
}

// allows reports whether billing allows both a pause and a resume, or neither.
func allows(change bool) func(*commerce.Billing) bool {
	return func(b *commerce.Billing) bool { return b.CanPause == change && b.CanResume == change }
}

// withOption returns an active subscription of the store with such billing.
func withOption(t *testing.T, store *commercetest.Store, has func(*commerce.Billing) bool) commerce.Subscription {
	t.Helper()
	page, err := store.Client().Subscriptions.List(t.Context(), &commerce.SubscriptionListOptions{
		Include: commerce.SubscriptionInclude{All: true},
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, sub := range page.Subscriptions {
		billing, ok := page.Included.BillingOf(&sub)
		isPlain := sub.Meta.Status == "active" && !sub.Meta.Canceled && !sub.Meta.Paused
		if ok && isPlain && has(billing) {
			return sub
		}
	}
	t.Fatal("no subscription has such billing")
	return commerce.Subscription{}
}

// A store's own resume undoes a cancellation that has not taken effect, and nobody else sees who
// paused a subscription.
func TestChangeState_store(t *testing.T) {
	t.Parallel()
	store := seeded(commercetest.SecondGeneration, 4)
	target := subscriptionPath(t, store, "")
	for _, action := range []string{"cancel", "pause"} {
		wantNoContent(t, send(t, store, post(target+"/states", newState(action, ""))))
	}
	var sub struct{ Data commerce.Subscription }
	if err := json.Unmarshal([]byte(send(t, store, get(target)).Body), &sub); err != nil {
		t.Fatal(err)
	}
	wantEqual(t, "paused by", sub.Data.Meta.PausedBy, "merchandizer")
	send(t, store, postForm(implicitForm))
	token := store.AccountToken(sub.Data.Attributes.AccountID)
	for _, path := range []string{target, listPath} {
		if body := send(t, store, shopper(get(path), token)).Body; strings.Contains(body, "paused_by") {
			t.Errorf("%s: a shopper sees paused_by: %s", path, body)
		}
	}
	wantNoContent(t, send(t, store, post(target+"/states", newState("resume", ""))))
	wantEqual(t, "meta", describeState(t, send(t, store, get(target))), "resume: resumed_at active")
}
