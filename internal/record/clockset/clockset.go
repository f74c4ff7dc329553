// Package clockset tells when CLOCK_REALTIME is set, at once: by a timer of that clock, which the kernel cancels then
// (TFD_TIMER_CANCEL_ON_SET, timerfd_create(2)). Slewing the clock does not cancel it.
package clockset
