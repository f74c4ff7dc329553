// Package golist asks go list about packages.
package golist

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os/exec"
	"reflect"
	"strings"
)

// Packages returns the packages that match the patterns. P is a struct: its exported fields are those that go list prints.
func Packages[P any](patterns []string) ([]P, error) {
	var fields []string
	for _, f := range reflect.VisibleFields(reflect.TypeFor[P]()) {
		if f.IsExported() {
			fields = append(fields, f.Name)
		}
	}
	out, err := exec.Command("go", append([]string{"list", "-json=" + strings.Join(fields, ","), "--"}, patterns...)...).Output()
	if err != nil {
		var failed *exec.ExitError
		if errors.As(err, &failed) {
			err = fmt.Errorf("go list: %w\n%s", err, failed.Stderr)
		}
		return nil, err
	}
	var all []P
	for d := json.NewDecoder(bytes.NewReader(out)); d.More(); {
		var p P
		if err := d.Decode(&p); err != nil {
			return nil, fmt.Errorf("go list: %w", err)
		}
		all = append(all, p)
	}
	return all, nil
}
