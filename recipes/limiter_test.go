//go:build unix

package recipes_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/commerce-go/commerce"
	"github.com/commerce-go/commerce/commercetest"
)

// FileLimiter is a [commerce.Limiter] for several processes of one machine: those
// that use the same file share one token bucket. The bucket holds Burst tokens, and
// gets a new one each Every. All processes must use the same Every and Burst. Its
// methods are safe for concurrent use.
//
// The file holds the time when the bucket will be full again. It is locked with flock
// for a few microseconds at a time, and must be on a local disk. Remove it to start
// with a full bucket.
type FileLimiter struct {
	Path  string
	Every time.Duration // e.g. 40 ms for 25 a second
	Burst int           // at least 1
}

// Wait takes a token, and returns when the token may be used. If that is after the
// deadline of ctx, it takes none and returns an error at once. If ctx ends while Wait
// waits, the token is lost.
func (l *FileLimiter) Wait(ctx context.Context) error {
	at, err := l.take(ctx)
	if err != nil {
		return err
	}
	timer := time.NewTimer(time.Until(at))
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// take takes a token, and returns the time from which it may be used.
func (l *FileLimiter) take(ctx context.Context) (at time.Time, err error) {
	if l.Every <= 0 || l.Burst < 1 {
		return at, errors.New("file limiter: Every must be positive, and Burst at least 1")
	}
	if err := ctx.Err(); err != nil {
		return at, err
	}
	f, err := os.OpenFile(l.Path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return at, err
	}
	defer func() { err = errors.Join(err, f.Close()) }() // ends the lock
	if err := lock(f); err != nil {
		return at, err
	}
	now := time.Now()
	full, err := readTime(f, now)
	if err != nil {
		return at, err
	}
	// More than a thousand tokens ahead: the clock was set back.
	if full.Before(now) || full.Sub(now) > (1000+time.Duration(l.Burst))*l.Every {
		full = now
	}
	at = full.Add(-time.Duration(l.Burst-1) * l.Every)
	if deadline, ok := ctx.Deadline(); ok && at.After(deadline) {
		return at, errors.New("file limiter: no token before the deadline")
	}
	_, err = f.WriteAt(fmt.Appendf(nil, "%020d\n", full.Add(l.Every).UnixNano()), 0)
	return at, err
}

// lock waits for the lock on f.
func lock(f *os.File) error {
	for {
		if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX); !errors.Is(err, syscall.EINTR) {
			return err
		}
	}
}

// readTime reads the time in f. It returns empty if f is new.
func readTime(f *os.File, empty time.Time) (time.Time, error) {
	text, err := io.ReadAll(io.LimitReader(f, 64))
	if err != nil || len(text) == 0 {
		return empty, err
	}
	nanoseconds, err := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64)
	if err != nil {
		return empty, fmt.Errorf("file limiter: %s is not a file of this limiter: remove it, or name another", f.Name())
	}
	return time.Unix(0, nanoseconds), nil
}

// Two clients, as in two processes, share three calls an hour.
func Example_sharedLimit() {
	store := commercetest.NewStore(commercetest.Config{})
	dir, err := os.MkdirTemp("", "recipes")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = os.RemoveAll(dir) }()
	file := filepath.Join(dir, "store.limit")

	one := store.Client(commerce.WithLimiter(&FileLimiter{Path: file, Every: 20 * time.Minute, Burst: 3}))
	other := store.Client(commerce.WithLimiter(&FileLimiter{Path: file, Every: 20 * time.Minute, Burst: 3}))
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	for _, client := range []*commerce.Client{one, other, one, other} {
		_, err := client.Subscriptions.List(ctx, nil)
		fmt.Println(err)
	}
	// Output:
	// <nil>
	// <nil>
	// <nil>
	// commerce: Subscriptions.List: the limiter refused the attempt (attempts 0)
}

// Two limiters with the same file return tokens at the rate of one.
func TestFileLimiter_rate(t *testing.T) {
	t.Parallel()
	for _, burst := range []int{1, 5} {
		t.Run(strconv.Itoa(burst), func(t *testing.T) {
			t.Parallel()
			file := filepath.Join(t.TempDir(), "limit")
			synctest.Test(t, func(t *testing.T) {
				const every, each = 40 * time.Millisecond, 10
				start := time.Now()
				var mu sync.Mutex
				var got []time.Duration
				var users sync.WaitGroup
				for range 2 {
					l := &FileLimiter{Path: file, Every: every, Burst: burst}
					users.Go(func() {
						for range each {
							if err := l.Wait(t.Context()); err != nil {
								t.Error(err)
							}
							mu.Lock()
							got = append(got, time.Since(start))
							mu.Unlock()
						}
					})
				}
				users.Wait()
				slices.Sort(got)
				var want []time.Duration
				for i := range 2 * each {
					want = append(want, time.Duration(max(0, i-burst+1))*every)
				}
				if diff := cmp.Diff(want, got); diff != "" {
					t.Errorf("times (-want +got):\n%s", diff)
				}
				time.Sleep(time.Hour) // the bucket is full again, and no fuller
				start = time.Now()
				for range burst + 1 {
					if err := (&FileLimiter{Path: file, Every: every, Burst: burst}).Wait(t.Context()); err != nil {
						t.Error(err)
					}
				}
				if d := time.Since(start); d != every {
					t.Errorf("after a pause, %d tokens took %s, want %s", burst+1, d, every)
				}
			})
		})
	}
}

// Processes share a bucket that gets no new token during the test. Without the lock,
// two processes would often take the same token.
func TestFileLimiter_processes(t *testing.T) {
	t.Parallel()
	const processes, tokens = 3, 2000
	file := filepath.Join(t.TempDir(), "limit")
	var running []*exec.Cmd
	var outputs [processes]strings.Builder
	for i := range processes {
		cmd := child(t, "limiter", "RECIPES_FILE="+file, "RECIPES_BURST="+strconv.Itoa(tokens))
		cmd.Stdout = &outputs[i]
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		running = append(running, cmd)
	}
	sum := 0
	for i, cmd := range running {
		if err := cmd.Wait(); err != nil {
			t.Errorf("process %d: %v", i, err)
		}
		n, err := strconv.Atoi(strings.TrimSpace(outputs[i].String()))
		if err != nil {
			t.Errorf("process %d: %v", i, err)
		}
		sum += n
	}
	if sum != tokens {
		t.Errorf("%d processes took %d tokens, want %d", processes, sum, tokens)
	}
}

func init() { children["limiter"] = takeTokens }

// takeTokens takes tokens from a bucket of RECIPES_BURST until it is empty, and prints
// how many it took.
func takeTokens() int {
	burst, err := strconv.Atoi(os.Getenv("RECIPES_BURST"))
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	l := &FileLimiter{Path: os.Getenv("RECIPES_FILE"), Every: time.Hour, Burst: burst}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	n := 0
	for l.Wait(ctx) == nil {
		n++
	}
	fmt.Println(n)
	return 0
}

func TestFileLimiter_file(t *testing.T) {
	t.Parallel()
	const invalid = "file limiter: Every must be positive, and Burst at least 1"
	perHour := FileLimiter{Every: time.Hour, Burst: 1}
	tests := []struct {
		name      string
		limiter   FileLimiter
		content   string        // of the file; "" for none
		fullAfter time.Duration // in place of content: the bucket is full again after this time
		err       string
		wait      time.Duration
	}{
		{name: "new file", limiter: perHour},
		{name: "full again long ago", limiter: perHour, content: "00000000000000000001\n"},
		{name: "no Every", limiter: FileLimiter{Burst: 1}, err: invalid},
		{name: "no Burst", limiter: FileLimiter{Every: 1}, err: invalid},
		{name: "a file of something else", limiter: perHour, content: "hello",
			err: "file limiter: FILE is not a file of this limiter: remove it, or name another"},
		{name: "no folder", limiter: FileLimiter{Path: "/nowhere/limit", Every: 1, Burst: 1},
			err: "open /nowhere/limit: no such file or directory"},
		{name: "clock was set back", limiter: FileLimiter{Every: time.Second, Burst: 1}, fullAfter: time.Hour},
		{name: "a long queue", limiter: FileLimiter{Every: time.Minute, Burst: 1}, fullAfter: time.Hour, wait: time.Hour},
		{name: "beyond the deadline", limiter: perHour, fullAfter: 48 * time.Hour,
			err: "file limiter: no token before the deadline"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			file := filepath.Join(t.TempDir(), "limit")
			if tt.limiter.Path == "" {
				tt.limiter.Path = file
			}
			synctest.Test(t, func(t *testing.T) {
				start := time.Now()
				content := tt.content
				if tt.fullAfter > 0 {
					content = fmt.Sprintf("%020d\n", start.Add(tt.fullAfter).UnixNano())
				}
				if content != "" {
					if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
						t.Fatal(err)
					}
				}
				ctx, cancel := context.WithTimeout(t.Context(), 24*time.Hour)
				defer cancel()
				got := ""
				if err := tt.limiter.Wait(ctx); err != nil {
					got = strings.ReplaceAll(err.Error(), file, "FILE")
				}
				if got != tt.err {
					t.Errorf("Wait() = %q, want %q", got, tt.err)
				}
				if d := time.Since(start); d != tt.wait {
					t.Errorf("Wait() took %s, want %s", d, tt.wait)
				}
			})
		})
	}
}

func TestFileLimiter_cancel(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "limit")
	synctest.Test(t, func(t *testing.T) {
		l := &FileLimiter{Path: file, Every: time.Hour, Burst: 1}
		if err := l.Wait(t.Context()); err != nil {
			t.Error(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- l.Wait(ctx) }()
		synctest.Wait()
		cancel()
		if err := <-ended; !errors.Is(err, context.Canceled) {
			t.Errorf("Wait() = %v, want context.Canceled", err)
		}
		if err := l.Wait(ctx); !errors.Is(err, context.Canceled) {
			t.Errorf("Wait() after the end of the context = %v, want context.Canceled", err)
		}
	})
}
