// What the test programs begin with: the ring is made as the arguments say, and its path printed.
//
//	PROGRAM DIR [shards=N] [spare=N] [buffers=N] [size=N] [overwrite=1] [n=N] ...
//
// With reader=1 it then waits for a character on stdin, until somebody reads the ring.
#ifndef START_H
#define START_H
#include "meridian.h"

#include <inttypes.h>

static char **arguments;

static inline unsigned long argument(const char *name, unsigned long otherwise) {
	size_t n = strlen(name);
	for (char **a = arguments; *a; a++)
		if (strncmp(*a, name, n) == 0 && (*a)[n] == '=') return strtoul(*a + n + 1, NULL, 0);
	return otherwise;
}

static inline void start(char **argv) {
	struct meridian_options o;
	memset(&o, 0, sizeof o);
	arguments = argv + 2;
	o.dir = argv[1];
	o.shards = (unsigned)argument("shards", 4);
	o.buffers = (unsigned)argument("buffers", 2);
	o.buffer_size = (unsigned)argument("size", 4096);
	o.classes = (unsigned)argument("classes", 0);
	o.spare = (unsigned)argument("spare", MERIDIAN_NO_SPARE);
	o.overwrite = argument("overwrite", 0) != 0;
	int e = meridian_start_with("test", &o);
	if (e != 0) {
		fprintf(stderr, "start: %s\n", strerror(e));
		exit(1);
	}
	printf("%s\n", meridian_path());
	fflush(stdout);
	if (argument("reader", 0)) getchar();
}
#endif
