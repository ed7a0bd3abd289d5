package main

import (
	"bytes"
	"crypto/sha256"
	"debug/buildinfo"
	"encoding/csv"
	"encoding/hex"
	"encoding/json"
	"log"
	"net/url"
	"os"
	"slices"
	"strings"
	"time"
)

// component is a part of an SBOM, with the names of CycloneDX.
type component struct {
	Type     string          `json:"type"`
	Ref      string          `json:"bom-ref"`
	Name     string          `json:"name"`
	Version  string          `json:"version"`
	Hashes   []hash          `json:"hashes,omitempty"`
	Licenses []licenseChoice `json:"licenses"`
	PURL     string          `json:"purl"`
}

type hash struct {
	Algorithm string `json:"alg"`
	Content   string `json:"content"`
}

type licenseChoice struct {
	License struct {
		ID string `json:"id"`
	} `json:"license"`
}

// writeSBOM writes what a program consists of: the modules that Go lists in it, and Go. The table
// of licenses is that of .ci/licenses.
func writeSBOM(name string, program, table []byte, created time.Time) {
	info := must(buildinfo.Read(bytes.NewReader(program)))
	licenses := must(csv.NewReader(bytes.NewReader(table)).ReadAll())
	whole := newComponent("application", info.Main.Path, info.Main.Version, licenses)
	sum := sha256.Sum256(program)
	whole.Hashes = []hash{{"SHA-256", hex.EncodeToString(sum[:])}}
	parts := []component{newComponent("library", "stdlib", info.GoVersion, licenses)}
	for _, m := range info.Deps {
		if m.Replace != nil {
			m.Version = m.Replace.Version // go.mod replaces only modules of the checkout
		}
		parts = append(parts, newComponent("library", m.Path, m.Version, licenses))
	}
	sbom := must(json.MarshalIndent(map[string]any{
		"$schema":   "http://cyclonedx.org/schema/bom-1.6.schema.json",
		"bomFormat": "CycloneDX", "specVersion": "1.6", "version": 1,
		"metadata":   map[string]any{"timestamp": created.Format(time.RFC3339), "component": whole},
		"components": parts,
	}, "", "  "))
	check(os.WriteFile(name, append(sbom, '\n'), 0o644))
}

// newComponent looks for the licenses of all packages of a module. Scanners find Go as stdlib.
func newComponent(kind, module, version string, licenses [][]string) component {
	purl := "pkg:golang/" + module
	if version != "(devel)" {
		purl += "@" + url.QueryEscape(strings.TrimPrefix(version, "go"))
	}
	c := component{Type: kind, Ref: purl, Name: module, Version: version, PURL: purl}
	for _, row := range licenses { // package, URL, license
		choice := licenseChoice{}
		choice.License.ID = row[2]
		if strings.HasPrefix(row[0]+"/", module+"/") && row[2] != "Unknown" && !slices.Contains(c.Licenses, choice) {
			c.Licenses = append(c.Licenses, choice)
		}
	}
	if c.Licenses == nil {
		log.Fatalf("no license of %s is known", module)
	}
	return c
}
