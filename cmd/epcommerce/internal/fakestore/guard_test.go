package fakestore

import (
	"bufio"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// guarded is a request, and what becomes of it.
type guarded struct {
	name, line string
	header     []string
	want       int
	allowed    string // Access-Control-Allow-Origin
}

func guardedRequests() []guarded {
	const (
		shop  = "https://shop.example"
		site  = "Origin: " + shop
		cross = "Sec-Fetch-Site: cross-site"
		form  = "/oauth/access_token"
	)
	return []guarded{
		{name: "a shop", line: "GET " + settingsPath, header: []string{site, cross}, want: 200, allowed: shop},
		{
			name: "a shop that asks first", line: "OPTIONS " + settingsPath, want: 204, allowed: shop,
			header: []string{
				site, cross, "Access-Control-Request-Method: PUT", "Access-Control-Request-Headers: authorization,content-type",
				"Access-Control-Request-Private-Network: true",
			},
		},
		{name: "a token for a shop", line: "POST " + form, header: []string{site, cross}, want: 400, allowed: shop},
		{name: "a shop that drives the store", line: "GET /_store/requests", header: []string{site, cross}, want: 403},
		{
			name: "a shop that asks to drive it", line: "OPTIONS /_store/faults", want: 403,
			header: []string{site, cross, "Access-Control-Request-Method: POST"},
		},
		{name: "a shop that opens the page", line: "GET /", header: []string{site, cross}, want: 403},
		{name: "a page that frames ours", line: "GET /", header: []string{cross, "Sec-Fetch-Dest: iframe"}, want: 403},
		{name: "an image of the shop", line: "GET " + settingsPath, header: []string{cross}, want: 403},
		{name: "the form of a site", line: "POST /_store/reset", header: []string{"Origin: null", cross}, want: 403},
		{name: "another site", line: "GET " + settingsPath, header: []string{"Origin: https://evil.example"}, want: 403},
		{name: "another port", line: "GET " + settingsPath, header: []string{"Origin: https://shop.example:8443"}, want: 403},
		{name: "another scheme", line: "GET " + settingsPath, header: []string{"Origin: http://shop.example"}, want: 403},
		{name: "a site below it", line: "GET " + settingsPath, header: []string{"Origin: https://a.shop.example"}, want: 403},
		{name: "no site", line: "GET " + settingsPath, header: []string{"Origin: null"}, want: 403},
		{name: "a container", line: "GET " + settingsPath, header: []string{"Host: store:8080"}, want: 200},
		{name: "a container in capitals", line: "GET " + settingsPath, header: []string{"Host: STORE:8080"}, want: 200},
		{
			name: "its page", line: "GET " + settingsPath, want: 200,
			header: []string{"Host: store:8080", "Origin: http://store:8080"},
		},
		{name: "another container", line: "GET " + settingsPath, header: []string{"Host: store2:8080"}, want: 403},
		{name: "a rebound name", line: "GET /", header: []string{"Host: evil.example:8080"}, want: 403},
	}
}

// A site of Origins may use the stores, with a preflight, and never drives one. A host of Hosts is
// the server's.
func TestGuard_allowed(t *testing.T) {
	t.Parallel()
	for _, row := range guardedRequests() {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			s := newTestServer(t, Config{Origins: []string{"https://shop.example"}, Hosts: []string{"store"}, Page: true})
			w := s.record(t, row.line, "", row.header...)
			h := w.Header()
			if got := h.Get("Access-Control-Allow-Origin"); w.Code != row.want || got != row.allowed {
				t.Errorf("status %d, allowed origin %q, %s, want %d and %q", w.Code, got, w.Body, row.want, row.allowed)
			}
			if got := h.Get("Access-Control-Allow-Credentials"); got != "" {
				t.Errorf("Access-Control-Allow-Credentials = %q, want none", got)
			}
			if row.allowed != "" && !strings.Contains(strings.Join(h.Values("Vary"), ","), "Origin") {
				t.Errorf("Vary = %q, want Origin", h.Values("Vary"))
			}
			if row.want == 204 && h.Get("Access-Control-Allow-Private-Network") != "true" {
				t.Error("a page of a public address may not ask for a private one")
			}
			if reached := len(s.store().Requests()) > 0; reached != (w.Code == 200 || w.Code == 400) {
				t.Errorf("the request reached the store: %t", reached)
			}
		})
	}
}

// The page is there if it is wanted, with headers that let it load nothing from elsewhere, and in
// public only for who has the token.
func TestPage(t *testing.T) {
	t.Parallel()
	s := newTestServer(t, Config{Page: true})
	for path, media := range map[string]string{
		"/": "text/html", "/_store/page.css": "text/css", "/_store/page.js": "text/javascript",
	} {
		w := s.record(t, "GET "+path, "")
		h := w.Header()
		if w.Code != 200 || !strings.HasPrefix(h.Get("Content-Type"), media) || h.Get("X-Frame-Options") != "DENY" ||
			!strings.Contains(h.Get("Content-Security-Policy"), "frame-ancestors 'none'") ||
			strings.Contains(h.Get("Content-Security-Policy"), "unsafe") {
			t.Errorf("%s: status %d, %v, want the page", path, w.Code, h)
		}
		if status, _ := newTestServer(t, Config{}).send(t, "GET "+path, ""); status != http.StatusNotFound {
			t.Errorf("%s: status %d without a page, want 404", path, status)
		}
	}
	public := newTestServer(t, Config{Page: true, Public: true})
	h := public.record(t, "GET /", "", "Authorization: ", "Accept: text/html")
	if h.Code != 401 || h.Header().Get("WWW-Authenticate") == "" {
		t.Errorf("status %d without a token, want 401, and to be asked for one", h.Code)
	}
	r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "http://localhost/", nil)
	r.SetBasicAuth("", public.Namespaces()[0].Token)
	w := httptest.NewRecorder()
	public.ServeHTTP(w, r)
	if w.Code != http.StatusOK {
		t.Errorf("status %d with the token as a password, want 200", w.Code)
	}
}

// Events are sent as they come, until the server ends.
func TestEvents(t *testing.T) {
	t.Parallel()
	s := newTestServer(t, Config{})
	server := httptest.NewServer(s)
	defer server.Close()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, server.URL+"/_store/events", nil)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := server.Client().Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	lines := bufio.NewScanner(resp.Body)
	next := func() string {
		for lines.Scan() {
			if lines.Text() != "" {
				return lines.Text()
			}
		}
		return "the end"
	}
	wantLine := func(want string) {
		t.Helper()
		if got := next(); !strings.HasPrefix(got, want) {
			t.Errorf("got %q, want %s", got, want)
		}
	}
	wantLine(": events follow")
	s.send(t, "GET "+settingsPath, "")
	for range 2 { // it has arrived, and ended
		wantLine("event: request")
		wantLine(`data: {"id":"commercetest-000001","namespace":"commercetest","method":"GET","path":"/v2/settings"`)
	}
	s.send(t, "POST /_store/faults", `{"status":503}`)
	wantLine("event: changed")
	wantLine("data: {}")
	s.send(t, "GET /_store/faults", "")
	for _, line := range []string{"DELETE /_store/requests", "POST /_store/reset"} {
		s.send(t, line, "")
		wantLine("event: cleared")
		wantLine("data: {}")
		wantLine("event: changed")
		wantLine("data: {}")
	}
	s.EndWaits()
	wantLine("the end")
	if got := resp.Header.Get("Content-Type"); got != "text/event-stream" {
		t.Errorf("Content-Type = %q", got)
	}
}

// A request that began before a reset is not one of the new list.
func TestEvents_reset(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newTestServer(t, Config{})
		s.wantSent(t, "POST /_store/faults", `{"operation":"settings","delay":"5s"}`, http.StatusCreated)
		updates, stop := s.namespaces[0].feed.listen()
		defer stop()
		go s.send(t, "GET "+settingsPath, "")
		time.Sleep(time.Second)
		s.wantSent(t, "POST /_store/reset", "", http.StatusNoContent)
		time.Sleep(time.Minute)
		got := ""
		for len(updates) > 0 {
			got += (<-updates).name + " "
		}
		if got != "request cleared changed " { // its arrival only
			t.Errorf("events %q, want none of its end", got)
		}
	})
}

// The events of a namespace end when it is removed.
func TestEvents_removed(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newTestServer(t, Config{})
		own := s.addNamespace(t, "")
		ended := make(chan int, 1)
		go func() { ended <- s.record(t, "GET /_store/events", "", auth(own.Token)).Code }()
		synctest.Wait()
		s.send(t, "DELETE /_store/namespaces", "", auth(own.Token))
		if synctest.Wait(); len(ended) == 0 {
			t.Error("the events go on, want their end")
		}
	})
}

// slowReader is a client that takes a while to read each event.
type slowReader struct {
	*httptest.ResponseRecorder

	takes    time.Duration
	deadline time.Time
}

func (r *slowReader) SetWriteDeadline(deadline time.Time) error {
	r.deadline = deadline
	return nil
}

func (r *slowReader) FlushError() error {
	time.Sleep(r.takes)
	if !r.deadline.IsZero() && time.Now().After(r.deadline) {
		return os.ErrDeadlineExceeded
	}
	return nil
}

// Who stops to read loses the events. Between two of them there is no deadline.
func TestEvents_slowReader(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newTestServer(t, Config{})
		r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "http://localhost/_store/events", nil)
		w, ended := &slowReader{ResponseRecorder: httptest.NewRecorder()}, make(chan struct{})
		go func() {
			s.ServeHTTP(w, r)
			close(ended)
		}()
		for _, takes := range []time.Duration{maxDelay, maxDelay + 1} {
			if synctest.Wait(); !w.deadline.IsZero() {
				t.Errorf("the deadline is %v before the next event, want none", w.deadline)
			}
			w.takes = takes
			s.send(t, "DELETE /_store/faults", "") // something changes
			time.Sleep(time.Hour)
		}
		select {
		case <-ended:
		default:
			t.Errorf("the stream goes on after an event took %v, want its end", w.takes)
		}
	})
}
