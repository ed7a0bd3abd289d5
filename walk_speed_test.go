package commerce_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"math"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"runtime"
	"runtime/metrics"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/time/rate"

	"github.com/commerce-go/commerce"
	"github.com/commerce-go/commerce/commercetest"
)

// speedRecords is the length of the list of the speed tests.
const speedRecords = 10_000

// speedServer serves pages made beforehand over loopback, after a latency.
type speedServer struct {
	*httptest.Server
	pages   map[string][]byte // by query
	latency time.Duration
	allow   *rate.Limiter // nil: everything
	refused atomic.Int64
}

// newSpeedServer makes the pages that a walk of the whole list asks for: with
// whole subscriptions (1.9 kB each) or with the ids of subscriptions alone.
func newSpeedServer(t *testing.T, whole bool) *speedServer {
	t.Helper()
	s := &speedServer{pages: map[string][]byte{}}
	list := newListServer(speedRecords).page
	if whole {
		store := commercetest.NewStore(commercetest.Config{})
		store.Seed(speedRecords)
		list = func(req *http.Request) string {
			w := httptest.NewRecorder()
			store.ServeHTTP(w, req)
			return w.Body.String()
		}
	}
	recording := roundTripper(func(req *http.Request) (*http.Response, error) {
		page := list(req)
		s.pages[req.URL.RawQuery] = []byte(page)
		return &http.Response{StatusCode: http.StatusOK, Body: io.NopCloser(strings.NewReader(page)), Request: req}, nil
	})
	c, err := commerce.New(base, commerce.WithToken(commercetest.DefaultToken), commerce.WithHTTPClient(&http.Client{Transport: recording}))
	if err != nil {
		t.Fatal(err)
	}
	if n, _, err := walkAll(t.Context(), c, 1); err != nil || n != speedRecords {
		t.Fatalf("%d records, error %v", n, err)
	}
	s.Server = httptest.NewServer(s)
	t.Cleanup(s.Close)
	return s
}

func (s *speedServer) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	time.Sleep(s.latency)
	if s.allow != nil && !s.allow.Allow() {
		s.refused.Add(1)
		w.Header().Set("Retry-After", "1")
		w.WriteHeader(http.StatusTooManyRequests)
		return
	}
	page, ok := s.pages[req.URL.RawQuery]
	if !ok {
		page = []byte(`{"data":[],"links":{"next":null}}`) // beyond the end, where a walk may look ahead
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(page)
}

// measure walks the list, and returns how long it took.
func (s *speedServer) measure(t *testing.T, concurrency int, opts ...commerce.Option) time.Duration {
	t.Helper()
	base := &http.Transport{MaxIdleConnsPerHost: commerce.MaxConcurrency}
	defer base.CloseIdleConnections()
	c, err := commerce.New(s.URL, append([]commerce.Option{commerce.WithToken(token), commerce.WithHTTPClient(&http.Client{Transport: base})}, opts...)...)
	if err != nil {
		t.Fatal(err)
	}
	s.refused.Store(0)
	n, took, err := walkAll(t.Context(), c, concurrency)
	if err != nil || n != speedRecords {
		t.Fatalf("%d records, error %v", n, err)
	}
	return took
}

// walkAll counts the subscriptions of a store, and measures the time.
func walkAll(ctx context.Context, c *commerce.Client, concurrency int) (n int, took time.Duration, err error) {
	start := time.Now()
	for _, err := range c.Subscriptions.All(ctx, &commerce.SubscriptionListOptions{Concurrency: concurrency}) {
		if err != nil {
			return n, time.Since(start), err
		}
		n++
	}
	return n, time.Since(start), nil
}

// benchRounds is how often TestBench_walk measures each figure: BENCH_WALK. Without
// it these tests are skipped, as their figures mean something on an idle machine
// only.
func benchRounds(t *testing.T) int {
	t.Helper()
	n, err := strconv.Atoi(os.Getenv("BENCH_WALK"))
	if err != nil {
		t.Skip("BENCH_WALK is not set: see make bench-walk")
	}
	return n
}

func median(values []float64) float64 {
	slices.Sort(values)
	return values[len(values)/2]
}

// TestBench_walk compares the time of walks with the latency of their requests
// alone, which is the same for both kinds of pages. What it takes to decode whole
// subscriptions depends on the machine: that figure is for information.
//
//nolint:paralleltest // it takes the time
func TestBench_walk(t *testing.T) {
	const requests = 102
	rounds := benchRounds(t)
	slim, whole := newSpeedServer(t, false), newSpeedServer(t, true)
	for _, tt := range []struct {
		latency     time.Duration
		concurrency int
		most        float64
	}{
		{20 * time.Millisecond, 1, 1.10}, {100 * time.Millisecond, 1, 1.03},
		{20 * time.Millisecond, 4, 1.25}, {100 * time.Millisecond, 4, 1.15},
		{20 * time.Millisecond, 8, 1.45}, {100 * time.Millisecond, 8, 1.30},
	} {
		ideal := math.Ceil(requests/float64(tt.concurrency)) * tt.latency.Seconds()
		measure := func(s *speedServer) float64 {
			s.latency = tt.latency
			var ratios []float64
			for range rounds {
				ratios = append(ratios, s.measure(t, tt.concurrency).Seconds()/ideal)
			}
			return median(ratios)
		}
		ratio, decoding := measure(slim), measure(whole)
		t.Logf("latency %5v, Concurrency %d: %.3f of the ideal %6.3f s, at most %.2f; with whole subscriptions to decode %.3f", tt.latency, tt.concurrency, ratio, ideal, tt.most, decoding)
		if ratio > tt.most {
			t.Error("too slow")
		}
	}
}

// TestBench_rateLimit walks a store that allows 25 requests a second.
//
//nolint:paralleltest // it takes the time
func TestBench_rateLimit(t *testing.T) {
	const requests, limit, burst = 102, 25, 6
	ideal := float64(requests-burst) / limit
	rounds := (benchRounds(t) + 1) / 2
	s := newSpeedServer(t, false)
	s.latency = 20 * time.Millisecond
	run := func(concurrency int, opts func() []commerce.Option) (ratio float64, refused int64) {
		var ratios []float64
		for range rounds {
			s.allow = rate.NewLimiter(limit, burst)
			ratios = append(ratios, s.measure(t, concurrency, opts()...).Seconds()/ideal)
			refused = max(refused, s.refused.Load())
		}
		return median(ratios), refused
	}
	none := func() []commerce.Option { return nil }
	known, knownRefused := run(8, func() []commerce.Option { return []commerce.Option{commerce.WithLimiter(rate.NewLimiter(24, 1))} })
	one, oneRefused := run(1, none)
	eight, eightRefused := run(8, none)
	t.Logf("25 requests/s, ideal %.2f s, medians of %d walks, most answers of 429: Concurrency 8 with a limiter at 24/s %.3f, %d; without %.3f, %d; one at a time %.3f, %d",
		ideal, rounds, known, knownRefused, eight, eightRefused, one, oneRefused)
	if known > 1.3 || knownRefused > 0 || eight > 2.5 || eightRefused > 8 || eight > 1.01*one {
		t.Error("not within bounds")
	}
}

// TestBench_heap measures the heap of a process that walks, beyond what it has
// when idle.
//
//nolint:paralleltest // it takes the time
func TestBench_heap(t *testing.T) {
	const most = 8 << 20
	if address := os.Getenv("BENCH_WALK_SERVER"); address != "" {
		walkAndTellHeap(t, address)
		return
	}
	rounds := benchRounds(t)
	s := newSpeedServer(t, true)
	s.latency = 5 * time.Millisecond
	for range rounds {
		cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestBench_heap$") //nolint:gosec // itself
		cmd.Env = append(os.Environ(), "BENCH_WALK_SERVER="+s.URL)
		var out bytes.Buffer
		cmd.Stdout, cmd.Stderr = &out, &out
		if err := cmd.Run(); err != nil {
			t.Fatalf("%v\n%s", err, out.String())
		}
		var peak int
		if _, err := fmt.Sscanf(out.String(), "peak %d", &peak); err != nil {
			t.Fatalf("%v\n%s", err, out.String())
		}
		t.Logf("Concurrency 4: peak of the heap %.2f MiB over idle, at most %d MiB", float64(peak)/(1<<20), most>>20)
		if peak > most {
			t.Error("too much")
		}
	}
}

// walkAndTellHeap prints by how many bytes the heap grew at most during a walk.
func walkAndTellHeap(t *testing.T, address string) {
	t.Helper()
	heap := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
	read := func() uint64 {
		metrics.Read(heap)
		return heap[0].Value.Uint64()
	}
	c, err := commerce.New(address, commerce.WithToken(token))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Subscriptions.List(t.Context(), nil); err != nil { // what is made once
		t.Fatal(err)
	}
	runtime.GC()
	idle := read()
	stop, stopped := make(chan struct{}), make(chan struct{})
	var peak uint64
	go func() {
		defer close(stopped)
		for {
			select {
			case <-stop:
				return
			case <-time.After(200 * time.Microsecond):
				peak = max(peak, read())
			}
		}
	}()
	n, _, err := walkAll(t.Context(), c, 4)
	close(stop)
	<-stopped
	if err != nil || n != speedRecords {
		t.Fatalf("%d records, error %v", n, err)
	}
	fmt.Printf("peak %d\n", peak-min(peak, idle))
}
