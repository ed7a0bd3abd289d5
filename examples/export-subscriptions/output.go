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

// errNotPlain refuses what a rename would destroy rather than replace: a folder,
// a link, a device such as /dev/null.
var errNotPlain = errors.New("is there already, and not a plain file; - is standard output")

// file is what an output needs of a temporary file.
type file interface {
	io.Writer
	Name() string
	Sync() error
	Close() error
}

// createTemp is os.CreateTemp.
func createTemp(dir, pattern string) (file, error) { return os.CreateTemp(dir, pattern) }

// output is where the records go: standard output, or a file that has a temporary
// name until it is published. The buffer turns short writes into errors.
type output struct {
	*bufio.Writer
	name string // for messages
	temp file   // nil: standard output
}

// openOutput opens standard output for the path "", else a temporary file beside path.
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
		return nil, o.fault(err)
	}
	if o.temp, err = sys.create(filepath.Dir(path), filepath.Base(path)+".*.tmp"); err != nil {
		return nil, o.fault(err)
	}
	o.Writer = bufio.NewWriter(o.temp)
	return o, nil
}

// publish gives the output its name, once all of it is on the disk. If that
// fails, nothing is left.
func (o *output) publish(name string) error {
	err := o.Flush()
	if o.temp == nil {
		return o.fault(err)
	}
	if err == nil {
		err = o.temp.Sync()
	}
	if err != nil {
		return errors.Join(o.fault(err), o.discard())
	}
	if err = o.temp.Close(); err == nil {
		err = os.Rename(o.temp.Name(), name)
	}
	if err != nil {
		return errors.Join(o.fault(err), o.remove())
	}
	return nil
}

// discard leaves nothing of a file; what went to standard output is gone.
func (o *output) discard() error {
	if o.temp == nil {
		return nil
	}
	_ = o.temp.Close() // its content does not matter any more
	return o.remove()
}

func (o *output) remove() error {
	if err := os.Remove(o.temp.Name()); err != nil {
		return fmt.Errorf("can't remove the temporary file: %w", err)
	}
	return nil
}

// fault says that the output can't be written, and why; nil for nil. It does not
// repeat the temporary name, which says nothing to the user.
func (o *output) fault(err error) error {
	if err == nil {
		return nil
	}
	var (
		path *fs.PathError
		link *os.LinkError
	)
	switch {
	case errors.As(err, &path):
		err = path.Err
	case errors.As(err, &link):
		err = link.Err
	}
	return fmt.Errorf("can't write %s: %w", o.name, err)
}
