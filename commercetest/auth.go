package commercetest

import (
	"fmt"
	"mime"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// issueToken handles POST /oauth/access_token: the client-credentials grant.
func (s *Store) issueToken(in *call) response {
	mediaType, _, _ := mime.ParseMediaType(in.Header.Get("Content-Type"))
	form, err := url.ParseQuery(string(in.Body))
	switch {
	case mediaType != "application/x-www-form-urlencoded" || err != nil:
		return errorResponse(http.StatusBadRequest, "Bad Request", "The body must be a form")
	case form.Get("grant_type") != "client_credentials":
		return errorResponse(http.StatusBadRequest, "Bad Request", "grant_type must be client_credentials")
	case form.Get("client_id") != s.cfg.ClientID || form.Get("client_secret") != s.cfg.ClientSecret:
		return errorResponse(http.StatusUnauthorized, "Unauthorized", "The client credentials are not valid")
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.tokenCount++
	token := fmt.Sprintf("commercetest-issued-%06d", s.tokenCount)
	expiry := time.Now().Add(s.cfg.TokenLife)
	s.tokenExpiry[token] = expiry
	return jsonResponse(http.StatusOK, struct {
		AccessToken string `json:"access_token"`
		TokenType   string `json:"token_type"`
		ExpiresIn   int64  `json:"expires_in"` // in seconds
		Expires     int64  `json:"expires"`
		Identifier  string `json:"identifier"`
	}{
		AccessToken: token,
		TokenType:   "Bearer",
		ExpiresIn:   int64(s.cfg.TokenLife / time.Second),
		Expires:     expiry.Unix(),
		Identifier:  "client_credentials",
	})
}

// authorized reports whether an Authorization header has a valid token.
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
	expiry, ok := s.tokenExpiry[token]
	return ok && time.Now().Before(expiry)
}
