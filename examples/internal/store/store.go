// Package store opens the store that an example runs on: a live one if the
// environment names it, otherwise an embedded fake.
package store

import (
	"errors"
	"fmt"
	"io"

	"github.com/commerce-go/commerce"
	"github.com/commerce-go/commerce/commercetest"
)

// Open returns a client, with opts, of the live store at COMMERCE_BASE_URL. The
// credentials are COMMERCE_TOKEN, or COMMERCE_CLIENT_ID and COMMERCE_CLIENT_SECRET.
//
// If none of these variables is set, Open creates an embedded fake store, calls
// prepare to fill it, reports that on stderr, and returns a client of it. If some are
// missing or invalid, it returns an error, so that nobody works on the wrong store.
// The error never holds a value of a variable.
func Open(
	getenv func(string) string, stderr io.Writer, prepare func(*commercetest.Store), opts ...commerce.Option,
) (*commerce.Client, error) {
	baseURL, token := getenv("COMMERCE_BASE_URL"), getenv("COMMERCE_TOKEN")
	id, secret := getenv("COMMERCE_CLIENT_ID"), getenv("COMMERCE_CLIENT_SECRET")

	var credentials commerce.Option
	switch {
	case baseURL == "" && token == "" && id == "" && secret == "":
		fake := commercetest.NewStore(commercetest.Config{})
		prepare(fake)
		fmt.Fprintln(stderr, "using an embedded fake store; set COMMERCE_BASE_URL and COMMERCE_TOKEN to use a live one")
		return fake.Client(opts...), nil
	case baseURL == "":
		return nil, errors.New("COMMERCE_BASE_URL must be set too, as credentials are set")
	case token != "" && (id != "" || secret != ""):
		return nil, errors.New("COMMERCE_TOKEN must not be set together with COMMERCE_CLIENT_ID or COMMERCE_CLIENT_SECRET")
	case token != "":
		credentials = commerce.WithToken(token)
	case id == "" && secret == "":
		return nil, errors.New("COMMERCE_TOKEN, or COMMERCE_CLIENT_ID and COMMERCE_CLIENT_SECRET, must be set too," +
			" as COMMERCE_BASE_URL is set")
	case secret == "":
		return nil, errors.New("COMMERCE_CLIENT_SECRET must be set too, as COMMERCE_CLIENT_ID is set")
	case id == "":
		return nil, errors.New("COMMERCE_CLIENT_ID must be set too, as COMMERCE_CLIENT_SECRET is set")
	default:
		credentials = commerce.WithClientCredentials(id, secret)
	}
	client, err := commerce.New(baseURL, append([]commerce.Option{credentials}, opts...)...)
	if err != nil {
		return nil, fmt.Errorf("the COMMERCE_ variables can't be used: %w", err)
	}
	return client, nil
}
