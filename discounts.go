package commerce

import (
	"encoding/json"
	"errors"

	"github.com/google/uuid"
)

// CartItemType is the kind of an item of a cart.
type CartItemType string

// The kinds of items that a discount can be attached to (specification, section 2.1).
const (
	ItemTypeCartItem   CartItemType = "cart_item"
	ItemTypeCustomItem CartItemType = "custom_item"
)

// CartItemRef names an item of a cart. Both fields are required.
type CartItemRef struct {
	Type CartItemType `json:"type,omitzero"` // kind of the resource
	ID   uuid.UUID    `json:"id,omitzero"`   // identifier
}

// NewCustomDiscount is a discount to add (specification, section 2.1). All
// fields but Item are required; the wire's type member is filled in by the
// library.
type NewCustomDiscount struct {
	// Amount of the discount, less than zero, in the smallest unit of the cart's
	// currency: -1000 takes $10.00 off. At least -10^30, with at most 30 decimal places.
	Amount Decimal
	// Description of the discount.
	Description string
	// DiscountCode used.
	DiscountCode string
	// DiscountEngine names the system where the discount is applied from.
	DiscountEngine string
	// ExternalID identifies the discount in that system. Give each discount one of
	// its own: it is what tells afterwards which of them were added.
	ExternalID string
	// Item to attach the discount to. nil: the whole cart.
	Item *CartItemRef
}

// CustomDiscount is a discount that was added (specification, section 2.2).
type CustomDiscount struct {
	ID   uuid.UUID
	Type string // "custom_discount"
	// Amount of the discount, less than zero, with its currency.
	Amount         Money
	Description    string // as sent
	DiscountCode   string // as sent
	DiscountEngine string // as sent
	ExternalID     string // as sent; the identifier in that engine
	// Item that it is attached to. nil if the response has no relationship to an item:
	// in the response to an add that means the whole cart. In a cart that was read, the
	// service also sends the discounts of items without relationships: nil says nothing
	// there.
	Item *CartItemRef
	// Extra holds members that this type does not name.
	Extra Extra
}

const customDiscountType = "custom_discount"

func newItemRelations(item *CartItemRef) *itemRelations {
	if item == nil {
		return nil
	}
	return &itemRelations{Item: itemRelation{Data: &itemData{Type: item.Type, ID: item.ID}}}
}

// customDiscountWire is the form of a [CustomDiscount] on the wire.
type customDiscountWire struct {
	ID             uuid.UUID       `json:"id,omitzero"`
	Type           string          `json:"type,omitzero"`
	Amount         Money           `json:"amount,omitzero"`
	Description    string          `json:"description,omitzero"`
	DiscountCode   string          `json:"discount_code,omitzero"`
	DiscountEngine string          `json:"discount_engine,omitzero"`
	ExternalID     string          `json:"external_id,omitzero"`
	Relationships  json.RawMessage `json:"relationships,omitzero"`
	Extra          Extra           `json:",embed"`
}

// MarshalJSON encodes d in the service's form, Extra included. Members that are zero
// are mostly left out. It is an error if Item was changed while Extra holds the
// relationships.
func (d CustomDiscount) MarshalJSON() ([]byte, error) {
	w := customDiscountWire{
		ID: d.ID, Type: d.Type, Amount: d.Amount, Description: d.Description,
		DiscountCode: d.DiscountCode, DiscountEngine: d.DiscountEngine, ExternalID: d.ExternalID, Extra: d.Extra,
	}
	if kept, ok := d.Extra["relationships"]; ok {
		if was, _ := readItem(kept); (was == nil) != (d.Item == nil) || was != nil && *was != *d.Item {
			return nil, errors.New("commerce: Item differs from the relationships in Extra: delete them there")
		}
	} else if d.Item != nil {
		var err error
		if w.Relationships, err = payloads.Marshal(newItemRelations(d.Item)); err != nil {
			return nil, err
		}
	}
	return payloads.Marshal(&w)
}

// UnmarshalJSON decodes what the service sends; unknown members go to Extra, and
// so do relationships as a whole where they hold more than the item.
func (d *CustomDiscount) UnmarshalJSON(b []byte) error {
	var w customDiscountWire
	if string(b) == "null" {
		return nil
	}
	if err := payloads.Unmarshal(b, &w); err != nil {
		return err
	}
	*d = CustomDiscount{
		ID: w.ID, Type: w.Type, Amount: w.Amount, Description: w.Description,
		DiscountCode: w.DiscountCode, DiscountEngine: w.DiscountEngine, ExternalID: w.ExternalID, Extra: w.Extra,
	}
	if w.Relationships == nil {
		return nil
	}
	var more bool
	if d.Item, more = readItem(w.Relationships); more {
		if d.Extra == nil {
			d.Extra = Extra{}
		}
		d.Extra["relationships"] = w.Relationships
	}
	return nil
}

// readItem returns the item that relationships hold, and whether they hold more.
func readItem(relationships []byte) (item *CartItemRef, more bool) {
	var rel itemRelations
	more = payloads.Unmarshal(relationships, &rel) != nil || len(rel.Extra) > 0 || len(rel.Item.Extra) > 0
	if data := rel.Item.Data; data != nil {
		more = more || len(data.Extra) > 0
		if data.Type != "" || data.ID != uuid.Nil {
			item = &CartItemRef{Type: data.Type, ID: data.ID}
		}
	}
	return item, more
}
