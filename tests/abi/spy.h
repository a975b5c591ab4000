/* What a spy, a fake libcudart, records of a call, and how it makes up its answers. */
#ifndef SPY_H
#define SPY_H

#include <stddef.h>
#include <stdint.h>

/* A scalar field of a record, or an array of scalars. */
typedef struct spy_leaf {
    const char *path;
    uint32_t offset, size;
    uint32_t present; /* bit per toolkit whose layout has it; in a spy: 1 */
    /* Where it lies in unions: it is active if each of these unions is at the alternative. */
    struct {
        int of, alternative;
    } unions[3];
    int8_t tag_of;                  /* it is the discriminator of this union, or -1 */
    uint8_t kind;                   /* spy_kind */
    int64_t absent;                 /* what a caller finds where the loaded layout lacks it */
    int attribute, attribute_since; /* or the device attribute that says the same, once the runtime
                                       knows it; -1 */
    int since;                      /* the version that brought it; 0: as old as any */
} spy_leaf;

enum spy_kind {
    SPY_PLAIN,
    SPY_RESERVED,
    SPY_OPAQUE,
    SPY_TARGET, /* a pointer that the library follows: to zeros */
    SPY_COUNT   /* how many it leads to: two */
};

typedef struct spy_alternative {
    const char *member;
    int64_t tag;      /* a value that makes it active */
    uint32_t present; /* toolkits that have the member and the value */
} spy_alternative;

typedef struct spy_union {
    uint8_t count;
    int8_t by_argument; /* the discriminator is an argument of the call */
    const spy_alternative *alternatives;
} spy_union;

typedef struct spy_record {
    const char *name;
    uint32_t size;
    uint16_t leaf_count;
    uint8_t union_count;
    const spy_leaf *leaves;
    const spy_union *unions;
} spy_record;

/* One value that a spy saw: "nodeParams[0].kernel.gridDim.x". */
typedef struct spy_value {
    char path[120];
    uint32_t size;
    unsigned char bytes[256];
} spy_value;

typedef struct spy_log {
    const char *function; /* by the name its header gives it; NULL: nothing was called */
    int ptds;             /* the variant for the per-thread default stream */
    const char *trap;     /* an exported symbol that no header declares was called */
    int calls, count;
    spy_value values[1200];
} spy_log;

/* The pattern of a field, `salt` telling what goes in from what comes out. */
void spy_pattern(const char *path, int salt, void *bytes, size_t size);
enum { SPY_IN = 1, SPY_OUT = 2 };

/* Which alternative a union is at: the scenario-th that the toolkit has, counted around. */
const spy_alternative *spy_active(const spy_union *u, unsigned toolkit, unsigned scenario,
                                  int *index);
int spy_leaf_active(const spy_record *record, const spy_leaf *leaf, unsigned toolkit,
                    unsigned scenario);

/* What the generated spies call. */
extern spy_log *spy_now;
extern unsigned spy_scenario;
extern int spy_returns; /* what every call returns */
extern int spy_keeps;   /* nothing is written back */
void spy_enter(const char *function, int ptds);
void spy_trap(const char *symbol);
void spy_see(const char *path, const void *value, size_t size, size_t count, int array);
void spy_see_record(const char *path, const spy_record *record, const void *value, size_t count,
                    int array);
void spy_give(const char *path, void *value, size_t size, size_t count, int array);
void spy_give_record(const char *path, const spy_record *record, void *value, size_t count,
                     int array);
void spy_give_count(void *value, size_t size);
void spy_give_attribute(int *value, int attribute);

#endif
