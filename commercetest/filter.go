package commercetest

import (
	"slices"
	"strings"
)

const (
	maxConditions   = 10
	maxFilterLength = 8 << 10 // bytes, decoded
)

// condition means that the field must have the value: eq(field,value).
type condition struct{ field, value string }

var filterFields = []string{"account_id", "name", "email", "external_ref"}

// parseFilter reads a filter:
//
//	filter    = condition *( ":" condition )          ; at most 10 conditions
//	condition = "eq(" field "," value ")"
//	value     = quoted / 1*safe
//	quoted    = text in " or '; a backslash escapes the next byte
//	safe      = any character except , ( ) : " ' & = # % \ and control characters;
//	            the first must not be a space
//
// ok is false if the filter does not parse.
func parseFilter(text string) (conditions []condition, ok bool) {
	if len(text) > maxFilterLength {
		return nil, false
	}
	p := &filterParser{rest: text}
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

// filterParser reads a filter from its start to its end.
type filterParser struct{ rest string } // rest is not read yet

// skip reports whether the rest starts with text. If so, it skips the text.
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
