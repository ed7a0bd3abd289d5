package transport

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
)

func TestReadBody_limits(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name          string
		status        int
		contentLength int64
		size          int
		want          int // bytes that are read
	}{
		{name: "at the limit", status: 404, contentLength: MaxErrorBody, size: MaxErrorBody, want: MaxErrorBody},
		{name: "over the limit", status: 404, contentLength: MaxErrorBody + 1, size: MaxErrorBody + 1, want: MaxErrorBody},
		{name: "unknown length, at the limit", status: 404, contentLength: -1, size: MaxErrorBody, want: MaxErrorBody},
		{name: "unknown length, over it", status: 404, contentLength: -1, size: MaxErrorBody + 1, want: MaxErrorBody},
		{name: "success, over the limit", status: 200, contentLength: -1, size: MaxBody + 1, want: MaxBody},
		{name: "success", status: 200, contentLength: -1, size: MaxErrorBody + 1, want: MaxErrorBody + 1},
		{name: "response to a HEAD", status: 200, contentLength: MaxBody + 1},
	} {
		body := io.NopCloser(strings.NewReader(strings.Repeat("x", tt.size)))
		r := stub(func(*http.Request) (*http.Response, error) {
			return &http.Response{StatusCode: tt.status, ContentLength: tt.contentLength, Body: body}, nil
		}).do(t.Context(), newCall(t, Replayable, storeURL))
		tooLarge := tt.size > tt.want
		if r.Truncated != tooLarge || (r.Err == errTooLarge) != tooLarge || len(r.Body) != tt.want || r.Attempts != 1 {
			t.Errorf("%s: %d bytes, Truncated %v, %v, want %d bytes, Truncated %v",
				tt.name, len(r.Body), r.Truncated, r.Err, tt.want, tooLarge)
		}
	}
}

// readFunc is the body of a custom transport.
type readFunc func(p []byte) (int, error)

func (f readFunc) Read(p []byte) (int, error) { return f(p) }

func TestReadBody_errors(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name string
		read readFunc
		want error
	}{
		{name: "an error that wraps io.EOF", want: io.EOF, read: func(p []byte) (int, error) {
			return copy(p, "12"), fmt.Errorf("the proxy is gone: %w", io.EOF)
		}},
		{name: "empty reads", want: io.ErrNoProgress, read: func([]byte) (int, error) { return 0, nil }},
	} {
		_, err := readBody(&http.Response{Body: io.NopCloser(tt.read)}, MaxBody, nil)
		if err == nil || !errors.Is(err, tt.want) {
			t.Errorf("%s: error %v, want %v", tt.name, err, tt.want)
		}
	}
}

func TestBuffers(t *testing.T) {
	t.Parallel()
	buffers := &Buffers{}
	for _, tt := range []struct {
		name      string
		status    int
		size      int
		acceptErr error
		kept      int  // buffers
		inResult  bool // the body is in the result
	}{
		{name: "accepted", status: 200, size: 100, kept: 1},
		{name: "accepted again", status: 200, size: 100, kept: 1},
		{name: "not accepted", status: 200, size: 100, acceptErr: errors.New("not accepted"), inResult: true},
		{name: "an error", status: 404, size: 100, inResult: true},
		{name: "larger than what is kept", status: 200, size: maxKept + 1},
	} {
		call := newCall(t, Once, storeURL)
		call.Buffers, call.Accept = buffers, func([]byte) error { return tt.acceptErr }
		r := (&script{statuses: []int{tt.status}, body: strings.Repeat("x", tt.size)}).do(t.Context(), call)
		if kept := len(buffers.free); kept != tt.kept || (r.Body != nil) != tt.inResult {
			t.Errorf("%s: %d buffers kept, %d bytes in the result, want %d kept, in the result %v",
				tt.name, kept, len(r.Body), tt.kept, tt.inResult)
		}
	}
}
