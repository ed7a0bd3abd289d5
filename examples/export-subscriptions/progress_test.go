package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
)

// frames returns what was drawn, one after the other, without spinner and margins.
func frames(drawn string) []string {
	var list []string
	for frame := range strings.SplitSeq(drawn, "\r") {
		if frame = strings.Trim(frame, ` |/-\`); frame != "" {
			list = append(list, frame)
		}
	}
	return list
}

func TestProgress(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) { // ends when all goroutines have ended
		var b bytes.Buffer
		bar := startProgress(&b)
		time.Sleep(50 * time.Millisecond) // never at the same time as the bar redraws
		for range 10 {
			time.Sleep(100 * time.Millisecond)
			bar.add(50)
		}
		time.Sleep(2 * time.Second) // without progress, the time advances
		bar.stop()
		drawn := b.String()
		time.Sleep(time.Second)
		if b.String() != drawn {
			t.Error("something is drawn after the stop")
		}

		list := frames(drawn)
		if len(list) < 10 {
			t.Fatalf("%d drawings in 3 s: %q", len(list), list)
		}
		for _, part := range []string{"exporting", "(500, ", " subscriptions/", "[3s]"} {
			if last := list[len(list)-1]; !strings.Contains(last, part) {
				t.Errorf("the last drawing, %q, does not hold %q", last, part)
			}
		}
		if !strings.Contains(drawn, "(450, 455 subscriptions/s) [0s]") {
			t.Errorf("no drawing with the rate: %q", list)
		}
		if lines := strings.Split(drawn, "\r"); strings.TrimSpace(lines[len(lines)-2]) != "" || lines[len(lines)-1] != "" {
			t.Errorf("the line is not cleared: %q", drawn[max(0, len(drawn)-100):])
		}
	})
}

// If standard error is not a terminal, nothing is drawn.
func TestNoProgressWithoutATerminal(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "stderr")
		stderr, err := os.Create(path)
		if err != nil {
			t.Fatal(err)
		}
		var stdout bytes.Buffer
		sys := system{func(string) string { return "" }, &stdout, stderr, createTemp}
		code := run(t.Context(), []string{"-latency", "5s"}, sys)
		if err := stderr.Close(); err != nil {
			t.Fatal(err)
		}
		got, err := os.ReadFile(path)
		diff := cmp.Diff(embedded+"300 subscriptions in 20s (15 a second)\n", string(got))
		if diff != "" || err != nil || code != exitOK {
			t.Errorf("code %d, %v, stderr (-want +got):\n%s", code, err, diff)
		}
	})
}
