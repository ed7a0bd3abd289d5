package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// program is a running program that has printed its values and commands.
type program struct {
	values map[string]string // by name: address, client id and so on
	curl   []string          // the commands

	stop func() ended // like Ctrl-C; may be called more than once
}

// ended is what a run returned and printed, except for the values and commands.
type ended struct {
	Code   int
	Stderr string
}

// start runs the program, and reads what it prints up to the last command.
func start(t *testing.T, args ...string) *program {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	r, w := io.Pipe()
	var stderr bytes.Buffer // read after the run only
	done := make(chan int, 1)
	go func() {
		code := run(ctx, args, w, &stderr)
		_ = w.Close()
		done <- code
	}()
	p := &program{values: map[string]string{}}
	p.stop = sync.OnceValue(func() ended {
		cancel()
		go func() { _, _ = io.Copy(io.Discard, r) }() // ends with the run
		return ended{<-done, stderr.String()}
	})
	t.Cleanup(func() { p.stop() })

	lines := bufio.NewScanner(r)
	for len(p.curl) < 3 && lines.Scan() {
		if strings.HasPrefix(lines.Text(), "curl ") {
			p.curl = append(p.curl, lines.Text())
		} else if name, value, ok := strings.Cut(lines.Text(), ": "); ok {
			p.values[name] = value
		}
	}
	if len(p.curl) < 3 {
		e := p.stop()
		t.Fatalf("%d commands are printed, code %d, stderr %q", len(p.curl), e.Code, e.Stderr)
	}
	return p
}

// The responses to the three commands, as far as they are checked.
type (
	tokenResponse struct {
		AccessToken string `json:"access_token"`
		TokenType   string `json:"token_type"`
		ExpiresIn   int    `json:"expires_in"`
	}
	listResponse struct {
		Data []struct {
			Type       string `json:"type"`
			Attributes struct {
				AccountID   string `json:"account_id"`
				ExternalRef string `json:"external_ref"`
			} `json:"attributes"`
		} `json:"data"`
		Included map[string][]any   `json:"included"`
		Links    map[string]*string `json:"links"`
		Errors   []any              `json:"errors"`
	}
	addResponse struct {
		Data []struct {
			Type       string `json:"type"`
			ExternalID string `json:"external_id"`
			Amount     struct {
				Amount    int    `json:"amount"`
				Formatted string `json:"formatted"`
			} `json:"amount"`
		} `json:"data"`
		Errors []any `json:"errors"`
	}
)

// decode decodes the body of a response.
func decode[T any](t *testing.T, body []byte) T {
	t.Helper()
	var v T
	if err := json.Unmarshal(body, &v); err != nil {
		t.Fatalf("response %q: %v", body, err)
	}
	return v
}

// checkResponses checks the responses to the three commands.
func checkResponses(t *testing.T, responses [][]byte) {
	t.Helper()
	token := decode[tokenResponse](t, responses[0])
	if token.AccessToken == "" || token.TokenType != "Bearer" || token.ExpiresIn != 3600 {
		t.Errorf("got token %s, want a bearer token for 3600 s", responses[0])
	}
	var refs []string
	list := decode[listResponse](t, responses[1])
	for _, sub := range list.Data {
		refs = append(refs, sub.Attributes.ExternalRef)
	}
	// Subscriber 1 has the first, third and fifth, and the page holds two, newest first.
	if diff := cmp.Diff([]string{"order-000005", "order-000003"}, refs); diff != "" {
		t.Errorf("subscriptions (-want +got):\n%s", diff)
	}
	if list.Links["next"] == nil {
		t.Errorf("links %s, want a next one", responses[1])
	}
	added := decode[addResponse](t, responses[2])
	if len(added.Data) != 1 || len(added.Errors) > 0 ||
		added.Data[0].ExternalID != "ten-off-1" || added.Data[0].Amount.Formatted != "-$10.00" {
		t.Errorf("added %s, want ten-off-1 with -$10.00", responses[2])
	}
}

func TestPrints(t *testing.T) {
	t.Parallel()
	p := start(t)
	address := p.values["address"]
	u, err := url.Parse(address)
	if err != nil || u.Scheme != "http" || !net.ParseIP(u.Hostname()).IsLoopback() || u.Port() == "" {
		t.Errorf("address %q", address)
	}
	want := map[string]string{
		"address":       address,
		"client id":     "commercetest-id",
		"client secret": "commercetest-secret",
		"token":         "commercetest-token",
		"cart":          "599c9a5a-e949-5fbb-b06a-814d93202b11",
		"cart item":     "3b4de20a-ccd0-44e6-894f-628e7afb3db0",
		"account token": "commercetest-account-29979e80-3e0f-52f4-9d48-2efc43cf8844",
	}
	if diff := cmp.Diff(want, p.values); diff != "" {
		t.Errorf("values (-want +got):\n%s", diff)
	}
	wantEnd := ended{exitOK, "serving 100 subscriptions; Ctrl-C stops the store\n" +
		"stopped with 1 carts and 100 subscriptions\n"}
	if diff := cmp.Diff(wantEnd, p.stop()); diff != "" {
		t.Errorf("end (-want +got):\n%s", diff)
	}
}

// TestCurl runs the commands in a shell, like a user who pastes them.
func TestCurl(t *testing.T) {
	t.Parallel()
	curl, err := exec.LookPath("curl")
	if err != nil {
		t.Skip("curl is not installed; TestCurlLines sends the same requests without it")
	}
	if _, err := exec.LookPath("sh"); err != nil {
		t.Skip("there is no sh to paste the commands into; TestCurlLines sends the same requests without it")
	}
	for addr, generation := range map[string]string{
		"127.0.0.1:0": "first", "localhost:0": "second", "[::1]:0": "first",
	} {
		t.Run(addr, func(t *testing.T) {
			t.Parallel()
			if addr == "[::1]:0" && !hasIPv6(t) {
				t.Skip("this machine has no IPv6 loopback address")
			}
			p := start(t, "-addr", addr, "-generation", generation)
			var responses [][]byte
			for _, line := range p.curl {
				cmd := exec.CommandContext(t.Context(), "sh")
				cmd.Stdin = strings.NewReader(line + "\n")
				cmd.Env = []string{"PATH=" + curl[:strings.LastIndexAny(curl, `/\`)], "HOME=" + t.TempDir()} // no proxy, no .curlrc
				var stdout, stderr bytes.Buffer
				cmd.Stdout, cmd.Stderr = &stdout, &stderr
				if err := cmd.Run(); err != nil || stderr.Len() > 0 {
					t.Errorf("%s: %v, %s", line, err, stderr.String())
				}
				if !strings.HasSuffix(stdout.String(), "\n") {
					t.Errorf("the response %q does not end the line", stdout.String())
				}
				responses = append(responses, stdout.Bytes())
			}
			checkResponses(t, responses)
		})
	}
}

func hasIPv6(t *testing.T) bool {
	t.Helper()
	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "[::1]:0")
	if err != nil {
		return false
	}
	_ = l.Close()
	return true
}

// TestCurlLines parses the commands, and sends the same requests without curl.
func TestCurlLines(t *testing.T) {
	t.Parallel()
	for _, generation := range []string{"first", "second"} {
		t.Run(generation, func(t *testing.T) {
			t.Parallel()
			p := start(t, "-generation", generation)
			var responses [][]byte
			for _, line := range p.curl {
				status, body := do(t, curlRequest(t, line))
				if status >= 300 {
					t.Errorf("%s: status %d", line, status)
				}
				responses = append(responses, body)
			}
			checkResponses(t, responses)
		})
	}
}

// do sends a request over a connection of its own. The status is 0 if there is no response.
func do(t *testing.T, req *http.Request) (status int, body []byte) {
	t.Helper()
	resp, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).Do(req)
	if err != nil {
		return 0, nil
	}
	body, err = io.ReadAll(resp.Body)
	_ = resp.Body.Close()
	if err != nil {
		t.Error(err)
	}
	return resp.StatusCode, body
}

// The flags change what the store does. Each row sends the requests of three commands: a
// token, a list and an add. The query is that of the list.
func TestFlags(t *testing.T) {
	t.Parallel()
	const plans = "include=plans,"
	tests := []struct {
		name  string
		args  []string
		query string
		want  []int // statuses
	}{
		{name: "none", query: plans + "products", want: []int{200, 200, 201}},
		{name: "none, include of the second generation", query: plans + "pricing_options", want: []int{200, 400, 201}},
		{
			name: "first generation", args: []string{"-generation", "first"}, query: plans + "products",
			want: []int{200, 200, 201},
		},
		{
			name: "second generation", args: []string{"-generation", "second"}, query: plans + "pricing_options",
			want: []int{200, 200, 201},
		},
		{name: "rate", args: []string{"-rate", "1"}, want: []int{200, 200, 429}},
		{name: "latency", args: []string{"-latency", "1ms"}, want: []int{200, 200, 201}},
		{name: "fault", args: []string{"-fault", "add:504"}, want: []int{200, 200, 504}},
		{
			name: "two faults", args: []string{"-fault", "token:503:applied", "-fault", "list:cut:always"},
			want: []int{503, 0, 201},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got, took := sendCommands(t, start(t, tt.args...), tt.query)
			for took >= time.Second { // after a second, the rate allows one more request
				got, took = sendCommands(t, start(t, tt.args...), tt.query)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("statuses (-want +got):\n%s", diff)
			}
		})
	}
}

// sendCommands sends the requests of the commands, the list with this query. It returns their
// statuses.
func sendCommands(t *testing.T, p *program, query string) (statuses []int, took time.Duration) {
	t.Helper()
	begin := time.Now()
	for i, line := range p.curl {
		req := curlRequest(t, line)
		if i == 1 {
			req.URL.RawQuery = query
		}
		status, _ := do(t, req)
		statuses = append(statuses, status)
	}
	return statuses, time.Since(begin)
}

func TestSlowed(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name          string
		timeout, want time.Duration
	}{
		{name: "the client waits", timeout: time.Hour, want: time.Minute},
		{name: "the client has gone", timeout: time.Second, want: time.Second},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithTimeout(t.Context(), tt.timeout)
				defer cancel()
				begin, called := time.Now(), false
				h := slowed(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { called = true }), time.Minute)
				h.ServeHTTP(httptest.NewRecorder(), httptest.NewRequestWithContext(ctx, http.MethodGet, "/", nil))
				if got := time.Since(begin); got != tt.want || !called {
					t.Errorf("the handler was called: %t, after %s, want true, %s", called, got, tt.want)
				}
			})
		})
	}
}

// The last line counts what the store holds, without a late write that has not been applied.
func TestCountAtTheEnd(t *testing.T) {
	t.Parallel()
	p := start(t, "-n", "7", "-fault", "add-item:503:late:1h")
	for path, want := range map[string]int{"/v2/carts": http.StatusCreated, "/v2/carts/new/items": 503} {
		req := curlRequest(t, p.curl[2])
		req.URL.Path = path
		req.Body, req.ContentLength = io.NopCloser(strings.NewReader(`{"data":{}}`)), int64(len(`{"data":{}}`))
		if got, _ := do(t, req); got != want {
			t.Errorf("%s: status %d, want %d", path, got, want)
		}
	}
	want := ended{exitOK, "serving 7 subscriptions; Ctrl-C stops the store\n" +
		"stopped with 2 carts and 7 subscriptions\n"}
	if diff := cmp.Diff(want, p.stop()); diff != "" {
		t.Errorf("end (-want +got):\n%s", diff)
	}
}

// curlRequest returns the request that a command makes. It knows only the options that
// the program prints.
func curlRequest(t *testing.T, line string) *http.Request {
	t.Helper()
	var address string
	var form []string
	header := http.Header{}
	words := shellWords(t, line)
	for i := 1; i < len(words); i++ {
		switch word := words[i]; word {
		case "-sSg":
		case "-w":
			i++
		case "-d":
			i++
			form = append(form, words[i])
		case "-H":
			i++
			key, value, ok := strings.Cut(words[i], ": ")
			if !ok {
				t.Fatalf("header %q", words[i])
			}
			header.Set(key, value)
		default:
			if address != "" || strings.HasPrefix(word, "-") {
				t.Fatalf("unknown word %q", word)
			}
			address = word
		}
	}
	method := http.MethodGet
	if form != nil {
		method = http.MethodPost
		if header.Get("Content-Type") == "" {
			header.Set("Content-Type", "application/x-www-form-urlencoded")
		}
	}
	req, err := http.NewRequestWithContext(t.Context(), method, address, strings.NewReader(strings.Join(form, "&")))
	if err != nil {
		t.Fatal(err)
	}
	req.Header = header
	return req
}

// shellWords splits a line at spaces, and removes single quotes, like a shell. Outside of
// quotes it allows no character that is special in a shell.
func shellWords(t *testing.T, line string) []string {
	t.Helper()
	var words []string
	for i, part := range strings.Split(line, "'") {
		if i%2 == 1 {
			words[len(words)-1] += part
			continue
		}
		if at := strings.IndexAny(part, "\"\\$`&|;<>()[]{}*?!#~"); at >= 0 {
			t.Fatalf("%q is not in quotes: %s", part[at], line)
		}
		for j, word := range strings.Split(part, " ") {
			if i == 0 || j > 0 {
				words = append(words, word)
			} else {
				words[len(words)-1] += word
			}
		}
	}
	return words
}

func TestUsage(t *testing.T) {
	t.Parallel()
	const (
		loopback = "must be on the loopback interface, such as 127.0.0.1:8080: " +
			"the store speaks plain HTTP, and its credentials are public"
		badPort = "must have a port from 0 to 65535"
	)
	tests := []struct {
		name, arg string
		problem   string // of the value
	}{
		{name: "all interfaces", arg: "-addr=:8080", problem: loopback},
		{name: "all interfaces, IPv6", arg: "-addr=[::]:8080", problem: loopback},
		{name: "another machine", arg: "-addr=192.0.2.1:0", problem: loopback},
		{name: "another host name", arg: "-addr=store.example:80", problem: loopback},
		{name: "no port", arg: "-addr=127.0.0.1", problem: "must be a host and a port, such as 127.0.0.1:8080"},
		{name: "port too high", arg: "-addr=127.0.0.1:65536", problem: badPort},
		{name: "name of a port", arg: "-addr=127.0.0.1:http", problem: badPort},
		{name: "other generation", arg: "-generation=third", problem: "must be first or second"},
		{name: "rate too high", arg: "-rate=1000001", problem: "must be a whole number from 0 to 1000000"},
		{name: "latency without a unit", arg: "-latency=200", problem: "must be a delay such as 200ms or 2s"},
		{name: "negative latency", arg: "-latency=-1s", problem: "must be a delay such as 200ms or 2s"},
		{name: "fault", arg: "-fault=add", problem: "must be an operation and a response, such as add:504"},
		{name: "too many", arg: "-n=250001", problem: "must be a whole number from 0 to 250000"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			name, value, _ := strings.Cut(tt.arg, "=")
			text := fmt.Sprintf("fake-store: invalid value %q for flag %s: %s (-h for help)\n", value, name, tt.problem)
			var stdout, stderr bytes.Buffer
			code := run(t.Context(), []string{tt.arg}, &stdout, &stderr)
			if diff := cmp.Diff(ended{exitUsage, text}, ended{code, stderr.String()}); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if stdout.Len() > 0 {
				t.Errorf("stdout = %q, want nothing", stdout.String())
			}
		})
	}
}

func TestHelp(t *testing.T) {
	t.Parallel()
	var stdout, stderr bytes.Buffer
	if code := run(t.Context(), []string{"-h"}, &stdout, &stderr); code != exitOK || stderr.Len() > 0 {
		t.Errorf("code %d, stderr %q", code, stderr.String())
	}
	for _, flag := range []string{"-addr", "-fault", "-generation", "-latency", "-n", "-rate"} {
		if !strings.Contains(stdout.String(), "\n  "+flag+" ") {
			t.Errorf("help does not tell %s:\n%s", flag, stdout.String())
		}
	}
}

func TestAddressInUse(t *testing.T) {
	t.Parallel()
	first := start(t)
	addr := strings.TrimPrefix(first.values["address"], "http://")
	var stdout, stderr bytes.Buffer
	code := run(t.Context(), []string{"-addr", addr}, &stdout, &stderr)
	want := "fake-store: the address " + addr + " is in use: stop what listens there, or choose another with -addr\n"
	if diff := cmp.Diff(ended{exitFailed, want}, ended{code, stderr.String()}); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if stdout.Len() > 0 {
		t.Errorf("stdout %q, want nothing", stdout.String())
	}
}

func TestCount(t *testing.T) {
	t.Parallel()
	p := start(t, "-n", "3")
	req := curlRequest(t, p.curl[1])
	req.URL.RawQuery = ""
	_, body := do(t, req)
	if n := len(decode[listResponse](t, body).Data); n != 3 {
		t.Errorf("%d subscriptions, want 3", n)
	}
}

// A request under way at the signal may end within the grace time. After it, the request
// is aborted.
func TestShutdown(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name   string
		grace  time.Duration
		status int
		want   string
	}{
		{name: "in time", grace: time.Hour, status: http.StatusNoContent},
		{name: "too late", grace: 1, want: "requests still under way after 1ns were aborted"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			ctx, signal := context.WithCancel(t.Context())
			began, end := make(chan struct{}), make(chan struct{})
			listener, err := listen(ctx, "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			server := newServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				close(began)
				<-end
				w.WriteHeader(http.StatusNoContent)
			}), io.Discard)
			served := make(chan error, 1)
			go func() { served <- serve(ctx, listener, server, tt.grace) }()
			status := make(chan int, 1)
			go func() { status <- statusOf(t, "http://"+listener.Addr().String()) }()
			<-began
			signal()
			if tt.want == "" {
				close(end)
			}
			if got := <-status; got != tt.status {
				t.Errorf("status %d, want %d", got, tt.status)
			}
			if tt.want != "" {
				close(end)
			}
			got := ""
			if err := <-served; err != nil {
				got = err.Error()
			}
			if got != tt.want {
				t.Errorf("serve() = %q, want %q", got, tt.want)
			}
		})
	}
}

// statusOf returns the status of a response, or 0 if there is none.
func statusOf(t *testing.T, address string) int {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, address, nil)
	if err != nil {
		t.Error(err)
		return 0
	}
	status, _ := do(t, req)
	return status
}

// A listener that fails ends the program.
func TestServeFails(t *testing.T) {
	t.Parallel()
	listener, err := listen(t.Context(), "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_ = listener.Close()
	err = serve(t.Context(), listener, newServer(http.NotFoundHandler(), io.Discard), grace)
	if !errors.Is(err, net.ErrClosed) {
		t.Errorf("serve() = %v, want %v", err, net.ErrClosed)
	}
}
