// subscribe.c prints a live timeline that 'meridian tail DIR --ring FILE' writes into shared memory.
//
//	cc -std=c11 -O2 subscribe.c -o subscribe && ./subscribe /dev/shm/timeline
//
// It needs nothing of Meridian. The layout is in the package comments of sensor/ring (the file) and format/shm (an event). No
// system call is made for an event; an empty ring is looked at again after a millisecond. It ends with the writer.
#define _POSIX_C_SOURCE 200809L
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { head_size = 4096, event_head = 12, least_event = 88 };

// event is the part of fixed length; five texts follow, each with a NUL behind it.
struct event {
	int64_t time; // ns since 1970
	uint16_t ring_class, size;
	uint64_t number;
	int64_t low, high, recorded;
	uint64_t late, flow, slice;
	uint32_t host, row, event;
	int32_t component;
	uint8_t phase, role, flags, row_kind;
} __attribute__((packed));
_Static_assert(sizeof(struct event) == least_event, "layout");

static const unsigned char *ring;

static uint32_t word(int at) { uint32_t n; memcpy(&n, ring + at, 4); return n; }
static uint64_t offset(int at) { uint64_t n; memcpy(&n, ring + at, 8); return n; }

// position loads a number that the writer changes.
static uint64_t position(uint64_t at) { return atomic_load_explicit((const _Atomic uint64_t *)(ring + at), memory_order_acquire); }

// ended says that the writer has closed the ring or died. What is published by then is all.
static int ended(void) {
	uint32_t state = atomic_load_explicit((const _Atomic uint32_t *)(ring + 144), memory_order_acquire);
	return state == 2 || (kill((pid_t)word(44), 0) != 0 && errno == ESRCH);
}

// print writes the events of a copied piece of a sub-buffer, and counts those missing before them.
static uint64_t print(const unsigned char *b, uint64_t n, uint64_t *next, int *started) {
	uint64_t lost = 0;
	while (n >= least_event) {
		struct event e;
		memcpy(&e, b, sizeof e);
		if (e.size < least_event || e.size > n) break; // the rest of the sub-buffer is empty
		const char *text[5], *p = (const char *)b + sizeof e, *end = (const char *)b + e.size;
		for (int i = 0; i < 5; i++) {
			text[i] = p;
			p = p < end ? memchr(p, 0, (size_t)(end - p)) : NULL;
			if (!p) return lost; // not a timeline's
			p++;
		}
		if (*started) lost += e.number - *next;
		*started = 1;
		*next = e.number + 1;
		printf("%" PRId64 " %s %s %s %s\n", e.time, text[0], text[1], text[3], text[4]);
		b += e.size;
		n -= e.size;
	}
	return lost;
}

int main(int argc, char **argv) {
	struct stat info;
	int f = argc == 2 ? open(argv[1], O_RDONLY) : -1;
	if (f < 0 || fstat(f, &info) != 0 || info.st_size < head_size) {
		fprintf(stderr, "usage: subscribe RING, which 'meridian tail DIR --ring RING' makes\n");
		return 2;
	}
	void *mapped = mmap(NULL, (size_t)info.st_size, PROT_READ, MAP_SHARED, f, 0);
	if (mapped == MAP_FAILED) { perror(argv[1]); return 1; }
	ring = mapped;
	uint64_t buffers = word(28), size = word(32), shard = offset(128), data = offset(136);
	static unsigned char copy[1 << 16];
	if (memcmp(ring, "MERIDIAN", 8) || word(8) != 1 || word(24) != 1 || word(36) != 1 || size != sizeof copy ||
	    shard + 256 > (uint64_t)info.st_size || data + buffers * size > (uint64_t)info.st_size) {
		fprintf(stderr, "%s: not the ring of a timeline\n", argv[1]);
		return 1;
	}
	uint64_t at = position(shard + 128), next = 0, lost = 0; // the oldest
	for (int started = 0;;) {
		uint64_t oldest = position(shard + 128), produced = position(shard);
		if (at < oldest) at = oldest; // overtaken: print counts what is missing
		if (at >= produced) {
			if (ended() && position(shard) == produced) break;
			fflush(stdout);
			nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
			continue;
		}
		uint64_t end = (at / size + 1) * size, upto = produced < end ? produced : end;
		memcpy(copy, ring + data + at % (buffers * size), upto - at);
		atomic_thread_fence(memory_order_acquire); // the copy is read before oldest is read again
		if (position(shard + 128) > at) continue;  // overwritten meanwhile: the copy is worth nothing
		lost += print(copy, upto - at, &next, &started);
		at = upto;
	}
	printf("%" PRIu64 " events lost\n", lost);
	return 0;
}
