/*
 * Symbols of libcuda that the headers declare no more, and that programs look up by these names, or
 * that nothing stands for. Only libanycuda-sim.so has them, in place of the refusals in exports.c.
 */
#include "sim/driver/driver.h"
#include "sim/entry/entries.h"

/* The older one has no status: programs pass one, or NULL, all the same, and it is left alone. */
extern CUresult acu_sim_find_function(const char *symbol, void **function, int version,
                                      cuuint64_t flags) SIM_SYMBOL("cuGetProcAddress");
CUresult acu_sim_find_function(const char *symbol, void **function, int version, cuuint64_t flags) {
    acu_fn fn = acu_sim_driver_older_symbol("cuGetProcAddress");
    return ((CUresult (*)(const char *, void **, int, cuuint64_t))fn)(symbol, function, version,
                                                                      flags);
}

SIM_ENTRY(cuDeviceGetUuid, cuDeviceGetUuid, cuDeviceGetUuid_v2)
extern CUresult acu_sim_get_uuid(CUuuid *uuid, CUdevice device) SIM_SYMBOL("cuDeviceGetUuid");
CUresult acu_sim_get_uuid(CUuuid *uuid, CUdevice device) {
    return acu_sim_entry_cuDeviceGetUuid(uuid, device);
}

SIM_ENTRY(cuCtxCreate, cuCtxCreate, cuCtxCreate_v4)
extern CUresult acu_sim_create_context(CUcontext *context, unsigned flags, CUdevice device)
    SIM_SYMBOL("cuCtxCreate_v2");
CUresult acu_sim_create_context(CUcontext *context, unsigned flags, CUdevice device) {
    return acu_sim_entry_cuCtxCreate(context, NULL, flags, device);
}

extern CUresult acu_sim_get_table(const void **table, const CUuuid *id)
    SIM_SYMBOL("cuGetExportTable");
CUresult acu_sim_get_table(const void **table, const CUuuid *id) {
    (void)table;
    return acu_sim_driver_refuse_table(id, __builtin_return_address(0));
}
