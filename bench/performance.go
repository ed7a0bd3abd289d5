package main

import (
	"embed"
	"errors"
	"fmt"
	"strings"
	"text/template"
)

//go:embed *.tmpl
var templates embed.FS

// row is a row of the first table of results.md; docs/performance.md has some of them.
type row struct {
	Job, With string
	ratio     string // its name
	Values    [2]string
}

// render returns the texts of the pages, by path.
func render(both *[2]results) (map[string]string, error) {
	rows := []row{
		{Job: "`All`, 10,000 subscriptions", With: "encoding/json", ratio: "CPU, All / loop"},
		{Job: "…", With: "goccy/go-json", ratio: "CPU, All / loop, goccy"},
		{Job: "…", With: "sonic", ratio: "CPU, All / loop, sonic"},
		{Job: "…", With: "the vendor's JavaScript SDK", ratio: "CPU, All / js-sdk"},
		{Job: "`Pages`, with plans and products", With: "encoding/json", ratio: "CPU, Pages / loop, included"},
		{Job: "…", With: "oapi-codegen", ratio: "CPU, Pages / oapi-codegen"},
		{Job: "…", With: "the vendor's JavaScript SDK", ratio: "CPU, Pages / js-sdk, included"},
		{Job: "a small GET by `Client.Do`", With: "net/http", ratio: "CPU, GET: library / net/http"},
		{Job: "`AddCustomDiscounts` on 1 goroutine", With: "net/http", ratio: "CPU, POST x1: library / net/http"},
		{Job: "`AddCustomDiscounts` on 16 goroutines", With: "net/http", ratio: "CPU, POST x16: library / net/http"},
	}
	for i := range rows {
		for _, r := range ratios {
			if r.name == rows[i].ratio {
				rows[i].Values = [2]string{r.text(&both[0]), r.text(&both[1])}
			}
		}
	}
	figure := func(i int, per float64) func(run string) (float64, error) {
		return func(run string) (float64, error) {
			f, ok := both[0].Least[run]
			if !ok {
				return 0, fmt.Errorf("there is no run %q", run)
			}
			return f[i] / per, nil
		}
	}
	seconds := figure(wall, 1000)
	t, err := template.New("").Funcs(template.FuncMap{
		"rows": func() []row { return rows }, "table": func() string { return table(both) },
		"missed": func() []string { return missed(both) },
		"size":   func() string { return fmt.Sprintf("%.1f", both[0].Size) },
		"seconds": func(run string) (string, error) {
			s, err := seconds(run)
			return fmt.Sprintf("%.1f", s), err
		},
		"times": func(run, other string) string {
			return fmt.Sprintf("%.1f", both[0].Least[run][cpu]/both[0].Least[other][cpu])
		},
		"kB": figure(memory, 1),
	}).ParseFS(templates, "*.tmpl")
	if err != nil {
		return nil, err
	}
	all := map[string]string{}
	for name, path := range map[string]string{"performance.tmpl": "../docs/performance.md", "results.tmpl": "results.md"} {
		var text strings.Builder
		err = errors.Join(err, t.ExecuteTemplate(&text, name, []*results{&both[0], &both[1]}))
		all[path] = text.String()
	}
	return all, err
}
