// Package ship publishes a trace directory while it grows: whole packets of its files, as chunks that servers write at their offsets.
//
//	scan    which files there are and how far each is whole       (files.go, whole.go)
//	plan    what is sent next, to whom, within a window           (plan.go, peer.go)
//	account what became of all bytes, of files that are gone too (account.go)
//	send    chunks out                                            (send.go)
//	run     acks and statuses in, and the rest in turns           (ship.go)
//
// The directory is the buffer: nothing waits anywhere else but what is on the way. What is not acknowledged is sent again, from the file.
package ship
