package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"time"

	"github.com/google/uuid"
)

// exportState says where an export goes on. It is the content of FILE.state.
type exportState struct {
	Store    string      // as in shop
	Began    time.Time   // of the first run
	Finished uuid.UUID   // the part has all subscriptions up to this account
	Length   int64       // of the part, in bytes
	Count    int         // of subscriptions
	Skipped  []uuid.UUID // accounts that cannot be read
}

// partFile is a file that is written in several runs. FILE.part becomes FILE when it is complete.
type partFile struct {
	*os.File
	path  string
	state exportState // on the disk
}

// openPart opens the part of a file. It goes on from an earlier run, or else from a new state.
func openPart(path string, state exportState, restart bool) (*partFile, error) {
	if info, err := os.Lstat(path); err == nil && !info.Mode().IsRegular() {
		return nil, usagef("%s exists, and is not a plain file", path)
	}
	part, err := os.OpenFile(path+".part", os.O_CREATE|os.O_RDWR, 0o600) // it holds data of customers
	if err != nil {
		return nil, err
	}
	f := &partFile{File: part, path: path, state: state}
	err = f.lock()
	if err == nil && !restart {
		err = f.load()
	}
	if err != nil {
		return nil, errors.Join(err, part.Close())
	}
	return f, nil
}

// lock makes sure that no other process writes the part, or has just published it.
func (f *partFile) lock() error {
	err := lockFile(f.File)
	if err == nil {
		var open, named os.FileInfo
		open, err = f.Stat()
		named, statErr := os.Stat(f.Name())
		if err = errors.Join(err, statErr); err == nil && !os.SameFile(open, named) {
			err = errors.New("it was completed meanwhile")
		}
	}
	if err != nil {
		return fmt.Errorf("another export writes %s: %w", f.Name(), err)
	}
	return nil
}

// load reads the state of an earlier run, if there is one.
func (f *partFile) load() error {
	text, err := os.ReadFile(f.path + ".state")
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	var state exportState
	if err == nil {
		err = json.Unmarshal(text, &state)
	}
	if err != nil {
		return usagef("can't read the state of an earlier run: %w; --restart starts over", err)
	}
	info, err := f.Stat()
	switch {
	case err != nil:
		return err
	case state.Store != f.state.Store:
		return usagef("%s.state is of another store; use another FILE, or --restart", f.path)
	case info.Size() < state.Length:
		return usagef("%s.part is shorter than its state says; --restart starts over", f.path)
	}
	f.state = state
	return nil
}

// rewind removes what was written after the state, because it comes again.
func (f *partFile) rewind() error {
	if err := f.Truncate(f.state.Length); err != nil {
		return err
	}
	_, err := f.Seek(f.state.Length, io.SeekStart)
	return err
}

// save makes next the state. The part is on the disk before the state says so.
func (f *partFile) save(next exportState) error {
	if next.Length == f.state.Length && len(next.Skipped) == len(f.state.Skipped) {
		return nil
	}
	if err := f.Sync(); err != nil {
		return err
	}
	text, err := json.Marshal(next)
	if err != nil {
		return err
	}
	temp, err := os.OpenFile(f.path+".state.tmp", os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = temp.Write(text)
	if err = errors.Join(err, temp.Sync(), temp.Close()); err != nil {
		return err
	}
	if err := os.Rename(temp.Name(), f.path+".state"); err != nil { // atomic: a crash leaves one of the two
		return err
	}
	f.state = next
	return nil
}

// publish gives the complete part its name. A state without a part, after a crash between the
// last two steps, would stop the next run, so the state goes first.
func (f *partFile) publish() error {
	if err := f.Sync(); err != nil {
		return err
	}
	if err := os.RemoveAll(f.path + ".state"); err != nil {
		return err
	}
	return closeAndRename(f.File, f.path)
}
