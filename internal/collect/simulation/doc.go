// Package simulation plays what may happen to a collection, by the tests of this package: an agent, servers, a broker and a recorder, in virtual time over
// a network of which a seed decides how long each message takes, what is lost, and what fails when.
//
//	recorder --> DIR --> ship.Shipper --> network --> collect.Server --> store.Store --> disktest.Disk
//	                          ^---------- acks ----------'
//
// Agent, servers and stores are the real code, each process in goroutines of its own. Time is that of testing/synctest: it goes on when all goroutines
// wait, so that each message finds the processes at rest. The network, the disks, the recorder and the instants of the faults are seeded: a seed gives the same
// messages at the same instants again.
//
// A schedule kills agents and servers, at one of their disk operations too, cuts the power of servers, destroys their disks, fills them, parts connections, and kills the
// broker. The recorder writes halves of packets, puts chunks away that servers have, and drops others. At the end all faults are over, and the audit compares disks and counts.
package simulation
