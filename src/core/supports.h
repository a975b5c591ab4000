/* The table of features in generated/src/features.c. */
#ifndef ACU_SUPPORTS_TABLE_H
#define ACU_SUPPORTS_TABLE_H

#include <anycuda/supports.h>

#include <assert.h>
#include <stdint.h>

static_assert(ACU_FEATURE_COUNT < UINT8_MAX, "acu_function has a byte for the feature");

extern const acu_feature_info acu_features[ACU_FEATURE_COUNT];

#endif
