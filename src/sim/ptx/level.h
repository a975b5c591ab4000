/* The levels of x86-64 that kernels are executed with. */
#ifndef ACU_SIM_PTX_LEVEL_H
#define ACU_SIM_PTX_LEVEL_H

/* Whether the loops are there for several levels of the processor. One source file of all cannot
 * have that, and what is compiled for one processor (-march=native) needs none. */
#if defined(__x86_64__) && !defined(ACU_AMALGAMATED) && !defined(PTX_ONE_LEVEL)
#define PTX_HAS_LEVELS
#endif

typedef enum ptx_level {
    PTX_BEST,     /* the best that the processor has */
    PTX_BASELINE, /* what every processor has */
    PTX_AVX2,     /* x86-64-v3 */
    PTX_AVX512,   /* x86-64-v4 */
} ptx_level;

/* Which of three tables of loops is that of a level. */
#if defined(PTX_HAS_LEVELS)
#define PTX_OF_LEVEL(level, v1, v3, v4)                                                            \
    ((level) == PTX_AVX512 ? (v4) : (level) == PTX_AVX2 ? (v3) : (v1))
#else
#define PTX_OF_LEVEL(level, v1, v3, v4) ((void)(level), (v1))
#endif

/* Returns the level of the processor; never PTX_BEST. */
ptx_level acu_ptx_processor_level(void);
/* Returns the level that kernels are made for. */
ptx_level acu_ptx_level(void);
/* Lets kernels be made for the level from now on, or for the processor's if that is lower. No
 * kernel of another level may be run any more. */
void acu_ptx_level_use(ptx_level wanted);
/* Returns why a processor whose level is `has` does not use another one; NULL: it does. */
const char *acu_ptx_level_lack(ptx_level wanted, ptx_level has);

#endif
