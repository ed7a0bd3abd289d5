package commerce

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/google/uuid"

	"github.com/commerce-go/commerce/internal/wire"
)

// NewCustomDiscount is a discount to add. All fields but Item are required.
type NewCustomDiscount struct {
	// Amount in the smallest unit of the cart's currency, less than zero: -1000 takes
	// $10.00 off. At least -10^30, with at most 30 decimal places.
	Amount      Decimal `json:"amount"`
	Description string  `json:"description,omitzero"`
	// DiscountCode is the code that was used for the discount, e.g. the code of a coupon.
	DiscountCode string `json:"discount_code,omitzero"`
	// DiscountEngine names the system that decided on the discount.
	DiscountEngine string `json:"discount_engine,omitzero"`
	// ExternalID identifies the discount in that system. Use a different one for each
	// discount: only it shows afterwards which discounts were added.
	ExternalID string `json:"external_id,omitzero"`
	// Item of the cart that the discount is for; nil for the whole cart.
	Item *CartItemRef `json:"-"`
}

// discountRequest is a discount to add or to update. Empty texts are left out: an update does
// not change them, and a discount to add has none.
type discountRequest struct {
	Type          string           `json:"type"`
	Discount      plainNewDiscount `json:",embed"`
	Relationships *itemRelations   `json:"relationships,omitzero"`
}

// plainNewDiscount is a [NewCustomDiscount] without its item.
type plainNewDiscount NewCustomDiscount

func newDiscountRequest(d *NewCustomDiscount) discountRequest {
	return discountRequest{customDiscountType, plainNewDiscount(*d), newItemRelations(d.Item)}
}

// MarshalJSON encodes d as the service's requests do.
func (d NewCustomDiscount) MarshalJSON() ([]byte, error) {
	return payloads.Marshal(new(newDiscountRequest(&d)))
}

// UnmarshalJSON decodes a discount as the service's requests have it:
//
//	{"amount": -1000, "description": "Ten dollars off", "discount_code": "TEN-OFF",
//	 "discount_engine": "promo-engine", "external_id": "promo-1",
//	 "relationships": {"item": {"data": {"type": "cart_item", "id": "3b4de20a-…"}}}}
//
// An unknown member is an error, as it may be a misspelled one: without that, the discount would be
// another one. The same name twice is an error too. A member that is absent leaves its field
// zero: see Validate.
func (d *NewCustomDiscount) UnmarshalJSON(b []byte) error {
	if string(b) == "null" {
		return nil
	}
	var request discountRequest
	if err := wire.UnmarshalStrict(b, &request); err != nil {
		return err
	}
	if request.Type != "" && request.Type != customDiscountType {
		return fmt.Errorf("type is %q, want custom_discount", request.Type)
	}
	relations := cmp.Or(request.Relationships, &itemRelations{})
	item := cmp.Or(relations.Item.Data, &ResourceRef{})
	for _, others := range []Extra{relations.Extra, relations.Item.Extra, item.Extra} {
		for name := range others {
			return fmt.Errorf("unknown object member name %q in relationships", name)
		}
	}
	*d = NewCustomDiscount(request.Discount)
	if relations.Item.Data != nil {
		d.Item = &CartItemRef{Type: CartItemType(item.Type), ID: item.ID}
	}
	return nil
}

// Validate returns a [*ValidationError] with all problems of the discount. These are the
// checks of [CartService.AddCustomDiscounts].
func (d NewCustomDiscount) Validate() error {
	problems := &ValidationError{}
	d.check(-1, problems)
	return problems.err()
}

// maxWanted is the number of discounts of a call.
const maxWanted = 1_000

// check adds the problems of the discount at index to problems.
func (d *NewCustomDiscount) check(index int, problems *ValidationError) {
	if index == maxWanted { // the first one too many
		problems.add("discounts", "must hold at most 1,000")
	}
	checkAmount(d.Amount, index, problems)
	for _, text := range d.texts() {
		switch {
		case strings.TrimSpace(text.value) == "":
			problems.addAt(index, text.field, "must not be empty")
		case !utf8.ValidString(text.value):
			problems.addAt(index, text.field, "must be valid UTF-8")
		}
	}
	if d.Item == nil {
		return
	}
	if d.Item.Type != ItemTypeCartItem && d.Item.Type != ItemTypeCustomItem {
		problems.addAt(index, "relationships.item.data.type", "must be cart_item or custom_item")
	}
	if d.Item.ID == uuid.Nil {
		problems.addAt(index, "relationships.item.data.id", "must not be the zero UUID")
	}
}

// namedText is a text of a discount, and its name in JSON.
type namedText struct{ field, value string }

func (d *NewCustomDiscount) texts() []namedText {
	return []namedText{
		{field: "description", value: d.Description},
		{field: "discount_code", value: d.DiscountCode},
		{field: "discount_engine", value: d.DiscountEngine},
		{field: "external_id", value: d.ExternalID},
	}
}

func checkAmount(amount Decimal, index int, problems *ValidationError) {
	switch {
	case amount.Sign() >= 0:
		problems.addAt(index, "amount", "must be less than zero")
	case !amount.isAmount():
		problems.addAt(index, "amount", "must be within ±10^30, with at most 30 decimal places")
	}
}

// discountKey identifies a discount: no two discounts of a cart should have the same key.
type discountKey struct{ engine, externalID string }

// isNone reports whether the discount takes nothing off: it must not be on the cart then.
func (d *NewCustomDiscount) isNone() bool { return d.Amount.IsZero() }

// newDiscountKey ignores white space at both ends, which the service may remove.
func newDiscountKey(engine, externalID string) discountKey {
	return discountKey{engine: strings.TrimSpace(engine), externalID: strings.TrimSpace(externalID)}
}

func (d *NewCustomDiscount) key() discountKey { return newDiscountKey(d.DiscountEngine, d.ExternalID) }

func (d *CustomDiscount) key() discountKey { return newDiscountKey(d.DiscountEngine, d.ExternalID) }

// contents returns all of d as a text, to compare it.
func (d *NewCustomDiscount) contents() string {
	return fmt.Sprint(d.key(), d.Amount, d.Description, d.DiscountCode, d.Item)
}

// mayHaveEngine reports whether o has the engine of d, or does not show its own. Letter case
// does not count, as the service may change it.
func (d *NewCustomDiscount) mayHaveEngine(o *CustomDiscount) bool {
	engine := o.key().engine
	return engine == "" || strings.EqualFold(engine, d.key().engine)
}

// isLike reports whether o may be d with another external id.
func (d *NewCustomDiscount) isLike(o *CustomDiscount) bool {
	sameItem := d.Item == nil && o.Item == nil || d.Item != nil && o.Item != nil && d.Item.ID == o.Item.ID
	return sameItem && d.mayHaveEngine(o) && d.hasContents(o)
}

// hasContents reports whether o has the amount and the texts of d. White space at both ends
// does not count, as the service may remove it.
func (d *NewCustomDiscount) hasContents(o *CustomDiscount) bool {
	return d.Amount.Equal(o.Amount.Amount) &&
		strings.TrimSpace(d.Description) == strings.TrimSpace(o.Description) &&
		strings.TrimSpace(d.DiscountCode) == strings.TrimSpace(o.DiscountCode)
}

// contradicts reports whether o shows another amount or text than d. What is absent shows nothing.
func (d *NewCustomDiscount) contradicts(o *CustomDiscount) bool {
	shown := *o
	if !o.Amount.Amount.isSet() {
		shown.Amount.Amount = d.Amount
	}
	shown.Description = cmp.Or(o.Description, d.Description)
	shown.DiscountCode = cmp.Or(o.DiscountCode, d.DiscountCode)
	return !d.hasContents(&shown)
}

// checkKey adds the problems of a key by which a discount must be found again: a service may
// remove what cannot be seen.
func (d *NewCustomDiscount) checkKey(index int, problems *ValidationError) {
	for _, text := range d.texts() {
		isKey := text.field == "discount_engine" || text.field == "external_id"
		if isKey && hasHidden(text.value) {
			problems.addAt(index, text.field, "must not contain control characters or U+FEFF")
		}
	}
}

// hasHidden reports whether a text contains control characters or a byte order mark.
func hasHidden(text string) bool {
	return strings.ContainsFunc(text, func(r rune) bool { return unicode.IsControl(r) || r == '\ufeff' })
}

// checkUpdate adds the problems of the members that an update sends.
func (d *CustomDiscount) checkUpdate(problems *ValidationError) {
	checkAmount(d.Amount.Amount, -1, problems)
	if !d.Amount.Amount.IsInteger() {
		problems.add("amount", "must be a whole number")
	}
	for _, text := range d.asNew().texts() {
		if !utf8.ValidString(text.value) {
			problems.add(text.field, "must be valid UTF-8")
		}
	}
}

// path returns the path of the discount below its cart.
func (d *CustomDiscount) path() []string {
	if d.Item == nil {
		return []string{"custom-discounts", d.ID.String()}
	}
	return []string{"items", d.Item.ID.String(), "custom-discounts", d.ID.String()}
}

// asNew returns what would have to be added to get d.
func (d *CustomDiscount) asNew() *NewCustomDiscount {
	return &NewCustomDiscount{
		Amount: d.Amount.Amount, Description: d.Description, DiscountCode: d.DiscountCode,
		DiscountEngine: d.DiscountEngine, ExternalID: d.ExternalID, Item: d.Item.clone(),
	}
}

// asAdded returns d as a discount that was added, without an ID.
func (d *NewCustomDiscount) asAdded() CustomDiscount {
	return CustomDiscount{
		Type: customDiscountType, Amount: Money{Amount: d.Amount}, Description: d.Description,
		DiscountCode: d.DiscountCode, DiscountEngine: d.DiscountEngine, ExternalID: d.ExternalID, Item: d.Item.clone(),
	}
}

// clone returns a copy of d that shares no memory with it.
func (d CustomDiscount) clone() CustomDiscount {
	d.Item = d.Item.clone()
	copyExtras(&d.Extra, &d.Amount.Extra)
	return d
}

func cloneAll(list []CustomDiscount) []CustomDiscount {
	list = slices.Clone(list)
	for i := range list {
		list[i] = list[i].clone()
	}
	return list
}

func hasDiscount(list []CustomDiscount, id uuid.UUID) bool {
	return slices.ContainsFunc(list, func(d CustomDiscount) bool { return d.ID == id })
}

// copyItem returns d with its own copy of Item, so that neither changes with the other.
func (d NewCustomDiscount) copyItem() NewCustomDiscount {
	d.Item = d.Item.clone()
	return d
}

// CustomDiscount is a discount that was added.
type CustomDiscount struct {
	ID             uuid.UUID `json:"id,omitzero"`
	Type           string    `json:"type,omitzero"`   // "custom_discount"
	Amount         Money     `json:"amount,omitzero"` // less than zero
	Description    string    `json:"description,omitzero"`
	DiscountCode   string    `json:"discount_code,omitzero"`
	DiscountEngine string    `json:"discount_engine,omitzero"`
	ExternalID     string    `json:"external_id,omitzero"`
	// Item of the cart that the discount is for; nil if the response names none. In the
	// response to an add, nil means the whole cart. In a cart that was read, nil may also
	// mean an item, because the service leaves it out there.
	Item  *CartItemRef `json:"-"`
	Extra Extra        `json:",embed"`
}

// plainDiscount is a [CustomDiscount] whose relationships are in Extra.
type plainDiscount CustomDiscount

// String returns the engine, the external id and the amount, e.g. "promo-engine promo-1 -$10.00".
func (d CustomDiscount) String() string {
	return d.DiscountEngine + " " + d.ExternalID + " " + d.Amount.String()
}

// CartItemRef names an item of a cart. Both fields are required.
type CartItemRef struct {
	Type CartItemType `json:"type,omitzero"`
	ID   uuid.UUID    `json:"id,omitzero"`
}

func (r *CartItemRef) clone() *CartItemRef {
	if r == nil {
		return nil
	}
	return new(*r)
}

// CartItemType is the kind of an item of a cart.
type CartItemType string

// The kinds of items that can have discounts.
const (
	ItemTypeCartItem   CartItemType = "cart_item"
	ItemTypeCustomItem CartItemType = "custom_item"

	promotionItem CartItemType = "promotion_item" // shows a promotion of the store
)

const customDiscountType = "custom_discount"

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
	kept := d.Extra["relationships"]
	var rel itemRelations
	was, _ := readItem(kept)
	switch {
	case was == nil && d.Item != nil && (kept == nil || payloads.Unmarshal(kept, &rel) == nil):
		rel.Item = newItemRelations(d.Item).Item
		relationships, _ := payloads.Marshal(&rel) // no error: it was decoded
		extra := Extra{}
		maps.Copy(extra, d.Extra)
		extra["relationships"], d.Extra = relationships, extra
	case (was == nil) != (d.Item == nil), was != nil && *was != *d.Item:
		return nil, errors.New("commerce: Item differs from the relationships in Extra: delete them there")
	}
	return payloads.Marshal((*plainDiscount)(&d))
}

// UnmarshalJSON decodes a discount of the service. If its relationships hold more than the
// item, Extra holds them too.
func (d *CustomDiscount) UnmarshalJSON(b []byte) error {
	if string(b) == "null" {
		return nil
	}
	var read plainDiscount
	if err := payloads.Unmarshal(b, &read); err != nil {
		return err
	}
	*d = read.withItem()
	return nil
}

// withItem takes the item of the discount from the relationships in Extra.
func (d *plainDiscount) withItem() CustomDiscount {
	if relationships := d.Extra["relationships"]; relationships != nil {
		var more bool
		if d.Item, more = readItem(relationships); !more {
			delete(d.Extra, "relationships")
		}
	}
	if len(d.Extra) == 0 {
		d.Extra = nil
	}
	return CustomDiscount(*d)
}
