package main

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/url"

	"github.com/commerce-go/commerce"
)

// smallCalls is the number of small responses that a run reads.
const smallCalls = 3000

// smalls read a small response many times, to measure what a call costs apart from its payload.
var smalls = map[string]client{
	"small: library": func(ctx context.Context, base string) (n int, err error) {
		c, err := commerce.New(base, commerce.WithToken(token))
		if err != nil {
			return 0, err
		}
		query := url.Values{"page[limit]": {"1"}}
		for range smallCalls {
			var raw json.RawMessage
			path := []string{"v2", "subscriptions", "subscriptions"}
			if _, err := c.Do(ctx, http.MethodGet, path, query, nil, &raw); err != nil {
				return n, err
			}
			n++
		}
		return n, nil
	},
	"small: net/http": func(ctx context.Context, base string) (n int, err error) {
		for range smallCalls {
			req, err := http.NewRequestWithContext(ctx, http.MethodGet, base+listPath+"?page%5Blimit%5D=1", nil)
			if err != nil {
				return n, err
			}
			req.Header.Set("Authorization", "Bearer "+token)
			resp, err := http.DefaultClient.Do(req)
			if err != nil {
				return n, err
			}
			_, err = io.ReadAll(resp.Body)
			_ = resp.Body.Close()
			if err != nil {
				return n, err
			}
			n++
		}
		return n, nil
	},
}
