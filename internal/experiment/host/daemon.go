//go:build unix

package host

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"meridian/internal/experiment/protocol"
	"meridian/internal/private"
)

// daemon is a daemon of this host: a process that speaks, or one waiting command after the other.
type daemon struct {
	of   *host
	spec *protocol.Daemon
	dir  string
	env  []string
	log  *log

	mu       sync.Mutex
	process  *process // that runs or waits
	calls    map[int]*openCall
	at       bool // it wants to know the instants of starts early
	stopping bool
	why      string // a broken rule of the protocol
}

// process is a process of a daemon.
type process struct {
	command *exec.Cmd
	stdin   *os.File      // of a daemon that speaks, or the descriptor by which a waiting command is let go
	begun   bool          // a command was let go
	call    int           // what it was let go for; 0 when that has ended
	read    chan struct{} // closed when all its output was read
	exited  chan struct{} // closed when it was waited for
}

// writeWithin bounds how long a daemon may leave its input unread.
const writeWithin = 5 * time.Second

// outputWithin is how long the output of a process that ended is waited for: its children may hold it open.
const outputWithin = 200 * time.Millisecond

func (h *host) start(spec *protocol.Daemon) error {
	d := &daemon{of: h, spec: spec, dir: filepath.Join(h.dir, "daemons", spec.Name), calls: make(map[int]*openCall)}
	h.mu.Lock()
	taken := h.daemons[spec.Name] != nil
	h.mu.Unlock()
	if !filepath.IsLocal(spec.Name) || filepath.Base(spec.Name) != spec.Name || spec.Name == "." || taken || len(spec.Args) == 0 {
		return fmt.Errorf("daemon %q: not a name, or there twice, or without a program", spec.Name)
	}
	if err := os.MkdirAll(d.dir, 0o777); err != nil {
		return err
	}
	if err := h.linkFiles(d.dir); err != nil {
		return err
	}
	d.env = d.environment()
	var err error
	if d.log, err = newLog(filepath.Join(h.dir, "log", spec.Name+".log")); err != nil {
		return err
	}
	h.mu.Lock()
	h.daemons[spec.Name] = d
	h.mu.Unlock()
	if err := d.launch(); err != nil {
		d.log.line("run", err.Error())
		return h.out.Write(protocol.Report{Exited: &protocol.Exited{Daemon: spec.Name, Code: 127, Why: err.Error()}})
	}
	return nil
}

// linkFiles makes the experiment's files appear in the directory of a daemon.
func (h *host) linkFiles(dir string) error {
	entries, err := os.ReadDir(filepath.Join(h.dir, "files"))
	if err != nil {
		return err
	}
	for _, e := range entries {
		if err := os.Symlink(filepath.Join("..", "..", "files", e.Name()), filepath.Join(dir, e.Name())); err != nil && !errors.Is(err, os.ErrExist) {
			return err
		}
	}
	return nil
}

func (d *daemon) environment() []string {
	h := d.of
	addresses, _ := json.Marshal(h.setup.Addresses) // texts only
	env := map[string]string{
		"MERIDIAN":            h.rings,
		"MERIDIAN_RUN_HOST":   h.setup.Host,
		"MERIDIAN_RUN_DAEMON": d.spec.Name,
		"MERIDIAN_RUN_PLACE":  h.setup.Place,
		"MERIDIAN_RUN_HOSTS":  string(addresses),
		"MERIDIAN_RUN_TRACE":  filepath.Join(h.dir, "trace"),
		"MERIDIAN_RUN_PIDS":   filepath.Join(h.dir, "pids"),
	}
	maps.Copy(env, d.spec.Env)
	var all []string
	for _, e := range private.Environ(os.Environ()) {
		if name, _, _ := strings.Cut(e, "="); env[name] == "" && !strings.HasPrefix(name, "MERIDIAN_RUN_") {
			all = append(all, e)
		}
	}
	for name, value := range env {
		all = append(all, name+"="+value)
	}
	return all
}

// waitingShell becomes the command: it says that it waits, reads a line and executes its arguments. Its descriptors for that are
// closed in the command.
const waitingShell = `echo >&4; exec 4>&-; read -r go <&3 || exit 0; exec "$@" 3<&-`

// launch starts the process of the daemon, unless it is to end.
func (d *daemon) launch() error {
	d.mu.Lock() // to the end: one that is told to end meanwhile has either no process or this one
	defer d.mu.Unlock()
	if d.stopping {
		return nil
	}
	args := d.spec.Args
	if d.spec.Self {
		self, err := os.Executable()
		if err != nil {
			return err
		}
		args = append([]string{self}, args...)
	}
	program, err := d.look(args[0])
	if err == nil {
		err = d.of.permitsDaemon(d.spec, program)
	}
	if err != nil {
		return err
	}
	p := &process{read: make(chan struct{}), exited: make(chan struct{})}
	c := &exec.Cmd{Path: program, Args: args, Dir: d.dir, Env: d.env, SysProcAttr: attributes()}
	var waits *os.File // a line comes when the shell waits
	var child []*os.File
	pipe := func() (r, w *os.File) {
		if err != nil {
			return nil, nil
		}
		r, w, err = os.Pipe()
		return r, w
	}
	in, go_ := pipe()
	outR, outW := pipe()
	errR, errW := pipe()
	child = append(child, in, outW, errW)
	if d.spec.Speaks {
		c.Stdin = in
		if own, wrapped := private.Command(append([]string{program}, args[1:]...)); wrapped {
			c.Path, c.Args = own[0], own
		}
	} else {
		var said *os.File
		waits, said = pipe()
		child = append(child, said)
		c.Path, c.Args = private.Shell, append([]string{"sh", "-c", private.Restore() + waitingShell, "sh", program}, args[1:]...)
		c.ExtraFiles = []*os.File{in, said}
	}
	if err != nil {
		return err
	}
	c.Stdout, c.Stderr = outW, errW
	p.command, p.stdin = c, go_
	err = c.Start()
	for _, f := range child {
		_ = f.Close()
	}
	if err != nil {
		return errors.Join(err, go_.Close(), outR.Close(), errR.Close())
	}
	_ = os.WriteFile(filepath.Join(d.of.dir, "pids", d.spec.Name), []byte(strconv.Itoa(c.Process.Pid)+"\n"), 0o666)
	d.process = p
	d.follow(p, outR, errR, waits)
	return nil
}

// look finds the program. A name with a slash is relative to the daemon's directory.
func (d *daemon) look(name string) (string, error) {
	if strings.Contains(name, "/") && !filepath.IsAbs(name) {
		name = filepath.Join(d.dir, name)
	}
	path, err := exec.LookPath(name)
	if err != nil {
		return "", fmt.Errorf("%w; a program of the experiment must be in files: to be here", err)
	}
	return path, nil
}

// attributes give a process a group of its own, which is ended as a whole.
func attributes() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }

// follow reads what a process writes, and tells its end.
func (d *daemon) follow(p *process, out, errs, waits *os.File) {
	var readers sync.WaitGroup
	readers.Go(func() {
		defer out.Close()
		most := maxLine
		if d.spec.Speaks {
			most = protocol.MaxLine + 1
		}
		d.log.copyLines("out", out, most, d.see(p))
	})
	readers.Go(func() {
		defer errs.Close()
		var see func(string) bool
		if d.spec.Ready != "" {
			see = d.see(p)
		}
		d.log.copyLines("err", errs, maxLine, see)
	})
	if waits != nil {
		go func() {
			defer waits.Close()
			if n, _ := waits.Read(make([]byte, 1)); n == 1 {
				_ = d.of.out.Write(protocol.Report{Waiting: &protocol.Waiting{Daemon: d.spec.Name, Args: p.command.Args[4:]}})
			}
		}()
	}
	go func() {
		readers.Wait()
		close(p.read)
	}()
	go func() {
		_ = p.command.Wait()
		select {
		case <-p.read:
		case <-time.After(outputWithin):
		}
		d.gone(p)
		close(p.exited)
	}()
}

// signal sends a signal to the group of a process.
func (p *process) signal(s syscall.Signal) { _ = syscall.Kill(-p.command.Process.Pid, s) }
