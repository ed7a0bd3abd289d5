package main

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"runtime"
	"slices"
	"strings"

	"github.com/spf13/cobra"
)

// variables are what names a store.
var variables = []string{
	"COMMERCE_BASE_URL", "COMMERCE_TOKEN", "COMMERCE_CLIENT_ID", "COMMERCE_CLIENT_SECRET",
	"COMMERCE_REDIS_URL", "COMMERCE_RATE",
}

var storeName = regexp.MustCompile(`^[A-Za-z0-9_-]+$`)

// storeFolder returns the folder of the files that --store names.
func (e *environment) storeFolder() (string, error) {
	config, home := e.getenv("XDG_CONFIG_HOME"), e.getenv("HOME")
	switch {
	case config != "":
	case home != "":
		config = filepath.Join(home, ".config")
	case runtime.GOOS == "windows" && e.getenv("AppData") != "":
		config = e.getenv("AppData")
	default:
		return "", usagef("--store needs XDG_CONFIG_HOME or HOME, or use --env-file")
	}
	return filepath.Join(config, "epcommerce"), nil
}

// storeNames completes --store.
func (e *environment) storeNames(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	var names []string
	folder, _ := e.storeFolder()
	files, _ := os.ReadDir(folder) // without it there are none
	for _, file := range files {
		if name, ok := strings.CutSuffix(file.Name(), ".env"); ok && storeName.MatchString(name) {
			names = append(names, name)
		}
	}
	return names, cobra.ShellCompDirectiveNoFileComp
}

// variablesFile returns the path of the file that --env-file or --store names, or "".
func (e *environment) variablesFile() (string, error) {
	if e.store == "" {
		return e.envFile, nil
	}
	folder, err := e.storeFolder()
	switch {
	case e.envFile != "":
		return "", usagef("use one of --demo, --env-file and --store")
	case !storeName.MatchString(e.store):
		return "", usagef("the NAME of a store has letters, digits, - and _ only")
	}
	return filepath.Join(folder, e.store+".env"), err
}

// checkVariablesFile refuses a file that others can read, if that can be changed. Otherwise, as in
// a container, it warns.
func (e *environment) checkVariablesFile(path string) error {
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist) && e.store != "":
		return usagef("%s does not exist\n  to do: add the store, or see the others by epcommerce stores\n"+
			"    epcommerce stores add %s", path, e.store)
	case err != nil || info.IsDir():
		return usagef("%w", cmp.Or(err, fmt.Errorf("%s is a folder", path)))
	case runtime.GOOS == "windows" || info.Mode().Perm()&0o077 == 0:
		return nil
	case isOwn(info) && e.files.chmod(path, info.Mode().Perm()) == nil: // which changes nothing
		return usagef("%s can be read by others\n  to do: chmod 600 %s", path, quote(path))
	}
	say(e.stderr, "others may read %s", path)
	return nil
}

// isOwn reports whether a file belongs to the user of this process, as far as the system knows.
func isOwn(file fs.FileInfo) bool {
	uid := reflect.Indirect(reflect.ValueOf(file.Sys())).FieldByName("Uid")
	return uid.IsValid() && uid.Uint() == uint64(os.Geteuid())
}

// readVariables replaces the variables of the environment by those of the file that --env-file or
// --store names, if there is one. Its errors never hold a value.
func (e *environment) readVariables() error {
	path, err := e.variablesFile()
	if err != nil || path == "" {
		return err
	}
	if path != "-" {
		if err := e.checkVariablesFile(path); err != nil {
			return err
		}
	}
	content, err := e.readFile(path)
	if err != nil {
		return usagef("%w", err)
	}
	if path == "-" {
		path = "standard input"
	}
	values, err := parseVariables(path, string(content))
	if err != nil {
		return err
	}
	others := e.getenv
	e.getenv = func(name string) string {
		if slices.Contains(variables, name) {
			return values[name]
		}
		return others(name)
	}
	e.from = path
	return nil
}

// parseVariables returns the values of the variables in the content of a file.
func parseVariables(path, content string) (map[string]string, error) {
	values := map[string]string{}
	for i, line := range strings.Split(strings.TrimPrefix(content, "\uFEFF"), "\n") {
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' {
			continue
		}
		parts := assignment.FindStringSubmatch(line)
		if parts == nil || !slices.Contains(variables, parts[1]) {
			return nil, usagef("line %d of %s must be NAME=VALUE, with a NAME of %s", i+1, path, strings.Join(variables, ", "))
		}
		value, ok := unquoted(parts[2])
		if !ok {
			return nil, usagef("line %d of %s: after the quoted value of %s, only a comment may follow", i+1, path, parts[1])
		}
		if _, isTwice := values[parts[1]]; isTwice {
			return nil, usagef("line %d of %s: %s is there twice", i+1, path, parts[1])
		}
		values[parts[1]] = value
	}
	return values, nil
}

var (
	assignment = regexp.MustCompile(`^(?:export\s+)?(\w+)\s*=(.*)$`)
	comment    = regexp.MustCompile(`\s#.*$`)
)

// unquoted returns a value without its quotes and without a comment. It is not ok if something else
// follows the quotes.
func unquoted(text string) (value string, ok bool) {
	value = strings.TrimSpace(text)
	if value == "" || value[0] != '"' && value[0] != '\'' {
		return strings.TrimSpace(comment.ReplaceAllString(text, "")), true
	}
	value, rest, isClosed := strings.Cut(value[1:], value[:1])
	return value, isClosed && strings.TrimSpace(comment.ReplaceAllString(" "+rest, "")) == ""
}
