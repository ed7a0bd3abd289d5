package main

import (
	"context"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/alicebob/miniredis/v2/server"
	"github.com/redis/go-redis/v9"

	"github.com/commerce-go/commerce"
	"github.com/commerce-go/commerce/commercetest"
	"github.com/commerce-go/commerce/rediscommerce"
)

// noSecret is in files, and must be in no message.
const noSecret = "do-not-print-this"

// fileRow is a file that names a store, and what doctor says with it.
type fileRow struct {
	content string
	stdin   string
	mode    os.FileMode
	args    []string // default: --env-file
	env     map[string]string
	code    int

	readOnly bool // the file system is
	want     string
}

// fileRows returns files for a store.
func fileRows(s *commercetest.Store) map[string]fileRow {
	good := "# the shop\n\nCOMMERCE_BASE_URL = " + s.URL() +
		"\nexport COMMERCE_TOKEN='" + commercetest.DefaultToken + "'\n"
	return map[string]fileRow{
		"file":             {content: good, want: "shop.env: " + s.URL() + " responds"},
		"name":             {content: good, args: []string{"--store", "shop"}, want: "shop.env: " + s.URL() + " responds"},
		"others are unset": {content: good, env: map[string]string{"COMMERCE_CLIENT_ID": "x"}, want: "responds"},
		"incomplete": {content: "COMMERCE_BASE_URL=" + s.URL(), env: storeEnv(s), code: exitUsage,
			want: "shop.env names no store"},
		"others can read it": {content: good, mode: 0o640, code: exitUsage, want: "chmod 600"},
		"read-only":          {content: good, mode: 0o444, readOnly: true, want: "epcommerce: others may read "},
		"unknown variable":   {content: good + "COMMERCE_TOKN=" + noSecret, code: exitUsage, want: "line 5 of "},
		"no variable":        {content: noSecret, code: exitUsage, want: "line 1 of "},
		"byte order mark":    {content: "\uFEFF" + good, want: "responds"},
		"tab after export":   {content: strings.Replace(good, "export ", "export\t", 1), want: "responds"},
		"comments": {content: strings.ReplaceAll(good, "\nexport", " # of the shop\nexport") + "\t# " + noSecret,
			want: "responds"},
		"comment at once": {content: strings.Replace(good, "'\n", "'# here\n", 1), want: "responds"},
		"after the quotes": {content: good + "COMMERCE_RATE='1'" + noSecret, code: exitUsage,
			want: "after the quoted value of COMMERCE_RATE"},
		"quote at the start": {content: good + "COMMERCE_RATE='" + noSecret, code: exitUsage, want: "COMMERCE_RATE"},
		"twice":              {content: good + good, code: exitUsage, want: "line 7 of "},
		"Windows":            {content: strings.ReplaceAll(good, "\n", "\r\n"), want: "responds"},
		"token and pair": {content: good + "COMMERCE_CLIENT_ID=" + noSecret, code: exitUsage,
			want: "shop.env: COMMERCE_TOKEN must not be set"},
		"wrong address": {content: "COMMERCE_BASE_URL=ftp://" + noSecret + "\nCOMMERCE_TOKEN=" + noSecret,
			code: exitUsage, want: "shop.env: COMMERCE_BASE_URL must"},
		"demo":         {content: good, args: []string{"--store", "shop", "--demo"}, code: exitUsage, want: "use one of"},
		"no such file": {args: []string{"--env-file", "none"}, code: exitUsage, want: "no such file"},
		"no such name": {args: []string{"--store", "none"}, code: exitUsage,
			want: "/epcommerce/none.env does not exist\n  to do: add the store"},
		"standard input": {stdin: good, args: []string{"--env-file", "-"}, want: "standard input: " + s.URL() + " responds"},
		"nothing there":  {args: []string{"--env-file", "-"}, code: exitUsage, want: "standard input names no store"},
		"not a name":     {args: []string{"--store", "../shop"}, code: exitUsage, want: "has letters"},
		"both": {content: good, args: []string{"--store", "shop", "--env-file", "x"},
			code: exitUsage, want: "use one of"},
	}
}

// A file names a store, instead of the environment. No message holds anything of it.
func TestVariables_file(t *testing.T) {
	t.Parallel()
	s := commercetest.New(t, commercetest.Config{})
	for name, row := range fileRows(s) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			config := t.TempDir()
			path := filepath.Join(config, "epcommerce", "shop.env")
			if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, []byte(row.content), 0o600); err != nil {
				t.Fatal(err)
			}
			if row.mode != 0 {
				if err := os.Chmod(path, row.mode); err != nil {
					t.Fatal(err)
				}
			}
			if row.args == nil {
				row.args = []string{"--env-file", path}
			}
			env := map[string]string{"XDG_CONFIG_HOME": config}
			for name, value := range row.env {
				env[name] = value
			}
			files := newFileLayer()
			if row.readOnly {
				files.chmod = func(string, os.FileMode) error { return syscall.EROFS }
			}
			got := caller{env: env, stdin: row.stdin, files: &files}.run(t, append([]string{"doctor"}, row.args...)...)
			if got.code != row.code || !strings.Contains(got.stdout+got.stderr, row.want) {
				t.Errorf("got %+v, want exit code %d and %q", got, row.code, row.want)
			}
			if strings.Contains(got.stdout+got.stderr, noSecret) {
				t.Errorf("got %+v, want nothing of the file", got)
			}
		})
	}
}

// A value that cannot be used is named by its variable.
func TestVariables_names(t *testing.T) {
	t.Parallel()
	for name, value := range map[string]string{
		"COMMERCE_BASE_URL": "ftp://x", "COMMERCE_TOKEN": "a b", "COMMERCE_CLIENT_ID": "a\nb", "COMMERCE_CLIENT_SECRET": "é",
		"COMMERCE_REDIS_URL": "x", "COMMERCE_RATE": "fast",
	} {
		env := map[string]string{"COMMERCE_BASE_URL": "https://store.example", "COMMERCE_TOKEN": "token"}
		if strings.HasPrefix(name, "COMMERCE_CLIENT") {
			env["COMMERCE_TOKEN"], env["COMMERCE_CLIENT_ID"], env["COMMERCE_CLIENT_SECRET"] = "", "id", "secret"
		}
		if name == "COMMERCE_RATE" {
			env["COMMERCE_REDIS_URL"] = "redis://127.0.0.1:1"
		}
		env[name] = value
		got := caller{env: env}.run(t, "doctor")
		if got.code != exitUsage || !strings.Contains(got.stderr, name+" must") || strings.Contains(got.stderr, value) {
			t.Errorf("got %+v, want exit code %d, %s and no value", got, exitUsage, name)
		}
	}
}

// A variable of the shell that is not set is no store: the one of the environment is not meant.
func TestStore_empty(t *testing.T) {
	t.Parallel()
	s := commercetest.New(t, commercetest.Config{})
	for _, flag := range []string{"--env-file", "--store"} {
		got := caller{env: storeEnv(s)}.run(t, "doctor", flag, "")
		if got.code != exitUsage || !strings.Contains(got.stderr, flag+" must not be empty") || len(s.Requests()) > 0 {
			t.Errorf("%s: got %+v, want exit code %d and no request", flag, got, exitUsage)
		}
	}
}

// A # without a space before it is part of a value, and so is a space within quotes.
func TestUnquoted(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"a": "a", " a ": "a", "a#b": "a#b", "#a": "#a", "a #b": "a", "a\t# b": "a", " # b": "", "": "",
		`"a # b"`: "a # b", "'a' # b": "a", "'a'#b": "a", "'a\"b'": "a\"b", "''": "", `a"b`: `a"b`,
		"'a": "!", "'a' b": "!", `"a"b"`: "!",
	} {
		if got, ok := unquoted(text); ok && got != want || !ok && want != "!" {
			t.Errorf("%q: got %q and %t, want %q", text, got, ok, want)
		}
	}
}

// The values of the environment may have spaces around them.
func TestVariables_spaces(t *testing.T) {
	t.Parallel()
	s := commercetest.New(t, commercetest.Config{})
	for _, env := range []map[string]string{storeEnv(s), pairEnv(s)} {
		for name := range env {
			env[name] = " " + env[name] + "\r\n"
		}
		if got := (caller{env: env}).run(t, "doctor"); got.code != 0 {
			t.Errorf("got %+v, want exit code 0", got)
		}
	}
}

// --store reads no file of the current folder, and completes the names of its files.
func TestStore_folder(t *testing.T) {
	t.Parallel()
	s := commercetest.New(t, commercetest.Config{})
	home := t.TempDir()
	storeFile(t, filepath.Join(home, ".config", "epcommerce", "shop.env"), s)
	storeFile(t, filepath.Join(home, ".config", "epcommerce", "other.env"), s)
	for name, row := range map[string]struct {
		env  map[string]string
		code int
		want string
	}{
		"home": {env: map[string]string{"HOME": home}, want: "shop.env: "},
		"XDG_CONFIG_HOME": {
			env: map[string]string{"XDG_CONFIG_HOME": filepath.Join(home, ".config"), "HOME": "/x"}, want: "shop.env: ",
		},
		"neither": {code: exitUsage, want: "--store needs XDG_CONFIG_HOME or HOME"},
	} {
		c := caller{env: row.env}
		got := c.run(t, "--store", "shop", "doctor")
		if got.code != row.code || !strings.Contains(got.stdout+got.stderr, row.want) {
			t.Errorf("%s: got %+v, want exit code %d and %q", name, got, row.code, row.want)
		}
		got = c.run(t, "__complete", "doctor", "--store", "")
		if isThere := strings.HasPrefix(got.stdout, "other\nshop\n"); isThere != (row.code == 0) {
			t.Errorf("%s: got %q, want the names of stores: %t", name, got.stdout, row.code == 0)
		}
	}
}

// With COMMERCE_REDIS_URL the tool takes turns with the services that use rediscommerce.
func TestVariables_redis(t *testing.T) {
	t.Parallel()
	shared := miniredis.RunT(t)
	shared.Server().SetPreHook(func(c *server.Peer, cmd string, _ ...string) bool {
		if cmd == "INFO" {
			c.WriteBulk("run_id:1\r\nmaster_replid:1\r\n")
		}
		return cmd == "INFO"
	})
	shared.HSet("commerce/locks", "server", "1-1") // it grants locks at once
	s := commercetest.New(t, commercetest.Config{DiscountsEnabled: true})
	cart := s.AddCart(commerce.CartItemRef{})
	add(s, cart, "e", "1")
	env := storeEnv(s)
	env["COMMERCE_REDIS_URL"] = "redis://" + shared.Addr()
	remove := []string{"discounts", "remove", cart, "--engine", "e", "--yes"}

	other := redis.NewClient(&redis.Options{Addr: shared.Addr()})
	defer func() { _ = other.Close() }()
	locker, err := rediscommerce.NewLocker(other, rediscommerce.LockerConfig{})
	if err != nil {
		t.Fatal(err)
	}
	_, unlock, err := locker.Lock(t.Context(), "commerce/"+strings.TrimPrefix(s.URL(), "http://")+"/carts/"+cart)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	got := caller{ctx: ctx, env: env}.run(t, remove...)
	if got.code == 0 || !strings.Contains(got.stdout, "waiting for the lock") || onCart(s, cart) == "" {
		t.Errorf("a service writes to the cart: got %+v, want an error, and the cart as it was", got)
	}
	unlock()
	if got := (caller{env: env}).run(t, remove...); got.code != 0 || onCart(s, cart) != "" {
		t.Errorf("got %+v, want the discount removed", got)
	}
	if !shared.Exists("commerce/limit") {
		t.Error("the shared limit was not asked")
	}
	for name, value := range map[string]string{"COMMERCE_REDIS_URL": "x://secret", "COMMERCE_RATE": "fast"} {
		wrong := storeEnv(s)
		wrong["COMMERCE_REDIS_URL"] = env["COMMERCE_REDIS_URL"]
		wrong[name] = value
		if got := (caller{env: wrong}).run(t, "doctor"); got.code != exitUsage || strings.Contains(got.stderr, "secret") {
			t.Errorf("%s: got %+v, want exit code %d and no value", name, got, exitUsage)
		}
	}
}

// startRedis starts a server on a free port, and returns its address.
func startRedis(t *testing.T, flags ...string) string {
	t.Helper()
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := listener.Addr().String()
	_, port, _ := net.SplitHostPort(address)
	_ = listener.Close()
	flags = append(flags, "--port", port, "--bind", "127.0.0.1", "--dir", t.TempDir(), "--save", "", "--daemonize", "no")
	cmd := exec.CommandContext(t.Context(), "redis-server", flags...)
	if err := cmd.Start(); err != nil {
		t.Skipf("no redis-server: %v", err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	client := redis.NewClient(&redis.Options{Addr: address, MaxRetries: 50, DialerRetries: 50})
	defer func() { _ = client.Close() }()
	if err := client.Ping(t.Context()).Err(); err != nil {
		t.Fatal(err)
	}
	if slices.Contains(flags, "--cluster-enabled") {
		if err := client.ClusterAddSlotsRange(t.Context(), 0, 16383).Err(); err != nil {
			t.Fatal(err)
		}
		for state := ""; !strings.Contains(state, "cluster_state:ok"); {
			if state, err = client.ClusterInfo(t.Context()).Result(); err != nil {
				t.Fatal(err)
			}
		}
	}
	return address
}

// COMMERCE_REDIS_URL may name a cluster by one of its addresses, or by all.
func TestVariables_cluster(t *testing.T) {
	t.Parallel()
	address := startRedis(t, "--cluster-enabled", "yes")
	for url, want := range map[string]bool{
		"redis://" + address:                           true,
		"redis://" + address + "/?addr=" + address:     true,
		"redis://" + startRedis(t):                     false,
		"redis://" + address + "?read_timeout=1s&db=0": true,
		"redis://127.0.0.1:1?addr=" + address:          true,
	} {
		client, err := openRedis(t.Context(), url)
		if err != nil {
			t.Errorf("%s: %v", url, err)
			continue
		}
		if _, isCluster := client.(*redis.ClusterClient); isCluster != want {
			t.Errorf("%s: got a %T", url, client)
		}
		if err := client.Set(t.Context(), "key", "value", 0).Err(); err != nil {
			t.Errorf("%s: %v", url, err)
		}
		_ = client.Close()
	}
	refusing := miniredis.RunT(t)
	refusing.Server().SetPreHook(func(c *server.Peer, cmd string, _ ...string) bool {
		if cmd == "INFO" {
			c.WriteError("NOPERM this user has no permissions")
		}
		return cmd == "INFO"
	})
	if _, err := openRedis(t.Context(), "redis://"+refusing.Addr()); err != nil {
		t.Errorf("a server that refuses INFO: %v", err)
	}
	s := commercetest.New(t, commercetest.Config{DiscountsEnabled: true})
	cart := s.AddCart(commerce.CartItemRef{})
	add(s, cart, "e", "1")
	env := storeEnv(s)
	env["COMMERCE_REDIS_URL"] = "redis://" + address
	client := redis.NewClusterClient(&redis.ClusterOptions{Addrs: []string{address}})
	defer func() { _ = client.Close() }()
	if err := client.HSet(t.Context(), "commerce/locks", "server", "1-1").Err(); err != nil {
		t.Fatal(err)
	}
	if got := (caller{env: env}).run(t, "carts", "check", cart); got.code != 0 {
		t.Errorf("got %+v, want exit code 0", got)
	}
	if n, err := client.Exists(t.Context(), "commerce/limit").Result(); n != 1 || err != nil {
		t.Errorf("the shared limit was not asked: %v", err)
	}
}

// A server that does not respond is no other program that works on the cart.
func TestVariables_deadRedis(t *testing.T) {
	t.Parallel()
	s := commercetest.New(t, commercetest.Config{DiscountsEnabled: true})
	cart := s.AddCart(commerce.CartItemRef{})
	add(s, cart, "e", "1")
	env := storeEnv(s)
	for _, url := range []string{"redis://127.0.0.1:1", "redis://127.0.0.1:1?addr=127.0.0.1:2"} {
		env["COMMERCE_REDIS_URL"] = url
		got := caller{env: env}.run(t, "discounts", "remove", cart, "--engine", "e", "--yes")
		isSaid := strings.Contains(got.stderr, "COMMERCE_REDIS_URL") && !strings.Contains(got.stderr, "another program")
		if got.code != exitFailed || !isSaid || onCart(s, cart) == "" {
			t.Errorf("%s: got %+v, want exit code %d, and the cart as it was", url, got, exitFailed)
		}
	}
}
