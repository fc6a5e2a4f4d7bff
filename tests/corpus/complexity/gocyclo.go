// Prints a line of JSON for each function declaration below a folder: its path, name, line and complexity by the rules
// that gocyclo publishes: one, and one more for each if, for, case, && and ||.
package main

import (
	"encoding/json"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

func main() {
	folder := os.Args[1]
	out := json.NewEncoder(os.Stdout)
	filepath.WalkDir(folder, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || !strings.HasSuffix(path, ".go") {
			return nil
		}
		name, _ := filepath.Rel(folder, path)
		files := token.NewFileSet()
		file, err := parser.ParseFile(files, path, nil, 0)
		if err != nil {
			return out.Encode(map[string]any{"path": name, "error": err.Error()})
		}
		for _, declaration := range file.Decls {
			function, isFunction := declaration.(*ast.FuncDecl)
			if !isFunction || function.Body == nil {
				continue
			}
			out.Encode(map[string]any{"path": name, "name": function.Name.Name,
				"line": files.Position(function.Pos()).Line, "complexity": 1 + decisions(function)})
		}
		return nil
	})
}

func decisions(function *ast.FuncDecl) int {
	count := 0
	ast.Inspect(function, func(node ast.Node) bool {
		switch node := node.(type) {
		case *ast.IfStmt, *ast.ForStmt, *ast.RangeStmt:
			count++
		case *ast.CaseClause:
			if node.List != nil {
				count++
			}
		case *ast.CommClause:
			if node.Comm != nil {
				count++
			}
		case *ast.BinaryExpr:
			if node.Op == token.LAND || node.Op == token.LOR {
				count++
			}
		}
		return true
	})
	return count
}
