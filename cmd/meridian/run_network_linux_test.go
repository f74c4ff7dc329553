package main_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"meridian/internal/testneed"
)

// datagramsDaemon sends and counts datagrams, in batches with names. Its phases: open; send {to, batch, n}; await {batch, least}, which returns when so many
// of a batch have come; tally, which says how many came of each, and how many packets the kernel says that it dropped on this machine since open, for want of
// room. A datagram that the kernel refuses to send is left out.
const datagramsDaemon = `import json, os, select, socket, sys, time
hosts = json.loads(os.environ["MERIDIAN_RUN_HOSTS"])
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.setsockopt(socket.SOL_SOCKET, 33, 1 << 24)  # SO_RCVBUFFORCE
came = {}

def dropped():
    return sum(int(line.split()[1], 16) for line in open("/proc/net/softnet_stat"))

def receive():
    try:
        while True:
            batch = s.recv(100).decode()
            came[batch] = came.get(batch, 0) + 1
    except BlockingIOError:
        pass

before = dropped()
print(json.dumps({"waiting": ["open", "send", "await", "tally"]}), flush=True)
for line in sys.stdin:
    c = json.loads(line)
    result, w = {}, c.get("with") or {}
    if c["phase"] == "open":
        s.bind((hosts[os.environ["MERIDIAN_RUN_HOST"]], 4900))
        s.setblocking(False)
    if c["phase"] == "send":
        result = {"n": 0}
        for i in range(w["n"]):
            if i % 50 == 49:
                time.sleep(0.002)  # the slow link is faster than that, and no queue grows
            try:
                s.sendto(w["batch"].encode(), (hosts[w["to"]], 4900))
                result["n"] += 1
            except OSError:
                pass
    if c["phase"] == "await":
        receive()
        while came.get(w["batch"], 0) + dropped() - before < w["least"]:
            select.select([s], [], [], 1)
            receive()
    if c["phase"] == "tally":
        receive()
        result = {"came": came, "dropped": dropped() - before}
    print(json.dumps({"done": c["start"], "result": result}), flush=True)
`

// networkFile has a link that loses, one that is slow, and faults: what the links and faults do is seen in what arrives. b forwards
// between the others.
const networkFile = `files: [datagrams.py]
timeout: 6m
hosts: [a, b, c, d]
links:
  - {between: [a, b], loss: 25%}
  - {between: [b, c], rate: 16Mbit}
  - {between: [b, d], loss: 100%}
daemons:
  udp: {hosts: all, run: [python3, datagrams.py], speaks: true}
  fault: {host: c, use: fault, with: {to: b}}
  pipeline: {hosts: [b, c], use: pipeline, with: {order: [b, c]}, gather: [in.bin, out.bin]}
schedule:
  - udp.open
  - [{phase: udp.send, on: a, with: {to: b, batch: first, n: 100}}, {phase: udp.await, on: b, with: {batch: first, least: 1}}]
  - {phase: udp.send, on: a, with: {to: b, batch: lossy link, n: 4000}}
  - {phase: udp.await, on: b, with: {batch: lossy link, least: 2726}}
  - {phase: udp.send, on: d, with: {to: b, batch: dead link, n: 100}}
  - [{phase: udp.send, on: c, with: {to: b, batch: second, n: 1}}, {phase: udp.await, on: b, with: {batch: second, least: 1}}]
  - {phase: udp.send, on: c, with: {to: b, batch: whole link, n: 1000}}
  - {phase: udp.await, on: b, with: {batch: whole link, least: 1000}}
  - {phase: fault.lose, with: {part: 0.5}}
  - {phase: udp.send, on: c, with: {to: b, batch: lossy fault, n: 4000}}
  - {phase: udp.await, on: b, with: {batch: lossy fault, least: 1684}}
  - {phase: fault.lose, with: {part: 1}}
  - {phase: udp.send, on: c, with: {to: b, batch: all lost, n: 100}}
  - {phase: fault.lose, with: {part: 0}}
  - fault.down
  - {block: no link, phases: [{phase: udp.send, on: c, with: {to: a, batch: no link, n: 10}}]}
  - fault.up
  - pipeline.setup
  - {block: slow link, phases: [{phase: pipeline.transfer, with: {bytes: 1048576, message: 16384}}]}
  - pipeline.cleanup
  - {phase: udp.send, on: c, with: {to: b, batch: link again, n: 1000}}
  - {phase: udp.await, on: b, with: {batch: link again, least: 1000}}
  - {block: tally, phases: [{phase: udp.tally, on: b}]}
expect:
  - {equal: ["b:pipeline/in.bin", "c:pipeline/out.bin"]}
`

// TestLinksAndFaultsTakeEffect runs hosts in namespaces whose links have loss and a rate, and makes faults in them.
func TestLinksAndFaultsTakeEffect(t *testing.T) {
	t.Parallel()
	testneed.Root(t, "network namespaces")
	for _, program := range []string{"ip", "tc", "nft", "python3"} {
		testneed.Program(t, program)
	}
	dir := t.TempDir()
	for name, text := range map[string]string{"e.yaml": networkFile, "datagrams.py": datagramsDaemon} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	text, err := exec.Command("meridian", "run", filepath.Join(dir, "e.yaml"), "--on", "namespaces", "-o", filepath.Join(dir, "out"), "-q").CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	b, err := os.ReadFile(filepath.Join(dir, "out", "report.json"))
	if err != nil {
		t.Fatal(err)
	}
	var r struct {
		Run struct {
			Blocks []struct {
				Name    string
				BeganNs int64 `json:"began_ns"`
				EndedNs int64 `json:"ended_ns"`
				Phases  []struct {
					Result struct {
						N, Dropped int
						Came       map[string]int
					}
				}
			}
		}
	}
	if err := json.Unmarshal(b, &r); err != nil {
		t.Fatal(err)
	}
	// Ten standard deviations of a binomial distribution are 274 of 4000 at a quarter, 316 at a half.
	arrives := map[string][2]int{"lossy link": {2726, 3274}, "dead link": {0, 0}, "whole link": {1000, 1000}, "lossy fault": {1684, 2316}, "all lost": {0, 0}, "no link": {0, 0}, "link again": {1000, 1000}}
	seen := 0
	for _, block := range r.Run.Blocks {
		result := block.Phases[0].Result
		switch block.Name {
		case "tally":
			seen++
			for batch, want := range arrives { // what a busy machine's kernel drops, it counts
				if n := result.Came[batch]; n+result.Dropped < want[0] || n > want[1] {
					t.Errorf("%s: %d datagrams and %d dropped of all batches, want %d to %d", batch, n, result.Dropped, want[0], want[1])
				}
			}
		case "no link":
			if seen++; result.N != 0 {
				t.Errorf("%d datagrams were sent over a link that is down", result.N)
			}
		case "slow link":
			// A MiB takes 524 ms at the rate, less what goes at once; without the rate some ms. Slower is any busy machine.
			if took := block.EndedNs - block.BeganNs; took < 450e6 {
				t.Errorf("a MiB in %d ns", took)
			}
			seen++
		}
	}
	if seen != 3 {
		t.Errorf("%d of 3 blocks ran", seen)
	}
}

// TestADelayTakesEffectOrIsRefused delays packets where the kernel has netem; elsewhere the run fails and says what the kernel lacks.
func TestADelayTakesEffectOrIsRefused(t *testing.T) {
	t.Parallel()
	testneed.Root(t, "network namespaces")
	for _, program := range []string{"ip", "tc", "unshare"} {
		testneed.Program(t, program)
	}
	dir := t.TempDir()
	file := `hosts: [a, b]
daemons:
  fault: {host: a, use: fault, with: {to: b}}
  server: {host: b, use: rpc}
  calls: {host: a, use: rpc, with: {to: [b], count: 5}}
schedule: [server.serve, {phase: fault.delay, with: {for: 20ms}}, calls.call]
expect: [{result: calls.call.p50_ns, min: 20000000}]
`
	if err := os.WriteFile(filepath.Join(dir, "e.yaml"), []byte(file), 0o666); err != nil {
		t.Fatal(err)
	}
	netem := exec.Command("unshare", "-n", "tc", "qdisc", "add", "dev", "lo", "root", "netem", "delay", "1ms").Run() == nil
	text, err := exec.Command("meridian", "run", filepath.Join(dir, "e.yaml"), "--on", "namespaces", "-o", filepath.Join(dir, "out"), "-q").CombinedOutput()
	if refused := strings.Contains(string(text), "host a, daemon fault, phase delay") && strings.Contains(string(text), "CONFIG_NET_SCH_NETEM"); netem && err != nil || !netem && !refused {
		t.Errorf("the kernel has netem: %v; %v\n%s", netem, err, text)
	}
}
