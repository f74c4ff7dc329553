// Command cover measures the statement coverage of the packages that decide what users are told, and holds it against a bar.
//
//	cover [-least 90] [-short] [-profile DIR] [-only RE]
//
// Each row of the groups' table names packages and the tests that count for them: those of the packages themselves, and of packages beside
// them that exist to use them. A statement is covered if one of these tests executes it, in whatever package the test is. Packages that
// only tests import are left out. It prints a row for each package, and the exit code is 1 if one is below the bar or a test fails.
//
// A profile for go tool cover is left in DIR for each group, if that is given.
package main

import (
	"bufio"
	"cmp"
	"errors"
	"flag"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"meridian/tools/golist"
)

// group is packages that are measured together.
type group struct {
	name     string
	packages []string // what is measured, as patterns of go list
	tests    []string // the packages whose tests count
}

// groups are the packages of the bar.
var groups = []group{
	{"align", []string{"./align/..."}, []string{"./align/..."}},
	{"match", []string{"./match"}, []string{"./match"}},
	{"order", []string{"./order/..."}, []string{"./order/..."}},
	{"ring", []string{"./sensor/ring"}, []string{"./sensor/ring", "./sensor"}},
	{"ctf", []string{"./format/ctf"}, []string{"./format/ctf"}},
	{"collect", []string{"./internal/collect/..."}, []string{"./internal/collect/..."}},
	{"probe", []string{"./internal/probe/..."}, []string{"./internal/probe/...", "./internal/synchroniser"}},
}

// kits are packages that only tests import.
var kits = []string{"internal/collect/disktest"}

// options are the command's flags.
type options struct {
	least   float64 // percent
	short   bool
	profile string
	only    *regexp.Regexp
}

func main() {
	var o options
	flag.Float64Var(&o.least, "least", 90, "fail if a package has less than `PERCENT`")
	flag.BoolVar(&o.short, "short", false, "run the tests with -short")
	flag.StringVar(&o.profile, "profile", "", "leave a profile for go tool cover in `DIR` for each group")
	flag.Func("only", "measure only groups whose name matches `RE`", func(text string) (err error) {
		o.only, err = regexp.Compile(text)
		return err
	})
	flag.Parse()
	ok, err := run(o, groups, os.Stdout)
	if err != nil {
		fmt.Fprintln(os.Stderr, "cover:", err)
	}
	if err != nil || !ok {
		os.Exit(1)
	}
}

// run measures the groups, prints their table and says whether all are above the bar and no test failed.
func run(o options, groups []group, w io.Writer) (ok bool, err error) {
	dir := o.profile
	if dir == "" {
		if dir, err = os.MkdirTemp("", "cover"); err != nil {
			return false, err
		}
		defer os.RemoveAll(dir)
	}
	fmt.Fprintf(w, "| package | statements | covered | tests of |\n|---|---|---|---|\n")
	ok, measured := true, 0
	for _, g := range groups {
		if o.only != nil && !o.only.MatchString(g.name) {
			continue
		}
		rows, passed, err := g.measure(o, filepath.Join(dir, g.name+".cover"))
		if err != nil {
			return false, fmt.Errorf("%s: %w", g.name, err)
		}
		ok = ok && passed
		for _, r := range rows {
			verdict := ""
			if r.percent() < o.least {
				verdict, ok = fmt.Sprintf(", below %g %%", o.least), false
			}
			fmt.Fprintf(w, "| `%s` | %d | %.1f %%%s | `%s` |\n", r.name, r.statements, r.percent(), verdict, strings.Join(g.tests, "`, `"))
		}
		measured += len(rows)
	}
	if measured == 0 {
		return false, errors.New("nothing was measured")
	}
	return ok, nil
}

// row is the coverage of a package.
type row struct {
	name                string
	statements, covered int
}

// percent is rounded down to a tenth, so that what is printed as the bar has reached it.
func (r row) percent() float64 {
	if r.statements == 0 {
		return 100
	}
	return float64(1000*r.covered/r.statements) / 10
}

// measure runs the tests of a group and returns the coverage of its packages, and whether the tests passed.
func (g group) measure(o options, profile string) (rows []row, passed bool, err error) {
	listed, err := golist.Packages[struct{ ImportPath string }](g.packages)
	if err != nil {
		return nil, false, err
	}
	var names []string
	for _, p := range listed {
		if !slices.ContainsFunc(kits, func(kit string) bool { return strings.HasSuffix(p.ImportPath, "/"+kit) }) {
			names = append(names, p.ImportPath)
		}
	}
	args := []string{"test", "-count=1", "-vet=off", "-covermode=set", "-coverpkg=" + strings.Join(names, ","), "-coverprofile=" + profile}
	if o.short {
		args = append(args, "-short")
	}
	out, err := exec.Command("go", append(args, g.tests...)...).CombinedOutput()
	if passed = err == nil; !passed {
		fmt.Fprintf(os.Stderr, "%s", out)
	}
	f, err := os.Open(profile)
	if err != nil {
		return nil, false, err // the tests did not even build; go test has said why
	}
	defer f.Close()
	rows, err = read(f, names)
	return rows, passed, err
}

// block is a line of a profile without its count: file:line.column,line.column statements.
var block = regexp.MustCompile(`^(\S+):(\S+) (\d+) (\d+)$`)

// read adds a profile up. A block is there once for each test program that was built with it, and covered if one of them reached it.
func read(r io.Reader, names []string) ([]row, error) {
	type position struct{ file, span string }
	type found struct {
		statements int
		reached    bool
	}
	blocks := make(map[position]found)
	for lines := bufio.NewScanner(r); ; {
		if !lines.Scan() {
			if err := lines.Err(); err != nil {
				return nil, err
			}
			break
		}
		text := lines.Text()
		if strings.HasPrefix(text, "mode: ") {
			continue
		}
		m := block.FindStringSubmatch(text)
		if m == nil {
			return nil, fmt.Errorf("not a line of a profile: %q", text)
		}
		statements, _ := strconv.Atoi(m[3]) // digits alone
		p := position{m[1], m[2]}
		blocks[p] = found{statements, blocks[p].reached || m[4] != "0"}
	}
	rows := make(map[string]row)
	for _, name := range names {
		rows[name] = row{name: name}
	}
	for p, b := range blocks {
		name := path.Dir(p.file)
		x, ok := rows[name]
		if !ok {
			return nil, fmt.Errorf("%s is none of the packages", name)
		}
		x.statements += b.statements
		if b.reached {
			x.covered += b.statements
		}
		rows[name] = x
	}
	maps.DeleteFunc(rows, func(_ string, x row) bool { return x.statements == 0 })
	return slices.SortedFunc(maps.Values(rows), func(a, b row) int { return cmp.Compare(a.name, b.name) }), nil
}
