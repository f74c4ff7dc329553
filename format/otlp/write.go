package otlp

import (
	"bufio"
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"io"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	v1 "go.opentelemetry.io/proto/otlp/trace/v1"
)

// WriteJSON writes spans as one OTLP JSON object, a resource on each line: numbers of traces and spans in hexadecimal, kinds and states as numbers. The same spans
// give the same bytes. It does not change data.
func WriteJSON(w io.Writer, data *v1.TracesData) error {
	out := bufio.NewWriter(w)
	out.WriteString(`{"resourceSpans":[`)
	for i, rs := range data.GetResourceSpans() {
		if i > 0 {
			out.WriteByte(',')
		}
		out.WriteByte('\n')
		rs = proto.CloneOf(rs)
		eachID(rs, func(id []byte) []byte {
			b, err := base64.StdEncoding.DecodeString(hex.EncodeToString(id))
			if err != nil { // no number of OTLP's: its length is odd
				return id
			}
			return b
		})
		b, err := protojson.MarshalOptions{UseEnumNumbers: true}.Marshal(rs)
		if err != nil {
			return err
		}
		var line bytes.Buffer // without the blanks that protojson adds at random
		if err := json.Compact(&line, b); err != nil {
			return err
		}
		out.Write(line.Bytes())
	}
	out.WriteString("\n]}\n")
	return out.Flush()
}
