/*
 * The engine of src/adapt.c on made-up descriptions that have what CUDA's records have: unions with
 * their tag inside, in the enclosing record or in an argument, fields carved out of padding,
 * records that grew, records whose fields moved.
 */
#include "core/adapt.h"
#include "core/call.h"
#include "core/newer.h"
#include "core/refuse.h"
#include "core/values.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define COUNT(array) ((uint32_t)(sizeof(array) / sizeof((array)[0])))

/* ---- what the core would do, done by the test ---- */

struct acu_library {
    int version;
};

static acu_library library;

int acu_call_version(const acu_library *l) {
    return l->version;
}

enum { INVALID = 1, NEWER = 801 };

static char refused[256];

int acu_refuse_newer(const acu_function *function, const char *what, int since) {
    (void)function;
    snprintf(refused, sizeof refused, "%s since %d", what, since);
    return NEWER;
}

int acu_refuse_invalid(const acu_function *function, const char *what, const char *why) {
    (void)function;
    snprintf(refused, sizeof refused, "%s %s", what, why);
    return INVALID;
}

/* ---- scalars ---- */

static const acu_type int_type = {.name = "int", .kind = ACU_KIND_SIGNED, .size = 4};
static const acu_type short_type = {.name = "short", .kind = ACU_KIND_SIGNED, .size = 2};
static const acu_type byte_type = {.name = "unsigned char", .kind = ACU_KIND_UNSIGNED, .size = 1};
static const acu_type long_type = {.name = "long", .kind = ACU_KIND_SIGNED, .size = 8};
static const acu_type size_type = {.name = "size_t", .kind = ACU_KIND_UNSIGNED, .size = 8};
static const acu_type char_type = {.name = "char", .kind = ACU_KIND_CHAR, .size = 1};
static const acu_type float_type = {.name = "float", .kind = ACU_KIND_FLOAT, .size = 4};
static const acu_type pointer_type = {.name = "void *", .kind = ACU_KIND_POINTER, .size = 8};

enum { NONE, KERNEL, MEMSET, CONDITIONAL };
static const acu_value node_kinds[] = {
    {NONE, 0}, {KERNEL, 0}, {MEMSET, 0}, {CONDITIONAL, 12030}, {CONDITIONAL, 13000}};
static const acu_type kind_type = {.name = "kind\0None\0Kernel\0Memset\0Conditional\0If",
                                   .kind = ACU_KIND_ENUM,
                                   .size = 4,
                                   .count = COUNT(node_kinds),
                                   .values = node_kinds};

static const acu_value flag_values[] = {{0, 0}, {1, 0}, {2, 0}, {4, 12040}, {3, 12050}};
static const acu_type flags_type = {.name = "flags\0Default\0A\0B\0C\0AB",
                                    .kind = ACU_KIND_FLAGS,
                                    .size = 4,
                                    .count = COUNT(flag_values),
                                    .values = flag_values};

/* ---- a record that grew, in a union of a record of constant size, as cudaGraphNodeParams ---- */

struct kernel {
    void *func;
    int shared;
    /* four bytes of the compiler's padding */
    void *ctx; /* 13.1 */
    int mode;  /* 13.2; 1 is as good as absent */
};

static const acu_field kernel_fields[] = {
    {.type = &pointer_type, .offset = offsetof(struct kernel, func), .count = 1},
    {.type = &int_type, .offset = offsetof(struct kernel, shared), .count = 1},
    {.type = &pointer_type, .offset = offsetof(struct kernel, ctx), .count = 1, .since = 13010},
    {.type = &int_type,
     .offset = offsetof(struct kernel, mode),
     .count = 1,
     .since = 13020,
     .harmless = 1},
};
static const acu_layout kernel_layouts[] = {
    {.until = 13010, .size = 16}, {13010, 13020, 24, NULL, NULL}, {.until = 0}};
static const acu_type kernel_type = {.name = "kernel\0func\0shared\0ctx\0mode",
                                     .kind = ACU_KIND_RECORD,
                                     .size = sizeof(struct kernel),
                                     .count = COUNT(kernel_fields),
                                     .fields = kernel_fields,
                                     .layouts = kernel_layouts};

struct memset {
    void *dst;
    unsigned char value[4];
};
static const acu_field memset_fields[] = {
    {.type = &pointer_type, .count = 1},
    {.type = &byte_type, .offset = offsetof(struct memset, value), .count = 4},
};
static const acu_type memset_type = {.name = "memset\0dst\0value",
                                     .kind = ACU_KIND_RECORD,
                                     .size = sizeof(struct memset),
                                     .count = COUNT(memset_fields),
                                     .fields = memset_fields};

struct node {
    int kind;
    int reserved0[3];
    union {
        int64_t reserved1[6];
        struct kernel kernel;
        struct memset memset;
        struct memset conditional; /* 12.3 */
    };
    int64_t reserved2;
};
static const int32_t is_kernel[] = {KERNEL, ACU_TAG_END};
static const int32_t is_memset[] = {MEMSET, ACU_TAG_END};
static const int32_t is_conditional[] = {CONDITIONAL, ACU_TAG_END};
static const acu_field node_fields[] = {
    {.type = &kind_type, .count = 1},
    {.type = &int_type, .offset = 4, .count = 3, .reserved = true},
    {.type = &long_type, .offset = 16, .count = 6, .reserved = true},
    {.type = &kernel_type, .offset = 16, .count = 1, .tags = is_kernel},
    {.type = &memset_type, .offset = 16, .count = 1, .tags = is_memset},
    {.type = &memset_type, .offset = 16, .count = 1, .since = 12030, .tags = is_conditional},
    {.type = &long_type, .offset = 64, .count = 1, .reserved = true},
};
static const acu_type node_type = {
    .name = "node\0kind\0reserved0\0reserved1\0kernel\0memset\0conditional\0reserved2",
    .kind = ACU_KIND_RECORD,
    .size = sizeof(struct node),
    .count = COUNT(node_fields),
    .fields = node_fields};

static const acu_param node_in[] = {
    {.type = &node_type, .depth = 1, .direction = ACU_INOUT, .length = -1, .tag = -1}};
static const acu_function add_node = {
    .library = &library, .name = "addNode\0nodeParams", .params = node_in, .param_count = 1};
static const acu_param nodes_in[] = {
    {.type = &node_type, .depth = 1, .direction = ACU_IN, .length = 1, .tag = -1},
    {.type = &size_type, .length = -1, .tag = -1}};
static const acu_function add_nodes = {
    .library = &library, .name = "addNodes\0nodes\0count", .params = nodes_in, .param_count = 2};

static int check(const void *record, int version) {
    library.version = version;
    refused[0] = '\0';
    return acu_adapt_check(&add_node, 0, record, 1, 0);
}

static void a_newer_field_of_the_active_member_is_refused_by_its_path(void **state) {
    (void)state;
    struct node node = {.kind = KERNEL, .kernel.ctx = &node};
    assert_int_equal(check(&node, 12090), NEWER);
    assert_string_equal(refused, "nodeParams->kernel.ctx since 13010");
    assert_int_equal(check(&node, 13010), 0);
    node.kernel.mode = 2;
    assert_int_equal(check(&node, 13010), NEWER);
    assert_string_equal(refused, "nodeParams->kernel.mode since 13020");
    assert_int_equal(check(&node, 13020), 0);
}

static void a_value_that_means_absent_is_not_refused(void **state) {
    (void)state;
    struct node node = {.kind = KERNEL, .kernel.mode = 1};
    assert_int_equal(check(&node, 11070), 0);
}

static void inactive_members_are_never_looked_at(void **state) {
    (void)state;
    struct node node = {.kind = MEMSET};
    memset(node.reserved1, 0xff, sizeof node.reserved1);
    assert_int_equal(check(&node, 11070), 0);
    node.kind = 77; /* unknown here: the library is to say so */
    assert_int_equal(check(&node, 11070), 0);
}

static void a_newer_member_is_refused_and_its_tag_is_not(void **state) {
    (void)state;
    struct node node = {.kind = CONDITIONAL};
    assert_int_equal(check(&node, 12020), 0);
    node.conditional.value[3] = 1;
    assert_int_equal(check(&node, 12020), NEWER);
    assert_string_equal(refused, "nodeParams->conditional since 12030");
    assert_int_equal(check(&node, 12030), 0);
}

static void padding_of_the_compiler_is_not_looked_at(void **state) {
    (void)state;
    struct node node;
    memset(&node, 0, sizeof node);
    node.kind = KERNEL;
    memset((char *)&node.kernel + 12, 0xff, 4);
    memset((char *)&node.kernel + 28, 0xff, 4);
    assert_int_equal(check(&node, 11070), 0);
}

static void reserved_space_must_be_zero(void **state) {
    (void)state;
    struct node node = {.kind = KERNEL, .reserved0 = {0, 0, 1}};
    assert_int_equal(check(&node, 11070), INVALID);
    assert_string_equal(refused, "nodeParams->reserved0 must be zero");
    node = (struct node){.kind = KERNEL, .reserved2 = INT64_MIN};
    assert_int_equal(check(&node, 11070), INVALID);
    assert_string_equal(refused, "nodeParams->reserved2 must be zero");
}

static void elements_of_an_array_are_checked_and_numbered(void **state) {
    (void)state;
    struct node nodes[3] = {
        {.kind = KERNEL}, {.kind = MEMSET}, {.kind = KERNEL, .kernel.ctx = nodes}};
    library.version = 12000;
    assert_int_equal(acu_adapt_check(&add_nodes, 0, nodes, 3, 0), NEWER);
    assert_string_equal(refused, "nodes[2].kernel.ctx since 13010");
    assert_int_equal(acu_adapt_check(&add_nodes, 0, nodes, 2, 0), 0);
    assert_int_equal(acu_adapt_check(&add_nodes, 0, nodes, 0, 0), 0);
}

static void null_records_are_left_to_the_library(void **state) {
    (void)state;
    library.version = 11070;
    assert_int_equal(acu_adapt_check(&add_node, 0, NULL, 1, 0), 0);
    acu_adapt_fill(&add_node, 0, NULL, 1, 0);
    assert_int_equal(acu_adapt_to_loaded(&add_node, 0, &(struct node){0}, NULL, 0), 0);
    acu_adapt_from_loaded(&add_node, 0, NULL, &(struct node){0}, 0);
}

static void records_may_stand_at_odd_addresses(void **state) {
    (void)state;
    char room[sizeof(struct node) + 1];
    struct node node = {.kind = KERNEL, .kernel.ctx = room};
    memcpy(room + 1, &node, sizeof node);
    assert_int_equal(check(room + 1, 12000), NEWER);
    acu_adapt_fill(&add_node, 0, room + 1, 1, 0);
    memcpy(&node, room + 1, sizeof node);
    assert_null(node.kernel.ctx);
}

static void an_in_out_record_keeps_what_the_caller_gave(void **state) {
    (void)state;
    struct node node = {.kind = KERNEL, .kernel = {.func = &node, .shared = 7, .mode = 1}};
    library.version = 11070;
    acu_adapt_fill(&add_node, 0, &node, 1, 0);
    assert_ptr_equal(node.kernel.func, &node);
    assert_int_equal(node.kernel.shared, 7);
    assert_int_equal(node.kernel.mode, 1);
}

/* ---- a record with a default that is not zero, as cudaPointerAttributes ---- */

struct attributes {
    int type;
    void *pointer;
    union {
        int ordinal; /* 13.4; -1 */
        int64_t unused;
    };
    int64_t reserved[2];
};
static const acu_field attributes_fields[] = {
    {.type = &int_type, .count = 1},
    {.type = &pointer_type, .offset = 8, .count = 1},
    {.type = &int_type, .offset = 16, .count = 1, .since = 13040, .absent = -1},
    {.type = &long_type, .offset = 16, .count = 1, .reserved = true},
    {.type = &long_type, .offset = 24, .count = 2, .reserved = true},
};
static const acu_layout attributes_layouts[] = {{.until = 13000, .size = 16}, {.until = 0}};
static const acu_type attributes_type = {.name =
                                             "attributes\0type\0pointer\0ordinal\0unused\0reserved",
                                         .kind = ACU_KIND_RECORD,
                                         .size = sizeof(struct attributes),
                                         .count = COUNT(attributes_fields),
                                         .fields = attributes_fields,
                                         .layouts = attributes_layouts};
static const acu_param attributes_out[] = {
    {.type = &attributes_type, .depth = 1, .direction = ACU_OUT, .length = -1, .tag = -1}};
static const acu_function get_attributes = {
    .library = &library, .name = "get\0attributes", .params = attributes_out, .param_count = 1};

static void what_was_not_written_gets_its_default(void **state) {
    (void)state;
    struct attributes out[2];
    for (int version = 12000; version <= 13040; version += 520) {
        memset(out, 0xaa, sizeof out);
        out[0].type = 3;
        library.version = version;
        acu_adapt_fill(&get_attributes, 0, out, 2, 0);
        assert_int_equal(out[0].type, 3);
        assert_int_equal(out[1].type, (int)0xaaaaaaaa);
        assert_int_equal(out[0].ordinal, version < 13040 ? -1 : (int)0xaaaaaaaa);
        assert_int_equal(out[1].ordinal, version < 13040 ? -1 : (int)0xaaaaaaaa);
        assert_int_equal(out[0].reserved[0], 0);
        assert_int_equal(out[1].reserved[1], 0);
    }
}

/* ---- a union whose tag is an argument, or a field of the record around it ---- */

union value {
    char pad[64];
    int cooperative;      /* tag 1 */
    struct memset window; /* tag 2 */
    int64_t late[2];      /* tag 3, 12.0 */
};
static const int32_t one[] = {1, ACU_TAG_END}, two[] = {2, ACU_TAG_END},
                     three[] = {3, 4, ACU_TAG_END};
static const acu_field value_fields[] = {
    {.type = &char_type, .count = 64, .reserved = true},
    {.type = &int_type, .count = 1, .tag_offset = ACU_TAG_ARGUMENT, .tags = one},
    {.type = &memset_type, .count = 1, .tag_offset = ACU_TAG_ARGUMENT, .tags = two},
    {.type = &long_type, .count = 2, .since = 12000, .tag_offset = ACU_TAG_ARGUMENT, .tags = three},
};
static const acu_layout value_layouts[] = {{.until = 11080, .size = 32}, {.until = 0}};
static const acu_type value_type = {.name = "value\0pad\0cooperative\0window\0late",
                                    .kind = ACU_KIND_RECORD,
                                    .size = sizeof(union value),
                                    .count = COUNT(value_fields),
                                    .fields = value_fields,
                                    .layouts = value_layouts};
static const acu_value attribute_ids[] = {{1, 0}, {2, 0}, {3, 12000}, {4, 12050}};
static const acu_type id_type = {.name = "id\0Cooperative\0Window\0Late\0Later",
                                 .kind = ACU_KIND_ENUM,
                                 .size = 4,
                                 .count = 4,
                                 .values = attribute_ids};

struct attribute {
    int id;
    char pad[4];
    union value val;
};
static const acu_field attribute_fields[] = {
    {.type = &id_type, .count = 1},
    {.type = &value_type, .offset = 8, .count = 1, .tag_offset = 0},
};
static const acu_type attribute_type = {.name = "attribute\0id\0val",
                                        .kind = ACU_KIND_RECORD,
                                        .size = sizeof(struct attribute),
                                        .count = COUNT(attribute_fields),
                                        .fields = attribute_fields};
struct config {
    struct attribute *attrs;
    unsigned count;
    unsigned flags;
    struct kernel *hint;
};
static const acu_type unsigned_type = {.name = "unsigned", .kind = ACU_KIND_UNSIGNED, .size = 4};
static const acu_type attributes_pointer = {
    .name = "pointer", .kind = ACU_KIND_POINTER, .size = 8, .target = &attribute_type};
static const acu_type kernel_pointer = {
    .name = "pointer", .kind = ACU_KIND_POINTER, .size = 8, .target = &kernel_type};
static const acu_field config_fields[] = {
    {.type = &attributes_pointer, .count = 1, .target_count = 8},
    {.type = &unsigned_type, .offset = 8, .count = 1},
    {.type = &flags_type, .offset = 12, .count = 1},
    {.type = &kernel_pointer, .offset = 16, .count = 1, .target_count = -1},
};
static const acu_type config_type = {.name = "config\0attrs\0count\0flags\0hint",
                                     .kind = ACU_KIND_RECORD,
                                     .size = sizeof(struct config),
                                     .count = COUNT(config_fields),
                                     .fields = config_fields};
struct launch_args {
    const struct config *config;
    int attr;
    const union value *value;
    const int *flags, *n, *out;
};
#define AT(name) .at = offsetof(struct launch_args, name)
static const acu_param launch_params[] = {
    {.type = &config_type, AT(config), .depth = 1, .direction = ACU_IN, .length = -1, .tag = -1},
    {.type = &id_type, AT(attr), .length = -1, .tag = -1},
    {.type = &value_type, AT(value), .depth = 1, .direction = ACU_IN, .length = -1, .tag = 1},
    {.type = &flags_type, AT(flags), .depth = 1, .direction = ACU_IN, .length = 4, .tag = -1},
    {.type = &int_type, AT(n), .depth = 1, .direction = ACU_INOUT, .length = -1, .tag = -1},
    {.type = &id_type, AT(out), .depth = 1, .direction = ACU_OUT, .length = -1, .tag = -1},
};
static const acu_function launch = {.library = &library,
                                    .name = "launch\0config\0attr\0value\0flags\0n\0out",
                                    .params = launch_params,
                                    .param_count = COUNT(launch_params)};

static void the_tag_may_be_an_argument(void **state) {
    (void)state;
    union value v = {.late = {0, 5}};
    library.version = 11080;
    assert_int_equal(acu_adapt_check(&launch, 2, &v, 1, 1), 0);
    assert_int_equal(acu_adapt_check(&launch, 2, &v, 1, 4), NEWER);
    assert_string_equal(refused, "value->late since 12000");
    memset(&v, 0xff, sizeof v);
    library.version = 11070;
    acu_adapt_fill(&launch, 2, &v, 1, 2);
    assert_int_equal(v.pad[31], (char)0xff);
    assert_int_equal(v.pad[32], 0);
    assert_int_equal(v.pad[63], 0);
}

static void records_behind_a_field_are_checked_with_the_tag_of_their_own(void **state) {
    (void)state;
    struct attribute attrs[2] = {{.id = 1, .val.cooperative = 1}, {.id = 3, .val.late = {1, 0}}};
    struct config config = {.attrs = attrs, .count = 2};
    library.version = 11080;
    assert_int_equal(acu_adapt_check(&launch, 0, &config, 1, 0), NEWER);
    assert_string_equal(refused, "config->attrs[1].val.late since 12000");
    config.count = 1;
    assert_int_equal(acu_adapt_check(&launch, 0, &config, 1, 0), 0);
    config.hint = &(struct kernel){.ctx = attrs};
    assert_int_equal(acu_adapt_check(&launch, 0, &config, 1, 0), NEWER);
    assert_string_equal(refused, "config->hint->ctx since 13010");
}

static const char *newer(const struct config *config, int attr, const int *flags, int n,
                         int version) {
    int since = 0;
    int out = 4; /* written by the call: never looked at */
    const int *counter = &n, *result = &out;
    const union value *value = NULL;
    const struct launch_args args = {config, attr, value, flags, counter, result};
    static char text[300];
    const char *what = acu_newer_argument(&launch, &args, version, &since);
    snprintf(text, sizeof text, "%s %d", what ? what : "nothing", since);
    return text;
}

static void what_is_newer_in_the_arguments_is_named(void **state) {
    (void)state;
    struct attribute attrs[2] = {{.id = 1}, {.id = 4}};
    struct config config = {.attrs = attrs, .count = 2, .flags = 3};
    const int flags[] = {1, 0, 7};
    assert_string_equal(newer(NULL, 4, NULL, 0, 12040), "Later 12050");
    assert_string_equal(newer(NULL, 4, NULL, 0, 12050), "nothing 0");
    assert_string_equal(newer(NULL, 99, NULL, 0, 11070), "nothing 0");
    assert_string_equal(newer(&config, 1, NULL, 0, 12040), "config->attrs[1].id = Later 12050");
    /* `AB` is a newer name of old bits: nothing to say. */
    assert_string_equal(newer(&config, 1, NULL, 0, 12050), "nothing 0");
    config.flags = 6;
    assert_string_equal(newer(&config, 1, NULL, 0, 12050), "nothing 0");
    config.attrs = NULL;
    assert_string_equal(newer(&config, 1, NULL, 0, 11070), "config->flags = C 12040");
    assert_string_equal(newer(NULL, 1, flags, 3, 11070), "flags[2] = C 12040");
    assert_string_equal(newer(NULL, 1, flags, 2, 11070), "nothing 0");
    assert_string_equal(newer(NULL, 1, flags, -3, 11070), "nothing 0");
}

static void the_oldest_name_of_a_value_says_since_when(void **state) {
    (void)state;
    struct node node = {.kind = CONDITIONAL};
    const struct node *at = &node;
    int since = 0;
    assert_string_equal(acu_newer_argument(&add_node, &at, 12020, &since),
                        "nodeParams->kind = Conditional");
    assert_int_equal(since, 12030);
    assert_null(acu_newer_argument(&add_node, &at, 12030, &since));
}

/* ---- a record whose fields moved, as cudaDeviceProp ---- */

struct pair {
    int a;
    int b; /* moved: first in the old one */
};
static const acu_field pair_fields[] = {
    {.type = &int_type, .offset = 0, .count = 1},
    {.type = &int_type, .offset = 4, .count = 1},
};
struct old_pair {
    short gone;
    short filler;
    int b, a;
};
static const int32_t pair_offsets[] = {8, 4};
static const acu_layout pair_layouts[] = {{0, 13000, sizeof(struct old_pair), pair_offsets, NULL},
                                          {.until = 0}};
static const acu_type pair_type = {.name = "pair\0a\0b",
                                   .kind = ACU_KIND_RECORD,
                                   .size = sizeof(struct pair),
                                   .count = 2,
                                   .fields = pair_fields,
                                   .layouts = pair_layouts};

struct properties {
    char name[8];
    int kind;
    union {
        int64_t wide;         /* KERNEL */
        struct pair pairs[2]; /* MEMSET */
    };
    float ratio;
    short numa;       /* 13.0; -1 where unknown */
    short gone_later; /* not in 13.0 and later */
    int reserved[4];
};
struct old_properties {
    int kind;
    union {
        int64_t wide;
        struct old_pair pairs[2];
    };
    float ratio;
    char name[12];
    int removed;
    short gone_later;
};
static const acu_field properties_fields[] = {
    {.type = &char_type, .offset = offsetof(struct properties, name), .count = 8},
    {.type = &kind_type, .offset = offsetof(struct properties, kind), .count = 1},
    {.type = &long_type,
     .offset = offsetof(struct properties, wide),
     .count = 1,
     .tag_offset = offsetof(struct properties, kind),
     .tags = is_kernel},
    {.type = &pair_type,
     .offset = offsetof(struct properties, pairs),
     .count = 2,
     .tag_offset = offsetof(struct properties, kind),
     .tags = is_memset},
    {.type = &float_type, .offset = offsetof(struct properties, ratio), .count = 1},
    {.type = &short_type,
     .offset = offsetof(struct properties, numa),
     .count = 1,
     .since = 13000,
     .absent = -1},
    {.type = &short_type, .offset = offsetof(struct properties, gone_later), .count = 1},
    {.type = &int_type,
     .offset = offsetof(struct properties, reserved),
     .count = 4,
     .reserved = true},
};
static const int32_t properties_offsets[] = {
    offsetof(struct old_properties, name),       offsetof(struct old_properties, kind),
    offsetof(struct old_properties, wide),       offsetof(struct old_properties, pairs),
    offsetof(struct old_properties, ratio),      -1,
    offsetof(struct old_properties, gone_later), -1};
static const uint32_t properties_sizes[] = {12, 4, 8, sizeof(struct old_pair[2]), 4, 2, 2, 16};
static const int32_t without_gone[] = {0, 8, 16, 16, 32, 36, -1, -1};
static const acu_layout properties_layouts[] = {
    {0, 12000, sizeof(struct old_properties), properties_offsets, properties_sizes},
    {13000, 99999, 200, without_gone, NULL},
    {.until = 0}};
static const acu_type properties_type = {
    .name = "properties\0name\0kind\0wide\0pairs\0ratio\0numa\0gone_later\0reserved",
    .kind = ACU_KIND_RECORD,
    .size = sizeof(struct properties),
    .count = COUNT(properties_fields),
    .fields = properties_fields,
    .layouts = properties_layouts};
static const acu_param properties_params[] = {
    {.type = &properties_type, .depth = 1, .direction = ACU_IN, .length = -1, .tag = -1},
    {.type = &properties_type, .depth = 1, .direction = ACU_OUT, .length = -1, .tag = -1},
    {.type = &properties_type,
     .depth = 1,
     .direction = ACU_IN,
     .length = -1,
     .tag = -1,
     .drops = true}};
static const acu_function properties = {.library = &library,
                                        .name = "properties\0in\0out\0choose",
                                        .params = properties_params,
                                        .param_count = 3};

static void moved_fields_go_to_their_old_places(void **state) {
    (void)state;
    struct properties in = {
        .name = "abcdefg", .kind = MEMSET, .pairs = {{1, 2}, {3, 4}}, .ratio = 0.5F, .numa = -1};
    struct old_properties loaded;
    memset(&loaded, 0xee, sizeof loaded);
    library.version = 11080;
    assert_int_equal(acu_adapt_to_loaded(&properties, 0, &loaded, &in, 0), 0);
    assert_string_equal(loaded.name, "abcdefg");
    assert_int_equal(loaded.pairs[0].a, 1);
    assert_int_equal(loaded.pairs[0].b, 2);
    assert_int_equal(loaded.pairs[1].a, 3);
    assert_int_equal(loaded.pairs[1].b, 4);
    assert_int_equal(loaded.pairs[1].gone, 0);
    assert_int_equal(loaded.removed, 0);
    assert_int_equal(loaded.name[8], 0);
    assert_int_equal(loaded.name[11], 0);
    assert_true(loaded.ratio == 0.5F);
    in.kind = KERNEL;
    in.wide = INT64_MAX;
    assert_int_equal(acu_adapt_to_loaded(&properties, 0, &loaded, &in, 0), 0);
    assert_true(loaded.wide == INT64_MAX);
}

static void what_the_loaded_layout_lacks_is_refused_or_dropped(void **state) {
    (void)state;
    struct properties in = {.numa = 1};
    struct old_properties loaded;
    library.version = 11080;
    assert_int_equal(acu_adapt_to_loaded(&properties, 0, &loaded, &in, 0), NEWER);
    assert_string_equal(refused, "in->numa since 13000");
    in = (struct properties){.reserved = {0, 0, 0, 9}};
    assert_int_equal(acu_adapt_to_loaded(&properties, 0, &loaded, &in, 0), INVALID);
    in.numa = 7;
    assert_int_equal(acu_adapt_to_loaded(&properties, 2, &loaded, &in, 0), 0);
    /* Gone, not newer: there is no version to name. */
    char room[200];
    library.version = 13000;
    in = (struct properties){.gone_later = 1};
    assert_int_equal(acu_adapt_to_loaded(&properties, 0, room, &in, 0), NEWER);
    assert_string_equal(refused, "in->gone_later since 0");
}

static void what_comes_back_is_complete(void **state) {
    (void)state;
    struct old_properties loaded = {.kind = MEMSET,
                                    .pairs = {{1, 1, 5, 6}, {1, 1, 7, 8}},
                                    .ratio = 2,
                                    .name = "0123456789",
                                    .removed = 3,
                                    .gone_later = 4};
    struct properties out;
    memset(&out, 0xee, sizeof out);
    library.version = 11080;
    acu_adapt_from_loaded(&properties, 1, &out, &loaded, 0);
    assert_memory_equal(out.name, "01234567", 8);
    assert_int_equal(out.pairs[0].a, 6);
    assert_int_equal(out.pairs[0].b, 5);
    assert_int_equal(out.pairs[1].a, 8);
    assert_int_equal(out.pairs[1].b, 7);
    assert_int_equal(out.numa, -1);
    assert_int_equal(out.gone_later, 4);
    assert_int_equal(out.reserved[0], 0);
    assert_int_equal(out.reserved[3], 0);
}

static void the_presented_layout_is_copied_as_it_is(void **state) {
    (void)state;
    struct properties in = {.name = "x", .kind = KERNEL, .wide = 3}, there, back;
    library.version = 12000; /* in no layout: as presented */
    in.numa = -1;
    assert_int_equal(acu_adapt_to_loaded(&properties, 0, &there, &in, 0), 0);
    acu_adapt_from_loaded(&properties, 1, &back, &there, 0);
    assert_int_equal(back.wide, 3);
    assert_string_equal(back.name, "x");
}

/* ---- a record that is itself newer, by value and in-out ---- */

struct newer {
    int kind;
    int only_kernel; /* active for KERNEL */
    int ordinal;     /* -1 */
};
struct holder {
    int old;
    struct newer extra[2]; /* 12.4 */
};
static const acu_field newer_fields[] = {
    {.type = &kind_type, .count = 1},
    {.type = &int_type, .offset = 4, .count = 1, .tags = is_kernel},
    {.type = &int_type, .offset = 8, .count = 1, .absent = -1},
};
static const acu_type newer_type = {.name = "newer\0kind\0only_kernel\0ordinal",
                                    .kind = ACU_KIND_RECORD,
                                    .size = sizeof(struct newer),
                                    .count = COUNT(newer_fields),
                                    .fields = newer_fields};
static const acu_field holder_fields[] = {
    {.type = &int_type, .count = 1},
    {.type = &newer_type, .offset = 4, .count = 2, .since = 12040},
};
static const int32_t holder_offsets[] = {4, -1};
static const uint32_t holder_sizes[] = {4, 0};
static const acu_layout holder_layouts[] = {{0, 12000, 8, holder_offsets, holder_sizes},
                                            {.until = 0}};
static const acu_type holder_type = {.name = "holder\0old\0extra",
                                     .kind = ACU_KIND_RECORD,
                                     .size = sizeof(struct holder),
                                     .count = COUNT(holder_fields),
                                     .fields = holder_fields,
                                     .layouts = holder_layouts};
static const acu_param holder_params[] = {
    {.type = &holder_type, .length = -1, .tag = -1},
    {.type = &holder_type, .depth = 1, .direction = ACU_INOUT, .length = -1, .tag = -1},
    {.type = &holder_type, .depth = 1, .direction = ACU_OUT, .length = -1, .tag = -1}};
static const acu_function hold = {.library = &library,
                                  .name = "hold\0value\0inout\0out",
                                  .params = holder_params,
                                  .param_count = 3};

static void a_newer_record_is_in_use_by_its_active_fields(void **state) {
    (void)state;
    struct holder h = {.old = 1, .extra[1].only_kernel = 5};
    library.version = 12030;
    assert_int_equal(acu_adapt_check(&hold, 0, &h, 1, 0), 0);
    h.extra[1].ordinal = -1; /* what it is where it is absent */
    assert_int_equal(acu_adapt_check(&hold, 0, &h, 1, 0), 0);
    h.extra[1].ordinal = 3;
    assert_int_equal(acu_adapt_check(&hold, 0, &h, 1, 0), NEWER);
    assert_string_equal(refused, "value.extra since 12040");
    assert_int_equal(acu_adapt_check(&hold, 1, &h, 1, 0), NEWER);
    assert_string_equal(refused, "inout->extra since 12040");
    h.extra[1] = (struct newer){.kind = KERNEL};
    assert_int_equal(acu_adapt_check(&hold, 0, &h, 1, 0), NEWER);
}

static void a_newer_record_is_filled_with_its_own_defaults(void **state) {
    (void)state;
    struct holder h;
    memset(&h, 0xaa, sizeof h);
    library.version = 12030;
    acu_adapt_fill(&hold, 2, &h, 1, 0);
    assert_int_equal(h.old, (int)0xaaaaaaaa);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(h.extra[i].kind, 0);
        assert_int_equal(h.extra[i].only_kernel, 0);
        assert_int_equal(h.extra[i].ordinal, -1);
    }
}

static void an_in_out_temporary_brings_back_what_the_call_wrote(void **state) {
    (void)state;
    struct holder h = {.old = 1};
    int loaded[2];
    library.version = 11080;
    assert_int_equal(acu_adapt_to_loaded(&hold, 1, loaded, &h, 0), 0);
    assert_int_equal(loaded[1], 1);
    loaded[1] = 2;
    acu_adapt_from_loaded(&hold, 1, &h, loaded, 0);
    assert_int_equal(h.old, 2);
    assert_int_equal(h.extra[0].ordinal, -1);
}

/* ---- numbers ---- */

static void integers_are_read_by_their_kind(void **state) {
    (void)state;
    const unsigned char ff[8] = {0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff};
    assert_true(acu_value_read(&int_type, ff) == -1);
    assert_true(acu_value_read(&short_type, ff) == -1);
    assert_true(acu_value_read(&byte_type, ff) == 255);
    assert_true(acu_value_read(&unsigned_type, ff) == 0xffffffff);
    assert_true(acu_value_read(&kind_type, ff) == -1);
    assert_true(acu_value_read(&size_type, ff) == -1);
    assert_true(acu_value_equal(&kind_type, -1, 0xffffffff));
    assert_false(acu_value_equal(&long_type, -1, 0xffffffff));
}

/* Returns the next number of a sequence that is the same on every machine. */
static uint32_t any(uint32_t below) {
    static uint32_t state = 1;
    state = state * 1664525 + 1013904223;
    return (state >> 8U) % below;
}

/* Whatever stands in a record: no byte beyond it is read or written (ASan and UBSan are the
 * judges). */
static void any_bytes_are_survived(void **state) {
    (void)state;
    const int versions[] = {11070, 11080, 12000, 12030, 13000, 13010, 13020, 13040};
    for (int round = 0; round < 20000; round++) {
        struct node *node = malloc(sizeof *node);
        struct properties *in = malloc(sizeof *in);
        unsigned char *loaded = malloc(200);
        assert_true(node && in && loaded);
        for (size_t i = 0; i < sizeof *node; i++)
            ((unsigned char *)node)[i] = (unsigned char)(any(4) ? 0 : any(256));
        for (size_t i = 0; i < sizeof *in; i++)
            ((unsigned char *)in)[i] = (unsigned char)any(256);
        node->kind = (int)any(5);
        in->kind = (int)any(3);
        library.version = versions[any(8)];
        (void)acu_adapt_check(&add_node, 0, node, 1, 0);
        acu_adapt_fill(&add_node, 0, node, 1, 0);
        memset(loaded, 0, 200);
        (void)acu_adapt_to_loaded(&properties, 2, loaded, in, 0);
        acu_adapt_from_loaded(&properties, 1, in, loaded, 0);
        free(node);
        free(in);
        free(loaded);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_newer_field_of_the_active_member_is_refused_by_its_path),
        cmocka_unit_test(a_value_that_means_absent_is_not_refused),
        cmocka_unit_test(inactive_members_are_never_looked_at),
        cmocka_unit_test(a_newer_member_is_refused_and_its_tag_is_not),
        cmocka_unit_test(padding_of_the_compiler_is_not_looked_at),
        cmocka_unit_test(reserved_space_must_be_zero),
        cmocka_unit_test(elements_of_an_array_are_checked_and_numbered),
        cmocka_unit_test(null_records_are_left_to_the_library),
        cmocka_unit_test(records_may_stand_at_odd_addresses),
        cmocka_unit_test(an_in_out_record_keeps_what_the_caller_gave),
        cmocka_unit_test(what_was_not_written_gets_its_default),
        cmocka_unit_test(the_tag_may_be_an_argument),
        cmocka_unit_test(records_behind_a_field_are_checked_with_the_tag_of_their_own),
        cmocka_unit_test(what_is_newer_in_the_arguments_is_named),
        cmocka_unit_test(the_oldest_name_of_a_value_says_since_when),
        cmocka_unit_test(moved_fields_go_to_their_old_places),
        cmocka_unit_test(what_the_loaded_layout_lacks_is_refused_or_dropped),
        cmocka_unit_test(what_comes_back_is_complete),
        cmocka_unit_test(the_presented_layout_is_copied_as_it_is),
        cmocka_unit_test(a_newer_record_is_in_use_by_its_active_fields),
        cmocka_unit_test(a_newer_record_is_filled_with_its_own_defaults),
        cmocka_unit_test(an_in_out_temporary_brings_back_what_the_call_wrote),
        cmocka_unit_test(integers_are_read_by_their_kind),
        cmocka_unit_test(any_bytes_are_survived),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
