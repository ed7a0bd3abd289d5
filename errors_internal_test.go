package commerce

import (
	"testing"

	"github.com/commerce-go/commerce/internal/transport"
)

// An error keeps 4 KiB of its own: neither a large body, nor what a caller changes.
func TestNewRawResponse(t *testing.T) {
	t.Parallel()
	large := make([]byte, 1<<20)
	raw := newRawResponse(&transport.Result{Body: large})
	first, _ := raw()
	large[0], first[0] = 1, 1
	if body, _ := raw(); len(body) != 4<<10 || body[0] == 1 {
		t.Errorf("got %d bytes, the first is %d, want 4 KiB of their own", len(body), body[0])
	}
}
