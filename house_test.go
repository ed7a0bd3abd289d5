package commerce_test

import (
	"context"
	"encoding"
	"flag"
	"fmt"
	"go/ast"
	"go/constant"
	"go/format"
	"go/importer"
	"go/parser"
	gotoken "go/token"
	"go/types"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"unicode/utf8"

	"github.com/commerce-go/commerce"
	"github.com/commerce-go/commerce/internal/e2e/calls"
)

var update = flag.Bool("update", false, "write testdata/api again")

// Each source file of the root has its test file, and each test file its source. The file
// x_internal_test.go is the part of x_test.go that belongs to package commerce.
func TestHouse_files(t *testing.T) {
	t.Parallel()
	alone := map[string]bool{
		"doc.go": true, "example_test.go": true, "helpers_test.go": true, "house_test.go": true,
	}
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		other, isTest := strings.CutSuffix(file, "_test.go")
		if other = strings.TrimSuffix(other, "_internal") + ".go"; !isTest {
			other = strings.TrimSuffix(file, ".go") + "_test.go"
		}
		if alone[file] == slices.Contains(files, other) {
			t.Errorf("%s: has %s: %t, want %t", file, other, alone[file], !alone[file])
		}
		delete(alone, file)
	}
	for file := range alone {
		t.Errorf("%s does not exist: delete it from this test", file)
	}
}

// The files of the root can be read one by one: few pairs of them use each other. An arrow leads
// from a file to each file that declares a package-level name or a method which it uses.
func TestHouse_arrows(t *testing.T) {
	t.Parallel()
	const maxPairs, maxArrows = 7, 201
	arrows := map[[2]string]bool{}
	files := gotoken.NewFileSet()
	info := &types.Info{Uses: map[*ast.Ident]types.Object{}}
	pkg := checkTypes(t, files, info)
	for name, object := range info.Uses {
		if f, ok := object.(*types.Func); ok {
			object = f.Origin()
		}
		signature, _ := object.Type().(*types.Signature)
		isMethod := signature != nil && signature.Recv() != nil
		from, to := files.Position(name.Pos()).Filename, files.Position(object.Pos()).Filename
		if object.Pkg() == pkg && from != to && (isMethod || object.Parent() == pkg.Scope()) {
			arrows[[2]string{from, to}] = true
		}
	}
	var pairs []string
	for arrow := range arrows {
		if from, to := arrow[0], arrow[1]; from < to && arrows[[2]string{to, from}] {
			pairs = append(pairs, from+" "+to)
		}
	}
	if slices.Sort(pairs); len(pairs) > maxPairs || len(arrows) > maxArrows || len(arrows) < 100 {
		t.Errorf("%d arrows, want 100 to %d; %d pairs of files use each other, want at most %d:\n%s",
			len(arrows), maxArrows, len(pairs), maxPairs, strings.Join(pairs, "\n"))
	}
}

// compiledPackages lists the packages that the root package imports, and the files into which the
// go command compiled them.
var compiledPackages = sync.OnceValues(func() ([]byte, error) {
	args := []string{"list", "-export", "-deps", "-f", "{{.ImportPath}} {{.Export}}", "."}
	return exec.CommandContext(context.Background(), "go", args...).Output()
})

// checkTypes checks the types of the root package.
func checkTypes(t *testing.T, files *gotoken.FileSet, info *types.Info) *types.Package {
	t.Helper()
	if testing.Short() {
		t.Skip("has one goroutine")
	}
	out, err := compiledPackages()
	if err != nil {
		t.Fatal(err)
	}
	compiled := map[string]string{}
	for line := range strings.Lines(string(out)) {
		name, file, _ := strings.Cut(strings.TrimSpace(line), " ")
		compiled[name] = file
	}
	var sources []*ast.File
	names, _ := filepath.Glob("*.go") // no error: the pattern is right
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		source, err := parser.ParseFile(files, name, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		sources = append(sources, source)
	}
	open := func(name string) (io.ReadCloser, error) { return os.Open(compiled[name]) }
	config := types.Config{Importer: importer.ForCompiler(files, "gc", open)}
	pkg, err := config.Check("commerce", files, sources, info)
	if err != nil {
		t.Fatal(err)
	}
	return pkg
}

// walkSources parses the files of the module that are not tests.
func walkSources(t *testing.T, visit func(name string, file *ast.File)) {
	t.Helper()
	others := regexp.MustCompile(`^(bench|recipes)/|(^|/)(testdata|\.[^/]+)/|_test\.go$`)
	eachFile(t, ".go", func(name, text string) {
		if name = filepath.ToSlash(name); others.MatchString(name) {
			return
		}
		file, err := parser.ParseFile(gotoken.NewFileSet(), name, text, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		visit(name, file)
	})
}

// The exported API is what testdata/api says, so that a review shows a change of it. To
// write these files: go test -run House_api -update.
func TestHouse_api(t *testing.T) {
	t.Parallel()
	surface := map[string][]string{
		".": nil, "commercetest": nil, "otelcommerce": nil, "rediscommerce": nil, "sqlcommerce": nil,
	}
	walkSources(t, func(name string, file *ast.File) {
		dir := path.Dir(name)
		if _, ok := surface[dir]; ok {
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
		diff(t, golden, strings.Split(got, "\n"), strings.Split(readFile(t, golden), "\n"))
	}
}

// exported returns the exported declarations of a file, without comments.
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

// The table of calls has a row for each exported function and method that sends requests: those
// that take a context.
func TestHouse_calls(t *testing.T) {
	t.Parallel()
	const table = "internal/e2e/calls/table.go"
	rows := map[string]bool{}
	for _, call := range calls.All() {
		name, _, _ := strings.Cut(call.Name, " (")
		rows[name] = true
	}
	walkSources(t, func(file string, source *ast.File) {
		for _, declaration := range source.Decls {
			f, ok := declaration.(*ast.FuncDecl)
			if !ok || path.Dir(file) != "." || !ast.IsExported(publicName(f)) || !f.Name.IsExported() || !takesContext(f) {
				continue
			}
			if name := publicName(f); !rows[name] {
				t.Errorf("%s of %s has no row in %s: add it, for the tests of all calls", name, file, table)
			}
			delete(rows, publicName(f))
		}
	})
	for name := range rows {
		t.Errorf("%s has a row in %s, but takes no context, or does not exist", name, table)
	}
}

func takesContext(f *ast.FuncDecl) bool {
	return slices.ContainsFunc(f.Type.Params.List, func(p *ast.Field) bool {
		of, ok := p.Type.(*ast.SelectorExpr)
		return ok && of.Sel.Name == "Context"
	})
}

// publicName returns the name of a function, after that of its receiver.
func publicName(f *ast.FuncDecl) string {
	if f.Recv == nil {
		return f.Name.Name
	}
	service, isService := strings.CutSuffix(receiver(f.Recv.List[0].Type), "Service")
	if isService {
		service += "s"
	}
	return service + "." + f.Name.Name
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

// text is a number with a text.
type text interface {
	fmt.Stringer
	encoding.TextMarshaler
}

// textTypes are the types of exported constants that are numbers: where their texts are, and the
// function and the page that name all of them.
var textTypes = map[string]struct {
	of                func(n int64) text
	texts, call, page string
}{
	"Outcome": {
		of:    func(n int64) text { return commerce.Outcome(n) },
		texts: "outcomeNames in outcome.go", call: "func OutcomeOf(", page: "docs/promises.md",
	},
	"Remedy": {
		of:    func(n int64) text { return commerce.Remedy(n) },
		texts: "remedyNames in reasons.go", call: "func RemedyOf(", page: "README.md",
	},
}

// Each constant that is a number prints as its name does, and what lists the constants names it.
func TestHouse_constants(t *testing.T) {
	t.Parallel()
	words := regexp.MustCompile("([a-z])([A-Z])")
	for _, object := range declared(t) {
		c, isConst := object.(*types.Const)
		named, isNamed := object.Type().(*types.Named)
		if !isConst || !isNamed || named.Obj().Pkg() != c.Pkg() || c.Val().Kind() != constant.Int {
			continue
		}
		typ, ok := textTypes[named.Obj().Name()]
		if !ok {
			t.Errorf("%s is of a type that this test does not know: add it to textTypes", c)
			continue
		}
		n, _ := constant.Int64Val(c.Val())
		want := words.ReplaceAllString(strings.TrimPrefix(c.Name(), named.Obj().Name()), "$1 $2")
		want = strings.ToLower(want)
		encoded, err := typ.of(n).MarshalText()
		if got := typ.of(n).String(); got != want || string(encoded) != want || err != nil {
			t.Errorf("%s prints as %q, and is encoded as %q, want %q: add it to %s", c.Name(), got, encoded, want, typ.texts)
		}
		for place, text := range map[string]string{
			"the comment of " + typ.call + ")": comment(t, typ.call), typ.page: readFile(t, typ.page),
		} {
			if !strings.Contains(text, c.Name()) {
				t.Errorf("%s does not name %s: add when it is returned", place, c.Name())
			}
		}
		isAdvice := regexp.MustCompile(`\| ` + want + `\b[^|\n]*\|\n`)
		if named.Obj().Name() == "Remedy" && !isAdvice.MatchString(readFile(t, "docs/discounts.md")) {
			t.Errorf("no row in the table of docs/discounts.md advises %q: add an error with %s", want, c.Name())
		}
	}
}

// declared returns the exported declarations of the root package.
func declared(t *testing.T) (list []types.Object) {
	t.Helper()
	scope := checkTypes(t, gotoken.NewFileSet(), &types.Info{}).Scope()
	for _, name := range scope.Names() {
		if object := scope.Lookup(name); object.Exported() {
			list = append(list, object)
		}
	}
	return list
}

// comment returns the comment of a function of the root package, e.g. "func IsFinal(".
func comment(t *testing.T, function string) string {
	t.Helper()
	files, _ := filepath.Glob("*.go") // no error: the pattern is right
	for _, file := range files {
		if before, _, ok := strings.Cut(readFile(t, file), "\n"+function); ok {
			return before[strings.LastIndex(before, "\n\n"):]
		}
	}
	t.Fatalf("there is no %s", function)
	return ""
}

// Comments have at most 100 columns, with tabs of 4, and at most 20 lines, except for the comments
// of packages and of generated files.
func TestHouse_comments(t *testing.T) {
	t.Parallel()
	wide := regexp.MustCompile(`^\t*// .*`)
	generated := regexp.MustCompile(`(?m)^// Code generated .* DO NOT EDIT\.$`)
	eachFile(t, ".go", func(name, text string) {
		if generated.MatchString(text) {
			return
		}
		length := 0
		for n, line := range strings.Split(text, "\n") {
			switch {
			case strings.HasPrefix(strings.TrimSpace(line), "//"):
				length++
			case length > 20 && !strings.HasPrefix(line, "package "):
				t.Errorf("%s:%d: the comment above has %d lines, want at most 20", name, n+1, length)
				fallthrough
			default:
				length = 0
			}
			columns := utf8.RuneCountInString(strings.ReplaceAll(line, "\t", "    "))
			if columns > 100 && wide.MatchString(line) {
				t.Errorf("%s:%d: the comment has %d columns, want at most 100", name, n+1, columns)
			}
		}
	})
}

// A function of the root and of the fake store fits on a screen. The linter has one, higher bound
// for all folders.
func TestHouse_functions(t *testing.T) {
	t.Parallel()
	const maxLines = 40
	function := regexp.MustCompile(`(?m)^func ([^\n]*[^}\n])\n(?s:.*?)^\}$`)
	short := regexp.MustCompile(`^(commercetest/|cmd/epcommerce/(internal/fakestore/|serve))?[^/]*\.go$`)
	eachFile(t, ".go", func(name, text string) {
		if !short.MatchString(filepath.ToSlash(name)) || strings.HasSuffix(name, "_test.go") {
			return
		}
		for _, f := range function.FindAllStringSubmatch(text, -1) {
			if lines := 1 + strings.Count(f[0], "\n"); lines > maxLines {
				t.Errorf("%s: %d lines, want at most %d: %s", name, lines, maxLines, f[1])
			}
		}
	})
}

// The library, its tests and the pages grow only by an edit of these limits, which a review sees.
func TestHouse_size(t *testing.T) {
	t.Parallel()
	library := regexp.MustCompile(`^(internal/(lease|paging|transport|wire)/)?[^/]+\.go$`)
	others := regexp.MustCompile(`^internal/e2e/(ledger|ensure/exhaustive)/`)
	code := regexp.MustCompile(`(?m)^[ \t]*([^/\s]|/[^/])`)
	sizes := map[string]int{}
	eachFile(t, ".go", func(name, text string) {
		name = filepath.ToSlash(name)
		isTest, isOwn := strings.HasSuffix(name, "_test.go"), library.MatchString(name)
		switch lines := len(code.FindAllString(text, -1)); {
		case isOwn && !isTest:
			sizes["lines of the library"] += lines
		case isTest && (isOwn || strings.HasPrefix(name, "internal/e2e/") && !others.MatchString(name)):
			sizes["lines of its tests"] += lines
		}
	})
	eachFile(t, ".md", func(_, text string) {
		if !strings.HasPrefix(text, "<!-- Code generated ") { // such a page grows with what it lists
			sizes["words of all pages"] += len(strings.Fields(text))
		}
	})
	walkSources(t, func(name string, file *ast.File) {
		if path.Dir(name) == "." {
			sizes["exported names"] += exportedNames(file)
		}
	})
	limits := map[string]int{
		"lines of the library": 10_750, "lines of its tests": 25_210, "words of all pages": 24_890, "exported names": 275,
	}
	for what, limit := range limits {
		if got := sizes[what]; got > limit || got < limit*9/10 {
			t.Errorf("%d %s, want at most %d: make it smaller, or change the limit. It must not be a tenth too high",
				got, what, limit)
		}
	}
}

// exportedNames counts the exported names of a file: functions, methods, types, constants and
// variables.
func exportedNames(file *ast.File) (n int) {
	ast.FileExports(file)
	for _, declaration := range file.Decls {
		switch d := declaration.(type) {
		case *ast.FuncDecl:
			if d.Recv == nil || ast.IsExported(receiver(d.Recv.List[0].Type)) {
				n++
			}
		case *ast.GenDecl:
			for _, spec := range d.Specs {
				switch s := spec.(type) {
				case *ast.TypeSpec:
					n++
				case *ast.ValueSpec:
					n += len(s.Names)
				}
			}
		}
	}
	return n
}

// eachFile visits the files of the repository whose names end in suffix, without those of packages
// that .ci/vendors and .ci/licenses fetch, and without what `make dist` makes.
func eachFile(t *testing.T, suffix string, visit func(name, text string)) {
	t.Helper()
	if testing.Short() {
		t.Skip("has one goroutine")
	}
	err := filepath.WalkDir(".", func(name string, _ fs.DirEntry, err error) error {
		if name == ".cache" || name == "dist" {
			return fs.SkipDir
		}
		if err == nil && strings.HasSuffix(name, suffix) && !strings.Contains(name, "node_modules") {
			visit(name, readFile(t, name))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

func readFile(t *testing.T, name string) string {
	t.Helper()
	b, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// The code samples of README.md are parts of the examples, which are compiled and run.
func TestREADME(t *testing.T) {
	t.Parallel()
	// Indentation differs: compare line by line without it.
	trim := func(s string) string {
		var lines []string
		for line := range strings.Lines(s) {
			if line = strings.TrimSpace(line); line != "" {
				lines = append(lines, line)
			}
		}
		return strings.Join(lines, "\n")
	}
	readme, examples := readFile(t, "README.md"), trim(readFile(t, "example_test.go"))
	samples := regexp.MustCompile("(?s)```go\n(.*?)```").FindAllStringSubmatch(readme, -1)
	if len(samples) < 3 {
		t.Errorf("got %d samples, want at least 3", len(samples))
	}
	for _, sample := range samples {
		if !strings.Contains(examples, trim(sample[1])) {
			t.Errorf("not part of example_test.go:\n%s", sample[1])
		}
	}
	for _, command := range []string{"go run ./examples/list-subscriptions", "go test ./..."} {
		if !strings.Contains(readme, "\n"+command+"\n") {
			t.Errorf("README.md does not show %s", command)
		}
	}
}

// The files that pages link to exist.
func TestDocs_links(t *testing.T) {
	t.Parallel()
	links := 0
	eachFile(t, ".md", func(page, text string) {
		for _, link := range regexp.MustCompile(`\]\(([^)#]+)(#[^)]*)?\)`).FindAllStringSubmatch(text, -1) {
			if strings.Contains(link[1], "://") {
				continue
			}
			links++
			if _, err := os.Stat(filepath.Join(filepath.Dir(page), link[1])); err != nil {
				t.Errorf("%s: %v", page, err)
			}
		}
	})
	if links < 10 {
		t.Errorf("got %d links, want at least 10", links)
	}
}

// The tests that docs/evidence/proofs.md names exist. A star stands for the rest of a name.
func TestDocs_proofs(t *testing.T) {
	t.Parallel()
	var functions strings.Builder
	eachFile(t, "_test.go", func(_, text string) { functions.WriteString(text) })
	named := regexp.MustCompile("`((?:Test|Fuzz|Example)\\w+)(\\*?)`")
	for _, name := range named.FindAllStringSubmatch(readFile(t, "docs/evidence/proofs.md"), -1) {
		end := map[string]string{"": "("}[name[2]]
		if !strings.Contains(functions.String(), "\nfunc "+name[1]+end) {
			t.Errorf("there is no test %s%s", name[1], name[2])
		}
	}
}

// The tables of docs/dependencies.md name each module that a go.mod requires, one that it requires
// itself with its version. Of bench, the recipes and .ci, which nobody links, they may leave out
// what is required indirectly. They name no other module and version.
func TestDocs_dependencies(t *testing.T) {
	t.Parallel()
	required, named := map[string]bool{}, map[string]bool{} // required: whether a table must name it
	line := regexp.MustCompile(`(?m)^(?:require |\t)(\S+) (v\S+)( // indirect)?$`)
	short := regexp.MustCompile(`^github\.com/|/v\d+$`)
	eachFile(t, "go.mod", func(file, text string) {
		for _, m := range line.FindAllStringSubmatch(text, -1) {
			if strings.HasPrefix(m[1], "github.com/commerce-go/") {
				continue
			}
			name, indirect := short.ReplaceAllString(m[1], ""), m[3] != ""
			required[name+" "+m[2]] = required[name+" "+m[2]] || !indirect
			linked := !regexp.MustCompile(`^(bench|recipes|\.ci)/`).MatchString(filepath.ToSlash(file))
			required[name] = required[name] || linked
		}
	})
	for row := range strings.Lines(readFile(t, "docs/dependencies.md")) {
		cells := strings.Split(row, "|")
		if len(cells) < 3 || strings.Trim(cells[1], " -") == "" || cells[1] == " module " {
			continue
		}
		for _, entry := range regexp.MustCompile(`,? with |, | and `).Split(strings.TrimSpace(cells[1]), -1) {
			name, _, _ := strings.Cut(entry, " ")
			named[name], named[entry] = true, true
			if _, ok := required[entry]; !ok {
				t.Errorf("docs/dependencies.md names %s, which no go.mod requires", entry)
			}
		}
	}
	for entry, must := range required {
		if must && !named[entry] {
			t.Errorf("docs/dependencies.md does not name %s", entry)
		}
	}
	if len(named) < 50 {
		t.Errorf("got %d names and versions, want at least 50", len(named))
	}
}

// The files that docs/service.md names, of the fake store and of the library, exist.
func TestDocs_service(t *testing.T) {
	t.Parallel()
	names := regexp.MustCompile(`[\w/]+\.go|internal/[\w/]+`)
	found := 0
	for line := range strings.Lines(readFile(t, "docs/service.md")) {
		cells := strings.Split(line, " | ")
		if len(cells) < 4 || cells[1] == "title" {
			continue
		}
		for i, dir := range []string{"commercetest", "."} {
			for _, name := range names.FindAllString(cells[2+i], -1) {
				found++
				if _, err := os.Stat(filepath.Join(dir, name)); err != nil {
					t.Errorf("%s: %v", strings.TrimSpace(cells[0]), err)
				}
			}
		}
	}
	if found < 50 {
		t.Errorf("got %d files, want at least 50", found)
	}
}
