package commerce

import (
	"fmt"

	"github.com/google/uuid"
)

// compareJournal panics if the journal and the fields do not agree.
func compareJournal(e *ensureRun) {
	if got, want := e.journalState(), e.fieldState(); got != want {
		panic(fmt.Sprintf("the journal shows %s\nthe fields %s\n%+v", got, want, e.journal.writes))
	}
}

func (e *ensureRun) fieldState() string {
	text := ""
	for i, a := range e.adds {
		text += fmt.Sprint(i, a.unanswered, sortedIDs(a.unshown), a.unsettled, a.refused, len(a.reasons), " ")
	}
	return text + fmt.Sprint(sortedIDs(e.updated), sortedIDs(e.unconfirmed), sortedIDs(e.undeleted), sortedIDs(e.undeletable), " ",
		e.began > 0, e.rejected == e.began, e.roundUnanswered)
}

func (e *ensureRun) journalState() string {
	j, text := &e.journal, ""
	ids := func(kind writeKind, match func(w *ensureWrite) bool) []uuid.UUID {
		set := map[uuid.UUID]bool{}
		for _, w := range j.writes {
			if w.kind == kind && match(&w) {
				set[w.discount.ID] = true
			}
		}
		return sortedIDs(set)
	}
	isOpen := func(w *ensureWrite) bool { return w.outcome == OutcomeUnknown && !w.shown }
	for i := range e.want {
		unanswered, unsettled, refused := 0, false, false
		unshown, reasons := map[uuid.UUID]bool{}, 0
		for _, w := range j.writes {
			if w.kind != addWrite || w.index != i {
				continue
			}
			if isOpen(&w) {
				unanswered++
			}
			if w.outcome == OutcomeApplied && !w.shown && w.discount.ID != uuid.Nil {
				unshown[w.discount.ID] = true
			}
			isRenamed := w.shown && w.discount.key() != e.want[i].key()
			refused = refused || w.isRefused() || isRenamed
			unsettled = unsettled || !w.isRefused() && !w.settled
			reasons = max(reasons, len(w.reasons))
		}
		text += fmt.Sprint(i, unanswered, sortedIDs(unshown), unsettled, refused, reasons, " ")
	}
	began, rejected, unanswered := 0, 0, false
	for i, w := range j.writes {
		if w.outcome != OutcomeNotSent {
			began++
		}
		if w.outcome == OutcomeRejected {
			rejected++
		}
		unanswered = unanswered || i >= e.round && w.outcome == OutcomeUnknown
	}
	all := func(*ensureWrite) bool { return true }
	text += fmt.Sprint(ids(updateWrite, all), ids(updateWrite, isOpen), ids(deleteWrite, isOpen),
		ids(deleteWrite, func(w *ensureWrite) bool { return w.outcome != OutcomeUnknown }))
	return text + fmt.Sprint(" ", began > 0, rejected == began, unanswered)
}
