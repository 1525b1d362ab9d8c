/* The test runner: build/test [-v] [SUBSTRING ...] runs the tests whose file
 * or name has one of the substrings, two at a time, each in its own process. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>
#include "kernels.h"
#include "test.h"

enum { MAX_TESTS = 512, JOBS = 2, SECONDS = 120, SKIPPED = 77 };

typedef struct { const char *name, *file; void (*run)(void); } Test;
typedef struct { const Test *test; pid_t pid; FILE *output; } Job;

static Test tests[MAX_TESTS];
static int ntests, failures;

void test_register(const char *name, const char *file, void (*run)(void))
{
    if (ntests == MAX_TESTS) { fprintf(stderr, "too many tests\n"); abort(); }
    tests[ntests++] = (Test){name, file, run};
}

bool test_expect(bool ok, const char *file, int line, const char *condition,
                 const char *format, ...)
{
    va_list args;
    if (ok) return true;
    if (++failures > 20) return false;
    printf("  %s:%d: not so: %s\n    ", file, line, condition);
    va_start(args, format);
    vprintf(format, args);
    va_end(args);
    putchar('\n');
    return false;
}

void test_skip(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vprintf(format, args);
    va_end(args);
    putchar('\n');
    fflush(stdout);
    _exit(failures ? 1 : SKIPPED);
}

void test_say(const char *format, ...)
{
    va_list args;
    printf("  ");
    va_start(args, format);
    vprintf(format, args);
    va_end(args);
    putchar('\n');
}

void test_dies(const char *file, int line, int status, void (*f)(void *),
               void *arg, const char *const texts[])
{
    char text[4096] = "";
    FILE *err = tmpfile();
    int how;
    pid_t pid;
    fflush(stdout);
    if ((pid = fork()) == 0) {
        dup2(fileno(err), STDERR_FILENO);
        f(arg);
        _exit(0);
    }
    waitpid(pid, &how, 0);
    rewind(err);
    text[fread(text, 1, sizeof text - 1, err)] = 0;
    fclose(err);
    test_expect(WIFEXITED(how) && WEXITSTATUS(how) == status, file, line,
                "exit status", "wanted %d, got %s %d; stderr: %s", status,
                WIFEXITED(how) ? "status" : "signal",
                WIFEXITED(how) ? WEXITSTATUS(how) : WTERMSIG(how), text);
    const char *newline = strchr(text, '\n');
    test_expect(newline && !newline[1], file, line, "one line on stderr",
                "got: %s", text);
    for (; *texts; texts++)
        test_expect(strstr(text, *texts), file, line, "message",
                    "\"%s\" is not in: %s", *texts, text);
}

static Job start(const Test *t)
{
    Job job = {t, 0, tmpfile()};
    if (!job.output) { perror("tmpfile"); exit(74); }
    fflush(stdout);
    if ((job.pid = fork()) == 0) {
        dup2(fileno(job.output), STDOUT_FILENO);
        dup2(fileno(job.output), STDERR_FILENO);
        alarm(SECONDS);
        thread_limit(1);        /* two tests run at a time as it is */
        t->run();
        fflush(stdout);
        _exit(failures != 0);
    }
    return job;
}

static void show(FILE *output)
{
    char buffer[4096];
    size_t n;
    rewind(output);
    while ((n = fread(buffer, 1, sizeof buffer, output)) > 0)
        fwrite(buffer, 1, n, stdout);
}

static bool wanted(const Test *t, char **patterns)
{
    if (!*patterns) return true;
    for (; *patterns; patterns++)
        if (strstr(t->name, *patterns) || strstr(t->file, *patterns))
            return true;
    return false;
}

/* Waits for one of the jobs and reports it: 0 passed, 1 failed, 2 skipped. */
static int finish(Job *jobs, bool verbose)
{
    int how, j = 0;
    pid_t pid = wait(&how);
    while (jobs[j].pid != pid) j++;
    bool skip = WIFEXITED(how) && WEXITSTATUS(how) == SKIPPED;
    bool pass = WIFEXITED(how) && WEXITSTATUS(how) == 0;
    const char *verdict = pass ? "ok" : skip ? "skipped" : "FAILED";
    if (verbose || !pass)
        printf("%-8s %s  %s\n", verdict, jobs[j].test->file,
               jobs[j].test->name);
    if (WIFSIGNALED(how)) printf("  ended by signal %d\n", WTERMSIG(how));
    if (verbose || !pass) show(jobs[j].output);
    fclose(jobs[j].output);
    jobs[j].pid = 0;
    return pass ? 0 : skip ? 2 : 1;
}

int main(int argc, char **argv)
{
    Job jobs[JOBS] = {{0}};
    int count[3] = {0}, running = 0, next = 0;
    thread_setup(argv);
    bool verbose = argc > 1 && !strcmp(argv[1], "-v");
    char **patterns = argv + 1 + verbose;
    while (next < ntests || running) {
        if (next < ntests && !wanted(&tests[next], patterns)) {
            next++;
        } else if (next < ntests && running < JOBS) {
            int j = 0;
            while (jobs[j].pid) j++;
            jobs[j] = start(&tests[next++]);
            running++;
        } else {
            count[finish(jobs, verbose)]++;
            running--;
        }
    }
    bool none = count[0] + count[1] + count[2] == 0;
    if (none) puts("no test has such a name");
    printf("%d passed, %d failed, %d skipped\n", count[0], count[1], count[2]);
    return count[1] != 0 || none;
}
