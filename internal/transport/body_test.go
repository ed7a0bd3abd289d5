package transport

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

func TestReadBody_limits(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name          string
		status        int
		size, limit   int
		contentLength bool
	}{
		{name: "error at the limit", status: 404, size: MaxErrorBody, limit: MaxErrorBody},
		{name: "error over the limit", status: 404, size: MaxErrorBody + 1, limit: MaxErrorBody},
		{name: "known length at the limit", status: 404, size: MaxErrorBody, limit: MaxErrorBody, contentLength: true},
		{name: "known length over the limit", status: 404, size: MaxErrorBody + 1, limit: MaxErrorBody, contentLength: true},
		{name: "success has a larger limit", status: 200, size: MaxErrorBody + 1, limit: MaxBody},
	} {
		resp := &http.Response{
			StatusCode: tt.status, ContentLength: -1, Body: io.NopCloser(strings.NewReader(strings.Repeat("x", tt.size))),
		}
		if tt.contentLength {
			resp.ContentLength = int64(tt.size)
		}
		r := stub(func(*http.Request) (*http.Response, error) { return resp, nil }).do(t.Context(), newCall(t, Once, storeURL))
		want := tt.size > tt.limit
		if r.Truncated != want || (r.Err == errTooLarge) != want || len(r.Body) != min(tt.size, tt.limit) {
			t.Errorf("%s: %d bytes, Truncated %v, %v, want %d bytes, Truncated %v",
				tt.name, len(r.Body), r.Truncated, r.Err, min(tt.size, tt.limit), want)
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

func TestReadBody_stalled(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		stalled := stub(func(req *http.Request) (*http.Response, error) {
			wait := readFunc(func([]byte) (int, error) {
				<-req.Context().Done()
				return 0, req.Context().Err()
			})
			body := io.NopCloser(io.MultiReader(strings.NewReader("{"), wait))
			return &http.Response{StatusCode: 200, Body: body, ContentLength: -1}, nil
		})
		start := time.Now()
		r := stalled.do(t.Context(), newCall(t, Once, storeURL))
		took := time.Since(start)
		if r.StatusCode != 200 || r.Err != errTimeout || r.MaybeSent || !r.Truncated || took != testPolicy.AttemptTimeout {
			t.Errorf("after %v: %+v, want a truncated body after %v", took, r, testPolicy.AttemptTimeout)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		r = stalled.do(ctx, newCall(t, Replayable, storeURL))
		if r.Err != context.DeadlineExceeded || r.Attempts != 1 {
			t.Errorf("%+v, want the error of the caller's context after 1 attempt", r)
		}
	})
}

//nolint:paralleltest // measures the memory of the process
func TestReadBody_gzipBomb(t *testing.T) {
	var bomb bytes.Buffer
	z := gzip.NewWriter(&bomb)
	zeros := make([]byte, 1<<20)
	for range MaxBody>>20 + 2 {
		_, _ = z.Write(zeros)
	}
	_ = z.Close()
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Encoding", "gzip")
		_, _ = w.Write(bomb.Bytes())
	}))
	t.Cleanup(srv.Close)
	c := newClient(t)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	r := c.Do(t.Context(), newCall(t, Replayable, srv.URL))
	runtime.ReadMemStats(&after)
	if got := after.TotalAlloc - before.TotalAlloc; got > 2*MaxBody+4<<20 {
		t.Errorf("%d MiB were allocated, want at most %d", got>>20, (2*MaxBody+4<<20)>>20)
	}
	if r.Err != errTooLarge || r.Attempts != 1 || len(r.Body) != MaxBody || !r.Truncated {
		t.Errorf("%d bytes, Truncated %v, %v, want %d bytes and %v", len(r.Body), r.Truncated, r.Err, MaxBody, errTooLarge)
	}
}

func TestReadBody_head(t *testing.T) {
	t.Parallel()
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", strconv.Itoa(MaxBody+1))
	}))
	t.Cleanup(srv.Close)
	call := newCall(t, Replayable, srv.URL)
	call.Method = http.MethodHead
	if r := newClient(t).Do(t.Context(), call); !r.OK() {
		t.Errorf("%+v, want success", r)
	}
}

func TestBuffers(t *testing.T) {
	t.Parallel()
	buffers := &Buffers{}
	for _, tt := range []struct {
		name   string
		size   int
		status int
		fails  bool // Accept fails
		kept   bool // the buffer is kept
		result bool // the body is in the result
	}{
		{name: "accepted", size: 100, status: 200, kept: true},
		{name: "accepted again", size: 100, status: 200, kept: true},
		{name: "not accepted", size: 100, status: 200, fails: true, result: true},
		{name: "an error", size: 100, status: 404, result: true},
		{name: "larger than what is kept", size: maxKept + 1, status: 200},
	} {
		call := newCall(t, Once, storeURL)
		call.Buffers = buffers
		call.Accept = func(body []byte) error {
			if len(body) != tt.size {
				t.Errorf("%s: %d bytes, want %d", tt.name, len(body), tt.size)
			}
			if tt.fails {
				return errors.New("not accepted")
			}
			return nil
		}
		r := (&script{statuses: []int{tt.status}, body: strings.Repeat("x", tt.size)}).do(t.Context(), call)
		if kept := len(buffers.free); (kept == 1) != tt.kept || kept > 1 || (r.Body != nil) != tt.result {
			t.Errorf("%s: %d buffers kept, %d bytes in the result, want kept %v, result %v",
				tt.name, kept, len(r.Body), tt.kept, tt.result)
		}
	}
}
