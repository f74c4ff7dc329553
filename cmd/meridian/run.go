package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"meridian/internal/experiment/daemons"
	"meridian/internal/experiment/file"
	"meridian/internal/pipeline"
)

// runFlags is what the command line says.
type runFlags struct {
	quietFlag
	check, plan, fresh, schema bool
	on, dir                    string
	outputs                    []string
	json                       bool
	repeatFrom                 string
	bases                      []string // of the files of each run that is repeated; nil: beside FILE
	server, key                string
}

func newRun() *cobra.Command {
	var f runFlags
	cmd := &cobra.Command{
		Use:   "run FILE",
		Short: "Run a distributed experiment and bring back its timeline",
		Long: `Run what FILE describes: daemons on several hosts, whose phases start together, block by block. Afterwards everything is in one
directory: the hosts' traces and their timeline, logs with stamps, gathered files, and a report with the answer to each check. FILE is
YAML; - reads it from standard input, as a generator writes it. docs/experiments.md is the manual.

  --new     prints a file to begin with        --check   says whether FILE is right, with line and column
  --schema  prints a JSON schema for editors   --plan    says what would run where, in which order

Hosts are namespaces of this machine (as root; with links as the file has them), processes of this machine, which needs no
privileges, other machines by way of your ssh program, which copies this program where it is absent, or the agents of a server, which run what
their own lists permit ('meridian agent --standby --allow-run'). --on chooses, and the same FILE runs on all. Nothing starts before every daemon on every host waits. When
something fails the first cause is named, and everything is ended everywhere; so it is after ^C. ^C^C ends at once. What
daemons leave behind is ended too, even if this command is killed.

Each check of the file is answered yes, no, or undecided by the clocks' bounds.

Exit code: 0 done and all answers are yes, 1 the experiment failed or an answer is no, 2 wrong usage or a wrong FILE, 3 done, but an answer is
undecided, a promise of the timeline could not be kept, files did not come, or this system lacks what links ask for.`,
		Example: `  meridian run --new >experiment.yaml
  meridian run --check experiment.yaml
  meridian run experiment.yaml
  meridian run experiment.yaml --on processes -o results/
  meridian run experiment.yaml --on agents --server nats://collector:4222
  meridian run --repeat-from results/ -o again/
  generate | meridian run -`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error { return f.run(cmd, args) },
	}
	flags := cmd.Flags()
	flags.SortFlags = false
	flags.StringVar(&f.on, "on", "", "where the hosts are: `PLACE` is namespaces, processes, ssh or agents (default: as the file says, else the first that is permitted)")
	flags.StringVar(&f.server, "server", "", "with agents: `URL` of the broker (default: those of --key, else "+defaultBroker+")")
	flags.StringVar(&f.key, "key", "", "with agents: `FILE` with the key of operators, where 'meridian server init' has made one")
	flags.StringVarP(&f.dir, "output", "o", "", "make `DIR` for the results (default: the experiment's name and the time, here)")
	flags.StringArrayVar(&f.outputs, "also", nil, "write the timeline as `NAME` too, in the directory of each run: an ending as for 'meridian align', such as all.pftrace; may be repeated")
	flags.StringVar(&f.repeatFrom, "repeat-from", "", "repeat the runs whose results are in `DIR`, all of a matrix or one, with their files and their place, instead of FILE")
	flags.BoolVar(&f.check, "check", false, "say whether FILE is right, and run nothing")
	flags.BoolVar(&f.plan, "plan", false, "say what would run where, and run nothing")
	flags.BoolVar(&f.fresh, "new", false, "print a commented file to begin with")
	flags.BoolVar(&f.schema, "schema", false, "print the JSON schema of FILE")
	flags.BoolVar(&f.json, "json", false, "print the reports of all runs as JSON instead of the table")
	f.quietFlag.add(cmd)
	completions(cmd, map[string]cobra.CompletionFunc{"on": choices(file.PlaceNames...), "also": choices("timeline.pftrace", "timeline.plot")})
	cmd.MarkFlagsMutuallyExclusive("repeat-from", "new", "schema")
	return cmd
}

func (f *runFlags) run(cmd *cobra.Command, args []string) error {
	chosen := 0
	for _, one := range []bool{f.check, f.plan, f.fresh, f.schema} {
		if one {
			chosen++
		}
	}
	switch {
	case chosen > 1:
		return wrong("--check, --plan, --new and --schema exclude each other")
	case f.fresh || f.schema:
		if len(args) > 0 {
			return wrong("--new and --schema take no FILE")
		}
		return f.print(cmd)
	case f.repeatFrom != "":
		if len(args) > 0 {
			return wrong("--repeat-from takes no FILE")
		}
	case len(args) == 0:
		return wrong("no FILE given; --new prints one to begin with")
	case f.on != "" && !slices.Contains(file.PlaceNames, f.on):
		return wrong("--on %s: want %s", f.on, strings.Join(file.PlaceNames, ", "))
	}
	var e *file.Experiment
	var err error
	name := ""
	if f.repeatFrom != "" {
		e, err = f.repeated(cmd)
	} else {
		name = args[0]
		e, err = f.read(cmd, name)
	}
	if err != nil {
		return err
	}
	if on := cmp.Or(f.on, e.Runs[0].Place); on != "agents" && (f.server != "" || f.key != "") {
		return wrong("--server and --key are of --on agents")
	}
	for i := range e.Runs {
		others := slices.Clone(e.Runs[i].Outputs)
		for _, name := range f.outputs {
			if why := file.BadOutput(name, others, pipeline.CheckOutput); why != "" {
				return wrong("--also: %s", why)
			}
			others = append(others, name)
		}
	}
	switch {
	case f.check:
		if !f.quiet {
			fmt.Fprintf(cmd.OutOrStdout(), "%s is right: %s\n", e.Name, f.size(e))
		}
		return nil
	case f.plan:
		return e.Plan(cmd.OutOrStdout(), f.on)
	}
	return f.experiment(cmd, e, name)
}

func (f *runFlags) size(e *file.Experiment) string {
	r := &e.Runs[0]
	return fmt.Sprintf("%d runs of %d blocks, %d daemons on %d hosts", len(e.Runs), len(r.Schedule), len(r.Daemons), len(r.Hosts))
}

func (f *runFlags) print(cmd *cobra.Command) error {
	text := []byte(file.Start)
	if f.schema {
		var err error
		if text, err = file.Schema(daemons.Specs()); err != nil {
			return err
		}
		text = append(text, '\n')
	}
	_, err := cmd.OutOrStdout().Write(text)
	return err
}

// maxExperiment bounds what is read from standard input.
const maxExperiment = 8 << 20

// read reads the file of an experiment. Its mistakes are wrong usage.
func (f *runFlags) read(cmd *cobra.Command, name string) (*file.Experiment, error) {
	o := file.Options{Name: name, Standard: daemons.Specs(), Output: pipeline.CheckOutput}
	var text []byte
	var err error
	if name == "-" {
		o.Name, o.Base = "standard input", "experiment"
		text, err = io.ReadAll(io.LimitReader(cmd.InOrStdin(), maxExperiment))
	} else {
		o.Base = baseName(name)
		text, err = os.ReadFile(name)
	}
	switch {
	case err == nil:
	case name == "-" || f.repeatFrom != "": // not what the user named
		return nil, err
	case errors.Is(err, fs.ErrNotExist):
		return nil, wrong("%s: no such file; name an experiment file, or make one: meridian run --new >experiment.yaml", name)
	default:
		return nil, wrong("%v; name an experiment file that can be read", err)
	}
	e, err := file.Read(text, o)
	var problems file.Problems
	if errors.As(err, &problems) {
		return nil, wrong("%s", "the file is not right:\n"+problems.Error())
	}
	return e, err
}

// baseName makes a name of an experiment of the name of its file.
func baseName(path string) string {
	base := filepath.Base(path)
	base = strings.TrimSuffix(base, filepath.Ext(base))
	base = strings.Map(func(c rune) rune {
		if c < 128 && (c == '-' || c == '_' || c >= '0' && c <= '9' || c >= 'A' && c <= 'Z' || c >= 'a' && c <= 'z') {
			return c
		}
		return '-'
	}, base)
	if base == "" {
		return "experiment"
	}
	return base
}
