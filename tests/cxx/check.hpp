/* A check that prints what failed and where, and the count of them that main() returns. */
#ifndef CHECK_HPP
#define CHECK_HPP

#include <anycuda/status.h>

#include <cstdio>

inline int failed_checks = 0;

inline void check(bool holds, const char *text, const char *file, int line) {
    if (holds)
        return;
    std::printf("%s:%d: %s\n  last error: %s\n", file, line, text, acu_last_error_message());
    failed_checks++;
}

#define CHECK(...) check(static_cast<bool>(__VA_ARGS__), #__VA_ARGS__, __FILE__, __LINE__)

#endif
