// An example: threads that hand jobs to each other through a queue, and say what they do with meridian.h. Prints the path of
// the ring that it leaves, which a reader makes a trace of.
//
//	cc -O2 -pthread -I sensor/c examples/c/work/work.c -o work && ./work
#include "meridian.h"


MERIDIAN_EVENT(work, job_done, (uint32_t, job), (const char *, by), (double, result));
MERIDIAN_SLICE(work, compute, (uint32_t, job));
MERIDIAN_COUNTER(queue, waiting);
MERIDIAN_MARK(queue, handover);

enum { JOBS = 1000, WORKERS = 3, ROOM = 16 };

static struct job {
	uint32_t number;
	struct meridian_tag tag;
} queue[ROOM];
static size_t head, tail;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;

static void put(uint32_t number) {
	struct job j = {number, meridian_new_tag()};
	pthread_mutex_lock(&mutex);
	while (head - tail == ROOM) pthread_cond_wait(&changed, &mutex);
	MERIDIAN_SEND(handover, meridian_tag_number(j.tag)); // before anybody can have it
	queue[head++ % ROOM] = j;
	MERIDIAN_SET(waiting, (int64_t)(head - tail));
	pthread_cond_broadcast(&changed);
	pthread_mutex_unlock(&mutex);
}

static struct job take(void) {
	pthread_mutex_lock(&mutex);
	while (head == tail) pthread_cond_wait(&changed, &mutex);
	struct job j = queue[tail++ % ROOM];
	MERIDIAN_RECEIVE(handover, meridian_tag_number(j.tag));
	MERIDIAN_SET(waiting, (int64_t)(head - tail));
	pthread_cond_broadcast(&changed);
	pthread_mutex_unlock(&mutex);
	return j;
}

static void *worker(void *name) {
	for (;;) {
		struct job j = take();
		if (j.number == UINT32_MAX) return NULL; // no more come
		uint64_t slice = MERIDIAN_BEGIN(compute, j.number);
		double sum = 0;
		for (uint32_t i = 1; i < 1000 + 10 * j.number; i++) sum += 1.0 / i;
		MERIDIAN_END(compute, slice);
		MERIDIAN_EMIT(job_done, j.number, (const char *)name, sum);
	}
}

int main(void) {
	static char names[WORKERS][2] = {"a", "b", "c"};
	pthread_t threads[WORKERS];
	int e = meridian_start("work");
	if (e != 0) {
		fprintf(stderr, "work: nothing will be recorded: %s\n", strerror(e));
		return 1;
	}
	for (size_t i = 0; i < WORKERS; i++)
		if (pthread_create(&threads[i], NULL, worker, names[i]) != 0) return 1;
	for (uint32_t i = 0; i < JOBS; i++) put(i);
	for (size_t i = 0; i < WORKERS; i++) put(UINT32_MAX);
	for (size_t i = 0; i < WORKERS; i++) pthread_join(threads[i], NULL);
	meridian_stop();
	puts(meridian_path());
	return 0;
}
