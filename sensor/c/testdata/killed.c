// Threads that emit their number and a count until the program is killed. After each event a thread says in the file DIR/said,
// which survives, how many it emitted.
#include "start.h"

MERIDIAN_EVENT(killed, count, (uint64_t, thread), (uint64_t, number), (const char *, text));

static uint64_t *said;

static void *work(void *p) {
	uint64_t *mine = (uint64_t *)p, thread = (uint64_t)(mine - said) / 8;
	static const char *const texts[] = {"", "a", "some text", "the number is said in the text too, more or less"};
	for (uint64_t i = 0;; i++) {
		MERIDIAN_EMIT(count, thread, i, texts[i % 4]);
		__atomic_store_n(mine, i + 1, __ATOMIC_RELEASE);
	}
	return NULL;
}

int main(int argc, char **argv) {
	char path[512];
	pthread_t thread;
	(void)argc;
	snprintf(path, sizeof path, "%s/said", argv[1]);
	int f = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	if (f < 0 || ftruncate(f, 4096) != 0) return 1;
	void *map = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, f, 0);
	if (map == MAP_FAILED) return 1;
	said = (uint64_t *)map;
	start(argv);
	for (size_t i = 1; i < argument("threads", 2); i++)
		if (pthread_create(&thread, NULL, work, said + 8 * i) != 0) return 1;
	work(said);
	return 0;
}
