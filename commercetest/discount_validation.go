package commercetest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"mime"
	"net/http"
	"slices"
	"strings"

	"github.com/google/uuid"

	"github.com/commerce-go/commerce"
)

// members are the members of a JSON object. Their names are case-sensitive.
type members map[string]json.RawMessage

// readBody calls read with the JSON object in the body of a request. It returns a
// refusal with an error object for each problem, or nil. Unknown members are ignored.
func (s *Store) readBody(in *call, read func(v *validator, root members)) *response {
	if mediaType, _, _ := mime.ParseMediaType(in.Header.Get("Content-Type")); mediaType != "application/json" {
		detail := "The body must be application/json"
		return new(errorResponse(http.StatusUnsupportedMediaType, "Unsupported Media Type", detail))
	}
	v := &validator{status: http.StatusBadRequest, fractions: s.cfg.FractionalAmounts}
	if in.Operation == OpChangeState { // its errors have the status as a text
		v.status = "400"
	}
	if in.Operation == OpUpdateCart { // its specification declares no other refusal
		v.status = http.StatusUnprocessableEntity
	}
	if root, ok := v.object("body", in.Body); ok {
		read(v, root)
	}
	switch {
	case len(v.problems) == 0:
		return nil
	case in.Operation == OpUpdateCart:
		return new(jsonResponse(http.StatusUnprocessableEntity, joined(v.problems)))
	}
	return new(errorsResponse(http.StatusBadRequest, v.problems...))
}

// joined returns one error object for all problems.
func joined(problems []errorObject) errorObject {
	o := problems[0]
	for _, p := range problems[1:] {
		o.Detail += "; " + p.Detail
	}
	return o
}

// batch is what a request adds to a cart.
type batch struct {
	discounts []commerce.CustomDiscount
	isObject  bool // data is one discount, not an array
	options   addOptions
}

// read reads the body of a bulk request, whose data is an array or one discount.
func (b *batch) read(v *validator, root members) {
	if raw, ok := root["options"]; ok {
		if o, ok := v.object("options", raw); ok {
			if allOrNothing := v.boolean("options.add_all_or_nothing", o["add_all_or_nothing"]); allOrNothing != nil {
				b.options.AllOrNothing = *allOrNothing
			}
		}
	}
	if bytes.HasPrefix(root["data"], []byte("{")) {
		b.readObject(v, root)
		return
	}
	var discounts []json.RawMessage
	if json.Unmarshal(root["data"], &discounts) != nil || len(discounts) == 0 {
		v.addProblem("data", "must be a custom discount, or an array with at least one")
	}
	for i, raw := range discounts {
		path := fmt.Sprintf("data[%d]", i)
		if o, ok := v.object(path, raw); ok {
			b.discounts = append(b.discounts, v.newDiscount(path, o))
		}
	}
}

// readObject reads the body of a request whose data is one discount.
func (b *batch) readObject(v *validator, root members) {
	b.isObject = true
	if o, ok := v.object("data", root["data"]); ok {
		b.discounts = []commerce.CustomDiscount{v.newDiscount("data", o)}
	}
}

// validator reads JSON values and collects their problems. The path of a value
// names it in the problems, for example "data[0].amount".
type validator struct {
	problems  []errorObject
	status    any  // of a problem, a text or a number
	fractions bool // amounts may be fractions
}

func (v *validator) addProblem(path, what string) {
	v.problems = append(v.problems, errorObject{Status: v.status, Title: "Validation Error", Detail: path + " " + what})
}

// object reads a JSON object.
func (v *validator) object(path string, raw []byte) (members, bool) {
	var o members
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

// boolean reads a boolean. It returns nil if raw is absent.
func (v *validator) boolean(path string, raw []byte) *bool {
	if raw == nil {
		return nil
	}
	var b *bool
	if json.Unmarshal(raw, &b) != nil || b == nil {
		v.addProblem(path, "must be a boolean")
	}
	return b
}

// discountSettings reads the settings in an object. What is absent is nil.
func (v *validator) discountSettings(path string, raw []byte) settingsChange {
	if raw == nil {
		return settingsChange{}
	}
	o, _ := v.object(path, raw)
	return settingsChange{
		enableDiscounts:   v.boolean(path+".custom_discounts_enabled", o["custom_discounts_enabled"]),
		useRulePromotions: v.boolean(path+".use_rule_promotions", o["use_rule_promotions"]),
	}
}

// resourceType reads the type of a resource, which is required and must be want.
func (v *validator) resourceType(path string, raw []byte, want string) {
	if got := v.text(path, raw); got != "" && got != want {
		v.addProblem(path, "must be "+want)
	}
}

// number reads a JSON number.
func (v *validator) number(path string, raw []byte) (n commerce.Decimal) {
	isNumber := len(raw) > 0 && strings.ContainsRune("-0123456789", rune(raw[0]))
	if !isNumber || n.UnmarshalJSON(raw) != nil {
		v.addProblem(path, "is required, and must be a number")
	}
	return n
}

// price reads a whole number of at least 0.
func (v *validator) price(path string, raw []byte) commerce.Decimal {
	problems := len(v.problems)
	n := v.number(path, raw)
	if len(v.problems) == problems && (n.IsNegative() || !n.IsInteger()) {
		v.addProblem(path, "must be a whole number of at least 0")
	}
	return n
}

// amount reads a JSON number less than zero, which must be whole without v.fractions.
func (v *validator) amount(path string, raw []byte) commerce.Money {
	problems := len(v.problems)
	n := v.number(path, raw)
	switch {
	case len(v.problems) > problems:
	case n.Sign() >= 0:
		v.addProblem(path, "must be less than zero")
	case !v.fractions && !n.IsInteger():
		v.addProblem(path, "must be a whole number")
	}
	return commerce.Money{Amount: n} // the cart has the currency
}

// newDiscount reads a discount to add.
func (v *validator) newDiscount(path string, o members) (d commerce.CustomDiscount) {
	v.discount(&d, path, o, "amount", "description", "discount_code", "discount_engine", "external_id")
	d.Item = v.item(path, o)
	return d
}

// discount reads the type, and those of the other members that are required or
// present, into d.
func (v *validator) discount(d *commerce.CustomDiscount, path string, o members, required ...string) {
	v.resourceType(path+".type", o["type"], "custom_discount")
	d.Type = "custom_discount"
	has := func(name string) bool { return o[name] != nil || slices.Contains(required, name) }
	if has("amount") {
		d.Amount = v.amount(path+".amount", o["amount"])
	}
	for _, text := range []struct {
		name  string
		field *string
	}{
		{name: "description", field: &d.Description},
		{name: "discount_code", field: &d.DiscountCode},
		{name: "discount_engine", field: &d.DiscountEngine},
		{name: "external_id", field: &d.ExternalID},
	} {
		if has(text.name) {
			*text.field = v.text(path+"."+text.name, o[text.name])
		}
	}
}

// item reads relationships.item.data. It returns nil if any of the three is absent
// or null.
func (v *validator) item(path string, o members) *commerce.CartItemRef {
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
