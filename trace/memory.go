package trace

import "unsafe"

// Memory is where large arrays without pointers are kept that would fill Go's heap: package match puts there what grows with the
// number of packets. A nil Memory is Go's heap.
//
// Arrays belong to the memory, and are readable and writable until it is closed. An implementation that cannot keep an array where
// it should, as on a full disk, puts it on the heap all the same, and tells its owner of the error. All methods may be
// called from several goroutines.
type Memory interface {
	// Keep returns an array with the same content. It may be the one given, which the caller must not use any more otherwise.
	Keep(array []byte) []byte
	// Make returns an array of zeros of a length in bytes, aligned to 8 bytes.
	Make(length int) []byte
	// Free takes an array of Make that is not used any more.
	Free(array []byte)
	// Touched tells that about so many bytes of its arrays were read or written since. A memory that maps files into the process bounds by
	// it how much of them is there. It is to be called every few megabytes.
	Touched(bytes int)
}

// plain is what an array in a Memory may consist of: types without pointers.
type plain any

// TouchedIn tells a memory, which may be nil, that so many bytes of its arrays were read or written.
func TouchedIn(m Memory, bytes int) {
	if m != nil {
		m.Touched(bytes)
	}
}

// KeepIn returns a slice with the same content as another, in a memory. The capacity is the length. The other must not be used any
// more, unless it is the slice returned: moved says that it is not.
func KeepIn[T plain](m Memory, array []T) (kept []T, moved bool) {
	if m == nil || len(array) == 0 {
		return array, false
	}
	b := m.Keep(bytesOf(array))
	kept = unsafe.Slice((*T)(unsafe.Pointer(&b[0])), len(array))
	return kept, &kept[0] != &array[0]
}

// FreeIn gives back a slice of MakeIn that is not used any more.
func FreeIn[T plain](m Memory, array []T) {
	if m != nil && len(array) > 0 {
		m.Free(bytesOf(array))
	}
}

// bytesOf returns the memory of a slice that is not empty.
func bytesOf[T plain](array []T) []byte {
	first := &array[0]
	return unsafe.Slice((*byte)(unsafe.Pointer(first)), len(array)*int(unsafe.Sizeof(*first)))
}

// MakeIn returns a slice of n zero values, of a type without pointers, in a memory.
func MakeIn[T plain](m Memory, n int) []T {
	if m == nil || n == 0 {
		return make([]T, n)
	}
	return valuesIn[T](m.Make, n)
}

// valuesIn returns n values, at least one, in an array that a function makes.
func valuesIn[T plain](array func(length int) []byte, n int) []T {
	var zero T
	b := array(n * int(unsafe.Sizeof(zero)))
	return unsafe.Slice((*T)(unsafe.Pointer(&b[0])), n)
}

// placing is what a Memory may have beside its methods: arrays that are written where they are kept, without being touched.
type placing interface {
	// Room returns an array like that of Make. All of it is written by Place before it is read.
	Room(length int) []byte
	// Place writes a part of an array of Room, from a place on.
	Place(array []byte, at int, part []byte)
}

// RoomIn returns a slice of n values, of a type without pointers, in a memory. All of them are to be written by PlaceIn before they are read.
func RoomIn[T plain](m Memory, n int) []T {
	p, is := m.(placing)
	if !is || n == 0 {
		return MakeIn[T](m, n)
	}
	return valuesIn[T](p.Room, n)
}

// PlaceIn writes values into a slice of RoomIn, from a place on.
func PlaceIn[T plain](m Memory, array []T, at int, part []T) {
	p, is := m.(placing)
	if !is || len(part) == 0 {
		copy(array[at:], part)
		return
	}
	p.Place(bytesOf(array), at*int(unsafe.Sizeof(part[0])), bytesOf(part))
}
