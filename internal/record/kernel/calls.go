package kernel

//go:generate bpf/build.sh
//go:generate go run calls_gen.go

// unknownCall is the name of system calls that have none here: newer than this program, or of 32-bit programs.
const unknownCall = "unknown"
