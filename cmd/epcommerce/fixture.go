package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"

	"github.com/go-json-experiment/json"

	"github.com/commerce-go/commerce"
	"github.com/commerce-go/commerce/commercetest"
)

// readStrict reads JSON. An error of a member names it.
func readStrict(r io.Reader, v any) error {
	err := json.UnmarshalRead(r, v, json.RejectUnknownMembers(true))
	if at, ok := errors.AsType[*json.SemanticError](err); ok && errors.Is(err, json.ErrUnknownName) {
		return fmt.Errorf("unknown member %q", at.JSONPointer.LastToken())
	}
	return err
}

// cartFixture is a cart as a test wants it. Without members it accepts discounts, and has an item
// of each kind.
type cartFixture struct {
	Items            []commerce.CartItemRef       `json:"items"` // nil: one of each kind
	DiscountsEnabled *bool                        `json:"discounts_enabled"`
	Promotion        bool                         `json:"promotion"` // of the store
	Discounts        []commerce.NewCustomDiscount `json:"discounts"` // that are there already, also twice
}

func (f *cartFixture) check() error {
	for i, item := range f.Items {
		if item.Type != "" && item.Type != commerce.ItemTypeCartItem && item.Type != commerce.ItemTypeCustomItem {
			return fmt.Errorf("items: the type of item %d must be cart_item or custom_item", i)
		}
	}
	for i, d := range f.Discounts {
		if err := d.Validate(); err != nil {
			return fmt.Errorf("discounts: number %d: %w", i, err)
		}
	}
	return nil
}

// add adds the cart to a store.
func (f *cartFixture) add(s *commercetest.Store) (cartID string) {
	if f.Items == nil {
		f.Items = []commerce.CartItemRef{{}, {Type: commerce.ItemTypeCustomItem}}
	}
	cartID = s.AddCart(f.Items...)
	if f.DiscountsEnabled == nil || *f.DiscountsEnabled {
		s.EnableDiscounts(cartID)
	}
	if f.Promotion {
		s.AddPromotion(cartID)
	}
	for _, d := range f.Discounts {
		s.AddDiscount(cartID, commerce.CustomDiscount{
			Amount: commerce.Money{Amount: d.Amount}, Description: d.Description, DiscountCode: d.DiscountCode,
			DiscountEngine: d.DiscountEngine, ExternalID: d.ExternalID, Item: d.Item,
		})
	}
	return cartID
}

// addCart adds a cart as the body says. Without a body it is the default one.
func (c *control) addCart(w http.ResponseWriter, r *http.Request) {
	var f cartFixture
	text, err := io.ReadAll(http.MaxBytesReader(w, r.Body, 1<<20))
	if err == nil && len(text) > 0 {
		err = readStrict(bytes.NewReader(text), &f)
	}
	if err == nil {
		err = f.check()
	}
	if err != nil {
		refuse(w, http.StatusBadRequest, "not a cart: "+err.Error())
		return
	}
	store := c.store.Load()
	id := f.add(store)
	items := append([]commerce.CartItemRef{}, store.CartItems(id)...) // not nil
	writeJSON(w, http.StatusCreated, map[string]any{"id": id, "items": items})
}
