package exhaustive_test

import (
	"net/http"
	"time"
)

// fate is what becomes of a request that the store receives. All but the first one are faults.
type fate struct {
	name    string
	onReads bool                            // it may meet a read too
	isFor   func(w *world, r *request) bool // nil: any
	applies bool
	late    int           // it is applied after that many further requests
	lateBy  time.Duration // or after that time
	isOver  bool          // it is applied to the state when it arrived: what was written since is undone
	undone  bool          // another program undoes it at once
	price   bool          // the price changes, or changes back, before it
	isSlow  bool
	isLost  bool // there is no response
	isCut   bool // the response ends in the middle
	status  int  // of the response, instead of the right one
	kills   bool // the process is killed while it waits for the response
}

// fates has all of them.
var fates = []fate{
	{name: "ok", onReads: true, applies: true},
	{name: "lost", onReads: true, isLost: true},
	{name: "applied, response lost", applies: true, isLost: true},
	{name: "no response, applied after 1 request", late: 1, isLost: true},
	{name: "no response, applied after 2 requests", late: 2, isLost: true},
	{name: "no response, applied after 3 requests", late: 3, isLost: true},
	{name: "no response, applied after Settle", lateBy: settle + settle/4, isLost: true},
	{name: "no response, undoes 2 requests", late: 2, isOver: true, isLost: true},
	{name: "429", onReads: true, status: http.StatusTooManyRequests},
	{name: "503", onReads: true, status: http.StatusServiceUnavailable},
	{name: "503, applied", applies: true, status: http.StatusServiceUnavailable},
	{name: "response ends in the middle", onReads: true, applies: true, isCut: true},
	{name: "ok, and undone", applies: true, undone: true},
	{name: "ok, undoes what was written meanwhile", applies: true, isOver: true, isFor: (*world).hasChanged},
	{name: "ok, but slow", onReads: true, isSlow: true, isFor: (*world).maySlow},
	{name: "ok, after the price changed", onReads: true, applies: true, price: true, isFor: (*world).hasPrice},
	{name: "process killed, not applied", onReads: true, kills: true},
	{name: "process killed, applied", applies: true, kills: true},
	{name: "process killed, applied after 1 request", late: 1, kills: true},
	{name: "process killed, applied after 3 requests", late: 3, kills: true},
}

func (f *fate) fits(w *world, r *request) bool {
	return (f.onReads || r.isWrite()) && (f.isFor == nil || f.isFor(w, r))
}

// hasChanged reports whether something was written since r arrived.
func (w *world) hasChanged(r *request) bool { return len(w.states)-1 > r.base }

// maySlow reports whether another call may go on while r is slow.
func (w *world) maySlow(r *request) bool { return len(w.calls) > 1 && !w.hasLock && r.readyAt.IsZero() }

func (w *world) hasPrice(*request) bool { return w.prices }

// meet lets a request meet its fate.
func (f *fate) meet(w *world, r *request) {
	if f.isSlow {
		r.readyAt = time.Now().Add(slow)
		return
	}
	w.remove(r)
	if f.price {
		s := w.store
		s.Price = startPrice + otherPrice - s.Price
		w.change(s)
	}
	before := w.store
	var resp response
	if f.applies {
		resp = w.apply(r, w.baseOf(r, f))
	}
	if f.undone {
		w.change(before)
	}
	for _, l := range w.late {
		l.requests--
	}
	w.applyLate(func(l *lateWrite) bool { return l.at.IsZero() && l.requests <= 0 })
	switch {
	case f.late > 0:
		w.late = append(w.late, &lateWrite{request: r, fate: f, requests: f.late})
	case f.lateBy > 0:
		w.late = append(w.late, &lateWrite{request: r, fate: f, at: time.Now().Add(f.lateBy)})
	}
	if f.kills {
		w.kill(r.by)
		return
	}
	r.respond(f, resp)
}
