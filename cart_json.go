package commerce

import (
	"cmp"
	"encoding/json"
	"errors"
	"maps"
	"slices"
)

// MarshalJSON encodes i like the service.
func (i CartItem) MarshalJSON() ([]byte, error) { return payloads.Marshal(&i) }

// UnmarshalJSON decodes an item of the service.
func (i *CartItem) UnmarshalJSON(b []byte) error { return decodeRecord(b, i) }

// MarshalJSON encodes p like the service.
func (p CartDisplayPrice) MarshalJSON() ([]byte, error) { return payloads.Marshal(&p) }

// UnmarshalJSON decodes the display price of a cart.
func (p *CartDisplayPrice) UnmarshalJSON(b []byte) error { return decodeRecord(b, p) }

// UnmarshalJSON decodes the service's response to a read of a cart. null changes nothing.
func (c *Cart) UnmarshalJSON(b []byte) error {
	if string(b) == "null" {
		return nil
	}
	read, err := readCart(b, "")
	if err == nil {
		*c = *read.Cart
	}
	return err
}

// MarshalJSON encodes c like the service, with its items and custom discounts in included.
func (c Cart) MarshalJSON() (b []byte, err error) {
	data, body := cartData{ID: c.ID, Type: c.Type, Name: c.Name, Extra: Extra{}}, cartBody{Extra: Extra{}}
	data.DiscountSettings.CustomDiscountsEnabled = c.CustomDiscountsEnabled
	data.Meta.DisplayPrice, data.Meta.Timestamps.Timestamps = c.DisplayPrice, c.Timestamps
	data.Meta.Timestamps.ExpiresAt = c.ExpiresAt
	nested := map[string]*Extra{
		"discount_settings": &data.DiscountSettings.Extra, "meta": &data.Meta.Extra, "included": &body.Included,
	}
	for name, raw := range c.Extra { // as otherMembers made it
		switch extra, ok := otherThanKnown(raw); {
		case nested[name] == nil:
			data.Extra[name] = raw
		case ok:
			*nested[name] = extra
		default:
			body.Extra[name] = raw
		}
	}
	encode := func(v any) []byte {
		raw, errOne := payloads.Marshal(v)
		err = cmp.Or(err, errOne)
		return raw
	}
	included := Extra{"items": encode(&c.Items), "custom_discounts": encode(&c.CustomDiscounts)}
	maps.Copy(included, body.Included)
	if body.Included, body.Data = included, encode(&data); len(c.Errors) > 0 {
		body.Extra["errors"] = encode(&c.Errors)
	}
	if err != nil {
		return nil, err
	}
	return payloads.Marshal(&body)
}

// otherThanKnown returns the members of an object, if they may stand beside those of a cart.
func otherThanKnown(raw []byte) (extra Extra, ok bool) {
	ok = json.Unmarshal(raw, &extra) == nil
	for _, name := range []string{"custom_discounts_enabled", "display_price", "timestamps", "items", "custom_discounts"} {
		ok = ok && extra[name] == nil
	}
	return extra, ok
}

// maxSlashes limits the time that it takes to find a name in Extra which is not taken.
const maxSlashes = 8

// namesOfFields are texts that MarshalJSON writes into data. Members of the response beside data
// must not take their place.
var namesOfFields = []string{"id", "type", "name"}

// otherMembers returns the Extra of a cart. It is nil if there are no other members.
func otherMembers(data *cartData, body *cartBody) (Extra, error) {
	delete(body.Included, "items")
	delete(body.Included, "custom_discounts")
	nested := Extra{}
	for name, extra := range map[string]Extra{
		"discount_settings": data.DiscountSettings.Extra, "meta": data.Meta.Extra, "included": body.Included,
	} {
		if len(extra) > 0 {
			nested[name], _ = json.Marshal(extra) // no error: it was decoded
		}
	}
	all := Extra{}
	maps.Copy(all, data.Extra)
	for n, extra := range []Extra{nested, body.Extra} {
		for _, name := range slices.Sorted(maps.Keys(extra)) { // so that the names are the same each time
			free := name
			for all[free] != nil || n > 0 && slices.Contains(namesOfFields, free) {
				if free = "/" + free; len(free)-len(name) == maxSlashes {
					return nil, errors.New("too many members of the response have the same name but for slashes")
				}
			}
			all[free] = extra[name]
		}
	}
	if len(all) == 0 {
		return nil, nil
	}
	return all, nil
}

// copy returns a copy of a cart that shares no memory with it.
func (c *Cart) copy() *Cart {
	fresh := new(*c)
	fresh.Items, fresh.Errors = slices.Clone(c.Items), slices.Clone(c.Errors)
	fresh.CustomDiscounts = cloneAll(c.CustomDiscounts)
	for i := range fresh.Items {
		item := &fresh.Items[i]
		copyExtras(&item.Extra, &item.UnitPrice.Extra, &item.Value.Extra)
	}
	for i := range fresh.Errors {
		o := &fresh.Errors[i]
		o.Meta.MissingIDs = slices.Clone(o.Meta.MissingIDs)
		copyExtras(&o.Extra, &o.Meta.Extra)
	}
	p := &fresh.DisplayPrice
	copyExtras(&p.Extra, &p.WithTax.Extra, &p.WithoutTax.Extra, &p.Tax.Extra, &p.Discount.Extra,
		&p.WithoutDiscount.Extra, &fresh.Timestamps.Extra, &fresh.Extra)
	if c.Response != nil {
		fresh.Response = new(*c.Response)
		fresh.Response.Header = c.Response.Header.Clone()
	}
	return fresh
}
