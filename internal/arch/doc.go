// Package arch holds the rules of the architecture that a machine can keep: which room may import which, what the modules
// may require, how long a function and how large a type may be, that every package has a package comment, and how a file
// looks. It is all tests.
package arch
