package main

import (
	"fmt"
	"go/types"
	"reflect"
	"strings"
)

// field is a field of an event: a number, text or bytes that is found by a path from the struct.
type field struct {
	name string // in the event
	path string // behind the struct's variable: ".Peer.Port"
	kind string // the type of Go that the event takes it as
	time bool   // a time.Time
}

// size returns the bytes that it takes in the ring, 0 for those whose size is not constant.
func (f *field) size() int {
	switch f.kind {
	case "int8", "uint8", "bool":
		return 1
	case "int16", "uint16":
		return 2
	case "int32", "uint32", "float32":
		return 4
	case "int64", "uint64", "float64":
		return 8
	}
	return 0
}

func (f *field) long() bool { return f.kind == "string" || f.kind == "[]byte" }

// maxFields is how many fields an event may have: beyond it an array was probably meant to be something else.
const maxFields = 4096

// flatten returns the fields of a type, as it is used at a path in package pkg.
func flatten(pkg *types.Package, t types.Type, name, path string, into []field) ([]field, error) {
	if len(into) >= maxFields {
		return nil, fmt.Errorf("%s: more than %d fields; leave some out by the tag `sensor:\"-\"`", strings.TrimPrefix(path, "v."), maxFields)
	}
	if named, ok := types.Unalias(t).(*types.Named); ok {
		if o := named.Obj(); o.Pkg() != nil && o.Pkg().Path() == "time" && o.Name() == "Time" {
			return append(into, field{name, path, "int64", true}), nil
		}
	}
	switch u := t.Underlying().(type) {
	case *types.Basic:
		if kind := u.Name(); u.Info()&(types.IsInteger|types.IsFloat|types.IsBoolean|types.IsString) != 0 && u.Kind() != types.UntypedNil {
			return append(into, field{name: name, path: path, kind: kind}), nil
		}
	case *types.Slice:
		if b, ok := u.Elem().(*types.Basic); ok && b.Kind() == types.Byte {
			return append(into, field{name: name, path: path, kind: "[]byte"}), nil
		}
	case *types.Array:
		for i := range min(u.Len(), maxFields+1) {
			var err error
			if into, err = flatten(pkg, u.Elem(), fmt.Sprintf("%s_%d", name, i), fmt.Sprintf("%s[%d]", path, i), into); err != nil {
				return nil, err
			}
		}
		return into, nil
	case *types.Struct:
		return flattenStruct(pkg, u, name, path, into)
	}
	return nil, fmt.Errorf("%s is a %s, which an event cannot hold; leave it out by the tag `sensor:\"-\"`", strings.TrimPrefix(path, "v."), t)
}

func flattenStruct(pkg *types.Package, s *types.Struct, name, path string, into []field) ([]field, error) {
	for i := range s.NumFields() {
		f := s.Field(i)
		own := f.Name()
		if tag, ok := reflect.StructTag(s.Tag(i)).Lookup("sensor"); ok {
			if tag == "-" {
				continue
			}
			own = tag
		}
		if f.Name() == "_" {
			continue
		}
		if !f.Exported() && f.Pkg() != pkg {
			return nil, fmt.Errorf("%s.%s is not exported by package %s; leave the field around it out by the tag `sensor:\"-\"`", strings.TrimPrefix(path, "v."), f.Name(), f.Pkg().Path())
		}
		if name != "" {
			own = name + "_" + own
		}
		var err error
		if into, err = flatten(pkg, f.Type(), own, path+"."+f.Name(), into); err != nil {
			return nil, err
		}
	}
	return into, nil
}
