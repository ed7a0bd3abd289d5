//go:build !unix || solaris || aix

package main

import (
	"os"
)

func lockFile(*os.File) error { return nil }

// closeAndRename closes the file first: Windows renames no file that is open.
func closeAndRename(f *os.File, path string) error {
	if err := f.Close(); err != nil {
		return err
	}
	return os.Rename(f.Name(), path)
}
