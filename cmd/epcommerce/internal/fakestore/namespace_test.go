package fakestore

import (
	"encoding/json"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"github.com/commerce-go/commerce/commercetest"
)

// addNamespace adds a namespace over HTTP.
func (s *testServer) addNamespace(t *testing.T, body string) (ns Namespace) {
	t.Helper()
	if err := json.Unmarshal([]byte(s.wantSent(t, "POST /_store/namespaces", body, http.StatusCreated)), &ns); err != nil {
		t.Fatal(err)
	}
	return ns
}

func auth(token string) string { return "Authorization: Bearer " + token }

// issued gets a token with the credentials of a namespace.
func (s *testServer) issued(t *testing.T, ns Namespace) string {
	t.Helper()
	form := url.Values{
		"grant_type": {"client_credentials"}, "client_id": {ns.ClientID}, "client_secret": {ns.ClientSecret},
	}
	status, text := s.send(t, "POST /oauth/access_token", form.Encode(), "Content-Type: application/x-www-form-urlencoded")
	token := regexp.MustCompile(`"access_token":"([^"]+)"`).FindStringSubmatch(text)
	if status != http.StatusOK || token == nil {
		t.Fatalf("status %d, %s, want a token", status, text)
	}
	return token[1]
}

// Each namespace has its own carts, faults, requests and resets, whether a request has its token or
// one that its store issued.
func TestNamespaces(t *testing.T) {
	t.Parallel()
	for _, public := range []bool{false, true} {
		s := newTestServer(t, Config{Tokens: []string{"a", "b"}, Public: public})
		first := s.Namespaces()[0]
		status, text := s.send(t, "POST /_store/namespaces", `{"name":"made","subscriptions":1}`, auth(first.Token))
		if status != http.StatusCreated {
			t.Fatalf("status %d, %s, want a namespace", status, text)
		}
		list := s.Namespaces()
		for _, ns := range list {
			other := list[0]
			if ns == other {
				other = list[1]
			}
			for _, token := range []string{ns.Token, s.issued(t, ns)} {
				s.send(t, "POST /_store/faults", `{"status":418}`, auth(ns.Token))
				if status, _ := s.send(t, "GET "+settingsPath, "", auth(other.Token)); status != http.StatusOK {
					t.Errorf("%s: status %d, met the fault of %s", other.Name, status, ns.Name)
				}
				if status, _ := s.send(t, "GET "+settingsPath, "", auth(token)); status != http.StatusTeapot {
					t.Errorf("%s: status %d, want its fault", ns.Name, status)
				}
				s.send(t, "POST /_store/carts", "", auth(ns.Token))
				_, text := s.send(t, "GET /_store/requests?operation=settings&since=", "", auth(ns.Token))
				if !strings.Contains(text, `"namespace": "`+ns.Name+`"`) || strings.Count(text, `"fault": 1`) != 1 {
					t.Errorf("requests %s, want one that met a fault, in %s", text, ns.Name)
				}
				if status, text := s.send(t, "POST /_store/reset", "", auth(ns.Token)); status != http.StatusNoContent {
					t.Errorf("reset: status %d, %s", status, text)
				}
				if _, text := s.send(t, "GET /_store/requests", "", auth(ns.Token)); strings.Contains(text, `"id"`) {
					t.Errorf("requests after the reset: %s", text)
				}
			}
		}
		if n := s.Carts(); n != len(list) {
			t.Errorf("%d carts after the resets, want one in each namespace", n)
		}
		// An unknown token is refused, by a store and by what drives one.
		if status, _ := s.send(t, "GET /_store/requests", "", "Authorization: Token x"); status != http.StatusUnauthorized {
			t.Errorf("status %d with another scheme, want 401", status)
		}
		for _, line := range []string{"GET " + settingsPath, "GET /_store/requests", "POST /_store/namespaces"} {
			if status, _ := s.send(t, line, "", auth("unknown")); status != http.StatusUnauthorized {
				t.Errorf("%s with an unknown token: status %d", line, status)
			}
		}
	}
}

// A shop that everybody can see in a browser must not drive the store with its own credentials.
func TestNamespaces_public(t *testing.T) {
	t.Parallel()
	for _, tokens := range [][]string{nil, {"given-token"}} {
		s := newTestServer(t, Config{Public: true, Tokens: tokens})
		ns := s.Namespaces()[0]
		random := regexp.MustCompile(`^[A-Z2-7]{26}$`)
		if !random.MatchString(ns.ClientID) || !random.MatchString(ns.ClientSecret) ||
			tokens == nil && !random.MatchString(ns.Token) || strings.Contains(ns.Name, "given") {
			t.Errorf("namespace %+v, want random credentials, and no token in the name", ns)
		}
		if token := s.issued(t, ns); !regexp.MustCompile("^" + ns.ClientID + "-issued-[A-Z2-7]{26}$").MatchString(token) {
			t.Errorf("the store issued the token %s, want a random one", token)
		}
		form := url.Values{"grant_type": {"implicit"}, "client_id": {ns.ClientID}}.Encode()
		_, text := s.send(t, "POST /oauth/access_token", form, "Content-Type: application/x-www-form-urlencoded")
		shopper := regexp.MustCompile(`"access_token":"([^"]+)"`).FindStringSubmatch(text)
		if shopper == nil {
			t.Fatalf("got %s, want a token", text)
		}
		for header, want := range map[string]int{
			auth(ns.Token):              http.StatusOK,
			"Authorization: ":           http.StatusUnauthorized,
			"Authorization: Token x":    http.StatusUnauthorized,
			auth(shopper[1]):            http.StatusUnauthorized,
			auth("commercetest-token"):  http.StatusUnauthorized,
			auth(ns.ClientSecret):       http.StatusUnauthorized,
			"Authorization: Basic Ong=": http.StatusUnauthorized, // ":x"
		} {
			if status, _ := s.send(t, "GET /_store/requests", "", header); status != want {
				t.Errorf("%s: status %d, want %d", header, status, want)
			}
		}
		s.send(t, "POST /_store/namespaces", "", auth(ns.Token))
		_, text = s.send(t, "GET /_store/namespaces", "", auth(ns.Token))
		if strings.Count(text, `"token"`) != 1 || !strings.Contains(text, ns.ClientSecret) {
			t.Errorf("namespaces %s, want only the own one", text)
		}
	}
}

// A namespace and a reset may have settings. Those of a reset last until the next one.
func TestSettings(t *testing.T) {
	t.Parallel()
	s := newTestServer(t, Config{Store: commercetest.Config{RateLimit: 1000}})
	made := s.addNamespace(t, `{"generation":"first","cart_discount_limit":7}`)
	settings := func(token string) string {
		t.Helper()
		_, text := s.send(t, "GET "+settingsPath, "", auth(token))
		return text
	}
	if text := settings(made.Token); !strings.Contains(text, `"custom_discount_limit":7`) {
		t.Errorf("settings of the namespace: %s", text)
	}
	ns := s.Namespaces()[0]
	s.wantSent(t, "POST /_store/reset", `{"subscriptions":1,"rate_limit":1,"token_life":"5s","retry_after":"3s"}`, 204)
	s.wantSent(t, "GET "+settingsPath, "", http.StatusOK)
	s.wantSent(t, "GET "+settingsPath, "", http.StatusTooManyRequests)
	cfg := s.store().Config()
	if cfg.TokenLife.String() != "5s" || cfg.RetryAfter.String() != "3s" || cfg.MaxRequests != 10_000 ||
		cfg.Token != ns.Token {
		t.Errorf("settings after the reset: %+v", cfg)
	}
	s.wantSent(t, "POST /_store/reset", "", 204)
	if cfg := s.store().Config(); cfg.RateLimit != 1000 || cfg.TokenLife.String() != "1h0m0s" {
		t.Errorf("settings after the next reset: %+v", cfg)
	}
	for body, want := range map[string]string{
		`{"page_length":101}`:      "page_length must be 1 to 100",
		`{"subscriptions":-1}`:     "subscriptions must be 0 to 250000",
		`{"subscriptions":250001}`: "subscriptions must be 0 to 250000",
		`{"generation":"third"}`:   `member \"/generation\": must be one of [\"second\" \"first\"]`,
		`{"token_life":5}`:         `member \"/token_life\": must be a text such as \"2s\"`,
		`{"token":"x"}`:            `unknown member \"token\"`,
		`{"rate":5}`:               `unknown member \"rate\"`,
	} {
		for _, line := range []string{"POST /_store/reset", "POST /_store/namespaces"} {
			if text := s.wantSent(t, line, body, http.StatusBadRequest); !strings.Contains(text, want) {
				t.Errorf("%s %s: got %s, want %s", line, body, text, want)
			}
		}
	}
	if s.store().Config().RateLimit != 1000 {
		t.Error("a reset that was refused had an effect")
	}
}

// Names of namespaces are unique, and the first namespace stays.
func TestNamespaces_names(t *testing.T) {
	t.Parallel()
	s := newTestServer(t, Config{})
	made := s.addNamespace(t, `{"name":"worker-1"}`)
	if made.Token != "worker-1-token" || made.ClientID != "worker-1-id" || made.ClientSecret != "worker-1-secret" {
		t.Errorf("namespace %+v, want credentials of its name", made)
	}
	s.addNamespace(t, `{"name":"namespace-1"}`)
	unnamed := s.addNamespace(t, "")
	if s.addNamespace(t, "").Name == unnamed.Name {
		t.Error("two namespaces have the same name")
	}
	if n := strings.Count(s.wantSent(t, "GET /_store/namespaces", "", http.StatusOK), `"token"`); n != 5 {
		t.Errorf("%d namespaces are listed, want 5", n)
	}
	for _, name := range []string{"worker-1", "commercetest", "a b", "a/b", strings.Repeat("a", 65)} {
		s.wantSent(t, "POST /_store/namespaces", `{"name":"`+name+`"}`, http.StatusBadRequest)
	}
	s.wantSent(t, "DELETE /_store/namespaces", "", http.StatusBadRequest) // of the first
	if status, _ := s.send(t, "DELETE /_store/namespaces", "", auth(made.Token)); status != http.StatusNoContent {
		t.Errorf("DELETE: status %d", status)
	}
	for _, line := range []string{"GET /_store/requests", "GET " + settingsPath} {
		if status, _ := s.send(t, line, "", auth(made.Token)); status != http.StatusUnauthorized {
			t.Errorf("%s after it: status %d", line, status)
		}
	}
	s.addNamespace(t, `{"name":"worker-1"}`)
	for _, tokens := range [][]string{{"a", "a"}, {"a", "a-token"}, {"a b"}, {""}, {"a-issued-000001"}, {"a-issued"}} {
		if _, err := New(Config{Tokens: tokens}); err == nil {
			t.Errorf("New with the tokens %q returned no error", tokens)
		}
	}
}
