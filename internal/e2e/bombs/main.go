// Bombs reads one response that is small on the wire and large in memory, and prints
// how much was allocated and how long it took. Its test runs it under a memory limit:
//
//	ulimit -v 2000000; bombs NAME
package main

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"runtime"
	"strings"
	"time"

	"github.com/commerce-go/commerce"
)

// A bomb is a response, and the call that receives it.
type bomb struct {
	status int
	body   func() string
	call   func(ctx context.Context, c *commerce.Client) error
}

func list(ctx context.Context, c *commerce.Client) error {
	_, err := c.Subscriptions.List(ctx, nil)
	return err
}

func add(ctx context.Context, c *commerce.Client) error {
	_, err := c.Carts.AddCustomDiscounts(ctx, "cart", []commerce.NewCustomDiscount{{
		Amount: commerce.NewDecimal(-1), Description: "d", DiscountCode: "c", DiscountEngine: "e", ExternalID: "x",
	}}, nil)
	return err
}

func do(ctx context.Context, c *commerce.Client) error {
	_, err := c.Do(ctx, http.MethodPost, []string{"v2", "carts"}, nil, nil, nil)
	return err
}

func read(ctx context.Context, c *commerce.Client) error {
	var out struct{ Data []commerce.Subscription }
	_, err := c.Do(ctx, http.MethodGet, []string{"v2", "x"}, nil, nil, &out)
	return err
}

// repeat returns n copies of element between prefix and suffix.
func repeat(prefix, element string, n int, suffix string) func() string {
	return func() string { return prefix + strings.Repeat(element+",", n-1) + element + suffix }
}

// numbered is repeat with the number of the element for %d.
func numbered(prefix, element string, n int, suffix string) func() string {
	return func() string {
		var b strings.Builder
		b.WriteString(prefix)
		for i := range n {
			if i > 0 {
				b.WriteByte(',')
			}
			fmt.Fprintf(&b, element, i)
		}
		return b.String() + suffix
	}
}

var bombs = map[string]bomb{
	"empty records":   {200, repeat(`{"data":[`, `{}`, 3_000_000, `]}`), list},
	"unusual records": {200, repeat(`{"d\u0061ta":[`, `{}`, 3_000_000, `]}`), list},
	"misfits":         {200, repeat(`{"data":[`, `{"id":1}`, 1_000_000, `]}`), list},
	"included":        {200, repeat(`{"data":[],"included":{"plans":[`, `{}`, 3_000_000, `]}}`), list},
	"texts":           {200, repeat(`{"data":[{"attributes":{"offering":{"meta":{"external_plan_refs":[`, `""`, 8e6, `]}}}}]}`), list},
	"prices":          {200, numbered(`{"data":[],"included":{"plans":[{"meta":{"prices":{`, `"%d":{}`, 2e6, `}}}]}}`), list},
	"relationships":   {200, numbered(`{"data":[{"relationships":{`, `"%d":{}`, 2_000_000, `}}]}`), list},
	"misfits in prices": {200, numbered(`{"data":[],"included":{"plans":[{"meta":{"prices":{`,
		`"%d":{"display_price":{"tax":{"amount":{}}}}`, 99_980, `}}}]}}`), list},
	"misfits in relationships": {200, numbered(`{"data":[{"relationships":{`,
		`"%d":{"links":{"":1},"data":{"id":1}}`, 49_990, `}}]}`), list},
	"misfit and included": {200, repeat(`{"data":5,"included":{"plans":[`, `{}`, 10_000, `]}}`), list},
	"write members":       {201, numbered(`{`, `"%d":0`, 2_700_000, `}`), add},
	"records by Do":       {200, repeat(`{"data":[`, `{}`, 1_000_000, `]}`), read},
	"members":             {200, numbered(`{"data":[{`, `"%d":0`, 2_000_000, `}]}`), list},
	"list errors":         {400, repeat(`{"errors":[`, `{}`, 349_000, `]}`), list},
	"list entries":        {400, repeat(`{"errors":[`, `{"a":1}`, 130_000, `]}`), list},
	"batch errors":        {422, repeat(`{"errors":[`, `{"a":1}`, 130_000, `]}`), add},
	"batch texts":         {422, repeat(`{"errors":[`, `1`, 520_000, `]}`), add},
	"batch members":       {422, numbered(`{"errors":[{`, `"%d":0`, 90_000, `}]}`), add},
	"batch discounts":     {201, repeat(`{"data":[`, `{}`, 3_000_000, `]}`), add},
	"batch objects":       {201, repeat(`{"data":[`, `{"external_id":"a"}`, 1_000_000, `]}`), add},
	"batch depth":         {422, func() string { return strings.Repeat(`{"a":[`, 150_000) }, add},
	"write errors":        {422, repeat(`{"errors":[`, `{"a":1}`, 130_000, `]}`), do},
	"meta of an error":    {422, numbered(`{"errors":[{"meta":{`, `"%d":0`, 90_000, `}}]}`), do},
}

func main() {
	b, ok := bombs[os.Args[1]]
	if !ok {
		fmt.Println("no such bomb")
		os.Exit(2)
	}
	if err := explode(&b); err != nil {
		fmt.Println(err)
		os.Exit(2)
	}
}

// explode makes the call, and prints what it took.
func explode(b *bomb) error {
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	size, err := z.Write([]byte(b.body()))
	if err := errors.Join(err, z.Close()); err != nil {
		return err
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Encoding", "gzip")
		w.WriteHeader(b.status)
		_, _ = w.Write(packed.Bytes())
	}))
	defer server.Close()
	retry := commerce.RetryPolicy{MaxAttempts: 1}
	client, err := commerce.New(server.URL, commerce.WithToken("token"), commerce.WithRetry(retry))
	if err != nil {
		return err
	}
	runtime.GC()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	start := time.Now()
	err = b.call(context.Background(), client)
	took := time.Since(start)
	runtime.ReadMemStats(&after)
	fmt.Printf("%d wire=%d size=%d alloc=%d ms=%d bad=%v err=%.120v\n", b.status, packed.Len(), size,
		(after.TotalAlloc-before.TotalAlloc)>>20, took.Milliseconds(), errors.Is(err, commerce.ErrBadResponse), err)
	return nil
}
