// A program that closes all files, as daemons do, and opens one of its own, then emits n events in itself and in a child.
// Prints what became of its file.
#include "start.h"

#include <sys/wait.h>

MERIDIAN_EVENT(closed, count, (uint64_t, number));

static void emit(void) {
	for (uint64_t i = 0, n = argument("n", 1000); i < n; i++) MERIDIAN_EMIT(count, i);
}

int main(int argc, char **argv) {
	char path[300];
	struct stat s;
	int status;
	(void)argc;
	start(argv);
	for (int f = 3; f < 100; f++) close(f);
	snprintf(path, sizeof path, "%s/own", argv[1]);
	int own = open(path, O_RDWR | O_CREAT, 0600);
	emit();
	pid_t child = fork();
	if (child == 0) {
		if (write(own, "child", 5) != 5) _exit(1);
		emit();
		_exit(0);
	}
	waitpid(child, &status, 0);
	if (fstat(own, &s) != 0) return 1;
	printf("%d %d\n", status, (int)s.st_size);
	meridian_stop();
	return 0;
}
