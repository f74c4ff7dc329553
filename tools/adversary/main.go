// Command adversary tries to break the one promise of meridian: that low_ns..high_ns of every event holds the event, or the
// command says that it cannot.
//
//	adversary [-meridian FILE] [-seeds 10000] [-from 1] [-kind NAME] [-keep DIR] [-j N] [-v]
//	adversary -world FILE               run a world that was kept
//
// It makes worlds: machines with clocks of their own, delays, traffic, losses and recordings, all from a seed and with nothing of
// meridian's. It writes them as files, runs the command on them as a user would, and compares its outputs with the truth:
//
//	seed --> world --> files --> meridian align -o events.csv -o report.json --> rows --> verdict
//	  kind.make   save          run                                                judge
//
// The truth of an event is its place on the timeline: what the clock of the reference, which the report names, read at the event's true
// instant, in fractions of a ns. It must lie from low_ns to high_ns of the event's row. A stamp says less: it was cut to the clock's step.
//
// Kinds of worlds that keep the assumption are so by construction (budget.go). No event of theirs may lie outside, whatever the exit
// code. In the others, clocks are set, slewed and steered as people's clocks are. An event of theirs may lie outside only if the exit
// code is 3 or a warning names the fault.
//
// A world that fails is shrunk: messages, hosts, features are left out as long as it fails. The smallest one of each kind is printed with
// the command that repeats it. The exit code is 1 if a world failed.
package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"sync"
)

// settings are the command's flags.
type settings struct {
	meridian, kind, keep, world string
	seeds, jobs, tries, most    int
	from                        uint64
	verbose, hidden             bool
}

func main() {
	var s settings
	flag.StringVar(&s.meridian, "meridian", "", "executable to try (default: built from this checkout)")
	flag.IntVar(&s.seeds, "seeds", 10000, "number of worlds")
	flag.Uint64Var(&s.from, "from", 1, "first seed")
	flag.StringVar(&s.kind, "kind", "", "worlds of one kind only")
	flag.StringVar(&s.keep, "keep", "", "directory that gets the files of the smallest failing worlds")
	flag.StringVar(&s.world, "world", "", "run the world in this world.json")
	flag.IntVar(&s.jobs, "j", runtime.GOMAXPROCS(0), "worlds at once")
	flag.IntVar(&s.tries, "shrink", 300, "runs spent on making a failing world smaller")
	flag.IntVar(&s.most, "most", math.MaxInt, "leave out worlds of more than `N` messages")
	flag.BoolVar(&s.hidden, "hidden", false, "let hidden worlds fail as well")
	flag.BoolVar(&s.verbose, "v", false, "print the verdict of every world that fails or is hidden")
	flag.Parse()
	ok, err := run(&s)
	if err != nil {
		fmt.Fprintln(os.Stderr, "adversary:", err)
	}
	if err != nil || !ok {
		os.Exit(1)
	}
}

func run(s *settings) (bool, error) {
	temp, err := os.MkdirTemp("", "adversary")
	if err != nil {
		return false, err
	}
	defer os.RemoveAll(temp)
	if s.meridian == "" {
		s.meridian = filepath.Join(temp, "meridian")
		build := exec.Command("go", "build", "-trimpath", "-o", s.meridian, "meridian/cmd/meridian")
		build.Stderr = os.Stderr
		if err := build.Run(); err != nil {
			return false, fmt.Errorf("building meridian: %w", err)
		}
	}
	c, err := newCommand(s.meridian)
	if err != nil {
		return false, err
	}
	if s.world != "" {
		return replay(s, c, temp)
	}
	if s.kind != "" && kindNamed(s.kind) == nil {
		return false, fmt.Errorf("unknown kind %q", s.kind)
	}
	t := newTally()
	if err := tryAll(s, c, temp, t); err != nil {
		return false, err
	}
	t.print(os.Stdout)
	for _, f := range t.smallest() {
		if err := f.report(s, c, temp); err != nil {
			return false, err
		}
	}
	return len(t.failures) == 0, nil
}

// kindOf is a seed's kind.
func (s *settings) kindOf(seed uint64) *kind {
	if s.kind != "" {
		return kindNamed(s.kind)
	}
	return &kinds[seed%uint64(len(kinds))]
}

// tryAll tries all seeds.
func tryAll(s *settings, c *command, temp string, t *tally) error {
	var wait sync.WaitGroup
	seeds := make(chan uint64)
	var once sync.Once
	var failed error
	for worker := range s.jobs {
		wait.Go(func() {
			for seed := range seeds {
				k := s.kindOf(seed)
				w := build(k, seed)
				if len(w.Messages) > s.most {
					continue
				}
				v, err := c.tryIn(temp, worker, w)
				if v != nil && s.hidden {
					v.Hidden = false
				}
				if err != nil {
					once.Do(func() { failed = fmt.Errorf("%s: %w", s.repeat(k, seed), err) })
					continue
				}
				t.add(w, v)
				if s.verbose && (v.fails(w) || v.Hidden) {
					fmt.Printf("%s: %s\n", s.repeat(k, seed), v)
				}
			}
		})
	}
	for seed := s.from; seed < s.from+uint64(s.seeds) && failed == nil; seed++ {
		seeds <- seed
	}
	close(seeds)
	wait.Wait()
	return failed
}

// tryIn tries a world in a directory that is the worker's own.
func (c *command) tryIn(temp string, worker int, w *World) (*Verdict, error) {
	dir, err := scratch(temp, worker)
	if err != nil {
		return nil, err
	}
	return c.try(w, dir)
}

// repeat is the command that makes a seed's world again.
func (s *settings) repeat(k *kind, seed uint64) string {
	return fmt.Sprintf("go run ./tools/adversary -kind %s -from %d -seeds 1", k.name, seed)
}

// replay runs a world that was kept.
func replay(s *settings, c *command, temp string) (bool, error) {
	data, err := os.ReadFile(s.world)
	if err != nil {
		return false, err
	}
	w := &World{}
	if err := json.Unmarshal(data, w); err != nil {
		return false, fmt.Errorf("%s: %w", s.world, err)
	}
	v, err := c.tryIn(temp, 0, w)
	if err != nil {
		return false, err
	}
	fmt.Println(v)
	fmt.Print(v.Said)
	return !v.fails(w), nil
}
