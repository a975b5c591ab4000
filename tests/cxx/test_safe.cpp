// <anycuda/anycuda.hpp>: who owns, what is returned, and what reaches C. With exceptions and
// without.
#include <anycuda/anycuda.hpp>
#include <anycuda/sim.h>

#include "check.hpp"

#include <array>
#include <complex>
#include <cstring>
#include <string>
#include <type_traits>
#include <vector>
#if __cplusplus >= 202002L
#include <span>
#endif

template <> struct acu::dtype_traits<std::complex<float>> {
    static acu_dtype dtype() noexcept { return ACU_C64; }
};

namespace {

const char ptx[] = ".version 7.0\n.target sm_52\n.address_size 64\n"
                   ".visible .entry add(.param .u64 .ptr x, .param .f32 by, .param .u32 n)\n"
                   "{\n"
                   "    .reg .pred %past;\n"
                   "    .reg .b32 %i, %n;\n"
                   "    .reg .b64 %x, %at;\n"
                   "    .reg .f32 %v, %by;\n"
                   "    ld.param.u64 %x, [x];\n"
                   "    ld.param.f32 %by, [by];\n"
                   "    ld.param.u32 %n, [n];\n"
                   "    mov.u32 %i, %tid.x;\n"
                   "    setp.ge.u32 %past, %i, %n;\n"
                   "    @%past bra END;\n"
                   "    mul.wide.u32 %at, %i, 4;\n"
                   "    add.s64 %x, %x, %at;\n"
                   "    ld.f32 %v, [%x];\n"
                   "    add.f32 %v, %v, %by;\n"
                   "    st.f32 [%x], %v;\n"
                   "END:\n"
                   "    ret;\n"
                   "}\n";

void simulated_add(const acu_sim_launch *launch, void *const *args) {
    const auto n = *static_cast<const unsigned *>(args[2]);
    auto *x = static_cast<float *>(
        acu_sim_at(launch, *static_cast<void *const *>(args[0]), n * sizeof(float)));
    for (unsigned i = 0; i < n; i++)
        x[i] += *static_cast<const float *>(args[1]);
}

using floats = std::vector<float>;

acu::stream make_stream() {
    auto made = acu::stream::create(0);
    CHECK(made);
    return *std::move(made);
}

acu::kernel make_kernel() {
    acu_module_source source{};
    source.ptx = ptx;
    auto module = acu::module::load(0, source);
    CHECK(module);
    auto kernel = module->get_kernel("add");
    CHECK(kernel);
    return *std::move(kernel);
}

floats contents(const acu::buffer_of<float> &buffer) {
    floats back(buffer.count());
    CHECK(buffer.read(back));
    return back;
}

/* ---- types ---- */

template <typename T> constexpr bool is_copied = std::is_copy_constructible_v<T>;

static_assert(std::is_trivially_copyable_v<acu::stream_ref> && is_copied<acu::stream_ref>);
static_assert(sizeof(acu::stream) == sizeof(acu_stream *) && !is_copied<acu::stream>);
static_assert(std::is_nothrow_move_constructible_v<acu::stream> &&
              std::is_nothrow_move_assignable_v<acu::buffer_of<int>>);
static_assert(!is_copied<acu::result<acu::graph>> && is_copied<acu::result<size_t>>);
static_assert(sizeof(acu::result<>) == sizeof(acu_result) &&
              std::is_trivially_copyable_v<acu::result<>>);
static_assert(std::is_convertible_v<acu::stream &, acu::stream_ref> &&
              std::is_convertible_v<acu_stream *, acu::stream_ref> &&
              !std::is_convertible_v<acu_stream *, acu::stream> &&
              !std::is_convertible_v<acu::stream, acu_stream *>);
static_assert(!std::is_convertible_v<acu::buffer, acu::buffer_of<int>> &&
              !std::is_convertible_v<acu::buffer_of<float>, acu::buffer_of<int>>);
static_assert(!std::is_convertible_v<acu::result<>, bool>);

/* ---- ownership ---- */

void test_an_owner_is_moved() {
    auto first = make_stream();
    acu_stream *raw = first.get();
    auto second = std::move(first);
    CHECK(!first && second.get() == raw);
    first = std::move(second);
    CHECK(first.get() == raw && !second);
    auto &same = first;
    first = std::move(same);
    CHECK(first.get() == raw);
    auto other = make_stream();
    other = std::move(first); // what it had is released
    CHECK(other.get() == raw && other.synchronize());
    acu_stream *detached = other.detach();
    CHECK(!other && detached == raw);
    acu::stream again(detached);
    CHECK(again.release() && !again);
    CHECK(again.release()); // of nothing
}

void test_retaining_adds_an_owner() {
    acu::stream kept;
    acu_stream *raw = nullptr;
    {
        auto stream = make_stream();
        raw = stream.get();
        const acu::stream_ref borrowed = stream;
        kept = borrowed.retain();
    }
    CHECK(kept.get() == raw && kept.synchronize());
    CHECK(kept == acu::stream_ref(raw) && kept != acu::stream_ref());
}

void test_what_is_not_owned_is_a_ref() {
    auto stream = make_stream();
    auto buffer = acu::buffer_of<float>::create(stream, 4);
    CHECK(buffer);
    static_assert(std::is_same_v<decltype(buffer->stream()), acu::stream_ref>);
    CHECK(buffer->stream() == stream && buffer->stream().device() == 0);
    CHECK(buffer->device().get_info()->name[0] != '\0');
}

void test_objects_keep_what_they_need() {
    acu::buffer_of<float> slice;
    {
        auto stream = make_stream();
        auto whole = acu::buffer_of<float>::create_from(stream, floats{1, 2, 3, 4});
        CHECK(whole);
        slice = *whole->slice(1, 2);
    }
    CHECK(contents(slice) == floats{2, 3});
}

/* ---- results ---- */

void test_a_failure_has_cs_text() {
    auto stream = make_stream();
    auto buffer = *acu::buffer_of<float>::create(stream, 2);
    const auto failed = buffer.write(1, floats{1, 2});
    CHECK(!failed && failed.code() == ACU_ERROR_RANGE);
    CHECK(std::strstr(failed.message(), "acu_buffer_write_typed"));
    const auto made = acu::stream::create(99);
    CHECK(!made && made.code() == 101 && !*made);
    acu_clear_error();
    CHECK(std::strcmp(made.message(), acu_result_string(101)) == 0);
    CHECK(std::strcmp(stream.synchronize().message(), "") == 0);
}

acu::result<size_t> count_of_a_missing_stream() {
    auto stream = acu::stream::create(99);
    if (!stream)
        return acu::failure{stream.code()};
    return {ACU_SUCCESS, 1};
}

acu::result<> code_of_a_missing_stream() {
    if (auto counted = count_of_a_missing_stream(); !counted)
        return counted.code();
    return ACU_SUCCESS;
}

void test_a_failure_passes_through_results() {
    CHECK(count_of_a_missing_stream().code() == 101 && code_of_a_missing_stream().code() == 101);
}

void test_an_empty_handle_is_an_error_of_c() {
    const acu::stream none;
    CHECK(none.synchronize().code() == ACU_ERROR_ARGUMENT && !none.raw());
    CHECK(acu::buffer_of<int>::create(none, 1).code() == ACU_ERROR_ARGUMENT);
}

void test_a_dead_handle_is_an_error_of_c() {
    acu::quarantine(16);
    auto stream = make_stream();
    const acu::stream_ref dead = stream;
    CHECK(stream.release());
    CHECK(dead.synchronize().code() == ACU_ERROR_HANDLE);
    CHECK(acu::stream(dead.get()).release().code() == ACU_ERROR_HANDLE);
}

#if defined(__cpp_exceptions)
void test_exceptions_have_cs_text() {
    auto stream = acu::stream::create(0).value();
    stream.synchronize().value();
    try {
        acu::buffer_of<float>::create(stream, 1).value().read(2, {}).value();
        CHECK(false); // it throws
    } catch (const acu::error &error) {
        CHECK(error.code() == ACU_ERROR_RANGE && std::strstr(error.what(), "acu_buffer_read"));
    }
    try {
        stream = acu::stream::create(99).value();
        CHECK(false); // it throws
    } catch (const std::runtime_error &error) {
        CHECK(std::strstr(error.what(), "acu_stream_create") && stream);
    }
}
#endif

/* ---- elements ---- */

void test_elements_have_their_type() {
    auto stream = make_stream();
    const std::array<int, 3> numbers{1, 2, 3};
    auto ints = *acu::buffer_of<int>::create(stream, 3);
    CHECK(ints.dtype() == ACU_I32 && ints.dtype().size() == 4);
    CHECK(ints.write(numbers));
    int back[3] = {};
    CHECK(ints.read(back) && back[2] == 3);
    CHECK(ints.write(1, {8, 9}) && ints.read(0, back) && back[0] == 1 && back[1] == 8);
    CHECK(ints.fill(7) && ints.read(back) && back[0] == 7 && back[2] == 7);
    CHECK(ints.zero() && ints.read(back) && back[1] == 0);
    const auto as_float = ints.reinterpret<float>();
    CHECK(as_float && as_float->dtype() == ACU_F32);
    using complex = std::complex<float>;
    const auto numbers_of_two = acu::buffer_of<complex>::create_from(stream, {complex(1, 2)});
    std::vector<complex> pair(1);
    CHECK(numbers_of_two && numbers_of_two->read(pair) && pair[0] == complex(1, 2));
}

void test_c_compares_the_types() {
    auto stream = make_stream();
    auto any = acu::buffer::create(stream, ACU_I32, 1);
    CHECK(any);
    const acu::buffer_of<float> wrong(*std::move(any));
    CHECK(wrong.write(floats{1}).code() == ACU_ERROR_DTYPE);
}

void test_whatever_lies_together_is_a_span() {
    floats values{1, 2};
    const floats constant{3};
    const float array[] = {4, 5, 6};
    const acu::span<const float> from_vector = values, from_constant = constant, from_array = array;
    const acu::span<float> writable = values;
    CHECK(from_vector.size() == 2 && from_constant[0] == 3 && from_array.size() == 3);
    CHECK(writable.data() == values.data() && acu::span<float>().empty());
    CHECK(acu::span<const char>(std::string("abc")).size() == 3);
    CHECK(acu::span(values).size() == 2 && acu::span(array).end()[-1] == 6);
    static_assert(std::is_same_v<decltype(acu::span(constant)), acu::span<const float>>);
    static_assert(!std::is_convertible_v<const floats &, acu::span<float>> &&
                  !std::is_convertible_v<floats, acu::span<float>> &&
                  !std::is_convertible_v<std::vector<int>, acu::span<const float>>);
#if __cplusplus >= 202002L
    const std::span<float> standard = values;
    const acu::span<float> ours = standard;
    const acu::span<const float> first = std::span<const float>(standard).first(1);
    CHECK(ours.data() == values.data() && first.size() == 1);
    CHECK(std::span<float>(ours.begin(), ours.size()).size() == 2);
#endif
}

void test_lists_are_spans_to_fill() {
    auto stream = make_stream();
    auto graph = *acu::graph::create();
    const auto first = graph.add_empty({});
    CHECK(first && graph.add_empty({*first}) && graph.add_empty({*first, *first}).code() != 0);
    const auto count = graph.get_nodes({});
    CHECK(count && *count == 2);
    std::vector<acu_node> nodes(*count);
    CHECK(*graph.get_nodes(nodes) == 2 && acu::node(nodes[0]).raw() == first->raw());
    char text[200];
    CHECK(stream.describe(text) == std::strlen(text) && std::strncmp(text, "stream", 6) == 0);
}

void test_streams_fork_and_join() {
    auto from = make_stream(), left = make_stream(), right = make_stream();
    CHECK(from.fork({left, right}) && from.join({left, right}));
    const std::vector<acu::stream_ref> both{left, right};
    CHECK(from.fork(both) && from.synchronize());
}

void test_transfers_and_shapes() {
    auto stream = make_stream();
    const auto buffer = *acu::buffer_of<float>::create_from(stream, {1, 2, 3, 4});
    const auto transfer = buffer.read_async(1, 2);
    floats back(2);
    CHECK(transfer && transfer->read(acu::span(back)) && back == floats{2, 3});
    CHECK(transfer->read<float>(1, {back.data(), 1}) && back[0] == 3);
    const auto rows = acu::buffer_of<float>::create_pitched(stream, {2, 2, 1});
    CHECK(rows && rows->get_layout()->row_pitch >= 2 * sizeof(float));
    acu_region region{};
    region.buffer = rows->get();
    const float block[] = {1, 2, 3, 4};
    floats read(4);
    CHECK(acu::region_write(region, {2, 2, 1}, block));
    CHECK(acu::region_read(region, {2, 2, 1}, read.data()) && read == floats{1, 2, 3, 4});
}

/* ---- work ---- */

void test_arguments_are_checked() {
    const auto stream = make_stream();
    const auto kernel = make_kernel();
    const auto buffer = *acu::buffer_of<float>::create_from(stream, {1, 2, 3});
    const auto grid = acu::grid_1d(3, 32);
    CHECK(acu::launch(stream, kernel, grid, buffer, 1.0f, 3u));
    CHECK(acu::launch(stream, kernel, grid, acu::inout(buffer), 1.0f, 3u));
    CHECK(acu::launch(stream, kernel, grid, acu::buffer_ref(buffer), 1.0f, 3u));
    CHECK(acu::launch(stream, kernel, grid, buffer.raw(), 1.0f, 3u));
    CHECK(acu::launch_args(stream, kernel, grid,
                           {acu::inout(buffer), acu_arg_of(1.0f), acu_arg_of(3)}));
    CHECK(acu::launch(stream, kernel, grid, buffer, 1.0, 3u).code() == ACU_ERROR_ARGUMENT);
    CHECK(acu::launch(stream, kernel, grid, buffer, 1.0f).code() == ACU_ERROR_ARGUMENT);
    CHECK(contents(buffer) == floats{6, 7, 8});
    const auto args = *acu::args::create();
    CHECK(args.add(acu::inout(buffer)) && args.add(acu_arg_of(2.0f)) && args.add(acu_arg_of(1u)));
    CHECK(args.count() == 3 && acu::launch_list(stream, kernel, grid, args));
    CHECK(contents(buffer) == floats{8, 7, 8});
}

void test_dependencies_are_spans() {
    const auto graph = *acu::graph::create();
    std::array<acu_node, 4> n;
    for (acu_node &one : n)
        one = *graph.add_empty({});
    CHECK(graph.add_dependencies({n[0], n[0]}, {n[1], n[2]}));
    const std::vector<acu_node> from{n[1], n[2]}, to(2, n[3]);
    CHECK(graph.add_dependencies(from, to, std::vector<acu_edge>(2)));
    CHECK(graph.add_dependencies({}, {}));

    std::array<acu_node, 9> starts, ends;
    std::vector<acu_edge> edges(9, acu_edge{7, 7, 7});
    CHECK(*graph.get_edges({}, {}) == 4 && *graph.get_edges(starts, ends, edges) == 4);
    for (std::size_t i = 0; i < 4; i++)
        CHECK(acu::node(starts[i]).find_in_clone(graph).code() != 0 && edges[i].type == 0);
    CHECK(edges[4].type == 7);
    std::array<acu_node, 1> one{};
    CHECK(*graph.get_edges({}, ends, {}) == 4 && *graph.get_edges(one, ends) == 4);
    CHECK(one[0].graph == graph.get());
    CHECK(*acu::node(n[3]).get_dependencies(starts, edges) == 2 && starts[0].id != starts[1].id);
    CHECK(*acu::node(n[0]).get_dependent_nodes(one) == 2 &&
          *acu::node(n[0]).get_dependencies({}) == 0);

    CHECK(graph.remove_dependencies(from, to));
    CHECK(*graph.get_edges({}, {}) == 2);
    // Arrays of one count that are of several lengths are refused, the longer and the shorter one.
    CHECK(graph.add_dependencies(from, {n[3]}).code() == ACU_ERROR_ARGUMENT);
    CHECK(graph.add_dependencies({n[1]}, to).code() == ACU_ERROR_ARGUMENT);
    CHECK(graph.add_dependencies(from, {}).code() == ACU_ERROR_ARGUMENT);
    CHECK(graph.add_dependencies(from, to, std::vector<acu_edge>(1)).code() == ACU_ERROR_ARGUMENT);
    CHECK(graph.add_dependencies(from, to, std::vector<acu_edge>(3)).code() == ACU_ERROR_ARGUMENT);
    CHECK(graph.remove_dependencies({}, {}, std::vector<acu_edge>(1)).code() == ACU_ERROR_ARGUMENT);
    CHECK(graph.add_node({n[0]}, std::vector<acu_edge>(2), nullptr).code() == ACU_ERROR_ARGUMENT);
    CHECK(*graph.get_edges({}, {}) == 2);
}

void test_dependencies_of_a_capture_are_spans() {
    const auto stream = make_stream();
    const auto buffer = *acu::buffer_of<float>::create_from(stream, {1});
    std::array<acu_node, 3> nodes{};
    const auto graph = stream.capture(nullptr, [&](acu::stream_ref on) {
        CHECK(buffer.fill(2.0f, on));
        CHECK(*on.get_capture_dependencies(nodes) == 1);
        const acu_node first = nodes[0];
        CHECK(on.set_capture_dependencies({}, {}, false));
        CHECK(*on.get_capture_dependencies({}) == 0);
        CHECK(on.set_capture_dependencies({first}, {}, true));
        CHECK(*on.get_capture_dependencies(nodes) == 1 && nodes[0].id == first.id);
        CHECK(on.set_capture_dependencies({first}, std::vector<acu_edge>(2), true).code() ==
              ACU_ERROR_ARGUMENT);
        return acu::result<>(0);
    });
    CHECK(graph && *graph->get_nodes({}) == 1);
}

void test_the_log_is_read_into_a_span() {
    std::array<char, 100> text{'?'};
    acu_log_position at = 0;
    const auto end = acu::log_get_end();
    if (!end) // before 12.9
        return;
    at = *end;
    acu_sim_log(0, "a line");
    const auto length = acu::log_read(&at, text);
    CHECK(length && *length == 7 && std::string(text.data()) == "a line\n");
}

void test_a_graph_is_built_and_changed() {
    const auto stream = make_stream();
    const auto kernel = make_kernel();
    const auto buffer = *acu::buffer_of<float>::create_from(stream, {1, 2});
    const auto grid = acu::grid_1d(2, 32);
    const auto graph = *acu::graph::create();
    const auto node = graph.add_launch({}, kernel, grid, buffer, 10.0f, 2u);
    CHECK(node && node->set_launch(kernel, grid, buffer, 20.0f, 2u));
    int calls = 0;
    CHECK(graph.add_host({*node}, [&calls] { calls++; }));
    const auto exec = graph.instantiate();
    CHECK(exec && exec->set_launch(*node, kernel, grid, buffer, 30.0f, 2u));
    CHECK(exec->launch(stream) && exec->launch(stream) && stream.synchronize());
    CHECK(contents(buffer) == floats{61, 62} && calls == 2);
    const auto other = *acu::graph::create();
    const auto updated = exec->update(other);
    CHECK(updated.code() == 910 && updated->result != ACU_UPDATE_SUCCESS);
}

void test_a_function_object_is_captured() {
    const auto stream = make_stream();
    const auto kernel = make_kernel();
    const auto buffer = *acu::buffer_of<float>::create_from(stream, {1});
    const auto graph = stream.capture(nullptr, [&](acu::stream_ref on) {
        CHECK(*on.is_capturing());
        return acu::launch(on, kernel, acu::grid_1d(1, 32), buffer, 2.0f, 1u);
    });
    CHECK(graph && contents(buffer) == floats{1});
    const auto exec = *graph->instantiate();
    CHECK(exec.launch(stream) && contents(buffer) == floats{3});
    const auto failed = stream.capture(nullptr, [&](acu::stream_ref) { return acu::failure{7}; });
    CHECK(failed.code() == 7 && !*failed && !*stream.is_capturing());
    const auto constant = [](acu::stream_ref) {};
    CHECK(stream.capture(nullptr, constant));
    CHECK(stream.capture(
        nullptr, [](acu_stream *, void *) -> acu_result { return ACU_SUCCESS; }, nullptr));
#if defined(__cpp_exceptions)
    try {
        (void)stream.capture(nullptr, [](acu::stream_ref) { throw std::string("mine"); });
        CHECK(false); // it throws
    } catch (const std::string &text) {
        CHECK(text == "mine" && !*stream.is_capturing());
    }
#endif
}

/* Counts its copies that live. */
struct counted {
    explicit counted(int &count) : count_(&count) { ++*count_; }
    counted(const counted &other) : count_(other.count_) { ++*count_; }
    counted &operator=(const counted &) = delete;
    ~counted() { --*count_; }
    void operator()() const {}
    int *count_;
};

void test_a_closure_is_destroyed_once() {
    int living = 0;
    auto stream = make_stream();
    CHECK(stream.call(counted(living)) && stream.synchronize());
    CHECK(stream.release() && living == 0);
    CHECK(acu::stream_ref().call(counted(living)).code() == ACU_ERROR_ARGUMENT);
    CHECK(living == 0);
    {
        const acu::closure unused = counted(living);
    }
    CHECK(living == 0);
}

void test_a_device_is_current_for_a_while() {
    const auto count = *acu::device::get_count();
    const auto before = *acu::device::get_current();
    {
        auto guard = acu::device_guard::enter(count - 1);
        CHECK(guard && *acu::device::get_current() == count - 1);
        const auto moved = *std::move(guard);
        CHECK(*acu::device::get_current() == count - 1);
    }
    CHECK(*acu::device::get_current() == before);
    auto guard = *acu::device_guard::enter(count - 1);
    CHECK(guard.leave() && *acu::device::get_current() == before);
    char uuid[ACU_UUID_SIZE];
    CHECK(acu::device(0).get_uuid(uuid) && std::strncmp(uuid, "GPU-", 4) == 0);
    const auto memory = acu::device(0).get_memory();
    CHECK(memory && memory->free_bytes <= memory->total_bytes);
    const auto [least, greatest] = *acu::device(0).get_priority_range();
    acu_stream_options options{};
    options.priority = greatest;
    CHECK(least >= greatest && *acu::stream::create(0, options)->get_priority() == greatest);
    CHECK(acu::stream::create(0, &options) && acu::stream::create(0, nullptr));
#if __cplusplus >= 202002L
    CHECK(acu::stream::create(0,
                              acu_stream_options{.flags = ACU_STREAM_NON_BLOCKING, .priority = 0}));
#endif
}

/* C writes handles where owners are, which have released what they owned. */
void test_arrays_of_owners_are_filled() {
    std::vector<acu_device_part> parts(2);
    parts[0].multiprocessors = parts[1].multiprocessors = 8;
    std::array<acu::execution_context, 2> made;
    const auto code = acu::device(0).split(parts, made).code();
    if (code == ACU_NOT_SUPPORTED) // before 12.4
        return;
    CHECK(code == 0 && made[0] && made[1] && made[0] != made[1]);
    const auto kept = made[1].retain();
    CHECK(acu::device(0).split(parts, made)); // the first two are released
    CHECK(made[1] != kept);
    std::array<acu::execution_context, 1> few;
    CHECK(acu::device(0).split(parts, few).code() == ACU_ERROR_ARGUMENT && !few[0]);
    parts.resize(1);
    CHECK(made[0].split(parts, few) && few[0] && few[0] != made[0]);
    CHECK(kept.get_info()->multiprocessors == 8);
}

} // namespace

int main() {
    acu_sim_register("add", simulated_add);
    test_an_owner_is_moved();
    test_retaining_adds_an_owner();
    test_what_is_not_owned_is_a_ref();
    test_objects_keep_what_they_need();
    test_a_failure_has_cs_text();
    test_a_failure_passes_through_results();
    test_an_empty_handle_is_an_error_of_c();
    test_a_dead_handle_is_an_error_of_c();
#if defined(__cpp_exceptions)
    test_exceptions_have_cs_text();
#endif
    test_elements_have_their_type();
    test_c_compares_the_types();
    test_whatever_lies_together_is_a_span();
    test_lists_are_spans_to_fill();
    test_streams_fork_and_join();
    test_transfers_and_shapes();
    test_arguments_are_checked();
    test_dependencies_are_spans();
    test_dependencies_of_a_capture_are_spans();
    test_the_log_is_read_into_a_span();
    test_a_graph_is_built_and_changed();
    test_a_function_object_is_captured();
    test_a_closure_is_destroyed_once();
    test_a_device_is_current_for_a_while();
    test_arrays_of_owners_are_filled();
    acu::quarantine(0);
    if (acu::loaded(ACU_CUDART) && acu::loaded(ACU_CUDART)->is_sim)
        CHECK(acu_sim_leaks(1) == 0);
    return failed_checks != 0;
}
