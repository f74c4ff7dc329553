package indextest

import (
	"cmp"
	"slices"
	"testing"

	"meridian/clock"
	"meridian/internal/show/index"
	"meridian/trace"
)

// What made some of the requests of [Kernels] slow. The others take some 1.6 ms.
const (
	KernelRequests = 20
	LockAlone      = 5  // for 18 ms the worker waits for a lock whose holder computes
	SentAgain      = 8  // the worker's reply is lost and sent again 30 ms later
	Queued         = 12 // on db the processor runs another thread for 12 ms, on server for 2 ms
	LockAcross     = 15 // for 27 ms the worker waits for a lock whose holder waits for db, which sleeps 25 ms
)

// Threads of [Kernels], by their rows.
const (
	curl = iota
	worker
	writer
	backup
	database
	replica
	vacuum
)

var kernelThreads = []struct {
	host int
	tid  int64
	name string
}{{0, 100, "curl"}, {1, 200, "worker"}, {1, 201, "writer"}, {1, 222, "backup"}, {2, 300, "database"}, {2, 301, "replica"}, {2, 333, "vacuum"}}

// Classes of [Kernels]: of each call, its begin and behind it its end.
const (
	sentClass = iota
	receivedClass
	switchClass
	wakingClass
	sendCall
	receiveCall = sendCall + 2
	futexCall   = sendCall + 4
	sleepCall   = sendCall + 6
)

const (
	us = 1000
	ms = 1000 * us

	byThread, bySoftIRQ, byHardIRQ = 1, 2, 3 // contexts of wake-ups
)

// kernels is what the kernels of client, server and db recorded.
type kernels struct {
	records []trace.TimelineEvent
	next    [3][2]uint64 // of each connection, the sequence numbers of both ways
	idles   [2]int64     // since when worker and database wait for the next
	slices  uint64
	id      uint64
}

// Kernels builds an index of packets, switches, wake-ups and system calls, as kernels record them: curl asks the worker, which asks the
// database. Every instant of server and db is known to 50 µs.
func Kernels(t testing.TB) *index.Index {
	t.Helper()
	l := kernelSchema()
	k := &kernels{next: [3][2]uint64{{1, 1}, {1, 1}, {1, 1}}}
	k.begin()
	for i := range int64(KernelRequests) {
		k.request(i, 20*ms+i*60*ms)
	}
	slices.SortStableFunc(k.records, func(a, b trace.TimelineEvent) int { return cmp.Compare(a.Time, b.Time) })
	return Build(t, l, "", nil, func(b *index.Builder) error {
		for i := range k.records {
			if err := b.Write(&k.records[i]); err != nil {
				return err
			}
		}
		return nil
	})
}

func kernelSchema() *trace.Schema {
	l := &trace.Schema{Title: "kernels", Method: "made up", Assumption: "none"}
	class := func(name, category string, fields ...string) {
		c := trace.Class{Name: name, Category: category}
		for _, f := range fields {
			c.Fields = append(c.Fields, trace.Field{Name: f, Type: trace.Type{Kind: trace.Uint, Bits: 64}})
		}
		l.Classes = append(l.Classes, c)
	}
	for _, name := range []string{"net_dev_queue", "netif_receive_skb"} {
		class(name, "net", "cpu_id", "saddr", "daddr", "protocol", "tot_len", "id", "source", "dest", "seq", "ack_seq", "doff", "flags")
	}
	class("sched_switch", "sched", "cpu_id", "prev_tid", "next_tid", "prev_state")
	class("sched_waking", "sched", "cpu_id", "tid", "waker_tid", "waker_context")
	for _, name := range []string{"sendto", "recvfrom", "futex", "clock_nanosleep"} {
		class(name, "syscall", "arg0")
		class(name, "syscall", "ret")
	}
	for h, host := range []string{"client", "server", "db"} {
		l.Hosts = append(l.Hosts, host)
		l.Maps = append(l.Maps, trace.HostMap{Host: h, Map: shopClock(h)})
	}
	for _, x := range kernelThreads {
		l.Streams = append(l.Streams, trace.Stream{Name: x.name, Host: l.Hosts[x.host], Kind: trace.Thread, ID: x.tid, Parent: -1})
	}
	return l
}

// put writes an event on the row of a thread.
func (k *kernels) put(row int, at int64, class int, phase trace.Phase, slice uint64, values ...uint64) {
	host := kernelThreads[row].host
	e := trace.TimelineEvent{Event: trace.Event{Time: clock.HostTime(shopOrigin + at), Stream: row, Class: class, Phase: phase, Slice: slice},
		Time: clock.TimelineTime(shopOrigin + at), Host: host, Map: host, Bounded: true}
	bound := clock.TimelineTime(0)
	if host > 0 {
		bound = ShopBound
	}
	e.Low, e.High = e.Time-bound, e.Time+bound
	for _, v := range values {
		e.Values = append(e.Values, trace.OfUint(v))
	}
	k.records = append(k.records, e)
}

// cpu is where a thread runs: writer and replica have a processor of their own.
func cpu(row int) uint64 {
	if row == writer || row == replica {
		return 1
	}
	return 0
}

const idle = -1

// goes has a thread's processor go on to another thread, or be idle; the first is left in a state.
func (k *kernels) goes(at int64, from, to int, state uint64) {
	row, tids := max(from, to), [2]uint64{}
	for i, x := range [2]int{from, to} {
		if x != idle {
			tids[i] = uint64(kernelThreads[x].tid)
		}
	}
	k.put(row, at, switchClass, trace.Instant, 0, cpu(row), tids[0], tids[1], state)
}

const sleeping = 1 // the state of a thread that waits

func (k *kernels) wakes(at int64, row int, by uint64, context uint64) {
	k.put(row, at, wakingClass, trace.Instant, 0, cpu(row), uint64(kernelThreads[row].tid), by, context)
}

func (k *kernels) call(row, class int, from, to int64, argument uint64) {
	k.slices++
	k.put(row, from, class, trace.Begin, k.slices, argument)
	k.put(row, to, class+1, trace.End, k.slices, 0)
}

// Connections of [Kernels]: from curl to the worker, from the worker to the database, from the writer to the replica.
const (
	curlWorker = iota
	workerDatabase
	writerReplica
)

// packet sends 16 bytes over a connection, or again those that were sent last; they arrive 100 µs later unless they are lost.
func (k *kernels) packet(connection int, reply bool, at int64, again, lost bool) {
	a := [3][2]int{{curl, worker}, {worker, database}, {writer, replica}}[connection]
	seq, ack := &k.next[connection][0], &k.next[connection][1]
	ports := [2]uint64{uint64(40000 + connection), uint64(7000 + connection)}
	from, to := a[0], a[1]
	if reply {
		from, to, seq, ack, ports = to, from, ack, seq, [2]uint64{ports[1], ports[0]}
	}
	if again {
		*seq -= 16
	}
	k.id++
	address := func(row int) uint64 { return 10<<24 + uint64(kernelThreads[row].host) + 1 }
	values := func(row int) []uint64 {
		return []uint64{cpu(row), address(from), address(to), 6, 20 + 20 + 16, k.id, ports[0], ports[1], *seq, *ack, 5, 16}
	}
	k.put(from, at, sentClass, trace.Instant, 0, values(from)...)
	if !lost {
		k.put(to, at+100*us, receivedClass, trace.Instant, 0, values(to)...)
	}
	*seq += 16
}

// says has a thread that runs send in a call.
func (k *kernels) says(row, connection int, reply bool, at int64, lost bool) {
	k.call(row, sendCall, at-10*us, at+10*us, 0)
	k.packet(connection, reply, at, false, lost)
}

// waits has a thread that runs wait in a call until it is woken, from softirqs and timers by no thread. It runs 10 µs later, or after
// another thread, which had the processor since 50 µs before and has it for longer; it returns since when.
func (k *kernels) waits(row, class int, from, until int64, argument, context uint64, by int, longer int64) int64 {
	k.goes(from+10*us, row, idle, sleeping)
	waker, before, runs := uint64(0), idle, until+10*us
	if longer > 0 {
		before, runs = by, runs+longer
		k.goes(until-50*us, idle, by, 0)
	} else if by != idle {
		waker = uint64(kernelThreads[by].tid)
	}
	k.wakes(until, row, waker, context)
	k.goes(runs, before, row, sleeping)
	k.call(row, class, from, runs+5*us, argument)
	return runs
}

const lockWord = 0xabc // of a lock for which worker and writer have waited

// begin lets the threads wait for what is to come.
func (k *kernels) begin() {
	for _, row := range []int{curl, worker, database, writer, replica} {
		k.goes(1*ms, idle, row, 0)
	}
	k.waits(writer, futexCall, 2*ms, 3*ms, lockWord, byHardIRQ, idle, 0)
	k.goes(4*ms, writer, idle, sleeping)
	k.goes(4*ms, replica, idle, sleeping)
	k.idles = [2]int64{5 * ms, 5 * ms}
}

// request writes one, which is sent at an instant.
func (k *kernels) request(i, t int64) {
	behindBackup, behindVacuum := int64(0), int64(0)
	if i == Queued {
		behindBackup, behindVacuum = 2*ms, 12*ms
	}
	k.says(curl, curlWorker, false, t, false)
	asked := k.waits(worker, receiveCall, k.idles[0], t+110*us, 0, bySoftIRQ, ifLonger(behindBackup, backup), behindBackup)
	switch i {
	case LockAlone:
		asked = k.locked(asked, t, t+18*ms)
	case LockAcross:
		asked = k.locked(asked, t, k.replicated(t+1*ms))
	}
	asks := asked + 500*us
	k.says(worker, workerDatabase, false, asks, false)
	queried := k.waits(database, receiveCall, k.idles[1], asks+110*us, 0, bySoftIRQ, ifLonger(behindVacuum, vacuum), behindVacuum)
	k.says(database, workerDatabase, true, queried+300*us, false)
	k.idles[1] = queried + 320*us
	got := k.waits(worker, receiveCall, asks+20*us, queried+410*us, 0, bySoftIRQ, idle, 0)
	answers := got + 200*us
	k.says(worker, curlWorker, true, answers, i == SentAgain)
	k.idles[0] = answers + 20*us
	if i == SentAgain {
		answers += 30 * ms
		k.packet(curlWorker, true, answers, true, false)
	}
	k.waits(curl, receiveCall, t+20*us, answers+110*us, 0, bySoftIRQ, idle, 0)
}

func ifLonger(longer int64, row int) int {
	if longer > 0 {
		return row
	}
	return idle
}

// locked has the worker wait for a lock that the writer holds from before t until an instant.
func (k *kernels) locked(from, t, until int64) int64 {
	k.wakes(t-500*us, writer, 0, byHardIRQ)
	k.goes(t-490*us, idle, writer, 0)
	k.call(writer, futexCall, until-10*us, until+20*us, lockWord)
	k.goes(until+100*us, writer, idle, sleeping)
	return k.waits(worker, futexCall, from+100*us, until, lockWord, byThread, writer, 0)
}

// replicated has the writer ask the replica, which sleeps, and returns when the writer goes on.
func (k *kernels) replicated(asks int64) int64 {
	k.says(writer, writerReplica, false, asks, false)
	k.wakes(asks+110*us, replica, 0, bySoftIRQ)
	k.goes(asks+120*us, idle, replica, 0)
	slept := k.waits(replica, sleepCall, asks+200*us, asks+25_200*us, 0, byHardIRQ, idle, 0)
	k.says(replica, writerReplica, true, slept+100*us, false)
	k.goes(slept+200*us, replica, idle, sleeping)
	return k.waits(writer, receiveCall, asks+20*us, slept+210*us, 0, bySoftIRQ, idle, 0) + 50*us
}
