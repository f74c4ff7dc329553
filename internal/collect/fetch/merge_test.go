package fetch_test

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"testing"
	"time"

	"meridian/internal/collect/fetch"
	"meridian/internal/collect/service"
	"meridian/internal/collect/wire"
)

func TestEachFileIsFetchedFromTheServerThatHasMostOfIt(t *testing.T) {
	l := newLab(t)
	other := t.TempDir()
	host := filepath.Join(other, "night", "web")
	longer := []byte("/* CTF 1.8 */ and what was recorded later")
	err := errors.Join(os.MkdirAll(host, 0o700), os.WriteFile(filepath.Join(host, "kernel_1_0"), make([]byte, 100), 0o600), os.WriteFile(filepath.Join(host, "kernel_2_0"), []byte("here alone"), 0o600),
		os.WriteFile(filepath.Join(host, "metadata"), longer, 0o600), os.WriteFile(filepath.Join(host, ".trace"), []byte("uuid-1\n"), 0o600))
	if err != nil {
		t.Fatal(err)
	}
	lists := []wire.FileList{l.list()}
	endpoints := fetch.Endpoints(other, "t")
	endpoints[0].Subject += ".t"
	stop, err := service.Start(l.ask, service.Options{Name: service.Server, Log: t.Logf, Endpoints: endpoints})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(stop)
	m, err := l.ask.Request(wire.ControlFiles+".t", wire.Encode(wire.Files{Version: wire.Version, Session: "night", Host: "web"}), time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	more, err := wire.Decode[wire.FileList](m.Data)
	if err != nil || more.Error != "" {
		t.Fatal(err, more.Error)
	}
	h := fetch.Host{Conn: l.ask, Session: "night", Name: "web", Lists: append(lists, more), Out: l.out, Log: t.Logf, Told: func(int64, int64) {}}
	if _, err := h.Run(context.Background()); err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(h.From, []string{"s", "t"}) {
		t.Errorf("fetched from %v", h.From)
	}
	if err := errors.Join(os.WriteFile(filepath.Join(l.dir, "night", "web", "metadata"), longer, 0o600), os.WriteFile(filepath.Join(l.dir, "night", "web", "kernel_2_0"), []byte("here alone"), 0o600)); err != nil {
		t.Fatal(err)
	}
	l.same()
	if got, err := os.ReadFile(filepath.Join(l.out, "web", "kernel_2_0")); string(got) != "here alone" {
		t.Errorf("%q, %v", got, err)
	}
}

func TestFilesWhoseStreamTheMetadataLacksAreNamed(t *testing.T) {
	dir := t.TempDir()
	packet := func(stream uint32) []byte {
		b := binary.LittleEndian.AppendUint32(nil, 0xc1fc1fc1)
		return append(binary.LittleEndian.AppendUint32(append(b, make([]byte, 16)...), stream), make([]byte, 40)...)
	}
	write := func(name string, b []byte) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, name), b, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for id := range uint32(4) {
		write(fmt.Sprintf("sensor_%d_0", id), packet(id))
	}
	write("empty_7_0", nil)
	write("foreign_7_0", make([]byte, 100))
	for metadata, want := range map[string][]string{
		"stream {\n\tid = 0;\n};\nstream {\n\tid = 1;\n};\nevent {\n\tid = 3;\n\tstream_id = 1;\n};\nstream {\n\tid = 2;\n}": {"sensor_3_0"},
		"stream {\n\tid = 3;\n};\nstream {\n\tid = 10;\n};\nstream {\n\tid = 2;\n":                                           {"sensor_0_0", "sensor_1_0"},
		"stream {\n\tid = 0;\n}\nstream {\n\tid = 1;\n}\nstream {\n\tid = 2;\n}\nstream {\n\tid = 3;\n}\n":                   nil,
	} {
		write("metadata", []byte(metadata))
		if got, err := fetch.Undescribed(dir); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%q: %v, %v, not %v", metadata, got, err, want)
		}
	}
}
