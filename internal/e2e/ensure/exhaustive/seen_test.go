package exhaustive_test

import (
	"fmt"
	"hash/fnv"
	"time"
)

// seen are the hashes of worlds in which a choice was made. What may come after it depends on
// nothing else: on what each call sent and received, on the store, and on what is on its way.
type seen map[uint64]struct{}

// add reports whether the hash is new.
func (s seen) add(hash uint64) bool {
	_, isOld := s[hash]
	s[hash] = struct{}{}
	return !isOld
}

// remember adds to the history of the call.
func (c *call) remember(facts ...any) { c.history = hash(c.history, time.Now().UnixNano(), facts) }

func hash(facts ...any) uint64 {
	h := fnv.New64a()
	_, _ = fmt.Fprintln(h, facts...) // a hash takes all
	return h.Sum64()
}

// hash returns a hash of the world before a choice.
func (w *world) hash(what string) uint64 {
	facts := []any{what, time.Now().UnixNano(), w.faults, w.frees.UnixNano(), w.lastID, w.store.facts()}
	if w.holder != nil {
		facts = append(facts, w.holder.name)
	}
	for _, c := range w.calls {
		facts = append(facts, c.name, c.history, c.isDead, c.isEnded, c.isBlind && c.wasRight())
	}
	for _, r := range w.pending {
		facts = append(facts, r, r.readyAt.UnixNano(), w.hasChanged(r), w.states[r.base].facts())
	}
	for _, l := range w.late {
		facts = append(facts, l.request, l.fate.name, l.requests, l.at.UnixNano(), w.states[l.base].facts())
	}
	return hash(facts...)
}

// facts returns the state, and which call added each discount, and whether late.
func (s store) facts() string {
	text := fmt.Sprint(s.Price, s.IsEnabled, s.IsPaused)
	for _, d := range s.Discounts {
		text += fmt.Sprintln(d.ID, d.Engine, d.ExternalID, d.Amount)
		if d.By != nil {
			text += fmt.Sprintln(d.By.by.name, d.By.isLate)
		}
	}
	return text
}
