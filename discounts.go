package commerce

import (
	"encoding/json"
	"errors"

	"github.com/google/uuid"
)

// NewCustomDiscount is a discount to add. All fields but Item are required.
type NewCustomDiscount struct {
	// Amount in the smallest unit of the cart's currency, less than zero: -1000 takes
	// $10.00 off. At least -10^30, with at most 30 decimal places.
	Amount      Decimal
	Description string
	// DiscountCode is the code that the discount was given for.
	DiscountCode string
	// DiscountEngine names the system that decided on the discount.
	DiscountEngine string
	// ExternalID identifies the discount in that system. Give each discount its own: it is
	// the only way to tell afterwards which discounts were added.
	ExternalID string
	// Item of the cart that the discount is for; nil for the whole cart.
	Item *CartItemRef
}

// CustomDiscount is a discount that was added.
type CustomDiscount struct {
	ID             uuid.UUID
	Type           string // "custom_discount"
	Amount         Money  // less than zero
	Description    string
	DiscountCode   string
	DiscountEngine string
	ExternalID     string
	// Item of the cart that the discount is for; nil if the response names none. In the
	// response to an add, nil means the whole cart. In a cart that was read, nil means
	// nothing: there the service also leaves out the items of item discounts.
	Item  *CartItemRef
	Extra Extra
}

// CartItemRef names an item of a cart. Both fields are required.
type CartItemRef struct {
	Type CartItemType `json:"type,omitzero"`
	ID   uuid.UUID    `json:"id,omitzero"`
}

// CartItemType is the kind of an item of a cart.
type CartItemType string

// The kinds of items that can have discounts.
const (
	ItemTypeCartItem   CartItemType = "cart_item"
	ItemTypeCustomItem CartItemType = "custom_item"
)

const customDiscountType = "custom_discount"

// customDiscountWire is the JSON form of a [CustomDiscount].
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

// itemRelations is the JSON form of the item of a discount. Only responses have an Extra.
type itemRelations struct {
	Item  itemRelation `json:"item,omitzero"`
	Extra Extra        `json:",embed"`
}

type itemRelation struct {
	Data  *ResourceRef `json:"data,omitzero"`
	Extra Extra        `json:",embed"`
}

func newItemRelations(item *CartItemRef) *itemRelations {
	if item == nil {
		return nil
	}
	return &itemRelations{Item: itemRelation{Data: &ResourceRef{Type: string(item.Type), ID: item.ID}}}
}

// readItem returns the item that relationships hold, and whether they hold more.
func readItem(relationships []byte) (item *CartItemRef, more bool) {
	var rel itemRelations
	more = payloads.Unmarshal(relationships, &rel) != nil || len(rel.Extra) > 0 || len(rel.Item.Extra) > 0
	if data := rel.Item.Data; data != nil {
		more = more || len(data.Extra) > 0
		if data.Type != "" || data.ID != uuid.Nil {
			item = &CartItemRef{Type: CartItemType(data.Type), ID: data.ID}
		}
	}
	return item, more
}

// MarshalJSON encodes d like the service, without fields that are zero. It returns an error
// if Item was changed while Extra holds the relationships.
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

// UnmarshalJSON decodes a discount of the service. If its relationships hold more than the
// item, they go to Extra too.
func (d *CustomDiscount) UnmarshalJSON(b []byte) error {
	if string(b) == "null" {
		return nil
	}
	var w customDiscountWire
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
