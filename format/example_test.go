package format_test

import (
	"fmt"
	"log"
	"os"
	"path/filepath"

	"meridian/format"
)

// Find out what a file is: by its content, so that its name may be any.
func ExampleDetect() {
	folder, err := os.MkdirTemp("", "traces")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(folder)
	for _, file := range []struct{ name, content string }{
		{"web.log", "web db 1700000000000100000 1700000000000300000\n"},
		{"spans", `{"resourceSpans":[]}`},
		{"db.json", `{"traceEvents":[]}`},
	} {
		path := filepath.Join(folder, file.name)
		if err := os.WriteFile(path, []byte(file.content), 0o600); err != nil {
			log.Fatal(err)
		}
		kind, err := format.Detect(path)
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(file.name, kind)
	}
	// Output:
	// web.log message list
	// spans OpenTelemetry spans
	// db.json Chrome trace
}
