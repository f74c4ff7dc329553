//go:build !amd64 && !arm64

// An empty file of assembly lets source.go declare nanotime without a body.
