package c_test

import (
	"fmt"
	"strings"
	"testing"
)

// TestHeaderCompilesWithoutAWarning is the matrix; the other tests run what some of it makes.
func TestHeaderCompilesWithoutAWarning(t *testing.T) {
	t.Parallel()
	for _, with := range []string{
		"gcc -std=c11 -O3 -Wconversion -Wsign-conversion -Wcast-qual -Wstrict-prototypes -Wmissing-prototypes -Wundef -Wvla",
		"gcc -std=gnu2x -Os -fPIC -fvisibility=hidden",
		"clang -std=c11 -O3 -Wconversion -Wcast-qual -Wstrict-prototypes -Wcomma -Wformat=2",
		"g++ -x c++ -std=c++17 -O3 -Wconversion -Wzero-as-null-pointer-constant -Wuseless-cast -Wextra-semi",
		"g++ -x c++ -std=c++20 -O0 -fno-exceptions -fno-rtti",
		"clang++ -x c++ -std=c++17 -O3 -Wconversion -Wextra-semi -Wimplicit-fallthrough",
		"clang++ -x c++ -std=c++20 -O0",
	} {
		t.Run(with, func(t *testing.T) {
			t.Parallel()
			cc, stage := strings.Fields(with), "-fsyntax-only"
			if strings.Contains(with, "-O3") { // some warnings come from the optimizer
				stage = "-c"
			}
			build(t, cc[0], append(cc[1:], stage, "testdata/types.c")...)
		})
	}
}

// TestWrongTypesDoNotCompile holds that calls are checked against what was declared.
func TestWrongTypesDoNotCompile(t *testing.T) {
	t.Parallel()
	const declared = `MERIDIAN_EVENT(test, event, (int, n), (const char *, s)); `
	for _, test := range []struct{ source, says string }{
		{declared + `int main(void) { MERIDIAN_EMIT(event, 1, "a"); return 0; }`, ""},
		{declared + `int main(void) { MERIDIAN_EMIT(event, "a", 1); return 0; }`, "n"},
		{declared + `int main(void) { MERIDIAN_EMIT(event, 1); return 0; }`, "too few arguments"},
		{declared + `int main(void) { MERIDIAN_EMIT(event, 1, "a", 2); return 0; }`, "too many arguments"},
		{declared + `int main(void) { MERIDIAN_EMIT(other, 1); return 0; }`, "other"},
		{`MERIDIAN_EVENT(test, event, (void **, n)); int main(void) { return 0; }`, "event"},
		{`MERIDIAN_EVENT(test, event, (struct timespec, n)); int main(void) { return 0; }`, "event"},
	} {
		for _, with := range []string{"gcc -x c", "clang++ -x c++"} {
			t.Run(with+" "+test.source, func(t *testing.T) {
				t.Parallel()
				cc := strings.Fields(with)
				out, err := compile(t, test.source, cc[0], append(cc[1:], "-fsyntax-only", "-fno-diagnostics-color", "-")...)
				if good := err == nil; good != (test.says == "") || !strings.Contains(out, test.says) && !strings.Contains(out, "no matching function") {
					t.Errorf("%v\n%s", err, out)
				}
			})
		}
	}
}

// TestNinthFieldIsRefusedInWords: without a message of our own the compiler complains of what macros made of it, in one line for
// each macro on the way.
func TestNinthFieldIsRefusedInWords(t *testing.T) {
	t.Parallel()
	fields := func(n int) (s string) {
		for i := range n {
			s += fmt.Sprintf(", (int, f%d)", i)
		}
		return s
	}
	const says = "test:many has more than eight fields; declare an event of its own for the rest"
	for _, with := range []string{"gcc -x c -std=c11", "clang -x c -std=c11", "g++ -x c++ -std=c++17", "clang++ -x c++ -std=c++17"} {
		t.Run(with, func(t *testing.T) {
			t.Parallel()
			cc := strings.Fields(with)
			check := func(source string) (string, error) {
				return compile(t, source, cc[0], append(cc[1:], "-fsyntax-only", "-fno-diagnostics-color", "-")...)
			}
			if out, err := check("MERIDIAN_SLICE(test, many" + fields(8) + "); int main(void) { return 0; }"); err != nil {
				t.Errorf("eight fields: %v\n%s", err, out)
			}
			for _, many := range []string{"MERIDIAN_EVENT(test, many" + fields(9), "MERIDIAN_SLICE(test, many" + fields(9), "MERIDIAN_EVENT(test, many" + fields(32)} {
				out, err := check(many + "); int main(void) { return 0; }")
				if err == nil || !strings.Contains(out, says) || strings.Count(out, "error:") != 1 {
					t.Errorf("%s: %v\n%s", many, err, out)
				}
			}
			// One value more than the fields is told by the name of the function, also behind the eighth.
			eight := "MERIDIAN_EVENT(test, full" + fields(8) + "); int main(void) { MERIDIAN_EMIT(full, 0, 1, 2, 3, 4, 5, 6, 7, 8); return 0; }"
			out, err := check(eight)
			if err == nil || !strings.Contains(out, "too many arguments") && !strings.Contains(out, "no matching function") || !strings.Contains(out, "mdn_emit_full") {
				t.Errorf("nine values: %v\n%s", err, out)
			}
		})
	}
}
