// Command packages writes the npm packages, SBOMs and container images of epcommerce: of the
// binaries in dist/artifacts.json, which goreleaser writes, and of what .ci/licenses copies. The
// same input gives the same bytes.
//
//	packages CHECKOUT FOLDER REVISION SECONDS    SECONDS is the time of the commit, since 1970
package main

import (
	"archive/tar"
	"bytes"
	"cmp"
	"compress/gzip"
	"encoding/json"
	"io/fs"
	"log"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// artifact is a file that goreleaser has written.
type artifact struct {
	Path, GOOS, GOARCH, Type string
}

// npmPackage has what the package.json of all npm packages have in common.
type npmPackage struct {
	Name, Version, License string
	Private                bool
}

func main() {
	log.SetFlags(0)
	if len(os.Args) != 5 {
		log.Fatal("usage: packages CHECKOUT FOLDER REVISION SECONDS")
	}
	checkout, out := os.Args[1], os.Args[2]
	created := time.Unix(must(strconv.ParseInt(os.Args[4], 10, 64)), 0).UTC()
	sources, npmFolder := filepath.Join(checkout, "cmd", "epcommerce", "npm"), filepath.Join(out, "npm")
	check(os.MkdirAll(npmFolder, 0o755))
	var npm npmPackage
	check(json.Unmarshal(must(os.ReadFile(filepath.Join(sources, "package.json"))), &npm))
	var artifacts []artifact
	check(json.Unmarshal(must(os.ReadFile(filepath.Join(checkout, "dist", "artifacts.json"))), &artifacts))

	license := file{"LICENSE", 0o644, must(os.ReadFile(filepath.Join(checkout, "LICENSE")))}
	npm.write(npmFolder, append(readFolder(sources, ""), license), created)
	var images []image
	says := labels(npm.Version, os.Args[3], created)
	for _, a := range artifacts {
		if a.Type != "Binary" {
			continue
		}
		licenses, name := filepath.Join(checkout, ".cache", "licenses", a.GOOS), "epcommerce_"+a.GOOS+"_"+a.GOARCH
		files := readFolder(licenses, "licenses")
		program := must(os.ReadFile(filepath.Join(checkout, a.Path)))
		files = append(files, license, file{filepath.Base(a.Path), 0o755, program})
		writeSBOM(filepath.Join(out, name+".cdx.json"), program, must(os.ReadFile(licenses+".csv")), created)
		npm.writePlatform(npmFolder, a, slices.Clone(files), created)
		if a.GOOS == "linux" {
			i := newImage(a, files, says, created)
			i.writeTar(filepath.Join(out, name+"_image.tar"), npm.Version, created)
			images = append(images, i)
		}
	}
	writeImages(filepath.Join(out, "oci"), images, npm.Version, says)
}

// write writes the package with the name and the layout of npm pack, which has no folders.
func (p npmPackage) write(folder string, files []file, created time.Time) {
	files = slices.DeleteFunc(files, func(f file) bool { return strings.HasSuffix(f.name, "/") })
	for i := range files {
		files[i].name = "package/" + files[i].name
	}
	name := strings.NewReplacer("@", "", "/", "-").Replace(p.Name) + "-" + p.Version + ".tgz"
	check(os.WriteFile(filepath.Join(folder, name), gzipped(tarOf(files, created)), 0o644))
}

// writePlatform writes the package with a binary.
func (p npmPackage) writePlatform(folder string, a artifact, files []file, created time.Time) {
	names := map[string]string{"windows": "win32", "amd64": "x64"}
	platform, cpu := cmp.Or(names[a.GOOS], a.GOOS), cmp.Or(names[a.GOARCH], a.GOARCH)
	p.Name += "-" + platform + "-" + cpu
	manifest := must(json.MarshalIndent(map[string]any{
		"name": p.Name, "version": p.Version, "private": p.Private, "license": p.License,
		"description": "epcommerce for " + platform + " on " + cpu, "os": []string{platform}, "cpu": []string{cpu},
		"bin":             map[string]string{"epcommerce": filepath.Base(a.Path)},
		"preferUnplugged": true, // Yarn leaves it outside of an archive, where it can be run
	}, "", "  "))
	p.write(folder, append(files, file{"package.json", 0o644, manifest}), created)
}

// file is an entry of a tar. A name that ends in a slash is a folder.
type file struct {
	name string
	mode int64
	data []byte
}

// readFolder returns what a folder holds, as content of another one. None of the files is a
// program.
func readFolder(folder, as string) (files []file) {
	root := os.DirFS(folder)
	check(fs.WalkDir(root, ".", func(name string, entry fs.DirEntry, err error) error {
		f := file{path.Join(as, name), 0o644, nil}
		switch {
		case err != nil || f.name == ".":
			return err
		case entry.IsDir():
			f.name, f.mode = f.name+"/", 0o755
		default:
			f.data, err = fs.ReadFile(root, name)
		}
		files = append(files, f)
		return err
	}))
	return files
}

// tarOf returns a tar of files, in the order of their names.
func tarOf(files []file, modified time.Time) []byte {
	slices.SortFunc(files, func(a, b file) int { return cmp.Compare(a.name, b.name) })
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for _, f := range files {
		check(w.WriteHeader(&tar.Header{Name: f.name, Mode: f.mode, Size: int64(len(f.data)), ModTime: modified}))
		must(w.Write(f.data))
	}
	check(w.Close())
	return b.Bytes()
}

func gzipped(data []byte) []byte {
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	must(w.Write(data))
	check(w.Close())
	return b.Bytes()
}

func must[T any](value T, err error) T {
	check(err)
	return value
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
