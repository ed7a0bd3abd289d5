package fakestore

import (
	_ "embed"
	"encoding"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/jsonschema-go/jsonschema"
	"github.com/google/uuid"

	"github.com/commerce-go/commerce"
	"github.com/commerce-go/commerce/commercetest"
)

// OpenAPI returns the description of the operations, as a document of OpenAPI 3.1.
func OpenAPI() []byte {
	schemas := map[string]any{}
	paths := map[string]map[string]any{}
	for _, o := range operations() {
		if paths[o.path] == nil {
			paths[o.path] = map[string]any{}
		}
		paths[o.path][strings.ToLower(o.method)] = o.describe(schemas)
	}
	text := jsontext.Value(encode(map[string]any{
		"openapi": "3.1.0",
		"info": map[string]any{
			"title": "epcommerce serve", "version": "1", "license": map[string]any{"name": "MIT", "identifier": "MIT"},
			"description": "Drives the fake store. The token of a request selects its namespace; without one it is the " +
				"first. The store itself is described by the service's own documentation.",
		},
		"servers":  []any{map[string]any{"url": "/"}},
		"security": []any{map[string]any{}, map[string]any{"token": []any{}}},
		"paths":    paths,
		"components": map[string]any{
			"schemas":         schemas,
			"securitySchemes": map[string]any{"token": map[string]any{"type": "http", "scheme": "bearer"}},
		},
	}))
	if err := text.Indent(jsontext.WithIndent("  ")); err != nil {
		panic("fakestore: " + err.Error())
	}
	return text
}

// describe returns the operation of a document, and adds the schemas that it names.
func (o *operation) describe(schemas map[string]any) map[string]any {
	content := func(t reflect.Type, isRequest bool) map[string]any {
		schemas[title(t)] = schemaOf(t, isRequest)
		ref := map[string]any{"$ref": "#/components/schemas/" + title(t)}
		return map[string]any{"application/json": map[string]any{"schema": ref}}
	}
	success := map[string]any{"description": "Success"}
	switch {
	case o.out == reflect.TypeFor[string]():
		text := map[string]any{"schema": map[string]any{"type": "string"}}
		success["content"] = map[string]any{"text/event-stream": text}
	case o.out == reflect.TypeFor[jsontext.Value]():
		anything := map[string]any{"schema": map[string]any{"type": "object"}}
		success["content"] = map[string]any{"application/json": anything}
	case o.out != reflect.TypeFor[none]():
		success["content"] = content(o.out, false)
	}
	refusal := content(reflect.TypeFor[errorList](), false)
	described := map[string]any{
		"operationId": o.id, "summary": o.summary,
		"responses": map[string]any{
			strconv.Itoa(o.status()): success,
			"4XX":                    map[string]any{"description": "Refused", "content": refusal},
		},
	}
	switch {
	case o.in == reflect.TypeFor[none]():
	case o.method == "GET":
		described["parameters"] = parameters(schemaOf(o.in, true))
	default:
		described["requestBody"] = map[string]any{"content": content(o.in, true)}
	}
	return described
}

// parameters returns the members of a schema as parameters of a query.
func parameters(schema *jsonschema.Schema) (list []any) {
	for _, name := range slices.Sorted(maps.Keys(schema.Properties)) {
		list = append(list, map[string]any{"name": name, "in": "query", "schema": schema.Properties[name]})
	}
	return list
}

// title returns the name of the schema of a type.
func title(t reflect.Type) string { return strings.ToUpper(t.Name()[:1]) + t.Name()[1:] }

// typeSchemas are those of types that are not encoded field by field.
func typeSchemas() map[reflect.Type]*jsonschema.Schema {
	text := func(format string) *jsonschema.Schema { return &jsonschema.Schema{Type: "string", Format: format} }
	operation, endpoints := enum(append([]commercetest.Operation{""}, commercetest.Operations()...)...), ""
	for _, op := range commercetest.Operations() {
		endpoints += "; " + string(op) + ": " + strings.Join(op.Endpoints(), " and ")
	}
	operation.Description = strings.TrimPrefix(endpoints, "; ")
	return map[reflect.Type]*jsonschema.Schema{
		reflect.TypeFor[time.Duration]():                  {Type: "string", Pattern: `^([0-9.]+(ns|us|µs|ms|s|m|h))+$|^0$`},
		reflect.TypeFor[time.Time]():                      text("date-time"),
		reflect.TypeFor[uuid.UUID]():                      text("uuid"),
		reflect.TypeFor[jsontext.Value]():                 {},
		reflect.TypeFor[texts]():                          {Types: []string{"string", "array"}, Items: text("")},
		reflect.TypeFor[commerce.Decimal]():               {Type: "number"},
		reflect.TypeFor[commerce.NewCustomDiscount]():     discountSchema(&jsonschema.Schema{Type: "number"}),
		reflect.TypeFor[commerce.CustomDiscount]():        discountSchema(moneySchema()),
		reflect.TypeFor[commerce.Money]():                 moneySchema(),
		reflect.TypeFor[commercetest.RequestState]():      enum(commercetest.RequestStates()...),
		reflect.TypeFor[commerce.CartItemType]():          enum("cart_item", "custom_item"),
		reflect.TypeFor[commercetest.Operation]():         operation,
		reflect.TypeFor[commercetest.Generation]():        enum(namesOf[commercetest.Generation]()...),
		reflect.TypeFor[commercetest.Links]():             enum(namesOf[commercetest.Links]()...),
		reflect.TypeFor[commercetest.EmptyLists]():        enum(namesOf[commercetest.EmptyLists]()...),
		reflect.TypeFor[commercetest.CalculationMethod](): enum(namesOf[commercetest.CalculationMethod]()...),
	}
}

// asService describes what the documentation of the service describes.
const asService = "as the service has it"

// discountSchema returns the schema of a discount. Its members are not those of the Go type.
func discountSchema(amount *jsonschema.Schema) *jsonschema.Schema {
	s := objectOf("id", "type", "description", "discount_code", "discount_engine", "external_id")
	s.Properties["amount"] = amount
	item := objectOf("type", "id")
	s.Properties["relationships"] = &jsonschema.Schema{Type: "object", Properties: map[string]*jsonschema.Schema{
		"item": {Type: "object", Properties: map[string]*jsonschema.Schema{"data": item}},
	}}
	return s
}

func moneySchema() *jsonschema.Schema {
	s := objectOf("currency", "formatted")
	s.Properties["amount"] = &jsonschema.Schema{Type: "number"}
	return s
}

// objectOf returns the schema of an object of the service with texts.
func objectOf(members ...string) *jsonschema.Schema {
	s := &jsonschema.Schema{Type: "object", Description: asService, Properties: map[string]*jsonschema.Schema{}}
	for _, name := range members {
		s.Properties[name] = &jsonschema.Schema{Type: "string"}
	}
	return s
}

// enum returns the schema of a text that is one of names.
func enum[T ~string](names ...T) *jsonschema.Schema {
	s := &jsonschema.Schema{Type: "string"}
	for _, name := range names {
		s.Enum = append(s.Enum, string(name))
	}
	return s
}

// namesOf returns the names of the values of a type, which count from 0.
func namesOf[T interface {
	~uint8
	encoding.TextMarshaler
}]() (names []string) {
	for v := T(0); ; v++ {
		name, err := v.MarshalText()
		if err != nil {
			return names
		}
		names = append(names, string(name))
	}
}

// schemaOf returns the schema of a type. All members of a request may be absent.
func schemaOf(t reflect.Type, isRequest bool) *jsonschema.Schema {
	schema, err := jsonschema.ForType(t, &jsonschema.ForOptions{TypeSchemas: typeSchemas(), IgnoreInvalidTypes: true})
	if err != nil {
		panic("fakestore: " + err.Error())
	}
	complete(schema, title(t), isRequest)
	return schema
}

// complete adds the meanings of the members of a schema.
func complete(schema *jsonschema.Schema, path string, isRequest bool) {
	if schema.Description == asService {
		return
	}
	if isRequest {
		schema.Required = nil
	}
	for name, property := range schema.Properties {
		complete(property, path+"."+name, isRequest)
		text := meaning(path + "." + name)
		if path+"."+name == "Fault.operation" {
			text += ". " + property.Description
		}
		property.Description = text
	}
	if schema.AdditionalProperties != nil {
		complete(schema.AdditionalProperties, path, isRequest)
	}
	if schema.Items != nil {
		if slices.Equal(schema.Types, []string{"null", "array"}) { // no list is sent as null
			schema.Type, schema.Types = "array", nil
		}
		complete(schema.Items, path, isRequest)
	}
}

// meanings has a line for each member of requests and responses: its name, with the schema or the
// member that it belongs to if the name has several meanings, and what it is about.
//
//go:embed meanings.txt
var meanings string

// meaning returns what a member is about: what meanings says of its whole path, or of its end.
func meaning(path string) string {
	for rest, ok := path, true; ok; _, rest, ok = strings.Cut(rest, ".") {
		if _, text, found := strings.Cut("\n"+meanings, "\n"+rest+": "); found {
			line, _, _ := strings.Cut(text, "\n")
			return line
		}
	}
	panic(fmt.Sprintf("fakestore: nobody says what %s means", path))
}
