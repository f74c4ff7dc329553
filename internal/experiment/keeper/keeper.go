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

// makeDirectories makes the temporary directories: rings in memory, where the system has a directory for that.
func makeDirectories(base string) (d Directories, err error) {
	if d.Work, err = os.MkdirTemp(base, "meridian-run-"); err != nil {
		return d, err
	}
	base = d.Work
	if info, err := os.Stat("/dev/shm"); err == nil && info.IsDir() {
		base = "/dev/shm"
	}
	if d.Rings, err = os.MkdirTemp(base, "meridian-run-"); err != nil {
		err = errors.Join(err, os.RemoveAll(d.Work))
	}
	return d, err
}

// Remove removes the directories. The host process calls it too: its keeper may have been killed.
func (d Directories) Remove() error {
	err := os.RemoveAll(d.Rings)
	if errWork := os.RemoveAll(d.Work); errWork != nil {
		err = errors.Join(err, fmt.Errorf("%s: %w", filepath.Base(d.Work), errWork))
	}
	return err
}
