/* The tool of ../nvtx_tool.h as a library, which NVTX_INJECTION64_PATH names. */
#define _POSIX_C_SOURCE 200809L
#include "../nvtx_tool.h"

#define EXPORTED __attribute__((visibility("default")))

#if !defined(WITHOUT_ENTRY)
EXPORTED int InitializeInjectionNvtx2(const void *(*get_table)(uint32_t number));
int InitializeInjectionNvtx2(const void *(*get_table)(uint32_t number)) {
    return tool_attaches(get_table);
}
#endif

/* Returns a line that the tool has written, NULL after the last one. */
EXPORTED const char *tool_line(int line);
const char *tool_line(int line) {
    (void)tool_attaches;
    return line < tool.count ? tool.lines[line] : NULL;
}

EXPORTED int tool_attached(void);
int tool_attached(void) {
    return tool.attached;
}
