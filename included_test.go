package commerce_test

import (
	"testing"

	"github.com/google/uuid"

	"github.com/commerce-go/commerce"
)

func TestIncluded_find(t *testing.T) {
	t.Parallel()
	id := numberedID(1)
	full := &commerce.Included{
		Plans:          []commerce.Plan{{}, {ID: id}},
		Products:       []commerce.Product{{}, {ID: id}},
		PricingOptions: []commerce.PricingOption{{}, {ID: id}},
	}
	for _, tt := range []struct {
		name     string
		included *commerce.Included
		id       uuid.UUID
		want     bool
	}{
		{name: "all", included: full, id: id, want: true},
		{name: "another id", included: full, id: numberedID(2)},
		{name: "the zero id", included: full},
	} {
		plan, plans := tt.included.Plan(tt.id)
		product, products := tt.included.Product(tt.id)
		option, options := tt.included.PricingOption(tt.id)
		diff(t, "found in "+tt.name, []bool{plans, products, options}, []bool{tt.want, tt.want, tt.want})
		if tt.want && (plan != &full.Plans[1] || product != &full.Products[1] || option != &full.PricingOptions[1]) {
			t.Errorf("%s: got copies of the resources", tt.name)
		}
	}
}
