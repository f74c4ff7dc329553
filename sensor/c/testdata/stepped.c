// Two threads that emit when they are told to: each line "THREAD COUNT LENGTH" on stdin is COUNT events with a text of that
// length, and is answered by "done". With end=1 each line has a thread of its own, which ends before the answer.
#include "start.h"

#include <semaphore.h>

MERIDIAN_EVENT(stepped, event, (uint64_t, thread), (const char *, text));

static struct {
	uint64_t thread, count, length;
} step;
static sem_t go[2], done;

static void emit(void) {
	char text[4001];
	memset(text, 'x', sizeof text);
	text[step.length < sizeof text ? step.length : 0] = 0;
	for (uint64_t i = 0; i < step.count; i++) MERIDIAN_EMIT(event, step.thread, text);
}

static void *work(void *p) {
	for (;;) {
		while (sem_wait((sem_t *)p) != 0) {
		}
		emit();
		sem_post(&done);
	}
	return NULL;
}

static void *once(void *p) {
	emit();
	return p;
}

int main(int argc, char **argv) {
	char line[128];
	pthread_t thread;
	(void)argc;
	start(argv);
	sem_init(&done, 0, 0);
	bool end = argument("end", 0) != 0;
	for (int i = 0; i < 2; i++) {
		sem_init(&go[i], 0, 0);
		if (!end && pthread_create(&thread, NULL, work, &go[i]) != 0) return 1;
	}
	while (fgets(line, sizeof line, stdin)) {
		if (sscanf(line, "%" SCNu64 " %" SCNu64 " %" SCNu64, &step.thread, &step.count, &step.length) != 3 || step.thread > 1) return 2;
		if (end) {
			if (pthread_create(&thread, NULL, once, NULL) != 0 || pthread_join(thread, NULL) != 0) return 3;
		} else {
			sem_post(&go[step.thread]);
			while (sem_wait(&done) != 0) {
			}
		}
		puts("done");
		fflush(stdout);
	}
	meridian_stop();
	return 0;
}
