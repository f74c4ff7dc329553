// A thread that is to be cancelled emits n events first, in a child that makes its ring meanwhile, too. Prints what they emitted.
#include "start.h"

#include <sys/wait.h>

MERIDIAN_EVENT(cancelled, count, (uint64_t, number));

static uint64_t emitted;

static void *work(void *p) {
	(void)p;
	pthread_cancel(pthread_self());
	for (uint64_t i = 0, n = argument("n", 1000); i < n; i++) {
		MERIDIAN_EMIT(count, i);
		emitted++;
	}
	pthread_testcancel();
	return NULL;
}

static uint64_t cancel(void) {
	pthread_t thread;
	void *result;
	emitted = 0;
	if (pthread_create(&thread, NULL, work, NULL) != 0 || pthread_join(thread, &result) != 0) return 0;
	return result == PTHREAD_CANCELED ? emitted : 0;
}

int main(int argc, char **argv) {
	int status;
	(void)argc;
	start(argv);
	printf("%" PRIu64 "\n", cancel());
	fflush(stdout);
	pid_t child = fork();
	if (child == 0) {
		printf("%" PRIu64 "\n", cancel());
		fflush(stdout);
		meridian_stop();
		_exit(0);
	}
	waitpid(child, &status, 0);
	meridian_stop();
	return status;
}
