package commercetest

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/google/uuid"

	"github.com/commerce-go/commerce"
)

// readBatch reads the body of a bulk request (specification, sections 2.1 and
// 4.1). Names of members count with their case; unknown members do not.
func readBatch(body []byte) (batch []commerce.CustomDiscount, options addOptions, faults []errorObject) {
	v := &validator{}
	root, ok := v.object("body", body)
	if !ok {
		return nil, options, v.faults
	}
	if raw, ok := root["options"]; ok {
		if o, ok := v.object("options", raw); ok && o["add_all_or_nothing"] != nil {
			if json.Unmarshal(o["add_all_or_nothing"], &options.AllOrNothing) != nil {
				v.fault("options.add_all_or_nothing", "must be a boolean")
			}
		}
	}
	var items []json.RawMessage
	if json.Unmarshal(root["data"], &items) != nil || len(items) == 0 {
		v.fault("data", "must be an array with at least one custom discount")
	}
	for i, raw := range items {
		at := fmt.Sprintf("data[%d]", i)
		if o, ok := v.object(at, raw); ok {
			batch = append(batch, v.discount(at, o))
		}
	}
	return batch, options, v.faults
}

// validator reads JSON and collects what is wrong with it.
type validator struct{ faults []errorObject }

func (v *validator) fault(at, what string) {
	v.faults = append(v.faults, errorObject{Status: 400, Title: "Validation Error", Detail: at + " " + what})
}

// object reads a JSON object.
func (v *validator) object(at string, raw []byte) (map[string]json.RawMessage, bool) {
	var o map[string]json.RawMessage
	if json.Unmarshal(raw, &o) != nil || o == nil {
		v.fault(at, "must be an object")
		return nil, false
	}
	return o, true
}

// text reads a string that must be there.
func (v *validator) text(at string, raw []byte) string {
	var s string
	if json.Unmarshal(raw, &s) != nil || strings.TrimSpace(s) == "" {
		v.fault(at, "is required, and must be a string that is not empty")
	}
	return s
}

// amount reads a JSON number less than zero.
func (v *validator) amount(at string, raw []byte) commerce.Money {
	m := commerce.Money{Currency: "USD"}
	number := len(raw) > 0 && strings.ContainsRune("-0123456789", rune(raw[0]))
	if !number || m.Amount.UnmarshalJSON(raw) != nil {
		v.fault(at, "is required, and must be a number")
		return m
	}
	if m.Amount.Sign() >= 0 {
		v.fault(at, "must be less than zero")
	}
	m.Formatted = "-$" + m.Amount.Abs().Shift(-2).StringFixed(2) // cents
	return m
}

func (v *validator) discount(at string, o map[string]json.RawMessage) commerce.CustomDiscount {
	d := commerce.CustomDiscount{
		Type:           v.text(at+".type", o["type"]),
		Amount:         v.amount(at+".amount", o["amount"]),
		Description:    v.text(at+".description", o["description"]),
		DiscountCode:   v.text(at+".discount_code", o["discount_code"]),
		DiscountEngine: v.text(at+".discount_engine", o["discount_engine"]),
		ExternalID:     v.text(at+".external_id", o["external_id"]),
	}
	if d.Type != "" && d.Type != "custom_discount" {
		v.fault(at+".type", "must be custom_discount")
	}
	d.Item = v.item(at, o)
	return d
}

// item reads relationships.item.data; nil where any part of it is absent or null.
func (v *validator) item(at string, o map[string]json.RawMessage) *commerce.CartItemRef {
	for _, name := range []string{"relationships", "item", "data"} {
		raw := o[name]
		if raw == nil || string(raw) == "null" {
			return nil
		}
		at += "." + name
		var ok bool
		if o, ok = v.object(at, raw); !ok {
			return nil
		}
	}
	kind := commerce.CartItemType(v.text(at+".type", o["type"]))
	if kind != "" && kind != commerce.ItemTypeCartItem && kind != commerce.ItemTypeCustomItem {
		v.fault(at+".type", "must be cart_item or custom_item")
	}
	text := v.text(at+".id", o["id"])
	id, err := uuid.Parse(text)
	if text != "" && (err != nil || len(text) != 36) {
		v.fault(at+".id", "must be a UUID")
	}
	return &commerce.CartItemRef{Type: kind, ID: id}
}
