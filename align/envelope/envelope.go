// Package envelope is the envelope smoother.
package envelope
