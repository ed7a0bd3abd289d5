// Command picture draws which records of a list two clients yield, while one record that was read
// already is removed after each request: a loop that adds the page size to the offset, and the
// library.
//
//	go run ./picture ../docs/walk.svg
package main

import (
	"context"
	"fmt"
	"iter"
	"log"
	"os"
	"strings"

	"github.com/google/uuid"

	"github.com/commerce-go/commerce"
	"github.com/commerce-go/commerce/commercetest"
)

const (
	records  = 360
	pageSize = 20
)

func main() {
	log.SetFlags(0)
	if len(os.Args) != 2 {
		log.Fatal("usage: picture FILE")
	}
	naive, walk := read(loop), read((*commerce.SubscriptionService).All)
	if len(naive.lost) == 0 || len(walk.lost) > 0 {
		log.Fatalf("records lost: loop %d, want some; library %d, want 0", len(naive.lost), len(walk.lost))
	}
	svg := head + naive.draw(56, "offset += limit") + walk.draw(166, "this client") + foot
	if err := os.WriteFile(os.Args[1], []byte(svg), 0o644); err != nil {
		log.Fatal(err)
	}
}

// reading is what a client did.
type reading struct {
	requests int
	lost     map[int]bool // records that were in the list all the time, and were not yielded
}

// client reads all subscriptions, as commerce.SubscriptionService.All does.
type client func(
	*commerce.SubscriptionService, context.Context, *commerce.SubscriptionListOptions,
) iter.Seq2[*commerce.Subscription, error]

// loop reads the list without an overlap.
func loop(
	s *commerce.SubscriptionService, ctx context.Context, opts *commerce.SubscriptionListOptions,
) iter.Seq2[*commerce.Subscription, error] {
	return func(yield func(*commerce.Subscription, error) bool) {
		for offset := 0; ; offset += opts.PageSize {
			page, err := s.List(ctx, &commerce.SubscriptionListOptions{Offset: offset, PageSize: opts.PageSize})
			if err != nil {
				yield(nil, err)
				return
			}
			for i := range page.Subscriptions {
				if !yield(&page.Subscriptions[i], nil) {
					return
				}
			}
			if len(page.Subscriptions) < opts.PageSize {
				return
			}
		}
	}
}

// read reads a list that changes by a client.
func read(list client) reading {
	r := reading{lost: map[int]bool{}}
	var ids []uuid.UUID // of all records; nil until they are known
	store := commercetest.NewStore(commercetest.Config{
		AfterRequest: func(s *commercetest.Store, _ commercetest.Request) {
			if ids != nil {
				s.RemoveSubscription(ids[r.requests])
				r.requests++
			}
		},
	})
	store.Seed(records)
	ctx, subscriptions := context.Background(), store.Client().Subscriptions
	var all []uuid.UUID
	for sub, err := range subscriptions.All(ctx, nil) {
		if err != nil {
			log.Fatal(err)
		}
		all = append(all, sub.ID)
	}
	ids = all
	yielded := map[uuid.UUID]bool{}
	for sub, err := range list(subscriptions, ctx, &commerce.SubscriptionListOptions{PageSize: pageSize}) {
		if err != nil {
			log.Fatal(err)
		}
		yielded[sub.ID] = true
	}
	for i := r.requests; i < records; i++ {
		if !yielded[ids[i]] {
			r.lost[i] = true
		}
	}
	return r
}

const head = `<svg xmlns="http://www.w3.org/2000/svg" width="760" height="300" viewBox="0 0 760 300" role="img" ` +
	`font-family="system-ui, sans-serif" font-size="14">
<title>Records yielded of a list of 360, 20 a page, while one is removed after each request</title>
<style>
.t{fill:#1f2328}.m{fill:#59636e}.y{fill:#8fb8e8}.l{fill:#cf222e}
@media (prefers-color-scheme:dark){.t{fill:#f0f6fc}.m{fill:#9198a1}.y{fill:#3b6ea8}.l{fill:#ff5c52}}
</style>
<text class="t" x="20" y="28" font-weight="600">` +
	`A list of 360 records, 20 a page; after each request, one that was read is removed</text>
`

const foot = `<path class="y" d="M20 276h9v9h-9z"/><text class="m" x="36" y="285">yielded, once</text>
<path class="l" d="M140 276h9v9h-9z"/><text class="m" x="156" y="285">there all the time, and never seen</text>
</svg>
`

// draw draws the list at height y: a square for each record, in another color if it was lost.
func (r reading) draw(y int, name string) string {
	const columns, step = 60, 12
	yielded, lost := "", ""
	for i := range records {
		square := fmt.Sprintf("M%d %dh9v9h-9z", 20+i%columns*step, y+24+i/columns*step)
		if r.lost[i] {
			lost += square
		} else {
			yielded += square
		}
	}
	var b strings.Builder
	fmt.Fprintf(&b, "<text class=\"t\" x=\"20\" y=\"%d\" font-weight=\"600\">%s</text>\n", y+12, name)
	fmt.Fprintf(&b, "<text class=\"m\" x=\"740\" y=\"%d\" text-anchor=\"end\">%d requests, %d records lost</text>\n",
		y+12, r.requests, len(r.lost))
	fmt.Fprintf(&b, "<path class=\"y\" d=\"%s\"/>\n", yielded)
	if lost != "" {
		fmt.Fprintf(&b, "<path class=\"l\" d=\"%s\"/>\n", lost)
	}
	return b.String()
}
