/* NVTX's protocol, version 3, from the side of a program. */
#ifndef ACU_NVTX_H
#define ACU_NVTX_H

#include "core/audience.h"

/* Looks for a tool, and lets it attach; returns whether one did. Must be called once. */
bool acu_nvtx_attach(void);

/* The following functions do nothing, and return NULL or 0, where no tool is attached or the tool
 * does not want to be told. */

/* Tells the tool; returns the tool's number of the range that ACU_RANGE_START begins. */
uint64_t acu_nvtx_tell(const acu_range_event *event);
/* Returns the tool's handle of a domain, which is the caller's to destroy. */
void *acu_nvtx_create_domain(const char *name);
void acu_nvtx_destroy_domain(void *domain);
void acu_nvtx_name_category(void *domain, uint32_t category, const char *name);
/* `what` is a handle, or a number. */
void acu_nvtx_name(acu_named kind, uint64_t what, const char *name);

#endif
