package fakestore

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/commerce-go/commerce/commercetest"
)

// entry is a request that a store received, without credentials.
type entry struct {
	ID         string                    `json:"id"`
	Namespace  string                    `json:"namespace"`
	Method     string                    `json:"method"`
	Path       string                    `json:"path"`
	Query      map[string][]string       `json:"query"`
	Header     map[string][]string       `json:"header"`
	Body       jsontext.Value            `json:"body"`
	Operation  commercetest.Operation    `json:"operation"`
	State      commercetest.RequestState `json:"state"`
	Status     int                       `json:"status"`
	Response   jsontext.Value            `json:"response"`
	Fault      int                       `json:"fault"`
	Before     *commercetest.CartState   `json:"before,omitzero"`
	After      *commercetest.CartState   `json:"after,omitzero"`
	Time       time.Time                 `json:"time"`
	DurationMS int64                     `json:"duration_ms"`
}

// requestList is what lists of requests send.
type requestList struct {
	Requests []entry `json:"requests"`
	Pending  int     `json:"pending"`
	Dropped  int     `json:"dropped"`
}

// filter selects requests.
type filter struct {
	Operation commercetest.Operation    `json:"operation"`
	Cart      string                    `json:"cart"`
	Since     string                    `json:"since"`
	State     commercetest.RequestState `json:"state"`
}

// waitFilter is a filter, and what to wait for.
type waitFilter struct {
	filter

	Count   *int          `json:"count,string"`
	Pending *int          `json:"pending,string"`
	Timeout time.Duration `json:"timeout"`
}

var requestID = regexp.MustCompile(`^commercetest-\d{6,}$`)

func (f *filter) validate() error {
	switch {
	case f.Operation != "" && !slices.Contains(commercetest.Operations(), f.Operation):
		return fmt.Errorf("operation must be one of %q", commercetest.Operations())
	case f.Since != "" && !requestID.MatchString(f.Since):
		return errors.New("since must be the id of a request, such as commercetest-000001")
	case f.State != "" && !slices.Contains(commercetest.RequestStates(), f.State):
		return fmt.Errorf("state must be one of %q", commercetest.RequestStates())
	}
	return nil
}

// selects reports whether a request is meant. Its id has six digits at least.
func (f *filter) selects(in *commercetest.Request) bool {
	isLater := len(in.ID) > len(f.Since) || len(in.ID) == len(f.Since) && in.ID > f.Since
	return (f.Operation == "" || in.Operation == f.Operation) && (f.State == "" || in.State == f.State) &&
		isOfCart(*in, f.Cart) && isLater
}

// listRequests returns the requests that the store received.
func listRequests(c *call, f filter) (requestList, error) {
	if err := f.validate(); err != nil {
		return requestList{}, err
	}
	return c.requests(f.selects), nil
}

func (c *call) requests(selects func(*commercetest.Request) bool) requestList {
	store := c.store()
	list := requestList{Pending: store.Pending(), Dropped: store.Dropped()}
	for _, in := range store.Requests() {
		if selects(&in) {
			list.Requests = append(list.Requests, c.namespace.entry(&in))
		}
	}
	return list
}

func clearRequests(c *call, _ none) (none, error) {
	c.store().ClearRequests()
	c.namespace.feed.add(update{name: "cleared"})
	return none{}, nil
}

// maxWait is how long wait waits at most.
const maxWait = time.Minute

// wait returns the requests that a filter selects when there are enough of them, or a timeout. A
// request counts when the store has responded, or when it has the state that was asked for.
func wait(c *call, f waitFilter) (requestList, error) {
	if f.Timeout == 0 {
		f.Timeout = 10 * time.Second
	}
	if f.Count == nil {
		f.Count = new(1)
	}
	switch {
	case f.Timeout < 0 || f.Timeout > maxWait:
		return requestList{}, fmt.Errorf("timeout must be at most %v", maxWait)
	case *f.Count < 0 || f.Pending != nil && *f.Pending < 0:
		return requestList{}, errors.New("count and pending must not be negative")
	}
	if err := f.validate(); err != nil {
		return requestList{}, err
	}
	ctx, cancel := context.WithTimeout(c.request.Context(), f.Timeout)
	defer cancel()
	for goesOn := true; ; {
		updates, stop := c.namespace.feed.listen()
		list, pending := c.waited(&f)
		isMet := len(list.Requests) >= *f.Count && (f.Pending == nil || pending <= *f.Pending)
		if !isMet && goesOn {
			goesOn = c.waitFor(ctx, updates, f.selectsAny)
			stop()
			continue
		}
		stop()
		if !isMet {
			return requestList{}, c.missed(&f, len(list.Requests), pending)
		}
		return list, nil
	}
}

// waited returns the requests that count for f, and how many that f selects are pending.
func (c *call) waited(f *waitFilter) (list requestList, pending int) {
	list = c.requests(func(in *commercetest.Request) bool {
		if f.selectsAny(in) && in.State != commercetest.StateEnded {
			pending++
		}
		return f.selects(in) && (in.Duration > 0 || f.State != "")
	})
	if f.Operation == "" && f.Cart == "" && f.Since == "" {
		pending = list.Pending // with those that the list does not have
	}
	return list, pending
}

// selectsAny is selects, whatever the state.
func (f *waitFilter) selectsAny(in *commercetest.Request) bool {
	any := f.filter
	any.State = ""
	return any.selects(in)
}

// missed returns the error for a wait that ended too early.
func (c *call) missed(f *waitFilter, came, pending int) error {
	text := fmt.Sprintf("waited %v for %s", f.Timeout, f)
	if c.namespace.feed.ended() {
		text = fmt.Sprintf("the namespace %s ended while a request waited for %s", c.namespace.Name, f)
	}
	verb := map[bool]string{true: "is", false: "are"}[pending == 1]
	text += fmt.Sprintf(", and %d came; %d %s pending", came, pending, verb)
	return &statusError{http.StatusRequestTimeout, text + "; " + c.lastRequests()}
}

// String names what f waits for.
func (f *waitFilter) String() string {
	text := fmt.Sprintf("%d request%s", *f.Count, map[bool]string{false: "s"}[*f.Count == 1])
	if f.Pending != nil {
		text += fmt.Sprintf(" and at most %d pending", *f.Pending)
	}
	var which []string
	for _, part := range [][2]string{
		{"operation", string(f.Operation)}, {"cart", f.Cart}, {"since", f.Since}, {"state", string(f.State)},
	} {
		if part[1] != "" {
			which = append(which, part[0]+" "+part[1])
		}
	}
	if len(which) > 0 {
		text += " (" + strings.Join(which, ", ") + ")"
	}
	return text
}

// waitFor waits until an update may bring a request that is meant, or reports that none comes.
func (c *call) waitFor(ctx context.Context, updates <-chan update, isMeant func(*commercetest.Request) bool) bool {
	for {
		select {
		case u, ok := <-updates:
			if !ok {
				return !c.namespace.feed.ended()
			}
			if u.request == nil && u.name == "cleared" || u.request != nil && isMeant(u.request) {
				return true
			}
		case <-ctx.Done():
			return false
		}
	}
}

// entry shows a request.
func (ns *namespace) entry(in *commercetest.Request) entry {
	query, err := url.ParseQuery(in.RawQuery)
	if err != nil {
		query.Set("not readable", redacted)
	}
	return entry{
		ID: in.ID, Namespace: ns.Name, Method: in.Method, Path: in.Path,
		Query: show(query), Header: show(in.Header),
		Body: showBody(in, in.Body), Operation: in.Operation, State: in.State,
		Status: in.Status, Response: showBody(in, in.Response), Fault: in.Fault, Before: in.Before, After: in.After,
		Time: in.Time, DurationMS: in.Duration.Milliseconds(),
	}
}

// redacted is shown instead of what may be a credential: a program may send a real one by mistake.
const redacted = "redacted"

var (
	// secret matches names of headers and of parameters whose values may be credentials.
	secret = regexp.MustCompile(`(?i)auth|cookie|token|secret|passw|session|signature|credential|(api|access)[-_]?key`)
	scheme = regexp.MustCompile(`(?i)^(basic|bearer) `) // is no secret
	// jwt matches a signed token, which may have any name.
	jwt = regexp.MustCompile(`eyJ[\w-]+\.eyJ[\w-]+\.[\w-]+`)
)

// show returns values by their names, without credentials.
func show(values map[string][]string) map[string][]string {
	shown := map[string][]string{}
	for name, list := range values {
		key := strings.ToValidUTF8(name, "\uFFFD") // JSON has no other names
		for _, value := range list {
			if secret.MatchString(name) {
				value = scheme.FindString(value) + redacted
			}
			shown[key] = append(shown[key], jwt.ReplaceAllLiteralString(value, redacted))
		}
	}
	return shown
}

// showBody returns the JSON that was sent to or by an endpoint of the store, except that of tokens.
func showBody(in *commercetest.Request, text []byte) jsontext.Value {
	body := jsontext.Value(text)
	if in.Operation == commercetest.OpAny || in.Operation == commercetest.OpToken || !body.IsValid() {
		return nil
	}
	return body
}

// maxDelay is how long an event may take to be sent.
const maxDelay = 5 * time.Second

// sendEvents sends what happens in a namespace as server-sent events, until the client goes.
func sendEvents(c *call, w http.ResponseWriter) {
	updates, stop := c.namespace.feed.listen()
	defer stop()
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("Cache-Control", "no-store")
	stream := http.NewResponseController(w)
	if c.request.Method == http.MethodHead {
		return
	}
	if _, err := fmt.Fprint(w, ": events follow\n\n"); err != nil || stream.Flush() != nil {
		return
	}
	for {
		select {
		case u, ok := <-updates:
			if !ok {
				return
			}
			data := []byte("{}")
			if u.request != nil {
				data = encode(c.namespace.entry(u.request))
			}
			_ = stream.SetWriteDeadline(time.Now().Add(maxDelay)) // an error means that w has none
			if _, err := fmt.Fprintf(w, "event: %s\ndata: %s\n\n", u.name, data); err != nil || stream.Flush() != nil {
				return
			}
			_ = stream.SetWriteDeadline(time.Time{}) // over HTTP/2 it would end the stream
		case <-c.request.Context().Done():
			return
		}
	}
}
