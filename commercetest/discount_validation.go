package commercetest

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/google/uuid"

	"github.com/commerce-go/commerce"
)

// readBatch reads the body of a bulk request. It returns an error object for each
// problem. Unknown members are ignored. The names of members are case-sensitive.
func readBatch(body []byte) (batch []commerce.CustomDiscount, options addOptions, problems []errorObject) {
	v := &validator{}
	root, ok := v.object("body", body)
	if !ok {
		return nil, options, v.problems
	}
	if raw, ok := root["options"]; ok {
		if o, ok := v.object("options", raw); ok && o["add_all_or_nothing"] != nil {
			if json.Unmarshal(o["add_all_or_nothing"], &options.AllOrNothing) != nil {
				v.addProblem("options.add_all_or_nothing", "must be a boolean")
			}
		}
	}
	var discounts []json.RawMessage
	if json.Unmarshal(root["data"], &discounts) != nil || len(discounts) == 0 {
		v.addProblem("data", "must be an array with at least one custom discount")
	}
	for i, raw := range discounts {
		path := fmt.Sprintf("data[%d]", i)
		if o, ok := v.object(path, raw); ok {
			batch = append(batch, v.discount(path, o))
		}
	}
	return batch, options, v.problems
}

// validator reads JSON values and collects their problems. The path of a value
// names it in the problems, for example "data[0].amount".
type validator struct{ problems []errorObject }

func (v *validator) addProblem(path, what string) {
	v.problems = append(v.problems, errorObject{Status: 400, Title: "Validation Error", Detail: path + " " + what})
}

// object reads a JSON object.
func (v *validator) object(path string, raw []byte) (map[string]json.RawMessage, bool) {
	var o map[string]json.RawMessage
	if json.Unmarshal(raw, &o) != nil || o == nil {
		v.addProblem(path, "must be an object")
		return nil, false
	}
	return o, true
}

// text reads a string that is required and not blank.
func (v *validator) text(path string, raw []byte) string {
	var s string
	if json.Unmarshal(raw, &s) != nil || strings.TrimSpace(s) == "" {
		v.addProblem(path, "is required, and must be a string that is not empty")
	}
	return s
}

// amount reads a JSON number less than zero.
func (v *validator) amount(path string, raw []byte) commerce.Money {
	m := commerce.Money{Currency: "USD"}
	isNumber := len(raw) > 0 && strings.ContainsRune("-0123456789", rune(raw[0]))
	if !isNumber || m.Amount.UnmarshalJSON(raw) != nil {
		v.addProblem(path, "is required, and must be a number")
		return m
	}
	if m.Amount.Sign() >= 0 {
		v.addProblem(path, "must be less than zero")
	}
	m.Formatted = "-$" + m.Amount.Abs().Shift(-2).StringFixed(2) // the amount is in cents
	return m
}

func (v *validator) discount(path string, o map[string]json.RawMessage) commerce.CustomDiscount {
	d := commerce.CustomDiscount{
		Type:           v.text(path+".type", o["type"]),
		Amount:         v.amount(path+".amount", o["amount"]),
		Description:    v.text(path+".description", o["description"]),
		DiscountCode:   v.text(path+".discount_code", o["discount_code"]),
		DiscountEngine: v.text(path+".discount_engine", o["discount_engine"]),
		ExternalID:     v.text(path+".external_id", o["external_id"]),
	}
	if d.Type != "" && d.Type != "custom_discount" {
		v.addProblem(path+".type", "must be custom_discount")
	}
	d.Item = v.item(path, o)
	return d
}

// item reads relationships.item.data. It returns nil if any of the three is absent
// or null.
func (v *validator) item(path string, o map[string]json.RawMessage) *commerce.CartItemRef {
	for _, name := range []string{"relationships", "item", "data"} {
		raw := o[name]
		if raw == nil || string(raw) == "null" {
			return nil
		}
		path += "." + name
		var ok bool
		if o, ok = v.object(path, raw); !ok {
			return nil
		}
	}
	itemType := commerce.CartItemType(v.text(path+".type", o["type"]))
	if itemType != "" && itemType != commerce.ItemTypeCartItem && itemType != commerce.ItemTypeCustomItem {
		v.addProblem(path+".type", "must be cart_item or custom_item")
	}
	text := v.text(path+".id", o["id"])
	id, err := uuid.Parse(text)
	if text != "" && (err != nil || len(text) != 36) {
		v.addProblem(path+".id", "must be a UUID")
	}
	return &commerce.CartItemRef{Type: itemType, ID: id}
}
