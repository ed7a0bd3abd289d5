// Command walk measures how fast the library walks a list of 10,000 subscriptions, and how much memory it needs. It
// exits with status 1 if a figure is above its maximum. Run it on an idle machine: it measures time.
//
//	go run ./walk [-rounds 8]
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"log"
	"math"
	"net/http"
	"os"
	"os/exec"
	"runtime"
	"runtime/metrics"
	"slices"
	"time"

	"golang.org/x/time/rate"

	"github.com/commerce-go/commerce"
	"github.com/commerce-go/commerce/commercetest"
)

const (
	records  = 10_000
	requests = 102 // of a walk
)

func main() {
	log.SetFlags(0)
	rounds := flag.Int("rounds", 8, "number of walks for each figure, of which the median counts")
	address := flag.String("heap", "", "address of a server to walk; prints by how many bytes the heap grew")
	flag.Parse()
	if *address != "" {
		fmt.Println(heapOfWalk(*address))
		return
	}
	ids, whole := newServer(true), newServer(false)
	defer ids.Close()
	defer whole.Close()
	ok := speed(ids, whole, *rounds)
	ok = rateLimit(ids, (*rounds+1)/2) && ok
	ok = heap(whole, *rounds) && ok
	if !ok {
		log.Fatal("a figure is above its maximum")
	}
}

// speed compares the time of walks with the latency of their requests alone. The time to decode whole subscriptions
// depends on the machine: it is printed, but has no maximum.
func speed(ids, whole *server, rounds int) (ok bool) {
	ok = true
	for _, tt := range []struct {
		latency     time.Duration
		concurrency int
		maximum     float64
	}{
		{latency: 20 * time.Millisecond, concurrency: 1, maximum: 1.10},
		{latency: 100 * time.Millisecond, concurrency: 1, maximum: 1.03},
		{latency: 20 * time.Millisecond, concurrency: 4, maximum: 1.25},
		{latency: 100 * time.Millisecond, concurrency: 4, maximum: 1.15},
		{latency: 20 * time.Millisecond, concurrency: 8, maximum: 1.45},
		{latency: 100 * time.Millisecond, concurrency: 8, maximum: 1.30},
	} {
		ideal := math.Ceil(requests/float64(tt.concurrency)) * tt.latency.Seconds()
		measure := func(s *server) float64 {
			s.latency = tt.latency
			return median(rounds, func() float64 { return s.walk(tt.concurrency).Seconds() / ideal })
		}
		ratio, decoding := measure(ids), measure(whole)
		fmt.Printf("latency %5v, Concurrency %d: %.3f times the latency alone of %.3f s, maximum %.2f; %.3f with decoding\n",
			tt.latency, tt.concurrency, ratio, ideal, tt.maximum, decoding)
		ok = ok && ratio <= tt.maximum
	}
	return ok
}

// rateLimit walks a store that allows 25 requests per second, with and without a limiter in the client.
func rateLimit(s *server, rounds int) (ok bool) {
	const limit, burst = 25, 6
	s.latency = 20 * time.Millisecond
	ideal := float64(requests-burst) / limit
	defer func() { s.limiter = nil }()
	measure := func(concurrency int, options func() []commerce.Option) (ratio float64, refused int64) {
		ratio = median(rounds, func() float64 {
			s.limiter = rate.NewLimiter(limit, burst)
			s.refused.Store(0)
			took := s.walk(concurrency, options()...)
			refused = max(refused, s.refused.Load())
			return took.Seconds() / ideal
		})
		fmt.Printf("%d requests/s, Concurrency %d: %.3f times the ideal of %.2f s, at most %d responses with status 429\n",
			limit, concurrency, ratio, ideal, refused)
		return ratio, refused
	}
	none := func() []commerce.Option { return nil }
	one, _ := measure(1, none)
	eight, eightRefused := measure(8, none)
	fmt.Print("with a limiter of 24/s: ")
	limited, limitedRefused := measure(8, func() []commerce.Option {
		return []commerce.Option{commerce.WithLimiter(rate.NewLimiter(24, 1))}
	})
	fmt.Println("maximum: 2.5 times and 8 responses, and no slower than Concurrency 1; with a limiter 1.3 times and none")
	return eight <= 2.5 && eightRefused <= 8 && eight <= 1.01*one && limited <= 1.3 && limitedRefused == 0
}

// heap measures by how much the heap of a process grows during a walk. Each walk is a process.
func heap(s *server, rounds int) (ok bool) {
	const maximum = 8 << 20
	s.latency = 5 * time.Millisecond
	largest := uint64(0)
	for range rounds {
		cmd := exec.Command(os.Args[0], "-heap", s.URL)
		cmd.Stderr = os.Stderr
		out, err := cmd.Output()
		if err != nil {
			log.Fatal(err)
		}
		var grown uint64
		if err := json.Unmarshal(out, &grown); err != nil {
			log.Fatal(err)
		}
		largest = max(largest, grown)
	}
	fmt.Printf("Concurrency 4: the heap grows by %.2f MiB, maximum %d MiB\n", float64(largest)/(1<<20), maximum>>20)
	return largest <= maximum
}

// heapOfWalk walks the list of a server, and returns by how many bytes the heap grew at most.
func heapOfWalk(address string) uint64 {
	samples := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
	size := func() uint64 {
		metrics.Read(samples)
		return samples[0].Value.Uint64()
	}
	c, err := commerce.New(address, commerce.WithToken(commercetest.DefaultToken))
	if err != nil {
		log.Fatal(err)
	}
	if _, err := c.Subscriptions.List(context.Background(), nil); err != nil { // allocates what is allocated once
		log.Fatal(err)
	}
	runtime.GC()
	idle := size()
	stop, peak := make(chan struct{}), make(chan uint64)
	go func() {
		highest := idle
		for {
			select {
			case <-stop:
				peak <- highest
				return
			case <-time.After(200 * time.Microsecond):
				highest = max(highest, size())
			}
		}
	}()
	walk(c, 4)
	close(stop)
	return <-peak - idle
}

// walk reads the whole list, and returns how long that took.
func walk(c *commerce.Client, concurrency int) time.Duration {
	start, n := time.Now(), 0
	opts := &commerce.SubscriptionListOptions{Concurrency: concurrency}
	for _, err := range c.Subscriptions.All(context.Background(), opts) {
		if err != nil {
			log.Fatal(err)
		}
		n++
	}
	if n != records {
		log.Fatalf("got %d records, want %d", n, records)
	}
	return time.Since(start)
}

// walk walks the list of s by a new client with new connections.
func (s *server) walk(concurrency int, opts ...commerce.Option) time.Duration {
	transport := &http.Transport{MaxIdleConnsPerHost: commerce.MaxConcurrency}
	defer transport.CloseIdleConnections()
	opts = append(opts, commerce.WithToken(commercetest.DefaultToken),
		commerce.WithHTTPClient(&http.Client{Transport: transport}))
	c, err := commerce.New(s.URL, opts...)
	if err != nil {
		log.Fatal(err)
	}
	return walk(c, concurrency)
}

// median returns the median of n measurements.
func median(n int, measure func() float64) float64 {
	values := make([]float64, n)
	for i := range values {
		values[i] = measure()
	}
	slices.Sort(values)
	return values[n/2]
}
