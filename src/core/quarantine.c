#include "core/quarantine.h"

size_t acu_quarantine_size = ACU_QUARANTINE;
