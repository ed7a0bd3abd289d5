package commerce

import (
	"reflect"
	"testing"
)

// The tables list every field of every type in a page, and of a discount, so none can be forgotten.
func TestFieldTables(t *testing.T) {
	t.Parallel()
	for _, root := range []reflect.Type{
		reflect.TypeFor[Subscription](), reflect.TypeFor[Included](), reflect.TypeFor[customDiscountWire](),
	} {
		if err := payloads.CheckFields(root); err != nil {
			t.Errorf("%v:\n%v", root, err)
		}
	}
}

// ListBody, ReadFast and ReadByDecoder are for tests that compare the two ways to read the body of a list.
type ListBody = listBody

func ReadFast(b []byte) (body ListBody, err error) {
	err = payloads.DecodeFast(b, &body)
	return body, err
}

func ReadByDecoder(b []byte) (body ListBody, err error) {
	err = payloads.Decode(b, &body)
	return body, err
}
