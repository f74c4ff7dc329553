// meridian.h: events from inside a C11 or C++17 program, for a few nanoseconds each. Nothing to link but libc and pthread.
//
//	#include "meridian.h"
//
//	MERIDIAN_EVENT(http, request_done, (int64_t, id), (const char *, path), (double, seconds));
//
//	meridian_start("server");                              // meridian_start_with takes sizes and places
//	MERIDIAN_EMIT(request_done, 42, "/index.html", 0.25);  // type-checked; arguments are evaluated only when it is on
//
// What goes in are calls of MERIDIAN_EMIT in any thread; what comes out is a ring file as package sensor/ring of Meridian
// describes it (version 1), which a Go program or Meridian's recorder reads while the program runs or after its death.
// Every thread writes into a shard of the ring of its own, which it claims at its first event and gives back when it
// ends. It gives it back earlier for a spare one if there is a reader, or one is announced, and that does not come in time.
// On the way of an event there is no lock, no system call and no allocation. An event that is switched off costs two loads,
// of where its switch is and of the switch, and a branch. Events that find no room are counted, where the reader sees the count.
//
// Programs include this file alone; what is not on the way of an event lies in the folder meridian beside it. README.md
// has examples of everything. Names that begin with mdn_ or MDN_ are not for programs.
//
// One program has one state, however many of its units include this header: what is not static inline is a weak
// definition, of which the linker keeps one. So there is no macro that one unit must define and no library to link.
#ifndef MERIDIAN_H
#define MERIDIAN_H

#if !defined(_GNU_SOURCE) && !defined(_DEFAULT_SOURCE)
#define _DEFAULT_SOURCE 1
#endif
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
#if defined(__x86_64__) || defined(__i386__)
#include <cpuid.h>
#endif

#if !defined(__linux__) || __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "meridian.h is for Linux on little-endian machines"
#endif
#if defined(__GLIBC__) && !defined(__USE_MISC)
#error "include meridian.h before all other headers, or compile with -std=gnu11 or -D_DEFAULT_SOURCE"
#endif

// MDN_SHARED is what the whole program has once; hidden symbols of a shared library would be a second one.
#define MDN_SHARED __attribute__((weak, visibility("default")))
#define MDN_COLD __attribute__((weak, visibility("default"), noinline, cold))

// meridian_bytes is the type of a field of bytes; other fields are integers, bool, float, double and strings.
typedef struct {
	const void *data;
	size_t length;
} meridian_bytes;

// meridian_options says where the ring is and how large; what is 0 stands for the value in brackets.
struct meridian_options {
	const char *dir;         // [MERIDIAN, if it has a slash, else /dev/shm, else TMPDIR or /tmp]
	unsigned shards;         // how many threads can write at a time [64]
	unsigned buffers;        // sub-buffers of each, 2^n [16]
	unsigned buffer_size;    // bytes of each, 2^n, at least 4096 [65536]
	unsigned classes;        // declarations of events, at most [1024]
	unsigned metadata;       // bytes of their text, at most [1 MiB]
	bool overwrite;          // the newest events replace the oldest, instead of being dropped
	unsigned spare;          // more shards, for threads whose own is full while there is a reader; or MERIDIAN_NO_SPARE [32]
};
#define MERIDIAN_NO_SPARE UINT_MAX

// The file, as sensor/ring/ring.go draws it.
enum {
	MDN_EVENT_HEAD = 12,
	MDN_LARGEST = 65535, // bytes of an event
	MDN_NOWHERE = 65535, // is no class
	MDN_SHARDS = 4096,   // at most
	MDN_NO_CLOCK = 0, MDN_TSC, MDN_CNTVCT, MDN_MONOTONIC_RAW
};
struct mdn_header {
	char magic[8];
	uint32_t version, header_size;
	uint64_t size;
	uint32_t shards, buffers, buffer_size, mode, clock, pid;
	unsigned char uuid[16];
	uint64_t frequency;
	int64_t origin;
	uint64_t frequency_error;
	uint32_t class_count, class_capacity;
	uint64_t metadata_length, metadata_capacity, at_classes, at_metadata, at_shards, at_data;
	uint32_t state, reader;
	uint64_t start_time;
	char program[64];
	uint64_t network;
	unsigned char boot[16];
};
struct mdn_record {
	uint32_t on, reserved;
	uint8_t name_length, category_length, reserved2[6];
	char name[160], category[64], reserved3[16];
};
struct mdn_control {
	uint64_t produced, discarded, stamp;
	uint32_t owner, reserved[9];
	uint64_t consumed, reserved2[7];
	uint64_t oldest, reserved3[15];
};
#ifdef __cplusplus
#define MDN_ASSERT static_assert
extern "C" {
#else
#define MDN_ASSERT _Static_assert
#endif
MDN_ASSERT(offsetof(struct mdn_header, program) == 160 && sizeof(struct mdn_header) == 248, "header");
MDN_ASSERT(sizeof(struct mdn_record) == 256 && offsetof(struct mdn_record, category) == 176, "class record");
MDN_ASSERT(sizeof(struct mdn_control) == 256 && offsetof(struct mdn_control, oldest) == 128, "control block");

// mdn_class is one declaration; units that share a header have one each, and one number in the ring. on points to the
// switch in the ring, or to local where there is no ring.
struct mdn_field {
	const char *name;
	char kind; // i, u: signed, unsigned integer; c: char; b: bool; f: float; t: text; y: bytes
	unsigned char size;
};
struct mdn_class {
	const char *category, *name, *ending; // the ending says what events do to their row: ":begin", ":end", ":counter"
	const char *context;                  // TSDL of what stands before the fields
	const struct mdn_field *fields;       // up to one without a name
	uint32_t *on, local;
	uint16_t id;            // MDN_NOWHERE if the ring has no room for it
	struct mdn_class *same; // the first that says the same
	struct mdn_class *next;
	int64_t value; // of a counter
};

// mdn_writer is a thread's place in its shard. A thread that has none has limit 0, so that its first event finds no room
// and goes the slow way.
struct mdn_writer {
	uint64_t position, limit; // where the next event goes, and the end of its sub-buffer
	uint64_t mask;            // BufferCount * BufferSize - 1
	uint64_t slices;          // what makes a position a number of slices that no other thread has
	unsigned char *base;      // the shard's data
	struct mdn_control *control;
	uint32_t busy, generation;
	uint16_t clock, place; // place: in mdn.shards
	uint16_t full, spare_retry_in;  // until pages, or a spare shard, are looked for again
};

// mdn_state is what a program has once. generation counts its rings: a child of fork has another one than its parent.
struct mdn_state {
	unsigned char *map;
	struct mdn_class *first;
	uint64_t lost;    // events that no shard could count
	uint64_t process; // of tags
	uint64_t count;   // of tags
	uint64_t size;
	sigset_t mask; // of the thread that has the lock, before
	int cancel;    // as mask
	uint32_t lock, generation;
	bool ready; // the ring can be written
	bool started, stopped, prepared;
	int file;
	dev_t device; // of the file
	ino_t inode;
	pthread_key_t key;
	struct meridian_options options;
	char program[64], dir[200], path[300];
	uint16_t shards[MDN_SHARDS]; // those for claiming, then the spare ones, as they are now
};
MDN_SHARED struct mdn_state mdn;
// The second writer is for events in a signal handler that interrupted an event of the same thread: it has a shard of its
// own. initial-exec: a handler may ask for it, and it costs no call in a shared library.
MDN_SHARED __thread struct mdn_writer mdn_thread[2] __attribute__((tls_model("initial-exec")));

MDN_COLD bool mdn_make_room(const struct mdn_class *c, struct mdn_writer *w, uint64_t size);
MDN_COLD void mdn_drop(struct mdn_writer *w);
MDN_COLD size_t mdn_cut(const char *s);
MDN_COLD void mdn_enter(struct mdn_class *c);
MDN_COLD void mdn_leave(struct mdn_class *c);

#ifdef MERIDIAN_TEST_CLOCK // for tests: counts its readings
static inline uint64_t mdn_now(uint32_t clock) {
	(void)clock;
	return ++mdn.count;
}
#else
static inline uint64_t mdn_now(uint32_t clock) {
#if defined(__x86_64__) || defined(__i386__)
	if (__builtin_expect(clock == MDN_TSC, 1)) return __builtin_ia32_rdtsc();
#elif defined(__aarch64__)
	if (__builtin_expect(clock == MDN_CNTVCT, 1)) {
		uint64_t count;
		__asm__ __volatile__("mrs %0, cntvct_el0" : "=r"(count));
		return count;
	}
#endif
	(void)clock;
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC_RAW, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}
#endif

static inline bool mdn_is_on(struct mdn_class *c) {
	return __builtin_expect(__atomic_load_n(__atomic_load_n(&c->on, __ATOMIC_ACQUIRE), __ATOMIC_RELAXED) != 0, 0);
}

// mdn_begin returns where the fields go, or NULL if the event is dropped, which is counted.
//
// busy says to a signal handler that it interrupted an event: both would fill in the same place. Only the order of this
// thread's own instructions matters for that, hence the fences for signals. A handler that interrupted another one's
// event, too, finds no writer.
static inline unsigned char *mdn_begin(const struct mdn_class *c, uint64_t size, struct mdn_writer **writer) {
	struct mdn_writer *w = mdn_thread;
	if (__builtin_expect(w->busy != 0, 0) && (++w)->busy) {
		mdn_drop(w);
		return NULL;
	}
	w->busy = 1;
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	if (__builtin_expect(size > MDN_LARGEST || w->position + size > w->limit, 0) && !mdn_make_room(c, w, size)) {
		__atomic_signal_fence(__ATOMIC_SEQ_CST);
		w->busy = 0;
		return NULL;
	}
	unsigned char *p = w->base + (w->position & w->mask);
	uint64_t stamp = mdn_now(w->clock);
	uint32_t head = c->id | (uint32_t)size << 16;
	memcpy(p, &stamp, 8);
	memcpy(p + 8, &head, 4);
	w->control->stamp = stamp;
	*writer = w;
	return p + MDN_EVENT_HEAD;
}

// mdn_end publishes the event: what was stored before is there for a reader that sees produced.
static inline void mdn_end(struct mdn_writer *w, uint64_t size) {
	w->position += size;
	__atomic_store_n(&w->control->produced, w->position, __ATOMIC_RELEASE);
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	w->busy = 0;
}

// The types of fields and their kinds: the one list from which C and C++ each make their choice by type.
#define MDN_TYPES(X)                                                                                                   \
	X(bool, 'b') X(char, CHAR_MIN < 0 ? 'i' : 'u') X(signed char, 'i') X(unsigned char, 'u') X(short, 'i')             \
	X(unsigned short, 'u') X(int, 'i') X(unsigned int, 'u') X(long, 'i') X(unsigned long, 'u') X(long long, 'i')       \
	X(unsigned long long, 'u') X(float, 'f') X(double, 'f') X(char *, 't') X(const char *, 't') X(meridian_bytes, 'y')
#ifdef __cplusplus
} // extern "C": what follows are templates
template <typename T> struct mdn_kind; // has no value for types that no field can be
#define MDN_TYPE(type, number) template <> struct mdn_kind<type> { enum : char { value = number }; };
MDN_TYPES(MDN_TYPE)
#define MDN_KIND(type) (mdn_kind<type>::value)
extern "C" {
#else
#define MDN_TYPE(type, number) type *: number,
#define MDN_KIND(type) (_Generic((type *)0, MDN_TYPES(MDN_TYPE) struct mdn_state *: 0))
#endif

// The kind is a constant wherever these are called, so that of each only one line is left: for a number one store.
// A text of more than MDN_LONGEST bytes is cut, bytes are too.
enum { MDN_LONGEST = 4096 };
static inline size_t mdn_length(char kind, const void *value, size_t size) {
	if (kind == 't') {
		const char *text = *(const char *const *)value;
		size_t n = text ? strlen(text) : 0;
		return __builtin_expect(n > MDN_LONGEST, 0) ? mdn_cut(text) : n;
	}
	if (kind == 'y') {
		size_t n = ((const meridian_bytes *)value)->length;
		return __builtin_expect(n > MDN_LONGEST, 0) ? mdn_cut(NULL) : n;
	}
	return size;
}

static inline size_t mdn_size(char kind, size_t length) {
	return kind == 't' ? length + 1 : kind == 'y' ? length + 4 : length;
}

static inline unsigned char *mdn_put(unsigned char *at, char kind, const void *value, size_t length) {
	if (kind == 't') {
		const char *text = *(const char *const *)value;
		if (text) memcpy(at, text, length);
		if (text && text[length]) memcpy(at + length - 3, "\xe2\x80\xa6", 3); // it was cut
		at[length] = 0;
		return at + length + 1;
	}
	if (kind == 'y') {
		uint32_t count = (uint32_t)length;
		memcpy(at, &count, 4);
		if (length) memcpy(at + 4, ((const meridian_bytes *)value)->data, length);
		return at + 4 + length;
	}
	memcpy(at, value, length);
	return at + length;
}

// MDN_MAP applies a macro to every field of a declaration, whose first argument is its name.
#define MDN_JOIN_(a, b) a##b
#define MDN_JOIN(a, b) MDN_JOIN_(a, b)
#define MDN_FIRST_(a, ...) a
#define MDN_FIRST(...) MDN_FIRST_(__VA_ARGS__, )
// MDN_COUNT is its 34th argument: of what stands behind a name and its fields the last for none, the one before it for
// one field, and so on up to 32, so that more than eight get a message.
#define MDN_COUNT(...) MDN_COUNT_(__VA_ARGS__)
#define MDN_COUNT_(name, a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s, t, u, v, w, x, y, z, a2, b2, c2, d2, \
	e2, f2, chosen, ...) chosen
#define MDN_8(x) x, x, x, x, x, x, x, x
#define MDN_24(x) MDN_8(x), MDN_8(x), MDN_8(x)
#define MDN_FEW(...) MDN_COUNT(__VA_ARGS__, MDN_24(0), MDN_8(1), 1, )
#define MDN_MAP(m, ...)                                                                                                \
	MDN_JOIN(MDN_MAP_, MDN_COUNT(__VA_ARGS__, MDN_24(many), 8, 7, 6, 5, 4, 3, 2, 1, 0, ))(m, __VA_ARGS__)
#define MDN_MAP_0(m, n)
#define MDN_MAP_1(m, n, a) m(a)
#define MDN_MAP_2(m, n, a, b) m(a) m(b)
#define MDN_MAP_3(m, n, a, b, c) m(a) m(b) m(c)
#define MDN_MAP_4(m, n, a, b, c, d) m(a) m(b) m(c) m(d)
#define MDN_MAP_5(m, n, a, b, c, d, e) m(a) m(b) m(c) m(d) m(e)
#define MDN_MAP_6(m, n, a, b, c, d, e, f) m(a) m(b) m(c) m(d) m(e) m(f)
#define MDN_MAP_7(m, n, a, b, c, d, e, f, g) m(a) m(b) m(c) m(d) m(e) m(f) m(g)
#define MDN_MAP_8(m, n, a, b, c, d, e, f, g, h) m(a) m(b) m(c) m(d) m(e) m(f) m(g) m(h)
#define MDN_MAP_many(m, n, a, b, c, d, e, f, g, h, ...) MDN_MAP_8(m, n, a, b, c, d, e, f, g, h) // MDN_CLASS refuses them

#define MDN_DESCRIBE(field) MDN_DESCRIBE_ field
#define MDN_DESCRIBE_(type, name) {#name, MDN_KIND(type), sizeof(type)},
#define MDN_PARAMETER(field) MDN_PARAMETER_ field
#define MDN_PARAMETER_(type, name) , type name
#define MDN_LENGTH(field) MDN_LENGTH_ field
#define MDN_LENGTH_(type, name) const size_t mdn_length_##name = mdn_length(MDN_KIND(type), &name, sizeof name);
#define MDN_SIZE(field) MDN_SIZE_ field
#define MDN_SIZE_(type, name) + mdn_size(MDN_KIND(type), mdn_length_##name)
#define MDN_PUT(field) MDN_PUT_ field
#define MDN_PUT_(type, name) mdn_p = mdn_put(mdn_p, MDN_KIND(type), &name, mdn_length_##name);

#define MDN_CLASS(symbol, category, label, ending, context, ...)                                                       \
	MDN_ASSERT(MDN_FEW(__VA_ARGS__), category ":" label " has more than eight fields; declare an event of its own for the rest"); \
	static const struct mdn_field mdn_fields_##symbol[] = {MDN_MAP(MDN_DESCRIBE, __VA_ARGS__){NULL, 0, 0}};            \
	static struct mdn_class mdn_class_##symbol = {category, label, ending, context, mdn_fields_##symbol,               \
		&mdn_class_##symbol.local, 0, 0, NULL, NULL, 0};                                                               \
	__attribute__((constructor)) static void mdn_enter_##symbol(void) { mdn_enter(&mdn_class_##symbol); }              \
	__attribute__((destructor)) static void mdn_leave_##symbol(void) { mdn_leave(&mdn_class_##symbol); }

// An emitter returns the number of the slice that it began, for events that begin none 1, and 0 if the event was dropped.
#define MDN_EMITTER(symbol, slice, ...)                                                                                \
	__attribute__((unused)) static inline uint64_t mdn_emit_##symbol(                                                  \
		const struct mdn_class *mdn_c MDN_MAP(MDN_PARAMETER, __VA_ARGS__)) {                                           \
		MDN_MAP(MDN_LENGTH, __VA_ARGS__)                                                                               \
		const uint64_t mdn_total = MDN_EVENT_HEAD + (slice ? 8 : 0) MDN_MAP(MDN_SIZE, __VA_ARGS__);                    \
		struct mdn_writer *mdn_w;                                                                                      \
		unsigned char *mdn_p = mdn_begin(mdn_c, mdn_total, &mdn_w);                                                    \
		uint64_t mdn_number = 1;                                                                                       \
		if (!mdn_p) return 0;                                                                                          \
		if (slice) mdn_p = mdn_put_slice(mdn_w, mdn_p, &mdn_number);                                                   \
		MDN_MAP(MDN_PUT, __VA_ARGS__)                                                                                  \
		mdn_end(mdn_w, mdn_total);                                                                                     \
		return mdn_number;                                                                                             \
	}

static inline unsigned char *mdn_put_slice(const struct mdn_writer *w, unsigned char *at, uint64_t *number) {
	*number = w->slices + w->position;
	memcpy(at, number, 8);
	return at + 8;
}

// mdn_number writes an event that is a number, and a role of size 1 or 0.
static inline void mdn_number(const struct mdn_class *c, uint64_t number, unsigned char role, size_t size) {
	struct mdn_writer *w;
	unsigned char *p = mdn_begin(c, MDN_EVENT_HEAD + 8 + size, &w);
	if (!p) return;
	memcpy(p, &number, 8);
	memcpy(p + 8, &role, size);
	mdn_end(w, MDN_EVENT_HEAD + 8 + size);
}


// What programs use. Declarations stand at file scope, once or in a header that several units include.

// MERIDIAN_EVENT(category, name, (type, field)...) declares events of up to eight fields; of more the compiler tells.
#define MERIDIAN_EVENT(category, ...) MDN_EVENT(#category, MDN_FIRST(__VA_ARGS__), __VA_ARGS__)
#define MDN_EVENT(category, name, ...) MDN_EVENT_(category, name, __VA_ARGS__)
#define MDN_EVENT_(category, name, ...)                                                                                \
	MDN_CLASS(name, category, #name, "", "", __VA_ARGS__) MDN_EMITTER(name, 0, __VA_ARGS__) MDN_ASSERT(1, "")

// MERIDIAN_EMIT(name, field...) emits one; the types are those of the declaration.
#define MERIDIAN_EMIT(...)                                                                                             \
	do {                                                                                                               \
		if (MERIDIAN_ON(MDN_FIRST(__VA_ARGS__))) (void)MDN_CALL(__VA_ARGS__);                                          \
	} while (0)
#define MERIDIAN_ON(name) mdn_is_on(&MDN_JOIN(mdn_class_, name))
#define MDN_CALL(...)                                                                                                  \
	MDN_JOIN(MDN_CALL_, MDN_COUNT(__VA_ARGS__, MDN_24(more), MDN_8(more), one, ))(__VA_ARGS__)
#define MDN_CALL_one(name) mdn_emit_##name(&mdn_class_##name)
#define MDN_CALL_more(name, ...) mdn_emit_##name(&mdn_class_##name, __VA_ARGS__)

// MERIDIAN_SLICE declares stretches of time: uint64_t s = MERIDIAN_BEGIN(name, field...); ... MERIDIAN_END(name, s).
// They may overlap, and end in another thread. s is 0 for one that is not recorded, whose end is not either.
#define MERIDIAN_SLICE(category, ...) MDN_SLICE(#category, MDN_FIRST(__VA_ARGS__), __VA_ARGS__)
#define MDN_SLICE(category, name, ...) MDN_SLICE_(category, name, __VA_ARGS__)
#define MDN_SLICE_(category, name, ...)                                                                                \
	MDN_CLASS(name, category, #name, ":begin", MDN_IN_SLICE, __VA_ARGS__)                                              \
	MDN_CLASS(name##_end, category, #name, ":end", MDN_IN_SLICE, name) MDN_EMITTER(name, 1, __VA_ARGS__) MDN_ASSERT(1, "")
#define MDN_IN_SLICE "integer { size = 64; align = 8; signed = false; } _slice;"
#define MERIDIAN_BEGIN(...) (MERIDIAN_ON(MDN_FIRST(__VA_ARGS__)) ? MDN_CALL(__VA_ARGS__) : 0)
#define MERIDIAN_END(name, slice) mdn_end_slice(&mdn_class_##name##_end, slice)
static inline void mdn_end_slice(struct mdn_class *c, uint64_t slice) {
	if (slice != 0 && mdn_is_on(c)) mdn_number(c, slice, 0, 0);
}

// MERIDIAN_COUNTER declares a whole number whose value is recorded at each change, MERIDIAN_GAUGE one that is measured
// now and then. MERIDIAN_ADD is for counters and counts even while they are switched off.
#define MERIDIAN_COUNTER(category, name)                                                                               \
	MDN_CLASS(name, #category, #name, ":counter", "", name, (int64_t, name)) MDN_EMITTER(name, 0, name, (int64_t, name)) \
	__attribute__((unused)) static inline void mdn_set_##name(int64_t v) {                                             \
		__atomic_store_n(&mdn_class_##name.same->value, v, __ATOMIC_RELAXED);                                          \
		if (MERIDIAN_ON(name)) mdn_emit_##name(&mdn_class_##name, v);                                                  \
	}                                                                                                                  \
	__attribute__((unused)) static inline void mdn_add_##name(int64_t n) {                                             \
		int64_t v = __atomic_add_fetch(&mdn_class_##name.same->value, n, __ATOMIC_RELAXED);                            \
		if (MERIDIAN_ON(name)) mdn_emit_##name(&mdn_class_##name, v);                                                  \
	}                                                                                                                  \
	MDN_ASSERT(1, "")
#define MERIDIAN_GAUGE(category, name)                                                                                 \
	MDN_CLASS(name, #category, #name, ":counter", "", name, (double, name)) MDN_EMITTER(name, 0, name, (double, name))  \
	__attribute__((unused)) static inline void mdn_set_##name(double v) {                                              \
		if (MERIDIAN_ON(name)) mdn_emit_##name(&mdn_class_##name, v);                                                  \
	}                                                                                                                  \
	MDN_ASSERT(1, "")
#define MERIDIAN_ADD(name, n) mdn_add_##name(n)
#define MERIDIAN_SET(name, v) mdn_set_##name(v)

// MERIDIAN_MARK declares kinds of messages, of which MERIDIAN_SEND and MERIDIAN_RECEIVE record the ends: the same number,
// not 0, at both. Those without a kind of their own are meridian_send and meridian_receive.
#define MERIDIAN_MARK(category, name) MDN_CLASS(name, #category, #name, "", MDN_OF_MESSAGE, name) MDN_ASSERT(1, "")
#define MDN_OF_MESSAGE                                                                                                 \
	"integer { size = 64; align = 8; signed = false; } _flow; enum : integer { size = 8; align = 8; signed = false; } "  \
	"{ \"none\" = 0, \"sends\" = 1, \"receives\" = 2, \"enters\" = 3, \"leaves\" = 4 } _role;"
#define MERIDIAN_SEND(name, number) mdn_mark(&mdn_class_##name, number, 1)
#define MERIDIAN_RECEIVE(name, number) mdn_mark(&mdn_class_##name, number, 2)
static inline void mdn_mark(struct mdn_class *c, uint64_t number, unsigned char role) {
	if (number != 0 && mdn_is_on(c)) mdn_number(c, number, role, 1);
}
extern struct mdn_class mdn_class_message, mdn_class_cut;
static inline void meridian_send(uint64_t number) { mdn_mark(&mdn_class_message, number, 1); }
static inline void meridian_receive(uint64_t number) { mdn_mark(&mdn_class_message, number, 2); }

// A tag names one message among those of all processes; it is carried in the message, as text or as 16 bytes.
struct meridian_tag {
	uint64_t process, count;
};
static inline uint64_t meridian_tag_number(struct meridian_tag t) {
	return t.process + t.count ? t.process + t.count : 1;
}
MDN_COLD struct meridian_tag meridian_new_tag(void);
MDN_COLD void meridian_tag_text(struct meridian_tag t, char text[34]);
MDN_COLD bool meridian_parse_tag(const char *text, struct meridian_tag *t);

// meridian_start makes the ring and switches the events on that MERIDIAN_EVENTS names, or all. It returns 0, or an errno:
// then nothing is recorded and the program may go on. A program starts once. meridian_stop ends it; the file stays for its
// reader, which may miss an event that another thread is writing just then: stop when the others are done. meridian_switch turns all events on or off that patterns name, such as "http:*,!http:debug", and returns how many.
MDN_COLD int meridian_start(const char *program);
MDN_COLD int meridian_start_with(const char *program, const struct meridian_options *o);
MDN_COLD void meridian_stop(void);
MDN_COLD int meridian_switch(const char *patterns, bool on);
MDN_COLD const char *meridian_path(void);
#include "meridian/class.h"
#include "meridian/ring.h"
#include "meridian/shard.h"
#include "meridian/tag.h"
#ifdef __cplusplus
}
#endif
#endif
