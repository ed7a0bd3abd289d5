package paging

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"
)

// spaced returns n ids that are gap(i) apart.
func spaced(n int, gap func(i int) int) []int {
	ids, last := make([]int, n), 0
	for i := range ids {
		last += gap(i)
		ids[i] = last
	}
	return ids
}

var errUnknownID = errors.New("no record has the id in the filter")

func nineOrEleven(i int) int { return 9 + 2*(i%2) }

var aheadTests = []struct {
	name    string
	gap     func(i int) int
	predict func(first, last, times int) (int, bool)
	setUp   func(*keyList)

	want        int           // number of ids; 0: all 1,000
	maxRequests int           // 101 one by one
	maxTime     time.Duration // 101 times latency one by one
	wantErr     error
}{
	{name: "even", gap: each(10), maxRequests: 109, maxTime: 36 * latency},
	{name: "uneven", gap: func(i int) int { return 1 + i*7919%997 }, maxRequests: 116, maxTime: 44 * latency},
	{name: "dense, then sparse", gap: func(i int) int { return 1 + i/500*1000 }, maxRequests: 111, maxTime: 38 * latency},
	{
		name: "sparse, then dense", maxRequests: 111, maxTime: 38 * latency,
		gap: func(i int) int { return 1001 - i/500*1000 },
	},
	{
		name: "two clusters", maxRequests: 111, maxTime: 38 * latency,
		gap: func(i int) int {
			if i == 500 {
				return 1_000_000_000
			}
			return 10
		},
	},
	{
		name: "predictions are too near", gap: each(10), maxRequests: 121, maxTime: 102 * latency,
		predict: func(_, last, _ int) (int, bool) { return last + 1, true },
	},
	{
		name: "predictions are too far", gap: each(10), maxRequests: 103, maxTime: 102 * latency,
		predict: func(_, last, times int) (int, bool) { return last + times*100_000, true },
	},
	{
		name: "predictions lead nowhere", gap: each(10), maxRequests: 101, maxTime: 102 * latency,
		predict: func(_, last, _ int) (int, bool) { return last, true },
	},
	{
		name: "no predictions", gap: each(10), maxRequests: 101, maxTime: 102 * latency,
		predict: func(int, int, int) (int, bool) { return 0, false },
	},
	{
		name: "nothing is behind an unknown id", gap: nineOrEleven, maxRequests: 120, maxTime: 107 * latency,
		setUp: func(l *keyList) {
			l.alter = func(after int, ids []int) []int {
				if after > 0 && !slices.Contains(l.ids, after) {
					return nil
				}
				return ids
			}
		},
	},
	{
		name: "an id is missing behind an unknown id", gap: nineOrEleven, maxRequests: 121, maxTime: 107 * latency,
		setUp: func(l *keyList) {
			l.alter = func(after int, ids []int) []int {
				if after > 0 && !slices.Contains(l.ids, after) && len(ids) > 0 {
					return ids[1:]
				}
				return ids
			}
		},
	},
	{
		name: "an unknown id is refused", gap: nineOrEleven, maxRequests: 120, maxTime: 107 * latency,
		setUp: func(l *keyList) {
			l.refuse = func(after int) error {
				if after > 0 && !slices.Contains(l.ids, after) {
					return errUnknownID
				}
				return nil
			}
		},
	},
	{
		name: "an unknown id behind the end is refused", gap: each(10), maxRequests: 102, maxTime: 102 * latency,
		predict: func(_, last, times int) (int, bool) { return last + times*100_000, true },
		setUp: func(l *keyList) {
			l.refuse = func(after int) error {
				if after > 10_000 {
					return errUnknownID
				}
				return nil
			}
		},
	},
	{
		name: "the list seems to end once", gap: each(10), maxRequests: 116, maxTime: 40 * latency,
		setUp: func(l *keyList) {
			ended := false
			l.alter = func(after int, ids []int) []int {
				if !ended && after == 2700 {
					ended = true
					return nil
				}
				return ids
			}
		},
	},
	{
		name: "the list seems to end", gap: each(10), maxRequests: 60, maxTime: 30 * latency,
		setUp: func(l *keyList) {
			l.alter = func(after int, ids []int) []int {
				n := len(ids)
				for n > 0 && ids[n-1] > 2700 && after <= 2700 {
					n--
				}
				return ids[:n]
			}
		},
		want: 270, wantErr: ErrNoProgress,
	},
	{
		// The first segment ends in the middle of nowhere, the second is empty, the third is not.
		name: "the list seems to end before an empty segment", gap: each(10), maxRequests: 60, maxTime: 30 * latency,
		predict: func(_, last, times int) (int, bool) {
			if last == 100 {
				return 5005, true
			}
			return last + times*90 + 5, true
		},
		setUp: func(l *keyList) {
			l.alter = func(after int, ids []int) []int {
				if after < 5000 && (after > 250 || after%10 > 0) {
					return nil
				}
				return ids
			}
		},
		want: 30, wantErr: ErrNoProgress,
	},
	{
		name: "the list seems to end, and then a request fails", gap: each(10), maxRequests: 60, maxTime: 30 * latency,
		setUp: func(l *keyList) {
			ended := 0
			l.alter = func(after int, ids []int) []int {
				n := len(ids)
				for n > 0 && ids[n-1] > 2700 && after <= 2700 {
					n--
				}
				if after == 2700 {
					ended++
				}
				return ids[:n]
			}
			l.refuse = func(after int) error {
				if after > 2700 && ended > 0 {
					return errUnknownID
				}
				return nil
			}
		},
		want: 270, wantErr: errUnknownID,
	},
	{
		name: "the list becomes shorter", gap: each(10), maxRequests: 60, maxTime: 30 * latency, want: 400,
		setUp: func(l *keyList) {
			l.change = func(l *keyList) {
				if l.requests >= 40 && len(l.ids) > 400 {
					l.ids = l.ids[:400]
				}
			}
		},
	},
}

func TestKeys_ahead(t *testing.T) {
	t.Parallel()
	for _, tt := range aheadTests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			l := &keyList{ids: spaced(1000, tt.gap), delays: []time.Duration{latency}}
			want := slices.Clone(l.ids)
			if tt.setUp != nil {
				tt.setUp(l)
			}
			cfg := l.config(10, 4)
			if tt.predict != nil {
				cfg.Predict = tt.predict
			}
			got, err := l.run(t, cfg, 0, 0)
			if tt.want > 0 {
				want = want[:tt.want]
			}
			if l.change != nil {
				got = got[:min(len(got), len(want))] // the others were removed after they were read
			}
			if !slices.Equal(got, want) || !errors.Is(err, tt.wantErr) {
				t.Errorf("%d ids and error %v, want %d and %v", len(got), err, len(want), tt.wantErr)
			}
			if took := l.took.Round(time.Millisecond); l.requests > tt.maxRequests || took > tt.maxTime {
				t.Errorf("%d requests in %s, want at most %d in %s", l.requests, took, tt.maxRequests, tt.maxTime)
			}
		})
	}
}

// While its consumer is busy, a walk makes no request that a walk one by one would not make, and
// holds a limited number of ids.
func TestKeys_slowConsumer(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := &keyList{ids: spaced(1000, each(10)), delays: []time.Duration{latency}}
		ids := 0
		for _, err := range Keys(t.Context(), l.config(10, 4)) {
			if err != nil {
				t.Fatal(err)
			}
			ids++
			time.Sleep(latency / 5)
		}
		if ids != 1000 || l.requests > 102 {
			t.Errorf("%d ids after %d requests, want 1000 after 101 or 102", ids, l.requests)
		}
	})
	synctest.Test(t, func(t *testing.T) {
		l := &keyList{ids: spaced(1000, each(10)), delays: []time.Duration{latency}}
		cfg, predict := l.config(10, 4), l.config(10, 4).Predict
		cfg.Predict = func(first, last, times int) (int, bool) {
			if last == 100 {
				return 5000, true
			}
			return predict(first, last, times)
		}
		ids := 0
		for _, err := range Keys(t.Context(), cfg) {
			if err != nil {
				t.Fatal(err)
			}
			ids++
			requests, _ := l.counts()
			if waiting := 10*requests - ids; waiting > 4*10*10 {
				t.Fatalf("%d ids wait after id %d, want at most 400", waiting, ids)
			}
		}
	})
}

// A panic of Fetch reaches the loop.
func TestKeys_panic(t *testing.T) {
	t.Parallel()
	for _, segments := range []int{1, 4} {
		func() {
			defer func() {
				if got := recover(); got != "planned" {
					t.Errorf("recover() = %v, want planned", got)
				}
			}()
			cfg := (&keyList{}).config(10, segments)
			cfg.Fetch = func(context.Context, int, int) (KeyPage[int], error) { panic("planned") }
			for _, err := range Keys(t.Context(), cfg) {
				t.Errorf("error %v, want a panic", err)
			}
		}()
	}
}
