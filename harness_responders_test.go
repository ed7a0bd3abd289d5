package commerce_test

import (
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jarcoal/httpmock"

	"github.com/commerce-go/commerce"
)

const accessTok = `{"access_token":"issued","expires_in":3600}`

// saysBody responds with a status, a body and a request id.
func saysBody(status int, body string) httpmock.Responder {
	return func(req *http.Request) (*http.Response, error) {
		resp := httpmock.NewStringResponse(status, body)
		resp.Header.Set("X-Request-Id", "req-1")
		resp.Request = req
		return resp, nil
	}
}

// fine is the response that each operation wants.
func fine(req *http.Request) (*http.Response, error) {
	if req.Method == http.MethodPost {
		return saysBody(201, `{"data":[{"type":"custom_discount","external_id":"a"}]}`)(req)
	}
	return saysBody(200, emptyList)(req)
}

// pageServer is a list whose pages take some time. It counts the requests.
type pageServer struct {
	*listServer
	latency time.Duration

	mu       sync.Mutex
	served   int
	inFlight int
	crowd    int // highest number of requests in flight
}

func newPageServer(total int, latency time.Duration) *pageServer {
	return &pageServer{listServer: newListServer(total), latency: latency}
}

func (s *pageServer) RoundTrip(req *http.Request) (*http.Response, error) {
	s.mu.Lock()
	s.inFlight++
	s.crowd = max(s.crowd, s.inFlight)
	s.mu.Unlock()
	defer func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.inFlight--
	}()
	select {
	case <-time.After(s.latency):
	case <-req.Context().Done():
		return nil, req.Context().Err()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.served++
	return &http.Response{
		StatusCode: http.StatusOK, Header: http.Header{}, Body: io.NopCloser(strings.NewReader(s.page(req))), Request: req,
	}, nil
}

func (s *pageServer) client(t *testing.T) *commerce.Client {
	t.Helper()
	c, err := commerce.New(base, commerce.WithToken(token), commerce.WithHTTPClient(&http.Client{Transport: s}))
	if err != nil {
		t.Fatal(err)
	}
	return c
}
