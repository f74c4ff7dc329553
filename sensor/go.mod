module meridian/sensor

go 1.25.0

require (
	golang.org/x/sys v0.40.0
	meridian/clock v0.1.0
)
