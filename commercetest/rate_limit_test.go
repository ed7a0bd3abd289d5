package commercetest_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/commerce-go/commerce/commercetest"
)

const ms = time.Millisecond

// rateStep sends requests after a wait.
type rateStep struct {
	wait          time.Duration
	send, allowed int // requests
}

var rateLimitTests = []struct {
	name        string
	rate, burst int
	steps       []rateStep
}{
	{name: "burst defaults to the rate", rate: 25, steps: []rateStep{{send: 30, allowed: 25}}},
	{name: "one per interval", rate: 25, burst: 6, steps: []rateStep{
		{send: 8, allowed: 6},
		{wait: 40*ms - 1, send: 1, allowed: 0},
		{wait: 1, send: 2, allowed: 1},
		{wait: 40 * ms, send: 2, allowed: 1},
	}},
	{name: "interval is not a whole number of nanoseconds", rate: 3, burst: 1, steps: []rateStep{
		{send: 2, allowed: 1}, {wait: 333_333_333, send: 1, allowed: 0}, {wait: 1, send: 2, allowed: 1},
	}},
	{name: "parts of an interval count", rate: 3, burst: 2, steps: []rateStep{
		{send: 2, allowed: 2},
		{wait: 500 * ms, send: 2, allowed: 1},
		{wait: 166_666_666, send: 1, allowed: 0},
		{wait: 1, send: 1, allowed: 1},
	}},
	{name: "refused requests do not count", rate: 1, burst: 1, steps: []rateStep{
		{send: 100, allowed: 1}, {wait: time.Second, send: 100, allowed: 1},
	}},
	{name: "two intervals", rate: 10, burst: 5, steps: []rateStep{
		{send: 5, allowed: 5}, {wait: 200 * ms, send: 5, allowed: 2},
	}},
	{name: "at most the burst after a long pause", rate: 10, burst: 5, steps: []rateStep{
		{send: 5, allowed: 5}, {wait: 1000 * time.Hour, send: 10, allowed: 5},
	}},
	{name: "at most the burst after a short pause", rate: 10, burst: 5, steps: []rateStep{
		{send: 5, allowed: 5}, {wait: 2 * time.Second, send: 20, allowed: 5},
	}},
	{name: "burst above the rate", rate: 1, burst: 3, steps: []rateStep{
		{send: 4, allowed: 3}, {wait: time.Second, send: 2, allowed: 1}, {wait: 2 * time.Second, send: 3, allowed: 2},
	}},
	{name: "largest rate", rate: 1_000_000, burst: 1_000_000, steps: []rateStep{
		{send: 10, allowed: 10}, {wait: 1, send: 10, allowed: 10},
	}},
	{name: "no limit", steps: []rateStep{{send: 200, allowed: 200}}},
	{name: "burst without a rate", burst: 1, steps: []rateStep{{send: 200, allowed: 200}}},
}

// The rate limit is exact to the nanosecond.
func TestRateLimit(t *testing.T) {
	t.Parallel()
	for _, tt := range rateLimitTests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				store := commercetest.NewStore(commercetest.Config{RateLimit: tt.rate, RateBurst: tt.burst})
				total := 0
				for i, step := range tt.steps {
					time.Sleep(step.wait)
					statuses := map[int]int{}
					for range step.send {
						statuses[send(t, store, get(settingsPath)).Status]++
					}
					if statuses[200] != step.allowed || statuses[429] != step.send-step.allowed {
						t.Errorf("step %d: %d requests have statuses %v, want %d times 200 and 429 for the rest",
							i, step.send, statuses, step.allowed)
					}
					total += step.send
				}
				wantEqual(t, "requests recorded", len(store.Requests()), total)
			})
		})
	}
}

func TestRateLimit_response(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name       string
		retryAfter time.Duration
		want       []string
	}{
		{name: "default", retryAfter: 0, want: nil},
		{name: "whole seconds", retryAfter: 7 * time.Second, want: []string{"7"}},
		{name: "rounded up", retryAfter: 7*time.Second + 1, want: []string{"8"}},
		{name: "below a second", retryAfter: time.Nanosecond, want: []string{"1"}},
		{name: "days", retryAfter: 48 * time.Hour, want: []string{"172800"}},
	} {
		for _, sender := range senders {
			t.Run(tt.name+"/"+sender.name, func(t *testing.T) {
				t.Parallel()
				store := commercetest.NewStore(commercetest.Config{RateLimit: 1, RetryAfter: tt.retryAfter})
				resp := sendUntilRefused(t, store, sender.send)
				wantEqual(t, "body", resp.Body, "Too many requests\n")
				wantEqual(t, "Content-Type", resp.Header.Get("Content-Type"), "text/plain; charset=utf-8")
				wantEqual(t, "Retry-After", resp.Header["Retry-After"], tt.want)
				requests := store.Requests()
				wantEqual(t, "X-Request-Id", resp.Header.Get("X-Request-Id"), requests[len(requests)-1].ID)
			})
		}
	}
}

// A refused request adds nothing and meets no fault. Token requests are neither
// refused nor counted. A request to an unknown endpoint is counted.
func TestRateLimit_refusedRequestHasNoEffect(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store := newCart(t, commercetest.Config{RateLimit: 1})
		store.Inject(commercetest.Fault{Operation: commercetest.OpAdd, After: 1, Status: 503})
		token, add, unknown := postForm(validForm), addRequest(onCart("a")), get("/nowhere")
		for second, want := range [][]int{
			{200, 201, 429, 429},
			{200, 503, 429, 429}, // the second request that is not refused meets the fault
			{200, 201, 429, 429},
		} {
			var got []int
			for _, raw := range []string{token, add, add, unknown} {
				got = append(got, send(t, store, raw).Status)
			}
			wantEqual(t, "statuses", got, want)
			wantEqual(t, "requests recorded", len(store.Requests()), 4*(second+1))
			time.Sleep(time.Second)
		}
		wantEqual(t, "discounts of the cart", len(store.Discounts(cartID)), 2)
		wantEqual(t, "status of an unknown endpoint", send(t, store, unknown).Status, 404)
		wantEqual(t, "status after an unknown endpoint", send(t, store, add).Status, 429)
	})
}
