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
	c.log(slog.LevelDebug, "commerce: attempt", slog.Duration("duration", time.Since(start)))
}

// log writes an event with what is known of the last attempt: no URL, no network address, no header, no body.
func (c *call) log(level slog.Level, message string, last slog.Attr) {
	if c.Logger == nil {
		return
	}
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
	c.Logger.LogAttrs(c.ctx, level, message, append(attrs, last)...)
}

// logText returns the text of an error for a log event. It shows only texts that are known to contain no host name and
// no address.
func logText(err error) string {
	if e, ok := errors.AsType[*net.OpError](err); ok {
		switch e.Op {
		case "dial", "read", "write", "proxyconnect", "remote error", "local error":
			return e.Op + ": " + logText(e.Err)
		}
		return logText(e.Err)
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
		io.ErrClosedPipe, os.ErrDeadlineExceeded, ErrLimiter, ErrGate, ErrTimeout, errTooLarge, errNoResponse,
		errBodySent, errSecondSend, errConnsFailed, errSwitched,
	} {
		if errors.Is(err, known) {
			return known.Error()
		}
	}
	return fmt.Sprintf("failed (%T)", innermost(err))
}
