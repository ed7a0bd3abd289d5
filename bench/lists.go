package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"net/http"

	"github.com/bytedance/sonic"
	goccy "github.com/goccy/go-json"

	"github.com/commerce-go/commerce"
	"github.com/commerce-go/commerce/bench/openapi"
)

// A client uses the store at base, and counts the records that it reads or the calls that it makes.
type client func(ctx context.Context, base string) (n int, err error)

const (
	token    = "bench-token"
	pageSize = 100
)

// count counts the records of a walk.
func count(walk iter.Seq2[*commerce.Subscription, error]) (n int, err error) {
	for sub, err := range walk {
		if err != nil {
			return n, err
		}
		if sub.Attributes.Currency != "" {
			n++
		}
	}
	return n, nil
}

// library returns a client that uses the library.
func library(use func(ctx context.Context, c *commerce.Client) (n int, err error)) client {
	return func(ctx context.Context, base string) (n int, err error) {
		c, err := commerce.New(base, commerce.WithToken(token))
		if err != nil {
			return 0, err
		}
		return use(ctx, c)
	}
}

func all(concurrency int) client {
	return library(func(ctx context.Context, c *commerce.Client) (n int, err error) {
		return count(c.Subscriptions.All(ctx, &commerce.SubscriptionListOptions{Concurrency: concurrency}))
	})
}

func allByAccount(concurrency int) client {
	return library(func(ctx context.Context, c *commerce.Client) (n int, err error) {
		opts := &commerce.SubscriptionListOptions{ByAccount: true, Concurrency: concurrency}
		return count(c.Subscriptions.All(ctx, opts))
	})
}

// pages decodes included resources too, as the other clients do.
func pages(ctx context.Context, c *commerce.Client) (n int, err error) {
	include := commerce.SubscriptionInclude{Plans: true, Products: true}
	for page, err := range c.Subscriptions.Pages(ctx, &commerce.SubscriptionListOptions{Include: include}) {
		if err != nil {
			return n, err
		}
		if len(page.Included.Plans) != plans || len(page.Included.Products) != products {
			return n, errors.New("included resources are missing")
		}
		for i := range page.Subscriptions {
			if page.Subscriptions[i].Attributes.Currency != "" {
				n++
			}
		}
	}
	return n, nil
}

// withIncluded is the part of a query that requests included resources.
const withIncluded = "include=plans%2Cproducts&"

// pageAt returns the query of a page.
func pageAt(include string, offset int) string {
	return fmt.Sprintf("%spage%%5Boffset%%5D=%d&page%%5Blimit%%5D=%d", include, offset, pageSize)
}

// get requests a part of the list by net/http alone.
func get(ctx context.Context, base, query string) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, base+listPath+"?"+query, nil)
	if err != nil {
		return nil, err
	}
	req.Header.Set("Authorization", "Bearer "+token)
	req.Header.Set("Accept", "application/json")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return nil, err
	}
	if resp.StatusCode != http.StatusOK {
		_ = resp.Body.Close()
		return nil, errors.New(resp.Status)
	}
	return resp, nil
}

// decode reads a body into v.
type decode func(body io.Reader, v any) error

func byStandard(body io.Reader, v any) error { return json.NewDecoder(body).Decode(v) }
func byGoccy(body io.Reader, v any) error    { return goccy.NewDecoder(body).Decode(v) }
func bySonic(body io.Reader, v any) error    { return sonic.ConfigStd.NewDecoder(body).Decode(v) }

// loop is what a user would write without a library.
func loop(include string, into decode) client {
	return func(ctx context.Context, base string) (n int, err error) {
		for offset := 0; ; offset += pageSize {
			resp, err := get(ctx, base, pageAt(include, offset))
			if err != nil {
				return n, err
			}
			var page loopPage
			err = into(resp.Body, &page)
			_ = resp.Body.Close()
			if err != nil {
				return n, err
			}
			for i := range page.Data {
				if page.Data[i].Attributes.Currency != "" {
					n++
				}
			}
			if len(page.Data) < pageSize {
				return n, nil
			}
		}
	}
}

// floor reads the bodies and does not decode them: no client can be faster.
func floor(ctx context.Context, base string) (n int, err error) {
	for offset := 0; offset < listed; offset += pageSize {
		resp, err := get(ctx, base, pageAt(withIncluded, offset))
		if err != nil {
			return n, err
		}
		_, err = io.Copy(io.Discard, resp.Body)
		_ = resp.Body.Close()
		if err != nil {
			return n, err
		}
		n += pageSize
	}
	return n, nil
}

// generated reads by the client that oapi-codegen generates.
func generated(ctx context.Context, base string) (n int, err error) {
	authorize := func(_ context.Context, req *http.Request) error {
		req.Header.Set("Authorization", "Bearer "+token)
		return nil
	}
	c, err := openapi.NewClientWithResponses(base, openapi.WithRequestEditorFn(authorize))
	if err != nil {
		return 0, err
	}
	include, limit := "plans,products", pageSize
	for offset := 0; ; offset += pageSize {
		params := &openapi.ListSubscriptionsParams{Include: &include, PageOffset: &offset, PageLimit: &limit}
		resp, err := c.ListSubscriptionsWithResponse(ctx, params)
		if err != nil {
			return n, err
		}
		if resp.JSON200 == nil || resp.JSON200.Data == nil {
			return n, errors.New(resp.Status())
		}
		for _, sub := range *resp.JSON200.Data {
			if sub.Attributes != nil && sub.Attributes.Currency != nil && *sub.Attributes.Currency != "" {
				n++
			}
		}
		if len(*resp.JSON200.Data) < pageSize {
			return n, nil
		}
	}
}
