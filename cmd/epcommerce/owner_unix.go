//go:build unix

package main

import (
	"io/fs"
	"os"
	"syscall"
)

// isOwn reports whether a file belongs to the user of this process.
func isOwn(file fs.FileInfo) bool {
	s, ok := file.Sys().(*syscall.Stat_t)
	return ok && int(s.Uid) == os.Geteuid()
}
