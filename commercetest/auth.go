package commercetest

import (
	"crypto/rand"
	"fmt"
	"mime"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/google/uuid"
)

// grant is the grant type of a token.
type grant string

const (
	grantClient   grant = "client_credentials"
	grantImplicit grant = "implicit" // the token of a shopper
)

// access decides which requests with an implicit token are allowed. With a
// client-credentials token, all are.
type access uint8

const (
	forShoppers access = iota // all
	forAccounts               // those with the token of an account
	forClients                // none
)

// access returns which tokens allow op: see docs/service.md.
func (op Operation) access() access {
	switch op {
	case OpAdd, OpAddItemDiscount, OpUpdateDiscount, OpDeleteDiscount, OpDeleteDiscounts, OpCartSettings, OpAccounts,
		OpSubscribers, OpInvoices:
		return forClients
	case OpList, OpSubscription, OpPlans, OpProducts, OpPricingOptions, OpFeatures, OpStates, OpChangeState,
		OpState, OpOrders, OpOrder:
		return forAccounts
	default:
		return forShoppers
	}
}

type issuedToken struct {
	grant  grant
	expiry time.Time
}

// issueToken handles POST /oauth/access_token.
func (s *Store) issueToken(in *call) response {
	mediaType, _, _ := mime.ParseMediaType(in.Header.Get("Content-Type"))
	form, err := url.ParseQuery(string(in.Body))
	kind := grant(form.Get("grant_type"))
	switch {
	case mediaType != "application/x-www-form-urlencoded" || err != nil:
		return errorResponse(http.StatusBadRequest, "Bad Request", "The body must be a form")
	case kind != grantClient && kind != grantImplicit:
		return errorResponse(http.StatusBadRequest, "Bad Request", "grant_type must be client_credentials or implicit")
	case form.Get("client_id") != s.cfg.ClientID || kind == grantClient && form.Get("client_secret") != s.cfg.ClientSecret:
		return errorResponse(http.StatusUnauthorized, "Unauthorized", "The client credentials are not valid")
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.tokenCount++
	number := fmt.Sprintf("%06d", s.tokenCount)
	if s.cfg.RandomTokens {
		number = rand.Text()
	}
	token := strings.TrimSuffix(s.cfg.ClientID, "-id") + "-issued-" + number
	expiry := time.Now().Add(s.cfg.TokenLife)
	s.tokens[token] = issuedToken{grant: kind, expiry: expiry}
	return jsonResponse(http.StatusOK, struct {
		AccessToken string `json:"access_token"`
		TokenType   string `json:"token_type"`
		ExpiresIn   int64  `json:"expires_in"` // in seconds
		Expires     int64  `json:"expires"`
		Identifier  grant  `json:"identifier"`
	}{
		AccessToken: token,
		TokenType:   "Bearer",
		ExpiresIn:   int64(s.cfg.TokenLife / time.Second),
		Expires:     expiry.Unix(),
		Identifier:  kind,
	})
}

// authorize returns why the store must not handle a request, or nil. With an implicit
// token it sets the account of in.
func (s *Store) authorize(in *call) *response {
	kind, ok := s.grantOf(in.Header.Get("Authorization"))
	if !ok {
		return new(failure(in.Operation, http.StatusUnauthorized))
	}
	if kind == grantClient || in.Operation.access() == forShoppers {
		return nil
	}
	if in.Operation.access() == forClients {
		return new(errorResponse(http.StatusForbidden, "Forbidden", "An implicit token does not allow this request"))
	}
	if in.account = accountOf(in.Header.Get(accountTokenHeader)); in.account == uuid.Nil {
		return new(errorResponse(http.StatusForbidden, "Forbidden",
			"With an implicit token, the header "+accountTokenHeader+" must have the token of an account"))
	}
	return nil
}

// grantOf returns the grant that issued the token in an Authorization header. ok is false if the
// token is not valid.
func (s *Store) grantOf(header string) (kind grant, ok bool) {
	scheme, token, _ := strings.Cut(header, " ")
	if !strings.EqualFold(scheme, "Bearer") {
		return "", false
	}
	if token == s.cfg.Token {
		return grantClient, true
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	issued, ok := s.tokens[token]
	return issued.grant, ok && time.Now().Before(issued.expiry)
}

const (
	accountTokenHeader = "EP-Account-Management-Authentication-Token" //nolint:gosec // not a credential
	accountTokenPrefix = "commercetest-account-"
)

// AccountToken returns a token for the header EP-Account-Management-Authentication-Token.
// With it, a request with an implicit token sees the subscriptions of this account. It
// does not expire, and all stores accept it.
func (s *Store) AccountToken(account uuid.UUID) string { return accountTokenPrefix + account.String() }

// accountOf returns the account of a token of AccountToken, or zero if it is none.
func accountOf(token string) uuid.UUID {
	id, ok := strings.CutPrefix(token, accountTokenPrefix)
	if !ok {
		return uuid.Nil
	}
	account, _ := uuid.Parse(id)
	return account
}
