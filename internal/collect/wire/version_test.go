package wire

import (
	"encoding/hex"
	"strings"
	"testing"
)

// sample is a chunk as version 1 has it: the bytes "abc" at offset 7 of the stream kernel_0 of the session night. It is not made again
// when the format changes.
const sample = "4d5243310100050008000000030000000700000000000000a7ca75296e696768746b65726e656c5f30616263"

func TestAChunkOfTheFirstVersionIsReadAndANewerOneIsRefused(t *testing.T) {
	b, err := hex.DecodeString(sample)
	if err != nil {
		t.Fatal(err)
	}
	c, _, err := Parse(b, nil, nil)
	if err != nil || c.Kind != Data || c.Session != "night" || c.File != "kernel_0" || c.Offset != 7 || string(c.Data) != "abc" {
		t.Errorf("%+v, %v", c, err)
	}
	newer := append([]byte("MRC2"), b[4:]...)
	if _, _, err := Parse(newer, nil, nil); err == nil || !strings.Contains(err.Error(), "MRC1") {
		t.Error(err)
	}
	newer = append([]byte(nil), b...)
	newer[5] = 2 // a flag
	if _, _, err := Parse(newer, nil, nil); err == nil || !strings.Contains(err.Error(), "its sender is newer") {
		t.Error(err)
	}
}
