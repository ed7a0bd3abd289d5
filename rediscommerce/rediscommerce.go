// Package rediscommerce shares the rate limit and the carts of a store between processes and
// machines, on Redis. [Limiter] is for [commerce.WithLimiter], [Locker] for
// [commerce.WithCartLocker]:
//
//	limiter, err := rediscommerce.NewLimiter(server, rediscommerce.LimiterConfig{
//		PerSecond: 90, // 90 % of the 100 of a production store; 22.5 for a development store with 25
//	})
//	…
//	locker, err := rediscommerce.NewLocker(server, rediscommerce.LockerConfig{})
//	…
//	client, err := commerce.New(baseURL, credentials,
//		commerce.WithLimiter(limiter), commerce.WithCartLocker(locker))
//
// It needs Redis 6 or later, or Valkey. The user of the server needs the right to run scripts
// (SCRIPT LOAD, EVAL, EVALSHA), to read and write the keys "commerce/limit" and "commerce/locks",
// and to call TIME and INFO. The folder example has a complete program. README.md describes how to
// set up a service of many processes, and what a lock cannot prevent.
package rediscommerce

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"reflect"
	"regexp"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/commerce-go/commerce"
)

// defaultTimeout is the default time to wait for a response of the server.
const defaultTimeout = 2 * time.Second

// invalid returns the error of an argument. It matches [commerce.ErrInvalidArgument].
func invalid(field, problem string) error {
	return fmt.Errorf("%w: rediscommerce: %s %s", commerce.ErrInvalidArgument, field, problem)
}

// server runs scripts.
type server struct {
	client        redis.UniversalClient
	timeout       time.Duration
	ifUnavailable func(ctx context.Context, err error) error
}

func newServer(
	c redis.UniversalClient, timeout time.Duration, ifUnavailable func(context.Context, error) error,
) (*server, error) {
	if v := reflect.ValueOf(c); c == nil || v.Kind() == reflect.Pointer && v.IsNil() {
		return nil, invalid("client", "must not be nil")
	}
	if _, ok := c.(*redis.Ring); ok {
		return nil, invalid("client", "must not be a Ring: its processes may disagree about which server has a key")
	}
	if timeout < 0 {
		return nil, invalid("Timeout", "must not be negative")
	}
	if timeout == 0 {
		timeout = defaultTimeout
	}
	return &server{client: c, timeout: timeout, ifUnavailable: ifUnavailable}, nil
}

// timeoutOf returns how long a call waits for a response: at most for the timeout, and for half of
// the time to its deadline, so that IfUnavailable can still let the call go on.
func (s *server) timeoutOf(ctx context.Context) time.Duration {
	if deadline, ok := ctx.Deadline(); ok {
		return min(s.timeout, time.Until(deadline)/2)
	}
	return s.timeout
}

// script is a script of Lua.
type script struct {
	source string
	sha    atomic.Value // its SHA-1, a string, from a server: a FIPS 140 program must not compute it
}

// runOn runs the script, which the server then has.
func (s *script) runOn(ctx context.Context, c redis.UniversalClient, key string, args ...any) *redis.Cmd {
	sha, _ := s.sha.Load().(string)
	if sha == "" { // not c.ScriptLoad: of a cluster, that waits for every server, also one that hangs
		if sha = s.load(ctx, c, key); sha != "" {
			s.sha.Store(sha)
		}
	}
	if sha != "" {
		if cmd := c.EvalSha(ctx, sha, []string{key}, args...); !redis.HasErrorPrefix(cmd.Err(), "NOSCRIPT") {
			return cmd
		}
	}
	return c.Eval(ctx, s.source, []string{key}, args...)
}

// load loads the script into the server of the key, and returns its SHA-1, or "".
func (s *script) load(ctx context.Context, c redis.UniversalClient, key string) string {
	if cluster, ok := c.(*redis.ClusterClient); ok {
		node, err := cluster.MasterForKey(ctx, key)
		if err != nil {
			return ""
		}
		return node.ScriptLoad(ctx, s.source).Val()
	}
	return c.ScriptLoad(ctx, s.source).Val()
}

// run runs a script, and waits for its response until ctx or the timeout ends. response has two
// elements. go-redis heeds the deadline of ctx only if it is set up so, and it sends a command
// again on its own: a script may run twice, or after run has returned. If err is not nil, late
// receives the response when go-redis returns, nil if there is none.
func (s *server) run(
	ctx context.Context, script *script, key string, args ...any,
) (response []string, late <-chan []string, err error) {
	limited, cancel := context.WithTimeout(ctx, s.timeoutOf(ctx))
	defer cancel()
	responses, ended := make(chan []string, 1), make(chan error, 1)
	go func() {
		response, err := script.runOn(limited, s.client, key, args...).StringSlice()
		if err == nil && len(response) != 2 {
			response, err = nil, errors.New("the response has another form")
		}
		responses <- response
		ended <- err
	}()
	select {
	case err = <-ended:
	case <-limited.Done():
		err = os.ErrDeadlineExceeded
	}
	switch {
	case err == nil:
		return <-responses, nil, nil
	case ctx.Err() != nil:
		return nil, responses, ctx.Err()
	default:
		return nil, responses, &unavailableError{err, script.source}
	}
}

// goOn returns nil if the call goes on although the server cannot be used.
func (s *server) goOn(ctx context.Context, err error) error {
	switch {
	case ctx.Err() != nil && !errors.Is(err, ctx.Err()):
		return ctx.Err()
	case ctx.Err() != nil, s.ifUnavailable == nil:
		return err
	}
	return s.ifUnavailable(ctx, err)
}

// ErrUnavailable is matched by the error of a call that ended because the server of a [Limiter] or
// a [Locker] cannot be used. The store was not asked. That of a Locker matches [commerce.ErrLock]
// too. If the server refused a command, the text names the command.
var ErrUnavailable = errors.New("rediscommerce: the server cannot be used")

// unavailableError means that the server cannot be used. Its text has no address. errors.Is and
// errors.As find the error of go-redis, which may have one.
type unavailableError struct {
	err    error
	script string // its source; empty: there is none
}

func (e *unavailableError) Error() string { return ErrUnavailable.Error() + ": " + e.reason() }

// SafeMessage lets the library show the reason.
func (e *unavailableError) SafeMessage() string { return e.Error() }

// Is never matches the errors of a context: they mean that the caller's context has ended.
func (e *unavailableError) Is(target error) bool {
	isOfContext := target == context.Canceled || target == context.DeadlineExceeded
	return target == ErrUnavailable || !isOfContext && errors.Is(e.err, target)
}

func (e *unavailableError) As(target any) bool { return errors.As(e.err, target) }

// code is how an error of the server begins.
var code = regexp.MustCompile(`^[A-Z]*`)

func (e *unavailableError) reason() string {
	if refused, ok := errors.AsType[redis.Error](e.err); ok {
		text := refused.Error()
		response := "it responded with " + code.FindString(text) // the rest may be an address, as in MOVED
		if command := e.command(text); command != "" {
			response += " to " + command
		}
		switch {
		case strings.HasPrefix(text, "NOPERM"), strings.Contains(text, "user executing the script can't"):
			return response + ": its user must be allowed to run scripts with INFO, TIME, and the commands that " +
				"README.md names, on its keys"
		case strings.HasPrefix(text, "NOINFO"):
			return "INFO must show run_id and master_replid"
		}
		return response
	}
	if number, ok := errors.AsType[syscall.Errno](e.err); ok {
		return number.Error()
	}
	timeout, ok := errors.AsType[interface {
		error
		Timeout() bool
	}](e.err)
	switch {
	case ok && timeout.Timeout(), errors.Is(e.err, redis.ErrPoolTimeout):
		return "it did not respond in time"
	case errors.Is(e.err, io.EOF), errors.Is(e.err, io.ErrUnexpectedEOF):
		return "the connection was closed"
	case errors.Is(e.err, redis.ErrClosed):
		return "the client is closed"
	default:
		return "connection error"
	}
}

var (
	scriptLine = regexp.MustCompile(`:(\d+)[:.]`) // in an error of Redis, Valkey or miniredis
	redisCall  = regexp.MustCompile(`redis\.call\('([A-Z]+)'`)
	evalsha    = regexp.MustCompile("(?i)['`]evalsha['`]")
)

// command returns the command to which the server responded with an error, or "". The text of the
// error may hold values, but it has the line of the script.
func (e *unavailableError) command(text string) string {
	if evalsha.MatchString(text) {
		return "EVALSHA"
	}
	lines := strings.Split(e.script, "\n")
	if m := scriptLine.FindStringSubmatch(text); m != nil {
		if n, err := strconv.Atoi(m[1]); err == nil && n >= 1 && n <= len(lines) {
			if call := redisCall.FindStringSubmatch(lines[n-1]); call != nil {
				return call[1]
			}
		}
	}
	return ""
}
