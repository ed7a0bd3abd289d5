package queues

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"
	"github.com/riverqueue/river/rivermigrate"

	"github.com/commerce-go/commerce"
	"github.com/commerce-go/commerce/commercetest"
)

// TestRiver runs River on PostgreSQL: `bash .ci/postgres go test -v -run TestRiver .` here. The job
// is inserted in the transaction that writes the wish, so there is none without the other.
func TestRiver(t *testing.T) {
	t.Parallel()
	db := newPostgres(t)
	s := newShop(t, commerce.CartItemRef{})
	s.store.Inject(commercetest.Fault{Operation: commercetest.OpAdd, Status: 503}) // the first try fails
	s.carts.Grace = 10 * time.Millisecond
	s.carts.Wish = func(ctx context.Context, cart string) (wish Wish, err error) {
		var amount int64
		err = db.QueryRow(ctx, `SELECT version, amount FROM wishes WHERE cart = $1`, cart).Scan(&wish.Version, &amount)
		wish.Discounts = promotion(amount)
		return wish, err
	}
	workers := river.NewWorkers()
	river.AddWorker(workers, &RiverWorker{Carts: s.carts})
	client, err := river.NewClient(riverpgxv5.New(db), &river.Config{
		Queues: map[string]river.QueueConfig{river.QueueDefault: {MaxWorkers: 4}}, Workers: workers,
		FetchPollInterval: 100 * time.Millisecond,
	})
	if err != nil {
		t.Fatal(err)
	}
	completed, unsubscribe := client.Subscribe(river.EventKindJobCompleted)
	defer unsubscribe()
	if err := client.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	errOrder := errors.New("the order is refused")
	order := func(version, amount int64, failed error) error {
		return pgx.BeginFunc(t.Context(), db, func(tx pgx.Tx) error {
			_, err := tx.Exec(t.Context(), `INSERT INTO wishes VALUES ($1, $2, $3)
				ON CONFLICT (cart) DO UPDATE SET version = excluded.version, amount = excluded.amount`, s.cart, version, amount)
			if err == nil {
				_, err = client.InsertTx(t.Context(), tx, Job{Cart: s.cart, Version: version}, nil)
			}
			return errors.Join(err, failed)
		})
	}
	for version, failed := range []error{errOrder, nil, nil} {
		if err := order(int64(version), -int64(version), failed); !errors.Is(err, failed) {
			t.Fatal(err)
		}
		if failed != nil {
			continue
		}
		select {
		case event := <-completed:
			t.Logf("version %d: done after %d attempts", version, event.Job.Attempt)
		case <-time.After(time.Minute):
			t.Fatalf("version %d: no job is done", version)
		}
		if got, want := s.amounts(), fmt.Sprint(-version); got != want {
			t.Errorf("version %d: the cart has %q, want %q", version, got, want)
		}
	}
	if err := client.Stop(context.Background()); err != nil {
		t.Error(err)
	}
	var jobs int
	if err := db.QueryRow(t.Context(), `SELECT count(*) FROM river_job`).Scan(&jobs); err != nil || jobs != 2 {
		t.Errorf("%d jobs, error %v, want 2: none of the order that was refused", jobs, err)
	}
}

// newPostgres returns a database with the tables of River and of the wishes, on the server that
// POSTGRES names.
func newPostgres(t *testing.T) *pgxpool.Pool {
	t.Helper()
	server := os.Getenv("POSTGRES")
	if server == "" {
		t.Skip("needs PostgreSQL, see .ci/postgres")
	}
	name := "river_" + strings.ToLower(rand.Text())
	admin, err := pgx.Connect(t.Context(), server)
	if err == nil {
		_, err = admin.Exec(t.Context(), "CREATE SCHEMA "+name)
		err = errors.Join(err, admin.Close(t.Context()))
	}
	if err != nil {
		t.Fatal(err)
	}
	db, err := pgxpool.New(t.Context(), server+" search_path="+name)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(db.Close)
	migrator, err := rivermigrate.New(riverpgxv5.New(db), nil)
	if err == nil {
		_, err = migrator.Migrate(t.Context(), rivermigrate.DirectionUp, nil)
	}
	if err == nil {
		_, err = db.Exec(t.Context(), `CREATE TABLE wishes (cart TEXT PRIMARY KEY, version BIGINT, amount BIGINT)`)
	}
	if err != nil {
		t.Fatal(err)
	}
	return db
}
