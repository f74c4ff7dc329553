// Package arch holds the rules of the architecture that a machine can keep: which room may import which, what the modules
// may require, how long a function and how large a type may be, that every package has a package comment, how a file
// looks, and that the links and commands of the documentation lead somewhere. It is all tests.
package arch
