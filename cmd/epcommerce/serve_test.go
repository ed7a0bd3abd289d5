package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/google/go-cmp/cmp"

	"github.com/commerce-go/commerce/cmd/epcommerce/internal/fakestore"
)

// served is a running store.
type served struct {
	text, address string // what it printed, and the address in it
	stop          func() result
}

// start runs epcommerce serve. stop is like Ctrl-C, and may be called more than once.
func start(t *testing.T, args ...string) *served {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	stdout, w := io.Pipe()
	var stderr bytes.Buffer // read after the run only
	done := make(chan int, 1)
	go func() {
		done <- run(ctx, append([]string{"serve"}, args...), &environment{stdout: w, stderr: &stderr})
		_ = w.Close()
	}()
	s := &served{stop: sync.OnceValue(func() result {
		cancel()
		return result{code: <-done, stderr: stderr.String()}
	})}
	t.Cleanup(func() { s.stop() })
	buffer := make([]byte, 8<<10)
	n, _ := stdout.Read(buffer) // the text is one write
	s.text = string(buffer[:n])
	if s.address = regexp.MustCompile(`https?://\S+`).FindString(s.text); s.address == "" {
		t.Fatalf("it printed no address, but %q; %+v", s.text, s.stop())
	}
	return s
}

// get sends a GET over a connection of its own. The status is 0 if there is no response.
func get(t *testing.T, address string) (status int) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, address, nil)
	if err != nil {
		t.Error(err)
		return 0
	}
	req.Header.Set("Authorization", "Bearer commercetest-token")
	resp, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).Do(req)
	if err != nil {
		return 0
	}
	_ = resp.Body.Close()
	return resp.StatusCode
}

// shell runs a command in sh, like a user who pastes it, and returns what it prints.
func shell(t *testing.T, command string) string {
	t.Helper()
	if _, err := exec.LookPath("curl"); err != nil {
		t.Skip("curl is not installed")
	}
	cmd := exec.CommandContext(t.Context(), "sh", "-c", command)
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + t.TempDir()} // no proxy, no .curlrc
	output, _ := cmd.CombinedOutput()                                      // curl prints its errors
	return string(output)
}

// The commands that it prints work in a shell, for each form of a loopback address.
func TestServe_curl(t *testing.T) {
	t.Parallel()
	for _, addr := range []string{"127.0.0.1:0", "localhost:0", "[::1]:0"} {
		t.Run(addr, func(t *testing.T) {
			t.Parallel()
			l, _, err := listen(addr)
			if err != nil {
				t.Skip("this machine has no such address")
			}
			_ = l.Close()
			s, got := start(t, "--addr", addr), ""
			for _, command := range regexp.MustCompile(`(?m)^curl .*$`).FindAllString(s.text, -1) {
				got += shell(t, command)
			}
			want := `^{"access_token":.*\n{"data":.*"order-000005".*"order-000003".*\n{"data":.*"ten-off-1".*\n$`
			if !regexp.MustCompile(want).MatchString(got) || strings.Contains(got, `"errors":`) {
				t.Errorf("got %s, want %s", got, want)
			}
		})
	}
}

const settingsPath = "/v2/settings"

// productsPath is a list that only the first generation has.
const productsPath = "/v2/subscriptions/subscriptions?include=products"

func TestServe_flags(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name string
		args []string
		path string
		want []int // statuses of requests, one after the other
		log  string
	}{
		{name: "none", path: productsPath, want: []int{400}},
		{name: "first generation", args: []string{"--generation", "first"}, path: productsPath, want: []int{200}},
		{name: "rate", args: []string{"--rate", "1"}, path: settingsPath, want: []int{200, 429}},
		{
			name: "faults", path: settingsPath + "?token=secret", want: []int{504, 0, 200},
			args: []string{"--verbose", "--fault", `{"operation":"settings","status":504}`, "--fault", `{"cut":true}`},
			log:  "GET /v2/settings 504\nGET /v2/settings 0\nGET /v2/settings 200\n",
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := start(t, append(tt.args, "--subscriptions", "7")...)
			for i, want := range tt.want {
				if got := get(t, s.address+tt.path); got != want {
					t.Errorf("status of request %d = %d, want %d", i+1, got, want)
				}
			}
			want := "serving 7 subscriptions; Ctrl-C stops the store\n" + tt.log + "stopped with 1 carts and 7 subscriptions\n"
			if end := s.stop(); end.code != 0 || end.stderr != want {
				t.Errorf("end = %+v, want code 0 and %q", end, want)
			}
		})
	}
}

func listen(addr string, hosts ...string) (net.Listener, bool, error) {
	f := serveFlags{addr: addr, config: fakestore.Config{Hosts: hosts}}
	return f.listen()
}

// An address that others reach must be asked for twice.
func TestListen_others(t *testing.T) {
	t.Parallel()
	for _, addr := range []string{":8080", "0.0.0.0:0", "[::]:0", "192.0.2.1:0"} {
		if _, _, err := listen(addr); err == nil || !strings.Contains(err.Error(), "must be a loopback address") {
			t.Errorf("listen(%q) = %v, want a refusal", addr, err)
		}
	}
	_, _, err := listen("192.0.2.1:0", "store.test")
	if err == nil || !strings.Contains(err.Error(), "--allow-host 192.0.2.1") {
		t.Errorf("error = %v, want the flag that is missing", err)
	}
	for addr, want := range map[string]bool{"0.0.0.0:0": true, ":0": true, "127.0.0.1:0": false} {
		l, isPublic, err := listen(addr, "store.test")
		if err != nil {
			t.Fatal(err)
		}
		_ = l.Close()
		if isPublic != want {
			t.Errorf("listen(%q): others reach it: %t", addr, isPublic)
		}
	}
}

// Where others reach the store, the credentials are random, what drives it needs the token, and
// there is no page.
func TestServe_public(t *testing.T) {
	t.Parallel()
	for _, page := range []bool{false, true} {
		args := []string{"--addr", "0.0.0.0:0", "--allow-host", "Store.Test"}
		if page {
			args = append(args, "--page")
		}
		s := start(t, args...)
		isRandom := regexp.MustCompile(`(?m)^token: [A-Z2-7]{26}$`).MatchString(s.text)
		if !isRandom || !strings.HasPrefix(s.address, "http://store.test:") || strings.Contains(s.text, "page: ") != page {
			t.Errorf("it prints %s", s.text)
		}
		address := strings.Replace(s.address, "store.test", "127.0.0.1", 1)
		token := regexp.MustCompile(`(?m)^token: (.*)$`).FindStringSubmatch(s.text)[1]
		for command, want := range map[string]string{
			"/_store/requests -H 'Host: store.test'":                                  "401",
			"/_store/requests -H 'Host: store.test' -H 'Authorization: Bearer TOKEN'": "200",
			"/v2/settings -H 'Host: store.test' -H 'Authorization: Bearer TOKEN'":     "200",
			"/v2/settings -H 'Host: other.test' -H 'Authorization: Bearer TOKEN'":     "403",
			"/ -u :TOKEN": map[bool]string{false: "404", true: "200"}[page],
		} {
			command = address + strings.ReplaceAll(command, "TOKEN", token)
			if got := shell(t, "curl -sS --noproxy '*' -o /dev/null -w '%{http_code}' "+command); got != want {
				t.Errorf("%s: got %s, want %s", command, got, want)
			}
		}
	}
}

// With --tls, clients that trust the file can use the store, and others cannot. It is removed.
func TestServe_tls(t *testing.T) {
	t.Parallel()
	s := start(t, "--tls", "--allow-host", "store.test", "--allow-host", "192.0.2.1", "--token", "a", "--token", "b")
	file := regexp.MustCompile(`(?m)^certificate: (.*)$`).FindStringSubmatch(s.text)
	if file == nil || !strings.HasPrefix(s.address, "https://") {
		t.Fatalf("it prints %s", s.text)
	}
	for _, command := range regexp.MustCompile(`(?m)^curl .*$`).FindAllString(s.text, -1) {
		if got := shell(t, command); !strings.Contains(got, `"data":`) && !strings.Contains(got, `"access_token":`) {
			t.Errorf("%s: got %s", command, got)
		}
	}
	port := s.address[strings.LastIndex(s.address, ":")+1:]
	for command, want := range map[string]string{
		"https://store.test:" + port + " --resolve store.test:" + port + ":127.0.0.1 --cacert " + file[1]: "200",
		s.address + " -H 'Origin: " + s.address + "' --cacert " + file[1]:                                 "200",
		"https://localhost:" + port + " --cacert " + file[1]:                                              "200",
		s.address: "000",
	} {
		url, options, _ := strings.Cut(command, " ")
		command = "curl -s --noproxy '*' -o /dev/null -w '%{http_code}' -H 'Authorization: Bearer b' " +
			url + settingsPath + " " + options
		if got := shell(t, command); got != want {
			t.Errorf("%s: got %s, want %s", command, got, want)
		}
	}
	if !strings.Contains(s.text, "namespace b: client id b-id, client secret b-secret, token b\n") {
		t.Errorf("it prints %s, want the second namespace", s.text)
	}
	if end := s.stop(); end.code != 0 {
		t.Errorf("end = %+v, want code 0", end)
	}
	if _, err := os.Stat(file[1]); err == nil {
		t.Error("the file of the certificate is still there")
	}
}

// A program that follows the events does not delay the end.
func TestServe_events(t *testing.T) {
	t.Parallel()
	s := start(t, "--no-page")
	if strings.Contains(s.text, "page: ") || get(t, s.address+"/") != http.StatusNotFound {
		t.Error("there is a page")
	}
	large := "curl -sS -o /dev/null -w '%{http_code}' -H \"X: $(head -c 100000 /dev/zero | tr '\\0' x)\" "
	if got := shell(t, large+s.address+settingsPath); got != "431" {
		t.Errorf("status %s for a large header, want 431", got)
	}
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.address+"/_store/events", nil)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	begin := time.Now()
	if end := s.stop(); end.code != 0 || time.Since(begin) > 4*time.Second {
		t.Errorf("end = %+v after %v, want code 0 at once", end, time.Since(begin))
	}
}

// A store ends with the program that holds its standard input.
func TestServe_stopWithStdin(t *testing.T) {
	t.Parallel()
	stdin, holder := io.Pipe()
	var stdout, stderr bytes.Buffer
	done := make(chan int, 1)
	go func() {
		e := &environment{stdin: stdin, stdout: &stdout, stderr: &stderr}
		done <- run(t.Context(), []string{"serve", "--stop-with-stdin"}, e)
	}()
	if _, err := holder.Write([]byte("what it says does not matter\n")); err != nil {
		t.Fatal(err)
	}
	_ = holder.Close()
	if code := <-done; code != 0 || !strings.Contains(stderr.String(), "stopped with") {
		t.Errorf("exit code %d, %s", code, &stderr)
	}
}

func TestServe_check(t *testing.T) {
	t.Parallel()
	s, secure := start(t, "--rate", "1", "--fault", `{"always":true,"cut":true}`), start(t, "--tls")
	port := func(address string) string { return address[strings.LastIndex(address, ":"):] }
	nobody, _, err := listen("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_ = nobody.Close()
	other := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, "<!doctype html>") // for each path
	}))
	t.Cleanup(other.Close)
	for _, tt := range []struct {
		args string
		code int
		want string
	}{
		{args: "--addr 127.0.0.1" + port(s.address), want: "accepts requests"},
		{args: "--addr 0.0.0.0" + port(s.address), want: "accepts requests"},
		{args: "--addr " + port(s.address), want: "accepts requests"},
		{args: "--tls --addr localhost" + port(secure.address), want: "accepts requests"},
		{args: "--addr 127.0.0.1" + port(secure.address), code: exitFailed, want: "status 400"},
		{args: "--addr " + nobody.Addr().String(), code: exitFailed, want: "does not respond"},
		{args: "--addr 127.0.0.1" + port(other.URL), code: exitFailed, want: "is no store: status 200"},
		{args: "", code: exitUsage, want: "needs --addr with the port"},
		{args: "--addr 127.0.0.1", code: exitUsage, want: "needs --addr with the port"},
	} {
		got := caller{}.run(t, strings.Fields("serve --check "+tt.args)...)
		if got.code != tt.code || !strings.Contains(got.stdout+got.stderr, tt.want) {
			t.Errorf("--check %s: %+v, want code %d and %s", tt.args, got, tt.code, tt.want)
		}
	}
}

func TestServe_openAPI(t *testing.T) {
	t.Parallel()
	got := caller{}.run(t, "serve", "--openapi")
	if got.code != 0 || got.stderr != "" || got.stdout != string(fakestore.OpenAPI())+"\n" {
		t.Errorf("got %+v, want the document", got)
	}
}

func TestServe_usage(t *testing.T) {
	t.Parallel()
	for arg, want := range map[string]string{
		"--addr=127.0.0.1":           "must be an address with a port",
		"--allow-origin=*":           "must be an address without a path",
		"--allow-origin=a.b":         "must be an address without a path",
		"--allow-origin=http://a.b/": "must be an address without a path",
		"--allow-origin=https://*.b": "must be an address without a path",
		"--allow-origin=null":        "must be an address without a path",
		"--allow-origin=http://a:80": "must be an address without a path",
		"--allow-origin=http://:3":   "must be an address without a path",
		"--allow-host=*":             "must be a name or an IP address",
		"--allow-host=a.b:80":        "must be a name or an IP address",
		"--token=a b":                "must be 1 to 64 letters",
		"--generation=third":         "must be first or second",
		"--rate=-1":                  "must be 0 to 1000000",
		"--rate=1000001":             "must be 0 to 1000000",
		"--subscriptions=-1":         "must be 0 to 250000",
		"--subscriptions=250001":     "must be 0 to 250000",
		"--latency=-1s":              "must not be negative",
		`--fault={"stauts":504}`:     `unknown member "stauts"`,
	} {
		t.Run(arg, func(t *testing.T) {
			t.Parallel()
			flag, _, _ := strings.Cut(arg, "=")
			ctx, cancel := context.WithCancel(t.Context())
			cancel() // so that it ends if it serves
			got := caller{ctx: ctx}.run(t, "serve", arg)
			if got.code != exitUsage || got.stdout != "" ||
				!strings.Contains(got.stderr, flag) || !strings.Contains(got.stderr, want) {
				t.Errorf("got %+v, want exit code %d, and %s %s on stderr only", got, exitUsage, flag, want)
			}
		})
	}
}

func TestServe_addressInUse(t *testing.T) {
	t.Parallel()
	addr := strings.TrimPrefix(start(t).address, "http://")
	got := caller{}.run(t, "serve", "--addr", addr)
	if got.code != exitFailed || got.stdout != "" || !strings.Contains(got.stderr, addr) {
		t.Errorf("got %+v, want exit code %d, and %s on stderr only", got, exitFailed, addr)
	}
}

// A request under way at Ctrl-C may end within the grace time. After it, it is aborted.
func TestServeUntil(t *testing.T) {
	t.Parallel()
	for grace, want := range map[time.Duration]string{
		time.Hour: "204 <nil> ",
		1:         "0 <nil> requests still under way after 1ns were aborted\n",
	} {
		t.Run(grace.String(), func(t *testing.T) {
			t.Parallel()
			ctx, signal := context.WithCancel(t.Context())
			defer signal()
			listener, _, err := listen("127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				signal()
				if grace < time.Hour {
					<-r.Context().Done()
				}
				w.WriteHeader(http.StatusNoContent)
			})}
			var logged bytes.Buffer
			status := make(chan int, 1)
			go func() { status <- get(t, "http://"+listener.Addr().String()) }()
			err = serveUntil(ctx, listener, server, grace, log.New(&logged, "", 0))
			if got := fmt.Sprintf("%d %v %s", <-status, err, &logged); got != want {
				t.Errorf("status, error and log = %q, want %q", got, want)
			}
		})
	}
}

// Each fault in the table of the page can be injected, and the page names each path of the control
// and no other.
func TestServe_page(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../docs/tool-serve.md")
	if err != nil {
		t.Fatal(err)
	}
	faults := regexp.MustCompile("(?m)^\\|.*\\| `(\".*)` \\|$").FindAllSubmatch(page, -1)
	for _, row := range faults {
		if _, err := fakestore.ParseFault(strings.NewReader("{" + string(row[1]) + "}")); err != nil {
			t.Errorf("%s: %v", row[1], err)
		}
	}
	var document struct{ Paths map[string]any }
	if err := json.Unmarshal(fakestore.OpenAPI(), &document, json.MatchCaseInsensitiveNames(true)); err != nil {
		t.Fatal(err)
	}
	named := map[string]any{}
	for _, name := range regexp.MustCompile("/_store(?:/[a-z]+)?").FindAllString(string(page), -1) {
		named[name] = nil
	}
	want := slices.Sorted(maps.Keys(document.Paths))
	if diff := cmp.Diff(want, slices.Sorted(maps.Keys(named))); diff != "" || len(faults) < 5 {
		t.Errorf("%d faults, and these paths (-document +page):\n%s", len(faults), diff)
	}
}

// A connection that a browser opened ahead does not delay the end.
func TestServeUntil_unusedConnection(t *testing.T) {
	t.Parallel()
	s := start(t)
	conn, err := new(net.Dialer).DialContext(t.Context(), "tcp", strings.TrimPrefix(s.address, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	get(t, s.address+settingsPath) // the server has accepted both
	begin := time.Now()
	if end := s.stop(); end.code != 0 || time.Since(begin) > 4*time.Second {
		t.Errorf("end = %+v after %v, want code 0 at once", end, time.Since(begin))
	}
}

// pipes is a listener whose connections are in memory.
type pipes chan net.Conn

func (p pipes) Accept() (net.Conn, error) {
	if c, ok := <-p; ok {
		return c, nil
	}
	return nil, net.ErrClosed
}

func (p pipes) Close() error   { return nil }
func (p pipes) Addr() net.Addr { return &net.TCPAddr{} }

// A connection whose request does not end its header is closed.
func TestNewServer_header(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		client, conn := net.Pipe()
		listener := make(pipes, 1)
		listener <- conn
		close(listener)
		server := newServer(http.NotFoundHandler(), log.New(io.Discard, "", 0))
		go func() { _ = server.Serve(listener) }()
		if _, err := client.Write([]byte("GET / HTTP/1.1\r\nHost: a\r\n")); err != nil {
			t.Fatal(err)
		}
		begin := time.Now()
		_ = client.SetReadDeadline(begin.Add(time.Minute)) // no error: it is a pipe
		_, err := io.ReadAll(client)
		if waited := time.Since(begin); err != nil || waited != 10*time.Second {
			t.Errorf("the connection ended after %v, error %v, want 10s and none", waited, err)
		}
		_ = server.Close()
	})
}
