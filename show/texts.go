package show

// Duration writes a length of time in ns in the unit that suits it, as all that people read has it.
func Duration(ns int64) string { return duration(ns) }

// Count writes a number with a blank between thousands.
func Count(n int64) string { return count(n) }
