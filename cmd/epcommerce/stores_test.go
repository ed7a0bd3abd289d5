package main

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/commerce-go/commerce/commercetest"
)

// stores add writes a file that only its owner can read, and shows no secret. One that names no
// store is not kept.
func TestStores(t *testing.T) {
	t.Parallel()
	s := commercetest.New(t, commercetest.Config{})
	config := t.TempDir()
	c := caller{env: map[string]string{"XDG_CONFIG_HOME": config}}
	if got := c.run(t, "stores"); got.code != 0 || !strings.Contains(got.stderr, "epcommerce stores add NAME") {
		t.Errorf("without stores: got %+v, want how to add one", got)
	}
	pair := pairEnv(s)
	typed := s.URL() + "\n" + pair["COMMERCE_CLIENT_ID"] + "\n"
	lines := "COMMERCE_BASE_URL=" + s.URL() + "\nCOMMERCE_TOKEN=" + commercetest.DefaultToken + "\n"
	for _, row := range []struct {
		name, stdin, secret, want string
		terminal                  bool
		code                      int
	}{
		{name: "pair", stdin: typed, secret: pair["COMMERCE_CLIENT_SECRET"], terminal: true, want: "credentials: accepted"},
		{name: "token", stdin: s.URL() + "\r\n\n", secret: commercetest.DefaultToken, terminal: true, want: "token of "},
		{name: "space", stdin: s.URL() + " ok\nid\n", terminal: true, code: exitFailed, want: "COMMERCE_BASE_URL"},
		{name: "lines", stdin: lines, want: "token of COMMERCE_TOKEN: accepted"},
		{name: "lines", stdin: lines, code: exitUsage, want: "lines.env exists already"},
		{name: "nothing", code: exitFailed, want: "nothing.env names no store"},
		{name: "wrong", stdin: "ftp://x\n\n", terminal: true, code: exitFailed, want: "COMMERCE_TOKEN"},
		{name: "typing", stdin: "COMMERCE_TOKN=" + noSecret, code: exitUsage, want: "line 1 of standard input"},
		{name: "../x", stdin: lines, code: exitUsage, want: "has letters"},
		{name: "refused", stdin: strings.Replace(lines, "TOKEN=", "TOKEN=x", 1), code: exitFailed, want: "FAIL  token"},
	} {
		c.stdin, c.terminal = row.stdin, row.terminal
		c.secret = func() ([]byte, error) { return []byte(row.secret), nil }
		got := c.run(t, "stores", "add", row.name)
		all := got.stdout + got.stderr
		if got.code != row.code || !strings.Contains(all, row.want) ||
			strings.Contains(all, noSecret) || row.secret != "" && strings.Contains(all, row.secret) {
			t.Errorf("%s: got %+v, want exit code %d, %q and no secret", row.name, got, row.code, row.want)
		}
	}
	c.terminal = false
	got := c.run(t, "stores", "-o", "csv")
	want := "store,file\n"
	for _, name := range []string{"lines", "pair", "refused", "token"} {
		path := filepath.Join(config, "epcommerce", name+".env")
		want += name + "," + path + "\n"
		info, err := os.Stat(path)
		if err != nil || runtime.GOOS != "windows" && info.Mode() != 0o600 {
			t.Errorf("got %v and %v, want a file with mode 0600", info, err)
		}
	}
	if got.stdout != want {
		t.Errorf("got %+v, want %s", got, want)
	}
	if got := c.run(t, "--store", "pair", "subscriptions", "list"); got.code != 0 {
		t.Errorf("got %+v, want exit code 0", got)
	}
}

// A container's secret belongs to root, and others may read it: the user cannot change that.
func TestVariables_otherOwner(t *testing.T) {
	t.Parallel()
	s := commercetest.New(t, commercetest.Config{})
	for mode, owner := range map[os.FileMode]int{0o444: 12345, 0o640: 12345} {
		path := storeFile(t, filepath.Join(t.TempDir(), "secret"), s)
		if os.Chown(path, owner, -1) != nil || os.Chmod(path, mode) != nil {
			t.Skip("only root can give a file away")
		}
		got := caller{}.run(t, "doctor", "--env-file", path)
		if got.code != 0 || strings.Count(got.stderr, "others may read "+path) != 1 {
			t.Errorf("mode %v: got %+v, want exit code 0 and a warning", mode, got)
		}
	}
}

func TestVersion(t *testing.T) {
	t.Parallel()
	for _, args := range []string{"version", "--version"} {
		if got := (caller{}).run(t, args); got.code != 0 || got.stdout != versionLine+"\n" {
			t.Errorf("%s: got %+v, want %s", args, got, versionLine)
		}
	}
}
