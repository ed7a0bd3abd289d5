package main

import (
	"errors"
	"io/fs"
	"os"
	"slices"
	"syscall"

	"github.com/gofrs/flock"
)

// fileLayer is what a file system may not know. Tests replace it.
type fileLayer struct {
	lock  func(*flock.Flock) (bool, error)
	sync  func(*os.File) error
	chmod func(path string, mode fs.FileMode) error
}

func newFileLayer() fileLayer {
	return fileLayer{lock: (*flock.Flock).TryLock, sync: (*os.File).Sync, chmod: os.Chmod}
}

// lockFile locks a file. Where files have no locks, it warns, and the file counts as locked.
func (e *environment) lockFile(l *flock.Flock) (bool, error) {
	locked, err := e.files.lock(l)
	if err != nil && e.ifKnown(err, "locks: no other export may write the file") == nil {
		return true, nil
	}
	return locked, err
}

// ifKnown returns err, unless it means that the file system does not know something: then it warns
// once. more are other errors of that meaning.
func (e *environment) ifKnown(err error, warning string, more ...syscall.Errno) error {
	errno, ok := errors.AsType[syscall.Errno](err)
	if !ok || !slices.Contains(append(more, syscall.ENOLCK, syscall.ENOSYS, syscall.EOPNOTSUPP), errno) {
		return err
	}
	if !slices.Contains(e.warned, warning) {
		e.warned = append(e.warned, warning)
		say(e.stderr, "the file system has no %s", warning)
	}
	return nil
}
