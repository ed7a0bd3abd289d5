package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
)

// ratio compares a figure of two runs. Without the second run it is the figure of the first.
type ratio struct {
	name   string
	figure int
	of, to string
	aims   [2]string // of both Go releases
	size   bool      // it is the size of a program
}

var noAim = [2]string{"-", "-"}

var ratios = []ratio{
	{name: "CPU, All / loop", figure: cpu, of: "All", to: "loop", aims: [2]string{"0.26", "0.42"}},
	{name: "CPU, Pages / loop, included", figure: cpu, of: "Pages", to: "loop, included", aims: [2]string{"0.32", "0.50"}},
	{name: "CPU, All / loop, goccy", figure: cpu, of: "All", to: "loop, goccy", aims: noAim},
	{name: "CPU, All / loop, sonic", figure: cpu, of: "All", to: "loop, sonic", aims: noAim},
	{name: "CPU, no decoding / loop, included", figure: cpu, of: "no decoding", to: "loop, included", aims: noAim},
	{name: "CPU, All, gzip / loop, gzip", figure: cpu, of: "All, gzip", to: "loop, gzip", aims: noAim},
	{name: "CPU, Pages / oapi-codegen", figure: cpu, of: "Pages", to: "oapi-codegen", aims: noAim},
	{name: "CPU, All / js-sdk", figure: cpu, of: "All", to: "js-sdk", aims: noAim},
	{name: "CPU, Pages / js-sdk, included", figure: cpu, of: "Pages", to: "js-sdk, included", aims: noAim},
	{name: "CPU, All, ByAccount / All", figure: cpu, of: "All, ByAccount", to: "All", aims: noAim},
	{name: "CPU, GET: library / net/http", figure: cpu, of: "GET: library", to: "GET: net/http",
		aims: [2]string{"1.25", "1.25"}},
	{name: "CPU, POST x1: library / net/http", figure: cpu, of: "POST: library x1", to: "POST: net/http x1", aims: noAim},
	{name: "CPU, POST x16: library / net/http", figure: cpu, of: "POST: library x16", to: "POST: net/http x16",
		aims: [2]string{"1.40", "1.40"}},
	{name: "CPU, Ensure, none missing / Get a cart", figure: cpu,
		of: "Ensure, none missing", to: "Get a cart", aims: noAim},
	{name: "CPU, Get, alone / before", figure: cpu, of: "Get, alone", to: "Get, alone, before",
		aims: [2]string{"0.45", "0.45"}},
	{name: "CPU, Ensure, alone / before", figure: cpu, of: "Ensure, alone", to: "Ensure, alone, before",
		aims: [2]string{"0.50", "0.50"}},
	{name: "CPU, Add, alone / before", figure: cpu, of: "Add, alone", to: "Add, alone, before",
		aims: [2]string{"0.85", "0.85"}},
	{name: "allocations, Get, alone / before", figure: allocs, of: "Get, alone", to: "Get, alone, before",
		aims: [2]string{"0.85", "0.85"}},
	{name: "allocations, Ensure, alone / before", figure: allocs, of: "Ensure, alone", to: "Ensure, alone, before",
		aims: [2]string{"0.85", "0.85"}},
	{name: "allocations, Add, alone / before", figure: allocs, of: "Add, alone", to: "Add, alone, before",
		aims: [2]string{"0.85", "0.85"}},
	{name: "wall at 20 ms, All, Concurrency 8 / 1", figure: wall, of: "All, 20 ms, x8", to: "All, 20 ms", aims: noAim},
	{name: "wall at 20 ms, All, ByAccount, Concurrency 8 / 1", figure: wall,
		of: "All, ByAccount, 20 ms, x8", to: "All, ByAccount, 20 ms", aims: noAim},
	{name: "allocations per record, All", figure: allocs, of: "All", aims: [2]string{"9", "9"}},
	{name: "allocations per record, Pages", figure: allocs, of: "Pages", aims: [2]string{"17", "17"}},
	{name: "size of a program, MB", size: true, aims: [2]string{"2", "2"}},
}

func (r *ratio) value(res *results) float64 {
	if r.size {
		return res.Size
	}
	value := res.Least[r.of][r.figure]
	if r.to != "" {
		value /= res.Least[r.to][r.figure]
	}
	return value
}

// text returns the value as the pages show it.
func (r *ratio) text(res *results) string {
	if _, ok := res.Least[r.to]; r.to != "" && !ok {
		return "-" // the run was left out
	}
	return fmt.Sprintf("%.2f", r.value(res))
}

// Release returns the Go release without the patch, e.g. 1.26.
func (res *results) Release() string {
	parts := strings.SplitN(strings.TrimPrefix(res.Go, "go"), ".", 3)
	return strings.Join(parts[:min(2, len(parts))], ".")
}

// readResults reads the files of two Go releases.
func readResults(paths ...string) (both [2]results, err error) {
	for i, path := range paths {
		b, err := os.ReadFile(path)
		if err != nil {
			return both, err
		}
		if err := json.Unmarshal(b, &both[i]); err != nil {
			return both, fmt.Errorf("%s: %w", path, err)
		}
	}
	return both, nil
}

// documents returns the files that are made from the results, by path.
func documents(both *[2]results) (map[string]string, error) {
	all, err := render(both)
	if err != nil {
		return nil, err
	}
	all["../docs/bench.svg"] = chart(&both[0])
	return all, nil
}

// writeReport writes the pages from two files of results.
func writeReport(paths ...string) error {
	both, err := readResults(paths...)
	if err != nil {
		return err
	}
	all, err := documents(&both)
	for path, text := range all {
		err = errors.Join(err, os.WriteFile(path, []byte(text), 0o644))
	}
	return err
}

// missed lists the ratios that are higher than their aims.
func missed(both *[2]results) (list []string) {
	for _, r := range ratios {
		for i, res := range both {
			aim, err := strconv.ParseFloat(r.aims[i], 64)
			if err == nil && r.text(&res) != "-" && r.value(&res) > aim {
				list = append(list, fmt.Sprintf("%s, Go %s: %s instead of %s", r.name, res.Release(), r.text(&res), r.aims[i]))
			}
		}
	}
	return list
}

// columns are those of the table.
var columns = []struct {
	name, format string
	figure       int
}{
	{name: "CPU, ms", format: "%.0f", figure: cpu},
	{name: "wall, ms", format: "%.0f", figure: wall},
	{name: "allocations", format: "%.1f", figure: allocs},
	{name: "kB", format: "%.1f", figure: memory},
	{name: "peak, MiB", format: "%.0f", figure: peak},
}

// cell returns a figure as the table shows it: in bold if it is lower than that of the library.
func cell(res *results, r *run, column int) string {
	c := columns[column]
	f, ok := res.Least[r.name]
	if !ok || r.js != nil && (c.figure == allocs || c.figure == memory) {
		return "-"
	}
	text := fmt.Sprintf(c.format, f[c.figure])
	library, ok := res.Least[r.like]
	if ok && f[c.figure] < library[c.figure] && text != fmt.Sprintf(c.format, library[c.figure]) {
		return "**" + text + "**"
	}
	return text
}

// table returns a table of all runs.
func table(both *[2]results) string {
	var text strings.Builder
	text.WriteString("|")
	for _, c := range columns {
		fmt.Fprintf(&text, " | %s, %s | %s", c.name, both[0].Release(), both[1].Release())
	}
	text.WriteString(" |\n|---" + strings.Repeat("|--:", 2*len(columns)) + "|\n")
	for _, r := range runs {
		text.WriteString("| " + r.name)
		for i := range columns {
			text.WriteString(" | " + cell(&both[0], &r, i) + " | " + cell(&both[1], &r, i))
		}
		text.WriteString(" |\n")
	}
	return text.String()
}
