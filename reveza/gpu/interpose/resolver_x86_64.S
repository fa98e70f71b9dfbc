// Parts of the resolver that must not have a stack frame of their own.
// REVEZA_IN_EXECUTABLE: linked into a test program, where dlsym cannot be versioned.

#if defined(__CET__)
#include <cet.h>
#else
#define _CET_ENDBR
#endif

        .text

// void* dlsym(void* handle, const char* name)
// Unless the filter decides, jumps to the real dlsym with the caller's return address on the stack.
        .globl  reveza_dlsym
        .hidden reveza_dlsym
        .type   reveza_dlsym, @function
        .p2align 4
reveza_dlsym:
        .cfi_startproc
        _CET_ENDBR
        cmpq    $-1, %rdi                       // RTLD_NEXT
        je      .Lask_as_caller
        testq   %rsi, %rsi
        je      .Lask_as_caller
        cmpb    $'c', (%rsi)
        jne     .Lask_as_caller
        cmpb    $'u', 1(%rsi)
        jne     .Lask_as_caller
        movzbl  2(%rsi), %eax
        subl    $'A', %eax
        cmpl    $25, %eax
        ja      .Lask_as_caller
        pushq   %rdi
        .cfi_adjust_cfa_offset 8
        pushq   %rsi
        .cfi_adjust_cfa_offset 8
        subq    $8, %rsp
        .cfi_adjust_cfa_offset 8
        call    reveza_dlsym_filter
        addq    $8, %rsp
        .cfi_adjust_cfa_offset -8
        popq    %rsi
        .cfi_adjust_cfa_offset -8
        popq    %rdi
        .cfi_adjust_cfa_offset -8
        cmpq    $-1, %rax
        je      .Lask_as_caller
        ret
.Lask_as_caller:
        movq    reveza_real_dlsym(%rip), %rax
        testq   %rax, %rax
        jne     .Ljump
        pushq   %rdi
        .cfi_adjust_cfa_offset 8
        pushq   %rsi
        .cfi_adjust_cfa_offset 8
        subq    $8, %rsp
        .cfi_adjust_cfa_offset 8
        call    reveza_find_real_dlsym
        addq    $8, %rsp
        .cfi_adjust_cfa_offset -8
        popq    %rsi
        .cfi_adjust_cfa_offset -8
        popq    %rdi
        .cfi_adjust_cfa_offset -8
.Ljump:
        jmp     *%rax
        .cfi_endproc
        .size   reveza_dlsym, . - reveza_dlsym

#if defined(REVEZA_IN_EXECUTABLE)
        .globl  dlsym
        .type   dlsym, @function
        .set    dlsym, reveza_dlsym
#else
        .globl  reveza_dlsym_2_2_5
        .type   reveza_dlsym_2_2_5, @function
        .set    reveza_dlsym_2_2_5, reveza_dlsym
        .symver reveza_dlsym_2_2_5, dlsym@GLIBC_2.2.5
        .globl  reveza_dlsym_2_34
        .type   reveza_dlsym_2_34, @function
        .set    reveza_dlsym_2_34, reveza_dlsym
        .symver reveza_dlsym_2_34, dlsym@@GLIBC_2.34
#endif

// kMaxUnknownCalls thunks of 16 bytes each. %r11 and the stack below %rsp may be clobbered.
        .globl  reveza_thunks
        .hidden reveza_thunks
        .p2align 4
reveza_thunks:
        .cfi_startproc
        .set    index, 0
        .rept   512
        .p2align 4
        _CET_ENDBR
        movl    $index, %r11d
        jmp     .Lunknown
        .set    index, index + 1
        .endr
        .p2align 4

// Saves all argument registers: six integer, eight SSE, %al (number of SSE registers used by a
// variadic call) and %r10 (static chain).
.Lunknown:
        subq    $208, %rsp
        .cfi_adjust_cfa_offset 208
        movq    %rdi, 0(%rsp)
        movq    %rsi, 8(%rsp)
        movq    %rdx, 16(%rsp)
        movq    %rcx, 24(%rsp)
        movq    %r8, 32(%rsp)
        movq    %r9, 40(%rsp)
        movq    %rax, 48(%rsp)
        movq    %r10, 56(%rsp)
        movups  %xmm0, 64(%rsp)
        movups  %xmm1, 80(%rsp)
        movups  %xmm2, 96(%rsp)
        movups  %xmm3, 112(%rsp)
        movups  %xmm4, 128(%rsp)
        movups  %xmm5, 144(%rsp)
        movups  %xmm6, 160(%rsp)
        movups  %xmm7, 176(%rsp)
        movq    %r11, %rdi
        subq    $8, %rsp                        // stack alignment of a call
        .cfi_adjust_cfa_offset 8
        call    reveza_unknown_call
        addq    $8, %rsp
        .cfi_adjust_cfa_offset -8
        movq    %rax, %r11
        movq    0(%rsp), %rdi
        movq    8(%rsp), %rsi
        movq    16(%rsp), %rdx
        movq    24(%rsp), %rcx
        movq    32(%rsp), %r8
        movq    40(%rsp), %r9
        movq    48(%rsp), %rax
        movq    56(%rsp), %r10
        movups  64(%rsp), %xmm0
        movups  80(%rsp), %xmm1
        movups  96(%rsp), %xmm2
        movups  112(%rsp), %xmm3
        movups  128(%rsp), %xmm4
        movups  144(%rsp), %xmm5
        movups  160(%rsp), %xmm6
        movups  176(%rsp), %xmm7
        addq    $208, %rsp
        .cfi_adjust_cfa_offset -208
        jmp     *%r11
        .cfi_endproc

        .section .note.GNU-stack, "", @progbits
