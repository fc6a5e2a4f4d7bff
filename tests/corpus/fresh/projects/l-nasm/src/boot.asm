bits 16
org 0x7c00
start:
  mov ax, msg_addr
  mov bx, 1
  jmp start
%include "src/io.inc"
