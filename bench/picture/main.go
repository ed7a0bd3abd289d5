// Command picture draws what clients do at a fake store that misbehaves, each beside the library:
//
//	go run ./picture ../docs
//
// It writes walk.svg and discounts.svg.
package main

import (
	"context"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"strings"
)

func main() {
	log.SetFlags(0)
	if len(os.Args) != 2 {
		log.Fatal("usage: picture FOLDER")
	}
	for name, draw := range pictures {
		svg, err := draw(context.Background())
		if err == nil {
			err = os.WriteFile(filepath.Join(os.Args[1], name), []byte(svg), 0o644)
		}
		if err != nil {
			log.Fatalf("%s: %v", name, err)
		}
	}
}

var pictures = map[string]func(context.Context) (string, error){
	"walk.svg":      drawWalk,
	"discounts.svg": drawDiscounts,
}

// class is the style of a square.
type class string

const (
	right   class = "y"
	wrong   class = "l"
	unknown class = "u"
)

// picture shows what clients did, with a row for each.
type picture struct {
	title, heading string
	columns        int
	rows           []row
	legend         []legend
}

// row has a square for each of the things that a client should have read or written.
type row struct {
	name, facts string
	squares     []class
}

type legend struct {
	class class
	text  string
}

const (
	width  = 760
	margin = 20
	style  = `<style>
.t{fill:#1f2328}.m{fill:#59636e}.y{fill:#8fb8e8}.l{fill:#cf222e}.u{fill:#e0a100}
@media (prefers-color-scheme:dark){.t{fill:#f0f6fc}.m{fill:#9198a1}.y{fill:#3b6ea8}.l{fill:#ff5c52}.u{fill:#e3b341}}
</style>
`
)

func (p picture) svg() string {
	step := (width - 2*margin) / p.columns
	lines := (len(p.rows[0].squares) + p.columns - 1) / p.columns
	rowHeight := 40 + lines*step
	height := 76 + len(p.rows)*rowHeight
	var b strings.Builder
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" viewBox="0 0 %[1]d %[2]d" role="img" `+
		`font-family="system-ui, sans-serif" font-size="15">`+"\n<title>%s</title>\n%s", width, height, p.title, style)
	write := func(x, y int, attributes, text string) {
		fmt.Fprintf(&b, "<text x=\"%d\" y=\"%d\" %s>%s</text>\n", x, y, attributes, text)
	}
	write(margin, 28, `class="t" font-weight="600"`, p.heading)
	for i, r := range p.rows {
		y := 66 + i*rowHeight
		write(margin, y, `class="t" font-weight="600"`, r.name)
		write(width-margin, y, `class="m" text-anchor="end"`, r.facts)
		paths := map[class]string{}
		for i, c := range r.squares {
			paths[c] += square(margin+i%p.columns*step, y+12+i/p.columns*step, step-3)
		}
		for _, c := range []class{right, wrong, unknown} {
			if paths[c] != "" {
				fmt.Fprintf(&b, "<path class=\"%s\" d=\"%s\"/>\n", c, paths[c])
			}
		}
	}
	x := margin
	for _, l := range p.legend {
		fmt.Fprintf(&b, "<path class=\"%s\" d=\"%s\"/>\n", l.class, square(x, height-24, 11))
		write(x+18, height-14, `class="m"`, l.text)
		x += 50 + 9*len(l.text) // a generous width for any font
	}
	b.WriteString("</svg>\n")
	return b.String()
}

func square(x, y, size int) string { return fmt.Sprintf("M%d %dh%dv%[3]dh-%[3]dz", x, y, size) }
