// Package ctf reads and writes the Common Trace Format: CTF 1.8, which LTTng, barectf and Meridian write, and CTF 2,
// which it reads.
package ctf
