/* Where rucc's predefined macros differ from those of GCC 12 on x86. Checked against `cc -dM -E`. */
#undef __FLT16_IS_IEC_60559__
#undef __FLT32_IS_IEC_60559__
#undef __FLT64_IS_IEC_60559__
#undef __FLT128_IS_IEC_60559__
#undef __FLT32X_IS_IEC_60559__
#undef __FLT64X_IS_IEC_60559__
#undef __FLT_IS_IEC_60559__
#undef __DBL_IS_IEC_60559__
#undef __LDBL_IS_IEC_60559__
#define __FLT32_IS_IEC_60559__ 2
#define __FLT64_IS_IEC_60559__ 2
#define __FLT128_IS_IEC_60559__ 2
#define __FLT32X_IS_IEC_60559__ 2
#define __FLT64X_IS_IEC_60559__ 2
#define __FLT_IS_IEC_60559__ 2
#define __DBL_IS_IEC_60559__ 2
#define __LDBL_IS_IEC_60559__ 2
#ifdef __x86_64__
#define __FLT16_IS_IEC_60559__ 2
#endif
#undef __GXX_ABI_VERSION
#define __GXX_ABI_VERSION 1017
#define __HAVE_SPECULATION_SAFE_VALUE 1
#define __SEG_FS 1
#define __SEG_GS 1
#define __GCC_HAVE_DWARF2_CFI_ASM 1
#define __DECIMAL_BID_FORMAT__ 1
#undef __WCHAR_MIN__
#define __WCHAR_MIN__ (-__WCHAR_MAX__ - 1)
#undef __SIG_ATOMIC_MIN__
#define __SIG_ATOMIC_MIN__ (-__SIG_ATOMIC_MAX__ - 1)
#undef __BYTE_ORDER__
#define __BYTE_ORDER__ __ORDER_LITTLE_ENDIAN__
#undef __FLOAT_WORD_ORDER__
#define __FLOAT_WORD_ORDER__ __ORDER_LITTLE_ENDIAN__
#if __STDC_VERSION__ > 201710L
#undef __STDC_VERSION__
#define __STDC_VERSION__ 202000L
#endif
#ifdef __x86_64__
#define __SIZEOF_FLOAT80__ 16
#else
#define __SIZEOF_FLOAT80__ 12
#define __pentiumpro 1
#define __pentiumpro__ 1
#define __LAHF_SAHF__ 1
#define __GCC_ASM_FLAG_OUTPUTS__ 1
#undef __WCHAR_MAX__
#define __WCHAR_MAX__ 0x7fffffffL
#undef __WCHAR_TYPE__
#define __WCHAR_TYPE__ long int
/* GCC computes with the x87 there, rucc with SSE. */
#undef __pentium4
#undef __pentium4__
#undef __SSE__
#undef __SSE2__
#undef __SSE_MATH__
#undef __SSE2_MATH__
#undef __MMX__
#undef __FXSR__
#undef __FLT_EVAL_METHOD__
#define __FLT_EVAL_METHOD__ 2
#undef __FLT_EVAL_METHOD_TS_18661_3__
#define __FLT_EVAL_METHOD_TS_18661_3__ 2
#define __DEC_EVAL_METHOD__ 2
#define __DEC32_MANT_DIG__ 7
#define __DEC32_MIN_EXP__ (-94)
#define __DEC32_MAX_EXP__ 97
#define __DEC32_MIN__ 1E-95DF
#define __DEC32_MAX__ 9.999999E96DF
#define __DEC32_EPSILON__ 1E-6DF
#define __DEC32_SUBNORMAL_MIN__ 0.000001E-95DF
#define __DEC64_MANT_DIG__ 16
#define __DEC64_MIN_EXP__ (-382)
#define __DEC64_MAX_EXP__ 385
#define __DEC64_MIN__ 1E-383DD
#define __DEC64_MAX__ 9.999999999999999E384DD
#define __DEC64_EPSILON__ 1E-15DD
#define __DEC64_SUBNORMAL_MIN__ 0.000000000000001E-383DD
#define __DEC128_MANT_DIG__ 34
#define __DEC128_MIN_EXP__ (-6142)
#define __DEC128_MAX_EXP__ 6145
#define __DEC128_MIN__ 1E-6143DL
#define __DEC128_MAX__ 9.999999999999999999999999999999999E6144DL
#define __DEC128_EPSILON__ 1E-33DL
#define __DEC128_SUBNORMAL_MIN__ 0.000000000000000000000000000000001E-6143DL
#endif
#if __STDC_VERSION__ < 199901L || (__STDC_VERSION__ < 201112L && defined __STRICT_ANSI__)
#undef __STDC_UTF_16__
#undef __STDC_UTF_32__
#endif
/* The C library says these, in stdc-predef.h. */
#undef __STDC_IEC_559__
#undef __STDC_IEC_60559_BFP__
#undef __STDC_IEC_559_COMPLEX__
#undef __STDC_IEC_60559_COMPLEX__
#undef __STDC_ISO_10646__
