package main

import (
	"errors"

	"github.com/spf13/cobra"
)

func newServeCommand(e *environment) *cobra.Command {
	return &cobra.Command{
		Use:   "serve",
		Short: "Run the fake store, for programs in any language",
		Args:  cobra.NoArgs,
		RunE:  func(*cobra.Command, []string) error { return errors.New("not built yet") },
	}
}
