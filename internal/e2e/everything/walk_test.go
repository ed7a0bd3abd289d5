package everything_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"os"
	"runtime/metrics"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/commerce-go/commerce"
)

// walkConfig describes a walk in a process of its own.
type walkConfig struct {
	URL         string
	After       uuid.UUID
	Concurrency int
}

// walkValue is what a walk writes, again and again.
type walkValue struct {
	Records []record
	End     *walkEnd // only of the last value
}

type walkEnd struct {
	MaxHeap           uint64 // bytes that the garbage collector found in use
	Took              time.Duration
	Error             string
	Finished, Account uuid.UUID // of the error
	IsOffsetLimit     bool
}

// runWalk is the process of a walk. It writes the records and how the walk ended.
func runWalk(cfg walkConfig) {
	output := bufio.NewWriter(os.Stdout)
	encoder := json.NewEncoder(output)
	begin := time.Now()
	var value walkValue
	end := &walkEnd{}
	client := newClient(cfg.URL)
	opts := &commerce.SubscriptionListOptions{Concurrency: cfg.Concurrency}
	ctx := context.Background()
	for sub, err := range client.Subscriptions.AllByAccount(ctx, client.Accounts.IDs(ctx, cfg.After), opts) {
		if err != nil {
			end.Error, end.IsOffsetLimit = err.Error(), errors.Is(err, commerce.ErrOffsetLimit)
			if stop, ok := errors.AsType[*commerce.PagingError](err); ok {
				end.Finished, end.Account = stop.Finished, stop.Account
			}
			break
		}
		value.Records = append(value.Records, record{ID: sub.ID, Account: sub.Attributes.AccountID})
		if len(value.Records) == 100 {
			_ = encoder.Encode(value)
			value.Records = value.Records[:0]
			end.MaxHeap = max(end.MaxHeap, liveHeap())
		}
	}
	value.End, end.Took = end, time.Since(begin)
	_ = encoder.Encode(value)
	_ = output.Flush()
}

func liveHeap() uint64 {
	sample := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	metrics.Read(sample)
	return sample[0].Value.Uint64()
}

// walked is what a walk yielded.
type walked struct {
	walkEnd
	times   map[uuid.UUID]int // by record
	records int
}

func walk(t *testing.T, cfg walkConfig) walked {
	t.Helper()
	p := start(t, walkVariable, cfg)
	w := walked{times: map[uuid.UUID]int{}}
	for {
		value := read[walkValue](t, p)
		for _, r := range value.Records {
			w.times[r.ID]++
		}
		w.records += len(value.Records)
		if value.End != nil {
			w.walkEnd = *value.End
			return w
		}
	}
}

// wrong returns the number of records that a walk missed, of those that it should yield, and of
// those that it yielded more than once.
func (w *walked) wrong(should []record) (missed, repeated int) {
	for _, r := range should {
		if w.times[r.ID] == 0 {
			missed++
		}
	}
	for _, n := range w.times {
		if n > 1 {
			repeated++
		}
	}
	return missed, repeated
}

const (
	concurrency = 8
	maxHeap     = 48 << 20
)

func TestAllByAccount(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name  string
		cfg   storeConfig
		short int
	}{
		{name: "small accounts", short: 12_000},
		{name: "large accounts", short: 1000, cfg: storeConfig{Big: []int{9000, 10_099}}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if testing.Short() && len(tt.cfg.Big) > 0 {
				t.Skip("TestAllByAccount_offsetLimit has a large account too")
			}
			tt.cfg.Seed, tt.cfg.Changes, tt.cfg.Subscriptions = seed(t), 40, size(tt.short)
			s := startStore(t, tt.cfg)
			w := walk(t, walkConfig{URL: s.URL, Concurrency: concurrency})
			r := s.report(t)
			if w.Error != "" {
				t.Fatalf("the walk ended in the error %s", w.Error)
			}
			checkWalk(t, &w, r.Stayed)
			checkRequests(t, s, r)
			for _, filter := range r.AtLimit {
				if strings.Count(filter, ",") > 1 {
					t.Errorf("got a request at the highest offset for %s, want one for a single account only", filter)
				}
			}
		})
	}
}

func checkWalk(t *testing.T, w *walked, should []record) {
	t.Helper()
	missed, repeated := w.wrong(should)
	t.Logf("%d records in %v, %d stayed, %d missed, %d repeated; live heap at most %.1f MiB",
		w.records, w.Took.Round(time.Millisecond), len(should), missed, repeated, float64(w.MaxHeap)/(1<<20))
	if missed > 0 || repeated > 0 {
		t.Errorf("%d records missed and %d repeated, want none", missed, repeated)
	}
	if w.MaxHeap > maxHeap {
		t.Errorf("%d bytes of live heap, want at most %d", w.MaxHeap, maxHeap)
	}
}

// checkRequests checks the number of requests of one walk.
func checkRequests(t *testing.T, s *remoteStore, r storeReport) {
	t.Helper()
	most := 1.15 * (float64(s.Accounts)/100 + float64(s.Subscriptions)/100 + float64(r.Parts))
	if s.Subscriptions < 100_000 {
		most += 40 * float64(len(s.Big)) // to find out that a part is too long, which is much for a small store only
	}
	t.Logf("%d requests for %d accounts and %d for %d subscriptions in %d parts, at most %.0f; %d changes",
		r.Accounts, s.Accounts, r.Lists, s.Subscriptions, r.Parts, most, r.Changes)
	if n := r.Accounts + r.Lists; float64(n) > most {
		t.Errorf("%d requests, want at most %.0f", n, most)
	}
	if r.Changes == 0 {
		t.Error("the store did not change: the test proves nothing")
	}
}

// The account that cannot be read is in the error, and the walk goes on after it.
func TestAllByAccount_offsetLimit(t *testing.T) {
	t.Parallel()
	s := startStore(t, storeConfig{Seed: seed(t), Changes: 40, Subscriptions: size(1000), Big: []int{10_100}})
	first := walk(t, walkConfig{URL: s.URL, Concurrency: concurrency})
	if !first.IsOffsetLimit || first.Account != s.Big[0] {
		t.Fatalf("the walk ended at account %v in the error %q, want it to end at %v in ErrOffsetLimit",
			first.Account, first.Error, s.Big[0])
	}
	second := walk(t, walkConfig{URL: s.URL, Concurrency: concurrency, After: first.Account})
	if second.Error != "" {
		t.Fatalf("the walk after that account ended in the error %s", second.Error)
	}
	var before, after []record
	for _, r := range s.report(t).Stayed {
		switch strings.Compare(r.Account.String(), s.Big[0].String()) {
		case -1:
			before = append(before, r)
		case 1:
			after = append(after, r)
		}
	}
	checkWalk(t, &first, before)
	checkWalk(t, &second, after)
}
