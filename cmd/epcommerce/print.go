package main

import (
	"bufio"
	"cmp"
	"encoding/csv"
	"encoding/json"
	"io"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/uuid"
	"github.com/rivo/uniseg"
)

// cell is one value of a record, and the name of its column.
type cell struct{ column, text string }

// record is what a list has for one thing, in all formats.
type record struct {
	lines  []row  // of a table
	cells  []cell // of CSV
	object any    // of JSON; nil: the cells
}

// row is a line of a table: texts in columns of these widths, which are for 80 columns in all. Such
// a text is cut, unless its width is whole. Without widths it is a text that is not cut.
type row struct {
	widths []int
	texts  []string
}

// whole is the width of a column for amounts: 12, or what its text needs.
const whole = 0

func columns(widths []int, texts ...string) row { return row{widths, texts} }

func text(s string) row { return row{texts: []string{s}} }

// defaultWidth is the width of a table in columns, if standard output is no terminal.
const defaultWidth = 80

// formats are the values of -o.
var formats = []string{"table", "json", "jsonl", "csv"}

// printer writes records in one of the formats.
type printer struct {
	format   string
	columns  []string // of CSV; nil: all
	noHeader bool     // of CSV
	raw      bool     // CSV without apostrophes
	mark     bool     // CSV is for Excel: it begins with a byte order mark
	out      *bufio.Writer
	width    int // of a table
	csv      *csv.Writer
	bold     bool  // the head of a table is
	n        int   // records written
	err      error // the first one; the buffers keep theirs
}

func newPrinter(w io.Writer, format string) *printer {
	out := bufio.NewWriter(w)
	return &printer{format: format, out: out, width: defaultWidth, csv: csv.NewWriter(out)}
}

// newPrinter returns a printer on standard output, in the format of -o. On a terminal the head of
// a table is bold. first has the columns.
func (e *environment) newPrinter(head []row, first record) *printer {
	return e.begin(newPrinter(e.stdout, e.output), head, first)
}

// printOne prints a record that is no list.
func (e *environment) printOne(r record) error {
	if e.output == "json" {
		e.output = "jsonl" // an object
	}
	p := e.newPrinter(nil, r)
	p.print(r)
	return p.end()
}

func (e *environment) begin(p *printer, head []row, first record) *printer {
	p.width = cmp.Or(e.width, defaultWidth)
	p.bold = e.stdoutTerminal && e.getenv("NO_COLOR") == "" && e.getenv("TERM") != "dumb"
	p.begin(head, first)
	return p
}

// begin writes what comes before the first record. It may stay in the buffer until flush.
func (p *printer) begin(head []row, first record) {
	switch p.format {
	case "json":
		_, _ = p.out.WriteString("[\n")
	case "csv":
		if p.mark {
			_, _ = p.out.WriteString("\uFEFF")
		}
		if !p.noHeader {
			_ = p.csv.Write(texts(p.chosen(first.cells), func(c cell) string { return c.column }))
		}
	case "table":
		start, end := "", ""
		if p.bold && len(head) > 0 {
			start, end = "\x1b[1m", "\x1b[0m"
		}
		_, _ = p.out.WriteString(start)
		p.write(head)
		_, _ = p.out.WriteString(end)
	}
}

// write writes rows of a table.
func (p *printer) write(rows []row) {
	for _, r := range rows {
		_, _ = p.out.WriteString(r.line(p.width))
	}
}

// print writes a record. flush returns the errors.
func (p *printer) print(r record) {
	p.n++
	switch p.format {
	case "json", "jsonl":
		if p.format == "json" && p.n > 1 {
			_ = p.out.WriteByte(',')
		}
		p.err = cmp.Or(p.err, p.encode(r))
	case "csv":
		_ = p.csv.Write(texts(p.chosen(r.cells), func(c cell) string {
			switch {
			case p.mark && changedByExcel.MatchString(c.text):
				return `="` + c.text + `"`
			case p.raw:
				return c.text
			}
			return safe(c.text)
		}))
	default:
		p.write(r.lines)
	}
}

// members are a JSON object whose members encode themselves.
type members map[string]any

// membersOf returns cells as members.
func membersOf(cells []cell) members {
	m := members{}
	for _, c := range cells {
		m[c.column] = c.text
	}
	return m
}

// verbatim writes what the members return as it is. encoding/json of Go 1.26 writes the same bytes,
// except for a line separator in an e-mail address, but takes twice as long.
var verbatim = jsonv2.JoinOptions(jsonv2.Deterministic(true), jsontext.PreserveRawStrings(true),
	jsontext.AllowInvalidUTF8(true), jsontext.AllowDuplicateNames(true))

// encode writes a line of JSON, or nothing if it returns an error.
func (p *printer) encode(r record) error {
	if r.object == nil {
		r.object = membersOf(r.cells)
	}
	line, err := jsonv2.Marshal(r.object, verbatim)
	if err != nil {
		return err
	}
	_, err = p.out.Write(append(line, '\n'))
	return err
}

// chosen returns the cells of the columns, in their order.
func (p *printer) chosen(cells []cell) []cell {
	if p.columns == nil {
		return cells
	}
	var chosen []cell
	for _, name := range p.columns {
		i := slices.IndexFunc(cells, func(c cell) bool { return c.column == name })
		chosen = append(chosen, cells[i])
	}
	return chosen
}

// flush writes what is in the buffers, and returns the first error.
func (p *printer) flush() error {
	p.csv.Flush()
	return cmp.Or(p.err, p.csv.Error(), p.out.Flush())
}

// end ends a list that is complete. Without it a list in JSON is not valid, so that no program
// takes a part for the whole.
func (p *printer) end() error {
	if p.format == "json" {
		_, _ = p.out.WriteString("]\n")
	}
	return p.flush()
}

func texts(cells []cell, text func(cell) string) (list []string) {
	for _, c := range cells {
		list = append(list, text(c))
	}
	return list
}

// line returns a row as a line that is at most width columns wide. On a wide terminal its columns
// are wider. Longer texts are cut.
func (r row) line(width int) string {
	if r.widths == nil {
		return r.texts[0] + "\n"
	}
	line := ""
	for i, s := range r.texts {
		column := r.widths[i] * max(width, defaultWidth) / defaultWidth
		if r.widths[i] == whole {
			column = max(12, uniseg.StringWidth(s))
		}
		s = fit(s, column)
		line += s + strings.Repeat(" ", column-uniseg.StringWidth(s)+2)
	}
	return fit(strings.TrimRight(line, " "), width) + "\n"
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

// plain returns s with a space for characters that are not printable, such as a line break or an
// escape; "-" if nothing is visible.
func plain(s string) string {
	words := strings.FieldsFunc(s, func(r rune) bool { return !unicode.IsPrint(r) })
	return cmp.Or(strings.TrimSpace(strings.Join(words, " ")), "-")
}

// changedByExcel matches a text that Excel would take for another number, for a date or for a time.
var changedByExcel = regexp.MustCompile(`^(0\d+([.,]\d+)?|\d{16,}|\d+(\.\d+)?[eE][+-]?\d+|` +
	`\d+[-/:]\d+([-/:]\d+)?( \d[\d:]*)?|\d+\.\d+\.\d+)$|` +
	`(?i)^(\d+[-/ ]?` + months + `([-/ ]\d+)?|` + months + `[-/ ]?\d+)$`)

const months = `(jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*`

// formula matches the start of a cell that a spreadsheet may run. It may split a text into cells at
// a semicolon, a tab or a line break, whatever quotes there are. It skips invisible characters at
// the start of a cell, and some accept the full-width forms of the operators.
var formula = regexp.MustCompile(`(^|[;\t\r\n])([^\pL\pM\pN\pP\pS;\t\r\n]*['=+\-@＝＋－＠])`)

// safe returns s as a cell of CSV that no spreadsheet runs as a formula: with an apostrophe before
// each, unless s is a number.
func safe(s string) string {
	// Most cells need no search: a match at the start does not begin with a letter or digit, and
	// every other match begins with a separator.
	if s == "" || isAlphanumeric(s[0]) && !strings.ContainsAny(s, ";\t\r\n") {
		return s
	}
	return withApostrophes(s)
}

// withApostrophes is safe for all texts, by a search.
func withApostrophes(s string) string {
	if strings.HasPrefix(s, "-") && json.Valid([]byte(s)) {
		return s
	}
	s = formula.ReplaceAllString(s, "$1'$2")
	if strings.HasPrefix(s, "\t") || strings.HasPrefix(s, "\r") {
		return "'" + s
	}
	return s
}

func isAlphanumeric(c byte) bool {
	return '0' <= c && c <= '9' || 'A' <= c && c <= 'Z' || 'a' <= c && c <= 'z'
}

// id returns the text of an id; "" for the zero id.
func id(id uuid.UUID) string {
	if id == uuid.Nil {
		return ""
	}
	return id.String()
}

// at returns the text of a time; "" for the zero time.
func at(t time.Time, layout string) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format(layout)
}
