package main_test

import (
	"fmt"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"meridian/internal/lttng"
	"meridian/internal/testneed"
)

// readme are the parts of README.md that begin with these words, and what each presupposes: the page says that the reader has it.
var readme = []struct{ title, has string }{
	{"You have captures", "cp $STAGE/net/web.pcap web.pcap; gzip -c $STAGE/net/host1.pcapng >db.pcapng.gz"},
	{"You use LTTng", "cp -r $STAGE/lttng-web $STAGE/lttng-db ."},
	{"You write Go", ""},
	{"You write C or C++", "PATH=$PATH:/usr/bin"}, // a compiler
	{"You want a whole host", server},
	{"You want to see it while it happens", server + "\ncp -r $STAGE/lttng-db db"},
	{"You want many hosts in one place", hostsFile},
	{"You run experiments on several hosts", ""},
	{"You want to know how the clocks stand, now", hostsFile},
	{"You have spans of OpenTelemetry or Jaeger", "cp $STAGE/spans.json ."},
}

const (
	server = `printf '#!/bin/sh\nsleep 0.2\n' >server; chmod +x server`
	// A name leads to an address other than the loopback's alone, as on any host.
	hostsFile = `/usr/sbin/ip address add 10.0.0.1/8 dev lo; cp /etc/hosts $HOME/hosts; echo 127.0.0.1 collector web db >>$HOME/hosts; /usr/bin/mount --bind $HOME/hosts /etc/hosts`
)

// untilInterrupted stands in for somebody who reads: what goes on until it is interrupted is interrupted once it has said the given words, and must end with 0. Servers
// stay for the commands below them, to the end of the script. Exit code 3 may come, as the page says: of a machine that is too busy for its kernel's events, of hosts that have not spoken yet, of an event that no
// program has.
const untilInterrupted = `
trap '[ -z "$servers" ] || kill -INT $servers' EXIT
servers=
meridian() {
	said=said.$((n = n + 1))
	case "$*" in
	"server --dir"*) serve 'storing in' "$@" ;;
	"clock serve"*) serve answering "$@" ;;
	view*) interrupt http:// "$@" ;;
	tail*) interrupt following "$@" ;;
	agent*) interrupt 'until it is interrupted' "$@" ;;
	"clock watch"*) interrupt db "$@" ;;
	"record "*" --view"*) interrupt 'interrupt to end the page' "$@" ;;
	"record "*" --trigger"*) interrupt 'until it is interrupted' "$@" ;;
	"record "*" --kernel"*) command meridian "$@" || [ $? = 3 ] ;;
	*) command meridian "$@" ;;
	esac
}
serve() { start "$@"; servers="$servers $going"; }
interrupt() { start "$@"; kill -INT $going; code=0; wait $going || code=$?; cat $said; case $code,$2 in 0,* | 3,agent | 3,tail | 3,record) ;; *) return 1 ;; esac; }
start() {
	words=$1; shift
	command meridian "$@" >$said 2>&1 & going=$! looks=0
	until grep -q "$words" $said; do
		kill -0 $going && [ $((looks += 1)) -lt 2000 ] || { cat $said; return 1; }
		sleep 0.05
	done
}
`

// onlyGo makes a directory of the programs that somebody has who has installed Go and nothing else. cp, mkdir and the like come from Debian's essential packages.
func onlyGo(t *testing.T) string {
	dir := t.TempDir()
	for _, name := range []string{"sh", "cat", "cp", "chmod", "env", "grep", "gzip", "mkdir", "sleep"} {
		if err := os.Symlink(testneed.Program(t, name), filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	return dir + ":" + filepath.Join(goEnv(t, "GOROOT"), "bin")
}

// stage makes what the page's readers have: captures, traces of LTTng, spans.
func stage(t *testing.T) string {
	dir := t.TempDir()
	run := func(args ...string) {
		t.Helper()
		c := exec.Command(args[0], args[1:]...)
		c.Dir = dir
		if out, err := c.CombinedOutput(); err != nil {
			t.Fatalf("%v: %v\n%s", args, err, out)
		}
	}
	run("meridian", "simulate", "-q", "-o", "net", "--hosts", "2", "--duration", "5s", "--format", "pcap")
	for i, host := range []string{"web", "db"} {
		run("editcap", "-F", "nsecpcap", fmt.Sprintf("net/host%d.pcapng", i), "net/"+host+".pcap")
		packets, err := lttng.FromCapture(filepath.Join(dir, "net", host+".pcap"), netip.AddrFrom4([4]byte{10, 0, 0, byte(i + 1)}))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := lttng.Write(filepath.Join(dir, "lttng-"+host), packets, lttng.Options{Host: host}); err != nil {
			t.Fatal(err)
		}
	}
	page, err := os.ReadFile("../../docs/quickstart.md")
	if err != nil {
		t.Fatal(err)
	}
	_, spans, found := strings.Cut(string(page), "cat >spans.json <<'EOF'\n")
	spans, _, ended := strings.Cut(spans, "EOF\n")
	if !found || !ended {
		t.Fatal("docs/quickstart.md has no spans")
	}
	if err := os.WriteFile(filepath.Join(dir, "spans.json"), []byte(spans), 0o600); err != nil {
		t.Fatal(err)
	}
	return dir
}

// cloned copies the files that git tracks, as they are now.
func cloned(t *testing.T, to string) {
	testneed.Program(t, "git")
	out, err := exec.Command("git", "-c", "safe.directory=*", "-C", "../..", "ls-files", "-z").Output()
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range strings.Split(strings.TrimSuffix(string(out), "\x00"), "\x00") {
		b, err := os.ReadFile(filepath.Join("../..", name))
		if os.IsNotExist(err) {
			continue // removed since the last commit
		}
		if err == nil {
			err = os.MkdirAll(filepath.Dir(filepath.Join(to, name)), 0o755)
		}
		if err == nil {
			err = os.WriteFile(filepath.Join(to, name), b, 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

// TestReadmeEndsAsWritten runs README.md to the letter, in the order of the page: the demo and the installation in a clean clone, on a machine that has Go and nothing
// else; then each kind of use with the command that was installed so, in a directory of its own.
func TestReadmeEndsAsWritten(t *testing.T) {
	t.Parallel()
	testneed.Root(t, "a network of its own for each part")
	for _, name := range []string{"unshare", "ip", "cc", "editcap"} {
		testneed.Program(t, name)
	}
	page, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	head, rest, _ := strings.Cut(string(page), "\n## First use\n")
	uses, rest, found := strings.Cut(rest, "\n## How to read the result\n")
	if !found {
		t.Fatal("the page has no First use or no How to read the result")
	}
	clone, home, path := t.TempDir(), t.TempDir(), onlyGo(t)
	cloned(t, clone)
	env := homeOf(t, home, "TMPDIR="+t.TempDir(), "GOPATH=", "GOBIN=", "GOFLAGS=-trimpath", "GOWORK=", "SRC="+clone, "STAGE="+stage(t))
	s := newSection("Install", head, "PATH="+path)
	begin := time.Now()
	faults, printed := s.follow(samePIDs, clone, t.TempDir(), env)
	t.Logf("demo and installation took %v", time.Since(begin).Round(100*time.Millisecond))
	for _, f := range append(faults, unlikeResult(rest, printed)...) {
		t.Error(f)
	}
	if t.Failed() {
		return
	}
	parts := strings.Split(uses, "\n**")[1:]
	for i, part := range parts {
		title, text, _ := strings.Cut(part, ".**")
		if i >= len(readme) || readme[i].title != title {
			t.Errorf("nobody knows what %q presupposes", title)
			continue
		}
		t.Run(title, func(t *testing.T) {
			t.Parallel()
			here := t.TempDir()
			s := newSection(title, text, "PATH="+path+":"+filepath.Join(home, "go", "bin")+untilInterrupted+readme[i].has)
			installed := append(env, "HOME="+here, "GOFLAGS=-mod=mod -trimpath", "GOWORK=off")
			faults, _ := s.follow(samePIDs, t.TempDir(), here, installed)
			for _, f := range faults {
				t.Error(f)
			}
		})
	}
	if len(parts) != len(readme) {
		t.Errorf("the page has %d kinds of use, not %d", len(parts), len(readme))
	}
}

// number is a number of a result with its unit: what differs from run to run.
var number = regexp.MustCompile(`[+-]?\d[\d.]*(?: \d{3})*(?: (?:ns|µs|ms|s)\b)?`)

// bends is what the line "bounds hold if" says more where a pair has the fit fallback, as the demo's may on a busy machine: delays then look like clocks that bend.
var bends = regexp.MustCompile(`; but [^;]+ what the messages show there`)

// unlikeResult returns the lines of the result that the page explains and that the demo did not print. Numbers may be others, and so may blanks and fits.
func unlikeResult(text, printed string) (faults []string) {
	shape := func(line string) string {
		line = strings.Replace(bends.ReplaceAllString(line, ""), "fallback", "exact", 1)
		return strings.Join(strings.Fields(number.ReplaceAllString(line, "N")), " ")
	}
	has := map[string]bool{}
	for line := range strings.Lines(printed) {
		has[shape(line)] = true
	}
	blocks := fenced.FindAllStringSubmatch(text, -1)
	if len(blocks) != 1 || blocks[0][1] != "text" {
		return []string{fmt.Sprintf("How to read the result has %d blocks, want one result", len(blocks))}
	}
	for line := range strings.Lines(blocks[0][3]) {
		if !has[shape(line)] {
			faults = append(faults, fmt.Sprintf("the demo does not print %q (any more), but\n%s", strings.TrimSpace(line), printed))
		}
	}
	return faults
}

// Whoever follows a page finds its lies.
func TestPagesThatLieAreFound(t *testing.T) {
	t.Parallel()
	testneed.Root(t, "a network of its own for each page")
	testneed.Program(t, "unshare")
	testneed.Program(t, "ip")
	const true_ = "```sh\necho sold 3 teas\n```\n\n```text\nsold ... teas\n```\n"
	for name, lie := range map[string]struct{ page, want string }{
		"nothing":         {true_, ""},
		"another output":  {strings.Replace(true_, "sold ...", "bought ...", 1), "does not print"},
		"another command": {strings.Replace(true_, "echo", "mecho", 1), "not found"},
		"a flag":          {"```sh\nmeridian version --nowhere\n```\n", "unknown flag"},
		"an order":        {"```sh\necho a; echo b\n```\n```text\nb\na\n```\n", `does not print "a"`},
		"a failure":       {"```sh\nfalse\n```\n" + true_, "exit status 1"},
		"unfenced code":   {"Do this:\n\n    mecho\n", "without a fence"},
		"a language":      {"```bash\nmecho\n```\n", `block of "bash"`},
		"early output":    {"```text\nsold\n```\n" + true_, "output before any command"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			home := t.TempDir()
			faults, _ := newSection(name, lie.page, "").follow(isolate, t.TempDir(), home, homeOf(t, home))
			if said := strings.Join(faults, "\n"); (said == "") != (lie.want == "") || !strings.Contains(said, lie.want) {
				t.Errorf("found %q, want %q", said, lie.want)
			}
		})
	}
	if faults := unlikeResult("```text\nweb  +1.5 s  12 messages\n```\n", "web -3.25 ms 1 558 messages\n"); len(faults) > 0 {
		t.Errorf("other numbers: %q", faults)
	}
	const bent = "a fallback\nskew is 500 ppm; but 3.68e+03 ppb/s in 1 stretch of 5.03s of web and app, 8 times what the messages show there; and no clock ran off\n"
	if faults := unlikeResult("```text\na exact\nskew is 500 ppm; and no clock ran off\n```\n", bent); len(faults) > 0 {
		t.Errorf("another fit: %q", faults)
	}
	if faults := unlikeResult("```text\nweb  +1.5 s  12 messages\n```\n", "db -3.25 ms 1 558 messages\n"); len(faults) != 1 {
		t.Error("another host of the result is not found")
	}
}
