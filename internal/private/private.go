// Package private keeps what Meridian writes from other users: captures and traces hold secrets of those who are recorded.
//
//	umask of the shell   022
//	Keep                 077   files 0600, directories 0700, whatever a package asks for
//	Share                022   --public: as the shell says
//	Command, Restore     022   in a program of the user: its files are the user's affair
//
// The umask is one number for the whole process (umask(2)), so that no place that makes a file can forget it. Processes that this one
// starts inherit it, and are told the shell's in MERIDIAN_UMASK. MERIDIAN_PUBLIC tells them that --public was given.
//
// Where the system has no umask (Windows), a file has the rights of its directory, and nothing here does anything.
package private

import (
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strconv"
	"strings"
)

const (
	// PublicVariable is 1 where others may read what is written, as the umask says.
	PublicVariable = "MERIDIAN_PUBLIC"
	// umaskVariable is the umask that the first of our processes was started with, in octal.
	umaskVariable = "MERIDIAN_UMASK"
	others        = 0o077 // all rights of all but the owner

	// Shell is the shell of [Command].
	Shell = "/bin/sh"
)

// Asked reports whether the environment asks for files that others may read.
func Asked() bool { return os.Getenv(PublicVariable) == "1" }

// Keep makes files and directories that are made from now on, by this process and by those of ours that it starts, accessible to its
// user alone. It is called before the first is made.
func Keep() {
	_ = os.Setenv(umaskVariable, strconv.FormatUint(uint64(Given()), 8)) // fails for bad names alone
	set(others | Given())
}

// Share gives files and directories the rights that the umask of the shell leaves.
func Share() {
	_ = os.Setenv(PublicVariable, "1")
	set(Given())
}

// File returns the mode of a file that is made under another name first, and so does not get it from the umask.
func File() fs.FileMode { return Mode(0o666) }

// FileOver returns the mode of a file that replaces what is at path: that of a file of this user, else as [File] has it. Another user may
// have put a file or a link there first, so that what is written can be read.
func FileOver(path string) fs.FileMode {
	info, err := os.Lstat(path)
	if err != nil || !info.Mode().IsRegular() || !own(info) {
		return File()
	}
	return info.Mode().Perm()
}

// Mode returns what the umask leaves of permissions.
func Mode(of fs.FileMode) fs.FileMode { return of.Perm() &^ umask() }

// Given returns the umask that the user's shell gave. It is inherited through processes of ours, unless one of them was given another.
func Given() fs.FileMode {
	told, err := strconv.ParseUint(os.Getenv(umaskVariable), 8, 9)
	if err == nil && atStart == fs.FileMode(told)|others {
		return fs.FileMode(told)
	}
	return atStart
}

// Environ returns an environment without what is said from one process of ours to the next about the umask.
func Environ(all []string) []string {
	return slices.DeleteFunc(slices.Clone(all), func(e string) bool { return strings.HasPrefix(e, umaskVariable+"=") })
}

// Restore returns the line of a shell script by which a program of the user gets the umask of the user's shell, "" where it has that
// already. os/exec cannot start a process with another umask than its own, and this process makes files meanwhile: so a shell sets the
// umask, and becomes the program.
func Restore() string {
	if umask() == Given() {
		return ""
	}
	return fmt.Sprintf("umask %03o\n", Given())
}

// Command returns the arguments that run a program of the user with the umask of the user's shell. Wrapped says whether a shell becomes
// that program: then the process executes twice.
func Command(args []string) (all []string, wrapped bool) {
	restore := Restore()
	if restore == "" {
		return args, false
	}
	return append([]string{Shell, "-c", restore + `exec "$@"`, "sh"}, args...), true
}
