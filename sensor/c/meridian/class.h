// The part of meridian.h, which includes it, that knows classes: the list of all declarations in the program, their text in
// CTF's language, their records in the ring, and which of them are switched on. Nothing of it is on the way of an event.
//
//	MERIDIAN_EVENT, before main --> mdn_enter: the list --> mdn_register: text and record --> mdn_connect: the switch
//
// All of it happens under mdn.lock, which spins, since a child of fork must be able to make it free again. The thread that has it is
// neither interrupted by a signal, whose handler might want it too, nor cancelled.

static inline bool mdn_try_lock(void) {
	sigset_t all, mask;
	int cancel;
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &mask);
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
	bool mine = __atomic_exchange_n(&mdn.lock, 1, __ATOMIC_ACQUIRE) == 0;
	if (mine) {
		mdn.mask = mask;
		mdn.cancel = cancel;
	} else {
		pthread_setcancelstate(cancel, NULL);
		pthread_sigmask(SIG_SETMASK, &mask, NULL);
	}
	return mine;
}
static inline void mdn_lock(void) {
	while (!mdn_try_lock()) sched_yield();
}
static inline void mdn_unlock(void) {
	sigset_t mask = mdn.mask;
	int cancel = mdn.cancel;
	__atomic_store_n(&mdn.lock, 0, __ATOMIC_RELEASE);
	pthread_setcancelstate(cancel, NULL);
	pthread_sigmask(SIG_SETMASK, &mask, NULL);
}

static inline struct mdn_control *mdn_control_of(unsigned char *map, unsigned shard) {
	const struct mdn_header *h = (const struct mdn_header *)(void *)map;
	return (struct mdn_control *)(void *)(map + h->at_shards) + shard;
}

// mdn_has_file says whether the descriptor still leads to the ring. A program may close all that it finds, as daemons do, and
// its next file has the number.
static inline bool mdn_has_file(void) {
	struct stat s;
	return fstat(mdn.file, &s) == 0 && s.st_dev == mdn.device && s.st_ino == mdn.inode;
}

// mdn_reserve takes the pages of a part of the file, so that a full file system is an error here and no signal (SIGBUS) at
// some event, and maps them, so that events find no page fault.
static inline int mdn_reserve(uint64_t at, uint64_t size) {
	uint64_t first = at & ~(uint64_t)4095, last = (at + size + 4095) & ~(uint64_t)4095;
	int e = EBADF;
	if (mdn_has_file()) {
		while ((e = posix_fallocate(mdn.file, (off_t)first, (off_t)(last - first))) == EINTR) {
		}
		if (e == EOPNOTSUPP || e == EINVAL) e = 0;
	}
#ifdef MADV_POPULATE_WRITE // since Linux 5.14; otherwise pages come with the first store to each
	if (e == 0 || e == EBADF)
		if (madvise(mdn.map + first, last - first, MADV_POPULATE_WRITE) == 0) e = 0;
#endif
	return e;
}

// mdn_print appends to the text that ends at *at and has *room left; room is 0 once something did not fit.
__attribute__((format(printf, 3, 4))) MDN_COLD void mdn_print(char **at, size_t *room, const char *format, ...);
MDN_COLD void mdn_print(char **at, size_t *room, const char *format, ...) {
	va_list list;
	va_start(list, format);
	int n = vsnprintf(*at, *room, format, list);
	va_end(list);
	if (n < 0 || (size_t)n >= *room) {
		*room = 0;
		return;
	}
	*at += n;
	*room -= (size_t)n;
}

// mdn_print_field declares a field in CTF's language, in the words of package sensor.
static inline void mdn_print_field(char **at, size_t *room, const struct mdn_field *f) {
	char word[64];
	snprintf(word, sizeof word, "integer { size = %d; align = 8; signed = %s; }", f->kind == 'y' ? 32 : f->size * 8,
		f->kind == 'i' ? "true" : "false");
	if (f->kind == 't')
		mdn_print(at, room, "string _%s;", f->name);
	else if (f->kind == 'y')
		mdn_print(at, room, "%s __%s_length; integer { size = 8; align = 8; signed = false; base = 16; } _%s[__%s_length];",
			word, f->name, f->name, f->name);
	else if (f->kind == 'b')
		mdn_print(at, room, "enum : %s { \"false\" = 0, \"true\" = 1 } _%s;", word, f->name);
	else if (f->kind == 'f')
		mdn_print(at, room, "floating_point { exp_dig = %d; mant_dig = %d; align = 8; } _%s;", f->size == 4 ? 8 : 11,
			f->size == 4 ? 24 : 53, f->name);
	else
		mdn_print(at, room, "%s _%s;", word, f->name);
}

static inline bool mdn_plain(const char *s, size_t longest) {
	size_t n = strlen(s);
	for (size_t i = 0; i < n; i++)
		if ((unsigned char)s[i] < ' ' || s[i] == 0x7f || s[i] == '"' || s[i] == '\\') return false;
	return n <= longest;
}

static inline bool mdn_equal(const struct mdn_class *a, const struct mdn_class *b) {
	const struct mdn_field *f = a->fields, *g = b->fields;
	if (strcmp(a->category, b->category) || strcmp(a->name, b->name) || strcmp(a->ending, b->ending)) return false;
	for (; f->name && g->name; f++, g++)
		if (strcmp(f->name, g->name) || f->kind != g->kind || f->size != g->size) return false;
	return !f->name && !g->name && !strcmp(a->context, b->context);
}

// mdn_register enters a class into the ring: first the text, then the record, then their number, so that a reader that sees
// an event finds what it is.
static inline int mdn_register(struct mdn_class *c, bool on) {
	struct mdn_header *h = (struct mdn_header *)(void *)mdn.map;
	if (c->same != c) return 0;
	c->id = MDN_NOWHERE;
	uint32_t id = h->class_count;
	struct mdn_record *r = (struct mdn_record *)(void *)(mdn.map + h->at_classes) + id;
	uint64_t left = h->metadata_capacity - h->metadata_length;
	size_t room = left < 16384 ? left : 16384, name = strlen(c->name), ending = strlen(c->ending);
	char *begin = (char *)mdn.map + h->at_metadata + h->metadata_length, *at = begin;
	if (!mdn_plain(c->category, sizeof r->category) || !mdn_plain(c->name, sizeof r->name - ending)) return EINVAL;
	if (id >= h->class_capacity || id >= MDN_NOWHERE) return ENOSPC;
	int e = mdn_reserve((uint64_t)((unsigned char *)r - mdn.map), sizeof *r);
	if (e == 0) e = mdn_reserve(h->at_metadata + h->metadata_length, room);
	if (e != 0) return e;
	mdn_print(&at, &room, "event {\n\tname = \"%s%s%s%s\";\n\tid = %u;\n\tstream_id = 0;\n", c->category,
		*c->category ? ":" : "", c->name, c->ending, id);
	if (*c->context) mdn_print(&at, &room, "\tcontext := struct {%s};\n", c->context);
	mdn_print(&at, &room, "\tfields := struct {");
	for (const struct mdn_field *f = c->fields; f->name; f++) {
		if (f != c->fields) mdn_print(&at, &room, " ");
		mdn_print_field(&at, &room, f);
	}
	mdn_print(&at, &room, "};\n};\n");
	if (room == 0) return ENOSPC;
	__atomic_store_n(&h->metadata_length, h->metadata_length + (uint64_t)(at - begin), __ATOMIC_RELEASE);
	r->name_length = (uint8_t)(name + ending);
	r->category_length = (uint8_t)strlen(c->category);
	memcpy(r->name, c->name, name);
	memcpy(r->name + name, c->ending, ending);
	memcpy(r->category, c->category, r->category_length);
	r->on = on;
	c->id = (uint16_t)id;
	__atomic_store_n(&h->class_count, id + 1, __ATOMIC_RELEASE);
	return 0;
}

// mdn_connect lets a class be emitted, if it is registered.
static inline void mdn_connect(struct mdn_class *c) {
	const struct mdn_header *h = (const struct mdn_header *)(void *)mdn.map;
	if (c->id != c->same->id) c->id = c->same->id;
	if (c->id == MDN_NOWHERE) {
		__atomic_store_n(&c->local, 0, __ATOMIC_RELAXED);
		return;
	}
	__atomic_store_n(&c->on, &((struct mdn_record *)(void *)(mdn.map + h->at_classes))[c->id].on, __ATOMIC_RELEASE);
}

// Switches, by the same patterns as package sensor's: "*" is any text, "?" one character, a pattern without ":" stands for
// a whole category, "!" before one means the opposite, and the last that fits decides.

static inline bool mdn_matches(const char *p, const char *end, const char *s) {
	const char *star = NULL, *from = s;
	while (*s) {
		if (p < end && *p == '*') {
			star = ++p;
			from = s;
		} else if (p < end && (*p == '?' || *p == *s)) {
			p++;
			s++;
		} else if (star) {
			p = star;
			s = ++from;
		} else {
			return false;
		}
	}
	while (p < end && *p == '*') p++;
	return p == end;
}

// mdn_decide returns what the patterns say of a class, or otherwise where none fits.
static inline int mdn_decide(const char *patterns, const struct mdn_class *c, bool on, int otherwise) {
	while (*patterns) {
		const char *p = patterns, *end = p + strcspn(p, ",");
		patterns = *end ? end + 1 : end;
		while (p < end && (*p == ' ' || *p == '\t')) p++;
		while (p < end && (end[-1] == ' ' || end[-1] == '\t')) end--;
		bool but = p < end && *p == '!';
		p += but;
		if (p == end) continue;
		const char *colon = (const char *)memchr(p, ':', (size_t)(end - p));
		if (mdn_matches(p, colon ? colon : end, c->category) && (!colon || mdn_matches(colon + 1, end, c->name)))
			otherwise = on != but;
	}
	return otherwise;
}

// mdn_begins_on says whether MERIDIAN_EVENTS switches a class on: what it does not name is off, unless it begins with "!".
static inline bool mdn_begins_on(const struct mdn_class *c) {
	const char *e = getenv("MERIDIAN_EVENTS");
	if (!e || !*e) return true;
	return mdn_decide(e, c, true, e[strspn(e, " \t,")] == '!') != 0;
}

// mdn_enter adds a declaration, before main or when a library is loaded; mdn_leave takes it away when that is unloaded.
MDN_COLD void mdn_enter(struct mdn_class *c) {
	struct mdn_class **end = &mdn.first;
	mdn_lock();
	c->same = c;
	for (; *end && *end != c; end = &(*end)->next)
		if (c->same == c && (*end)->same == *end && mdn_equal(*end, c)) c->same = *end;
	if (!*end) {
		c->next = NULL;
		*end = c;
		if (mdn.started && !mdn.ready) c->local = mdn_begins_on(c); // a child of fork that has no ring yet
		if (mdn.started && mdn.ready && mdn_register(c, mdn_begins_on(c)) == 0) mdn_connect(c);
	}
	mdn_unlock();
}

MDN_COLD void mdn_leave(struct mdn_class *c) {
	struct mdn_class **at = &mdn.first, *heir = NULL;
	mdn_lock();
	while (*at && *at != c) at = &(*at)->next;
	if (*at) *at = c->next;
	for (struct mdn_class *o = mdn.first; o; o = o->next) {
		if (o->same != c) continue;
		if (!heir) {
			heir = o;
			heir->value = c->value;
		}
		o->same = heir;
	}
	__atomic_store_n(&c->local, 0, __ATOMIC_RELAXED);
	__atomic_store_n(&c->on, &c->local, __ATOMIC_RELEASE);
	mdn_unlock();
}
