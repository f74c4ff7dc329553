module meridian/sensor

go 1.24.0

require (
	golang.org/x/sys v0.30.0
	meridian/clock v0.1.0
)
