package demo

import (
	"fmt"
	"os"
	"path/filepath"
)

// folder is where the demo's files go. They are made in a directory of their own and appear in dir all at once when
// the demo is done; a demo that fails leaves nothing behind.
type folder struct {
	dir, work string
	made      []string // directories made for this demo, the innermost first
	done      bool
}

// newFolder prepares dir, or a fresh temporary directory if that is empty.
func newFolder(dir string) (p *folder, err error) {
	p = &folder{}
	defer func() {
		if err != nil {
			p.close()
			err = fmt.Errorf("no place for the demo's files: %w", err)
		}
	}()
	if dir == "" {
		if p.dir, err = os.MkdirTemp("", "meridian-demo-"); err != nil {
			return p, err
		}
		p.made = []string{p.dir}
	} else {
		if p.dir, err = filepath.Abs(dir); err != nil {
			return p, err
		}
		p.made = missing(p.dir)
		if err = os.MkdirAll(p.dir, 0o777); err != nil {
			return p, err
		}
	}
	p.work, err = os.MkdirTemp(p.dir, ".work-")
	return p, err
}

// missing returns the directories that making dir will make, the innermost first.
func missing(dir string) []string {
	var list []string
	for {
		if _, err := os.Lstat(dir); err == nil || filepath.Dir(dir) == dir {
			return list
		}
		list = append(list, dir)
		dir = filepath.Dir(dir)
	}
}

// publish moves the files to where they were asked for.
func (p *folder) publish() error {
	entries, err := os.ReadDir(p.work)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if err := os.Rename(filepath.Join(p.work, e.Name()), filepath.Join(p.dir, e.Name())); err != nil {
			return err
		}
	}
	p.done = true
	return nil
}

// close removes what is not to stay.
func (p *folder) close() error {
	var err error
	if p.work != "" {
		err = os.RemoveAll(p.work)
	}
	if !p.done {
		for _, dir := range p.made {
			// Only if empty: files that were put there meanwhile stay.
			_ = os.Remove(dir)
		}
	}
	return err
}
