package main

import (
	"os"
	"path/filepath"
	"testing"
)

// TestPictures compares the pictures of docs with a run: make picture draws them.
func TestPictures(t *testing.T) {
	t.Parallel()
	for name, draw := range pictures {
		got, err := draw(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		want, err := os.ReadFile(filepath.Join("..", "..", "docs", name))
		if err != nil || got != string(want) {
			t.Errorf("%s differs from what make picture draws, error %v", name, err)
		}
	}
}
