package sensor

// The types of events and slices, each with its number of fields, are generated. Each Emit is a straight line of code: see
// internal/generate.
//
//go:generate go run ./internal/generate .
