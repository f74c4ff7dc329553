// Tells what meridian_start says of options that cannot be, and how tags are written.
#include "start.h"

MERIDIAN_EVENT(unstarted, event, (const char *, a_field_with_a_long_name));

static int said(struct meridian_options o) { return meridian_start_with("unstarted", &o); }

int main(int argc, char **argv) {
	struct meridian_options o;
	(void)argc;
	memset(&o, 0, sizeof o);
	o.dir = argv[1];
	o.buffers = 3;
	printf("buffers 3: %s\n", strerror(said(o)));
	o.buffers = 0;
	o.metadata = 40;
	printf("metadata 40: %s\n", strerror(said(o)));
	o.metadata = 0;
	o.classes = 1;
	printf("classes 1: %s\n", strerror(said(o)));
	o.classes = 0;
	o.dir = "/nonexistent";
	printf("dir: %s\n", strerror(said(o)));
	MERIDIAN_EMIT(event, "nobody hears it");
	char text[34];
	struct meridian_tag t = meridian_new_tag(), u = {0, 0};
	meridian_tag_text(t, text);
	if (!meridian_parse_tag(text, &u) || u.process != t.process || u.count != t.count) return 1;
	if (meridian_new_tag().count != t.count + 1 || meridian_tag_number(t) != t.process + t.count) return 2;
	static const char *const bad[] = {"", "-", "0123456789abcdef", "0123456789abcdef-", "0123456789abcdef-g",
		"0123456789abcde-1", "0123456789abcdef-12345678901234567", "0123456789abcdef-1 "};
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
		if (meridian_parse_tag(bad[i], &u)) return 3;
	if (!meridian_parse_tag("6f1D0c4a9b3e5827-2A", &u) || u.process != 0x6f1d0c4a9b3e5827 || u.count != 42) return 4;
	printf("%s\n", text);
	return 0;
}
