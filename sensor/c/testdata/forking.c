// A signal handler that forks while it interrupts an event, so that the child goes on in the middle of it. Each child then
// emits n events. Prints how many children there were.
#include "start.h"

#include <signal.h>
#include <sys/wait.h>

MERIDIAN_EVENT(forking, parent, (const char *, text));
MERIDIAN_EVENT(forking, child, (uint64_t, number));

static volatile sig_atomic_t forks, most;
static volatile bool child, finished;
static pthread_t emitter;

static void handle(int number) {
	(void)number;
	if (child || forks == most) return;
	forks = forks + 1;
	if (fork() == 0) child = true;
}

static void *interrupt(void *p) {
	(void)p;
	while (!finished) {
		pthread_kill(emitter, SIGUSR1);
		for (int i = 0; i < 100; i++) sched_yield();
	}
	return NULL;
}

int main(int argc, char **argv) {
	static char text[3000];
	struct sigaction a;
	pthread_t thread;
	int status, failed = 0;
	(void)argc;
	start(argv);
	memset(text, 'x', sizeof text - 1);
	memset(&a, 0, sizeof a);
	a.sa_handler = handle;
	sigaction(SIGUSR1, &a, NULL);
	most = (sig_atomic_t)argument("forks", 20);
	emitter = pthread_self();
	if (pthread_create(&thread, NULL, interrupt, NULL) != 0) return 1;
	while (forks < most && !child) MERIDIAN_EMIT(parent, text);
	if (child) {
		for (uint64_t i = 0, n = argument("n", 50); i < n; i++) MERIDIAN_EMIT(child, i);
		_exit(0);
	}
	finished = true;
	pthread_join(thread, NULL);
	for (int i = 0; i < forks; i++) failed += wait(&status) < 0 || status != 0;
	printf("%d\n", (int)forks);
	meridian_stop();
	return failed;
}
