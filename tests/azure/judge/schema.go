package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"log"
	"os"
	"path/filepath"
	"regexp"
	"sort"
	"strconv"
	"strings"
)

// schema has what the fakes do not check and only the source of the SDK says: required fields, the first api-version of
// a field, the values of enumerations.
type schema struct {
	types map[string]map[string]field // Go type, JSON name
	enums map[string]map[string]bool
}

type field struct {
	goType     string // of the element: "VirtualMachineProperties"
	list, dict bool
	required   bool
	since      string // api-version
}

var (
	firstVersion = regexp.MustCompile(`[Mm]inimum (?:compute )?api-version[^0-9]*(\d{4}-\d\d-\d\d)`)
	receiver     = regexp.MustCompile(`^func \((\w+) (\w+)\) MarshalJSON`)
	populate     = regexp.MustCompile(`^\tpopulate\w*\((?:objectMap), "([^"]+)", \w+\.(\w+)\)`)
)

// readSchema reads the sources of a module from the folder of this program, where `build` has copied them.
func readSchema(module string) *schema {
	s := &schema{types: map[string]map[string]field{}, enums: map[string]map[string]bool{}}
	program, err := os.Executable()
	if err != nil {
		log.Fatal(err)
	}
	dir := filepath.Join(filepath.Dir(program), module)
	names := map[string]map[string]string{} // Go type, Go field -> JSON name
	text, err := os.ReadFile(filepath.Join(dir, "models_serde.go"))
	if err != nil {
		log.Fatal(err)
	}
	current := ""
	for _, line := range strings.Split(string(text), "\n") {
		if m := receiver.FindStringSubmatch(line); m != nil {
			current = m[2]
			names[current] = map[string]string{}
		} else if m := populate.FindStringSubmatch(line); m != nil && current != "" {
			names[current][m[2]] = m[1]
		}
	}
	set := token.NewFileSet()
	for _, file := range []string{"models.go", "constants.go"} {
		tree, err := parser.ParseFile(set, filepath.Join(dir, file), nil, parser.ParseComments)
		if err != nil {
			log.Fatal(err)
		}
		for _, d := range tree.Decls {
			g, ok := d.(*ast.GenDecl)
			if !ok {
				continue
			}
			for _, spec := range g.Specs {
				switch x := spec.(type) {
				case *ast.TypeSpec:
					if t, ok := x.Type.(*ast.StructType); ok {
						s.addType(x.Name.Name, t, names[x.Name.Name])
					}
				case *ast.ValueSpec:
					if t, ok := x.Type.(*ast.Ident); ok && len(x.Values) == 1 {
						if l, ok := x.Values[0].(*ast.BasicLit); ok && l.Kind == token.STRING {
							if s.enums[t.Name] == nil {
								s.enums[t.Name] = map[string]bool{}
							}
							value, _ := strconv.Unquote(l.Value)
							s.enums[t.Name][value] = true
						}
					}
				}
			}
		}
	}
	return s
}

func (s *schema) addType(name string, t *ast.StructType, names map[string]string) {
	fields := map[string]field{}
	for _, f := range t.Fields.List {
		if len(f.Names) != 1 || names[f.Names[0].Name] == "" {
			continue
		}
		doc := strings.Join(strings.Fields(f.Doc.Text()), " ")
		x := field{required: strings.HasPrefix(doc, "REQUIRED")}
		if m := firstVersion.FindStringSubmatch(doc); m != nil {
			x.since = m[1]
		}
		for e := f.Type; e != nil; {
			switch y := e.(type) {
			case *ast.StarExpr:
				e = y.X
			case *ast.ArrayType:
				e, x.list = y.Elt, true
			case *ast.MapType:
				e, x.dict = y.Value, true
			case *ast.Ident:
				x.goType, e = y.Name, nil
			default:
				e = nil
			}
		}
		fields[names[f.Names[0].Name]] = x
	}
	s.types[name] = fields
}

// check walks through the body of a request. If it is `whole` (not of a PATCH), required fields must be there.
func (s *schema) check(value any, goType, at, version string, whole bool, problem func(string, ...any)) {
	if enum := s.enums[goType]; enum != nil {
		if text, ok := value.(string); ok && !enum[text] {
			var all []string
			for v := range enum {
				if strings.EqualFold(v, text) {
					return
				}
				all = append(all, v)
			}
			sort.Strings(all)
			if len(all) <= 12 { // longer ones are open, like sizes of machines
				problem("%s: %q is not one of %s", at, text, strings.Join(all, ", "))
			}
		}
		return
	}
	object, ok := value.(map[string]any)
	if !ok || s.types[goType] == nil {
		return
	}
	var keys []string
	for k := range s.types[goType] {
		keys = append(keys, k)
	}
	sort.Strings(keys)
	for _, k := range keys {
		f, v := s.types[goType][k], object[k]
		if v == nil {
			if f.required && whole {
				problem("%s/%s: required, absent", at, k)
			}
			continue
		}
		if f.since != "" && version != "" && version < f.since {
			problem("%s/%s: needs api-version %s", at, k, f.since)
		}
		switch x := v.(type) {
		case []any:
			for i := range x {
				if f.list {
					s.check(x[i], f.goType, fmt.Sprintf("%s/%s/%d", at, k, i), version, whole, problem)
				}
			}
		case map[string]any:
			if f.dict {
				for name := range x {
					s.check(x[name], f.goType, fmt.Sprintf("%s/%s/%s", at, k, name), version, whole, problem)
				}
			} else {
				s.check(v, f.goType, at+"/"+k, version, whole, problem)
			}
		default:
			s.check(v, f.goType, at+"/"+k, version, whole, problem)
		}
	}
}
