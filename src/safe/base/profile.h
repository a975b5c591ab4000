/* Domains of ranges and marks. */
#ifndef ACU_SRC_PROFILE_H
#define ACU_SRC_PROFILE_H

#include <anycuda/profile.h>

#include "safe/base/object.h"

struct acu_domain {
    acu_object object;
    void *raw;   /* the tool's handle; NULL: the global domain, or no tool */
    bool owned;  /* the raw domain is destroyed with the handle */
    char name[]; /* "" where the domain was wrapped or adopted */
};

extern ACU_OURS const acu_class acu_domain_class;

#endif
