package paging

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"
)

// TestPicture draws docs/walk.svg, if PICTURE names where to: the records that two
// clients yield of the same list, while one that was read already is removed after
// each request.
func TestPicture(t *testing.T) {
	t.Parallel()
	path := os.Getenv("PICTURE")
	if path == "" {
		t.Skip("PICTURE is not set: see make picture")
	}
	s := &scenario{
		total: 360, limit: 20, concurrency: 1, hints: honest, churn: [][]change{{{at: 0}}},
		before: []time.Duration{time.Millisecond}, after: []time.Duration{0},
	}
	walked := newModel(s)
	got, broken, end := walked.run(t)
	if broken != "" || end != nil {
		t.Fatal(broken, end)
	}
	paged := newModel(s)
	naive := paged.naive()

	var b strings.Builder
	b.WriteString(pictureHead)
	lost := drawList(&b, 56, "offset += limit", paged, naive)
	if none := drawList(&b, 166, "this client", walked, got); none != 0 || lost == 0 {
		t.Fatalf("the walk lost %d records, naive paging %d", none, lost)
	}
	b.WriteString(pictureFoot)
	if err := os.WriteFile(path, []byte(b.String()), 0o600); err != nil {
		t.Fatal(err)
	}
}

const pictureHead = `<svg xmlns="http://www.w3.org/2000/svg" width="760" height="300" viewBox="0 0 760 300" role="img" font-family="system-ui, sans-serif" font-size="14">
<title>Records yielded of a list of 360, 20 a page, while one is removed after each request</title>
<style>
.t{fill:#1f2328}.m{fill:#59636e}.y{fill:#8fb8e8}.l{fill:#cf222e}
@media (prefers-color-scheme:dark){.t{fill:#f0f6fc}.m{fill:#9198a1}.y{fill:#3b6ea8}.l{fill:#ff5c52}}
</style>
<text class="t" x="20" y="28" font-weight="600">A list of 360 records, 20 a page; after each request, one that was read is removed</text>
`

const pictureFoot = `<path class="y" d="M20 276h9v9h-9z"/><text class="m" x="36" y="285">yielded, once</text>
<path class="l" d="M140 276h9v9h-9z"/><text class="m" x="156" y="285">there all the time, and never seen</text>
</svg>
`

// drawList draws the list of m and what of it was yielded, and returns how many
// records were lost: there from start to end, and not yielded.
func drawList(b *strings.Builder, y int, name string, m *model, yielded []record) (lost int) {
	const columns, step = 60, 12
	missed := map[int]bool{}
	for _, r := range m.lost(yielded, nil) {
		missed[r.id] = true
	}
	fmt.Fprintf(b, "<text class=\"t\" x=\"20\" y=\"%d\" font-weight=\"600\">%s</text>\n", y+12, name)
	fmt.Fprintf(b, "<text class=\"m\" x=\"740\" y=\"%d\" text-anchor=\"end\">%d requests, %d records lost</text>\n", y+12, m.reads, len(missed))
	squares := map[string]*strings.Builder{"y": {}, "l": {}}
	for i, r := range m.first {
		class := "y"
		if missed[r.id] {
			class = "l"
		}
		fmt.Fprintf(squares[class], "M%d %dh9v9h-9z", 20+i%columns*step, y+24+i/columns*step)
	}
	for _, class := range []string{"y", "l"} {
		if squares[class].Len() > 0 {
			fmt.Fprintf(b, "<path class=\"%s\" d=\"%s\"/>\n", class, squares[class])
		}
	}
	return len(missed)
}
