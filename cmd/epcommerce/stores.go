package main

import (
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
		p := e.newPrinter([]row{columns([]int{24, 52}, "STORE", "FILE")}, storeRecord("", ""))
		names, _ := e.storeNames(nil, nil, "")
		for _, name := range names {
			p.print(storeRecord(name, filepath.Join(folder, name+".env")))
		}
		if len(names) == 0 {
			say(e.stderr, "there are no stores in %s\n  to do: epcommerce stores add NAME", folder)
		}
		return p.end()
	}
	return cmd
}

func storeRecord(name, file string) record {
	return record{
		lines: []row{columns([]int{24, whole}, name, file)}, cells: []cell{{"store", name}, {"file", file}},
		object: members{"store": name, "file": file},
	}
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
		if err := writePrivate(path, content); err != nil {
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

// writePrivate writes a new file that only its owner can read.
func writePrivate(path, content string) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	file, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = file.WriteString(content)
	return errors.Join(err, file.Close())
}

// askVariables returns the content of a file that names a store.
func (e *environment) askVariables() (string, error) {
	if !e.canAsk() {
		content, err := e.readFile("-")
		return string(content), err
	}
	content := ""
	for _, question := range []struct{ variable, text string }{
		{"COMMERCE_BASE_URL", "Base address, such as https://euwest.api.elasticpath.com"},
		{"COMMERCE_CLIENT_ID", "Client id, or nothing for a token"},
		{"COMMERCE_CLIENT_SECRET", "Client secret (not shown)"},
		{"COMMERCE_TOKEN", "Access token (not shown)"},
	} {
		hasID := strings.Contains(content, "COMMERCE_CLIENT_ID")
		isSecret := strings.HasSuffix(question.text, "(not shown)")
		if isSecret && hasID == (question.variable == "COMMERCE_TOKEN") {
			continue
		}
		fmt.Fprint(e.stderr, question.text, ": ")
		var value string
		if isSecret {
			secret, err := e.readSecret()
			if err != nil {
				return "", err
			}
			value = string(secret)
			fmt.Fprintln(e.stderr)
		} else {
			_, _ = fmt.Fscanln(e.stdin, &value) // byte by byte: the rest is for the next question
		}
		if value = strings.TrimSpace(value); value != "" {
			content += question.variable + "='" + value + "'\n"
		}
	}
	return content, nil
}
