/* What a program can say to leakscope.
 *
 * Nothing here needs linking: where leakscope's runtime is not in the
 * process, every call does nothing. */
#ifndef LEAKSCOPE_H
#define LEAKSCOPE_H

#ifdef __cplusplus
extern "C" {
#endif

/* The runtime's own function; null where there is no runtime. */
extern int __leakscope_snapshot(void) __attribute__((weak));

/* Takes a snapshot of the heap: what is lost at this moment is in the report.
 * The program stops only while it is copied. Returns 0 if a snapshot is
 * being written, -1 if nobody asked for records. */
static inline int leakscope_snapshot(void)
{
    return __leakscope_snapshot ? __leakscope_snapshot() : -1;
}

#ifdef __cplusplus
}
#endif

#endif
