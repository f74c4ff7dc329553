// Package keeper lets nothing outlive an experiment on a host. It is two processes of the same program:
//
//	controller, sshd or agent
//	  '- keeper                 the subreaper of all below it (prctl(2), PR_SET_CHILD_SUBREAPER); does nothing else
//	      '- host process       package host: starts daemons, obeys the controller
//	          '- daemons, their children, whatever these leave behind
//
// A process whose parent ends becomes a child of the keeper, sessions and process groups of its own notwithstanding. When the
// host process ends, however it ends, or when the keeper's own parent has gone, the keeper kills its descendants until it has no
// child, and removes the temporary directories. It needs no privileges and no cgroup. Whoever kills the keeper itself ends
// the host process by its death signal (PR_SET_PDEATHSIG), which then ends the daemons: only both killed at once leave something.
//
// Network namespaces of an experiment have no name: they go with their last process.
package keeper

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// Variables of the environment by which the keeper tells the host process its directories.
const (
	workVariable  = "MERIDIAN_RUN_WORK"  // temporary, for hosts without a directory of the run
	ringsVariable = "MERIDIAN_RUN_RINGS" // for the rings of sensors
)

// Times of a keeper.
const (
	parentEvery = 200 * time.Millisecond // how often it looks whether its parent is there
	politely    = 2 * time.Second        // of the host process when the parent has gone
	killEvery   = 5 * time.Millisecond
)

// Directories are the temporary directories of a host. The keeper removes them.
type Directories struct{ Work, Rings string }

// Kept returns the directories that the keeper made; an error if this process has no keeper.
func Kept() (Directories, error) {
	d := Directories{os.Getenv(workVariable), os.Getenv(ringsVariable)}
	if d.Work == "" || d.Rings == "" {
		return d, errors.New("started without a keeper")
	}
	return d, nil
}

// memory is where rings lie, if the system has it.
const memory = "/dev/shm"

// prefix begins the names of the directories of a keeper.
func prefix(pid int) string { return fmt.Sprintf("meridian-run-%d-", pid) }

// makeDirectories makes the temporary directories: rings in memory, where the system has a directory for that.
func makeDirectories(base string) (d Directories, err error) {
	if d.Work, err = os.MkdirTemp(base, prefix(os.Getpid())); err != nil {
		return d, err
	}
	base = d.Work
	if info, err := os.Stat(memory); err == nil && info.IsDir() {
		base = memory
	}
	if d.Rings, err = os.MkdirTemp(base, prefix(os.Getpid())); err != nil {
		err = errors.Join(err, os.RemoveAll(d.Work))
	}
	return d, err
}

// RemoveOf removes what a keeper of this machine left: one that was killed before it had started the host process. The keeper must
// have ended, and pid must still be its own: its parent has not waited for it, or has just done so.
func RemoveOf(pid int) error {
	var failed []error
	for _, base := range []string{os.TempDir(), memory} {
		entries, _ := os.ReadDir(base) // one that is not there has nothing
		for _, e := range entries {
			if strings.HasPrefix(e.Name(), prefix(pid)) {
				failed = append(failed, os.RemoveAll(filepath.Join(base, e.Name())))
			}
		}
	}
	return errors.Join(failed...)
}

// Remove removes the directories. The host process calls it too: its keeper may have been killed.
func (d Directories) Remove() error {
	err := os.RemoveAll(d.Rings)
	if errWork := os.RemoveAll(d.Work); errWork != nil {
		err = errors.Join(err, fmt.Errorf("%s: %w", filepath.Base(d.Work), errWork))
	}
	return err
}
