/* What a program can say to leakscope.
 *
 * Nothing here needs linking: where neither leakscope's runtime is in the
 * process nor its tool around it, every call does nothing. */
#ifndef LEAKSCOPE_H
#define LEAKSCOPE_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The runtime's own functions; null where there is no runtime. */
extern int __leakscope_snapshot(void) __attribute__((weak));
extern void __leakscope_pool_allocated(const void *, size_t, const void *, size_t, const void *)
    __attribute__((weak));
extern void __leakscope_pool_resized(const void *, const void *, size_t, const void *, size_t, const void *)
    __attribute__((weak));
extern void __leakscope_pool_freed(const void *, const void *) __attribute__((weak));
extern void __leakscope_pool_cleared(const void *, const void *) __attribute__((weak));
extern void __leakscope_pool_moved(const void *, const void *) __attribute__((weak));

/* Takes a snapshot of the heap: what is lost at this moment is in the report.
 * The program stops only while it is copied. Returns 0 if a snapshot is
 * being written, -1 if nobody asked for records. */
static inline int leakscope_snapshot(void)
{
    return __leakscope_snapshot ? __leakscope_snapshot() : -1;
}

/* Own allocators: pools, arenas, slabs. Where names and arguments of their
 * functions say it all, [[allocator]] in leakscope.toml needs no change to the
 * program; these are for what such a table cannot say. Call each in the
 * function that the rest of the program calls: who calls that one is where the
 * block comes from, or goes. Keep that function out of line.
 *
 * A block lies in memory that the pool got from anywhere. A pool is any
 * address that tells it from others, or NULL. If a pool keeps its blocks, one
 * to which the program has no pointer is no leak while the pool is there. */

enum leakscope_keeping { LEAKSCOPE_FREED_ONE_BY_ONE, LEAKSCOPE_KEPT_BY_POOL };

#define LEAKSCOPE_INLINE static inline __attribute__((always_inline))

/* The pool hands out a block. */
LEAKSCOPE_INLINE void leakscope_pool_allocated(const void *pool, const void *block, size_t size,
                                               enum leakscope_keeping keeping)
{
    if (__leakscope_pool_allocated)
        __leakscope_pool_allocated(block, size, pool, keeping, __builtin_frame_address(0));
}

/* A block has another size, and perhaps another place. */
LEAKSCOPE_INLINE void leakscope_pool_resized(const void *pool, const void *old_block, const void *block,
                                             size_t size, enum leakscope_keeping keeping)
{
    if (__leakscope_pool_resized)
        __leakscope_pool_resized(old_block, block, size, pool, keeping, __builtin_frame_address(0));
}

/* A block is about to go back to its pool, with all blocks whose pool it is;
 * or a pool is about to end. */
LEAKSCOPE_INLINE void leakscope_pool_freed(const void *block)
{
    if (__leakscope_pool_freed)
        __leakscope_pool_freed(block, __builtin_frame_address(0));
}

/* All blocks are about to go back to their pool. */
LEAKSCOPE_INLINE void leakscope_pool_cleared(const void *pool)
{
    if (__leakscope_pool_cleared)
        __leakscope_pool_cleared(pool, __builtin_frame_address(0));
}

/* A block is another pool's from now on. */
LEAKSCOPE_INLINE void leakscope_pool_moved(const void *block, const void *pool)
{
    if (__leakscope_pool_moved)
        __leakscope_pool_moved(block, pool);
}

#ifdef __cplusplus
}
#endif

#endif
