package commerce_test

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"

	"github.com/commerce-go/commerce"
)

// A change of state is what the documentation shows.
func TestChangeState_request(t *testing.T) {
	t.Parallel()
	id := numberedID(1)
	for _, tt := range []struct {
		name   string
		change commerce.StateChange
		want   string // attributes
	}{
		{name: "cancel", change: commerce.StateChange{Action: commerce.ActionCancel}, want: `{"action":"cancel"}`},
		{
			name: "cancel at once", change: commerce.StateChange{Action: commerce.ActionCancel, CancelImmediately: true},
			want: `{"action":"cancel","cancel_immediately":true}`,
		},
		{name: "pause", change: commerce.StateChange{Action: commerce.ActionPause}, want: `{"action":"pause"}`},
		{name: "resume", change: commerce.StateChange{Action: commerce.ActionResume}, want: `{"action":"resume"}`},
		{
			name: "reopen", change: commerce.StateChange{Action: commerce.ActionResume, Reopen: true},
			want: `{"action":"resume"}`,
		},
	} {
		s := newStub(t, respond(204, ""))
		if err := s.client(t).Subscriptions.ChangeState(t.Context(), id, tt.change); err != nil {
			t.Errorf("%s: %v", tt.name, err)
		}
		sent := s.sent()[0]
		diff(t, tt.name+": request", sent.Method+" "+sent.Path, "POST /v2/subscriptions/subscriptions/"+id.String()+"/states")
		diff(t, tt.name+": body", sent.Body, `{"data":{"attributes":`+tt.want+`,"type":"subscription_state"}}`)
	}
}

func TestChangeState_arguments(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name   string
		id     uuid.UUID
		change commerce.StateChange
		want   []string // fields
	}{
		{name: "no id", change: commerce.StateChange{Action: commerce.ActionPause}, want: []string{"subscription id"}},
		{name: "nothing", want: []string{"subscription id", "action"}},
		{name: "another action", id: numberedID(1), change: commerce.StateChange{Action: "close"}, want: []string{"action"}},
		{
			name: "an immediate pause", id: numberedID(1), want: []string{"cancel_immediately"},
			change: commerce.StateChange{Action: commerce.ActionPause, CancelImmediately: true},
		},
		{
			name: "a cancellation that opens again", id: numberedID(1), want: []string{"reopen"},
			change: commerce.StateChange{Action: commerce.ActionCancel, Reopen: true},
		},
	} {
		r := &recorder{respond: respond(204, "")}
		err := newClient(t, r).Subscriptions.ChangeState(t.Context(), tt.id, tt.change)
		r.checkRefused(t, err, "")
		diff(t, tt.name, invalidFields(err), tt.want)
	}
}

var (
	cancel    = commerce.StateChange{Action: commerce.ActionCancel}
	pause     = commerce.StateChange{Action: commerce.ActionPause}
	resume    = commerce.StateChange{Action: commerce.ActionResume}
	endAtOnce = commerce.StateChange{Action: commerce.ActionCancel, CancelImmediately: true}
	reopen    = commerce.StateChange{Action: commerce.ActionResume, Reopen: true}
)

// subscriptionBody is a subscription whose meta differs from an active one by words: a flag that is
// set ("paused"), another value ("paused=null"), a member that is absent ("-paused"), the status
// "inactive", or a state ("2:pause", or "2:cancel!" for an immediate cancellation).
func subscriptionBody(words string) string {
	meta := map[string]string{"status": `"active"`}
	for _, flag := range []string{"canceled", "paused", "closed", "suspended", "pending"} {
		meta[flag] = "false"
	}
	for word := range strings.FieldsSeq(words) {
		name, value, isValue := strings.Cut(word, "=")
		id, action, isState := strings.Cut(word, ":")
		switch {
		case isValue:
			meta[name] = value
		case isState:
			action, now := strings.CutSuffix(action, "!")
			meta["state"] = fmt.Sprintf(
				`{"id":"00000000-0000-0000-0000-00000000000%s","attributes":{"action":%q,"cancel_immediately":%t}}`,
				id, action, now)
		case word == "inactive":
			meta["status"] = `"inactive"`
		case word[0] == '-':
			delete(meta, word[1:])
		default:
			meta[word] = "true"
		}
	}
	var members []string
	for name, value := range meta {
		members = append(members, fmt.Sprintf("%q:%s", name, value))
	}
	return fmt.Sprintf(`{"data":{"id":%q,"type":"subscription","meta":{%s}}}`, numberedID(1), strings.Join(members, ","))
}

// stateStore responds to each read with the next of the subscriptions that words describe, and to
// each change with a status; 0 loses the response. The last of each stays.
type stateStore struct {
	reads    []string
	status   []int
	requests []string // read and change
	last     string   // the subscription that was read last, as it is encoded
}

func (s *stateStore) RoundTrip(req *http.Request) (*http.Response, error) {
	if req.Method == http.MethodPost {
		s.requests = append(s.requests, "change")
		status := next(&s.status)
		if status == 0 {
			return nil, errors.New("the response is lost")
		}
		body := ""
		if status >= 400 {
			body = refusal
		}
		return respond(status, body)(req)
	}
	s.requests = append(s.requests, "read")
	words := next(&s.reads)
	if status, err := strconv.Atoi(words); err == nil {
		return respond(status, refusal)(req)
	}
	body := subscriptionBody(words)
	var read struct{ Data commerce.Subscription }
	if err := json.Unmarshal([]byte(body), &read); err != nil {
		return nil, err
	}
	last, err := json.Marshal(read.Data)
	if err != nil {
		return nil, err
	}
	s.last = string(last)
	return respond(200, body)(req)
}

// next removes the first element of a list, unless it is the last.
func next[T any](list *[]T) T {
	first := (*list)[0]
	if len(*list) > 1 {
		*list = (*list)[1:]
	}
	return first
}

// ensureState calls EnsureState, and describes the end: the requests, the outcome and the cause,
// and whether it is final.
func (s *stateStore) ensureState(t *testing.T, c *commerce.Client, change commerce.StateChange) string {
	t.Helper()
	return s.ensureStateWithin(t, c, change, time.Minute)
}

func (s *stateStore) ensureStateWithin(
	t *testing.T, c *commerce.Client, change commerce.StateChange, limit time.Duration,
) string {
	t.Helper()
	s.requests = nil
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	defer cancel()
	start := time.Now()
	sub, err := c.Subscriptions.EnsureState(ctx, numberedID(1), change)
	end := strings.Join(s.requests, " ")
	if sub == nil {
		end += " nil"
	} else if encode(t, sub) != s.last {
		t.Errorf("got the subscription %s, want the one that was read last: %s", encode(t, sub), s.last)
	}
	if waited := time.Since(start); waited > 0 {
		end += " after " + waited.String()
	}
	if err == nil {
		return end
	}
	if failed, ok := errors.AsType[*commerce.Error](err); !ok || failed.Op != "Subscriptions.EnsureState" ||
		strings.Contains(err.Error(), "discount") {
		t.Errorf("error %v, want one of EnsureState", err)
	}
	end += fmt.Sprint(" ", commerce.OutcomeOf(err), " ", commerce.ReasonOf(err))
	if commerce.IsFinal(err) {
		end += " final"
	}
	return end
}

// withoutTime leaves out how long a call took, which a pause of the gate makes longer.
func withoutTime(end string) string {
	end, _, _ = strings.Cut(end, " after")
	return end
}

// Each change needs flags that are booleans, and no other.
func TestEnsureState_flags(t *testing.T) {
	t.Parallel()
	all := []string{"canceled", "paused", "closed", "suspended", "pending"}
	for _, tt := range []struct {
		name   string
		change commerce.StateChange
		needs  []string
		before string // it must be changed
		after  string // it has been
	}{
		{name: "cancel", change: cancel, needs: []string{"canceled"}, after: "canceled"},
		{name: "cancel immediately", change: endAtOnce, needs: []string{"canceled", "paused"}, after: "canceled inactive"},
		{
			name: "cancel immediately, without a status", change: endAtOnce, needs: []string{"canceled", "paused", "closed"},
			before: "-status", after: "canceled closed -status",
		},
		{name: "pause", change: pause, needs: []string{"paused"}, after: "paused"},
		{name: "resume", change: resume, needs: []string{"canceled", "paused", "suspended", "closed"}, before: "paused"},
	} {
		for _, flag := range all {
			for _, value := range []string{"-" + flag, flag + "=null", flag + `="true"`, flag + "=1", flag + "={}"} {
				isNeeded := slices.Contains(tt.needs, flag)
				for _, x := range []struct{ what, reads, want, wantOther string }{
					{"before", tt.before + " " + value + "|" + tt.after, "read not sent bad_response", changes},
					{"after", tt.before + "|" + tt.after + " " + value, changes + " unknown bad_response", changes},
					{"done", tt.after + " " + value, "read not sent bad_response", "read"},
				} {
					want := x.wantOther
					if isNeeded {
						want = x.want
					}
					synctest.Test(t, func(t *testing.T) {
						s := &stateStore{reads: strings.Split(x.reads, "|"), status: []int{204}}
						diff(t, fmt.Sprintf("%s, %s %s", tt.name, x.what, value), s.ensureState(t, newClient(t, s), tt.change), want)
					})
				}
			}
		}
		for _, meta := range []string{"", `,"meta":null`, `,"meta":[]`, `,"meta":"x"`, `,"meta":{}`} {
			body := fmt.Sprintf(`{"data":{"id":%q%s}}`, numberedID(1), meta)
			_, err := newStub(t, respond(200, body)).client(t).Subscriptions.EnsureState(t.Context(), numberedID(1), tt.change)
			if !errors.Is(err, commerce.ErrBadResponse) || commerce.OutcomeOf(err) != commerce.OutcomeNotSent {
				t.Errorf("%s, meta %q: error %v, want ErrBadResponse", tt.name, meta, err)
			}
		}
	}
}

const (
	changes = "read change read"
	shown   = " after 2s" // the second read after a change comes later
)

var stateStores = []struct {
	name   string
	change commerce.StateChange
	reads  string // by |
	status []int  // default: 204
	want   string
	again  string // the same call again; default: want
}{
	{name: "cancel", change: cancel, reads: "|canceled", want: changes, again: "read"},
	{name: "canceled already", change: cancel, reads: "canceled", want: "read"},
	{
		name: "canceled, but not at once", change: endAtOnce, reads: "canceled|canceled inactive",
		want: changes, again: "read",
	},
	{name: "canceled at once, and closed", change: endAtOnce, reads: "canceled closed", want: "read"},
	{name: "canceled at once, by its state", change: endAtOnce, reads: "canceled paused inactive 2:cancel!", want: "read"},
	{
		name: "canceled, and inactive as it is paused", change: endAtOnce,
		reads: "canceled paused inactive 2:cancel|canceled closed", want: changes, again: "read",
	},
	{
		name: "cancel what dunning closed", change: endAtOnce, reads: "closed inactive|closed canceled inactive",
		want: changes, again: "read",
	},
	{name: "pause", change: pause, reads: "|paused", want: changes, again: "read"},
	{name: "resume", change: resume, reads: "paused|", want: changes, again: "read"},
	{name: "nothing to resume", change: resume, reads: "", want: "read"},
	{name: "resume what is suspended", change: resume, reads: "suspended|", want: changes, again: "read"},
	{
		name: "suspended until the payment", change: resume, reads: "suspended 1:pause|suspended inactive 2:resume",
		want: changes,
	},
	{name: "resume what is canceled", change: resume, reads: "canceled", want: "read not sent ended final"},
	{name: "resume what is closed", change: resume, reads: "closed inactive", want: "read not sent ended final"},
	{name: "reopen what is canceled", change: reopen, reads: "canceled paused|", want: changes, again: "read"},
	{name: "reopen what dunning closed", change: reopen, reads: "closed inactive", want: changes},
	{
		name: "reopened, and suspended until the payment", change: reopen,
		reads: "closed 1:cancel|suspended 2:resume", want: changes,
	},
	{
		name: "dunning suspends it meanwhile", change: resume,
		reads: "paused 1:pause|suspended 2:resume|suspended 2:resume|",
		want:  changes + " unknown outcome_unknown", again: changes,
	},
	{
		name: "dunning closes it meanwhile", change: resume, reads: "suspended 1:pause|closed 2:resume",
		want: changes + " unknown outcome_unknown", again: "read not sent ended final",
	},
	{
		name: "a plain cancellation by somebody else", change: endAtOnce,
		reads: "|canceled 2:cancel|canceled 2:cancel|canceled 3:cancel!",
		want:  changes + " unknown outcome_unknown", again: changes,
	},
	{
		name: "an immediate one in the first generation", change: endAtOnce,
		reads: `|canceled state={"id":"` + itemID + `","attributes":{"action":"cancel"}}`,
		want:  changes + " read" + shown + " rejected state_not_shown final", again: changes + " unknown outcome_unknown",
	},
	{
		name: "a flag that follows an immediate cancellation", change: endAtOnce,
		reads: "1:resume|2:cancel!|canceled inactive 2:cancel!", want: changes + " read" + shown, again: "read",
	},
	{name: "another letter case", change: cancel, reads: "-canceled Canceled=true", want: "read not sent bad_response"},
	{
		name: "still canceled after it was reopened", change: reopen,
		reads: "canceled 1:cancel|canceled 2:resume|canceled 2:resume|canceled 2:resume|canceled 3:resume",
		want:  changes + " read" + shown + " rejected state_not_shown final",
	},
	{name: "the response is lost", change: pause, reads: "|paused", status: []int{0}, want: changes, again: "read"},
	{
		name: "the request is lost", change: pause, reads: "", status: []int{0, 204},
		want: changes + " unknown outcome_unknown", again: changes + " unknown outcome_unknown",
	},
	{
		name: "a resume of what is suspended is lost", change: resume, reads: "suspended", status: []int{0},
		want: changes + " unknown outcome_unknown",
	},
	{name: "a page of a gateway", change: pause, reads: "|paused", status: []int{302}, want: changes, again: "read"},
	{
		name: "the change is refused", change: pause, reads: "", status: []int{422},
		want: changes + " rejected unprocessable final",
	},
	{
		name: "refused, as it was canceled then", change: pause, reads: "canceled|", status: []int{422},
		want: changes + " rejected unprocessable", again: changes + " rejected unprocessable final",
	},
	{
		name: "refused, and the read fails", change: pause, reads: "|404", status: []int{422},
		want: changes + " rejected unprocessable", again: "read nil not sent not_found final",
	},
	{name: "the first read fails", change: pause, reads: "404", want: "read nil not sent not_found final"},
	{
		name: "the last read fails", change: pause, reads: "|404|", want: changes + " unknown not_found",
		again: changes + " unknown outcome_unknown",
	},
	{
		name: "a state without an id", change: pause,
		reads: `1:resume|state={"attributes":{"action":"pause"}}|paused 2:pause`,
		want:  changes + " unknown outcome_unknown", again: "read",
	},
	{name: "no states", change: pause, reads: "||paused", want: changes + " unknown outcome_unknown", again: "read"},
	{
		name: "a flag that follows its state", change: pause, reads: "1:resume|2:pause|paused 2:pause",
		want: changes + " read" + shown, again: "read",
	},
	{
		name: "a change that is not made", change: pause, reads: "1:resume|2:pause|2:pause|2:pause|3:pause",
		want: changes + " read" + shown + " rejected state_not_shown final",
	},
	{
		name: "the second read is an old copy", change: pause, reads: "1:resume|2:pause|1:resume|paused 2:pause",
		want: changes + " read" + shown + " unknown outcome_unknown", again: "read",
	},
	{
		name: "the second read cannot be read", change: pause, reads: "1:resume|2:pause|-paused",
		want:  changes + " read" + shown + " unknown bad_response",
		again: "read not sent bad_response",
	},
	{
		name: "somebody resumes it at once", change: pause, reads: "1:resume|3:resume|3:resume|paused 4:pause",
		want: changes + " unknown outcome_unknown", again: changes,
	},
	{
		name: "somebody resumes it before the second read", change: pause,
		reads: "1:resume|2:pause|3:resume|3:resume|paused 4:pause",
		want:  changes + " read" + shown + " unknown outcome_unknown", again: changes,
	},
}

// What EnsureState does with stores that lag, refuse or lose requests, and with what others do
// meanwhile: its requests and its end, and those of the same call right after it.
func TestEnsureState(t *testing.T) {
	t.Parallel()
	for _, tt := range stateStores {
		synctest.Test(t, func(t *testing.T) {
			s := &stateStore{reads: strings.Split(tt.reads, "|"), status: tt.status}
			if s.status == nil {
				s.status = []int{204}
			}
			c := newClient(t, s, attempts(1))
			diff(t, tt.name, s.ensureState(t, c, tt.change), tt.want)
			diff(t, tt.name+", again", s.ensureState(t, c, tt.change), cmp.Or(tt.again, tt.want))
		})
	}
	for _, status := range []int{400, 403, 404, 409, 410, 422, 423, 429} {
		synctest.Test(t, func(t *testing.T) {
			s := &stateStore{reads: []string{"paused", ""}, status: []int{status}}
			c := newClient(t, s, attempts(1))
			diff(t, fmt.Sprint("somebody else was faster, ", status), withoutTime(s.ensureState(t, c, resume)), changes)
		})
	}
	synctest.Test(t, func(t *testing.T) {
		s := newStub(t, respond(200, subscriptionBody("paused")), respond(429, "", "Retry-After", "3600"))
		_, err := s.client(t, attempts(1)).Subscriptions.EnsureState(t.Context(), numberedID(1), resume)
		if !errors.Is(err, commerce.ErrRateLimited) || commerce.OutcomeOf(err) != commerce.OutcomeRejected {
			t.Errorf("the service asks for an hour: error %v, want ErrRateLimited at once", err)
		}
	})
	_, err := newStub(t).client(t).Subscriptions.EnsureState(t.Context(), uuid.Nil, pause)
	diff(t, "invalid fields", invalidFields(err), []string{"subscription id"})
}

// With a deadline before the second read, that read comes at once, and shows nothing for sure.
func TestEnsureState_deadline(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ last, want string }{
		{last: "2:pause", want: changes + " read unknown outcome_unknown"},
		{last: "paused 2:pause", want: changes + " read"},
	} {
		synctest.Test(t, func(t *testing.T) {
			s := &stateStore{reads: []string{"1:resume", "2:pause", tt.last}, status: []int{204}}
			diff(t, tt.last, s.ensureStateWithin(t, newClient(t, s), pause, 2*time.Second), tt.want)
		})
	}
}
