//go:build unix

package sqlcommerce_test

import (
	"cmp"
	"context"
	"crypto/rand"
	"database/sql"
	"database/sql/driver"
	"errors"
	"io"
	"os"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	_ "github.com/jackc/pgx/v5/stdlib"
	"go.uber.org/goleak"
	_ "modernc.org/sqlite"

	"github.com/commerce-go/commerce"
	"github.com/commerce-go/commerce/sqlcommerce"
)

func TestMain(m *testing.M) {
	if child := os.Getenv(childVariable); child != "" {
		runChild(strings.Split(child, "|"))
	}
	goleak.VerifyTestMain(m)
}

const (
	expiry = 3 * time.Second // of lockers: a busy machine extends a lock in time
	cart   = "commerce/store.example/carts/a-cart"
)

var dialects = map[string]sqlcommerce.Dialect{"pgx": sqlcommerce.PostgreSQL, "sqlite": sqlcommerce.SQLite}

// database is how to connect to a database. Several processes may do so.
type database struct{ driver, source string }

func (d database) newLocker(db *sql.DB) (*sqlcommerce.Locker, error) {
	cfg := sqlcommerce.LockerConfig{Dialect: dialects[d.driver], Expiry: expiry}
	return sqlcommerce.NewLocker(context.Background(), db, cfg)
}

// open returns a pool of 5 connections.
func (d database) open(t *testing.T) *sql.DB {
	t.Helper()
	db, err := sql.Open(d.driver, d.source)
	must(t, err)
	db.SetMaxOpenConns(5)
	t.Cleanup(func() { _ = db.Close() })
	return db
}

func (d database) locker(t *testing.T, db *sql.DB) *sqlcommerce.Locker {
	t.Helper()
	l, err := d.newLocker(db)
	must(t, err)
	return l
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func execute(t *testing.T, db *sql.DB, statements string) {
	t.Helper()
	_, err := db.ExecContext(t.Context(), statements)
	must(t, err)
}

// onPostgres runs a test on a new schema of the server that POSTGRES names, see .ci/postgres.
func onPostgres(t *testing.T, test func(t *testing.T, d database)) {
	t.Helper()
	t.Run("PostgreSQL", func(t *testing.T) {
		t.Parallel()
		server := os.Getenv("POSTGRES")
		if server == "" {
			t.Skip("needs PostgreSQL; the run databases has it")
		}
		schema := "test_" + strings.ToLower(rand.Text())
		execute(t, database{"pgx", server}.open(t), "CREATE SCHEMA "+schema)
		test(t, database{"pgx", server + " search_path=" + schema})
	})
}

// onBoth runs a test on PostgreSQL and on a new file of SQLite.
func onBoth(t *testing.T, test func(t *testing.T, d database)) {
	t.Helper()
	onPostgres(t, test)
	t.Run("SQLite", func(t *testing.T) {
		t.Parallel()
		test(t, database{"sqlite", "file:" + t.TempDir() + "/db?_pragma=busy_timeout(10000)&_pragma=journal_mode(WAL)"})
	})
}

// lock waits for a lock, and fails the test if there is none. It returns for how long it waited.
func lock(t *testing.T, l *sqlcommerce.Locker, key string) (held context.Context, unlock func(), took time.Duration) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 10*expiry)
	t.Cleanup(cancel)
	start := time.Now()
	held, unlock, err := l.Lock(ctx, key)
	must(t, err)
	t.Cleanup(unlock)
	return held, unlock, time.Since(start)
}

// hook connects to a database whose responses are passed on when after returns. If that returns an
// error, they are lost.
type hook struct {
	*sql.DB
	source string
	after  func(query string) error
}

func (h hook) Connect(context.Context) (driver.Conn, error) {
	c, err := h.Driver().Open(h.source)
	return hooked{c, h.after}, err
}

type hooked struct {
	driver.Conn
	after func(query string) error
}

func (h hooked) ExecContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Result, error) {
	result, err := h.Conn.(driver.ExecerContext).ExecContext(ctx, query, args)
	return result, cmp.Or(h.after(query), err)
}

func TestNewLocker_arguments(t *testing.T) {
	t.Parallel()
	for want, cfg := range map[string]sqlcommerce.LockerConfig{
		"Dialect must be": {},
		"Table must be":   {Dialect: sqlcommerce.SQLite, Table: "locks; DROP TABLE carts"},
		"Expiry must be":  {Dialect: sqlcommerce.SQLite, Expiry: time.Second - 1},
	} {
		_, err := sqlcommerce.NewLocker(t.Context(), database{"sqlite", ":memory:"}.open(t), cfg)
		if !errors.Is(err, commerce.ErrInvalidArgument) || !strings.Contains(err.Error(), want) {
			t.Errorf("NewLocker(%+v) = %v, want it to name %q", cfg, err, want)
		}
	}
}

// Processes may make the table at the same time. Rows that dead processes left are deleted. Locks
// keep no connection.
func TestLocker_table(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, d database) {
		var running sync.WaitGroup
		for range 8 {
			running.Go(func() {
				if _, err := d.newLocker(d.open(t)); err != nil {
					t.Error(err)
				}
			})
		}
		running.Wait()
		db := d.open(t)
		l := d.locker(t, db)
		execute(t, db, "INSERT INTO commerce_locks (name, holder, ends) VALUES ('old', 'dead', 1)")
		var all []context.Context
		for i := range 100 {
			held, unlock, _ := lock(t, l, strings.Repeat("x", 1+i))
			if all = append(all, held); i%2 == 0 {
				unlock()
			}
		}
		time.Sleep(expiry * 3 / 2)
		ctx, cancel := context.WithTimeout(t.Context(), expiry)
		defer cancel()
		var rows int
		must(t, db.QueryRowContext(ctx, "SELECT count(*) FROM commerce_locks").Scan(&rows))
		for i, held := range all {
			if (held.Err() == nil) != (i%2 == 1) {
				t.Errorf("lock %d: Err() = %v, want nil if it was not released", i, held.Err())
			}
		}
	})
}

// A call waits until its context ends, and the error is that of the context. A lock that another
// has had meanwhile, or whose row is over, is lost, and is not taken again.
func TestLocker_lost(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, d database) {
		db := d.open(t)
		l := d.locker(t, db)
		held, _, _ := lock(t, l, cart)
		over, _, _ := lock(t, l, "over")
		ctx, cancel := context.WithTimeout(t.Context(), expiry*3/8) // between two extensions
		defer cancel()
		if _, _, err := l.Lock(ctx, cart); !errors.Is(err, ctx.Err()) || errors.Is(err, sqlcommerce.ErrUnavailable) {
			t.Errorf("Lock() = %v, want the error of the context", err)
		}
		execute(t, db, "DELETE FROM commerce_locks WHERE name <> 'over'")
		execute(t, db, "UPDATE commerce_locks SET ends = 1")
		_, unlock, _ := lock(t, l, cart)
		unlock()
		time.Sleep(expiry / 2)
		if held.Err() == nil || over.Err() == nil {
			t.Fatal("a holder has a lock that was over, want it to notice by the next extension")
		}
		lock(t, l, cart)
	})
}

// If the response to the take is lost, the same call asks again. If it comes after the end of the
// lease, the call has no lock: another may have it.
func TestLocker_response(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, d database) {
		db, takes := d.open(t), 0
		lossy := sql.OpenDB(hook{db, d.source, func(query string) error {
			if strings.HasPrefix(query, "INSERT") {
				takes++
			}
			switch takes {
			case 2: // the first one is that of NewLocker
				takes++
				return io.ErrUnexpectedEOF
			case 5:
				takes++
				time.Sleep(expiry * 3 / 2)
			}
			return nil
		}})
		t.Cleanup(func() { _ = lossy.Close() })
		l := d.locker(t, lossy)
		_, unlock, took := lock(t, l, cart)
		if unlock(); took > expiry/2 {
			t.Errorf("after a lost response, the lock took %v, want at most %v", took, expiry/2)
		}
		other := make(chan bool, 1)
		go func() {
			time.Sleep(expiry / 4)
			_, unlock, _ := lock(t, d.locker(t, d.open(t)), cart)
			time.Sleep(expiry)
			other <- true
			unlock()
		}()
		lock(t, l, cart)
		select {
		case <-other:
		default:
			t.Error("two have the lock: the response came after the end of the lease")
		}
	})
}

// A row is valid from when it was written, although the statement waited. A statement that waits
// for a row, or is not allowed, ends in ErrUnavailable after a quarter of Expiry.
func TestErrUnavailable(t *testing.T) {
	t.Parallel()
	onPostgres(t, func(t *testing.T, d database) {
		db, schema := d.open(t), d.source[strings.LastIndex(d.source, "=")+1:]
		execute(t, db, "CREATE ROLE "+schema+" LOGIN; GRANT USAGE ON SCHEMA "+schema+" TO "+schema)
		d.source = strings.Replace(d.source, "user=test", "user="+schema, 1) + " statement_timeout=600"
		user := d.open(t)
		check := func(err error, state string) {
			t.Helper()
			if !errors.Is(err, sqlcommerce.ErrUnavailable) || !strings.Contains(err.Error(), "SQLSTATE "+state) {
				t.Errorf("got %v, want ErrUnavailable with SQLSTATE %s", err, state)
			}
		}
		_, err := d.newLocker(user)
		check(err, "42501")
		execute(t, db, sqlcommerce.LockerConfig{}.Schema()+"; GRANT ALL ON commerce_locks TO "+schema)
		l := d.locker(t, user)
		execute(t, db, "INSERT INTO commerce_locks (name, holder, ends) VALUES ('"+cart+"', 'dead', 1)")
		tx, err := db.BeginTx(t.Context(), nil)
		must(t, err)
		_, err = tx.ExecContext(t.Context(), "UPDATE commerce_locks SET ends = 1")
		must(t, err)
		_, _, err = l.Lock(t.Context(), cart)
		check(err, "57014")
		time.AfterFunc(500*time.Millisecond, func() { _ = tx.Rollback() })
		lock(t, l, cart)
		const left = "SELECT ends / 1000.0 - extract(epoch FROM clock_timestamp()) FROM commerce_locks"
		var seconds float64
		must(t, db.QueryRowContext(t.Context(), left).Scan(&seconds))
		if want := (expiry * 5 / 4).Seconds(); seconds < want-0.3 {
			t.Errorf("the row is valid for %.1f s, want %.1f s from when it was written", seconds, want)
		}
		execute(t, db, "DROP TABLE commerce_locks")
		_, _, err = l.Lock(t.Context(), cart)
		check(err, "42P01")
	})
}

// A holder keeps its lock while the database restarts: one of its processes is killed, so it closes
// all connections and recovers. No other test uses it meanwhile.
func TestLocker_restart(t *testing.T) { //nolint:paralleltest // see above
	onPostgres(t, func(t *testing.T, d database) {
		db, pid := d.open(t), 0
		l, other := d.locker(t, db), d.locker(t, d.open(t))
		held, unlock, _ := lock(t, l, cart)
		must(t, db.QueryRowContext(t.Context(), "SELECT pg_backend_pid()").Scan(&pid))
		must(t, syscall.Kill(pid, syscall.SIGKILL))
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
	})
}
