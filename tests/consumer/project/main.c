#include <anycuda/load.h>

#include <stdio.h>

int main(void) {
    const char *message = acu_last_error_message();
    if (message == NULL)
        return 1;
    puts("linked");
    return 0;
}
