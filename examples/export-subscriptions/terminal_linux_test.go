package main

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/commerce-go/commerce/examples/internal/terminal"
)

// openTerminal returns a terminal, and a function that closes it and returns its output.
func openTerminal(t *testing.T) (tty *os.File, shown func() string) {
	t.Helper()
	control, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Skip("no terminals here:", err)
	}
	t.Cleanup(func() { _ = control.Close() })
	fd := int(control.Fd())
	if err := unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0); err != nil {
		t.Fatal(err)
	}
	n, err := unix.IoctlGetInt(fd, unix.TIOCGPTN)
	if err != nil {
		t.Fatal(err)
	}
	tty, err = os.OpenFile("/dev/pts/"+strconv.Itoa(n), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = tty.Close() })
	var screen bytes.Buffer
	read := make(chan error, 1)
	go func() {
		_, err := io.Copy(&screen, control)
		read <- err
	}()
	return tty, func() string {
		_ = tty.Close()
		if err := <-read; !errors.Is(err, syscall.EIO) { // the normal end of a terminal
			t.Errorf("terminal: %v", err)
		}
		return screen.String()
	}
}

func TestProgressOnATerminal(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name   string
		args   []string
		shared bool // standard output is the terminal too
		bar    bool
	}{
		{name: "to a file", args: []string{"-o", "x.jsonl"}, bar: true},
		{name: "to a pipe", args: []string{"-format", "csv"}, bar: true},
		{name: "to a file, stdout is the terminal", args: []string{"-o", "x.jsonl"}, shared: true, bar: true},
		{name: "to the terminal", args: []string{"-format", "csv"}, shared: true},
		{name: "quiet", args: []string{"-q"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			tty, shown := openTerminal(t)
			if !terminal.Is(tty) {
				t.Fatal("terminal.Is() = false, want true")
			}
			args := append([]string{"-n", "110"}, tt.args...)
			if args[2] == "-o" {
				args[3] = filepath.Join(t.TempDir(), args[3])
			}
			stdout := io.Writer(&bytes.Buffer{})
			if tt.shared {
				stdout = tty
			}
			code := run(t.Context(), args, system{func(string) string { return "" }, stdout, tty, createTemp})
			got := shown()
			if drawn := strings.Contains(got, "exporting ("); drawn != tt.bar || code != exitOK {
				t.Errorf("code %d, bar %t, want %t: %q", code, drawn, tt.bar, got)
			}
			if !strings.Contains(got, "110 subscriptions in ") {
				t.Errorf("no summary: %q", got)
			}
		})
	}
}
