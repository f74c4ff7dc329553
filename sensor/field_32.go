//go:build 386 || arm || mips || mipsle

package sensor

import (
	"reflect"
	"unsafe"
)

// A string has as many bytes as an int64 here.

func isText[T Field](T) bool  { return reflect.TypeFor[T]().Kind() == reflect.String }
func isBytes[T Field](T) bool { return reflect.TypeFor[T]().Kind() == reflect.Slice }

// size returns how many bytes a value takes in the ring.
func size[T Field](v T) int {
	if isText(v) {
		return len(*(*string)(unsafe.Pointer(&v))) + 1
	}
	if isBytes(v) {
		return len(*(*[]byte)(unsafe.Pointer(&v))) + 4
	}
	return int(unsafe.Sizeof(v))
}

// isLong says that a value is text or bytes.
func isLong[T Field](v T) bool { return isText(v) || isBytes(v) }
