package main

import (
	"errors"
	"io/fs"
	"os"
	"slices"
	"strings"
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

// lockFile locks a file. Where files have no locks, it makes another one, which must not be there:
// unlockFile removes it, but a crash leaves it.
func (e *environment) lockFile(l *flock.Flock) (bool, error) {
	locked, err := e.files.lock(l)
	if err == nil || e.ifKnown(err, "locks: after a crash, remove "+runningFile(l)) != nil {
		return locked, err
	}
	running, err := os.OpenFile(runningFile(l), os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	e.running = runningFile(l)
	return true, running.Close()
}

func runningFile(l *flock.Flock) string { return strings.TrimSuffix(l.Path(), ".lock") + ".running" }

func (e *environment) unlockFile(l *flock.Flock) {
	if e.running != "" {
		_ = os.Remove(e.running)
	}
	_ = os.Remove(l.Path()) // Windows refuses: the file stays, and is no obstacle
	_ = l.Unlock()
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
