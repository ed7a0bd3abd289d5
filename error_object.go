package commerce

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strings"

	"github.com/google/uuid"

	"github.com/commerce-go/commerce/internal/wire"
)

// ErrorObject is an entry of the errors array of a response.
type ErrorObject struct {
	// Status in the entry, whether it is a number or a string there; 0 if absent. If it differs
	// from the HTTP status, trust the HTTP status.
	Status int `json:"status,omitzero"`
	// Title is the same for all errors of a kind. Errors show it when they are printed.
	Title string `json:"title,omitzero"`
	// Detail describes this error. It may hold customers' data, so nothing prints it.
	Detail string `json:"detail,omitzero"`
	// Source names the bad part of the request, e.g. as a JSON path.
	Source string `json:"source,omitzero"`
	// RequestID identifies the request to the service's support. Few responses have it.
	RequestID string    `json:"request_id,omitzero"`
	Meta      ErrorMeta `json:"meta,omitzero"`
	Extra     Extra     `json:",embed"`
}

// ErrorMeta is the meta member of an [ErrorObject].
type ErrorMeta struct {
	// MissingIDs are the ids of records that do not exist.
	MissingIDs []uuid.UUID `json:"missing_ids,omitzero"`
	// ID of the record that the error concerns. For a discount that was not added, it is the
	// id of the cart item.
	ID    string `json:"id,omitzero"`
	Extra Extra  `json:",embed"`
}

// readErrors returns the errors of a body; nil if it has none that can be read. They are in a
// member errors, or the body is one of them.
func readErrors(body []byte) []ErrorObject {
	if wire.HasTooManyValues(body) {
		return nil
	}
	object := wire.ReadObject(body)
	if object.Peek("errors") != nil || object.Peek("data") != nil {
		return readErrorObjects(object.Take("errors"))
	}
	if bare := newErrorObject(object); bare.Title != "" {
		return []ErrorObject{bare}
	}
	return nil
}

// readErrorObjects reads an errors member: an array of objects, or one object. A value that
// is not an object becomes the Detail of an ErrorObject. null, false, 0, "" and {} are no
// errors.
func readErrorObjects(raw []byte) []ErrorObject {
	var list []ErrorObject
	for element := range wire.Elements(raw) {
		if len(list) == maxErrors {
			break
		}
		object := wire.ReadObject(element)
		switch isNone := slices.Contains([]string{"null", "false", "0", `""`}, string(element)); {
		case len(object) > 0:
			list = append(list, newErrorObject(object))
		case object == nil && !isNone:
			list = append(list, ErrorObject{Detail: wire.Text(element)})
		}
	}
	return list
}

// readInlineErrors returns the errors of an element of data: those in its members error and errors,
// and itself if it has both a title and a status. Each names the external id of the element.
func readInlineErrors(element []byte) (list []ErrorObject) {
	members, _ := wire.Members(element)
	object := wire.Object{}
	for _, m := range members {
		switch name := strings.ToLower(m.Name); {
		case name == "error", name == "errors":
			list = append(list, readErrorObjects(m.Value)...)
		case name != "title" && name != "status" || readErrorObjects(m.Value) != nil:
			object[name] = m
		}
	}
	id := bytes.Clone(object.Peek("external_id"))
	if hasTitle := object.Peek("title") != nil; object.Peek("status") != nil {
		if o := newErrorObject(object); hasTitle || o.Status >= 400 {
			list = append(list, o)
		}
	}
	for i := 0; id != nil && i < len(list); i++ {
		extra := Extra{"external_id": id}
		maps.Copy(extra, list[i].Extra)
		list[i].Extra = extra
	}
	return list
}

// subject returns the external id of the discount that an entry names or, without one, the id of
// its item, in lower case.
func (o *ErrorObject) subject() string {
	var id string
	_ = json.Unmarshal(o.Extra["external_id"], &id) // absent, or not a text
	return strings.ToLower(cmp.Or(strings.TrimSpace(id), o.Meta.ID))
}

// newErrorObject takes the known members of an object. The others go to Extra.
func newErrorObject(object wire.Object) ErrorObject {
	o := ErrorObject{
		Status:    object.TakeInt("status"),
		Title:     object.TakeText("title"),
		Detail:    object.TakeText("detail"),
		Source:    takeSource(object),
		RequestID: object.TakeText("request_id"),
	}
	if meta := wire.ReadObject(object.Peek("meta")); meta != nil {
		object.Take("meta")
		o.Meta = newErrorMeta(meta)
	}
	o.Extra = object.Rest()
	return o
}

// takeSource takes the source: a path, or an object that holds only a pointer or a parameter.
func takeSource(object wire.Object) string {
	if s := object.TakeText("source"); s != "" {
		return s
	}
	source := wire.ReadObject(object.Peek("source"))
	if len(source) != 1 {
		return ""
	}
	s := cmp.Or(source.TakeText("pointer"), source.TakeText("parameter"))
	if s != "" {
		object.Take("source")
	}
	return s
}

func newErrorMeta(object wire.Object) ErrorMeta {
	m := ErrorMeta{ID: object.TakeText("id")}
	var ids []uuid.UUID
	if payloads.Unmarshal(object.Peek("missing_ids"), &ids) == nil && !slices.Contains(ids, uuid.Nil) {
		object.Take("missing_ids")
		m.MissingIDs = ids
	}
	m.Extra = object.Rest()
	return m
}

// takeErrors removes the errors from the members of a response.
func takeErrors(extra Extra) (list []ErrorObject) {
	for name, raw := range extra {
		if strings.EqualFold(name, "errors") {
			list = append(list, readErrorObjects(raw)...)
			delete(extra, name)
		}
	}
	return list
}

// checkErrors returns an error if a response with a status of success holds errors. It removes
// them from extra.
func checkErrors(extra Extra) error {
	if len(takeErrors(extra)) > 0 {
		return errors.New("the response has a status of success, but also holds errors")
	}
	return nil
}

// isForeign reports whether a body is neither empty nor a JSON object: so it is not of the service,
// but e.g. the page of a gateway.
func isForeign(body []byte) bool {
	return len(bytes.TrimSpace(body)) > 0 && wire.ReadObject(body) == nil
}
