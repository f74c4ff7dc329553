//go:build !(386 || arm || mips || mipsle)

package sensor

import "unsafe"

// isLong says that a value is text or bytes.
func isLong[T Field](v T) bool { return unsafe.Sizeof(v) > 8 }

func isText[T Field](v T) bool  { return unsafe.Sizeof(v) == unsafe.Sizeof("") }
func isBytes[T Field](v T) bool { return unsafe.Sizeof(v) == unsafe.Sizeof([]byte(nil)) }
