//go:build !race

package testneed

const race = false
