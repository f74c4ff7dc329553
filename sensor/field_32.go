//go:build 386 || arm || mips || mipsle

package sensor

import "reflect"

// A string has as many bytes as an int64 here.

func isText[T Field](T) bool  { return reflect.TypeFor[T]().Kind() == reflect.String }
func isBytes[T Field](T) bool { return reflect.TypeFor[T]().Kind() == reflect.Slice }

// isLong says that a value is text or bytes.
func isLong[T Field](v T) bool { return isText(v) || isBytes(v) }
