// Signals that interrupt events and emit themselves. Prints how many events were emitted by the program and by its handler.
#include "start.h"

#include <signal.h>

MERIDIAN_EVENT(signals, program, (uint64_t, number), (const char *, text));
MERIDIAN_EVENT(signals, handler, (uint64_t, number));

static volatile uint64_t handled;
static pthread_t emitter;
static bool done;

static void handle(int number) {
	(void)number;
	errno = 99;
	MERIDIAN_EMIT(handler, handled);
	if (errno != 99) abort();
	handled = handled + 1;
}

static void *interrupt(void *p) {
	(void)p;
	while (!__atomic_load_n(&done, __ATOMIC_ACQUIRE)) pthread_kill(emitter, SIGUSR1);
	return NULL;
}

int main(int argc, char **argv) {
	struct sigaction a;
	pthread_t thread;
	(void)argc;
	start(argv);
	memset(&a, 0, sizeof a);
	a.sa_handler = handle;
	sigaction(SIGUSR1, &a, NULL);
	emitter = pthread_self();
	if (pthread_create(&thread, NULL, interrupt, NULL) != 0) return 1;
	uint64_t n = 0, least = argument("n", 1000);
	for (; n < least || (handled < least && n < 300000); n++) MERIDIAN_EMIT(program, n, "text");
	__atomic_store_n(&done, true, __ATOMIC_RELEASE);
	pthread_join(thread, NULL);
	printf("%" PRIu64 " %" PRIu64 "\n", n, handled);
	meridian_stop();
	return 0;
}
