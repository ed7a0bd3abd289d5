package commercetest_test

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/commerce-go/commerce/commercetest"
)

// Currencies have different digits and signs, and one is the default.
func TestListCurrencies(t *testing.T) {
	t.Parallel()
	store := commercetest.NewStore(commercetest.Config{})
	const (
		self  = `https://store-links.example/v2/currencies/`
		euro  = `de548b38-fdc5-86a2-8fe6-9f748ff087b6`
		first = `{"id":"` + euro + `","type":"currency","code":"EUR","exchange_rate":0.92,"format":"{price} €",
			"decimal_point":",","thousand_separator":".","decimal_places":2,"default":false,"enabled":true,
			"links":{"self":"` + self + euro + `"},
			"meta":{"owner":"store",
				"timestamps":{"created_at":"2024-01-02T08:30:00.000Z","updated_at":"2024-01-02T08:30:00.000Z"}}}`
		next = `https://store-links.example/v2/currencies?page%5Blimit%5D=1&page%5Boffset%5D=`
	)
	wantJSON(t, send(t, store, get("/v2/currencies?page[limit]=1")), 200, `{"data":[`+first+`],
		"links":{"first":"`+next+`0","next":"`+next+`1","prev":null,"last":null}}`)

	var list struct {
		Data []struct {
			ID, Code      string
			DecimalPlaces int `json:"decimal_places"`
			Default       bool
		}
	}
	var got []string
	ids := map[string]bool{}
	if err := json.Unmarshal([]byte(send(t, store, get("/v2/currencies")).Body), &list); err != nil {
		t.Fatal(err)
	}
	for _, c := range list.Data {
		ids[c.ID] = true
		got = append(got, fmt.Sprint(c.Code, " ", c.DecimalPlaces, " ", c.Default))
	}
	wantEqual(t, "currencies", got, []string{"EUR 2 false", "USD 2 true", "GBP 2 false", "JPY 0 false", "KWD 3 false"})
	wantEqual(t, "number of ids", len(ids), 5)
	wantEqual(t, "with a filter", send(t, store, get("/v2/currencies?filter=eq(code,USD)")).Status, 400)
}
