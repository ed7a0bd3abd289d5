package main

import (
	"strings"
	"testing"

	"github.com/spf13/cobra"
)

// The help of each command fits 80 columns, and has an example if it takes arguments or flags.
func TestHelp(t *testing.T) {
	t.Parallel()
	var walk func(*cobra.Command)
	walk = func(cmd *cobra.Command) {
		for _, sub := range cmd.Commands() {
			walk(sub)
		}
		path := strings.Fields(cmd.CommandPath())[1:]
		if cmd.Name() == "completion" || len(path) > 0 && path[0] == "completion" {
			return // of cobra
		}
		got := caller{}.run(t, append(path, "--help")...)
		for line := range strings.Lines(got.stdout) {
			if len([]rune(line)) > 81 {
				t.Errorf("%s: a line has %d columns, want at most 80: %s", cmd.CommandPath(), len([]rune(line)), line)
			}
		}
		if !cmd.HasSubCommands() && cmd.Name() != "version" && cmd.Example == "" {
			t.Errorf("%s has no example", cmd.CommandPath())
		}
	}
	walk(newRootCommand(&environment{}))
}
