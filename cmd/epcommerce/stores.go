package main

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
)

func newStoresCommand(e *environment) *cobra.Command {
	cmd := group("stores", "List the stores that --store knows, and add one", newAddStoreCommand(e))
	cmd.Example = "  epcommerce stores add live\n  epcommerce --store live doctor"
	cmd.RunE = func(*cobra.Command, []string) error {
		folder, err := e.storeFolder()
		if err != nil {
			return err
		}
		of := func(name, file string) record {
			return record{lines: []row{columns([]int{24, whole}, name, file)}, cells: []cell{{"store", name}, {"file", file}}}
		}
		p := e.newPrinter([]row{columns([]int{24, 52}, "STORE", "FILE")}, of("", ""))
		names, _ := e.storeNames(nil, nil, "")
		for _, name := range names {
			p.print(of(name, filepath.Join(folder, name+".env")))
		}
		if len(names) == 0 {
			say(e.stderr, "there are no stores in %s\n  to do: epcommerce stores add NAME", folder)
		}
		return p.end()
	}
	return cmd
}

func newAddStoreCommand(e *environment) *cobra.Command {
	short := "Write the file that names a store, and run doctor"
	cmd := &cobra.Command{Use: "add NAME", Short: short, Args: cobra.ExactArgs(1)}
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		e.store = args[0]
		path, err := e.variablesFile()
		if err != nil {
			return err
		}
		if _, err := os.Lstat(path); !errors.Is(err, fs.ErrNotExist) {
			return usagef("%s exists already", path)
		}
		content, err := e.askVariables()
		if err != nil {
			return err
		}
		if _, err := parseVariables("standard input", content); err != nil {
			return err
		}
		if err := cmd.Context().Err(); err != nil { // at the questions
			return err
		}
		err = cmp.Or(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(content), 0o600))
		if err != nil {
			return usagef("%w", err)
		}
		s, err := e.open(cmd.Context())
		if err != nil {
			return &exitError{code: exitFailed, err: errors.Join(err, os.Remove(path))}
		}
		say(e.stderr, "%s is written", path)
		return (&doctor{shop: s}).start(cmd.Context())
	}
	cmd.Long = short + ".\nIt asks for the address and the credentials. Without a terminal, it reads the\n" +
		"NAME=VALUE lines of the file from standard input."
	cmd.Example = "  epcommerce stores add live\n  epcommerce stores add live < live.env"
	return cmd
}

// readLine reads a line of standard input byte by byte, as the rest is for the next question.
func (e *environment) readLine() string {
	var line []byte
	for b := []byte{0}; ; line = append(line, b[0]) {
		if n, _ := e.stdin.Read(b); n == 0 || b[0] == '\n' {
			return strings.TrimSpace(string(line))
		}
	}
}

// askVariables returns the content of a file that names a store.
func (e *environment) askVariables() (string, error) {
	if !e.canAsk() {
		content, err := e.readFile("-")
		return string(content), err
	}
	form := "COMMERCE_TOKEN='%[3]s'\n"
	fmt.Fprint(e.stderr, "Base address, such as https://euwest.api.elasticpath.com: ")
	address := e.readLine()
	fmt.Fprint(e.stderr, "Client id, or nothing for an access token: ")
	id := e.readLine()
	fmt.Fprint(e.stderr, "Client secret or access token, which is not shown: ")
	secret, err := e.readSecret()
	fmt.Fprintln(e.stderr)
	if id != "" {
		form = "COMMERCE_CLIENT_ID='%[2]s'\nCOMMERCE_CLIENT_SECRET='%[3]s'\n"
	}
	return fmt.Sprintf("COMMERCE_BASE_URL='%[1]s'\n"+form, address, id, strings.TrimSpace(string(secret))), err
}
