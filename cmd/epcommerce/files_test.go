package main

import (
	"cmp"
	"encoding/csv"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/gofrs/flock"

	"github.com/commerce-go/commerce"
	"github.com/commerce-go/commerce/commercetest"
	"github.com/google/uuid"
)

// An export to a folder whose file system refuses flock, fsync or chmod warns once of each, and
// writes the same file. Any other error ends it.
func TestFiles(t *testing.T) {
	t.Parallel()
	s := commercetest.New(t, commercetest.Config{})
	s.Seed(300)
	export := func(t *testing.T, lock, sync, chmod error) (result, string) {
		t.Helper()
		files := fileLayer{
			lock: func(l *flock.Flock) (bool, error) {
				locked, err := l.TryLock() // makes the file
				if lock != nil {
					_ = l.Unlock()
					return false, lock
				}
				return locked, err
			},
			sync:  func(*os.File) error { return sync },
			chmod: func(string, fs.FileMode) error { return chmod },
		}
		path := filepath.Join(t.TempDir(), "SUBS.CSV")
		got := caller{env: pairEnv(s), files: &files}.run(t, "subscriptions", "export", path)
		content, _ := os.ReadFile(path)
		return got, string(content)
	}
	good, want := export(t, nil, nil, nil)
	if good.code != 0 || strings.Count(want, "\n") != 301 {
		t.Fatalf("got %+v, want 300 subscriptions", good)
	}
	for name, row := range map[string]struct {
		lock, sync, chmod error
		warnings, code    int
	}{
		"locks":         {lock: syscall.ENOLCK, warnings: 1},
		"a stick":       {lock: syscall.ENOSYS, sync: syscall.EINVAL, chmod: syscall.EPERM, warnings: 3},
		"a share":       {lock: syscall.EOPNOTSUPP, sync: &fs.PathError{Op: "sync", Err: syscall.ENOSYS}, warnings: 2},
		"lock refused":  {lock: syscall.EPERM, code: exitUsage},
		"disk is full":  {sync: syscall.EIO, code: exitUnfinished},
		"chmod refused": {chmod: syscall.EROFS, code: exitFailed},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, content := export(t, row.lock, row.sync, row.chmod)
			if got.code != row.code || strings.Count(got.stderr, "the file system has no ") != row.warnings ||
				row.code == 0 && content != want {
				t.Errorf("got %+v and %d bytes, want exit code %d and %d warnings", got, len(content), row.code, row.warnings)
			}
		})
	}
}

// Where files have no locks, a file stands for the lock: two exports at once would mix their lines.
func TestFiles_running(t *testing.T) {
	t.Parallel()
	s := commercetest.New(t, commercetest.Config{})
	s.Seed(30)
	files := newFileLayer()
	files.lock = func(l *flock.Flock) (bool, error) {
		_, _ = l.TryLock() // makes the file
		return false, cmp.Or(l.Unlock(), error(syscall.ENOLCK))
	}
	path := filepath.Join(t.TempDir(), "subs.csv")
	for _, isRunning := range []bool{true, false} {
		want := 0
		if isRunning {
			want = exitUsage
			if err := os.WriteFile(path+".running", nil, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		got := caller{env: pairEnv(s), files: &files}.run(t, "subscriptions", "export", path)
		isNamed := strings.Contains(got.stderr, "remove "+path+".running")
		_, err := os.Stat(path + ".running")
		if got.code != want || !isNamed || (err == nil) != isRunning {
			t.Errorf("running %t: got %+v, and the file: %v", isRunning, got, err)
		}
		_ = os.Remove(path + ".running")
	}
}

// With --bom, Excel shows each text as it is. Signs other than a comma may separate the cells.
func TestSelection_excel(t *testing.T) {
	t.Parallel()
	s := commercetest.New(t, commercetest.Config{})
	texts := map[string]bool{ // whether Excel would change it
		"007": true, "00": true, "1234567890123456": true, "123456789012345": false, "1E10": true, "12e-5": true,
		"2026-03": true, "1/2": true, "10:30": true, "1.2.2026": true, "2026-03-01 10:00": true, "MAR1": true, "3-Oct": true,
		"0": false, "18.50": false, "7A": false, "Marc": false, "order-1": false, "2024-06-18T18:10:00Z": false, "0x1": false,
	}
	for text := range texts {
		sub := commerce.Subscription{ID: uuid.New(), Type: "subscription"}
		sub.Attributes.ExternalRef, sub.Attributes.AccountID = text, uuid.New()
		s.AddSubscription(sub)
	}
	for name, comma := range map[string]rune{";": ';', "tab": '\t', ",": ','} {
		got := caller{env: storeEnv(s)}.run(t, "subscriptions", "list", "-o", "csv", "--bom", "--separator", name,
			"--columns", "external_ref,id")
		r := csv.NewReader(strings.NewReader(strings.TrimPrefix(got.stdout, "\uFEFF")))
		r.Comma = comma
		rows, err := r.ReadAll()
		if err != nil || len(rows) != len(texts)+1 {
			t.Fatalf("got %+v and %v, want %d rows", got, err, len(texts)+1)
		}
		for _, row := range rows[1:] {
			text, isFormula := strings.CutPrefix(strings.TrimSuffix(row[0], `"`), `="`)
			if isChanged, ok := texts[text]; !ok || isChanged != isFormula {
				t.Errorf("got %s, want a formula: %t", row[0], isChanged)
			}
		}
	}
	for _, args := range []string{"-o csv --separator x", "-o json --separator ;", "-o csv --separator ="} {
		got := caller{env: storeEnv(s)}.run(t, append([]string{"subscriptions", "list"}, strings.Fields(args)...)...)
		if got.code != exitUsage || got.stdout != "" {
			t.Errorf("%s: got %+v, want exit code %d", args, got, exitUsage)
		}
	}
}
