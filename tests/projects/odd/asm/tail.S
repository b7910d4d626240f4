/* Uses the preprocessor, as assembler files of real projects do. */
#ifndef RESULT
#define RESULT 0
#endif
        .text
        .globl  tail
        .type   tail, @function
tail:
        movl    $RESULT, %eax
        ret
        .size   tail, .-tail
        .section .note.GNU-stack,"",@progbits
