package arch

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestTheGoOfTheDocumentationCompiles takes the pieces of Go in docs/sensors.md for one program each.
func TestTheGoOfTheDocumentationCompiles(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("..", "..", "docs", "sensors.md"))
	if err != nil {
		t.Fatal(err)
	}
	pieces := 0
	for i, piece := range strings.Split(string(text), "```go\n") {
		code, _, _ := strings.Cut(piece, "```")
		if i == 0 || strings.HasPrefix(code, "//go:generate") {
			continue
		}
		pieces++
		if strings.Contains(code, "func main()") {
			code = strings.ReplaceAll(code, "\t...\n", "")
			code = "package main\nimport \"log\"\n" + code
		} else {
			code = "func main() {\n" + code + "\n}\n"
			for _, known := range []struct{ use, path, declared string }{
				{"sensor.", "meridian/sensor", ""},
				{"sensorhttp.", "meridian/sensor/sensorhttp", "var mux http.Handler\n"},
				{"sensorgrpc.", "meridian/sensor/sensorgrpc", "var addr string\n"},
				{"http.", "net/http", ""},
				{"grpc.", "google.golang.org/grpc", ""},
			} {
				if strings.Contains(code, known.use) {
					code = "import \"" + known.path + "\"\n" + code + known.declared
				}
			}
			code = "package main\n" + strings.ReplaceAll(code, "client :=", "_ =")
		}
		file := filepath.Join(t.TempDir(), "main.go")
		if err := os.WriteFile(file, []byte(code), 0o600); err != nil {
			t.Fatal(err)
		}
		if out, err := exec.Command("go", "vet", file).CombinedOutput(); err != nil {
			t.Errorf("%v\n%s%s", err, out, code)
		}
	}
	if pieces != 3 {
		t.Errorf("%d pieces of Go in docs/sensors.md, not 3", pieces)
	}
}
