package terminal_test

import (
	"testing"

	"github.com/commerce-go/commerce/examples/internal/terminal"
)

func TestPlain(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"": "-", " \n": "-", "plain": "plain", "é ü": "é ü", "a\x1b[31mb\tc\nd": "a [31mb c d", "\u202egnp": " gnp", "\xff": "\ufffd",
	} {
		if got := terminal.Plain(in); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
}
