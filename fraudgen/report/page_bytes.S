// The page, put together by tools/make_report_page.py, as it is.
    .section .rodata
    .globl reveza_report_page_begin
    .globl reveza_report_page_end
reveza_report_page_begin:
    .incbin REVEZA_REPORT_PAGE
reveza_report_page_end:
    .byte 0
    .section .note.GNU-stack, "", %progbits
