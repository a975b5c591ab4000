/* The table of all nouns. */
#include "sim/code/execute.h"
#include "sim/code/heap.h"
#include "sim/code/module.h"
#include "sim/code/nvjitlink.h"
#include "sim/code/nvrtc.h"
#include "sim/code/finding.h"
#include "sim/code/print.h"
#include "sim/code/profile.h"
#include "sim/code/stopped.h"
#include "sim/device/context.h"
#include "sim/device/device_resource.h"
#include "sim/device/log.h"
#include "sim/driver/driver.h"
#include "sim/graph/exec.h"
#include "sim/graph/graph.h"
#include "sim/graph/graph_memory.h"
#include "sim/graph/user_object.h"
#include "sim/memory/array.h"
#include "sim/memory/budget.h"
#include "sim/memory/created.h"
#include "sim/memory/external_memory.h"
#include "sim/memory/external_semaphore.h"
#include "sim/memory/graphics.h"
#include "sim/memory/guard.h"
#include "sim/memory/history.h"
#include "sim/memory/ipc_memory.h"
#include "sim/memory/memory.h"
#include "sim/memory/pool.h"
#include "sim/memory/texture.h"
#include "sim/memory/virtual.h"
#include "sim/stream/capture.h"
#include "sim/stream/event.h"
#include "sim/stream/execution_context.h"
#include "sim/stream/schedule.h"
#include "sim/stream/shared_event.h"
#include "sim/stream/stream.h"

const acu_sim_noun *const acu_sim_nouns[] = {
    &acu_sim_capture_noun,
    &acu_sim_stream_noun,
    &acu_sim_schedule_noun,
    &acu_sim_execution_context_noun,
    &acu_sim_external_semaphore_noun,
    &acu_sim_external_memory_noun,
    &acu_sim_graphics_noun,
    &acu_sim_exec_noun,
    &acu_sim_graph_noun,
    &acu_sim_event_noun,
    &acu_sim_shared_event_noun,
    &acu_sim_graph_memory_noun,
    &acu_sim_module_noun,
    &acu_sim_execute_noun,
    &acu_sim_heap_noun,
    &acu_sim_texture_noun,
    &acu_sim_array_noun,
    &acu_sim_virtual_noun,
    &acu_sim_created_noun,
    &acu_sim_memory_noun,
    &acu_sim_ipc_memory_noun,
    &acu_sim_pool_noun,
    &acu_sim_linker_noun,
    &acu_sim_jit_link_noun,
    &acu_sim_budget_noun,
    &acu_sim_log_noun,
    &acu_sim_coredump_noun,
    &acu_sim_process_noun,
    &acu_sim_print_noun,
    &acu_sim_finding_noun,
    &acu_sim_profile_noun,
    &acu_sim_stopped_noun,
    &acu_sim_program_noun,
    &acu_sim_descriptor_noun,
    &acu_sim_user_object_noun,
    &acu_sim_guard_noun,
    &acu_sim_history_noun,
    &acu_sim_context_noun,
    NULL,
};
