package future_test

import (
	"context"
	"errors"
	"testing"

	"github.com/commerce-go/commerce/internal/future"
)

var errTest = errors.New("test")

func TestWait(t *testing.T) {
	t.Parallel()
	f := future.Go(func() (int, error) { return 7, errTest })
	for range 2 { // any number of callers may wait
		if got, err := f.Wait(t.Context()); got != 7 || !errors.Is(err, errTest) {
			t.Errorf("Wait() = %d, %v; want 7, %v", got, err, errTest)
		}
	}
	select {
	case <-f.Done():
	default:
		t.Error("Done() is open after the function returned, want closed")
	}
}

func TestWait_contextEnds(t *testing.T) {
	t.Parallel()
	release := make(chan struct{})
	f := future.Go(func() (int, error) { <-release; return 7, nil })
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if got, err := f.Wait(ctx); got != 0 || !errors.Is(err, context.Canceled) {
		t.Errorf("Wait() = %d, %v; want 0, %v", got, err, context.Canceled)
	}
	close(release)
	if got, err := f.Wait(t.Context()); got != 7 || err != nil {
		t.Errorf("Wait() = %d, %v after a wait that was given up; want 7, nil", got, err)
	}
}

func TestWait_panics(t *testing.T) {
	t.Parallel()
	f := future.Go(func() (int, error) { panic("test") })
	defer func() {
		if got := recover(); got != "test" {
			t.Errorf("Wait() panicked with %v, want test", got)
		}
	}()
	_, _ = f.Wait(t.Context())
	t.Error("Wait() returned, want a panic")
}
