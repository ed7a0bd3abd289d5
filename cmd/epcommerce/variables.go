package main

import (
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
)

// variables are what names a store.
var variables = []string{
	"COMMERCE_BASE_URL", "COMMERCE_TOKEN", "COMMERCE_CLIENT_ID", "COMMERCE_CLIENT_SECRET",
	"COMMERCE_REDIS_URL", "COMMERCE_RATE",
}

var storeName = regexp.MustCompile(`^[A-Za-z0-9_-]+$`)

// readVariables replaces the variables of the environment by those of the file that --env-file or
// --store names, if there is one. Its errors never hold a value.
func (e *environment) readVariables() error {
	path := e.envFile
	if e.store != "" {
		config := e.getenv("XDG_CONFIG_HOME")
		if config == "" {
			config = filepath.Join(e.getenv("HOME"), ".config")
		}
		if path != "" || !storeName.MatchString(e.store) {
			return usagef("set one of --env-file and --store; a NAME has letters, digits, - and _ only")
		}
		path = filepath.Join(config, "epcommerce", e.store+".env")
	}
	if path == "" {
		return nil
	}
	info, err := os.Stat(path)
	if err != nil {
		return usagef("%w", err)
	}
	if runtime.GOOS != "windows" && info.Mode().Perm()&0o077 != 0 {
		return usagef("%s can be read by others: chmod 600 %s", path, path)
	}
	content, err := os.ReadFile(path)
	if err != nil {
		return usagef("%w", err)
	}
	values := map[string]string{}
	for i, line := range strings.Split(string(content), "\n") {
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' {
			continue
		}
		name, value, ok := strings.Cut(strings.TrimPrefix(line, "export "), "=")
		if name = strings.TrimSpace(name); !ok || !slices.Contains(variables, name) {
			return usagef("line %d of %s must be NAME=VALUE, with a NAME of %s", i+1, path, strings.Join(variables, ", "))
		}
		value = strings.TrimSpace(value)
		if n := len(value); n > 1 && (value[0] == '"' || value[0] == '\'') && value[n-1] == value[0] {
			value = value[1 : n-1]
		}
		values[name] = value
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
