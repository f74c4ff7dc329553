// The program of emit.go in C: EVENTS WAIT.
#include "meridian.h"

MERIDIAN_EVENT(start, six, (int64_t, a), (int64_t, b), (int64_t, c), (int64_t, d), (int64_t, e), (int64_t, f));

static double now(void) {
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

int main(int argc, char **argv) {
	const double rate = 1e6;
	int e = argc == 3 ? meridian_start("emit") : EINVAL;
	if (e != 0) {
		fprintf(stderr, "emit: %s\n", strerror(e));
		return 1;
	}
	long events = strtol(argv[1], NULL, 10);
	if (argv[2][0] == '1') getchar();
	double begin = now();
	for (long n = 0; n < events;) {
		long due = (long)((now() - begin) * rate) + 1;
		if (due > events) due = events;
		for (; n < due; n++) MERIDIAN_EMIT(six, n, 1, 2, 3, 4, 5);
		struct timespec wait = {0, 1000000};
		nanosleep(&wait, NULL);
	}
	meridian_stop();
	return 0;
}
