package main

import (
	"encoding/json"
	"log"
	"net/http"
	"net/http/httptest"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/time/rate"

	"github.com/commerce-go/commerce/commercetest"
)

// server serves the list on the loopback interface. It makes each page once, so that it takes next to no time itself.
type server struct {
	*httptest.Server
	store   *commercetest.Store
	idsOnly bool // leave out all of a subscription but its id
	latency time.Duration
	limiter *rate.Limiter // nil: no limit
	refused atomic.Int64  // number of requests beyond the limit

	mu    sync.Mutex
	pages map[string][]byte // by query
}

func newServer(idsOnly bool) *server {
	s := &server{
		store:   commercetest.NewStore(commercetest.Config{}),
		idsOnly: idsOnly,
		pages:   map[string][]byte{},
	}
	s.store.Seed(records)
	s.Server = httptest.NewServer(s)
	s.walk(8) // makes all pages
	return s
}

func (s *server) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	time.Sleep(s.latency)
	if s.limiter != nil && !s.limiter.Allow() {
		s.refused.Add(1)
		w.Header().Set("Retry-After", "1")
		w.WriteHeader(http.StatusTooManyRequests)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(s.page(req))
}

// page returns the body of the response to req.
func (s *server) page(req *http.Request) []byte {
	s.mu.Lock()
	defer s.mu.Unlock()
	body, ok := s.pages[req.URL.RawQuery]
	if ok {
		return body
	}
	recorder := httptest.NewRecorder()
	s.store.ServeHTTP(recorder, req)
	body = recorder.Body.Bytes()
	if s.idsOnly {
		body = onlyIDs(body)
	}
	s.pages[req.URL.RawQuery] = body
	return body
}

func onlyIDs(body []byte) []byte {
	var page struct {
		Data []struct {
			ID   string `json:"id"`
			Type string `json:"type"`
		} `json:"data"`
		Links map[string]*string `json:"links"`
	}
	if err := json.Unmarshal(body, &page); err != nil {
		log.Fatal(err)
	}
	body, err := json.Marshal(page)
	if err != nil {
		log.Fatal(err)
	}
	return body
}
