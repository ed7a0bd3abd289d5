package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// errNotPlain means that a rename would destroy a folder, a link or a device such as
// /dev/null.
var errNotPlain = errors.New("exists, and is not a plain file; use - for standard output")

// file is the part of *os.File that an output needs. Tests replace it.
type file interface {
	io.Writer
	Name() string
	Sync() error
	Close() error
}

// createTemp is os.CreateTemp.
func createTemp(dir, pattern string) (file, error) { return os.CreateTemp(dir, pattern) }

// output is where the records go: standard output, or a file that has a temporary
// name until it is published. The buffered writer turns short writes into errors.
type output struct {
	*bufio.Writer
	name string // for messages
	temp file   // nil: standard output
}

// openOutput opens a temporary file in the folder of path, or standard output if path is "".
func openOutput(path string, sys system) (*output, error) {
	if path == "" {
		return &output{Writer: bufio.NewWriter(sys.stdout), name: "standard output"}, nil
	}
	o := &output{name: path}
	info, err := os.Lstat(path)
	if err == nil && !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s %w", path, errNotPlain)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, o.cannotWrite(err)
	}
	if o.temp, err = sys.create(filepath.Dir(path), filepath.Base(path)+".*.tmp"); err != nil {
		return nil, o.cannotWrite(err)
	}
	o.Writer = bufio.NewWriter(o.temp)
	return o, nil
}

// publish renames the output to name once all of it is on the disk. If that fails,
// it removes the output.
func (o *output) publish(name string) error {
	err := o.Flush()
	if o.temp == nil {
		return o.cannotWrite(err)
	}
	if err == nil {
		err = o.temp.Sync()
	}
	if err != nil {
		return errors.Join(o.cannotWrite(err), o.discard())
	}
	if err = o.temp.Close(); err == nil {
		err = os.Rename(o.temp.Name(), name)
	}
	if err != nil {
		return errors.Join(o.cannotWrite(err), o.remove())
	}
	return nil
}

// discard removes a temporary file.
func (o *output) discard() error {
	if o.temp == nil {
		return nil
	}
	_ = o.temp.Close() // the file is removed next
	return o.remove()
}

func (o *output) remove() error {
	if err := os.Remove(o.temp.Name()); err != nil {
		return fmt.Errorf("can't remove the temporary file: %w", err)
	}
	return nil
}

// cannotWrite returns an error that names the output in place of its temporary file;
// nil for nil.
func (o *output) cannotWrite(err error) error {
	if err == nil {
		return nil
	}
	if path, ok := errors.AsType[*fs.PathError](err); ok {
		err = path.Err
	} else if link, ok := errors.AsType[*os.LinkError](err); ok {
		err = link.Err
	}
	return fmt.Errorf("can't write %s: %w", o.name, err)
}
