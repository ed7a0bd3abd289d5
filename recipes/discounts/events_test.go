package discounts

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"testing/iotest"
	"testing/synctest"
	"time"

	"github.com/google/uuid"

	"github.com/commerce-go/commerce"
	"github.com/commerce-go/commerce/commercetest"
)

const secret = "the-secret-key"

// send sends an event as the platform does, and returns the status of the response.
func send(t *testing.T, h http.Handler, name, kind, id string) int {
	t.Helper()
	body := fmt.Sprintf(`{"id":"1","triggered_by":%q,"attempt":1,"resources":"{}",
		"payload":{"data":{"type":%q,"id":%q,"meta":{"status":"old"}}}}`, name, kind, id)
	r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/events", strings.NewReader(body))
	r.Header.Set("X-Moltin-Secret-Key", secret)
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w.Code
}

func newEvents(
	t *testing.T, w *Worker, store func(context.Context, *commerce.Subscription) error,
) *Events {
	t.Helper()
	h, err := NewEvents(w, secret, store)
	if err != nil {
		t.Fatal(err)
	}
	return h
}

// Without a secret key everybody could send events.
func TestNewEvents(t *testing.T) {
	t.Parallel()
	if _, err := NewEvents(nil, "", nil); err == nil {
		t.Error("got no error for an empty secret key")
	}
}

// Another program takes a discount away. An event brings it back, however often it comes; a worker
// reads the cart and finds that nothing more is to be done.
func TestEvents_cart(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		tb := newTable(t)
		h := newEvents(t, tb.Worker, nil)
		cart := tb.addCart(-1)
		tb.work(5 * time.Second)
		tb.store.RemoveDiscount(cart, tb.store.Discounts(cart)[0].ID)
		for range 2 {
			if code := send(t, h, "cart.updated", "cart", cart); code != http.StatusOK {
				t.Errorf("status %d, want 200", code)
			}
		}
		tb.work(5 * time.Second)
		if got := amounts(tb.store, cart); got != wanted(-1) || tb.state(cart).Done != 3 {
			t.Errorf("the cart has %q, the row %+v, want %q and version 3 done", got, tb.state(cart), wanted(-1))
		}
		requests := len(tb.store.Requests())
		send(t, h, "cart.updated", "cart", cart) // late, from before
		tb.work(5 * time.Second)
		if n := len(tb.store.Requests()) - requests; n != 1 {
			t.Errorf("%d requests after a late event, want a read", n)
		}
	})
}

// Events do not end the pause after a failed try.
func TestEvents_pause(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		tb := newTable(t)
		h := newEvents(t, tb.Worker, nil)
		tb.store.Inject(commercetest.Fault{Operation: commercetest.OpAdd, Status: 422, Body: moon, Times: -1})
		cart := tb.addCart(-1)
		for range 100 {
			tb.work(time.Second)
			send(t, h, "cart.updated", "cart", cart)
		}
		if n := count(tb.store, commercetest.OpAdd); n < 3 || n > 6 {
			t.Errorf("%d adds in 100 events, one a second, want 3 to 6", n)
		}
	})
}

// The application stores a subscription as it is now, in whatever order the events come.
func TestEvents_subscription(t *testing.T) {
	t.Parallel()
	store := commercetest.New(t, commercetest.Config{})
	store.Seed(1)
	client := store.Client(commerce.WithRetry(commerce.RetryPolicy{MaxAttempts: 1}))
	subs, err := commerce.Collect(client.Subscriptions.All(t.Context(), nil))
	if err != nil {
		t.Fatal(err)
	}
	id, stored := subs[0].ID, []bool(nil)
	fail := errors.New("database down")
	h := newEvents(t, &Worker{Client: client}, func(_ context.Context, sub *commerce.Subscription) error {
		stored = append(stored, sub.Meta.Paused)
		return fail
	})
	if code := send(t, h, "subscription.created", "subscription", id.String()); code != http.StatusInternalServerError {
		t.Errorf("status %d if the application fails, want 500, so that the event comes again", code)
	}
	fail = nil
	if err := client.Subscriptions.ChangeState(t.Context(), id,
		commerce.StateChange{Action: commerce.ActionPause}); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"subscription.paused", "subscription.created", "subscription.paused"} {
		if code := send(t, h, name, "subscription", id.String()); code != http.StatusOK {
			t.Errorf("%s: status %d, want 200", name, code)
		}
	}
	if got, want := fmt.Sprint(stored), "[false true true true]"; got != want {
		t.Errorf("paused: %s, want %s", got, want)
	}
}

// An event that would fail each time gets a 200, so that it does not come again. Each failure is
// logged.
func TestEvents_failures(t *testing.T) {
	t.Parallel()
	about := func(kind, id string) string { return fmt.Sprintf(`{"payload":{"data":{"type":%q,"id":%q}}}`, kind, id) }
	subscription := about("subscription", uuid.NewString())
	tests := []struct {
		name, body string
		reader     io.Reader           // instead of body
		fault      *commercetest.Fault // of the store
		noDatabase bool
		status     int
		logged     int64
	}{
		{name: "no JSON", body: `<`, status: 200, logged: 1},
		{name: "no body", status: 200, logged: 1},
		{name: "half of it", body: subscription[:30], status: 200, logged: 1},
		{name: "too large", body: strings.Repeat(" ", 1<<20) + "{}", status: 200, logged: 1},
		{name: "another type", body: `{"payload":{"data":[]}}`, status: 200, logged: 1},
		{name: "no id", body: about("subscription", ""), status: 200, logged: 1},
		{name: "id of zeros", body: about("subscription", uuid.Nil.String()), status: 200, logged: 1},
		{name: "unknown subscription", body: subscription, status: 200, logged: 1},
		{name: "unknown cart", body: about("cart", "1"), status: 200},
		{name: "deleted", body: `{"payload":{"type":"cart","id":"1"}}`, status: 200},
		{name: "another event", body: about("order", "1"), status: 200},
		{name: "connection closed", reader: iotest.ErrReader(io.ErrUnexpectedEOF), status: 500, logged: 1},
		{name: "service down", body: subscription, fault: &commercetest.Fault{Status: 503}, status: 500, logged: 1},
		{name: "token refused", body: subscription, fault: &commercetest.Fault{Status: 401}, status: 500, logged: 1},
		{name: "database down", body: about("cart", "1"), noDatabase: true, status: 500, logged: 1},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			tb := newTable(t, commerce.WithRetry(commerce.RetryPolicy{MaxAttempts: 1}))
			if tt.fault != nil {
				tb.store.Inject(*tt.fault)
			}
			if tt.noDatabase {
				_ = tb.DB.Close()
			}
			var logged atomic.Int64
			ctx := context.WithValue(t.Context(), logKey{}, &logged)
			body := cmp.Or[io.Reader](tt.reader, strings.NewReader(tt.body))
			r := httptest.NewRequestWithContext(ctx, http.MethodPost, "/events", body)
			r.Header.Set("X-Moltin-Secret-Key", secret)
			w := httptest.NewRecorder()
			newEvents(t, tb.Worker, nil).ServeHTTP(w, r)
			if w.Code != tt.status || logged.Load() != tt.logged {
				t.Errorf("status %d, %d lines in the log, want %d and %d", w.Code, logged.Load(), tt.status, tt.logged)
			}
		})
	}
}

func TestEvents_refused(t *testing.T) {
	t.Parallel()
	r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/events", strings.NewReader(`{}`))
	r.Header.Set("X-Moltin-Secret-Key", "another")
	w := httptest.NewRecorder()
	newEvents(t, nil, nil).ServeHTTP(w, r)
	if w.Code != http.StatusUnauthorized {
		t.Errorf("status %d for a wrong secret key, want 401", w.Code)
	}
}
