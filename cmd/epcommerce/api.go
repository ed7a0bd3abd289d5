package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/commerce-go/commerce"
)

// methods are those of the service.
var methods = []string{http.MethodGet, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete}

func newAPICommand(e *environment) *cobra.Command {
	file := ""
	short := "Send a request to any other endpoint, and print the response"
	cmd := e.command("api METHOD PATH", short, func(ctx context.Context, s *shop, args []string) error {
		method := strings.ToUpper(args[0])
		e.isAPI, e.changes = true, method != http.MethodGet
		if !slices.Contains(methods, method) {
			return usagef("METHOD must be one of %s", strings.Join(methods, ", "))
		}
		path, query, err := parsePath(args[1])
		if err != nil {
			return err
		}
		var in any
		if file != "" {
			text, err := e.readFile(file)
			if err != nil || !json.Valid(text) {
				return usagef("--data must name a file with JSON, or be - for standard input")
			}
			in = json.RawMessage(text)
		}
		if method != http.MethodGet {
			if err := e.confirm(ctx, "Send "+method+" "+plain(args[1])+"?", "--yes"); err != nil {
				return err
			}
			once, err := s.With(commerce.WithRetry(commerce.RetryPolicy{MaxAttempts: 1}))
			if err != nil {
				return err
			}
			s.Client = once
		}
		var out json.RawMessage
		if _, err := s.Do(ctx, method, path, query, in, &out); err != nil || len(out) == 0 {
			return err
		}
		var text bytes.Buffer
		if err := json.Indent(&text, out, "", "  "); err != nil {
			return err
		}
		_, err = fmt.Fprintln(e.printable(), text.String())
		return err
	})
	cmd.Long = short + ".\nPATH is relative to COMMERCE_BASE_URL. A write is sent once, after a question."
	cmd.Example = "  epcommerce api GET 'v2/subscriptions/invoices?page[limit]=5'\n" +
		"  epcommerce api PUT v2/settings/cart --data settings.json"
	cmd.Flags().StringVar(&file, "data", "", "`file` with the JSON to send, - for standard input")
	e.addYes(cmd.Flags())
	cmd.ValidArgsFunction = func(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
		if len(args) > 0 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return methods, cobra.ShellCompDirectiveNoFileComp
	}
	return cmd
}

// parsePath returns the elements of a relative path, and its query. The token must not go anywhere
// else.
func parsePath(text string) (path []string, query url.Values, err error) {
	u, err := url.Parse(text)
	if err != nil || u.Scheme != "" || strings.HasPrefix(text, "//") {
		return nil, nil, usagef("PATH must be relative, such as v2/settings: the token goes to COMMERCE_BASE_URL only.\n" +
			"  Git Bash changes a path that begins with a slash: leave the slash out")
	}
	for _, element := range strings.Split(strings.Trim(u.EscapedPath(), "/"), "/") {
		unescaped, err := url.PathUnescape(element)
		if err != nil {
			return nil, nil, usagef("PATH can't be read: %w", err)
		}
		path = append(path, unescaped)
	}
	if query, err = url.ParseQuery(u.RawQuery); err != nil {
		return nil, nil, usagef("the query of PATH can't be read: %w", err)
	}
	return path, query, nil
}

// readFile reads a file, or standard input if it is -.
func (e *environment) readFile(path string) ([]byte, error) {
	if path == "-" {
		return io.ReadAll(e.stdin)
	}
	return os.ReadFile(path)
}
