package commercetest

import (
	"fmt"
	"mime"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// issueToken is the token endpoint: the client-credentials grant.
func (s *Store) issueToken(in *Request, _ string) answer {
	media, _, _ := mime.ParseMediaType(in.Header.Get("Content-Type"))
	form, err := url.ParseQuery(string(in.Body))
	switch {
	case media != "application/x-www-form-urlencoded" || err != nil:
		return failure(http.StatusBadRequest, "Bad Request", "The body must be a form")
	case form.Get("grant_type") != "client_credentials":
		return failure(http.StatusBadRequest, "Bad Request", "grant_type must be client_credentials")
	case form.Get("client_id") != s.cfg.ClientID || form.Get("client_secret") != s.cfg.ClientSecret:
		return failure(http.StatusUnauthorized, "Unauthorized", "The client credentials are not valid")
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.issued++
	token := fmt.Sprintf("commercetest-issued-%06d", s.issued)
	expiry := time.Now().Add(s.cfg.TokenLife)
	s.tokens[token] = expiry
	return reply(http.StatusOK, struct {
		AccessToken string `json:"access_token"`
		TokenType   string `json:"token_type"`
		ExpiresIn   int64  `json:"expires_in"`
		Expires     int64  `json:"expires"`
		Identifier  string `json:"identifier"`
	}{token, "Bearer", int64(s.cfg.TokenLife / time.Second), expiry.Unix(), "client_credentials"})
}

// authorized reports whether an Authorization header holds a token of the store.
func (s *Store) authorized(header string) bool {
	scheme, token, _ := strings.Cut(header, " ")
	if !strings.EqualFold(scheme, "Bearer") {
		return false
	}
	if token == s.cfg.Token {
		return true
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	expiry, ok := s.tokens[token]
	return ok && time.Now().Before(expiry)
}

// getSettings is GET /v2/settings, as far as it concerns the two operations.
func (s *Store) getSettings(*Request, string) answer {
	type settings struct {
		Type                string `json:"type"`
		PageLength          int    `json:"page_length"`
		CustomDiscountLimit int    `json:"custom_discount_limit"`
	}
	return reply(http.StatusOK, struct {
		Data settings `json:"data"`
	}{settings{"settings", s.cfg.PageLength, max(s.cfg.CartDiscountLimit, 0)}})
}
