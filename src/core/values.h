/* Values, fields and arguments, read as the tables of core/abi.h describe them. */
#ifndef ACU_VALUES_H
#define ACU_VALUES_H

#include "core/abi.h"

/* ---- values ---- */

/* Returns the name of a value, field or parameter; `names` is the text of its type or function. */
const char *acu_part_name(const char *names, size_t part);

/* Returns an integer of the type's size; `at` need not be aligned. */
int64_t acu_value_read(const acu_type *type, const void *at);
void acu_value_write(const acu_type *type, void *at, int64_t value);
/* Returns whether two values are equal in the type's bytes. */
bool acu_value_equal(const acu_type *type, int64_t a, int64_t b);
/* Returns the first name of a value; NULL if the type has no such value. */
const char *acu_value_name(const acu_type *type, int64_t value);
/* Returns the type's entry of that name; NULL if it has none. */
const acu_value *acu_value_find(const acu_type *type, const char *name);
/* Returns the pointer that is stored at an address, which need not be aligned. */
void *acu_value_read_pointer(const void *at);

/* ---- fields ---- */

/* The field's tag (abi.h); `tag` is the one that the record was given. */
int32_t acu_field_tag(const acu_type *type, const acu_field *field, const void *record,
                      int32_t tag);
/* Returns whether a union's member is the one that this tag selects; true for other fields. */
bool acu_field_active(const acu_field *field, int32_t tag);
/* Returns the type of the records that a pointer leads to; NULL if the field leads to none. */
const acu_type *acu_field_target(const acu_field *field);
/* Returns the number of elements behind a field that has a target. */
size_t acu_field_target_count(const acu_type *type, const acu_field *field, const void *record);
size_t acu_field_size(const acu_field *field); /* bytes of all elements */

/* ---- arguments ---- */

/* The address of an argument in the struct of arguments. */
const void *acu_argument_at(const acu_function *function, unsigned param, const void *args);
/* Returns the number of elements that a pointer argument leads to; 1 if no parameter counts them.
 */
size_t acu_argument_count(const acu_function *function, unsigned param, const void *args);
/* Returns the tag that an argument's record is given; 0 if no parameter selects a member. */
int32_t acu_argument_tag(const acu_function *function, unsigned param, const void *args);

#endif
