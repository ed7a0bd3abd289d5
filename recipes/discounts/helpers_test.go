package discounts

import (
	"context"
	"crypto/rand"
	"database/sql"
	_ "embed"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	_ "github.com/jackc/pgx/v5/stdlib"
	"go.uber.org/goleak"
	_ "modernc.org/sqlite"

	"github.com/commerce-go/commerce"
	"github.com/commerce-go/commerce/commercetest"
)

//go:embed schema.sql
var schema string

func TestMain(m *testing.M) {
	if config := os.Getenv(childVariable); config != "" {
		os.Exit(runChild(config))
	}
	slog.SetDefault(slog.New(logCounter{slog.DiscardHandler}))
	goleak.VerifyTestMain(m)
}

// logCounter counts log events in the counter that their context has under logKey.
type logCounter struct{ slog.Handler }

type logKey struct{}

func (logCounter) Enabled(context.Context, slog.Level) bool { return true }

func (logCounter) Handle(ctx context.Context, _ slog.Record) error {
	if n, ok := ctx.Value(logKey{}).(*atomic.Int64); ok {
		n.Add(1)
	}
	return nil
}

// openDB opens the database that newDB made. Several processes may have it open.
func openDB(address string) (*sql.DB, error) {
	if strings.HasPrefix(address, "host=") {
		return sql.Open("pgx", address)
	}
	db, err := sql.Open("sqlite", "file:"+address+"?_pragma=busy_timeout(10000)&_pragma=journal_mode(WAL)")
	if err == nil {
		db.SetMaxOpenConns(1)
	}
	return db, err
}

// newDB returns the address of a new database with the table: on the PostgreSQL server that
// POSTGRES names, see .ci/postgres, or in a file of SQLite.
func newDB(t *testing.T) (address string) {
	t.Helper()
	address = filepath.Join(t.TempDir(), "carts.db")
	if server := os.Getenv("POSTGRES"); server != "" {
		name := "test_" + strings.ToLower(rand.Text())
		execute(t, server, "CREATE SCHEMA "+name)
		address = server + " search_path=" + name
	}
	execute(t, address, schema)
	return address
}

func execute(t *testing.T, address, statements string) {
	t.Helper()
	db, err := openDB(address)
	if err == nil {
		_, err = db.ExecContext(t.Context(), statements)
		err = errors.Join(err, db.Close())
	}
	if err != nil {
		t.Fatal(err)
	}
}

// table is the table of a test, and what its worker does.
type table struct {
	*Worker
	t     *testing.T
	store *commercetest.Store
}

func newTable(t *testing.T, opts ...commerce.Option) *table {
	t.Helper()
	db, err := openDB(newDB(t))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	store := commercetest.New(t, commercetest.Config{})
	return &table{t: t, store: store, Worker: &Worker{
		DB: db, Client: store.Client(opts...), Engine: "promo-engine",
		Rows: 1, Deadline: time.Minute, Grace: 10 * time.Second,
	}}
}

// wish stores what a cart should have: promotions of these amounts.
func (w *Worker) wish(ctx context.Context, cart string, amounts ...int64) error {
	tx, err := w.DB.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	if err := SetWish(ctx, tx, cart, promos(amounts)); err != nil {
		return errors.Join(err, tx.Rollback())
	}
	return tx.Commit()
}

// addCart adds a cart with an item and a row.
func (tb *table) addCart(amounts ...int64) (cart string) {
	tb.t.Helper()
	cart = tb.store.AddCart(commerce.CartItemRef{})
	if err := tb.wish(tb.t.Context(), cart, amounts...); err != nil {
		tb.t.Fatal(err)
	}
	return cart
}

// work runs the worker for d. The worker looks for rows once a second: its context ends between two
// looks, so that no claim is canceled, of which nobody would know whether the database carried it
// out.
func (tb *table) work(d time.Duration) {
	tb.t.Helper()
	const rest = 500 * time.Millisecond
	ctx, cancel := context.WithTimeout(tb.t.Context(), d-rest)
	defer cancel()
	tb.Run(ctx)
	time.Sleep(rest) // in a bubble of synctest
}

// state is what a row says, for comparisons.
type state struct {
	Version, Done, Tries int64
	Problem              string
}

func (tb *table) state(cart string) (s state) {
	tb.t.Helper()
	err := tb.DB.QueryRowContext(tb.t.Context(),
		`SELECT version, done_version, tries, problem FROM cart_discounts WHERE cart = $1`, cart).
		Scan(&s.Version, &s.Done, &s.Tries, &s.Problem)
	if err != nil {
		tb.t.Fatal(err)
	}
	return s
}

// amounts returns the amounts of the discounts of a cart.
func amounts(store *commercetest.Store, cart string) string {
	text := ""
	for _, d := range store.Discounts(cart) {
		text += fmt.Sprintf("%s:%s ", d.ExternalID, d.Amount.Amount)
	}
	return text
}

// wanted is what amounts returns if the cart has the promotions of these amounts, in this order.
func wanted(list ...int64) string {
	text := ""
	for _, d := range promos(list) {
		text += fmt.Sprintf("%s:%s ", d.ExternalID, d.Amount)
	}
	return text
}

func promos(amounts []int64) (list []commerce.NewCustomDiscount) {
	for i, amount := range amounts {
		list = append(list, commerce.NewCustomDiscount{
			Amount: commerce.NewDecimal(amount), Description: "A promotion", DiscountCode: "PROMO",
			DiscountEngine: "promo-engine", ExternalID: fmt.Sprintf("promo-%d", i+1),
		})
	}
	return list
}

// count returns the number of requests of an operation.
func count(store *commercetest.Store, op commercetest.Operation) (n int) {
	for _, in := range store.Requests() {
		if in.Operation == op {
			n++
		}
	}
	return n
}
