//go:build !unix

package main

import "io/fs"

// isOwn is false: the mode of a file does not say who can read it.
func isOwn(fs.FileInfo) bool { return false }
