package commerce

import (
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

// maxSlashes limits the time that it takes to find a name in Extra which is not taken.
const maxSlashes = 8

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
	for _, extra := range []Extra{nested, body.Extra} {
		for _, name := range slices.Sorted(maps.Keys(extra)) { // so that the names are the same each time
			free := name
			for all[free] != nil {
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
