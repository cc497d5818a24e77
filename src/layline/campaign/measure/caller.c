/* Calls a kernel as other programs would, in the manner each call of the file `calls` asks for, and writes into the file
   `answers` what came of it and what it left behind in its caller. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <fenv.h>
#include <locale.h>
#include <malloc.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <wchar.h>

#include "operator.h" /* what the calling program puts here: names, numbers, the call itself */

static int64_t head[6], n[16], bytes[16][2], said[3]; /* status, what was left behind, how much of it */
static void *b[16];
static char here[4096], now[4096];
#if defined(__GLIBC__)
static size_t stack;
static size_t read_stack(void) { /* of threads that ask for none */
    pthread_attr_t usual;
    size_t size = 0;
    if (!pthread_getattr_default_np(&usual)) pthread_attr_getstacksize(&usual, &size), pthread_attr_destroy(&usual);
    return size;
}
#endif
static void *alone(void *none) { (void)none; said[0] |= CALL; return 0; } /* keeps nothing in registers itself */
extern char **environ;
static int64_t mix(int64_t all, const char *text) {
    while (text && *text) all = all * 31 + (unsigned char)*text++;
    return all;
}
static int64_t at_start[SURVEY]; /* an earlier call may have changed for good what is looked at */
static pid_t ended;
static struct tm *day;
static void begin_survey(void) { /* what a caller may have under way */
    siginfo_t how; sigset_t set; time_t when = 1000000000;
    alarm(1000);
    sigemptyset(&set), sigaddset(&set, SIGUSR2), sigprocmask(SIG_BLOCK, &set, 0), raise(SIGUSR2);
    ended = fork();
    if (ended == 0) _exit(5);
    if (ended > 0) waitid(P_PID, ended, &how, WEXITED | WNOWAIT);
    day = localtime(&when);
}
static void end_survey(void) {
    sigset_t set; int status;
    alarm(0);
    signal(SIGUSR2, SIG_IGN), signal(SIGUSR2, SIG_DFL); /* one that waits is gone */
    sigemptyset(&set), sigaddset(&set, SIGUSR2), sigprocmask(SIG_UNBLOCK, &set, 0);
    if (ended > 0) waitpid(ended, &status, WNOHANG);
}
static void survey(int64_t *at) {
    int was; stack_t own; char text[16] = ""; sigset_t set; siginfo_t how = {0};
    at[12] = prctl(PR_GET_THP_DISABLE, 0, 0, 0, 0);
    at[13] = alarm(1000) > 0;
    at[14] = !sigpending(&set) && sigismember(&set, SIGUSR2) == 1;
    at[15] = ended > 0 && !waitid(P_PID, ended, &how, WEXITED | WNOWAIT | WNOHANG) && how.si_pid == ended;
    at[16] = day ? day->tm_year : 0;
    pthread_setcancelstate(PTHREAD_CANCEL_ENABLE, &was), at[0] = was;
    pthread_setcanceltype(PTHREAD_CANCEL_DEFERRED, &was), at[1] = was;
    at[2] = prctl(PR_GET_TIMERSLACK);
    at[3] = getpgid(0);
    for (int i = 0; i < 3; i++) at[4 + i] = fcntl(i, F_GETFL) & O_NONBLOCK;
    at[7] = fwide(stdout, 0);
    at[8] = mix(0, setlocale(LC_ALL, 0));
    at[9] = 0;
    for (char **one = environ; one && *one; one++) at[9] = mix(at[9], *one);
    FILE *score = fopen("/proc/self/oom_score_adj", "r");
    if (score) { if (!fgets(text, sizeof text, score)) text[0] = 0; fclose(score); }
    at[10] = mix(0, text);
    at[11] = sigaltstack(0, &own) ? 0 : (int64_t)(own.ss_flags & SS_DISABLE ? 0 : own.ss_sp);
}
static int count_open(void) {
    int count = 0;
    for (int i = 0; i < 64; i++) count += fcntl(i, F_GETFD) >= 0;
    return count;
}
static int count_threads(void) {
    struct stat about;
    return stat("/proc/self/task", &about) ? 1 : (int)about.st_nlink - 2; /* a folder for each */
}
static int64_t look_at_arrays(void) { /* how the system treats their pages */
    int64_t found = 0; int within = 0; char line[512], mode[8];
    FILE *f = fopen("/proc/self/smaps", "r");
    while (f && fgets(line, sizeof line, f)) {
        unsigned long from, to;
        if (sscanf(line, "%lx-%lx %7s", &from, &to, mode) == 3) {
            within = 0;
            for (int64_t i = 0; i < head[1]; i++) within |= (char *)b[i] < (char *)to && (char *)b[i] + bytes[i][0] > (char *)from;
            if (within && (mode[0] != 'r' || mode[1] != 'w' || mode[2] == 'x')) found |= 1;
        } else if (within && !strncmp(line, "VmFlags:", 8)) {
            if (strstr(line, " wf") || strstr(line, " dc")) found |= 2;
        } else if (within && !strncmp(line, "LazyFree:", 9)) {
            if (strtol(line + 9, 0, 10)) found |= 4;
        }
    }
    if (f) fclose(f);
    return found;
}
static long draw_both(void) { return rand() ^ lrand48(); }
static void seed_both(void) { srand(7), srand48(7); }
static int is_reseeded; /* while the kernel was loaded */
static int64_t told(void) { /* what this program set, and the kernel has no business with */
    int64_t lost = 0, before_it[SURVEY], after_it[SURVEY], changed = 0;
    begin_survey();
    survey(before_it);
    seed_both();
    long next = draw_both();
    seed_both();
    feclearexcept(FE_ALL_EXCEPT);
    feraiseexcept(FE_DIVBYZERO);
#ifdef KEPT
    said[2] = kept(alone);
    lost |= said[2] ? LEFT_REGISTERS : 0;
#else
    alone(0);
#endif
    lost |= fetestexcept(FE_DIVBYZERO) ? 0 : LEFT_EXCEPTIONS;
    lost |= is_reseeded || draw_both() != next ? LEFT_SEEDS : 0;
#if defined(__GLIBC_PREREQ)
#if __GLIBC_PREREQ(2, 33)
    size_t before = mallinfo2().hblks;
    void *large = malloc(64 << 20); /* more than any threshold the allocator chooses by itself */
    lost |= large && mallinfo2().hblks == before ? LEFT_MALLOC : 0;
    free(large);
#endif
#endif
    lost |= here[0] && (!getcwd(now, sizeof now) || strcmp(here, now)) ? LEFT_FOLDER : 0;
#if defined(__GLIBC__)
    lost |= read_stack() != stack ? LEFT_STACKS : 0;
#endif
    survey(after_it);
    end_survey();
    for (int i = 0; i < SURVEY; i++) {
        int differs = before_it[i] != after_it[i] || (i < LASTING && at_start[i] != after_it[i]);
        changed |= (int64_t)differs << i;
    }
    if (!lost && changed) lost = LEFT_SURVEYED, said[2] = changed;
    if (!lost && (changed = look_at_arrays())) lost = LEFT_ARRAYS, said[2] = changed;
    return lost;
}
static int64_t used(void) {
#if defined(__x86_64__)
    unsigned short env[14];
    __asm__ volatile("fnstenv %0; fldenv %0" : "=m"(env) : : "memory");
    int64_t is_used = env[4] != 0xffff ? LEFT_X87 : 0;
    __asm__ volatile("emms");
    return is_used;
#else
    return 0;
#endif
}
static int64_t count_keys(void) { /* that threads could still have */
    static pthread_key_t keys[4096];
    int64_t count = 0;
    while (count < 4096 && !pthread_key_create(keys + count, 0)) count++;
    for (int64_t i = 0; i < count; i++) pthread_key_delete(keys[i]);
    return count;
}
static int64_t held(void) { struct rusage all; return getrusage(RUSAGE_SELF, &all) ? 0 : all.ru_maxrss; }
static void one_by_one(int64_t count) {
    pthread_t thread;
    for (int64_t i = 0; i < count; i++) if (pthread_create(&thread, 0, alone, 0) || pthread_join(thread, 0)) exit(6);
}
static void turn_signs(void) { /* of what lies in the middle of an input, whatever the width of its elements */
    unsigned char *word = (unsigned char *)b[head[5]] + bytes[head[5]][0] / 2 / 8 * 8;
    for (int64_t i = 1; i < 8 && word + i < (unsigned char *)b[head[5]] + bytes[head[5]][0]; i += 2) word[i] ^= 0x80;
}
static double least; /* nanoseconds of this thread that a call takes */
static double time_call(void) {
    struct timespec from, to;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &from);
    said[0] |= CALL;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &to);
    return (to.tv_sec - from.tv_sec) * 1e9 + (to.tv_nsec - from.tv_nsec);
}
static void *time_calls(void *none) {
    for (int i = 0; i < 4; i++) time_call();
    least = time_call();
    for (int i = 0; i < 16; i++) { double took = time_call(); least = took < least ? took : least; }
    return none;
}
static void time_elsewhere(void) { /* how many times as long a call takes there */
    pthread_t thread; int status = 0; double here_it, times;
    double *shared = mmap(0, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (shared == MAP_FAILED) exit(4);
    pid_t child = fork(); /* before the first call: threads do not live on in children */
    if (child == 0) { time_calls(0), *shared = least; _exit(0); }
    if (child < 0 || waitpid(child, &status, 0) != child || !WIFEXITED(status)) exit(4);
    time_calls(0), here_it = least > 1000 ? least : 1000;
    if (count_threads() > 1) return; /* threads of its own wait for one another, and their waiting is timed as well */
    if ((times = *shared / here_it) >= SLOWER) { said[1] = LEFT_SLOW_CHILDREN, said[2] = times; return; }
    if (pthread_create(&thread, 0, time_calls, 0) || pthread_join(thread, 0)) exit(6);
    if ((times = least / here_it) >= SLOWER) { said[1] = LEFT_SLOW_THREADS, said[2] = times; return; }
    for (int i = 0; i < 2; i++) {
        sleep(2);
        if ((times = time_call() / here_it) < SLOWER_RESTED) return;
    }
    said[1] = LEFT_SLOW_RESTED, said[2] = times;
}
static void ask(void) {
    pthread_attr_t few; pthread_t thread; int status = 0;
    said[0] = said[1] = said[2] = 0;
    if (head[4] == MANNER_FIRST) {
        if (count_threads() > 1) said[1] = LEFT_THREAD;
        said[0] = CALL;
    } else if (head[4] == MANNER_THREADS) {
        one_by_one(8);
        int64_t before = held();
        one_by_one(32);
        said[2] = (held() - before) / 32;
        said[1] = LEFT_IN_THREADS;
    } else if (head[4] == MANNER_OFTEN) {
        for (int i = 0; i < OFTEN; i++) said[0] |= CALL;
        int64_t before = count_keys();
        for (int i = 0; i < OFTEN; i++) said[0] |= CALL;
        said[2] = before - count_keys();
        said[1] = said[2] > 0 ? LEFT_KEYS : 0;
    } else if (head[4] == MANNER_POOR) {
        struct rlimit none = {0, 0};
        pid_t child = fork();
        if (child == 0) { /* what it does not get it must do without, or say so; to end the process says it, too */
            setrlimit(RLIMIT_DATA, &none), setrlimit(RLIMIT_AS, &none);
            for (size_t size = 1 << 20; size >= 16; size /= 2) while (malloc(size)) continue; /* what is left of the heap */
            _exit(CALL != 0);
        }
        if (child < 0 || waitpid(child, &status, 0) != child) exit(4);
        said[0] = 0, said[1] = WIFEXITED(status) && !WEXITSTATUS(status) ? 0 : LEFT_GAVE_UP;
    } else if (head[4] == MANNER_CHILD) {
        int open_before = count_open();
        pid_t child = fork();
        if (child == 0) _exit(count_open() != open_before ? 77 : CALL != 0);
        if (child < 0 || waitpid(child, &status, 0) != child || !WIFEXITED(status)) exit(4);
        said[0] = WEXITSTATUS(status) == 77 ? 0 : WEXITSTATUS(status);
        said[1] = WEXITSTATUS(status) == 77 ? LEFT_FILES : 0;
    } else if (head[4] == MANNER_THREAD) {
        int made = EINVAL; /* a stack also holds the variables each thread has, which are the kernel's affair */
        pthread_attr_init(&few);
        for (size_t size = 512 << 10; made == EINVAL && size <= THREAD_STACK; size *= 2) {
            pthread_attr_setstacksize(&few, size);
            made = pthread_create(&thread, &few, alone, 0);
        }
        if (made == EINVAL) said[1] = LEFT_VARIABLES;
        else if (made || pthread_join(thread, 0)) exit(5);
    } else if (head[4] == MANNER_LINE) {
        said[1] = told();
    } else if (head[4] == MANNER_ALIAS) {
        said[0] = CALL;
    } else if (head[4] == MANNER_STALE) { /* the outputs hold the answer to nearly the same inputs */
        turn_signs();
        said[0] = CALL;
        turn_signs();
        said[0] |= CALL;
    } else if (head[4] == MANNER_TIMED) {
        time_elsewhere();
    } else {
        fesetround(FE_UPWARD);
        said[0] = CALL;
        said[1] = fegetround() != FE_UPWARD ? LEFT_MODE : 0;
        fesetround(FE_TONEAREST);
    }
    said[1] |= used();
}
static FILE *calls, *answers;
static void look_first(int count, char **words, char **variables) { /* before any library of ours has run anything */
    (void)count, (void)words;
    if (!environ) environ = variables;
    calls = fopen("calls", "rb"), answers = fopen("answers", "wb");
    if (calls) setvbuf(calls, 0, _IONBF, 0); /* a child that ends by exit() would put the place to read at back, for us too */
    if (!getcwd(here, sizeof here)) here[0] = 0;
    survey(at_start);
    alarm(0);
#if defined(__GLIBC__)
    stack = read_stack();
#endif
    seed_both();
}
__attribute__((section(".preinit_array"), used)) static void (*at_first)(int, char **, char **) = look_first;
int main(void) {
    FILE *f = calls, *to = answers;
    long drawn = draw_both();
    seed_both();
    is_reseeded = drawn != draw_both();
    while (f && to && fread(head, 8, 6, f) == 6) {
        if (fread(n, 8, head[2], f) != (size_t)head[2]) return 3;
        for (int64_t i = 0; i < head[1]; i++) {
            if (fread(bytes[i], 8, 2, f) != 2) return 3;
            void *far = (void *)((uintptr_t)(i + 1) << 41); /* where memory lies is for its owner to say */
            b[i] = mmap(head[4] == MANNER_LINE ? far : 0, bytes[i][0] + 1, PROT_READ | PROT_WRITE, (head[4] == MANNER_CHILD || head[4] == MANNER_POOR || head[4] == MANNER_TIMED ? MAP_SHARED : MAP_PRIVATE) | MAP_ANONYMOUS, -1, 0);
            if (b[i] == MAP_FAILED) return 3;
            if (bytes[i][1] ? fread(b[i], 1, bytes[i][1], f) != (size_t)bytes[i][1] : !memset(b[i], 255, bytes[i][0])) return 3;
        }
        if (head[5] >= 0 && head[4] == MANNER_ALIAS) { munmap(b[head[5] + 1], bytes[head[5] + 1][0] + 1); b[head[5] + 1] = b[head[5]]; }
        ask();
        fwrite(said, 8, 3, to);
        for (int64_t i = 0; i < head[1]; i++) if (head[3] >> i & 1) fwrite(b[i], 1, bytes[i][0], to);
        fflush(to);
        for (int64_t i = 0; i < head[1]; i++) if (head[4] != MANNER_ALIAS || i != head[5] + 1 || head[5] < 0) munmap(b[i], bytes[i][0] + 1);
    }
    fclose(to);
    return ENDING;
}
