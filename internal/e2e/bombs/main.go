//go:build linux

// Bombs receives one response that is small on the wire and large in memory, and prints
// how much memory was allocated and how much CPU time it took, which does not depend on
// what else the machine does. Its test runs it under a memory limit:
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
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/commerce-go/commerce"
)

// A bomb is a response and the call that receives it.
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

// numbered is repeat with the index of the element in place of %d.
func numbered(prefix, element string, n int, suffix string) func() string {
	return func() string {
		before, after, _ := strings.Cut(element, "%d")
		b := []byte(prefix)
		for i := range n {
			b = append(strconv.AppendInt(append(b, before...), int64(i), 10), after+","...)
		}
		return string(b[:len(b)-1]) + suffix
	}
}

var bombs = map[string]bomb{
	"empty records": {status: 200, call: list, body: repeat(`{"data":[`, `{}`, 3_000_000, `]}`)},
	// An escaped name: the decoder reads the page, not the reader.
	"escaped name": {status: 200, call: list, body: repeat(`{"d\u0061ta":[`, `{}`, 3_000_000, `]}`)},
	"misfits":      {status: 200, call: list, body: repeat(`{"data":[`, `{"id":1}`, 1_000_000, `]}`)},
	"included": {status: 200, call: list, body: repeat(
		`{"data":[],"included":{"plans":[`, `{}`, 3_000_000, `]}}`)},
	"texts": {status: 200, call: list, body: repeat(
		`{"data":[{"attributes":{"offering":{"meta":{"external_plan_refs":[`, `""`, 8_000_000, `]}}}}]}`)},
	"prices": {status: 200, call: list, body: numbered(
		`{"data":[],"included":{"plans":[{"meta":{"prices":{`, `"%d":{}`, 1_000_000, `}}}]}}`)},
	"relationships": {status: 200, call: list, body: numbered(
		`{"data":[{"relationships":{`, `"%d":{}`, 1_000_000, `}}]}`)},
	"misfits in prices": {status: 200, call: list, body: numbered(
		`{"data":[],"included":{"plans":[{"meta":{"prices":{`,
		`"%d":{"display_price":{"tax":{"amount":{}}}}`, 99_980, `}}}]}}`)},
	"misfits in relationships": {status: 200, call: list, body: numbered(
		`{"data":[{"relationships":{`, `"%d":{"links":{"":1},"data":{"id":1}}`, 49_990, `}}]}`)},
	"misfit and included": {status: 200, call: list, body: repeat(
		`{"data":5,"included":{"plans":[`, `{}`, 10_000, `]}}`)},
	"misfit in a page of escapes": {status: 200, call: list, body: func() string {
		return `{"data":[{"id":1,"attributes":{"offering":{"relationships":{"plans":{"data":[{"type":"` +
			strings.Repeat(`\u0041`, 4_000_000) + `"}]}}}}}],"errors":["e"]}`
	}},
	"write members":   {status: 201, call: add, body: numbered(`{`, `"%d":0`, 1_350_000, `}`)},
	"records by Do":   {status: 200, call: read, body: repeat(`{"data":[`, `{}`, 1_000_000, `]}`)},
	"members":         {status: 200, call: list, body: numbered(`{"data":[{`, `"%d":0`, 1_000_000, `}]}`)},
	"list errors":     {status: 400, call: list, body: repeat(`{"errors":[`, `{}`, 349_000, `]}`)},
	"list entries":    {status: 400, call: list, body: repeat(`{"errors":[`, `{"a":1}`, 130_000, `]}`)},
	"batch errors":    {status: 422, call: add, body: repeat(`{"errors":[`, `{"a":1}`, 130_000, `]}`)},
	"batch texts":     {status: 422, call: add, body: repeat(`{"errors":[`, `1`, 520_000, `]}`)},
	"batch members":   {status: 422, call: add, body: numbered(`{"errors":[{`, `"%d":0`, 90_000, `}]}`)},
	"batch discounts": {status: 201, call: add, body: repeat(`{"data":[`, `{}`, 3_000_000, `]}`)},
	"batch objects":   {status: 201, call: add, body: repeat(`{"data":[`, `{"external_id":"a"}`, 1_000_000, `]}`)},
	"batch inline":    {status: 201, call: add, body: repeat(`{"data":[`, `{"error":"a"}`, 1_000_000, `]}`)},
	"batch in data": {status: 201, call: add, body: repeat(
		`{"data":{"external_id":"a","errors":[`, `{"a":1}`, 150_000, `]}}`)},
	"batch depth":      {status: 422, call: add, body: func() string { return strings.Repeat(`{"a":[`, 150_000) }},
	"write errors":     {status: 422, call: do, body: repeat(`{"errors":[`, `{"a":1}`, 130_000, `]}`)},
	"meta of an error": {status: 422, call: do, body: numbered(`{"errors":[{"meta":{`, `"%d":0`, 90_000, `}}]}`)},
}

func main() {
	b, ok := bombs[os.Args[1]]
	if !ok {
		fmt.Println("unknown name")
		os.Exit(2)
	}
	if err := measure(&b); err != nil {
		fmt.Println(err)
		os.Exit(2)
	}
}

// measure makes the call and prints what it cost.
func measure(b *bomb) error {
	var packed bytes.Buffer
	z, err := gzip.NewWriterLevel(&packed, gzip.BestSpeed)
	if err != nil {
		return err
	}
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
	start := cpuTime()
	err = b.call(context.Background(), client)
	took := cpuTime() - start
	runtime.ReadMemStats(&after)
	fmt.Printf("%d wire=%d size=%d alloc=%d cpu=%d bad=%v err=%.120v\n", b.status, packed.Len(), size,
		(after.TotalAlloc-before.TotalAlloc)>>20, took.Milliseconds(), errors.Is(err, commerce.ErrBadResponse), err)
	return nil
}

// cpuTime returns the CPU time of the process.
func cpuTime() time.Duration {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		panic(err)
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}
