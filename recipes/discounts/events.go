package discounts

import (
	"context"
	"crypto/subtle"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"

	"github.com/google/uuid"

	"github.com/commerce-go/commerce"
)

// Events handles the webhooks of an integration that observes cart.updated and subscription.*. An
// event comes at least once, up to 30 minutes late, and in any order. So its payload may be old: it
// is a hint to look at the cart or the subscription again. After a 500 the platform sends it again.
// An event that would fail each time is logged, and gets a 200.
type Events struct {
	worker       *Worker
	secret       string
	subscription func(ctx context.Context, sub *commerce.Subscription) error
}

// NewEvents returns the handler for an integration with this secret_key. store stores a
// subscription as it is now. It may get the same one several times.
func NewEvents(
	w *Worker, secret string, store func(ctx context.Context, sub *commerce.Subscription) error,
) (*Events, error) {
	if secret == "" { // everybody could send it
		return nil, errors.New("the integration needs a secret_key")
	}
	return &Events{worker: w, secret: secret, subscription: store}, nil
}

func (e *Events) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if subtle.ConstantTimeCompare([]byte(r.Header.Get("X-Moltin-Secret-Key")), []byte(e.secret)) == 0 {
		http.Error(w, "not the secret key of the integration", http.StatusUnauthorized)
		return
	}
	err := e.handle(r)
	if err == nil {
		return
	}
	slog.WarnContext(r.Context(), "event", "error", err)
	if !errors.Is(err, errUseless) {
		http.Error(w, "please send it again", http.StatusInternalServerError)
	}
}

var errUseless = errors.New("the event would fail each time")

func (e *Events) handle(r *http.Request) error {
	body, err := io.ReadAll(io.LimitReader(r.Body, 1<<20)) // a larger event is unreadable
	if err != nil {
		return err
	}
	var event struct {
		Payload struct {
			Data struct{ Type, ID string }
		}
	}
	if err := json.Unmarshal(body, &event); err != nil {
		return errors.Join(errUseless, err)
	}
	switch about := event.Payload.Data; about.Type {
	case "cart": // a worker looks at it; if it is as wanted, that causes no event
		return e.worker.LookAgain(r.Context(), about.ID) // does nothing for a cart without a row
	case "subscription":
		return e.read(r.Context(), about.ID)
	}
	return nil
}

func (e *Events) read(ctx context.Context, id string) error {
	parsed, err := uuid.Parse(id)
	if err != nil {
		return errors.Join(errUseless, err)
	}
	result, err := e.worker.Client.Subscriptions.Get(ctx, parsed, commerce.SubscriptionInclude{})
	if commerce.IsFinal(err) { // also a 404: an event comes after the change that it reports
		return errors.Join(errUseless, err)
	}
	if err != nil {
		return err
	}
	return e.subscription(ctx, &result.Subscription)
}
