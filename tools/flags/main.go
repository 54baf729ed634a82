// Command flags lists the command-line flags that Go source defines, for programs whose module cannot be built here: it reads the packages in the
// folders that it is given and prints "name type" for each call that defines a flag by the standard library, pflag or kingpin. A name that is
// no literal and no constant of the package goes to standard error: such a flag has to be written down by hand.
package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"sort"
	"strconv"
	"strings"
)

// definition is a method's name: the type, Var where the value goes to a variable of the caller, P where pflag takes a shorthand too.
var definition = regexp.MustCompile(`^(Bool|String|Int|Int32|Int64|Uint|Uint64|Float32|Float64|Duration|StringSlice|StringArray|IntSlice|StringToString|IP|)(Var)?(P)?$`)

func main() {
	found := map[string]string{}
	for _, folder := range os.Args[1:] {
		if err := scan(folder, found); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	}
	names := make([]string, 0, len(found))
	for name := range found {
		names = append(names, name)
	}
	sort.Strings(names)
	for _, name := range names {
		fmt.Println(name, found[name])
	}
}

func scan(folder string, found map[string]string) error {
	paths, err := filepath.Glob(filepath.Join(folder, "*.go"))
	if err != nil || len(paths) == 0 {
		return fmt.Errorf("%s: no Go source (%v)", folder, err)
	}
	set := token.NewFileSet()
	var files []*ast.File
	constants := map[string]string{}
	for _, path := range paths {
		if strings.HasSuffix(path, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(set, path, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		files = append(files, file)
		ast.Inspect(file, func(node ast.Node) bool {
			if spec, ok := node.(*ast.ValueSpec); ok {
				for i, value := range spec.Values {
					if text, ok := literal(value); ok && i < len(spec.Names) {
						constants[spec.Names[i].Name] = text
					}
				}
			}
			return true
		})
	}
	wrappers := map[string]wrapper{}
	for _, file := range files {
		for _, declared := range file.Decls {
			function, _ := declared.(*ast.FuncDecl)
			calls(declared, func(call *ast.CallExpr) {
				argument, kind, ok := flagIn(call)
				if !ok {
					return
				}
				name, ok := literal(argument)
				identifier, isName := argument.(*ast.Ident)
				if !ok && isName {
					if at := parameter(function, identifier.Name); at >= 0 {
						wrappers[function.Name.Name] = wrapper{at, kind}
						return
					}
					name, ok = constants[identifier.Name]
				}
				if !ok {
					fmt.Fprintf(os.Stderr, "%s: the name of a flag is computed\n", set.Position(call.Pos()))
					return
				}
				found[name] = kind
			})
		}
	}
	for _, file := range files {
		calls(file, func(call *ast.CallExpr) {
			function, ok := call.Fun.(*ast.Ident)
			if !ok {
				return
			}
			if known, ok := wrappers[function.Name]; ok && known.at < len(call.Args) {
				if name, ok := literal(call.Args[known.at]); ok {
					found[name] = known.kind
				}
			}
		})
	}
	return nil
}

// wrapper is a function of the package that defines a flag whose name is one of its parameters.
type wrapper struct {
	at   int
	kind string
}

func calls(in ast.Node, visit func(*ast.CallExpr)) {
	ast.Inspect(in, func(node ast.Node) bool {
		if call, ok := node.(*ast.CallExpr); ok {
			visit(call)
		}
		return true
	})
}

// parameter is the position of a function's parameter; -1 when it has none of that name.
func parameter(function *ast.FuncDecl, name string) int {
	if function == nil || function.Type.Params == nil {
		return -1
	}
	at := 0
	for _, field := range function.Type.Params.List {
		for _, each := range field.Names {
			if each.Name == name {
				return at
			}
			at++
		}
	}
	return -1
}

// flagIn is the argument that names the flag, and its type, when a call defines one. The number of arguments tells it from calls of the same
// name, such as attributes of a log line.
func flagIn(call *ast.CallExpr) (name ast.Expr, kind string, ok bool) {
	method, ok := call.Fun.(*ast.SelectorExpr)
	if !ok {
		return nil, "", false
	}
	// kingpin: app.Flag("name", "help").Default("x").Bool()
	if inner, isCall := method.X.(*ast.CallExpr); isCall {
		if flag := kingpinFlag(inner); flag != nil {
			return flag.Args[0], kingpinKind(method.Sel.Name), true
		}
	}
	parts := definition.FindStringSubmatch(method.Sel.Name)
	if parts == nil || (parts[1] == "" && parts[2] == "") {
		return nil, "", false
	}
	at, wanted := 0, 3
	if parts[2] != "" {
		at, wanted = 1, 4
	}
	if parts[1] == "" {
		wanted--
	}
	if parts[3] != "" {
		wanted++
	}
	if len(call.Args) != wanted {
		return nil, "", false
	}
	kind = strings.ToLower(parts[1])
	if kind == "" {
		kind = "value"
	}
	return call.Args[at], kind, true
}

// kingpinFlag finds the Flag call at the begin of a chain.
func kingpinFlag(call *ast.CallExpr) *ast.CallExpr {
	method, ok := call.Fun.(*ast.SelectorExpr)
	if !ok {
		return nil
	}
	if method.Sel.Name == "Flag" && len(call.Args) == 2 {
		return call
	}
	if inner, ok := method.X.(*ast.CallExpr); ok {
		return kingpinFlag(inner)
	}
	return nil
}

func kingpinKind(method string) string {
	if strings.HasPrefix(method, "Bool") {
		return "bool"
	}
	return "value"
}

func literal(node ast.Expr) (string, bool) {
	basic, ok := node.(*ast.BasicLit)
	if !ok || basic.Kind != token.STRING {
		return "", false
	}
	text, err := strconv.Unquote(basic.Value)
	return text, err == nil
}
