// What an event of six 64-bit integers costs with meridian.h, beside what no such thing can go below on this machine: reading
// the cycle counter and storing 64 bytes, into as much memory as a ring has.
//
//	gcc -O2 -pthread -I sensor/c sensor/c/testdata/bench.c -o bench && ./bench
//	./bench serve        answers lines "WHAT COUNT" on stdin with the nanoseconds that COUNT of WHAT took
//
// WHAT is one of the names in the table below. Without serve all take turns in 41 rounds, beginning with another one each
// time, and the medians are printed, with the median over the rounds of the ratios to the limit.
#include "meridian.h"

#include <stdlib.h>

MERIDIAN_EVENT(bench, six, (int64_t, a), (int64_t, b), (int64_t, c), (int64_t, d), (int64_t, e), (int64_t, f));
MERIDIAN_EVENT(bench, off, (int64_t, a), (int64_t, b), (int64_t, c), (int64_t, d), (int64_t, e), (int64_t, f));
MERIDIAN_EVENT(bench, text, (int64_t, a), (const char *, path));
MERIDIAN_SLICE(bench, work);

enum { LINES = (1 << 20) / 64, ROUNDS = 41, EVENTS = 1000000 };
#ifdef __aarch64__
enum { COUNTER = MDN_CNTVCT };
#else
enum { COUNTER = MDN_TSC };
#endif
struct store {
	uint64_t lines[LINES][8], next;
};
static struct store stores[2];
uint32_t flag; // not static, or a compiler would know that nobody changes it

static int64_t now(void) {
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

// The values change from event to event, or a compiler would store what it knows.
static void limit_in(struct store *s, uint64_t n) {
	for (uint64_t i = 0; i < n; i++) {
		uint64_t *line = s->lines[s->next++ % LINES];
		line[0] = mdn_now(COUNTER);
		line[1] = i, line[2] = i + 1, line[3] = i + 2, line[4] = i + 3, line[5] = i + 4, line[6] = i + 5, line[7] = i + 6;
		__asm__ __volatile__("" : : : "memory"); // as an event may: the lines are no local matter
	}
}
static void limit(uint64_t n) { limit_in(&stores[0], n); }
static void six(uint64_t n) {
	for (uint64_t i = 0; i < n; i++) {
		int64_t v = (int64_t)i;
		MERIDIAN_EMIT(six, v, v + 1, v + 2, v + 3, v + 4, v + 5);
	}
}
static void off(uint64_t n) {
	for (uint64_t i = 0; i < n; i++) {
		int64_t v = (int64_t)i;
		MERIDIAN_EMIT(off, v, v + 1, v + 2, v + 3, v + 4, v + 5);
	}
}
static void load(uint64_t n) {
	for (uint64_t i = 0; i < n; i++)
		if (__atomic_load_n(&flag, __ATOMIC_ACQUIRE)) flag++;
}
static void text(uint64_t n) {
	for (uint64_t i = 0; i < n; i++) MERIDIAN_EMIT(text, (int64_t)i, "/a/path/of/some/length");
}
static void slice(uint64_t n) {
	for (uint64_t i = 0; i < n; i++) {
		uint64_t s = MERIDIAN_BEGIN(work);
		MERIDIAN_END(work, s);
	}
}

// Two threads at once: the slower one's time counts.
struct one {
	void (*run)(uint64_t);
	uint64_t n;
	int64_t took;
	int *ready;
};
static void other_limit(uint64_t n) { limit_in(&stores[1], n); }
static void *half(void *p) {
	struct one *o = (struct one *)p;
	o->run(1); // the thread's shard is claimed
	__atomic_fetch_add(o->ready, 1, __ATOMIC_SEQ_CST);
	while (__atomic_load_n(o->ready, __ATOMIC_SEQ_CST) < 2) {
	}
	int64_t begin = now();
	o->run(o->n);
	o->took = now() - begin;
	return NULL;
}
static int64_t both(void (*a)(uint64_t), void (*b)(uint64_t), uint64_t n) {
	int ready = 0;
	struct one one = {a, n, 0, &ready}, two = {b, n, 0, &ready};
	pthread_t t;
	if (pthread_create(&t, NULL, half, &two) != 0) abort();
	half(&one);
	pthread_join(t, NULL);
	return one.took > two.took ? one.took : two.took;
}

static const struct {
	const char *name;
	void (*run)(uint64_t), (*beside)(uint64_t);
} table[] = {
	{"limit", limit, NULL}, {"six", six, NULL}, {"load", load, NULL}, {"off", off, NULL}, {"text", text, NULL},
	{"slice", slice, NULL}, {"two-limit", limit, other_limit}, {"two", six, six},
};
enum { KINDS = sizeof table / sizeof table[0] };

static int64_t measure(size_t k, uint64_t n) {
	if (table[k].beside) return both(table[k].run, table[k].beside, n);
	int64_t begin = now();
	table[k].run(n);
	return now() - begin;
}

static int ascending(const void *a, const void *b) {
	double x = *(const double *)a, y = *(const double *)b;
	return x < y ? -1 : x > y;
}
static double median(double *v, size_t n) {
	qsort(v, n, sizeof *v, ascending);
	return v[n / 2];
}

int main(int argc, char **argv) {
	struct meridian_options o;
	memset(&o, 0, sizeof o);
	o.overwrite = true; // nobody reads; the ring is gone through again and again, as with a reader
	int e = meridian_start_with("bench", &o);
	if (e != 0) {
		fprintf(stderr, "bench: no ring: %s\n", strerror(e));
		return 1;
	}
	unlink(meridian_path());
	meridian_switch("bench:off", false);
	if (argc > 1 && strcmp(argv[1], "serve") == 0) {
		char line[128], name[64];
		unsigned long long n;
		puts("ready");
		fflush(stdout);
		while (fgets(line, sizeof line, stdin)) {
			size_t k = 0;
			if (sscanf(line, "%63s %llu", name, &n) != 2) return 2;
			while (k < KINDS && strcmp(table[k].name, name) != 0) k++;
			if (k == KINDS) return 2;
			printf("%lld\n", (long long)measure(k, n));
			fflush(stdout);
		}
		return 0;
	}
	static double took[KINDS][ROUNDS], ratio[KINDS][ROUNDS];
	for (size_t k = 0; k < KINDS; k++) measure(k, EVENTS);
	for (size_t r = 0; r < ROUNDS; r++) {
		for (size_t k = 0; k < KINDS; k++) took[(k + r) % KINDS][r] = (double)measure((k + r) % KINDS, EVENTS) / EVENTS;
		for (size_t k = 0; k < KINDS; k++) ratio[k][r] = took[k][r] / took[0][r];
	}
	printf("%-10s %8s %8s\n", "", "ns", "x limit");
	for (size_t k = 0; k < KINDS; k++)
		printf("%-10s %8.2f %8.3f\n", table[k].name, median(took[k], ROUNDS), median(ratio[k], ROUNDS));
	return 0;
}
