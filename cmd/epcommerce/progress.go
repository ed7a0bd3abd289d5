package main

import (
	"io"
	"sync"
	"time"

	"github.com/schollz/progressbar/v3"
)

// redraw is the time between two drawings of the bar.
const redraw = 100 * time.Millisecond

// progress shows how many subscriptions were exported. stop removes them from the screen.
type progress struct {
	set  func(n int)
	stop func()
}

// noProgress shows nothing.
func noProgress() progress { return progress{set: func(int) {}, stop: func() {}} }

// startProgress shows count, rate and time on one line of w, a terminal. It redraws
// the line regularly, so that the time advances during a long request.
func startProgress(w io.Writer) progress {
	bar := progressbar.NewOptions(-1, // the service returns no total
		progressbar.OptionSetWriter(w),
		progressbar.OptionSetDescription("exporting"),
		progressbar.OptionShowCount(),
		progressbar.OptionShowTotalBytes(false),
		progressbar.OptionShowIts(),
		progressbar.OptionSetItsString("subscriptions"),
		progressbar.OptionSpinnerType(9),
		progressbar.OptionSetSpinnerChangeInterval(0), // else a goroutine that never ends draws it
		progressbar.OptionThrottle(redraw/2),
		progressbar.OptionClearOnFinish(),
	)
	bar.StartWithoutRender()
	set := func(n int) { _ = bar.Set(n) } // a terminal that was closed must not stop the export

	done := make(chan struct{})
	var drawing sync.WaitGroup
	drawing.Go(func() {
		ticker := time.NewTicker(redraw)
		defer ticker.Stop()
		for {
			select {
			case <-ticker.C:
				_ = bar.Add(0)
			case <-done:
				return
			}
		}
	})
	return progress{set: set, stop: func() {
		close(done)
		drawing.Wait()
		_ = bar.Finish()
	}}
}
