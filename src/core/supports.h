/* The table of features in generated/src/features.c. */
#ifndef ACU_SUPPORTS_TABLE_H
#define ACU_SUPPORTS_TABLE_H

#include <anycuda/features.h>
#include <anycuda/load.h>

/* What one feature needs. A version is 12030; 0 means that there is no such condition. */
typedef struct acu_feature_info {
    const char *id, *title;
    acu_library_id library;
    int since, until;       /* versions of the library that have it */
    int gone;               /* the first known version that lacks it again */
    int driver;             /* the oldest version of the driver that supports it */
    const char *attribute;  /* of a device, which must not be 0; NULL: no condition */
    int attribute_number;   /* equal in the driver and the runtime */
    int compute_capability; /* 90 for 9.0 */
} acu_feature_info;

extern const acu_feature_info acu_features[ACU_FEATURE_COUNT];

#endif
