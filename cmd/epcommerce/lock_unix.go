//go:build unix && !solaris && !aix

package main

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"
)

// lockFile makes sure that no other process writes a file. The lock ends with the process.
func lockFile(f *os.File) error {
	return syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
}

// closeAndRename holds the lock until the file has its new name, on the disk too.
func closeAndRename(f *os.File, path string) error {
	err := os.Rename(f.Name(), path)
	folder, openErr := os.Open(filepath.Dir(path))
	if openErr == nil {
		openErr = errors.Join(folder.Sync(), folder.Close())
	}
	return errors.Join(err, openErr, f.Close())
}
