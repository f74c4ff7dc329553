/* A program that emits RATE events a second for SECONDS, in bursts of 64. */
#include <stdlib.h>
#include <time.h>

static long now(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000L + t.tv_nsec;
}

int main(int argc, char **argv)
{
	if (argc != 3 || START())
		return 2;
	long rate = atol(argv[1]), n = rate * atol(argv[2]), begin = now();
	for (long i = 0; i < n; i++) {
		while (i % 64 == 0 && now() - begin < i * 1000000000L / rate)
			;
		EMIT(i);
	}
	return 0;
}
