package main

import (
	"io"

	"meridian/format/parquet"
	"meridian/internal/pipeline"
	"meridian/trace"
)

func init() {
	pipeline.Parquet = func(w io.Writer, schema *trace.Schema) (trace.Sink, error) {
		return parquet.NewWriter(w, schema, parquet.Options{})
	}
}
