// <anycuda/runtime.hpp> on the CPU: places, clients, blocks, programs and replays.
#include <anycuda/runtime.hpp>

#include "check.hpp"

#include <cstring>
#include <vector>

namespace {

using floats = std::vector<float>;

void scale(const acu_part *part, void *const *args) {
    const auto *from = static_cast<const float *>(args[0]);
    auto *to = static_cast<float *>(args[1]);
    const float by = *static_cast<const float *>(args[2]);
    for (std::size_t i = part->begin[0]; i < part->end[0]; i++)
        to[i] = by * from[i];
}

acu::program make_program() {
    acu_program_source source{};
    source.name = "scale";
    source.cpu = scale;
    auto made = acu::program::create(source);
    CHECK(made && std::strcmp(made->name(), "scale") == 0);
    return *std::move(made);
}

acu::block make_block(acu::client_ref client, const floats &values) {
    auto made = acu::block::create_for<float>(client, values.size());
    CHECK(made && made->size() == values.size() * sizeof(float));
    CHECK(acu::block::write(client, *made, 0, values.data(), made->size()));
    return *std::move(made);
}

floats contents(acu::client_ref client, acu::block_ref block) {
    floats back(block.size() / sizeof(float));
    CHECK(acu::block::read(client, block, 0, back.data(), block.size()));
    return back;
}

void test_a_program_runs() {
    const auto place = acu::place::cpu();
    const auto client = *acu::client::create(place);
    CHECK(client.place().is(place) && place.computes(ACU_F32) && place.get_info()->memory != 0);
    const auto from = make_block(client, {1, 2, 3});
    const auto to = make_block(client, {0, 0, 0});
    const auto program = make_program();
    CHECK(program.prepare(place));
    CHECK(acu::run(client, program, acu::items(3), acu::in_block(from), acu::out_block(to), 2.0f));
    CHECK(contents(client, to) == floats{2, 4, 6});
    CHECK(acu::run(client, program, acu::items(3), from, to, 3.0f));
    CHECK(contents(client, to) == floats{3, 6, 9});
    CHECK(to.client() == client && client.synchronize());
    const auto mark = acu::mark::create(client);
    CHECK(mark && client.wait(*mark) && mark->synchronize() && mark->query());
}

void test_a_replay_records_a_function_object() {
    const auto client = *acu::client::get_default(acu::place::cpu());
    const auto from = make_block(client, {1});
    const auto to = make_block(client, {0});
    const auto program = make_program();
    const acu_named_block named[] = {{"to", to.get()}};
    const auto replay = acu::replay::record(
        client,
        [&](acu::client_ref recorded) {
            return acu::run(recorded, program, acu::items(1), from, to, 5.0f);
        },
        named);
    CHECK(replay && contents(client, to) == floats{0});
    CHECK(replay->run() && contents(client, to) == floats{5});
    CHECK(*replay->get_block("to") == to);
    CHECK(replay->get_block("none").code() == ACU_ERROR_ARGUMENT);
}

void test_places_have_names() {
    const auto parsed = acu::place::parse("cpu");
    char text[16];
    CHECK(parsed && parsed->describe(text) == 3 && std::strcmp(text, "cpu") == 0);
    CHECK(acu::place::parse("nowhere").code() == ACU_ERROR_ARGUMENT);
    CHECK(acu::runtime_count() >= 3 && std::strcmp(acu::runtime_name(0), "cpu") == 0);
    CHECK(*acu::runtime_find("cpu") == 0 && *acu::runtime_get_device_count(0) == 1);
}

} // namespace

int main() {
    test_a_program_runs();
    test_a_replay_records_a_function_object();
    test_places_have_names();
    return failed_checks != 0;
}
