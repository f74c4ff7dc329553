// The part of meridian.h, which includes it, that makes rings: the file, the clock's frequency, and what happens at fork.
// Nothing of it is on the way of an event.
//
//	meridian_start --> mdn_create: file, header, clock --> mdn_register: every class --> switches on
//	fork --> mdn_after_fork, in the child: no ring, the switches as they stood --> its first event --> mdn_create again
//
// Everything here is done under mdn.lock.

// Clocks.

static inline size_t mdn_read(const char *path, char *text, size_t size) {
	int f = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n = f < 0 ? 0 : read(f, text, size - 1);
	if (f >= 0) close(f);
	text[n > 0 ? n : 0] = 0;
	return n > 0 ? (size_t)n : 0;
}

#ifdef MERIDIAN_TEST_CLOCK
static inline void mdn_measure(struct mdn_header *h) { h->clock = MDN_MONOTONIC_RAW, h->frequency = 1000000000; }
#else
// mdn_best chooses what to stamp with. The kernel watches whether the TSCs of all processors agree, and strikes it from its
// list if they do not.
static inline uint32_t mdn_best(void) {
#if defined(__x86_64__) || defined(__i386__)
	unsigned a, b, c, d;
	char sources[256];
	if (__get_cpuid(0x80000007, &a, &b, &c, &d) && (d & 1u << 8) &&
		mdn_read("/sys/devices/system/clocksource/clocksource0/available_clocksource", sources, sizeof sources) &&
		strstr(sources, "tsc"))
		return MDN_TSC;
#elif defined(__aarch64__)
	return MDN_CNTVCT;
#endif
	return MDN_MONOTONIC_RAW;
}

// mdn_beside is a clock read between two readings of the counter, the closest of several.
struct mdn_beside {
	uint64_t counter, width;
	int64_t ns;
};
static inline struct mdn_beside mdn_read_beside(uint32_t clock, clockid_t id) {
	struct mdn_beside best = {0, UINT64_MAX, 0};
	for (int i = 0; i < 32; i++) {
		struct timespec t;
		uint64_t before = mdn_now(clock);
		clock_gettime(id, &t);
		uint64_t width = mdn_now(clock) - before;
		if (width >= best.width) continue;
		best.counter = before + width / 2;
		best.width = width;
		best.ns = INT64_C(1000000000) * t.tv_sec + t.tv_nsec;
	}
	return best;
}

// mdn_measure finds the counter's frequency by MONOTONIC, in 3 ms, and what time it was when it was 0: equation (1) of
// Tinetti et al. with the error of (2) and (3), to which the clocks' own steps add up to 50 ns at each end.
static inline void mdn_measure(struct mdn_header *h) {
	const double step = 50;
	h->clock = mdn_best();
	h->frequency = 1000000000;
	if (h->clock != MDN_MONOTONIC_RAW) {
		struct timespec wait = {0, 3000000};
		struct mdn_beside a = mdn_read_beside(h->clock, CLOCK_MONOTONIC);
		while (nanosleep(&wait, &wait) != 0 && errno == EINTR) {
		}
		struct mdn_beside b = mdn_read_beside(h->clock, CLOCK_MONOTONIC);
		double counts = (double)(b.counter - a.counter), ns = (double)(b.ns - a.ns);
		double off = (double)(a.width + b.width) / 2 / counts + 2 * step / ns;
		h->frequency = (uint64_t)(counts / ns * 1e9 + 0.5);
		h->frequency_error = (uint64_t)(off * 1e12);
	}
	struct mdn_beside now = mdn_read_beside(h->clock, CLOCK_REALTIME);
	h->origin = now.ns - (int64_t)(now.counter / h->frequency * 1000000000 +
		now.counter % h->frequency * 1000000000 / h->frequency);
}
#endif

// The ring.

static inline uint64_t mdn_pages(uint64_t n) { return (n + 4095) & ~(uint64_t)4095; }

// mdn_count_lost brings what no shard could count into the ring. It is called when the ring is ready, and by a thread that counted
// while it became so: one of the two finds the number.
static inline void mdn_count_lost(void) {
	uint64_t n = __atomic_exchange_n(&mdn.lost, 0, __ATOMIC_SEQ_CST);
	if (n) __atomic_fetch_add(&mdn_control_of(mdn.map, 0)->discarded, n, __ATOMIC_RELAXED);
}

// mdn_network returns the inode of the process's network namespace, 0 where that is not known.
static inline uint64_t mdn_network(void) {
	struct stat s;
	return stat("/proc/self/ns/net", &s) == 0 ? s.st_ino : 0;
}

// mdn_boot fills in the UUID of the machine's start, zeros where that is not known.
static inline void mdn_boot(unsigned char id[16]) {
	char text[64];
	unsigned n = 0;
	mdn_read("/proc/sys/kernel/random/boot_id", text, sizeof text);
	memset(id, 0, 16);
	for (const char *p = text; *p && n < 32; p++) {
		const char *digits = "0123456789abcdef", *d = strchr(digits, *p);
		if (!d) continue;
		id[n / 2] |= (unsigned char)((d - digits) << (n % 2 ? 0 : 4));
		n++;
	}
	if (n < 32) memset(id, 0, 16);
}

// mdn_expected says whether a reader listens in the ring's directory, by a lock on it (sensor/ring, listen.go). Its spare shards are
// then used before the reader has opened the ring.
static inline bool mdn_expected(void) {
	char dir[sizeof mdn.path];
	memcpy(dir, mdn.path, sizeof dir);
	*strrchr(dir, '/') = 0;
	int f = open(*dir ? dir : "/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (f < 0) return false;
	bool taken = flock(f, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK;
	flock(f, LOCK_UN);
	close(f);
	return taken;
}

// mdn_prepare fills the header in. That it is in use is said last: until then no reader believes anything else.
static inline int mdn_prepare(const unsigned char uuid[16], const struct mdn_header *shape) {
	struct mdn_header *h = (struct mdn_header *)(void *)mdn.map;
	char stat[1024];
	int e = mdn_reserve(0, sizeof *h);
	if (e == 0) e = mdn_reserve(shape->at_shards, shape->at_data - shape->at_shards);
	if (e != 0) return e;
	for (unsigned i = 0; i < shape->shards; i++) mdn.shards[i] = (uint16_t)i;
	*h = *shape;
	memcpy(h->magic, "MERIDIAN", 8);
	h->version = 1;
	h->header_size = 4096;
	h->pid = (uint32_t)getpid();
	memcpy(h->uuid, uuid, 16);
	mdn_measure(h);
	if (mdn_read("/proc/self/stat", stat, sizeof stat)) {
		char *p = strrchr(stat, ')'); // the program's name may hold blanks and parentheses of its own
		for (int field = 2; p && field < 22; field++) p = strchr(p + 1, ' ');
		if (p) h->start_time = strtoull(p, NULL, 10);
	}
	memcpy(h->program, mdn.program, sizeof h->program);
	h->network = mdn_network();
	mdn_boot(h->boot);
	h->reader = mdn_expected();
	for (struct mdn_class *c = mdn.first; c; c = c->next) {
		e = mdn_register(c, mdn.generation ? c->local != 0 : mdn_begins_on(c));
		if (e != 0 && !(e == ENOSPC && mdn.generation)) return e; // a library's may have been too many for the parent's ring, too
	}
	for (struct mdn_class *c = mdn.first; c; c = c->next) c->id = c->same->id; // a child's other threads emit from now on
	__atomic_store_n(&h->state, 1, __ATOMIC_RELEASE);
	__atomic_store_n(&mdn.ready, true, __ATOMIC_SEQ_CST);
	mdn_count_lost();
	return 0;
}

// mdn_create makes the file in a directory and maps it, without switching anything on.
static inline int mdn_create(const char *dir) {
	const struct meridian_options *o = &mdn.options;
	unsigned char u[16];
	struct mdn_header shape;
	memset(&shape, 0, sizeof shape);
	shape.shards = o->shards + o->spare;
	shape.buffers = o->buffers;
	shape.buffer_size = o->buffer_size;
	shape.mode = o->overwrite;
	shape.class_capacity = o->classes;
	shape.metadata_capacity = o->metadata;
	shape.at_classes = 4096;
	shape.at_metadata = mdn_pages(shape.at_classes + (uint64_t)o->classes * sizeof(struct mdn_record));
	shape.at_shards = mdn_pages(shape.at_metadata + o->metadata);
	shape.at_data = mdn_pages(shape.at_shards + (uint64_t)shape.shards * sizeof(struct mdn_control));
	shape.size = shape.at_data + (uint64_t)shape.shards * o->buffers * o->buffer_size;
	if (getrandom(u, sizeof u, 0) != sizeof u) return errno;
	u[6] = (unsigned char)((u[6] & 0x0f) | 0x40); // version 4: random
	u[8] = (unsigned char)((u[8] & 0x3f) | 0x80);
	int n = snprintf(mdn.path, sizeof mdn.path,
		"%s/meridian-%d-%02x%02x%02x%02x-%02x%02x-%02x%02x-%02x%02x-%02x%02x%02x%02x%02x%02x.ring", dir, getpid(), u[0],
		u[1], u[2], u[3], u[4], u[5], u[6], u[7], u[8], u[9], u[10], u[11], u[12], u[13], u[14], u[15]);
	if (n < 0 || (size_t)n >= sizeof mdn.path) return ENAMETOOLONG;
	mdn.file = open(mdn.path, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (mdn.file < 0) return errno;
	struct stat s;
	int e = ftruncate(mdn.file, (off_t)shape.size) != 0 || fstat(mdn.file, &s) != 0 ? errno : 0;
	void *map = e == 0 ? mmap(NULL, shape.size, PROT_READ | PROT_WRITE, MAP_SHARED, mdn.file, 0) : MAP_FAILED;
	if (e == 0 && map == MAP_FAILED) e = errno;
	if (e == 0) {
		mdn.map = (unsigned char *)map;
		mdn.size = shape.size;
		mdn.device = s.st_dev;
		mdn.inode = s.st_ino;
		e = mdn_prepare(u, &shape);
	}
	if (e == 0) return 0;
	if (map != MAP_FAILED) munmap(map, shape.size);
	mdn.map = NULL;
	close(mdn.file);
	unlink(mdn.path);
	return e;
}

// mdn_create_somewhere makes the ring where it shall be and switches on what shall be on.
static inline int mdn_create_somewhere(void) {
	const char *asked = getenv("MERIDIAN"), *temporary = getenv("TMPDIR");
	int e;
	if (*mdn.dir)
		e = mdn_create(mdn.dir);
	else if (asked && strchr(asked, '/'))
		e = mdn_create(asked);
	else if ((e = mdn_create("/dev/shm")) != 0 && e != EINVAL)
		e = mdn_create(temporary && *temporary ? temporary : "/tmp");
	if (e == 0)
		for (struct mdn_class *c = mdn.first; c; c = c->next) mdn_connect(c);
	return e;
}

// fork: the child has the parent's memory, in which only the parent may write. So what lies there becomes memory of its own
// that is never read (an event that a signal handler interrupted to fork still ends in it), and its first event makes a
// ring. A child that only calls exec leaves no file behind. The lock keeps signals away until that is so: their handlers would
// emit into the parent's.

static inline void mdn_before_fork(void) { mdn_lock(); }
static inline void mdn_after_fork(void) { mdn_unlock(); }
static inline void mdn_after_fork_in_child(void) {
	mdn.process = mdn.count = 0;
	if (mdn.ready) {
		int how = MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED | MAP_NORESERVE;
		for (struct mdn_class *c = mdn.first; c; c = c->next) {
			c->local = mdn.started && c->on != &c->local && *c->on;
			c->on = &c->local;
		}
		if (mmap(mdn.map, mdn.size, PROT_READ | PROT_WRITE, how, -1, 0) == MAP_FAILED) {
			for (struct mdn_class *c = mdn.first; c; c = c->next) c->local = 0;
			mdn.started = false;
		}
		if (mdn_has_file()) close(mdn.file);
		mdn.ready = false;
		mdn.generation++;
		mdn_thread[0].limit = mdn_thread[1].limit = 0;
	}
	mdn_unlock();
}

static inline void mdn_thread_ends(void *writers);

// mdn_prepare_process does once what all later starts need.
static inline int mdn_prepare_process(void) {
	if (mdn.prepared) return 0;
	int e = pthread_key_create(&mdn.key, mdn_thread_ends);
	if (e == 0) e = pthread_atfork(mdn_before_fork, mdn_after_fork, mdn_after_fork_in_child);
	mdn.prepared = e == 0;
	return e;
}

// Start and stop.

static inline bool mdn_power(unsigned n, unsigned least, unsigned most) {
	return n >= least && n <= most && (n & (n - 1)) == 0;
}

MDN_COLD int meridian_start_with(const char *program, const struct meridian_options *given) {
	struct meridian_options *o = &mdn.options;
	mdn_enter(&mdn_class_message);
	mdn_enter(&mdn_class_cut);
	mdn_lock();
	int e = mdn.started || mdn.stopped ? EALREADY : mdn_prepare_process();
	if (e == 0) {
		memset(o, 0, sizeof *o);
		if (given) *o = *given;
		if (!o->shards) o->shards = 64;
		if (!o->spare) o->spare = MDN_SHARDS - o->shards < 32 ? MDN_SHARDS - o->shards : 32;
		if (o->spare == MERIDIAN_NO_SPARE) o->spare = 0;
		if (!o->buffers) o->buffers = 16;
		if (!o->buffer_size) o->buffer_size = 1 << 16;
		if (!o->classes) o->classes = 1024;
		if (!o->metadata) o->metadata = 1 << 20;
		if (o->shards > MDN_SHARDS || o->spare > MDN_SHARDS - o->shards || !mdn_power(o->buffers, 2, 1 << 12) || !mdn_power(o->buffer_size, 1 << 12, 1 << 24) ||
			o->classes > 1 << 16 || o->metadata > 1 << 26)
			e = EINVAL;
		if (o->dir && strlen(o->dir) >= sizeof mdn.dir) e = ENAMETOOLONG;
	}
	if (e == 0) {
		memset(mdn.program, 0, sizeof mdn.program);
		size_t n = program ? strlen(program) : mdn_read("/proc/self/comm", mdn.program, sizeof mdn.program);
		if (n > sizeof mdn.program) // whole characters of UTF-8
			for (n = sizeof mdn.program; n > 0 && ((unsigned char)program[n] & 0xc0) == 0x80; n--) {
			}
		if (program) memcpy(mdn.program, program, n);
		if (!program && n) mdn.program[n - 1] = 0; // the line's end
		snprintf(mdn.dir, sizeof mdn.dir, "%s", o->dir ? o->dir : "");
		e = mdn_create_somewhere();
		mdn.started = e == 0;
	}
	mdn_unlock();
	return e;
}

MDN_COLD int meridian_start(const char *program) { return meridian_start_with(program, NULL); }

// The memory stays mapped: a thread may be in an event.
MDN_COLD void meridian_stop(void) {
	mdn_lock();
	if (mdn.started) {
		for (struct mdn_class *c = mdn.first; c; c = c->next) {
			c->local = 0;
			__atomic_store_n(&c->on, &c->local, __ATOMIC_RELEASE);
		}
		if (mdn.ready) __atomic_store_n(&((struct mdn_header *)(void *)mdn.map)->state, 2, __ATOMIC_RELEASE);
		mdn.started = false;
		mdn.stopped = true;
	}
	mdn_unlock();
}

MDN_COLD int meridian_switch(const char *patterns, bool on) {
	int n = 0;
	mdn_lock();
	for (struct mdn_class *c = mdn.started ? mdn.first : NULL; c; c = c->next) {
		int said = mdn_decide(patterns, c, on, -1);
		if (said < 0 || (mdn.ready && c->on == &c->local)) continue; // or the ring has no room for it
		__atomic_store_n(c->on, (uint32_t)said, __ATOMIC_RELAXED);
		n += c->same == c;
	}
	mdn_unlock();
	return n;
}

// The file's path; in a child of fork that has emitted nothing yet, "".
MDN_COLD const char *meridian_path(void) { return __atomic_load_n(&mdn.ready, __ATOMIC_ACQUIRE) ? mdn.path : ""; }
