package ledger

import (
	"io"
	"log"
	"os"
	"testing"
)

// TestMain silences the standard logger: net/http tells it of each answer that
// breaks the protocol, and these tests send thousands.
func TestMain(m *testing.M) {
	log.SetOutput(io.Discard)
	os.Exit(m.Run())
}
