/* PyTorch's filter of streams: a std::function, whose layout in libstdc++ has been the same since
 * GCC 4.5. C++ is not needed to copy and to call it. */
#include "plugin/plugin.h"

enum { CLONE = 2, DESTROY = 3 };

static const acu_plugin_filter empty;

void acu_plugin_filter_copy(acu_plugin_filter *to, const void *from) {
    const acu_plugin_filter *f = from;
    *to = empty;
    if (!f || !f->manager)
        return;
    (void)f->manager(to->functor, f->functor, CLONE);
    to->manager = f->manager;
    to->invoker = f->invoker;
}

void acu_plugin_filter_destroy(acu_plugin_filter *filter) {
    if (filter->manager)
        (void)filter->manager(filter->functor, filter->functor, DESTROY);
    *filter = empty;
}

bool acu_plugin_filter_asks(const acu_plugin_filter *filter, struct CUstream_st *stream) {
    return !filter->manager || filter->invoker(filter->functor, &stream);
}
