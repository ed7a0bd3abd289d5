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
	if e.isUnknown(err, "locks", "no other export may write the file") {
		return true, nil
	}
	return locked, err
}

// syncFile writes a file to the disk, if its file system can.
func (e *environment) syncFile(f *os.File) error {
	err := e.files.sync(f)
	if e.isUnknown(err, "fsync", "use --restart after a crash of the machine", syscall.EINVAL) {
		return nil
	}
	return err
}

// protectFile lets only the owner read a file, if its file system can.
func (e *environment) protectFile(path string) error {
	err := e.files.chmod(path, 0o600)
	if e.isUnknown(err, "permissions", "others may read the file", syscall.EPERM) {
		return nil
	}
	return err
}

// isUnknown reports whether an error means that the file system does not know something. It warns
// once.
func (e *environment) isUnknown(err error, what, then string, more ...syscall.Errno) bool {
	errno, ok := errors.AsType[syscall.Errno](err)
	if !ok || !slices.Contains(append(more, syscall.ENOLCK, syscall.ENOSYS, syscall.EOPNOTSUPP), errno) {
		return false
	}
	if !slices.Contains(e.warned, what) {
		e.warned = append(e.warned, what)
		say(e.stderr, "the file system has no %s: %s", what, then)
	}
	return true
}
