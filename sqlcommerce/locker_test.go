//go:build unix

package sqlcommerce_test

import (
	"context"
	"database/sql"
	"errors"
	"io"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/commerce-go/commerce"
	"github.com/commerce-go/commerce/sqlcommerce"
)

func TestNewLocker_arguments(t *testing.T) {
	t.Parallel()
	db := newDatabase("sqlite", ":memory:").open(t)
	for want, cfg := range map[string]sqlcommerce.LockerConfig{
		"Dialect must be": {},
		"Table must be":   {Dialect: sqlcommerce.SQLite, Table: "locks; DROP TABLE carts"},
		"Expiry must be":  {Dialect: sqlcommerce.SQLite, Expiry: time.Second - 1},
	} {
		_, err := sqlcommerce.NewLocker(t.Context(), db, cfg)
		if !errors.Is(err, commerce.ErrInvalidArgument) || !strings.Contains(err.Error(), want) {
			t.Errorf("NewLocker(%+v) = %v, want it to name %q", cfg, err, want)
		}
	}
}

// Processes may make the table at the same time. Rows that dead processes left are deleted.
func TestLocker_table(t *testing.T) {
	t.Parallel()
	eachDatabase(t, func(t *testing.T, d database) {
		db := d.open(t)
		var running sync.WaitGroup
		for range 8 {
			running.Go(func() {
				if _, err := sqlcommerce.NewLocker(t.Context(), d.open(t), d.LockerConfig); err != nil {
					t.Errorf("NewLocker() = %v, want no error", err)
				}
			})
		}
		running.Wait()
		l := d.locker(t, db)
		lock(t, l, cart)
		execute(t, db, "INSERT INTO commerce_locks (name, holder, ends) VALUES ('old', 'dead', 1)")
		for range 100 {
			_, unlock, _ := lock(t, l, "another")
			unlock()
		}
		var rows, old int
		err := db.QueryRowContext(t.Context(), "SELECT count(*), sum(CASE name WHEN 'old' THEN 1 ELSE 0 END) FROM commerce_locks").
			Scan(&rows, &old)
		if err != nil || rows != 1 || old != 0 {
			t.Errorf("got %d rows, %d of them old, %v; want the one of the lock", rows, old, err)
		}
	})
}

// A call waits until its context ends, and the error is that of the context. A lock that another has
// taken is lost, although the other has released it.
func TestLocker_lost(t *testing.T) {
	t.Parallel()
	eachDatabase(t, func(t *testing.T, d database) {
		db := d.open(t)
		l := d.locker(t, db)
		first, _, _ := lock(t, l, cart)
		ctx, cancel := context.WithTimeout(t.Context(), expiry/2)
		defer cancel()
		if _, _, err := l.Lock(ctx, cart); !errors.Is(err, context.DeadlineExceeded) || errors.Is(err, sqlcommerce.ErrUnavailable) {
			t.Errorf("Lock() = %v, want the error of the context", err)
		}
		execute(t, db, "DELETE FROM commerce_locks")
		_, unlock, _ := lock(t, l, cart)
		unlock()
		select {
		case <-first.Done():
		case <-time.After(expiry * 3 / 4):
			t.Error("it holds a lock that another had meanwhile, want it to notice by the next extension")
		}
		if _, _, took := lock(t, l, cart); took > expiry/2 {
			t.Errorf("the lock is free after %v, want at once: the first holder took it again", took)
		}
	})
}

// If the response to the take is lost, the same call asks again. If it comes after the end of the
// lease, the call has no lock: another may have it.
func TestLocker_response(t *testing.T) {
	t.Parallel()
	eachDatabase(t, func(t *testing.T, d database) {
		direct := d.open(t)
		other := d.locker(t, direct)
		var took, takes atomic.Int64
		db := sql.OpenDB(hook{driver: direct.Driver(), source: d.source, after: func(query string) error {
			if !strings.HasPrefix(query, "INSERT") {
				return nil
			}
			switch takes.Add(1) {
			case 2: // the first one is that of NewLocker
				return io.ErrUnexpectedEOF
			case 4:
				time.Sleep(expiry * 3 / 2)
			}
			return nil
		}})
		t.Cleanup(func() { _ = db.Close() })
		l := d.locker(t, db)
		_, unlock, wait := lock(t, l, cart)
		if unlock(); wait > expiry/2 {
			t.Errorf("after a lost response, the lock took %v, want at most %v", wait, expiry/2)
		}
		var running sync.WaitGroup
		defer running.Wait()
		running.Go(func() {
			lock(t, l, cart)
			took.Store(time.Now().UnixNano())
		})
		time.Sleep(expiry / 4)
		_, unlock, _ = lock(t, other, cart)
		time.Sleep(expiry)
		unlocked := time.Now()
		unlock()
		running.Wait()
		if at := time.Unix(0, took.Load()); at.Before(unlocked) {
			t.Errorf("two have the lock for %v: the response came after the end of the lease", unlocked.Sub(at))
		}
	})
}

// A row is valid from when it was written, although the statement, or a transaction, waited. A
// statement that waits for a row lasts a quarter of Expiry.
func TestLocker_clock(t *testing.T) {
	t.Parallel()
	d := newPostgres(t)
	d.source += " statement_timeout=400"
	db := d.open(t)
	l := d.locker(t, db)
	execute(t, db, "INSERT INTO commerce_locks (name, holder, ends) VALUES ('"+cart+"', 'dead', 1)")
	block := func() *sql.Tx {
		tx, err := db.BeginTx(t.Context(), nil)
		if err == nil {
			_, err = tx.ExecContext(t.Context(), "UPDATE commerce_locks SET ends = 1")
		}
		if err != nil {
			t.Fatal(err)
		}
		return tx
	}
	tx := block()
	start := time.Now()
	_, _, err := l.Lock(t.Context(), cart)
	if took := time.Since(start); !errors.Is(err, sqlcommerce.ErrUnavailable) || errors.Is(err, context.DeadlineExceeded) ||
		!strings.Contains(err.Error(), "57014") || took > expiry/2 {
		t.Errorf("Lock() = %v after %v, want ErrUnavailable with the SQLSTATE", err, took)
	}
	time.AfterFunc(350*time.Millisecond, func() { _ = tx.Rollback() })
	lock(t, l, cart)
	var left float64
	err = db.QueryRowContext(t.Context(), `SELECT ends / 1000.0 - extract(epoch FROM clock_timestamp()) FROM commerce_locks`).
		Scan(&left)
	if want := (expiry * 5 / 4).Seconds(); err != nil || left < want-0.2 {
		t.Errorf("the row is valid for %.1f s, %v, want %.1f s from when it was written", left, err, want)
	}
}

// What a user of the database must not do ends in ErrUnavailable, also if a row is missing.
func TestLocker_rights(t *testing.T) {
	t.Parallel()
	d := newPostgres(t)
	db, schema := d.open(t), d.source[strings.LastIndex(d.source, "=")+1:]
	execute(t, db, "CREATE ROLE "+schema+" LOGIN", "GRANT USAGE ON SCHEMA "+schema+" TO "+schema)
	user := newDatabase("pgx", strings.Replace(d.source, "user=test", "user="+schema, 1))
	check := func(what string, err error, state string) {
		t.Helper()
		if !errors.Is(err, sqlcommerce.ErrUnavailable) || !strings.Contains(err.Error(), "SQLSTATE "+state) {
			t.Errorf("%s: got %v, want ErrUnavailable with SQLSTATE %s", what, err, state)
		}
	}
	_, err := sqlcommerce.NewLocker(t.Context(), user.open(t), user.LockerConfig)
	check("no right to make the table", err, "42501")
	execute(t, db, d.Schema(), "GRANT SELECT, INSERT, UPDATE, DELETE ON commerce_locks TO "+schema)
	l := user.locker(t, user.open(t))
	lock(t, l, cart)
	execute(t, db, "REVOKE UPDATE ON commerce_locks FROM "+schema)
	_, _, err = l.Lock(t.Context(), "another")
	check("a right that was taken away", err, "42501")
	execute(t, db, "DROP TABLE commerce_locks")
	_, _, err = l.Lock(t.Context(), "another")
	check("no table", err, "42P01")
}

// Locks keep no connection.
func TestLocker_pool(t *testing.T) {
	t.Parallel()
	eachDatabase(t, func(t *testing.T, d database) {
		db := d.open(t)
		db.SetMaxOpenConns(5)
		l := d.locker(t, db)
		var all []context.Context
		for i := range 50 {
			held, _, _ := lock(t, l, strings.Repeat("x", 1+i))
			all = append(all, held)
		}
		time.Sleep(expiry * 3 / 2)
		start := time.Now()
		if execute(t, db, "SELECT 1"); time.Since(start) > expiry/2 {
			t.Errorf("SELECT 1 took %v, want at most %v", time.Since(start), expiry/2)
		}
		for _, held := range all {
			if held.Err() != nil {
				t.Fatal("a lock was lost")
			}
		}
	})
}

// A holder keeps its lock while the database restarts: one of its processes is killed, so it closes
// all connections and recovers.
func TestLocker_restart(t *testing.T) { //nolint:paralleltest // no other test uses the database meanwhile
	d := newPostgres(t)
	db := d.open(t)
	l, other := d.locker(t, db), d.locker(t, d.open(t))
	held, unlock, _ := lock(t, l, cart)
	var pid int
	if err := db.QueryRowContext(t.Context(), "SELECT pg_backend_pid()").Scan(&pid); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 2*expiry)
	defer cancel()
	for ctx.Err() == nil {
		if _, _, err := other.Lock(ctx, cart); err == nil {
			t.Error("another has the lock, want that of before")
		}
	}
	if held.Err() != nil {
		t.Error("the lock was lost")
	}
	unlock()
	lock(t, other, cart)
}
