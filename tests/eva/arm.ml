(* arm.ml - the data model of 32-bit Arm (EABI) for Frama-C, which has none: char is unsigned, and types of
   8 bytes are aligned to 8. run compiles it. SPDX-License-Identifier: MIT *)
let () =
  File.new_machdep "arm"
    { Machdeps.gcc_x86_32 with
      Cil_types.version = "gcc for arm";
      char_is_unsigned = true;
      alignof_longlong = 8;
      alignof_double = 8;
      sizeof_longdouble = 8;
      alignof_longdouble = 8;
      alignof_aligned = 8;
      wchar_t = "unsigned int" }
