// Package sqlcommerce shares the carts of a store between processes and machines, by a table of the
// application's own database. [Locker] is for [commerce.WithCartLocker]:
//
//	locker, err := sqlcommerce.NewLocker(ctx, db, sqlcommerce.LockerConfig{Dialect: sqlcommerce.PostgreSQL})
//	…
//	client, err := commerce.New(baseURL, credentials, commerce.WithCartLocker(locker))
//
// It needs PostgreSQL 13 or later, or SQLite 3.42 or later, and has no driver: db comes from the
// application.
package sqlcommerce

import (
	"cmp"
	"context"
	"crypto/rand"
	"database/sql"
	"errors"
	"fmt"
	mathrand "math/rand/v2"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/commerce-go/commerce"
	"github.com/commerce-go/commerce/internal/lease"
)

// Dialect is the kind of a database.
type Dialect uint8

// The databases that a [Locker] can use.
const (
	PostgreSQL Dialect = iota + 1
	SQLite
)

// clocks are the time of the database, in milliseconds since 1970: when the row is looked at, not
// when the statement, or a transaction around it, began.
var clocks = map[Dialect]string{
	PostgreSQL: "CAST(extract(epoch FROM clock_timestamp()) * 1000 AS bigint)",
	SQLite:     "CAST(unixepoch('subsec') * 1000 AS INTEGER)",
}

// LockerConfig sets up a [Locker].
type LockerConfig struct {
	// Dialect is required.
	Dialect Dialect
	// Table is the name of the table, with or without a schema: letters, digits and underscores.
	// All processes must use the same. Default "commerce_locks".
	Table string
	// Expiry is how long others wait for the lock of a process that died, and at most a quarter
	// more, from 1 s to 10 min: its last write may arrive so late. A process that cannot reach the
	// database loses its locks after Expiry; if it dies then, others wait for a quarter at least.
	// Default 10 s.
	Expiry time.Duration
}

func (c LockerConfig) table() string { return cmp.Or(c.Table, "commerce_locks") }

// Schema returns the statement that makes the table. [NewLocker] executes it if there is no table.
// If its user must not, execute it yourself: the user then needs the rights to SELECT, INSERT,
// UPDATE and DELETE.
func (c LockerConfig) Schema() string {
	return "CREATE TABLE IF NOT EXISTS " + c.table() + " (\n" +
		"\tname   TEXT   NOT NULL PRIMARY KEY,\n" +
		"\tholder TEXT   NOT NULL,\n" +
		"\tends   BIGINT NOT NULL -- in milliseconds since 1970\n)"
}

// Locker is a [commerce.Locker] that processes share. It is safe for concurrent use.
//
// A lock is a lease: a row with an end by the clock of the database, which its holder moves each
// quarter of Expiry to 1.25 of Expiry later, unless it has passed. The holder relies on its lease
// until Expiry after it sent the last statement that moved the end, by its own clocks. Therefore a
// process may stop at any point between two writes. The clock of the database must not be set
// forward, and no clock may run more than a tenth faster than another.
//
// A call that waits asks each 50 to 100 ms, in no order. No connection is used in between, and none
// while a lock is held. A call ends in [ErrUnavailable] if the database has not carried out its
// statement for a quarter of Expiry.
type Locker struct {
	db       *sql.DB
	expiry   time.Duration
	releases atomic.Int64

	take, extension, deletion, sweep string
}

var _ commerce.Locker = (*Locker)(nil)

// tableName is what may be a part of a statement.
var tableName = regexp.MustCompile(`^[A-Za-z_]\w*(\.[A-Za-z_]\w*)?$`)

// NewLocker returns a locker on a database. It makes the table if there is none, and tries a lock,
// so that a missing right is found now. The error then matches [ErrUnavailable]; its text is that
// of the driver.
func NewLocker(ctx context.Context, db *sql.DB, cfg LockerConfig) (*Locker, error) {
	l := &Locker{db: db, expiry: cmp.Or(cfg.Expiry, 10*time.Second)}
	clock, ok := clocks[cfg.Dialect]
	switch {
	case db == nil:
		return nil, invalid("db", "must not be nil")
	case !ok:
		return nil, invalid("Dialect", "must be PostgreSQL or SQLite")
	case !tableName.MatchString(cfg.table()):
		return nil, invalid("Table", "must be a name of letters, digits and underscores")
	case l.expiry < time.Second || l.expiry > 10*time.Minute:
		return nil, invalid("Expiry", "must be from 1 s to 10 min, or 0 for 10 s")
	}
	// Parameters are numbered as they appear: some drivers of SQLite ignore the numbers. The holder
	// of a row may take it again: the response to its first statement may have been lost.
	fill := strings.NewReplacer("{table}", cfg.table(), "{now}", clock).Replace
	l.take = fill(`INSERT INTO {table} AS l (name, holder, ends) VALUES ($1, $2, {now} + $3)
		ON CONFLICT (name) DO UPDATE SET holder = excluded.holder, ends = {now} + $3
		WHERE l.ends <= {now} OR l.holder = excluded.holder`)
	l.extension = fill(`UPDATE {table} SET ends = {now} + $1 WHERE name = $2 AND holder = $3 AND ends > {now}`)
	l.deletion = fill(`DELETE FROM {table} WHERE name = $1 AND holder = $2`)
	l.sweep = fill(`DELETE FROM {table} WHERE ends <= {now}`)
	if err := l.prepare(ctx, cfg); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrUnavailable, err)
	}
	return l, nil
}

func invalid(field, problem string) error {
	return fmt.Errorf("%w: sqlcommerce: %s %s", commerce.ErrInvalidArgument, field, problem)
}

// prepare makes the table, and executes each statement. Two processes may make it at the same time,
// which fails for one of them in PostgreSQL.
func (l *Locker) prepare(ctx context.Context, cfg LockerConfig) error {
	var err error
	if _, missing := l.db.ExecContext(ctx, "SELECT 1 FROM "+cfg.table()+" WHERE 1 = 0"); missing != nil {
		_, err = l.db.ExecContext(ctx, cfg.Schema())
	}
	holder := rand.Text()
	name := "a test of the rights/" + holder
	_, failed := l.run(ctx, l.take, name, holder, l.row())
	if failed == nil {
		_, failed = l.run(ctx, l.extension, l.row(), name, holder)
	}
	if failed == nil {
		_, failed = l.run(ctx, l.deletion, name, holder)
	}
	if failed != nil {
		return errors.Join(err, failed)
	}
	return nil
}

// row is how long a row is valid, in milliseconds. The holder relies on 0.8 of it, as clocks may
// run at different speeds. It is extended each quarter of Expiry: a dead holder's has Expiry left.
func (l *Locker) row() int64 { return (l.expiry * 5 / 4).Milliseconds() }

// Lock implements [commerce.Locker]. It waits for the lock at most until ctx ends. unlock waits
// until the database has released the lock, but not after ctx has ended.
func (l *Locker) Lock(ctx context.Context, key string) (held context.Context, unlock func(), err error) {
	holder := rand.Text()
	h, err := l.acquire(ctx, key, holder)
	if err != nil {
		return nil, nil, err
	}
	go l.extend(h, key, holder) //nolint:contextcheck // the lock is its context
	return h, sync.OnceFunc(func() {
		h.End(context.Canceled)
		select {
		case <-l.release(ctx, key, holder):
		case <-ctx.Done():
		}
	}), nil
}

// acquire asks for the lock until it is granted.
func (l *Locker) acquire(ctx context.Context, key, holder string) (*lease.Held, error) {
	for {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		start := lease.Now() // before the statement: its response may come late
		granted, err := l.run(ctx, l.take, key, holder, l.row())
		if granted {
			h := lease.New(l.expiry, start)
			if h.Err() == nil {
				return h, nil
			}
		}
		if err == nil {
			err = pause(ctx)
		}
		if err != nil { // a statement may have been carried out, although its response was lost
			l.release(ctx, key, holder)
			return nil, cmp.Or(ctx.Err(), error(&unavailableError{err}))
		}
	}
}

// extend extends the lease until the lock is lost or released. It never takes a lock again:
// another process may have had it meanwhile.
func (l *Locker) extend(h *lease.Held, key, holder string) {
	tick := time.NewTicker(l.expiry / 4)
	defer tick.Stop()
	for {
		select {
		case <-h.Done():
			return
		case <-tick.C:
		}
		start := lease.Now()
		switch extended, err := l.run(h, l.extension, l.row(), key, holder); {
		case err != nil: // the next one may succeed
		case extended:
			h.Extend(start)
		default:
			h.End(context.Canceled)
		}
	}
}

// release deletes the row if it is still this holder's, also if ctx has ended. If it fails, others
// wait until the row ends. Now and then it deletes the rows that dead processes left.
func (l *Locker) release(ctx context.Context, key, holder string) (released <-chan struct{}) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		ctx := context.WithoutCancel(ctx)
		_, _ = l.run(ctx, l.deletion, key, holder)
		if l.releases.Add(1)%sweepEach == 0 {
			_, _ = l.run(ctx, l.sweep)
		}
	}()
	return done
}

// sweepEach is the number of releases after which old rows are deleted.
const sweepEach = 100

// run executes a statement, again and again if it fails, for at most a quarter of Expiry. It
// reports whether the statement changed a row.
func (l *Locker) run(ctx context.Context, statement string, args ...any) (changed bool, err error) {
	limited, cancel := context.WithTimeout(ctx, l.expiry/4)
	defer cancel()
	for {
		result, failed := l.db.ExecContext(limited, statement, args...)
		if failed == nil {
			rows, err := result.RowsAffected()
			return rows > 0, err
		}
		if err == nil || limited.Err() == nil { // the end of limited would hide the cause
			err = failed
		}
		if pause(limited) != nil {
			return false, err
		}
	}
}

// pause waits for 50 to 100 ms: processes must not ask in step.
func pause(ctx context.Context) error {
	timer := time.NewTimer(50*time.Millisecond + mathrand.N(50*time.Millisecond)) //nolint:gosec // no secret
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}

// ErrUnavailable is matched by the error of a call that ended because the database of a [Locker]
// cannot be used. The store was not asked. The error matches [commerce.ErrLock] too. Its text names
// the SQLSTATE, if there is one.
var ErrUnavailable = errors.New("sqlcommerce: the database cannot be used")

// unavailableError means that the database cannot be used. Its text has no address. errors.Is and
// errors.As find the error of the driver, which may have one.
type unavailableError struct{ err error }

func (e *unavailableError) Error() string {
	text := ErrUnavailable.Error()
	if state, ok := errors.AsType[interface {
		error
		SQLState() string
	}](e.err); ok {
		text += ": SQLSTATE " + state.SQLState()
	}
	return text
}

// SafeMessage lets the library show the reason.
func (e *unavailableError) SafeMessage() string { return e.Error() }

// Is never matches the errors of a context: they mean that the caller's context has ended.
func (e *unavailableError) Is(target error) bool {
	isOfContext := target == context.Canceled || target == context.DeadlineExceeded
	return target == ErrUnavailable || !isOfContext && errors.Is(e.err, target)
}

func (e *unavailableError) As(target any) bool { return errors.As(e.err, target) }
