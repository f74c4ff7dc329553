// Package kernel interprets the events of an operating system's kernel, in any trace format.
//
// The input is a [trace.Source] of raw events, with names and fields as LTTng's kernel modules write them: today from CTF
// files. There are two outputs:
//
//	Source --> Packets --> trace.Capture   the network events as packets, as a capture file would have given them
//	Source --> Rows    --> trace.Source    everything as rows of a timeline: processors, threads, interrupts, devices
//
// Both interpret each class of events once, by its name and the names of its fields. An event then costs one table lookup, and
// fields are decoded only if they are needed.
//
// Packets knows three generations of network events. All of them are read by one walk over names (header.go), since they
// differ in how deep the same header fields lie:
//
//	net_dev_queue {len, name, network_header: ipv4 {saddr, ..., transport_header: tcp {source_port, seq, ...}}}
//	net_dev_queue {len, name, network_header: ipv4 {saddr, ...}, transport_header: tcp {source, seq, ...}}
//	dev_xmit_extended {skb, saddr, daddr, tot_len, ihl, source, dest, seq, ack_seq, doff, ack, rst, syn, fin}
//
// A packet is sent when the kernel queues it to the device, and received when the device hands it to the kernel. Where
// the header is known only later (tcpv4_rcv_extended), it is joined to the arrival by the address of the packet's buffer.
// Source: Clement and Dagenais 2009, section 8 and table 1.
//
// Rows follows what each processor does. A thread's row shows when it ran, its system calls, and what happened while it
// ran. Events in an interrupt are on the row of the processor's interrupts, whichever thread was interrupted:
//
//	process "nginx 1200"
//	  thread "nginx 1234"     |--running--|  |-----running-----|
//	                             |--read----------|     x block_rq_issue
//	CPU 0                     |---nginx---|--cron--|---nginx---|
//	  CPU 0 interrupts          |irq 27|softirq NET_RX|
//	eth0                         x net_dev_queue
//
// Where only some threads are followed, switches say of both sides whether they are (prev_followed, next_followed). Others
// have no slices, since the end of their run is not recorded. A gap in a processor's row is then idle time or another thread.
//
// After events that the tracer lost, the state is wrong for a while. Each sched_switch names the thread that ran before, so
// the state is corrected there. Slices closed by that are counted.
//
// Tracers write some events a few us late. Packets moves those of packets back to their place in time. Rows does not: the
// sorter that reads it does. Memory is that of the packets, or of the threads and open slices; no event
// allocates once its class, its thread and its flow were met.
package kernel
