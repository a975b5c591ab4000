/* Functions of CUDA's device runtime, which PTX declares and nothing defines. */
#include "sim/ptx/device_call.h"

#include "sim/ptx/access.h"
#include "sim/ptx/check.h"
#include "sim/ptx/grid.h"
#include "sim/ptx/lower_inside.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static char *place(const ptx_warp *w, ptx_copy_place p, unsigned lane, uint32_t size) {
    if (p.in_slot)
        return (char *)ptx_at(w, p.at) + (size_t)lane * size;
    return w->local + lane * w->local_stride + w->frame->local + p.at;
}

const char *acu_ptx_call_place(const ptx_warp *w, const ptx_device_call *call, unsigned n,
                               unsigned lane) {
    return place(w, call->arguments[n], lane, call->sizes[n]);
}

uint64_t acu_ptx_call_argument(const ptx_warp *w, const ptx_device_call *call, unsigned n,
                               unsigned lane) {
    uint64_t value = 0;
    memcpy(&value, acu_ptx_call_place(w, call, n, lane), call->sizes[n] < 8 ? call->sizes[n] : 8);
    return value;
}

void acu_ptx_call_return(const ptx_warp *w, const ptx_device_call *call, unsigned lane,
                         uint64_t value) {
    if (call->result_size == 4 || call->result_size == 8)
        memcpy(place(w, call->result, lane, call->result_size), &value, call->result_size);
}

/* Copies a text of the device's; "" for NULL. What does not fit is left out. */
static void read_text(ptx_warp *w, const ptx_op *op, unsigned lane, uint64_t address, char *text,
                      size_t room) {
    size_t used = 0;
    while (address && used + 1 < room) {
        char c = *acu_ptx_memory_at(w, op, lane, PTX_GENERIC, address + used, 1, 1, false);
        if (!c)
            break;
        text[used++] = c;
    }
    text[used] = '\0';
}

/* ---- printf ---- */

/* A line that grows; what does not fit is left out, which are 128 KiB here. */
typedef struct line {
    size_t used;
    char text[1 << 17];
} line;

static void add(line *out, const char *format, ...) __attribute__((format(printf, 2, 3)));

static void add(line *out, const char *format, ...) {
    va_list list;
    va_start(list, format);
    int length = vsnprintf(out->text + out->used, sizeof out->text - out->used, format, list);
    va_end(list);
    size_t left = sizeof out->text - 1 - out->used;
    out->used += length < 0 ? 0 : (size_t)length < left ? (size_t)length : left;
}

/* Reads the next argument, which lies aligned to its size. */
static uint64_t next_argument(ptx_warp *w, const ptx_op *op, unsigned lane, uint64_t *at,
                              unsigned size) {
    uint64_t value = 0;
    *at = (*at + size - 1) / size * size;
    memcpy(&value, acu_ptx_memory_at(w, op, lane, PTX_GENERIC, *at, size, 1, false), size);
    *at += size;
    return value;
}

/* Copies one conversion, from % to its letter, without the lengths. `bytes` gets how long an
 * integer is: 8 for l, 2 for h, 1 for hh. An asterisk is replaced by its argument. Other lengths,
 * as z and L, are none to a GPU, nor are precisions that are arguments: where it does not know the
 * conversion (`knows` is false then), it prints it as it stands. Returns what is behind it. */
static const char *read_conversion(ptx_warp *w, const ptx_op *op, unsigned lane, const char *at,
                                   uint64_t *arguments, char *conversion, size_t room,
                                   unsigned *bytes, bool *knows) {
    size_t used = 0;
    *bytes = 4;
    *knows = true;
    for (conversion[used++] = *at++; *at; at++) {
        if (*at == '*') {
            int width = (int)next_argument(w, op, lane, arguments, 4);
            *knows &= at[-1] != '.';
            used += (size_t)snprintf(conversion + used, room - used, "%d", width);
        } else if (*at == 'l') {
            *bytes = 8;
        } else if (*at == 'h') {
            *bytes = *bytes == 2 ? 1 : 2;
        } else if (*at == 'L') {
            *knows = false;
        } else {
            conversion[used++] = *at;
            if (!strchr("0123456789.+-# ", *at)) {
                at++;
                break;
            }
        }
        if (used + 16 > room)
            break;
    }
    conversion[used] = '\0';
    return at;
}

/* The format is the kernel's, so the compiler cannot check it; each conversion gets an argument of
 * its kind. */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
static void add_conversion(ptx_warp *w, const ptx_op *op, unsigned lane, line *out,
                           char *conversion, unsigned size, uint64_t *arguments) {
    size_t length = strlen(conversion);
    char letter = conversion[length - 1], text[1 << 16];
    const unsigned word = size == 8 ? 8 : 4; /* bytes of the argument */
    double real;
    uint64_t bits;
    switch (letter) {
    case 'd':
    case 'i':
        bits = next_argument(w, op, lane, arguments, word);
        memcpy(conversion + length - 1, "lld", 4);
        add(out, conversion,
            size == 8   ? (long long)bits
            : size == 4 ? (long long)(int)bits
            : size == 2 ? (long long)(short)bits
                        : (long long)(signed char)bits);
        break;
    case 'u':
    case 'x':
    case 'X':
    case 'o':
        bits = next_argument(w, op, lane, arguments, word);
        bits &= UINT64_MAX >> (64 - 8 * size);
        conversion[length - 1] = 'l';
        conversion[length] = 'l';
        conversion[length + 1] = letter;
        conversion[length + 2] = '\0';
        add(out, conversion, (unsigned long long)bits);
        break;
    case 'c':
        add(out, conversion, (int)next_argument(w, op, lane, arguments, 4));
        break;
    case 'p':
        add(out, conversion, (void *)(uintptr_t)next_argument(w, op, lane, arguments, 8));
        break;
    case 's':
        bits = next_argument(w, op, lane, arguments, 8);
        read_text(w, op, lane, bits, text, sizeof text);
        add(out, conversion, bits ? text : "(null)");
        break;
    case 'e':
    case 'E':
    case 'f':
    case 'F':
    case 'g':
    case 'G':
    case 'a':
    case 'A':
        bits = next_argument(w, op, lane, arguments, 8);
        memcpy(&real, &bits, sizeof real);
        add(out, conversion, real);
        break;
    case '%':
        add(out, "%s", length == 2 ? "%" : conversion);
        break;
    default:
        add(out, "%s", conversion);
        break;
    }
}
#pragma GCC diagnostic pop

/* Returns how many conversions had an argument. */
static int print_lane(ptx_warp *w, const ptx_op *op, unsigned lane, const char *format,
                      uint64_t arguments) {
    const ptx_machine *machine = w->worker->launch->machine;
    line out;
    int converted = 0;
    out.used = 0;
    while (*format) {
        char conversion[128];
        unsigned bytes;
        bool knows;
        if (*format != '%') {
            size_t plain = strcspn(format, "%");
            add(&out, "%.*s", (int)plain, format);
            format += plain;
            continue;
        }
        const char *begin = format;
        format = read_conversion(w, op, lane, format, &arguments, conversion, sizeof conversion,
                                 &bytes, &knows);
        const uint64_t before = arguments;
        const size_t printed = out.used;
        add_conversion(w, op, lane, &out, conversion, bytes, &arguments);
        converted += knows && arguments != before;
        if (!knows) {
            out.used = printed;
            add(&out, "%.*s", (int)(format - begin), begin);
        }
    }
    if (machine->print)
        machine->print(machine->data, out.text, out.used);
    return converted;
}

/* int vprintf(const char *format, void *arguments) */
static void do_vprintf(ptx_warp *w, const ptx_op *op) {
    const ptx_device_call *call = op->more;
    for (uint32_t left = w->mask; left; left &= left - 1) {
        unsigned lane = (unsigned)__builtin_ctz(left);
        char format[4096];
        read_text(w, op, lane, acu_ptx_call_argument(w, call, 0, lane), format, sizeof format);
        const int result = print_lane(w, op, lane, format, acu_ptx_call_argument(w, call, 1, lane));
        acu_ptx_call_return(w, call, lane, (uint64_t)result);
    }
}

/* ---- assert ---- */

/* void __assertfail(const char *message, const char *file, unsigned line, const char *function,
 * size_t size) */
static void do_assertfail(ptx_warp *w, const ptx_op *op) {
    const ptx_device_call *call = op->more;
    unsigned lane = (unsigned)__builtin_ctz(w->mask);
    char message[256], file[256], function[256];
    read_text(w, op, lane, acu_ptx_call_argument(w, call, 0, lane), message, sizeof message);
    read_text(w, op, lane, acu_ptx_call_argument(w, call, 1, lane), file, sizeof file);
    read_text(w, op, lane, acu_ptx_call_argument(w, call, 3, lane), function, sizeof function);
    const unsigned *block = w->block->launch->block;
    for (uint32_t left = w->mask; left; left &= left - 1) {
        unsigned thread = w->number * PTX_LANES + (unsigned)__builtin_ctz(left);
        fprintf(stderr, "%s:%u: %s: block: [%u,%u,%u], thread: [%u,%u,%u] Assertion `%s` failed.\n",
                file, (unsigned)acu_ptx_call_argument(w, call, 2, lane), function,
                w->block->index[0], w->block->index[1], w->block->index[2], thread % block[0],
                thread / block[0] % block[1], thread / block[0] / block[1], message);
    }
    acu_ptx_fail(w, lane, op, 710, 0, "assertion `%.150s` failed", message);
}

/* ---- malloc, free ---- */

/* void *malloc(size_t bytes) */
static void do_malloc(ptx_warp *w, const ptx_op *op) {
    const ptx_device_call *call = op->more;
    const ptx_machine *machine = w->worker->launch->machine;
    for (uint32_t left = w->mask; left; left &= left - 1) {
        unsigned lane = (unsigned)__builtin_ctz(left);
        uint64_t bytes = acu_ptx_call_argument(w, call, 0, lane),
                 memory = machine->allocate ? machine->allocate(machine->data, bytes) : 0;
        if (memory && w->block->check)
            acu_ptx_check_forget(w, memory, bytes);
        acu_ptx_call_return(w, call, lane, memory);
    }
}

/* void free(void *memory) */
static void do_free(ptx_warp *w, const ptx_op *op) {
    const ptx_machine *machine = w->worker->launch->machine;
    for (uint32_t left = w->mask; left; left &= left - 1) {
        unsigned lane = (unsigned)__builtin_ctz(left);
        uint64_t memory = acu_ptx_call_argument(w, op->more, 0, lane);
        int result = PTX_OVERLOOKED; /* as shared and local memory, above 2^48 */
        if (machine->release && !(memory >> 48))
            result = machine->release(machine->data, memory);
        if (result > 0)
            acu_ptx_fail(w, lane, op, result, memory,
                         result == 719 ? "free() of what is free already"
                                       : "free() of what is no memory");
        if (result == PTX_OVERLOOKED && w->code->watch.checks & PTX_CHECK_MEMORY)
            acu_ptx_check_report(w, op, lane, PTX_CHECK_MEMORY,
                                 "free() of 0x%llx, which malloc() did not return",
                                 (unsigned long long)memory);
    }
}

/* ---- graphs ---- */

/* void cudaGraphSetConditional(cudaGraphConditionalHandle handle, unsigned value) */
static void do_set_conditional(ptx_warp *w, const ptx_op *op) {
    const ptx_device_call *call = op->more;
    const ptx_machine *machine = w->worker->launch->machine;
    for (uint32_t left = w->mask; left && machine->set_conditional; left &= left - 1) {
        unsigned lane = (unsigned)__builtin_ctz(left);
        const uint64_t handle = acu_ptx_call_argument(w, call, 0, lane);
        if (!machine->set_conditional(machine->data, handle,
                                      (unsigned)acu_ptx_call_argument(w, call, 1, lane)))
            acu_ptx_fail(w, lane, op, 700, handle,
                         "the graph that the kernel is in has no such conditional handle");
    }
}

/* ---- calls ---- */

static const struct {
    const char *name;
    ptx_handler *handler;
} functions[] = {{"vprintf", do_vprintf},
                 {"__assertfail", do_assertfail},
                 {"malloc", do_malloc},
                 {"free", do_free},
                 {"cudaGraphSetConditional", do_set_conditional}};

bool acu_ptx_is_device_function(const char *name) {
    for (size_t n = 0; n < sizeof functions / sizeof *functions; n++)
        if (strcmp(functions[n].name, name) == 0)
            return true;
    return strncmp(name, "__cuda_syscall", 14) == 0;
}

static ptx_copy_place place_of(ptx_lowering *l, const ptx_operand *o, const ptx_variable *formal) {
    if (o->kind == PTX_VARIABLE && o->variable->space == PTX_PARAM)
        return (ptx_copy_place){false, acu_ptx_frame_at(l, o->variable)};
    return (ptx_copy_place){true, acu_ptx_source(l, o, formal->type)};
}

bool acu_ptx_lower_device_call(ptx_lowering *l, const ptx_instruction *i,
                               const ptx_function *function, const ptx_operand *results,
                               const ptx_operand *params) {
    const size_t count = sizeof functions / sizeof *functions;
    size_t n = 0;
    (void)i;
    while (n < count && strcmp(functions[n].name, function->name) != 0)
        n++;
    const int of_runtime = n == count ? acu_ptx_runtime_find(function->name) : -1;
    if (n == count && of_runtime < 0)
        return false;
    ptx_device_call *call = acu_ptx_lower_alloc(l, sizeof *call);
    const ptx_variable *formal = function->params;
    for (unsigned k = 0; k < params->element_count && k < PTX_CALL_ARGUMENTS && formal;
         k++, formal = formal->next) {
        call->arguments[k] = place_of(l, &params->elements[k], formal);
        call->sizes[k] = (uint32_t)formal->size;
    }
    if (results->element_count && function->results) {
        call->result = place_of(l, &results->elements[0], function->results);
        call->result_size = (uint32_t)function->results->size;
    }
    ptx_op *op = acu_ptx_emit(l, n < count ? functions[n].handler : acu_ptx_runtime_call);
    op->more = call;
    op->value = of_runtime;
    l->code->prints |= n < count && functions[n].handler == do_vprintf;
    l->code->uses_heap |=
        n < count && (functions[n].handler == do_malloc || functions[n].handler == do_free);
    if (of_runtime >= 0) {
        const bool of_graphs = acu_ptx_runtime_of_graphs(of_runtime);
        l->code->uses_runtime |= !of_graphs;
        l->code->launches_graphs |= acu_ptx_runtime_launches_graphs(of_runtime);
    }
    op->site = acu_ptx_site(l);
    return true;
}
