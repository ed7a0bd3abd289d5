package terminal_test

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/commerce-go/commerce/examples/internal/terminal"
)

func TestPlain(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"": "-", " \n": "-", "plain": "plain", "é ü": "é ü",
		"a\x1b[31mb\tc\nd": "a [31mb c d", "\u202egnp": " gnp", "\xff": "\ufffd",
	} {
		if got := terminal.Plain(in); got != want {
			t.Errorf("Plain(%q) = %q, want %q", in, got, want)
		}
	}
}

func TestIs(t *testing.T) {
	t.Parallel()
	f, err := os.Create(filepath.Join(t.TempDir(), "file"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = f.Close() })
	for name, w := range map[string]io.Writer{"file": f, "buffer": &bytes.Buffer{}, "nil": nil} {
		if terminal.Is(w) { // a test of export-subscriptions has a terminal
			t.Errorf("Is(%s) = true, want false", name)
		}
	}
}
