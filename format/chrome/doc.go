// Package chrome reads and writes traces in the Trace Event Format: Chrome's own, and those of the many that write it, such
// as PyTorch's profiler, viztracer, clang -ftime-trace and Perfetto's exporters.
//
//	{"traceEvents": [ {"ph":"X","name":"f","cat":"c","ts":12.345,"dur":0.5,"pid":1,"tid":2,"args":{...}}, ... ], ...}
//	[ {"ph":"B",...}, {"ph":"E",...},                         the array alone; tracers that were killed leave off the ]
//
// In goes a file, plain or compressed; out comes a [File]: a row for each process and each of its threads, slices (B, E, X;
// b, e, S, F with numbers of their own), instants (i, I, R, n, T, p, N, O, D, c, P, v, V), counters (C), flows (s, t, f), and
// names (M). The file is one host. Stamps are microseconds with decimals, read by their digits to the nanosecond, never
// through a float; displayTimeUnit is about display alone. Where the file has baseTimeNanoseconds it is added to all.
//
// # Flows
//
// The ends of a flow are instants on their rows that share Event.Flow. Most tracers number flows for themselves, and the
// same number in two files says nothing. So the flows of a category and name stay within the file if most of them have
// both ends there; else all of them are marks by category, name and id, and join what other files have of them.
//
// # Collectives
//
// In PyTorch's files kernels of NCCL and RCCL are ends of collectives: no member's all-reduce, all-gather, reduce-scatter
// or all-to-all on the GPU ends before those of all members have begun. It is the kernel's slice that counts: the
// annotation nccl:all_reduce on the side of the CPU only covers its launch. Gloo works on the CPU, and its annotations
// cover the work. Broadcast, reduce, gather and scatter let members go early and are none; nor is an all-to-all in which
// some member sends nothing to another. A send and its recv are a message, from the one's start to the other's end.
//
// Members join by the group's name, its ranks, the operation and its sequence number. Before 2026 there was none: then
// it is the how-manieth of its kind in the file, together with how many there are and the first ProfilerStep, so that
// files that were recorded over different steps do not join wrongly but not at all.
//
// The cost is one pass that holds an event in some 100 bytes, and its args.
// Source: Trace Event Format (Google), libkineto's output_json.cpp and torch/csrc/profiler/util.cpp for names of args.
package chrome
