package main

import (
	"bufio"
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
	"github.com/spf13/cobra"
)

// formats are the values of -o.
var formats = []string{"table", "json", "jsonl", "csv"}

// addOutputFlag adds -o to a command that lists something.
func (e *environment) addOutputFlag(cmd *cobra.Command) *cobra.Command {
	cmd.Flags().VarP(&formatFlag{value: &e.output}, "output", "o", "`format`: table, json, jsonl or csv")
	_ = cmd.RegisterFlagCompletionFunc("output", cobra.FixedCompletions(formats, cobra.ShellCompDirectiveNoFileComp))
	return cmd
}

type formatFlag struct{ value *string }

func (f *formatFlag) String() string { return "table" }
func (f *formatFlag) Type() string   { return "format" }
func (f *formatFlag) Set(s string) error {
	if !slices.Contains(formats, s) {
		return fmt.Errorf("must be one of %s", strings.Join(formats, ", "))
	}
	*f.value = s
	return nil
}

// cell is one value of a record, and the name of its column.
type cell struct {
	column string
	value  any // text, uuid.UUID, time.Time, commerce.Decimal or bool
}

// view is how records of a kind are shown.
type view[T any] struct {
	widths []int      // of the columns of a table, together at most 80 with two spaces between them
	head   [][]string // the lines of a record in a table
	lines  func(T) [][]string
	cells  func(T) []cell // for csv
	object func(T) any    // for json
}

// printer writes records in one of the formats.
type printer[T any] struct {
	view[T]
	out    *bufio.Writer
	csv    *csv.Writer
	format string
	colour bool
	n      int // records written
}

// newPrinter returns a printer for standard output.
func newPrinter[T any](e *environment, v view[T]) *printer[T] {
	out := bufio.NewWriter(e.stdout)
	return &printer[T]{view: v, out: out, csv: csv.NewWriter(out), format: e.output, colour: e.hasColour()}
}

// hasColour reports whether standard output is a terminal with colours.
func (e *environment) hasColour() bool {
	return e.stdoutTerminal && e.getenv("NO_COLOR") == "" && e.getenv("TERM") != "dumb"
}

// print writes a record. It may stay in the buffer until flush.
func (p *printer[T]) print(record T) error {
	p.n++
	if p.n == 1 {
		p.begin()
	}
	switch p.format {
	case "json", "jsonl":
		if p.format == "json" && p.n > 1 {
			p.out.WriteString(",\n")
		}
		encoded, err := encode(p.object(record))
		if err != nil {
			return err
		}
		p.out.Write(encoded)
		if p.format == "jsonl" {
			p.out.WriteByte('\n')
		}
		return nil
	case "csv":
		return p.csv.Write(texts(p.cells(record), func(c cell) string { return csvText(c.value) }))
	}
	for _, line := range p.lines(record) {
		p.line(line, "")
	}
	return nil
}

func (p *printer[T]) begin() {
	switch p.format {
	case "json":
		p.out.WriteString("[\n")
	case "csv":
		var zero T
		_ = p.csv.Write(texts(p.cells(zero), func(c cell) string { return c.column })) // flush returns the error
	case "table":
		for _, line := range p.head {
			p.line(line, bold)
		}
	}
}

// flush writes what is in the buffers. The buffers keep the first error.
func (p *printer[T]) flush() error {
	p.csv.Flush()
	if err := p.csv.Error(); err != nil {
		return err
	}
	return p.out.Flush()
}

// end ends a list that is complete. Without it a list in JSON is not valid, so that no program
// takes a part for the whole.
func (p *printer[T]) end() error {
	if p.n == 0 && p.format != "table" {
		p.begin()
	}
	if p.format == "json" {
		p.out.WriteString("\n]\n")
	}
	return p.flush()
}

const (
	bold  = "\x1b[1m"
	reset = "\x1b[0m"
)

// line writes a line of a table.
func (p *printer[T]) line(texts []string, style string) {
	text := ""
	for i, s := range texts {
		if s != "" { // else the cell stays empty
			s = fit(plain(s), p.widths[i])
		}
		text += s + strings.Repeat(" ", p.widths[i]-uniseg.StringWidth(s)+2)
	}
	text = strings.TrimRight(text, " ")
	if p.colour && style != "" {
		text = style + text + reset
	}
	p.out.WriteString(text + "\n")
}

// fit returns s, at most width columns wide.
func fit(s string, width int) string {
	if uniseg.StringWidth(s) <= width {
		return s
	}
	fitting, rest, state := "", s, -1
	for {
		var cluster string
		cluster, rest, _, state = uniseg.FirstGraphemeClusterInString(rest, state)
		if uniseg.StringWidth(fitting+cluster) >= width {
			return fitting + "…"
		}
		fitting += cluster
	}
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
	if strings.TrimSpace(s) == "" {
		return "-"
	}
	return s
}

// row returns cells of a table, with "-" for those that are empty.
func row(cells ...string) []string {
	for i, s := range cells {
		cells[i] = plain(s)
	}
	return cells
}

// encode returns the JSON of v on one line.
func encode(v any) ([]byte, error) {
	text := &strings.Builder{}
	encoder := json.NewEncoder(text)
	encoder.SetEscapeHTML(false)
	err := encoder.Encode(v)
	return []byte(strings.TrimSuffix(text.String(), "\n")), err
}

func texts(cells []cell, text func(cell) string) (list []string) {
	for _, c := range cells {
		list = append(list, text(c))
	}
	return list
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

// csvText returns a value as a cell that no spreadsheet runs as a formula: with an apostrophe in
// front of a text, if needed. Spreadsheets skip invisible characters at the start of a cell, and
// some accept the full-width forms of the operators.
func csvText(value any) string {
	s, ok := value.(string)
	if !ok {
		return cellText(value)
	}
	first, _ := utf8.DecodeRuneInString(strings.TrimLeftFunc(s, func(r rune) bool {
		return !unicode.IsGraphic(r) || unicode.IsSpace(r)
	}))
	if strings.ContainsRune("'=+-@＝＋－＠", first) || strings.HasPrefix(s, "\t") || strings.HasPrefix(s, "\r") {
		return "'" + s
	}
	return s
}

// say writes a message, which is not data.
func say(w io.Writer, format string, args ...any) {
	fmt.Fprintf(w, "epcommerce: "+format+"\n", args...)
}
