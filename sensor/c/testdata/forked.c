// A program whose children emit, are silent, or become another program; prints the pid of the child that emits.
#include "start.h"

#include <sys/wait.h>

MERIDIAN_EVENT(forked, count, (const char *, who), (uint64_t, number));
MERIDIAN_EVENT(forked, off, (const char *, who));

static void *work(void *p) {
	for (uint64_t i = 0; i < 100; i++) MERIDIAN_EMIT(count, (const char *)p, i);
	return NULL;
}

static void both(const char *who, const char *other) {
	char first[16], second[16];
	pthread_t thread;
	snprintf(first, sizeof first, "%s", who);
	snprintf(second, sizeof second, "%s", other);
	if (pthread_create(&thread, NULL, work, second) != 0) _exit(1);
	work(first);
	pthread_join(thread, NULL);
}

int main(int argc, char **argv) {
	(void)argc;
	start(argv);
	if (meridian_switch("forked:off", false) != 1) return 1;
	MERIDIAN_EMIT(count, "before", 0);
	struct meridian_tag tag = meridian_new_tag();
	pid_t child = fork();
	if (child == 0) {
		if (*meridian_path()) _exit(2); // there is no ring yet
		work((void *)(uintptr_t) "child");
		both("child2", "thread");
		MERIDIAN_EMIT(off, "child");
		if (!*meridian_path() || meridian_new_tag().process == tag.process) _exit(3);
		pid_t grandchild = fork();
		if (grandchild == 0) {
			both("grandchild", "its thread");
			_exit(0);
		}
		int status;
		if (waitpid(grandchild, &status, 0) != grandchild || status != 0) _exit(4);
		MERIDIAN_EMIT(count, "child after", 0);
		_exit(0);
	}
	pid_t silent = fork();
	if (silent == 0) _exit(0);
	pid_t other = fork();
	if (other == 0) {
		execl("/bin/true", "true", (char *)NULL);
		_exit(5);
	}
	both("parent", "thread");
	MERIDIAN_EMIT(off, "parent");
	int status[3];
	waitpid(child, &status[0], 0);
	waitpid(silent, &status[1], 0);
	waitpid(other, &status[2], 0);
	printf("%d %d %d %d\n", (int)child, status[0], status[1], status[2]);
	meridian_stop();
	return 0;
}
