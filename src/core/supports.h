/* What generated/src/features.c says of each feature. */
#ifndef ACU_SUPPORTS_TABLE_H
#define ACU_SUPPORTS_TABLE_H

#include <anycuda/features.h>
#include <anycuda/load.h>

/* Versions are 12030; 0 where nothing is asked. */
typedef struct acu_feature_info {
    const char *id, *title;
    acu_library_id library;
    int since, until;       /* versions of the library that have it */
    int gone;               /* the first known one that lacks it again */
    int driver;             /* the oldest that will do */
    const char *attribute;  /* of a device, not 0 there; NULL: none */
    int attribute_number;   /* as the driver counts; the runtime counts alike */
    int compute_capability; /* 90 for 9.0 */
} acu_feature_info;

extern const acu_feature_info acu_features[ACU_FEATURE_COUNT];

#endif
