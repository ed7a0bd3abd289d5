package commerce

import (
	"slices"

	"github.com/google/uuid"

	"github.com/commerce-go/commerce/internal/wire"
)

// ErrorObject is an entry of the errors array of an answer (specification,
// section 2.6).
type ErrorObject struct {
	// Status as the entry says, whether number or string; 0 if absent. It may
	// differ from the HTTP status, which is the one to trust.
	Status int
	Title  string // kind of the error, the same for all of a kind; shown in texts
	Detail string // what happened, in words; may name the caller's data, and is shown nowhere
	// Source names the offending part of the request, as a JSON path or what else the service sends.
	Source string
	// RequestID identifies the request to the service's support; rarely present.
	RequestID string
	Meta      ErrorMeta
	// Extra holds members that this type does not name, or whose form does not fit.
	Extra Extra
}

// ErrorMeta is the meta member of an [ErrorObject] (specification, section 2.6).
type ErrorMeta struct {
	// MissingIDs are the ids of records that do not exist.
	MissingIDs []uuid.UUID
	// ID of the record concerned: for a discount that was not added, the cart item.
	ID string
	// Extra holds members that this type does not name, or whose form does not fit.
	Extra Extra
}

// newErrorObjects maps an errors member: an array of objects, or one object. A
// value that is no object becomes the detail of one; null, false, 0, "" and {} say
// that there is no error.
func newErrorObjects(raw []byte) []ErrorObject {
	var list []ErrorObject
	n := 0
	for element := range wire.Elements(raw) {
		if n++; n > maxErrors {
			break
		}
		loose := wire.ReadObject(element)
		if loose == nil {
			if text := string(element); text != "null" && text != "false" && text != "0" && text != `""` {
				list = append(list, ErrorObject{Detail: wire.Text(element)})
			}
			continue
		}
		if len(loose) == 0 {
			continue
		}
		o := ErrorObject{
			Status:    loose.TakeInt("status"),
			Title:     loose.TakeText("title"),
			Detail:    loose.TakeText("detail"),
			Source:    sourceText(loose),
			RequestID: loose.TakeText("request_id"),
		}
		if meta := wire.ReadObject(loose.Peek("meta")); meta != nil {
			loose.Take("meta")
			o.Meta = newErrorMeta(meta)
		}
		o.Extra = loose.Rest()
		list = append(list, o)
	}
	return list
}

// sourceText takes the source: a path, or an object that holds one as pointer or parameter.
func sourceText(l wire.Object) string {
	if s := l.TakeText("source"); s != "" {
		return s
	}
	source := wire.ReadObject(l.Peek("source"))
	if len(source) != 1 {
		return ""
	}
	for _, key := range []string{"pointer", "parameter"} {
		if s := source.TakeText(key); s != "" {
			l.Take("source")
			return s
		}
	}
	return ""
}

func newErrorMeta(l wire.Object) ErrorMeta {
	m := ErrorMeta{ID: l.TakeText("id")}
	var ids []uuid.UUID
	if payloads.Unmarshal(l.Peek("missing_ids"), &ids) == nil && !slices.Contains(ids, uuid.Nil) {
		l.Take("missing_ids")
		m.MissingIDs = ids
	}
	m.Extra = l.Rest()
	return m
}

// errorsOf returns the errors array of a body, if it has one that can be read.
func errorsOf(body []byte) []ErrorObject {
	if wire.HasTooManyValues(body) {
		return nil
	}
	return newErrorObjects(wire.ReadObject(body).Take("errors"))
}
