#include "trainer.h"

#include "network.h"

#include <stdio.h>
#include <time.h>

/* Whole batches, so that none goes over the end. */
enum { TRAINING = 64 * NETWORK_BATCH, TESTING = 16 * NETWORK_BATCH };
static const float RATE = 0.2f;

/* What is drawn for the training or for the test, on the host. */
typedef struct pictures {
    float images[TRAINING * DIGITS_PIXELS], targets[TRAINING * DIGITS_CLASSES];
} pictures;

/* The training on one place. All is owned. */
typedef struct trainer {
    tensor_context context;
    network network;
    tensor images, targets; /* all that is learned from; a batch is a copy of some rows */
    acu_replay *step;
    /* The losses of a stretch of `every` steps, and a mark after it. There are two of each: the
     * losses of one stretch are read while the place works on the next. */
    tensor losses[2];
    acu_mark *marks[2];
} trainer;

static double now(void) {
    struct timespec t;
    (void)timespec_get(&t, TIME_UTC);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* ---- before the first step ---- */

static acu_result write_pictures(trainer *t, uint64_t seed) {
    static pictures drawn;
    digits_draw(seed, TRAINING, drawn.images, drawn.targets);
    ACU_TRY(tensor_create(&t->context, TRAINING, DIGITS_PIXELS, &t->images));
    ACU_TRY(tensor_create(&t->context, TRAINING, DIGITS_CLASSES, &t->targets));
    ACU_TRY(tensor_write(&t->context, &t->images, drawn.images));
    return tensor_write(&t->context, &t->targets, drawn.targets);
}

/* Records a step: 18 programs, which are later run by one call. */
static acu_result record_step(trainer *t) {
    const acu_named_block named[] = {{"images", t->network.images.block},
                                     {"targets", t->network.targets.block},
                                     {"loss", t->network.loss.block}};
    return acu_replay_record(t->context.client, network_step, &t->network, named,
                             sizeof named / sizeof *named, &t->step);
}

static acu_result prepare(trainer *t, acu_place place, const trainer_settings *settings) {
    ACU_TRY(tensor_open(place, &t->context));
    ACU_TRY(network_create(&t->context, settings->seed, RATE, &t->network));
    ACU_TRY(write_pictures(t, settings->seed));
    for (int i = 0; i < 2; i++)
        ACU_TRY(tensor_create(&t->context, (uint32_t)settings->every, 1, &t->losses[i]));
    return record_step(t);
}

static void drop(trainer *t) {
    for (int i = 0; i < 2; i++) {
        (void)acu_mark_release(t->marks[i]);
        tensor_drop(&t->losses[i]);
    }
    (void)acu_replay_release(t->step);
    tensor_drop(&t->images);
    tensor_drop(&t->targets);
    network_drop(&t->network);
    tensor_close(&t->context);
}

/* ---- training ---- */

/* Does a step, and keeps its loss on the place. Nothing waits here. */
static acu_result do_step(trainer *t, size_t step, const trainer_settings *settings) {
    const uint32_t first = (uint32_t)(step * NETWORK_BATCH % TRAINING);
    const tensor *losses = &t->losses[step / settings->every % 2];
    ACU_TRY(tensor_copy_rows(&t->context, &t->images, first, &t->network.images, 0, NETWORK_BATCH));
    ACU_TRY(
        tensor_copy_rows(&t->context, &t->targets, first, &t->network.targets, 0, NETWORK_BATCH));
    ACU_TRY(acu_replay_run(t->step));
    return tensor_copy_rows(&t->context, &t->network.loss, 0, losses,
                            (uint32_t)(step % settings->every), 1);
}

/* Waits for the mark after a stretch, not for later steps, and prints the stretch's last loss. */
static acu_result report(trainer *t, size_t stretch, const trainer_settings *settings,
                         float *loss) {
    const size_t first = stretch * settings->every, left = settings->steps - first;
    const size_t count = left < settings->every ? left : settings->every;
    const int i = (int)(stretch % 2);
    ACU_TRY(acu_block_read_after(t->context.client, t->marks[i], t->losses[i].block, 0,
                                 loss + first, count * sizeof *loss));
    (void)acu_mark_release(t->marks[i]);
    t->marks[i] = NULL;
    printf("  step %5zu: loss %.4f\n", first + count, (double)loss[first + count - 1]);
    return ACU_SUCCESS;
}

/* Does all steps. The loss of a stretch is read when the next stretch is given to the place. */
static acu_result train(trainer *t, const trainer_settings *settings, float *loss) {
    const size_t last = (settings->steps - 1) / settings->every;
    for (size_t step = 0; step < settings->steps; step++) {
        const size_t stretch = step / settings->every;
        ACU_TRY(do_step(t, step, settings));
        if ((step + 1) % settings->every && step + 1 < settings->steps)
            continue;
        ACU_TRY(acu_mark_create(t->context.client, &t->marks[stretch % 2]));
        if (stretch > 0)
            ACU_TRY(report(t, stretch - 1, settings, loss));
    }
    return report(t, last, settings, loss);
}

/* ---- after the last step ---- */

static size_t largest(const float *of) {
    size_t best = 0;
    for (size_t i = 1; i < DIGITS_CLASSES; i++)
        best = of[i] > of[best] ? i : best;
    return best;
}

/* Counts how many of a batch are recognised. */
static acu_result test_batch(trainer *t, const float *images, const float *targets, size_t *right) {
    float scores[NETWORK_BATCH * DIGITS_CLASSES];
    ACU_TRY(tensor_write(&t->context, &t->network.images, images));
    ACU_TRY(network_forward(&t->network));
    ACU_TRY(tensor_read(&t->context, &t->network.scores, scores));
    for (size_t i = 0; i < (size_t)NETWORK_BATCH * DIGITS_CLASSES; i += DIGITS_CLASSES)
        *right += largest(scores + i) == largest(targets + i);
    return ACU_SUCCESS;
}

static acu_result test(trainer *t, uint64_t seed, size_t *right) {
    static pictures drawn;
    digits_draw(~seed, TESTING, drawn.images, drawn.targets);
    for (size_t i = 0; i < TESTING; i += NETWORK_BATCH)
        ACU_TRY(test_batch(t, drawn.images + i * DIGITS_PIXELS, drawn.targets + i * DIGITS_CLASSES,
                           right));
    return ACU_SUCCESS;
}

static acu_result run(trainer *t, acu_place place, const trainer_settings *settings, float *loss) {
    size_t right = 0;
    ACU_TRY(prepare(t, place, settings));
    printf("  a step is %s%s\n",
           acu_replay_is_real(t->step) ? "one piece of work for the place"
                                       : "replayed call by call: ",
           acu_replay_why(t->step));
    const double start = now();
    ACU_TRY(train(t, settings, loss));
    const double seconds = now() - start;
    ACU_TRY(test(t, settings->seed, &right));
    printf("  %zu steps in %.2f s; %zu of %d other digits are recognised: %.1f %%\n",
           settings->steps, seconds, right, TESTING, 100 * (double)right / TESTING);
    return ACU_SUCCESS;
}

acu_result trainer_run(acu_place place, const trainer_settings *settings, float *loss) {
    trainer t = {0};
    const acu_result result = run(&t, place, settings, loss);
    drop(&t);
    return result;
}
