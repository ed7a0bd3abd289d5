package commercetest

import (
	"slices"
	"strings"
)

const (
	maxConditions   = 10
	maxFilterLength = 8 << 10 // bytes, decoded
)

// condition is eq(field,value).
type condition struct{ field, value string }

var filterFields = []string{"account_id", "name", "email", "external_ref"}

// parseFilter reads a filter:
//
//	filter    = condition *( ":" condition )          ; at most 10
//	condition = "eq(" field "," value ")"
//	value     = quoted / 1*safe
//	quoted    = a text in " or ', in which a backslash takes the next byte as it is
//	safe      = any but , ( ) : " ' & = # % \ and control bytes; no space at the start
//
// ok is false if it does not parse.
func parseFilter(text string) (conditions []condition, ok bool) {
	if len(text) > maxFilterLength {
		return nil, false
	}
	p := &filterParser{text}
	for {
		c, ok := p.condition()
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

// filterParser takes a filter apart from the front.
type filterParser struct{ rest string }

// skip takes text from the front, if it is there.
func (p *filterParser) skip(text string) (ok bool) {
	p.rest, ok = strings.CutPrefix(p.rest, text)
	return ok
}

func (p *filterParser) condition() (c condition, ok bool) {
	if !p.skip("eq(") {
		return c, false
	}
	c.field, p.rest, ok = strings.Cut(p.rest, ",")
	if !ok || !slices.Contains(filterFields, c.field) {
		return c, false
	}
	if c.value, ok = p.value(); !ok {
		return c, false
	}
	return c, p.skip(")")
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

// quoted takes a value in quotes; the first byte is the quote.
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
