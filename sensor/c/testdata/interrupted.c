// Signals that come while a child is made and while threads end; their handler emits. The parent counts what all its threads
// and handlers emitted, and prints it; children do nothing but end.
#include "start.h"

#include <signal.h>
#include <sys/wait.h>

MERIDIAN_EVENT(interrupted, event, (int, pid), (uint64_t, again));

static uint64_t emitted;

static void emit(void) {
	int pid = (int)getpid();
	MERIDIAN_EMIT(event, pid, (uint64_t)(unsigned)pid * 7);
	__atomic_fetch_add(&emitted, 1, __ATOMIC_RELAXED);
}

static void handle(int number) {
	(void)number;
	emit();
}

static bool done;
static unsigned rounds;

// interrupt sends signals to all processes of the group, whoever forked or began to end a moment ago among them.
static void *interrupt(void *p) {
	sigset_t s;
	(void)p;
	sigemptyset(&s);
	sigaddset(&s, SIGUSR1);
	pthread_sigmask(SIG_BLOCK, &s, NULL); // its own are for the others
	for (unsigned sent = 0; !__atomic_load_n(&done, __ATOMIC_ACQUIRE); sched_yield())
		if (sent < 20 * __atomic_load_n(&rounds, __ATOMIC_ACQUIRE)) { // no more, or nobody gets any further
			kill(0, SIGUSR1);
			sent++;
		}
	return NULL;
}

static void *work(void *p) {
	(void)p;
	for (int i = 0; i < 3; i++) emit();
	return NULL;
}

int main(int argc, char **argv) {
	struct sigaction a;
	pthread_t interrupter, threads[2];
	(void)argc;
	setpgid(0, 0);
	start(argv);
	memset(&a, 0, sizeof a);
	a.sa_handler = handle;
	a.sa_flags = SA_RESTART;
	sigaction(SIGUSR1, &a, NULL);
	if (pthread_create(&interrupter, NULL, interrupt, NULL) != 0) return 1;
	for (unsigned long n = argument("n", 100); n > 0; n--) {
		int status;
		__atomic_fetch_add(&rounds, 1, __ATOMIC_RELEASE);
		for (int i = 0; i < 2; i++)
			if (pthread_create(&threads[i], NULL, work, NULL) != 0) return 1;
		pid_t child = argument("fork", 0) ? fork() : -1;
		if (child == 0) _exit(0);
		for (int i = 0; i < 2; i++) pthread_join(threads[i], NULL);
		while (child > 0 && waitpid(child, &status, 0) < 0 && errno == EINTR) {
		}
	}
	__atomic_store_n(&done, true, __ATOMIC_RELEASE);
	pthread_join(interrupter, NULL);
	signal(SIGUSR1, SIG_IGN);
	printf("%d %" PRIu64 "\n", (int)getpid(), emitted);
	meridian_stop();
	return 0;
}
