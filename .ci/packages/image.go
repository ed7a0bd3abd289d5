package main

import (
	"bytes"
	"encoding/json"
	"io"
	"os"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// imageName begins with localhost, so that no engine looks for it at a registry that is not ours.
const imageName = "localhost/epcommerce"

type image struct {
	v1.Image

	platform v1.Platform
}

// labels returns what the images say about themselves, with the names of the OCI.
func labels(version, revision string, created time.Time) map[string]string {
	const image = "org.opencontainers.image."
	return map[string]string{
		image + "title": "epcommerce", image + "source": "https://github.com/commerce-go/commerce", image + "licenses": "MIT",
		image + "version": version, image + "revision": revision, image + "created": created.Format(time.RFC3339),
	}
}

// newImage returns an image that runs the store, and nothing else: it has no certificates of
// authorities. The flags that a user adds come after those here.
func newImage(a artifact, files []file, says map[string]string, created time.Time) image {
	// Anybody may write to /tmp, as on other systems: serve --tls writes its certificate there.
	data := gzipped(tarOf(append(files, file{"tmp/", 0o1777, nil}), created))
	open := func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(data)), nil }
	layer := must(tarball.LayerFromOpener(open, tarball.WithMediaType(types.OCILayer)))
	i := must(mutate.ConfigFile(empty.Image, &v1.ConfigFile{
		OS: a.GOOS, Architecture: a.GOARCH, Created: v1.Time{Time: created}, RootFS: v1.RootFS{Type: "layers"},
		Config: v1.Config{
			User: "65532:65532", Labels: says, ExposedPorts: map[string]struct{}{"8080/tcp": {}},
			Entrypoint: []string{"/epcommerce", "serve", "--addr", "0.0.0.0:8080", "--allow-host", "store"},
		},
	}))
	i = must(mutate.Append(i, mutate.Addendum{Layer: layer, History: v1.History{Created: v1.Time{Time: created}}}))
	i = mutate.ConfigMediaType(mutate.MediaType(i, types.OCIManifestSchema1), types.OCIConfigJSON)
	i = mutate.Annotations(i, says).(v1.Image)
	return image{i, v1.Platform{OS: a.GOOS, Architecture: a.GOARCH}}
}

// writeTar writes what docker save does: a layout, and a manifest.json for engines that know none.
func (i image) writeTar(name, version string, created time.Time) {
	folder := must(os.MkdirTemp("", "epcommerce-image-*"))
	writeLayout(folder, i, version)
	manifest := must(i.Manifest())
	saved := must(json.Marshal([]map[string]any{{
		"Config":   "blobs/sha256/" + manifest.Config.Digest.Hex,
		"Layers":   []string{"blobs/sha256/" + manifest.Layers[0].Digest.Hex},
		"RepoTags": []string{imageName + ":" + version},
	}}))
	files := append(readFolder(folder, ""), file{"manifest.json", 0o644, saved})
	check(os.WriteFile(name, tarOf(files, created), 0o644))
	check(os.RemoveAll(folder))
}

// writeImages writes a layout with an index of the images, which says the same as each.
func writeImages(folder string, images []image, version string, says map[string]string) {
	check(os.RemoveAll(folder))
	all := v1.ImageIndex(empty.Index)
	for _, i := range images {
		all = mutate.AppendManifests(all, mutate.IndexAddendum{Add: i, Descriptor: v1.Descriptor{Platform: &i.platform}})
	}
	writeLayout(folder, mutate.Annotations(all, says).(v1.ImageIndex), version)
}

// writeLayout writes a layout with an image or an index, which gets its names.
func writeLayout(folder string, content mutate.Appendable, version string) {
	named := mutate.IndexAddendum{Add: content, Descriptor: v1.Descriptor{Annotations: map[string]string{
		"org.opencontainers.image.ref.name": version,
		"io.containerd.image.name":          imageName + ":" + version,
	}}}
	must(layout.Write(folder, mutate.AppendManifests(empty.Index, named)))
}
