package commerce_test

import (
	"flag"
	"go/ast"
	"go/format"
	"go/parser"
	gotoken "go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write testdata/api anew")

const module = "github.com/commerce-go/commerce"

type room struct {
	dir        string
	may, never []string
}

// rooms are the parts of the code, and what beyond the standard library each may
// import, as CONTRIBUTING.md tells; never lists what it may not, also of that.
var rooms = []room{
	{".", []string{module + "/internal/future", module + "/internal/paging", module + "/internal/transport", module + "/internal/wire", "github.com/google/uuid", "github.com/shopspring/decimal", "golang.org/x/oauth2"}, nil},
	{"internal/transport", []string{"github.com/hashicorp/go-retryablehttp"}, []string{"encoding/json"}},
	{"internal/future", nil, []string{"net/http"}},
	{"internal/paging", []string{module + "/internal/future"}, []string{"net", "net/http", "net/url", "encoding/json"}},
	{"internal/wire", []string{"github.com/go-json-experiment/json", "github.com/go-json-experiment/json/jsontext", "github.com/google/uuid"}, []string{"net", "net/http"}},
	{"internal/e2e/ledger", []string{module}, nil},
	{"internal/e2e", []string{module}, nil},
	{"commercetest", []string{module, "github.com/google/uuid"}, nil},
	{"examples", []string{module, module + "/commercetest", module + "/examples/internal/flags", module + "/examples/internal/store", module + "/examples/internal/terminal", "github.com/google/uuid", "github.com/schollz/progressbar/v3", "golang.org/x/term", "golang.org/x/time/rate"}, nil},
}

func TestHouse_imports(t *testing.T) {
	t.Parallel()
	seen, used := map[string]int{}, map[string]bool{}
	walkSources(t, func(name string, file *ast.File) {
		i := slices.IndexFunc(rooms, func(r room) bool {
			dir := path.Dir(name)
			return dir == r.dir || r.dir != "." && strings.HasPrefix(dir, r.dir+"/")
		})
		if i < 0 {
			t.Errorf("%s is in no room", name)
			return
		}
		r := rooms[i]
		seen[r.dir]++
		for _, spec := range file.Imports {
			imported, err := strconv.Unquote(spec.Path.Value)
			if err != nil {
				t.Fatal(err)
			}
			used[r.dir+" "+imported] = true
			standard := !strings.Contains(imported, ".")
			if !standard && !slices.Contains(r.may, imported) || slices.Contains(r.never, imported) || imported == "unsafe" || imported == "C" {
				t.Errorf("%s must not import %s", name, imported)
			}
		}
	})
	for _, r := range rooms {
		if seen[r.dir] == 0 {
			t.Errorf("no file in %s", r.dir)
		}
		for _, imported := range r.may {
			if !used[r.dir+" "+imported] {
				t.Errorf("no file of %s imports %s", r.dir, imported)
			}
		}
	}
}

// walkSources parses the files of the module that are not tests.
func walkSources(t *testing.T, visit func(name string, file *ast.File)) {
	t.Helper()
	err := filepath.WalkDir(".", func(name string, d fs.DirEntry, err error) error {
		name = filepath.ToSlash(name)
		switch {
		case err != nil:
			return err
		case d.IsDir() && (name == "bench" || name == "recipes" || d.Name() == "testdata" || len(d.Name()) > 1 && d.Name()[0] == '.'):
			return fs.SkipDir
		case d.IsDir() || !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go"):
			return nil
		}
		file, err := parser.ParseFile(gotoken.NewFileSet(), name, nil, parser.SkipObjectResolution)
		if err == nil {
			visit(name, file)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// The API is what testdata/api says, so that a change of it shows in a review, and in
// `make release-check`: go test -run House_api -update.
func TestHouse_api(t *testing.T) {
	t.Parallel()
	surface := map[string][]string{".": nil, "commercetest": nil}
	walkSources(t, func(name string, file *ast.File) {
		if dir := path.Dir(name); dir == "." || dir == "commercetest" {
			surface[dir] = append(surface[dir], exported(t, file)...)
		}
	})
	for dir, declarations := range surface {
		slices.Sort(declarations)
		got := strings.Join(declarations, "\n\n") + "\n"
		golden := filepath.Join("testdata", "api", strings.Replace(dir, ".", "commerce", 1)+".txt")
		if *update {
			if err := os.WriteFile(golden, []byte(got), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(golden)
		if err != nil {
			t.Fatal(err)
		}
		diff(t, golden, strings.Split(got, "\n"), strings.Split(string(want), "\n"))
	}
}

// exported returns the declarations of a file that its users see, without comments.
func exported(t *testing.T, file *ast.File) (declarations []string) {
	t.Helper()
	ast.FileExports(file)
	for _, declaration := range file.Decls {
		switch d := declaration.(type) {
		case *ast.FuncDecl:
			if d.Body = nil; d.Recv != nil && !ast.IsExported(receiver(d.Recv.List[0].Type)) {
				continue
			}
		case *ast.GenDecl:
			if d.Tok == gotoken.IMPORT {
				continue
			}
			for _, spec := range d.Specs { // the texts of errors are not part of the API
				if value, ok := spec.(*ast.ValueSpec); ok && d.Tok == gotoken.VAR {
					value.Values = nil
				}
			}
		}
		var b strings.Builder
		if err := format.Node(&b, gotoken.NewFileSet(), declaration); err != nil {
			t.Fatal(err)
		}
		declarations = append(declarations, b.String())
	}
	return declarations
}

func receiver(t ast.Expr) string {
	if pointer, ok := t.(*ast.StarExpr); ok {
		t = pointer.X
	}
	if name, ok := t.(*ast.Ident); ok {
		return name.Name
	}
	return ""
}
