package tracefs

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"meridian/internal/record/kernel"
	"meridian/internal/testseed"
)

func TestFieldsAreReadFromTheirDeclarations(t *testing.T) {
	f, err := parseFormat("name: some_event\nID: 77\nformat:\n" +
		"\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n\n" +
		"\tfield:char comm[16];\toffset:8;\tsize:16;\tsigned:0;\n" +
		"\tfield:unsigned long args[6];\toffset:24;\tsize:48;\tsigned:0;\n" +
		"\tfield:__data_loc char[] name;\toffset:72;\tsize:4;\tsigned:0;\n" +
		"\tfield:__rel_loc char[] other;\toffset:76;\tsize:4;\tsigned:0;\n" +
		"\tfield:const void *skbaddr;\toffset:80;\tsize:8;\tsigned:0;\n" +
		"\tfield:char name2[IFNAMSIZ];\toffset:88;\tsize:16;\tsigned:0;\n" +
		"\tfield:long prev_state;\toffset:104;\tsize:8;\tsigned:1;\n" +
		"\nprint fmt: \"field:int nonsense;\toffset:x;\"\n")
	if err != nil || f.name != "some_event" || f.id != 77 {
		t.Fatalf("%+v, %v", f, err)
	}
	want := []field{
		{"common_type", 0, 2, false, direct, 0},
		{"comm", 8, 16, false, direct, 16},
		{"args", 24, 48, false, direct, 6},
		{"name", 72, 4, false, absolute, 0},
		{"other", 76, 4, false, relative, 0},
		{"skbaddr", 80, 8, false, direct, 0},
		{"name2", 88, 16, false, direct, 16},
		{"prev_state", 104, 8, true, direct, 0},
	}
	if len(f.fields) != len(want) {
		t.Fatalf("%+v", f.fields)
	}
	for i := range want {
		if f.fields[i] != want[i] {
			t.Errorf("%+v, want %+v", f.fields[i], want[i])
		}
	}
}

func TestFieldsWithoutAPlaceAreErrors(t *testing.T) {
	for _, bad := range []string{
		"field:int x;\toffset:0;\tsigned:0;",
		"field:int x;\tsize:4;",
		"field:int x;\toffset:-1;\tsize:4;",
		"field:int x;\toffset:65535;\tsize:4;",
		"field:int x;\toffset:99999999999999999999;\tsize:4;",
		"field:__data_loc char[] x;\toffset:0;\tsize:8;",
		"field:;\toffset:0;\tsize:4;",
		"ID: -1",
		"ID: many",
	} {
		if f, err := parseFormat(bad); err == nil {
			t.Errorf("%q is %+v", bad, f)
		}
	}
}

func TestTextsLieWithinTheRecord(t *testing.T) {
	r := []byte{12, 0, 4, 0, 4, 0, 4, 0, 0xff, 0xff, 0xff, 0xff, 'a', 'b', 0, 'c'}
	for _, test := range []struct {
		f    field
		want string
		ok   bool
	}{
		{field{offset: 0, size: 4, location: absolute}, "ab", true},
		{field{offset: 4, size: 4, location: relative}, "ab", true},
		{field{offset: 8, size: 4, location: absolute}, "", false},
		{field{offset: 8, size: 4, location: relative}, "", false},
		{field{offset: 12, size: 4, count: 4}, "ab", true},
		{field{offset: 12, size: 2, count: 2}, "ab", true},
	} {
		if got, ok := test.f.text(r); string(got) != test.want || ok != test.ok {
			t.Errorf("%+v: %q, %v", test.f, got, ok)
		}
	}
}

func TestNumbersKeepTheirSign(t *testing.T) {
	b := []byte{0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff}
	for _, size := range []int{1, 2, 4, 8} {
		if n := int64(widen(b[:size], true)); n != -1 {
			t.Errorf("%d bytes with a sign: %d", size, n)
		}
		if n, want := widen(b[:size], false), ^uint64(0)>>(64-8*size); n != want {
			t.Errorf("%d bytes without: %d, want %d", size, n, want)
		}
	}
}

func TestKindsWhoseFieldsChangedTypeAreRefused(t *testing.T) {
	const head = "name: x\nID: 5\nfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\nfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n"
	for _, test := range []struct {
		k    kernel.Kind
		rest string
	}{
		{kernel.SoftirqEntry, "field:unsigned int vec[2];\toffset:8;\tsize:8;\tsigned:0;"},
		{kernel.SoftirqEntry, "field:unsigned int vec;\toffset:8;\tsize:3;\tsigned:0;"},
		{kernel.SoftirqEntry, "field:unsigned int vector;\toffset:8;\tsize:4;\tsigned:0;"},
		{kernel.IRQEntry, "field:int irq;\toffset:8;\tsize:4;\tsigned:1;\nfield:int name;\toffset:12;\tsize:4;\tsigned:1;"},
		{kernel.SysEnter, "field:long id;\toffset:8;\tsize:8;\tsigned:1;\nfield:unsigned long args[5];\toffset:16;\tsize:40;\tsigned:0;"},
	} {
		f, err := parseFormat(head + test.rest)
		if err != nil {
			t.Fatal(err)
		}
		if err := new(layouts).add(test.k, f); err == nil {
			t.Errorf("%s accepted", test.rest)
		}
	}
	f, err := parseFormat(head + "field:unsigned int vec;\toffset:8;\tsize:4;\tsigned:0;")
	if err != nil {
		t.Fatal(err)
	}
	if err := new(layouts).add(kernel.SoftirqEntry, f); err != nil {
		t.Error(err)
	}
}

func FuzzFormat(f *testing.F) {
	files, _ := filepath.Glob(filepath.Join("testdata", "linux", "*.format"))
	for _, file := range append(files, filepath.Join("testdata", "linux", "header_page")) {
		b, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(string(b))
	}
	record := make([]byte, 256)
	testseed.Fuzz(f, func(t *testing.T, text string) {
		if l, err := parsePageLayout(text, headerEvent); err == nil {
			var p page
			if p.open(l, record) == nil {
				_, _ = p.next()
			}
		}
		one, err := parseFormat(text)
		if err != nil {
			return
		}
		for i := range one.fields {
			if x := &one.fields[i]; x.offset < 0 || x.size < 0 || x.offset+x.size > maxRecord || x.name == "" || strings.ContainsAny(x.name, " ;") {
				t.Fatalf("%+v", x)
			}
		}
		for k := kernel.Kind(1); k < kinds; k++ { // whatever it is bound to, nothing is read outside of the record
			var l layouts
			if l.add(k, one) == nil {
				d := newDecoder(15, true, 2, &l, newTasks(nobody))
				record[one.fields[0].offset%len(record)] = byte(one.id)
				d.decode(1, 0, true, record)
			}
		}
	})
}
