/* Prints the PTX of a kernel of strided copies: the kind's number, the bytes of a word. */
#include "safe/kernel/strided.h"

#include <stdio.h>
#include <stdlib.h>

int main(int count, char **arguments) {
    static char text[1 << 16];
    if (count != 3)
        return 2;
    const acu_strided_kind kind = (acu_strided_kind)strtoul(arguments[1], NULL, 10);
    const size_t length =
        acu_strided_ptx(kind, (unsigned)strtoul(arguments[2], NULL, 10), text, sizeof text);
    return length >= sizeof text || fputs(text, stdout) < 0;
}
