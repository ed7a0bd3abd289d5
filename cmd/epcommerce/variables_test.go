package main

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/alicebob/miniredis/v2/server"
	"github.com/redis/go-redis/v9"

	"github.com/commerce-go/commerce"
	"github.com/commerce-go/commerce/commercetest"
	"github.com/commerce-go/commerce/rediscommerce"
)

// A file names a store, instead of the environment. No message holds anything of it.
func TestVariables_file(t *testing.T) {
	t.Parallel()
	const secret = "do-not-print-this"
	s := commercetest.New(t, commercetest.Config{})
	good := "# the shop\n\nCOMMERCE_BASE_URL = " + s.URL() +
		"\nexport COMMERCE_TOKEN='" + commercetest.DefaultToken + "'\n"
	for name, row := range map[string]struct {
		content string
		mode    os.FileMode
		args    []string // default: --env-file
		env     map[string]string
		code    int
		want    string
	}{
		"file":             {content: good, want: "shop.env: " + s.URL() + " responds"},
		"name":             {content: good, args: []string{"--store", "shop"}, want: "shop.env: " + s.URL() + " responds"},
		"others are unset": {content: good, env: map[string]string{"COMMERCE_CLIENT_ID": "x"}, want: "responds"},
		"incomplete": {content: "COMMERCE_BASE_URL=" + s.URL(), env: storeEnv(s), code: exitUsage,
			want: "names no store"},
		"others can read it": {content: good, mode: 0o640, code: exitUsage, want: "chmod 600"},
		"unknown variable":   {content: good + "COMMERCE_TOKN=" + secret, code: exitUsage, want: "line 5 of "},
		"no variable":        {content: secret, code: exitUsage, want: "line 1 of "},
		"wrong address": {content: "COMMERCE_BASE_URL=ftp://" + secret + "\nCOMMERCE_TOKEN=" + secret,
			code: exitUsage, want: "base URL"},
		"demo":         {content: good, args: []string{"--store", "shop", "--demo"}, code: exitUsage, want: "no other store"},
		"no such file": {args: []string{"--env-file", "none"}, code: exitUsage, want: "no such file"},
		"no such name": {args: []string{"--store", "none"}, code: exitUsage, want: "no such file"},
		"not a name":   {args: []string{"--store", "../shop"}, code: exitUsage, want: "a NAME has letters"},
		"both": {content: good, args: []string{"--store", "shop", "--env-file", "x"},
			code: exitUsage, want: "set one of"},
	} {
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
			got := caller{env: env}.run(t, append([]string{"doctor"}, row.args...)...)
			if got.code != row.code || !strings.Contains(got.stdout+got.stderr, row.want) {
				t.Errorf("got %+v, want exit code %d and %q", got, row.code, row.want)
			}
			if strings.Contains(got.stdout+got.stderr, secret) {
				t.Errorf("got %+v, want nothing of the file", got)
			}
		})
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
	if got.code == 0 || !strings.Contains(got.stderr, "lock") || onCart(s, cart) == "" {
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
