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

/* UNKNOWN stands for a number that NVML does not report. */
enum { UNKNOWN = -1, MOST_PROCESSES = 64, MOST_LINKS = 64 };

typedef struct process_report {
    unsigned id;
    unsigned long long bytes; /* 0: NVML does not report how many */
} process_report;

typedef struct link_report {
    int number;
    bool active, to_switch;
    char remote[32]; /* the PCI id of what is at the other end; "" where NVML does not report it */
} link_report;

/* What NVML reports of a device. */
typedef struct monitor_report {
    bool known;                    /* NVML has the device; else there is nothing in the rest */
    long long clock, memory_clock; /* MHz */
    long long temperature;         /* degrees Celsius */
    long long milliwatts;
    long long busy; /* percent of the time */
    long long memory_used;
    long long pcie_generation, pcie_width;
    long long link_speed; /* of each active NVLink: MB/s in one direction */
    process_report processes[MOST_PROCESSES];
    size_t process_count;
    link_report links[MOST_LINKS];
    size_t link_count;
} monitor_report;

typedef struct device_report {
    answer asked; /* code 0: the rest is known */
    acu_device_info info;
    char uuid[ACU_UUID_SIZE];
    answer features[ACU_FEATURE_COUNT];
    monitor_report monitor;
} device_report;

/* The way from one device to another. */
typedef struct pair_report {
    bool known; /* CUDA has answered */
    acu_peer_info peer;
    int nvlinks;  /* how many lead there, also by a switch */
    int ancestor; /* nvmlGpuTopologyLevel_t, or UNKNOWN */
} pair_report;

enum { RUNTIME, DRIVER_API, COMPILER, LINKER, WEBGPU, MONITOR, LIBRARIES };

typedef struct report {
    verdict verdict;
    answer reason; /* why it is not VERDICT_GPU */
    char *hint;
    library_report libraries[LIBRARIES];
    int driver; /* the CUDA that it supports, 13000; 0: none, or nobody to ask */
    int device_count;
    device_report *devices;
    pair_report *pairs;                 /* device_count squared: report_pair() finds one */
    answer features[ACU_FEATURE_COUNT]; /* by library and driver alone */
} report;

/* `library`: a path or "sim"; NULL: what any program would load. `all` is false where the verdict
 * is enough. */
void report_gather(report *r, const char *library, bool all);
/* Keeps a result with what the library says of it. */
answer report_keep(acu_result code);
/* Asks NVML about the devices that CUDA has. */
void monitor_gather(report *r);
/* Returns the pair of two devices. */
pair_report *report_pair(const report *r, int from, int to);
void report_free(report *r);

/* "gpu", "no-driver" …: the verdict for programs. */
const char *verdict_name(verdict v);

/* Environment variables that decide what is found; ends with NULL. */
extern const char *const report_variables[];

void report_print_text(const report *r);
void report_print_verdict(const report *r);
void report_print_json(const report *r);
/* Prints which device reaches which, and how fast. */
void report_print_topology(const report *r);

/* For printf("%d.%d"). */
#define MAJOR(version) ((version) / 1000)
#define MINOR(version) ((version) % 1000 / 10)

#endif
