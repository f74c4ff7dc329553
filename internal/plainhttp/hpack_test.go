package plainhttp

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"golang.org/x/net/http2/hpack"
)

// headers is a frame with one request.
func headers(stream byte, block []byte) []byte {
	return append([]byte{byte(len(block) >> 16), byte(len(block) >> 8), byte(len(block)), headersFrame, endStream | endHeaders, 0, 0, 0, stream}, block...)
}

func TestTablesAndNamesOfHPACKAreBounded(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		table uint32
		named bool
	}{{4096, true}, {mostTable, true}, {mostTable + 1, false}, {1 << 30, false}} {
		var x Connections
		seq := [2]uint32{1, 1}
		send := func(direction int, data []byte) []Item {
			items := slices.Clone(x.Add(1, direction, Segment{Seq: seq[direction], Length: uint32(len(data)), Data: data}))
			seq[direction] += uint32(len(data))
			return items
		}
		send(0, []byte(preface+"\x00\x00\x00\x04\x00\x00\x00\x00\x00"))
		send(1, []byte("\x00\x00\x06\x04\x00\x00\x00\x00\x00\x00\x01\xff\xff\xff\xff")) // any size of table
		var block bytes.Buffer
		e := hpack.NewEncoder(&block)
		e.SetMaxDynamicTableSizeLimit(1 << 30)
		e.SetMaxDynamicTableSize(c.table)
		path := "/" + strings.Repeat("x", 3900)
		for n := range 100 { // from the second on, the path is one byte that refers to the table
			for _, f := range []hpack.HeaderField{{Name: ":method", Value: "GET"}, {Name: ":path", Value: path}} {
				if err := e.WriteField(f); err != nil {
					t.Fatal(err)
				}
			}
			items := send(0, headers(byte(2*n+1), block.Bytes()))
			block.Reset()
			if len(items) == 0 || len(items[0].Text) > mostName+10 || strings.HasPrefix(items[0].Text, "GET /xxx") != c.named {
				t.Fatalf("table of %d bytes, request %d: %+v", c.table, n, items)
			}
		}
	}
}
