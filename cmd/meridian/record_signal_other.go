//go:build !unix

package main

func inForeground() bool { return false }
