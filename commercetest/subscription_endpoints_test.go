package commercetest_test

import (
	"encoding/json"
	"maps"
	"strings"
	"testing"

	"github.com/google/uuid"

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
		`"detail":"include must be plans, pricing_options or plans,pricing_options: ` +
		`the store sends the second generation of the payload, see Config.Generation"`
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

// The features of a subscription are those of its plan, in pages. The first generation has none.
func TestListFeatures(t *testing.T) {
	t.Parallel()
	older := seeded(commercetest.FirstGeneration, 1)
	wantJSON(t, send(t, older, get(subscriptionPath(t, older, "")+"/features")), 404, `{"errors":[{`+noSubscription+`}]}`)
	store := seeded(commercetest.SecondGeneration, 8)
	wantJSON(t, send(t, store, get(listPath+"/"+absentItem+"/features")), 404, `{"errors":[{`+noSubscription+`}]}`)
	client := store.Client().Subscriptions
	for sub := range store.Subscriptions() {
		got := featuresOf(t, store, sub.ID, "?page[limit]=2")
		maps.Copy(got, featuresOf(t, store, sub.ID, "?page[limit]=2&page[offset]=2"))
		result, err := client.Get(t.Context(), sub.ID, commerce.SubscriptionInclude{Plans: true})
		if err != nil {
			t.Fatal(err)
		}
		plan, _ := result.Included.Plan(sub.Attributes.PlanID)
		wantEqual(t, "features", got, plan.Attributes.FeatureConfigurations)
	}
}

// featuresOf returns the configurations on a page of the features of a subscription, by their ids.
func featuresOf(
	t *testing.T, store *commercetest.Store, id uuid.UUID, query string,
) map[string]commerce.FeatureConfiguration {
	t.Helper()
	var body struct {
		Data []struct {
			ID, Type   string
			Attributes struct {
				Name          string
				Configuration commerce.FeatureConfiguration
			}
			Meta struct{ Owner string }
		}
		Links map[string]any
	}
	resp := send(t, store, get(listPath+"/"+id.String()+"/features"+query))
	if err := json.Unmarshal([]byte(resp.Body), &body); err != nil {
		t.Fatal(err)
	}
	wantEqual(t, query+": there are links", len(body.Links) > 0, true)
	list := map[string]commerce.FeatureConfiguration{}
	for _, f := range body.Data {
		list[f.ID] = f.Attributes.Configuration
		wantEqual(t, "type", f.Type, "subscription_offering_feature")
		if f.Attributes.Name == "" || f.Meta.Owner == "" {
			t.Errorf("feature %+v, want its required members", f)
		}
	}
	return list
}

// The resources of one subscription are those that it can include.
func TestListRelated(t *testing.T) {
	t.Parallel()
	for _, g := range generations {
		store := seeded(g.generation, 3)
		one := subscriptionPath(t, store, "")
		for _, name := range []string{"plans", "products", "pricing_options"} {
			resp := send(t, store, get(one+"/"+strings.ReplaceAll(name, "_", "-")))
			if name != "plans" && name != g.second {
				wantJSON(t, resp, 404, `{"errors":[{`+noSubscription+`}]}`)
				continue
			}
			var got struct{ Data json.RawMessage }
			var included struct{ Included map[string]json.RawMessage }
			if err := json.Unmarshal([]byte(resp.Body), &got); err != nil {
				t.Fatal(err)
			}
			if err := json.Unmarshal([]byte(send(t, store, get(one+"?include="+name)).Body), &included); err != nil {
				t.Fatal(err)
			}
			wantEqual(t, g.name+" generation: "+name, string(got.Data), string(included.Included[name]))
		}
	}
}
