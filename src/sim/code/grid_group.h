/* Groups of all threads of a grid, by the functions that libcudadevrt.a has for them. */
#ifndef ACU_SIM_CODE_GRID_GROUP_H
#define ACU_SIM_CODE_GRID_GROUP_H

/* The functions cudaCG…(), as PTX that is linked to what needs them. */
extern const char acu_sim_grid_group_ptx[];

#endif
