package main

const (
	sixName         = "sensor"
	offName         = "sensor, disabled"
	twoName         = "sensor, two goroutines"
	headerName      = "meridian.h (C)"
	headerLimitName = "meridian.h (C), its limit"
)

func (b *bench) sensors() error { return nil }
func (b *bench) header() error  { return nil }
