package transport

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"syscall"
	"time"
)

func (c *call) logAttempt(start time.Time) {
	if c.Logger == nil {
		return
	}
	attrs := append(c.attrs(), slog.Duration("duration", time.Since(start)))
	c.Logger.LogAttrs(c.ctx, slog.LevelDebug, "commerce: attempt", attrs...)
}

// attrs are what every event tells: nothing of the address but the operation,
// nothing of the payload.
func (c *call) attrs() []slog.Attr {
	attrs := []slog.Attr{
		slog.String("op", c.Op),
		slog.String("method", c.Method),
		slog.Int("attempt", c.result.Attempts),
	}
	if c.result.StatusCode != 0 {
		attrs = append(attrs, slog.Int("status", c.result.StatusCode))
	}
	if id := RequestID(c.result.Header); id != "" {
		attrs = append(attrs, slog.String("request_id", id))
	}
	if c.result.Err != nil {
		attrs = append(attrs, slog.String("error", logText(c.result.Err)))
	}
	return attrs
}

// logText returns the text of an error for a log event, which must not name a host or
// an address. It shows only texts that are known to contain neither.
func logText(err error) string {
	if e, ok := errors.AsType[*net.OpError](err); ok {
		return logOperation(e) + logText(e.Err)
	}
	if e, ok := errors.AsType[*net.DNSError](err); ok {
		switch {
		case e.IsNotFound:
			return "lookup: no such host"
		case e.IsTimeout:
			return "lookup: timeout"
		}
		return "lookup: failed"
	}
	if e, ok := errors.AsType[syscall.Errno](err); ok {
		return e.Error()
	}
	for _, known := range []error{
		context.Canceled, context.DeadlineExceeded, io.EOF, io.ErrUnexpectedEOF, io.ErrNoProgress, net.ErrClosed,
		io.ErrClosedPipe, os.ErrDeadlineExceeded, ErrLimiter, ErrGate, errTimeout, errTooLarge, errNoAnswer,
		errBodySent, errSecondSend, errConnsFailed, errSwitched,
	} {
		if errors.Is(err, known) {
			return known.Error()
		}
	}
	return fmt.Sprintf("failed (%T)", innermost(err))
}

// logOperation returns the operation of e, with a colon, if it is one of net or tls.
func logOperation(e *net.OpError) string {
	switch e.Op {
	case "dial", "read", "write", "proxyconnect", "remote error", "local error":
		return e.Op + ": "
	}
	return ""
}
