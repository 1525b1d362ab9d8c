/* A test is TEST(what_it_shows) { ... EXPECT(...); ... }. It registers itself
 * and runs in a process of its own, so that a crash, an exit or a hang is one
 * failed test and not the end of all. The same files are compiled twice, with
 * real = float and real = double; #ifdef REAL_DOUBLE where that matters. */
#ifndef TEST_H
#define TEST_H

#include <stdbool.h>
#include <stddef.h>

#define TEST(name)                                                      \
    static void name(void);                                             \
    __attribute__((constructor)) static void name##_register(void)      \
    { test_register(#name, __FILE__, name); }                           \
    static void name(void)

void test_register(const char *name, const char *file, void (*run)(void));

/* If the condition fails, prints place and message, and the test has failed
 * (it goes on, so that one run shows everything; 20 lines at most). */
#define EXPECT(condition, ...) \
    test_expect((condition), __FILE__, __LINE__, #condition, __VA_ARGS__)
bool test_expect(bool ok, const char *file, int line, const char *condition,
                 const char *format, ...) __attribute__((format(printf, 5, 6)));

/* Ends the test as skipped: what is absent. */
#define SKIP(...) test_skip(__VA_ARGS__)
_Noreturn void test_skip(const char *format, ...)
    __attribute__((format(printf, 1, 2)));

/* Runs f(arg) in a child, which must end with the status and have written
 * exactly one line to stderr, holding each of the texts (up to a NULL). */
#define EXPECT_DIES(status, f, arg, ...)                                \
    test_dies(__FILE__, __LINE__, (status), (f), (arg),                 \
              (const char *[]){__VA_ARGS__, NULL})
void test_dies(const char *file, int line, int status, void (*f)(void *),
               void *arg, const char *const texts[]);

/* A line of information in the report, not a verdict. */
void test_say(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif
