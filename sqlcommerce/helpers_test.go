//go:build unix

package sqlcommerce_test

import (
	"cmp"
	"context"
	"crypto/rand"
	"database/sql"
	"database/sql/driver"
	"log"
	"os"
	"strings"
	"testing"
	"time"

	_ "github.com/jackc/pgx/v5/stdlib"
	"go.uber.org/goleak"
	_ "modernc.org/sqlite"

	"github.com/commerce-go/commerce/sqlcommerce"
)

func TestMain(m *testing.M) {
	if child := os.Getenv(childVariable); child != "" {
		log.Fatal(runChild(strings.Split(child, "|")))
	}
	goleak.VerifyTestMain(m)
}

const (
	expiry  = 2 * time.Second  // of lockers in tests
	maxWait = 30 * time.Second // for something that must happen, on a busy machine
	cart    = "commerce/store.example/carts/a-cart"
)

// database is how to connect to a database. Several processes may do so.
type database struct {
	driver, source string
	sqlcommerce.LockerConfig
}

var dialects = map[string]sqlcommerce.Dialect{"pgx": sqlcommerce.PostgreSQL, "sqlite": sqlcommerce.SQLite}

func newDatabase(driver, source string) database {
	return database{driver, source, sqlcommerce.LockerConfig{Dialect: dialects[driver], Expiry: expiry}}
}

// eachDatabase runs a test on a new schema of the PostgreSQL server that POSTGRES names, see
// .ci/postgres, and on a new file of SQLite.
func eachDatabase(t *testing.T, test func(t *testing.T, d database)) {
	t.Helper()
	t.Run("PostgreSQL", func(t *testing.T) {
		t.Parallel()
		test(t, newPostgres(t))
	})
	t.Run("SQLite", func(t *testing.T) {
		t.Parallel()
		test(t, newDatabase("sqlite", "file:"+t.TempDir()+"/db?_pragma=busy_timeout(10000)&_pragma=journal_mode(WAL)"))
	})
}

func newPostgres(t *testing.T) database {
	t.Helper()
	server := os.Getenv("POSTGRES")
	if server == "" {
		t.Skip("needs PostgreSQL; the run databases has it")
	}
	name := "test_" + strings.ToLower(rand.Text())
	execute(t, newDatabase("pgx", server).open(t), "CREATE SCHEMA "+name)
	return newDatabase("pgx", server+" search_path="+name)
}

func (d database) open(t *testing.T) *sql.DB {
	t.Helper()
	db, err := sql.Open(d.driver, d.source)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	return db
}

func execute(t *testing.T, db *sql.DB, statements ...string) {
	t.Helper()
	for _, s := range statements {
		if _, err := db.ExecContext(t.Context(), s); err != nil {
			t.Fatal(err)
		}
	}
}

func (d database) locker(t *testing.T, db *sql.DB) *sqlcommerce.Locker {
	t.Helper()
	l, err := sqlcommerce.NewLocker(t.Context(), db, d.LockerConfig)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// lock waits for a lock, and fails the test if there is none. It returns for how long it waited.
func lock(t *testing.T, l *sqlcommerce.Locker, key string) (held context.Context, unlock func(), took time.Duration) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), maxWait)
	t.Cleanup(cancel)
	start := time.Now()
	held, unlock, err := l.Lock(ctx, key)
	if err != nil {
		t.Fatalf("Lock() = %v, want no error", err)
	}
	t.Cleanup(unlock)
	return held, unlock, time.Since(start)
}

// hook connects to a database whose responses are passed on when after returns. If that returns an
// error, they are lost.
type hook struct {
	driver driver.Driver
	source string
	after  func(query string) error
}

func (h hook) Driver() driver.Driver { return h.driver }

func (h hook) Connect(context.Context) (driver.Conn, error) {
	c, err := h.driver.Open(h.source)
	return hookedConn{c, h.after}, err
}

type hookedConn struct {
	driver.Conn
	after func(query string) error
}

func (c hookedConn) ExecContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Result, error) {
	result, err := c.Conn.(driver.ExecerContext).ExecContext(ctx, query, args)
	return result, cmp.Or(c.after(query), err)
}
