/* What a fake runtime saw; the symbol `fake_seen` of each. */
#ifndef FAKE_CUDART_H
#define FAKE_CUDART_H

#include <stdint.h>

struct fake_seen {
    const char *called; /* the last symbol; not of functions that only ask for a version */
    unsigned calls;
    uintptr_t args[9]; /* its arguments, those that a test looks at */
};

/* Where cudaDeviceProp has these fields, by NVIDIA's headers. */
enum { SMS_UNTIL_12 = 388, SMS_SINCE_13 = 384, OPTIN_UNTIL_12 = 696, OPTIN_SINCE_13 = 672 };
enum { FAKE_SMS = 132, FAKE_OPTIN = 232448 };

#endif
