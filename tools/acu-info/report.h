/* What acu-info found out, and the two ways to print it. */
#ifndef ACU_INFO_REPORT_H
#define ACU_INFO_REPORT_H

#include <anycuda/anycuda.h>

/* What the program exits with; acu-info.1 documents them. */
typedef enum verdict {
    VERDICT_GPU = 0,
    VERDICT_ERROR = 1, /* of CUDA, or of this program */
    VERDICT_USAGE = 2,
    VERDICT_NO_LIBRARY = 3,
    VERDICT_NO_DRIVER = 4, /* none, or one that the runtime cannot use */
    VERDICT_NO_DEVICE = 5,
    VERDICT_SIMULATOR = 6
} verdict;

/* An answer of the library: 0, or a code and why. */
typedef struct answer {
    acu_result code;
    char *message; /* "" where there is nothing to say; never NULL */
} answer;

typedef struct library_report {
    acu_library_id id;
    const char *key, *title;
    const acu_load_info *loaded; /* NULL: `load` says why */
    answer load;
    char *search; /* acu_load_trace() */
} library_report;

typedef struct device_report {
    answer asked; /* code 0: the rest is known */
    acu_device_info info;
    char uuid[ACU_UUID_SIZE];
    answer features[ACU_FEATURE_COUNT];
} device_report;

enum { RUNTIME, DRIVER_API, COMPILER, LINKER, WEBGPU, LIBRARIES };

typedef struct report {
    verdict verdict;
    answer reason; /* why it is not VERDICT_GPU */
    char *hint;
    library_report libraries[LIBRARIES];
    int driver; /* the CUDA that it supports, 13000; 0: none, or nobody to ask */
    int device_count;
    device_report *devices;
    answer features[ACU_FEATURE_COUNT]; /* by library and driver alone */
} report;

/* `library`: a path or "sim"; NULL: what any program would load. */
void report_gather(report *r, const char *library);
void report_free(report *r);

/* "gpu", "no-driver" …: the verdict for programs. */
const char *verdict_name(verdict v);

/* Environment variables that decide what is found; ends with NULL. */
extern const char *const report_variables[];

void report_print_text(const report *r);
void report_print_json(const report *r);

/* For printf("%d.%d"). */
#define MAJOR(version) ((version) / 1000)
#define MINOR(version) ((version) % 1000 / 10)

#endif
