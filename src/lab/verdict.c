#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include "die.h"
#include "lab.h"

const char *const verdict_names[] = {"holds", "differs", "FAILS", "skipped"};

static bool within(double x, double low, double high)
{
    return x >= low && x <= high;       /* false for NaN */
}

Verdict verdict_of(const Measurement *m)
{
    if (within(m->value, m->low, m->high)) return HOLDS;
    return m->differs && within(m->value, m->known_low, m->known_high)
         ? DIFFERS : FAILS;
}

static void too_few(const Claim *claim, Lab *lab)
{
    static char why[64];
    snprintf(why, sizeof why, "too few seeds: its thresholds are for %d or "
             "more", claim->fewest);
    lab->skipped = why;
}

Verdict claim_run(const Claim *claim, Lab *lab)
{
    Verdict worst = HOLDS;
    lab->n = 0;
    lab->skipped = NULL;
    if (lab->seeds && lab->seeds < claim->fewest) too_few(claim, lab);
    else claim->run(lab);
    if (lab->skipped) return SKIPPED;
    for (int i = 0; i < lab->n; i++)
        if (verdict_of(&lab->m[i]) > worst) worst = verdict_of(&lab->m[i]);
    return lab->n ? worst : FAILS;
}

static Measurement *report(Lab *lab, Estimate e, double low, double high,
                           const char *name, va_list args)
{
    CHECK(lab->n < MEASUREMENTS, "lab: %d measurements of a claim, no more",
          MEASUREMENTS);
    Measurement *m = &lab->m[lab->n++];
    *m = (Measurement){.value = e.value, .low = low, .high = high,
                       .error = e.error, .n = e.n};
    vsnprintf(m->name, sizeof m->name, name, args);
    return m;
}

Measurement *measured(Lab *lab, double value, double low, double high,
                      const char *name, ...)
{
    va_list args;
    va_start(args, name);
    Measurement *m = report(lab, (Estimate){.value = value}, low, high, name,
                            args);
    va_end(args);
    return m;
}

Measurement *measured_over(Lab *lab, Estimate e, double low, double high,
                           const char *name, ...)
{
    va_list args;
    va_start(args, name);
    Measurement *m = report(lab, e, low, high, name, args);
    va_end(args);
    return m;
}

void differs(Measurement *m, double low, double high, const char *why)
{
    m->known_low = low, m->known_high = high, m->differs = why;
}

void lab_progress(const Lab *lab, const char *format, ...)
{
    char what[80];
    va_list args;
    if (!lab->progress) return;
    va_start(args, format);
    vsnprintf(what, sizeof what, format, args);
    va_end(args);
    lab->progress(what);
}

int lab_seeds(const Lab *lab, int own) { return lab->seeds ? lab->seeds : own; }

/* The thresholds of the training claims are of this text alone. */
const Text *lab_text(Lab *lab, int context)
{
    static const char shakespeare[] = "86c4e6aa9db7c042ec79f339dcb96d42"
                                      "b0075e16b8fc2e86bf0ca57e2dc565ed";
    if (!lab->text.ids && (lab->data_wanted || !access(lab->data, R_OK)))
        lab->text = text_load(&lab->arena, lab->data, false, context);
    if (!lab->text.ids)
        lab->skipped = "tiny Shakespeare is not here: "
                       "data/get-shakespeare.sh gets it, --data=FILE names it";
    else if (strcmp(lab->text.sha256, shakespeare))
        lab->skipped = "the text is not tiny Shakespeare, for which the "
                       "thresholds are: data/get-shakespeare.sh gets it";
    return lab->skipped ? NULL : &lab->text;
}
