package commercetest_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/commerce-go/commerce/commercetest"
)

// trackedBody records whether it was closed.
type trackedBody struct {
	io.Reader
	closed bool
}

func (b *trackedBody) Close() error {
	b.closed = true
	return nil
}

func TestTransport_errors(t *testing.T) {
	t.Parallel()
	store := commercetest.NewStore(commercetest.Config{DiscountsEnabled: true})
	canceled, cancel := context.WithCancel(t.Context())
	cancel()
	errBroken := errors.New("broken")
	for _, tt := range []struct {
		name string
		ctx  context.Context
		body io.Reader
		want error
	}{
		{name: "context ended", ctx: canceled, body: strings.NewReader("x"), want: context.Canceled},
		{name: "unreadable body", ctx: t.Context(), body: iotest.ErrReader(errBroken), want: errBroken},
	} {
		body := &trackedBody{Reader: tt.body}
		req, err := http.NewRequestWithContext(tt.ctx, http.MethodPost, "https://store.test/", body)
		if err != nil {
			t.Fatal(err)
		}
		resp, err := store.Transport().RoundTrip(req)
		if resp != nil {
			_ = resp.Body.Close()
		}
		if !errors.Is(err, tt.want) {
			t.Errorf("%s: error = %v, want %v", tt.name, err, tt.want)
		}
		wantEqual(t, tt.name+": body closed", body.closed, true)
	}
	if resp, err := store.Transport().RoundTrip(new(http.Request)); err == nil {
		_ = resp.Body.Close()
		t.Error("request without a URL: error = nil, want one")
	}
	wantEqual(t, "requests received", len(store.Requests()), 0)
}

func TestTransport_responseBody(t *testing.T) {
	t.Parallel()
	store := commercetest.NewStore(commercetest.Config{DiscountsEnabled: true})
	open := func(ctx context.Context) *http.Response {
		t.Helper()
		req, err := http.NewRequestWithContext(ctx, "", "https://store.test"+settingsPath, nil)
		if err != nil {
			t.Fatal(err)
		}
		req.Method = "" // means GET
		resp, err := store.Transport().RoundTrip(req)
		if err != nil {
			t.Fatal(err)
		}
		return resp
	}
	resp := open(t.Context())
	wantEqual(t, "status", resp.Status, "401 Unauthorized")
	wantEqual(t, "protocol", resp.Proto, "HTTP/1.1")
	wantEqual(t, "has its request", resp.Request != nil, true)
	wantEqual(t, "method", store.Requests()[0].Method, http.MethodGet)
	want := `{"errors":[{"status":401,"title":"Unable to validate access token"}]}`
	if err := iotest.TestReader(resp.Body, []byte(want)); err != nil {
		t.Error(err)
	}
	_ = resp.Body.Close()
	if _, err := resp.Body.Read(make([]byte, 1)); !errors.Is(err, http.ErrBodyReadAfterClose) {
		t.Errorf("Read after Close: error = %v, want %v", err, http.ErrBodyReadAfterClose)
	}

	ctx, cancel := context.WithCancel(t.Context())
	resp = open(ctx)
	defer func() { _ = resp.Body.Close() }()
	cancel()
	if _, err := io.ReadAll(resp.Body); !errors.Is(err, context.Canceled) {
		t.Errorf("Read after the context ended: error = %v, want %v", err, context.Canceled)
	}
}
