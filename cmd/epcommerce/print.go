package main

import (
	"bufio"
	"cmp"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/google/uuid"
	"github.com/rivo/uniseg"

	"github.com/commerce-go/commerce"
)

// cell is one value of a record, and the name of its column.
type cell struct {
	column string
	value  any // text, uuid.UUID, time.Time, commerce.Money, bool or int64
}

// layout is how records of a kind are printed.
type layout struct {
	zero   []cell     // the columns of a list that may be empty
	lines  [][]string // the columns in each line of a record in a table; nil: a line for each column
	widths []int      // of the cells of a line, together at most 80 with two spaces between them
}

// printer writes records in one of the formats.
type printer struct {
	layout
	format string
	colour bool
	out    *bufio.Writer
	csv    *csv.Writer
	json   *json.Encoder
	n      int   // records written
	err    error // the first one; the buffers keep theirs
}

// formats are the values of -o.
var formats = []string{"table", "json", "jsonl", "csv"}

func newPrinter(w io.Writer, format string, l layout) *printer {
	out := bufio.NewWriter(w)
	p := &printer{layout: l, format: format, out: out, csv: csv.NewWriter(out), json: json.NewEncoder(out)}
	p.json.SetEscapeHTML(false)
	return p
}

// newPrinter returns a printer on standard output, in the format of -o.
func (e *environment) newPrinter(l layout) *printer {
	p := newPrinter(e.stdout, e.output, l)
	p.colour = e.stdoutTerminal && e.getenv("NO_COLOR") == "" && e.getenv("TERM") != "dumb"
	return p
}

// print writes a record, whose JSON is that of object. flush returns the errors.
func (p *printer) print(cells []cell, object any) {
	if p.n == 0 {
		p.begin(cells)
	}
	p.n++
	switch p.format {
	case "json":
		if p.n > 1 {
			_ = p.out.WriteByte(',')
		}
		p.err = cmp.Or(p.err, p.json.Encode(object))
	case "jsonl":
		p.err = cmp.Or(p.err, p.json.Encode(object))
	case "csv":
		_ = p.csv.Write(texts(cells, func(c cell) string { return csvText(c.value) }))
	default:
		p.printLines(cells)
	}
}

func (p *printer) printLines(cells []cell) {
	if p.lines == nil {
		for _, c := range cells {
			p.line([]string{c.column, tableText(c.value)}, "")
		}
	}
	for i, columns := range p.lines {
		p.line(indent(i, columns, func(column string) string {
			at := slices.IndexFunc(cells, func(c cell) bool { return c.column == column })
			return tableText(cells[at].value)
		}), "")
	}
}

// begin writes what comes before the first record.
func (p *printer) begin(cells []cell) {
	switch p.format {
	case "json":
		_, _ = p.out.WriteString("[\n")
	case "csv":
		_ = p.csv.Write(texts(cells, func(c cell) string { return c.column }))
	case "table":
		for i, columns := range p.lines {
			p.line(indent(i, columns, func(column string) string {
				return strings.ToUpper(strings.ReplaceAll(column, "_", " "))
			}), bold)
		}
	}
}

// indent returns the texts of the i-th line of a record.
func indent(i int, columns []string, text func(column string) string) (texts []string) {
	for _, column := range columns {
		texts = append(texts, text(column))
	}
	if i > 0 {
		texts[0] = "  " + texts[0]
	}
	return texts
}

// flush writes what is in the buffers, and returns the first error.
func (p *printer) flush() error {
	p.csv.Flush()
	return cmp.Or(p.err, p.csv.Error(), p.out.Flush())
}

// end ends a list that is complete. Without it a list in JSON is not valid, so that no program
// takes a part for the whole.
func (p *printer) end() error {
	if p.n == 0 && p.format != "table" {
		p.begin(p.zero)
	}
	if p.format == "json" {
		_, _ = p.out.WriteString("]\n")
	}
	return p.flush()
}

const (
	bold  = "\x1b[1m"
	reset = "\x1b[0m"
)

// line writes a line of a table.
func (p *printer) line(cells []string, style string) {
	text := ""
	for i, s := range cells {
		s = fit(s, p.widths[i])
		text += s + strings.Repeat(" ", p.widths[i]-uniseg.StringWidth(s)+2)
	}
	text = strings.TrimRight(text, " ")
	if p.colour && style != "" {
		text = style + text + reset
	}
	_, _ = p.out.WriteString(text + "\n")
}

// fit returns s, at most width columns wide.
func fit(s string, width int) string {
	if uniseg.StringWidth(s) <= width {
		return s
	}
	fitting, graphemes := "", uniseg.NewGraphemes(s)
	for graphemes.Next() && uniseg.StringWidth(fitting+graphemes.Str()) < width {
		fitting += graphemes.Str()
	}
	return fitting + "…"
}

// plain returns s with a space for each character that is not printable, such as a line break or
// an escape; "-" if nothing is visible.
func plain(s string) string {
	s = strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return ' '
		}
		return r
	}, s)
	return cmp.Or(strings.TrimSpace(s), "-")
}

func texts(cells []cell, text func(cell) string) (list []string) {
	for _, c := range cells {
		list = append(list, text(c))
	}
	return list
}

// tableText returns the text of a value in a table.
func tableText(value any) string {
	text := plain(cellText(value))
	if _, ok := value.(time.Time); ok && len(text) > len(time.DateOnly) {
		return text[:len(time.DateOnly)]
	}
	return text
}

// csvText returns a value as a cell that no spreadsheet runs as a formula: a text gets an
// apostrophe in front, if needed. Spreadsheets skip invisible characters at the start of a cell,
// and some accept the full-width forms of the operators.
func csvText(value any) string {
	text := cellText(value)
	switch v := value.(type) {
	case string:
	case commerce.Money:
		return v.Amount.String()
	default:
		return text
	}
	first, _ := utf8.DecodeRuneInString(strings.TrimLeftFunc(text, func(r rune) bool {
		return !unicode.IsGraphic(r) || unicode.IsSpace(r)
	}))
	if strings.ContainsRune("'=+-@＝＋－＠", first) || strings.HasPrefix(text, "\t") || strings.HasPrefix(text, "\r") {
		return "'" + text
	}
	return text
}

// cellText returns the text of a value; "" for the zero id and the zero time.
func cellText(value any) string {
	switch v := value.(type) {
	case uuid.UUID:
		if v == uuid.Nil {
			return ""
		}
	case time.Time:
		if v.IsZero() {
			return ""
		}
		return v.UTC().Format(time.RFC3339Nano)
	}
	return fmt.Sprint(value)
}
