// The part of meridian.h, which includes it, that has to do with messages and with texts that are too long: tags and the two
// classes that every program has.

static const struct mdn_field mdn_no_fields[] = {{NULL, 0, 0}};
static const struct mdn_field mdn_cut_fields[] = {{"cut", 'i', 8}, {NULL, 0, 0}};
MDN_SHARED struct mdn_class mdn_class_message = {"message", "message", "", MDN_OF_MESSAGE, mdn_no_fields,
	&mdn_class_message.local, 0, 0, NULL, NULL, 0};
MDN_SHARED struct mdn_class mdn_class_cut = {"meridian", "cut", ":counter", "", mdn_cut_fields, &mdn_class_cut.local, 0, 0,
	NULL, NULL, 0};

// mdn_cut counts a text or bytes that are too long, and returns how much of them an event keeps: of a text whole
// characters, and room for the "…" behind them.
MDN_COLD size_t mdn_cut(const char *text) {
	int64_t v = __atomic_add_fetch(&mdn_class_cut.value, 1, __ATOMIC_RELAXED);
	if (mdn_is_on(&mdn_class_cut)) mdn_number(&mdn_class_cut, (uint64_t)v, 0, 0);
	if (!text) return MDN_LONGEST;
	size_t n = MDN_LONGEST - 3;
	while (n > MDN_LONGEST - 8 && ((unsigned char)text[n] & 0xc0) == 0x80) n--;
	return n + 3;
}

MDN_COLD struct meridian_tag meridian_new_tag(void) {
	struct meridian_tag t;
	t.process = __atomic_load_n(&mdn.process, __ATOMIC_RELAXED);
	if (t.process == 0) {
		mdn_lock();
		if (mdn.process == 0 && (mdn_prepare_process() != 0 || getrandom(&t.process, 8, 0) != 8)) {
			struct timespec now; // as good as can be had
			clock_gettime(CLOCK_REALTIME, &now);
			t.process = ((uint64_t)now.tv_nsec << 34) ^ (uint64_t)now.tv_sec ^ (uint64_t)getpid() << 44;
		}
		if (mdn.process == 0) __atomic_store_n(&mdn.process, t.process, __ATOMIC_RELAXED);
		t.process = mdn.process;
		mdn_unlock();
	}
	t.count = __atomic_add_fetch(&mdn.count, 1, __ATOMIC_RELAXED);
	return t;
}

MDN_COLD void meridian_tag_text(struct meridian_tag t, char text[34]) {
	snprintf(text, 34, "%016llx-%llx", (unsigned long long)t.process, (unsigned long long)t.count);
}

// mdn_digits reads 1 to 16 hexadecimal digits and returns what stands behind them.
static inline const char *mdn_digits(const char *s, uint64_t *n) {
	const char *begin = s;
	for (*n = 0; s - begin < 16 && isxdigit((unsigned char)*s); s++)
		*n = *n << 4 | (uint64_t)((*s & 15) + (*s > '9' ? 9 : 0)); // 'A' and 'a' end with the bits of 1
	return s;
}

MDN_COLD bool meridian_parse_tag(const char *text, struct meridian_tag *t) {
	const char *dash = mdn_digits(text, &t->process);
	if (dash - text != 16 || *dash != '-') return false;
	const char *end = mdn_digits(dash + 1, &t->count);
	return end > dash + 1 && *end == 0;
}
