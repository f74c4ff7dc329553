//go:build !(386 || arm || mips || mipsle)

package sensor

import "unsafe"

// isLong says that a value is text or bytes.
func isLong[T Field](v T) bool { return unsafe.Sizeof(v) > 8 }

// size returns how many bytes a value takes in the ring. It is not written with isText and isBytes: a call of a generic function,
// even one that is inlined and cut away, leaves a load of its dictionary and a nil check in the program (Go 1.26).
func size[T Field](v T) int {
	if unsafe.Sizeof(v) == unsafe.Sizeof("") {
		return len(*(*string)(unsafe.Pointer(&v))) + 1
	}
	if unsafe.Sizeof(v) == unsafe.Sizeof([]byte(nil)) {
		return len(*(*[]byte)(unsafe.Pointer(&v))) + 4
	}
	return int(unsafe.Sizeof(v))
}

func isText[T Field](v T) bool  { return unsafe.Sizeof(v) == unsafe.Sizeof("") }
func isBytes[T Field](v T) bool { return unsafe.Sizeof(v) == unsafe.Sizeof([]byte(nil)) }
