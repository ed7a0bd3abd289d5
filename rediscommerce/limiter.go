package rediscommerce

import (
	"context"
	_ "embed"
	"errors"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/commerce-go/commerce"
)

// LimiterConfig sets up a [Limiter].
type LimiterConfig struct {
	// Name of the store's limit, and the key of the server that holds it. Limiters with the same
	// name share a limit, and should have the same PerSecond and Burst. Default "commerce/limit".
	Name string
	// PerSecond is the number of calls that may start in a second, from 0.001 to 100,000. Set it to
	// 90 % of what the store accepts.
	PerSecond float64
	// Burst is the number of calls that may start at once after a pause, at most a million.
	// Default 1.
	Burst int
	// Timeout is how long a call waits for a response of the server, at most half of the time to
	// its deadline. Default 2 s.
	Timeout time.Duration
	// IfUnavailable is called if the server cannot be used. If it returns nil, the call goes on
	// without the limit, otherwise it ends with that error. Without IfUnavailable, the call ends.
	// A call that ends was not sent. The text of err has no address, but errors.As finds in err
	// the error of go-redis, which may have one.
	IfUnavailable func(ctx context.Context, err error) error
}

// Limiter is a [commerce.Limiter] that processes share. It is safe for concurrent use.
//
// Each call reserves the next slot on the server, and then waits for it, so calls start in the
// order in which they asked. If the slot comes after the deadline of the call, the call takes none
// and ends at once. A call that ends while it waits gives its slot up, for the next call that asks.
// A call that waits for long asks twice a second whether there is an earlier slot now. The slots of
// a process that dies are lost. The rate may be exceeded for a moment if the server loses its data,
// or its clock jumps forward. If its clock is set back, nobody waits longer.
type Limiter struct {
	server   *server
	name     string
	interval string // in microseconds
	burst    int
}

var _ commerce.Limiter = (*Limiter)(nil)

//go:embed limit.lua
var limitSource string

var limitScript = &script{source: limitSource}

var errNoSlot = errors.New("rediscommerce: the rate limit has no slot before the deadline of the call")

// NewLimiter returns a limiter on the server of c. c should have timeouts, as it has by default:
// a call ends in time without them, but leaves a goroutine behind if the server never responds.
func NewLimiter(c redis.UniversalClient, cfg LimiterConfig) (*Limiter, error) {
	server, err := newServer(c, cfg.Timeout, cfg.IfUnavailable)
	switch {
	case err != nil:
		return nil, err
	case !(cfg.PerSecond >= 0.001 && cfg.PerSecond <= 100_000): // also if it is not a number
		return nil, invalid("PerSecond", "must be from 0.001 to 100,000")
	case cfg.Burst < 0 || cfg.Burst > 1_000_000:
		return nil, invalid("Burst", "must be from 1 to 1,000,000, or 0 for 1")
	}
	if cfg.Name == "" {
		cfg.Name = "commerce/limit"
	}
	return &Limiter{
		server: server, name: cfg.Name, burst: max(1, cfg.Burst),
		interval: strconv.FormatFloat(1e6/cfg.PerSecond, 'f', 3, 64),
	}, nil
}

// Wait implements [commerce.Limiter].
func (l *Limiter) Wait(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	longest := int64(-1)
	if deadline, ok := ctx.Deadline(); ok {
		longest = max(0, time.Until(deadline).Microseconds())
	}
	s, late, err := l.reserve(ctx, longest, "")
	if err != nil {
		if err = l.server.goOn(ctx, err); err != nil {
			go l.giveUpLate(context.WithoutCancel(ctx), late)
		}
		return err
	}
	if s.time == "" {
		return errNoSlot
	}
	return l.await(ctx, s)
}

// slot is a time at which a call may start.
type slot struct {
	time string    // by the clock of the server; "" if there is none to give up
	at   time.Time // by the clock of the process
}

// lookAgain is how long a call waits before it asks for an earlier slot, and the shortest wait for
// which it does.
const lookAgain = 500 * time.Millisecond

// await waits for a slot, or for an earlier one that another call gave up. If ctx ends, it gives
// the slot up.
func (l *Limiter) await(ctx context.Context, s slot) error {
	detached := context.WithoutCancel(ctx)
	for {
		left := time.Until(s.at)
		if err := sleep(ctx, min(left, lookAgain)); err != nil {
			go l.giveUp(detached, s)
			return err
		}
		if left <= lookAgain {
			return nil
		}
		if s.time == "" {
			continue
		}
		exchanged := make(chan slot, 1)
		go func() { exchanged <- l.exchange(detached, s) }()
		select {
		case s = <-exchanged:
		case <-ctx.Done():
			go func() { l.giveUp(detached, <-exchanged) }()
			return ctx.Err()
		}
	}
}

// exchange returns an earlier slot, or s if there is none.
func (l *Limiter) exchange(ctx context.Context, s slot) slot {
	ctx, cancel := context.WithDeadline(ctx, s.at)
	defer cancel()
	earlier, _, err := l.reserve(ctx, max(0, time.Until(s.at).Microseconds()), s.time)
	switch {
	case err != nil: // the call may have either: it uses this one, and must not give it up for another call
		return slot{at: s.at}
	case earlier.time != "":
		return earlier
	default:
		return s
	}
}

// reserve reserves a slot, unless the call would wait for it for more than longest microseconds
// (-1: any). If the call has a slot, mine, it reserves only an earlier one, and gives mine up. late
// is for giveUpLate.
func (l *Limiter) reserve(
	ctx context.Context, longest int64, mine string,
) (s slot, late <-chan []string, err error) {
	// A script that go-redis sends again may reserve a second slot, which is lost.
	response, late, err := l.server.run(ctx, limitScript, l.name, l.interval, l.burst, longest, mine)
	if err != nil || response[0] != "reserved" {
		return slot{}, late, err
	}
	text, reserved, _ := strings.Cut(response[1], " ")
	wait, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return slot{}, late, &unavailableError{err: err}
	}
	return slot{reserved, time.Now().Add(time.Duration(wait) * time.Microsecond)}, late, nil
}

// giveUpLate gives up the slot that a command may still reserve.
func (l *Limiter) giveUpLate(ctx context.Context, late <-chan []string) {
	if response := <-late; response != nil && response[0] == "reserved" {
		_, reserved, _ := strings.Cut(response[1], " ")
		l.giveUp(ctx, slot{time: reserved})
	}
}

// giveUp lets another call have a slot. If the server cannot be used, the slot is lost.
func (l *Limiter) giveUp(ctx context.Context, s slot) {
	if s.time != "" {
		_, _, _ = l.server.run(ctx, limitScript, l.name, l.interval, l.burst, "", s.time)
	}
}

// sleep returns after d, or with the error of ctx when that ends.
func sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return ctx.Err()
	case <-ctx.Done():
		return ctx.Err()
	}
}
