package rediscommerce

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"syscall"
	"testing"

	"github.com/redis/go-redis/v9"
)

// The text of an error holds no address, and the error matches no error of a context: the caller's
// own has not ended.
func TestUnavailableError(t *testing.T) {
	t.Parallel()
	const address = "10.1.2.3:6379"
	peer := &net.TCPAddr{IP: net.IPv4(10, 1, 2, 3), Port: 6379}
	for _, tt := range []struct {
		name string
		err  error
		want string
	}{
		{name: "refused", err: &net.OpError{Op: "dial", Addr: peer, Err: syscall.ECONNREFUSED}, want: "connection refused"},
		{name: "no such host", err: &net.DNSError{Err: "no such host", Name: address}, want: "connection error"},
		{name: "dial timed out", err: &net.OpError{Op: "dial", Addr: peer, Err: context.DeadlineExceeded},
			want: "it did not respond in time"},
		{name: "context of the command", err: fmt.Errorf("%s: %w", address, context.DeadlineExceeded),
			want: "it did not respond in time"},
		{name: "canceled", err: fmt.Errorf("%s: %w", address, context.Canceled), want: "connection error"},
		{name: "pool", err: redis.ErrPoolTimeout, want: "it did not respond in time"},
		{name: "closed", err: io.EOF, want: "the connection was closed"},
		{name: "of the server", err: serverError("MOVED 1 " + address), want: "it responded with MOVED"},
		{name: "a command with values", err: serverError("ERR unknown command 'SET', with args beginning with: " + address),
			want: "it responded with ERR"},
		{name: "a line of the script", err: serverError("ERR no command from " + address + ", on @user_script:2."),
			want: "it responded with ERR to INFO"},
		{name: "a line without a command", err: serverError("ERR 1+1, on @user_script:1."), want: "it responded with ERR"},
		{name: "a line of another script", err: serverError("ERR oh, on @user_script:9."), want: "it responded with ERR"},
		{name: "unknown", err: errors.New(address), want: "connection error"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			err := error(&unavailableError{err: tt.err, script: "local a\nreturn redis.call('INFO')"})
			if text := err.Error(); !strings.HasSuffix(text, ": "+tt.want) {
				t.Errorf("got %q, want %q at the end", text, tt.want)
			}
			if text := fmt.Sprintf("%v %+v %s", err, err, err); strings.Contains(text, address) {
				t.Errorf("got %q, want no address", text)
			}
			if errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled) {
				t.Error("the error matches one of a context")
			}
			if original, ok := errors.AsType[*net.OpError](err); tt.name == "refused" && (!ok || original.Addr != peer) {
				t.Errorf("errors.AsType found %v, want the original error", original)
			}
		})
	}
	if err := (&unavailableError{err: io.EOF}); !errors.Is(err, io.EOF) {
		t.Error("errors.Is does not find the original error")
	}
}

// serverError is an error that a server sent.
type serverError string

func (e serverError) Error() string { return string(e) }

func (serverError) RedisError() {}
