package commercetest

import (
	"net/url"
	"slices"
	"strings"
)

const maxConditions = 10

// condition is a condition on a field.
type condition struct {
	field string
	// operator is lt, le, gt or ge. It is empty for eq and in: the field must have one of
	// the values.
	operator string
	values   []string // at least one; with an operator, one
}

// has reports whether value is one of those of c.
func (c condition) has(value string) bool { return slices.Contains(c.values, value) }

// filterGrammar is what the filter of a list can have, by field. nil: the list has no filter.
type filterGrammar map[string]filterField

// filterField is what the conditions on a field can have.
type filterField struct{ operators, values []string } // no values: any

var (
	anyText = filterField{operators: []string{"eq", "in"}}
	onlyEq  = filterField{operators: []string{"eq"}}
	flag    = filterField{operators: []string{"eq"}, values: []string{"true", "false"}}

	subscriptionFilter = filterGrammar{"account_id": anyText, "name": anyText, "email": anyText, "external_ref": anyText}
	invoiceFilter      = filterGrammar{
		"subscriber_id": anyText, "subscription_id": anyText, "outstanding": flag, "tax_required": flag,
	}
	orderFilter = filterGrammar{
		"external_ref": onlyEq, "order_number": onlyEq, "account_id": onlyEq, "status": onlyEq, "payment": onlyEq,
	}
	accountFilter = filterGrammar{"id": {operators: []string{"eq", "lt", "le", "gt", "ge", "in"}}}
)

// read reads the filter of a query, if it has one. Two are a problem: nobody knows which of them
// the service uses.
func (g filterGrammar) read(values url.Values) (conditions []condition, problem *errorObject) {
	if !values.Has("filter") {
		return nil, nil
	}
	if conditions, ok := g.parse(values.Get("filter")); ok && len(values["filter"]) == 1 {
		return conditions, nil
	}
	return nil, badFilter()
}

func badFilter() *errorObject {
	return &errorObject{Title: "Bad Request", Detail: "Could not parse the supplied filter"}
}

// parse reads a filter:
//
//	filter    = condition *( ":" condition )          ; at most 10 conditions
//	condition = "in(" field 1*( "," value ) ")" / operator "(" field "," value ")"
//	value     = quoted / 1*safe
//	quoted    = text in " or '; a backslash escapes the next byte
//	safe      = any character except , ( ) : " ' & = # % \ and control characters;
//	            the first must not be a space
//
// ok is false if the filter does not parse.
func (g filterGrammar) parse(text string) (conditions []condition, ok bool) {
	p := &filterParser{rest: text}
	for {
		c, ok := p.condition(g)
		if !ok || len(conditions) == maxConditions {
			return nil, false
		}
		conditions = append(conditions, c)
		if p.rest == "" {
			return conditions, true
		}
		if !p.skip(":") {
			return nil, false
		}
	}
}

// filterParser reads a filter from its start to its end.
type filterParser struct{ rest string } // rest is not read yet

// skip reports whether the rest starts with text. If so, it skips the text.
func (p *filterParser) skip(text string) (ok bool) {
	p.rest, ok = strings.CutPrefix(p.rest, text)
	return ok
}

func (p *filterParser) condition(g filterGrammar) (c condition, ok bool) {
	operator, rest, _ := strings.Cut(p.rest, "(")
	c.field, p.rest, ok = strings.Cut(rest, ",")
	field := g[c.field]
	if !ok || !slices.Contains(field.operators, operator) {
		return c, false
	}
	if operator != "eq" && operator != "in" {
		c.operator = operator
	}
	for {
		value, ok := p.value()
		if !ok || field.values != nil && !slices.Contains(field.values, value) {
			return c, false
		}
		c.values = append(c.values, value)
		if operator != "in" || !p.skip(",") {
			return c, p.skip(")")
		}
	}
}

func (p *filterParser) value() (string, bool) {
	if p.rest != "" && (p.rest[0] == '"' || p.rest[0] == '\'') {
		return p.quoted()
	}
	end := strings.IndexFunc(p.rest, func(r rune) bool {
		return r < ' ' || r == 0x7f || strings.ContainsRune(`,():"'&=#%\`, r)
	})
	if end <= 0 || p.rest[0] == ' ' {
		return "", false
	}
	value := p.rest[:end]
	p.rest = p.rest[end:]
	return value, true
}

// quoted reads a value in quotes. The first byte of the rest is the quote.
func (p *filterParser) quoted() (string, bool) {
	var value strings.Builder
	for i := 1; i < len(p.rest); i++ {
		switch p.rest[i] {
		case p.rest[0]:
			p.rest = p.rest[i+1:]
			return value.String(), true
		case '\\':
			if i++; i == len(p.rest) {
				return "", false
			}
		}
		value.WriteByte(p.rest[i])
	}
	return "", false
}
