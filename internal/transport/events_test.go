package transport

import (
	"bytes"
	"log/slog"
	"net/http"
	"strings"
	"testing"
)

func TestLog(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	call := newCall(t, Replayable, storeURL+"/path?query")
	call.Logger = slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{
		Level: slog.LevelDebug,
		ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
			if a.Key == slog.TimeKey || a.Key == "duration" || a.Key == "wait" {
				return slog.Attr{}
			}
			return a
		},
	}))
	responses := []*http.Response{{StatusCode: 503, Header: http.Header{"X-Request-Id": {"id-1"}}}, nil, {StatusCode: 200}}
	r := stub(func(*http.Request) (*http.Response, error) {
		resp := responses[0]
		responses = responses[1:]
		return resp, nil
	}).do(t.Context(), call)
	if !r.OK() {
		t.Errorf("%+v, want success", r)
	}
	const (
		attempt = `level=DEBUG msg="commerce: attempt" op=op method=GET `
		retry   = `level=WARN msg="commerce: retry" op=op method=GET `
		failed  = `error="the transport returned neither an HTTP response nor an error"`
	)
	want := strings.Join([]string{
		attempt + "attempt=1 status=503 request_id=id-1",
		retry + "attempt=1 status=503 request_id=id-1",
		attempt + "attempt=2 " + failed,
		retry + "attempt=2 " + failed,
		attempt + "attempt=3 status=200\n",
	}, "\n")
	if got := log.String(); got != want {
		t.Errorf("log:\n%swant:\n%s", got, want)
	}
}
