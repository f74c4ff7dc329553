// Command causebar measures how often the cause of a slow request is named. Client, server and database run in three network
// namespaces, in Python or in Go, under `meridian record`; some of the requests are made slow in a known way. `meridian requests`
// then says what of each took longest beyond like requests.
//
//	go build -o bin/meridian ./cmd/meridian && go run ./tools/causebar -meridian bin/meridian -language python,go -each 10
//
// Programs in Go write an execution trace, which is read beside the kernel's events; -goroutines=false leaves it out.
// It needs root, python3, and Linux with BTF. Kinds: sleep (of the database, 30 ms), lock (held by a thread that sleeps 25 ms),
// CPU (20 ms), run queue (three programs compete for the server's processor; Python alone), delayed ACK (write, write, read
// without TCP_NODELAY), disk (for 25 ms the database writes a file in -disk and syncs it, again and again). A lock counts as right also where it is named as the sleep of the thread
// that holds it, which it is. "timer of an event loop" is right for a sleep, which is that timer; of a lock it names the host and the wait, but not
// whose timer it was, and is undecided.
// A request whose threads waited longer for a processor than was planted, by the kernel's own count (schedstat), was made slow by that: then the
// run queue is right, and such requests are counted. The database's thread waits for a processor after each fsync: of a disk the run queue is right
// where that thread says that it waited longer for a processor than for the disk (in Go, if it was one thread all the time; else half of what was
// planted counts). Where a run queue was planted on the server, one of the database is right if that was longer. Named alone and other than this is wrong; several names with the right one among them, and names that say what is not
// known, are undecided.
package main

import (
	"bytes"
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"meridian/internal/netlab"
)

var (
	//go:embed server.py
	serverProgram []byte
	//go:embed db.py
	dbProgram []byte
	//go:embed client.py
	clientProgram []byte
	//go:embed common.py
	commonProgram []byte // which they import
)

// plant is a way in which a request is made slow.
type plant struct {
	number uint32 // what requests call it
	least  int64  // ns that a request takes that was made slow
	right  []string
}

var planted = map[string]plant{
	"sleep":       {1, 30e6, []string{"sleep on db", "another thread's sleep on db", anyTimer + " on db", "another thread's " + anyTimer + " on db"}},
	"lock":        {2, 20e6, []string{"lock on server", "another thread's sleep on server"}},
	"CPU":         {3, 20e6, []string{"CPU on server", "another thread's CPU on server"}},
	"run queue":   {4, 20e6, runQueues[:3]},
	"delayed ACK": {5, 35e6, []string{"delayed ACK on server"}},
	"disk":        {6, 25e6, []string{"disk on db", "another thread's disk on db"}},
}

// anyTimer is what a path calls a time-out of epoll: the timer of any task of the program. Of one that did not sleep itself it says
// that it is not known whose.
const anyTimer = "timer of an event loop"

// runQueues are right where threads waited longer for a processor than was planted.
var runQueues = []string{"run queue on server", "another thread's run queue on server", "queued behind run queue on server",
	"run queue on db", "another thread's run queue on db", "queued behind run queue on db"}

// kindsOf returns what is planted in a language: Go's goroutines cannot choose their processor.
func kindsOf(language string) []string {
	if language == "go" {
		return []string{"sleep", "lock", "CPU", "delayed ACK", "disk"}
	}
	return []string{"sleep", "lock", "CPU", "run queue", "delayed ACK", "disk"}
}

func main() {
	netlab.Helper()
	if played() {
		return
	}
	b := bar{}
	languages := flag.String("language", "python,go", "`LIST` of python and go")
	flag.StringVar(&b.meridian, "meridian", "bin/meridian", "the command to measure")
	flag.IntVar(&b.each, "each", 10, "requests of each kind, 50 at most; four times as many are not made slow")
	flag.Uint64Var(&b.seed, "seed", 1, "of the order of requests")
	flag.BoolVar(&b.goroutines, "goroutines", true, "read execution traces of the programs in Go beside the kernel's events")
	flag.StringVar(&b.kernel, "kernel", "net,sched,syscalls,sockets,disk", "`GROUPS` of kernel events to record")
	flag.BoolVar(&b.verbose, "v", false, "print what was named otherwise")
	flag.StringVar(&b.disk, "disk", os.TempDir(), "where the database syncs its file: `DIR` of a file system on a disk, not in memory")
	flag.StringVar(&b.keep, "keep", "", "keep the recordings in `DIR`")
	flag.BoolVar(&b.again, "again", false, "record nothing: read what -keep kept, with the same -seed and -each")
	flag.Parse()
	for language := range strings.SplitSeq(*languages, ",") {
		if err := b.measure(language); err != nil {
			fmt.Fprintln(os.Stderr, "causebar:", err)
			os.Exit(1)
		}
	}
}

// played plays a program in Go, if the process is to.
func played() bool {
	role := os.Getenv("CAUSEBAR_PLAYS")
	if role == "" {
		return false
	}
	own, other, _ := strings.Cut(os.Getenv("CAUSEBAR_ADDRESSES"), " ")
	if err := playTraced(role, own, other, os.Getenv("CAUSEBAR_TRACE")); err != nil {
		fmt.Fprintln(os.Stderr, "causebar:", role+":", err)
		os.Exit(1)
	}
	return true
}

// bar is a measurement.
type bar struct {
	meridian string
	each     int
	seed     uint64
	kernel   string // groups of events
	verbose  bool
	keep     string
	disk     string // a directory
	again    bool   // reads what was kept
	// goroutines says that execution traces of programs in Go are read too.
	goroutines bool
}

// measure builds the network, records, and prints the result.
func (b *bar) measure(language string) error {
	dir, err := os.MkdirTemp("", "causebar-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	if b.keep != "" {
		if dir, err = filepath.Abs(filepath.Join(b.keep, language)); err == nil {
			err = os.MkdirAll(dir, 0o755)
		}
		if err != nil {
			return err
		}
	}
	order := b.order(language)
	if !b.again {
		err = netlab.Outside(context.Background(), dir, threeHosts, func(l *netlab.Lab) error {
			return b.record(l, dir, language, order)
		})
	}
	var s score
	if err == nil {
		s, err = b.judged(dir, language, order)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", language, err)
	}
	fmt.Println(s.String())
	for _, line := range s.others {
		if b.verbose {
			fmt.Println("   ", line)
		}
	}
	return nil
}

func threeHosts(t testing.TB) *netlab.Lab {
	l := netlab.New(t)
	l.Hosts("client", "server", "db")
	l.Link("client", "server")
	l.Link("server", "db")
	return l
}

// score is how often the planted cause was named.
type score struct {
	language                string
	right, undecided, wrong int
	notSlow                 int
	queued                  int // that waited longer for a processor than was planted
	timers                  int // locks of which the path says no more than that a timer of any task was waited for
	offSum                  int // requests whose pieces do not sum to them
	others                  []string
}

func (s *score) String() string {
	all := s.right + s.undecided + s.wrong
	return fmt.Sprintf("%-6s  %3d planted: right %3d (%.0f %%), undecided %d (%d of them a timer of any task), wrong %d; %d waited longer for a processor; %d not slow; sums off %d",
		s.language, all, s.right, 100*float64(s.right)/float64(max(1, all)), s.undecided, s.timers, s.wrong, s.queued, s.notSlow, s.offSum)
}

// order returns which requests are made slow, and how.
func (b *bar) order(language string) []string {
	order := make([]string, 4*b.each)
	for _, k := range kindsOf(language) {
		order = append(order, slices.Repeat([]string{k}, b.each)...)
	}
	rand.New(rand.NewPCG(b.seed, 7)).Shuffle(len(order), func(i, k int) { order[i], order[k] = order[k], order[i] })
	return order
}

// judged counts what is said of the requests that were recorded.
func (b *bar) judged(dir, language string, order []string) (score, error) {
	requests, err := b.requests(dir)
	if err != nil {
		return score{}, err
	}
	if len(requests) != len(order) {
		return score{}, fmt.Errorf("%d requests are listed of %d", len(requests), len(order))
	}
	delays, err := readDelays(dir)
	if err != nil {
		return score{}, err
	}
	s := score{language: language}
	for i := range requests {
		r := &requests[i]
		if r.sum() != r.Path.Request.Total {
			s.offSum++
		}
		switch {
		case order[i] == "":
		case r.Path.Request.Total < planted[order[i]].least:
			s.notSlow++
		default:
			s.judge(order[i], r, delays[i])
		}
	}
	return s, nil
}

// waits is how long the threads of server and database waited for a processor while they had a request, ns. While the database synced, its
// thread waited so long for a processor, and so long for anything else; 0 where it is not known.
type waits struct {
	server, db   int64
	queued, disk int64
}

// readDelays returns what the programs say of their waits, by the number of the request.
func readDelays(dir string) (map[int]waits, error) {
	all := make(map[int]waits)
	for _, host := range []string{"server", "db"} {
		text, err := os.ReadFile(filepath.Join(dir, host+".delays"))
		if err != nil {
			return nil, err
		}
		for line := range strings.Lines(string(text)) {
			if line[0] < '0' || line[0] > '9' { // of the recorder's summary
				continue
			}
			var number int
			var ns, queued, disk int64
			n, _ := fmt.Sscan(line, &number, &ns, &queued, &disk)
			x := all[number]
			switch {
			case n >= 2 && host == "server":
				x.server = ns
			case n >= 2:
				x.db = ns
			}
			if n == 4 {
				x.queued, x.disk = queued, disk
			}
			all[number] = x
		}
	}
	return all, nil
}

// slow reports whether threads waited for a processor so long that it made a request slow that was made slow in some other way: longer than was
// planted; of a disk, longer than for the disk.
func (x *waits) slow(kind string) bool {
	most := max(x.server, x.db)
	switch {
	case kind == "run queue":
		return x.db > x.server
	case kind == "disk" && x.disk > 0 && x.queued > x.disk:
		return true
	case kind == "disk" && x.disk == 0:
		return most > planted[kind].least/2
	}
	return most > planted[kind].least
}

// judge counts what was named of one request, whose threads waited for a processor so long.
func (s *score) judge(kind string, r *request, waited waits) {
	names := strings.Split(r.LongestBeyond, " or ")
	right := planted[kind].right
	if waited.slow(kind) {
		s.queued++
		right = slices.Concat(right, runQueues)
	}
	is := func(name string) bool { return slices.Contains(right, name) }
	switch {
	case len(names) == 1 && is(names[0]):
		s.right++
		return
	case kind == "lock" && strings.Contains(r.LongestBeyond, anyTimer+" on server"), len(names) > 1 && slices.ContainsFunc(names, is), strings.Contains(r.LongestBeyond, "("), strings.HasPrefix(r.LongestBeyond, "timer or"), strings.HasPrefix(r.LongestBeyond, "not recorded"), r.LongestBeyond == "":
		s.undecided++
		if strings.Contains(r.LongestBeyond, anyTimer) {
			s.timers++
		}
	default:
		s.wrong++
	}
	s.others = append(s.others, fmt.Sprintf("request %d, %s: %q, by total %q, %.1f ms; threads waited for a processor %.1f and %.1f ms, syncing %.1f, for the disk %.1f", r.Path.Request.ID, kind, r.LongestBeyond, r.Longest, float64(r.Path.Request.Total)/1e6,
		float64(waited.server)/1e6, float64(waited.db)/1e6, float64(waited.queued)/1e6, float64(waited.disk)/1e6))
}

// record runs the three programs, each under a recorder of its own.
func (b *bar) record(l *netlab.Lab, dir, language string, order []string) error {
	for name, text := range map[string][]byte{"server.py": serverProgram, "db.py": dbProgram, "client.py": clientProgram, "common.py": commonProgram} {
		if err := os.WriteFile(filepath.Join(dir, name), text, 0o600); err != nil {
			return err
		}
	}
	server, db := l.Address("client", "server").String(), l.Address("server", "db").String()
	asked := ""
	for _, k := range order {
		asked += fmt.Sprint(planted[k].number)
	}
	synced, err := os.CreateTemp(b.disk, "causebar-synced-")
	if err != nil {
		return err
	}
	defer os.Remove(synced.Name())
	defer synced.Close()
	programs := map[string][]string{
		"server": {"python3", filepath.Join(dir, "server.py"), server, db},
		"db":     {"python3", filepath.Join(dir, "db.py"), db, synced.Name()},
		"client": {"python3", filepath.Join(dir, "client.py"), server, asked},
	}
	addresses := map[string]string{"server": server + " " + db, "db": db + " " + synced.Name()}
	if language == "go" {
		own, err := os.Executable()
		if err != nil {
			return err
		}
		programs["server"], programs["db"] = []string{own}, []string{own}
	}
	var started []*exec.Cmd
	var outputs []*bytes.Buffer
	for _, host := range []string{"db", "server", "client"} {
		args := append([]string{"record", "-o", filepath.Join(dir, host), "--netns", l.Namespace(host), "--host", host,
			"--kernel", b.kernel, "--quiet", "--"}, programs[host]...)
		c := l.Command(host, b.meridian, args...)
		if c.Env = os.Environ(); language == "go" && host != "client" {
			c.Env = append(c.Env, "CAUSEBAR_PLAYS="+host, "CAUSEBAR_ADDRESSES="+addresses[host], "CAUSEBAR_TRACE="+filepath.Join(dir, host+".trace"))
		}
		said := new(bytes.Buffer)
		c.Stderr = said
		out, err := os.Create(filepath.Join(dir, host+".delays"))
		if err != nil {
			return err
		}
		defer out.Close()
		c.Stdout = out
		if err := c.Start(); err != nil {
			return err
		}
		started, outputs = append(started, c), append(outputs, said)
	}
	var failed error
	for i, c := range started {
		var exit *exec.ExitError
		err := c.Wait()
		if errors.As(err, &exit) && exit.ExitCode() == 3 { // events were lost: paths say what they lack
			err = nil
		}
		if err != nil {
			failed = errors.Join(failed, fmt.Errorf("%v: %w: %s", c.Args, err, outputs[i].Bytes()))
		}
	}
	return failed
}

func exists(file string) bool {
	_, err := os.Stat(file)
	return err == nil
}

// request is a line of `meridian requests --json`.
type request struct {
	Client        string `json:"client"`
	Server        string `json:"server"`
	Longest       string `json:"longest"`
	LongestBeyond string `json:"longest_beyond"`
	Path          struct {
		Request struct {
			ID    int    `json:"id"`
			Total int64  `json:"total"`
			Peer  string `json:"peer"`
		} `json:"request"`
		Pieces []struct {
			Begin int64 `json:"begin"`
			End   int64 `json:"end"`
		} `json:"pieces"`
		Items []struct {
			Name     string `json:"name"`
			Host     int    `json:"host"`
			Estimate int64  `json:"estimate"`
		} `json:"items"`
	} `json:"path"`
}

// sum returns how long all pieces are together.
func (r *request) sum() (n int64) {
	for _, p := range r.Path.Pieces {
		n += p.End - p.Begin
	}
	return n
}

// spent returns how long the items of some names took, on any host.
func (r *request) spent(names []string) (n int64) {
	for _, i := range r.Path.Items {
		if slices.ContainsFunc(names, func(name string) bool { return strings.HasPrefix(name, i.Name+" on ") }) {
			n += i.Estimate
		}
	}
	return n
}

// requests lists the client's requests in their order.
func (b *bar) requests(dir string) (list []request, err error) {
	args := []string{"requests", "--sort", "begin", "--slowest", "1000", "--json", "--quiet"}
	for _, host := range []string{"client", "server", "db"} {
		args = append(args, host+"="+filepath.Join(dir, host))
		if file := filepath.Join(dir, host+".trace"); exists(file) && b.goroutines {
			args = append(args, host+"="+file)
		}
	}
	c := exec.Command(b.meridian, args...)
	said := new(bytes.Buffer)
	c.Stderr = said
	out, err := c.Output()
	var exit *exec.ExitError
	// Of a busy machine the kernel drops events, which is exit code 3. Lists that lack requests because of that are refused by their length.
	if err != nil && !(errors.As(err, &exit) && exit.ExitCode() == 3) {
		return nil, fmt.Errorf("requests: %w: %s", err, said)
	}
	for d := json.NewDecoder(bytes.NewReader(out)); d.More(); {
		var r request
		if err := d.Decode(&r); err != nil {
			return nil, err
		}
		if strings.HasSuffix(r.Path.Request.Peer, ":7000") {
			list = append(list, r)
		}
	}
	return list, nil
}
