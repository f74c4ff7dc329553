// The part of meridian.h, which includes it, that gives threads their shards and finds room in them. Of it only mdn_make_room
// is on the way of an event, at the end of each sub-buffer.
//
//	first event of a thread --> mdn_make_room --> mdn_claim: a free shard
//	end of a sub-buffer -----> mdn_make_room --> mdn_enter_buffer: the next one
//	                                        '--> mdn_go_on: the next is unread, so a spare shard
//
// There is no lock: the thread that has set the owner in a shard's control block may write it. mdn.shards says which shards are for
// claiming and which are spare ones. A writer whose shard is full exchanges the two in it:
//
//	mdn.shards  | 0 1 2 ... 63 | 64 65 ... 95 |     the writer of 1 goes on in 64:   | 0 64 2 ... 63 | 1 65 ... 95 |
//
// so that the one it leaves is there for the next thread, once it was read. Rules and order are those of package
// sensor/ring (spare.go): the same events make the same ring.

// mdn_drop counts an event that found no room.
MDN_COLD void mdn_drop(struct mdn_writer *w) {
	struct mdn_control *control = w->generation == mdn.generation ? w->control : NULL;
	if (!control && __atomic_load_n(&mdn.ready, __ATOMIC_ACQUIRE)) control = mdn_control_of(mdn.map, 0);
	__atomic_fetch_add(control ? &control->discarded : &mdn.lost, 1, __ATOMIC_SEQ_CST);
	if (!control && __atomic_load_n(&mdn.ready, __ATOMIC_SEQ_CST)) mdn_count_lost();
}

// mdn_take makes the thread the owner of the shard that is at a place of mdn.shards, if it has none. A shard that came away
// from there meanwhile is another thread's to take.
static inline bool mdn_take(unsigned char *map, unsigned place, uint32_t me, unsigned *shard) {
	*shard = __atomic_load_n(&mdn.shards[place], __ATOMIC_RELAXED);
	uint32_t *owner = &mdn_control_of(map, *shard)->owner, none = 0;
	if (__atomic_load_n(owner, __ATOMIC_RELAXED) != 0 ||
		!__atomic_compare_exchange_n(owner, &none, me, false, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
		return false;
	if (__atomic_load_n(&mdn.shards[place], __ATOMIC_RELAXED) == *shard) return true;
	__atomic_store_n(owner, 0, __ATOMIC_RELEASE);
	return false;
}

// mdn_use lets a writer write a shard that the thread owns.
static inline void mdn_use(struct mdn_writer *w, unsigned char *map, unsigned shard) {
	uint64_t last = mdn.options.buffer_size - 1;
	w->base = map + ((struct mdn_header *)(void *)map)->at_data + shard * (w->mask + 1);
	w->slices = (uint64_t)(shard + 1) << 48;
	w->control = mdn_control_of(map, shard);
	w->position = w->control->produced;
	w->limit = (w->position + last) & ~last;
	w->full = 0;
}

// mdn_claim gives the thread a shard that no other one has; false if there is none.
static inline bool mdn_claim(struct mdn_writer *w) {
	const struct meridian_options *o = &mdn.options;
	uint32_t me = (uint32_t)syscall(SYS_gettid);
	w->control = NULL;
	w->position = w->limit = 0;
	if (!__atomic_load_n(&mdn.ready, __ATOMIC_ACQUIRE)) { // a child of fork
		if (!mdn_try_lock()) return false; // its other threads make it: none waits
		int e = mdn.ready || !mdn.started ? 0 : mdn_create_somewhere();
		for (struct mdn_class *c = e ? mdn.first : NULL; c; c = c->next) c->local = 0;
		mdn_unlock();
		if (!__atomic_load_n(&mdn.ready, __ATOMIC_ACQUIRE)) return false;
	}
	// A signal's handler may fork, and its child make another ring, between any two of these lines. What is taken then is in
	// the one ring or in the other, and mdn_make_room finds the generation past.
	uint32_t generation = mdn.generation;
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	unsigned char *map = mdn.map;
	for (unsigned i = 0, shard; i < o->shards; i++) {
		if (!mdn_take(map, i, me, &shard)) continue;
		w->generation = generation;
		w->place = (uint16_t)i;
		w->spare_retry_in = 0;
		w->clock = (uint16_t)((struct mdn_header *)(void *)map)->clock;
		w->mask = (uint64_t)o->buffers * o->buffer_size - 1;
		mdn_use(w, map, shard);
		pthread_setspecific(mdn.key, mdn_thread);
		return true;
	}
	return false;
}

// mdn_thread_ends gives the shards to the next thread. Whatever this one emits later claims again. A signal that comes
// meanwhile finds the writers busy: it must not write to a shard that is another thread's already.
static inline void mdn_thread_ends(void *writers) {
	struct mdn_writer *w = (struct mdn_writer *)writers;
	uint32_t before[2] = {w[0].busy, w[1].busy};
	w[0].busy = w[1].busy = 1;
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	for (int i = 0; i < 2; i++) {
		struct mdn_control *control = w[i].generation == mdn.generation ? w[i].control : NULL;
		w[i].control = NULL;
		w[i].position = w[i].limit = 0;
		if (control) __atomic_store_n(&control->owner, 0, __ATOMIC_RELEASE);
	}
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	w[0].busy = before[0];
	w[1].busy = before[1];
}

// mdn_unread says that a shard's sub-buffer that ends at a position is full of what no reader took yet.
static inline bool mdn_unread(const struct mdn_control *control, uint64_t end) {
	uint64_t total = (uint64_t)mdn.options.buffers * mdn.options.buffer_size;
	return end > total && !mdn.options.overwrite && __atomic_load_n(&control->consumed, __ATOMIC_ACQUIRE) < end - total;
}

// mdn_go_on exchanges the writer's shard for a spare one with room for an event. It looks for one now and then only, which
// costs much more than to discard an event; and not without a reader, since none would ever be emptied.
static inline bool mdn_go_on(struct mdn_writer *w, uint64_t size) {
	const struct meridian_options *o = &mdn.options;
	unsigned char *map = mdn.map;
	uint32_t me = 0;
	if (w->spare_retry_in > 0) {
		w->spare_retry_in--;
		return false;
	}
	w->spare_retry_in = 64;
	__atomic_signal_fence(__ATOMIC_SEQ_CST); // map is of the writer's generation, or memory that is never read, as in mdn_claim
	if (w->generation != mdn.generation || !__atomic_load_n(&((struct mdn_header *)(void *)map)->reader, __ATOMIC_RELAXED))
		return false;
	for (unsigned i = o->shards, shard; i < o->shards + o->spare; i++) {
		if (!me) me = (uint32_t)syscall(SYS_gettid);
		if (!mdn_take(map, i, me, &shard)) continue;
		struct mdn_control *left = w->control, *found = mdn_control_of(map, shard);
		uint64_t last = o->buffer_size - 1, end = (found->produced + last) & ~last;
		if (size > end - found->produced && mdn_unread(found, end + o->buffer_size)) {
			__atomic_store_n(&found->owner, 0, __ATOMIC_RELEASE);
			continue;
		}
		__atomic_store_n(&mdn.shards[i], mdn.shards[w->place], __ATOMIC_RELAXED);
		__atomic_store_n(&mdn.shards[w->place], (uint16_t)shard, __ATOMIC_RELAXED);
		mdn_use(w, map, shard);
		__atomic_store_n(&left->owner, 0, __ATOMIC_RELEASE);
		return true;
	}
	return false;
}

// mdn_enter_buffer goes to the next sub-buffer, whose old events are not needed any more.
static inline bool mdn_enter_buffer(struct mdn_writer *w) {
	uint64_t total = w->mask + 1, next = w->limit, end = next + mdn.options.buffer_size;
	unsigned char *rest = w->base + (w->position & w->mask);
	if (end <= total) { // the first time round
		if (w->full % 1024 == 0 && mdn_reserve((uint64_t)(w->base - mdn.map) + next, mdn.options.buffer_size) == 0) {
			w->full = 0;
		} else {
			w->full++; // and asked again after some events
			return false;
		}
	} else if (mdn.options.overwrite) {
		// A reader that copies this sub-buffer must learn that it is lost before the first byte of it changes.
		__atomic_store_n(&w->control->oldest, end - total, __ATOMIC_RELEASE);
#if defined(__x86_64__) || defined(__i386__)
		__atomic_signal_fence(__ATOMIC_SEQ_CST); // the processor keeps the order of stores
#else
		__atomic_thread_fence(__ATOMIC_RELEASE);
#endif
	}
	if (next - w->position >= MDN_EVENT_HEAD) memset(rest, 0, MDN_EVENT_HEAD);
	w->position = next;
	w->limit = end;
	w->spare_retry_in = 0; // a reader has come meanwhile
	return true;
}

// mdn_find_room brings the writer to where the event has room.
static inline bool mdn_find_room(struct mdn_writer *w, uint64_t size) {
	if (w->position + size <= w->limit) return true;
	if (!mdn_unread(w->control, w->limit + mdn.options.buffer_size)) return mdn_enter_buffer(w);
	if (!mdn_go_on(w, size)) return false;
	bool room = w->position + size <= w->limit ||
		(!mdn_unread(w->control, w->limit + mdn.options.buffer_size) && mdn_enter_buffer(w));
	w->spare_retry_in = 0;
	return room;
}

// mdn_make_room is not a cancellation point, although functions that it calls are: a program does not expect one in an event.
MDN_COLD bool mdn_make_room(const struct mdn_class *c, struct mdn_writer *w, uint64_t size) {
	int before = errno, cancel;
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
	bool mine = (w->control && w->generation == mdn.generation) || mdn_claim(w);
	bool room = mine && c->id != MDN_NOWHERE && size <= MDN_LARGEST && size <= mdn.options.buffer_size && mdn_find_room(w, size);
	if (!room) mdn_drop(w);
	if (!__atomic_load_n(&mdn.ready, __ATOMIC_RELAXED) || w->generation != mdn.generation) { // a signal's handler forked meanwhile: the next event makes the ring
		w->limit = 0;
		w->generation = mdn.generation - 1;
	}
	pthread_setcancelstate(cancel, NULL);
	errno = before;
	return room;
}
