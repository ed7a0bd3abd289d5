package main

import (
	"fmt"
	"slices"
	"strings"
)

// chart draws the CPU time of each client, as an SVG for docs/performance.md.
func chart(res *results) string {
	const head = `<svg xmlns="http://www.w3.org/2000/svg" width="760" height="%d" viewBox="0 0 760 %[1]d" role="img" ` +
		`font-family="system-ui, sans-serif" font-size="14">
<title>CPU time of the client for %d,000 subscriptions</title>
<style>
.t{fill:#1f2328}.m{fill:#59636e}.b{fill:#8fb8e8}.o{fill:#2f6fb5}
@media (prefers-color-scheme:dark){.t{fill:#f0f6fc}.m{fill:#9198a1}.b{fill:#3b6ea8}.o{fill:#79b8ff}}
</style>
<text class="t" x="20" y="28" font-weight="600">` +
		`CPU time of the client for %[2]d,000 subscriptions, %d a page, on one machine</text>
`
	type bar struct{ run, name, class string }
	bars := []bar{
		{run: "All", name: "this client: All", class: "o"},
		{run: "loop", name: "net/http and encoding/json", class: "b"},
		{run: "loop, goccy", name: "net/http and goccy/go-json", class: "b"},
		{run: "loop, sonic", name: "net/http and sonic", class: "b"},
		{run: "js-sdk", name: "the vendor's JavaScript SDK", class: "b"},
		{run: "Pages", name: "this client: Pages, with plans", class: "o"},
		{run: "loop, included", name: "net/http and encoding/json", class: "b"},
		{run: "oapi-codegen", name: "client by oapi-codegen", class: "b"},
		{run: "js-sdk, included", name: "the vendor's JavaScript SDK", class: "b"},
		{run: "no decoding", name: "net/http, nothing decoded", class: "b"},
	}
	bars = slices.DeleteFunc(bars, func(b bar) bool { _, ok := res.Least[b.run]; return !ok }) // left out
	const top, step, left, width = 48, 30, 280, 390
	largest := 0.0
	for _, bar := range bars {
		largest = max(largest, res.Least[bar.run][cpu])
	}
	var b strings.Builder
	fmt.Fprintf(&b, head, top+step*len(bars)+12, listed/1000, pageSize)
	for i, bar := range bars {
		y, ms := top+step*i, res.Least[bar.run][cpu]
		length := max(2, ms/largest*width)
		fmt.Fprintf(&b, `<text class="t" x="%d" y="%d" text-anchor="end">%s</text>`, left-10, y+15, bar.name)
		fmt.Fprintf(&b, `<rect class="%s" x="%d" y="%d" width="%.0f" height="20" rx="3"/>`, bar.class, left, y, length)
		fmt.Fprintf(&b, `<text class="m" x="%.0f" y="%d">%.0f ms</text>`+"\n", left+length+8, y+15, ms)
	}
	b.WriteString("</svg>\n")
	return b.String()
}
