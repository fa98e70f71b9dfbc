// Parts of the resolver that must not have a stack frame of their own; see resolver_x86_64.S for
// details. REVEZA_IN_EXECUTABLE: linked into a test program, where dlsym cannot be versioned.

        .text

// void* dlsym(void* handle, const char* name)
// Unless the filter decides, branches to the real dlsym with the caller's return address in x30.
        .globl  reveza_dlsym
        .hidden reveza_dlsym
        .type   reveza_dlsym, %function
        .p2align 4
reveza_dlsym:
        .cfi_startproc
        hint    #34                             // bti c
        cmn     x0, #1                          // RTLD_NEXT
        b.eq    .Lask_as_caller
        cbz     x1, .Lask_as_caller
        ldrb    w9, [x1]
        cmp     w9, #'c'
        b.ne    .Lask_as_caller
        ldrb    w9, [x1, #1]
        cmp     w9, #'u'
        b.ne    .Lask_as_caller
        ldrb    w9, [x1, #2]
        sub     w9, w9, #'A'
        cmp     w9, #25
        b.hi    .Lask_as_caller
        stp     x29, x30, [sp, #-32]!
        .cfi_adjust_cfa_offset 32
        .cfi_rel_offset x29, 0
        .cfi_rel_offset x30, 8
        mov     x29, sp
        stp     x0, x1, [sp, #16]
        bl      reveza_dlsym_filter
        mov     x9, x0
        ldp     x0, x1, [sp, #16]
        ldp     x29, x30, [sp], #32
        .cfi_adjust_cfa_offset -32
        .cfi_restore x29
        .cfi_restore x30
        cmn     x9, #1
        b.eq    .Lask_as_caller
        mov     x0, x9
        ret
.Lask_as_caller:
        adrp    x16, reveza_real_dlsym
        ldr     x16, [x16, #:lo12:reveza_real_dlsym]
        cbnz    x16, .Ljump
        stp     x29, x30, [sp, #-32]!
        .cfi_adjust_cfa_offset 32
        .cfi_rel_offset x29, 0
        .cfi_rel_offset x30, 8
        mov     x29, sp
        stp     x0, x1, [sp, #16]
        bl      reveza_find_real_dlsym
        mov     x16, x0
        ldp     x0, x1, [sp, #16]
        ldp     x29, x30, [sp], #32
        .cfi_adjust_cfa_offset -32
        .cfi_restore x29
        .cfi_restore x30
.Ljump:
        br      x16
        .cfi_endproc
        .size   reveza_dlsym, . - reveza_dlsym

#if defined(REVEZA_IN_EXECUTABLE)
        .globl  dlsym
        .type   dlsym, %function
        .set    dlsym, reveza_dlsym
#else
        .globl  reveza_dlsym_2_17
        .type   reveza_dlsym_2_17, %function
        .set    reveza_dlsym_2_17, reveza_dlsym
        .symver reveza_dlsym_2_17, dlsym@GLIBC_2.17
        .globl  reveza_dlsym_2_34
        .type   reveza_dlsym_2_34, %function
        .set    reveza_dlsym_2_34, reveza_dlsym
        .symver reveza_dlsym_2_34, dlsym@@GLIBC_2.34
#endif

// kMaxUnknownCalls thunks of 16 bytes each.
        .globl  reveza_thunks
        .hidden reveza_thunks
        .p2align 4
reveza_thunks:
        .cfi_startproc
        .set    index, 0
        .rept   512
        .p2align 4
        hint    #34                             // bti c
        mov     w16, #index
        b       .Lunknown
        .set    index, index + 1
        .endr
        .p2align 4

// Saves all argument registers: x0-x7, x8 (address of an indirect result), q0-q7.
.Lunknown:
        stp     x29, x30, [sp, #-224]!
        .cfi_adjust_cfa_offset 224
        .cfi_rel_offset x29, 0
        .cfi_rel_offset x30, 8
        mov     x29, sp
        stp     x0, x1, [sp, #16]
        stp     x2, x3, [sp, #32]
        stp     x4, x5, [sp, #48]
        stp     x6, x7, [sp, #64]
        str     x8, [sp, #80]
        stp     q0, q1, [sp, #96]
        stp     q2, q3, [sp, #128]
        stp     q4, q5, [sp, #160]
        stp     q6, q7, [sp, #192]
        mov     w0, w16
        bl      reveza_unknown_call
        mov     x16, x0
        ldp     x0, x1, [sp, #16]
        ldp     x2, x3, [sp, #32]
        ldp     x4, x5, [sp, #48]
        ldp     x6, x7, [sp, #64]
        ldr     x8, [sp, #80]
        ldp     q0, q1, [sp, #96]
        ldp     q2, q3, [sp, #128]
        ldp     q4, q5, [sp, #160]
        ldp     q6, q7, [sp, #192]
        ldp     x29, x30, [sp], #224
        .cfi_adjust_cfa_offset -224
        .cfi_restore x29
        .cfi_restore x30
        br      x16
        .cfi_endproc

        .section .note.GNU-stack, "", %progbits
