// Threads that emit, each its number and a count: threads=N at a time, rounds=N of them one after another, n=N events each.
// With wait=1 a line on stdin is waited for before each round.
#include "start.h"

MERIDIAN_EVENT(threads, count, (uint64_t, thread), (uint64_t, number));

static uint64_t events;

static void *work(void *p) {
	uint64_t thread = *(uint64_t *)p;
	for (uint64_t i = 0; i < events; i++) MERIDIAN_EMIT(count, thread, i);
	return NULL;
}

int main(int argc, char **argv) {
	enum { MOST = 64 };
	pthread_t threads[MOST];
	uint64_t numbers[MOST], next = 0;
	char line[16];
	(void)argc;
	start(argv);
	events = argument("n", 100);
	size_t n = argument("threads", 3), rounds = argument("rounds", 1), wait = argument("wait", 0);
	for (size_t r = 0; r < rounds; r++) {
		if (wait && !fgets(line, sizeof line, stdin)) return 1;
		for (size_t i = 0; i < n; i++) {
			numbers[i] = next++;
			if (pthread_create(&threads[i], NULL, work, &numbers[i]) != 0) return 1;
		}
		for (size_t i = 0; i < n; i++) pthread_join(threads[i], NULL);
		puts("round");
		fflush(stdout);
	}
	meridian_stop();
	return 0;
}
