//! Library functions that gcc knows without a declaration, with their types. A table; one letter per type.

use super::super::Lowerer;
use crate::types::{FloatKind, IntKind, Qualifiers, Signature, Type, TypeKind};

/// Name and types, the result first. `v` void, `b` _Bool, `i` int, `u` unsigned, `l` long, `U` unsigned long, `L` long
/// long, `M` unsigned long long, `z` size_t, `s` ptrdiff_t, `d` double, `f` float, `D` long double, `p` void *, `P`
/// const void *, `c` char *, `C` const char *, `g` char **, `F` FILE *, `I` int *, `e` double *, `a` va_list, `.` more.
const FUNCTIONS: &[(&str, &str)] = &[
    ("abort", "v"),
    ("abs", "ii"),
    ("alloca", "pz"),
    ("aligned_alloc", "pzz"),
    ("atoi", "iC"),
    ("atol", "lC"),
    ("bcmp", "iPPz"),
    ("bcopy", "vPpz"),
    ("bzero", "vpz"),
    ("calloc", "pzz"),
    ("exit", "vi"),
    ("_exit", "vi"),
    ("_Exit", "vi"),
    ("ffs", "ii"),
    ("ffsl", "il"),
    ("ffsll", "iL"),
    ("fprintf", "iFC."),
    ("fputc", "iiF"),
    ("fputs", "iCF"),
    ("fscanf", "iFC."),
    ("fwrite", "zPzzF"),
    ("free", "vp"),
    ("imaxabs", "ll"),
    ("index", "cCi"),
    ("isalnum", "ii"),
    ("isalpha", "ii"),
    ("isascii", "ii"),
    ("isblank", "ii"),
    ("iscntrl", "ii"),
    ("isdigit", "ii"),
    ("isgraph", "ii"),
    ("islower", "ii"),
    ("isprint", "ii"),
    ("ispunct", "ii"),
    ("isspace", "ii"),
    ("isupper", "ii"),
    ("isxdigit", "ii"),
    ("labs", "ll"),
    ("llabs", "LL"),
    ("malloc", "pz"),
    ("memchr", "pPiz"),
    ("memcmp", "iPPz"),
    ("memcpy", "ppPz"),
    ("memmove", "ppPz"),
    ("mempcpy", "ppPz"),
    ("memset", "ppiz"),
    ("printf", "iC."),
    ("putchar", "ii"),
    ("puts", "iC"),
    ("realloc", "ppz"),
    ("rindex", "cCi"),
    ("scanf", "iC."),
    ("snprintf", "iczC."),
    ("sprintf", "icC."),
    ("sscanf", "iCC."),
    ("stpcpy", "ccC"),
    ("stpncpy", "ccCz"),
    ("strcasecmp", "iCC"),
    ("strcat", "ccC"),
    ("strchr", "cCi"),
    ("strcmp", "iCC"),
    ("strcpy", "ccC"),
    ("strcspn", "zCC"),
    ("strdup", "cC"),
    ("strlen", "zC"),
    ("strncasecmp", "iCCz"),
    ("strncat", "ccCz"),
    ("strncmp", "iCCz"),
    ("strncpy", "ccCz"),
    ("strndup", "cCz"),
    ("strnlen", "zCz"),
    ("strpbrk", "cCC"),
    ("strrchr", "cCi"),
    ("strspn", "zCC"),
    ("strstr", "cCC"),
    ("toascii", "ii"),
    ("tolower", "ii"),
    ("toupper", "ii"),
    ("vfprintf", "iFCa"),
    ("vprintf", "iCa"),
    ("vsnprintf", "iczCa"),
    ("vsprintf", "icCa"),
];

/// Functions on `double`; those on `float` and `long double` have an `f` or `l` behind.
const MATH: &[(&str, &str)] = &[
    ("acos", "dd"),
    ("acosh", "dd"),
    ("asin", "dd"),
    ("asinh", "dd"),
    ("atan", "dd"),
    ("atan2", "ddd"),
    ("atanh", "dd"),
    ("cbrt", "dd"),
    ("ceil", "dd"),
    ("copysign", "ddd"),
    ("cos", "dd"),
    ("cosh", "dd"),
    ("erf", "dd"),
    ("erfc", "dd"),
    ("exp", "dd"),
    ("exp2", "dd"),
    ("expm1", "dd"),
    ("fabs", "dd"),
    ("fdim", "ddd"),
    ("floor", "dd"),
    ("fma", "dddd"),
    ("fmax", "ddd"),
    ("fmin", "ddd"),
    ("fmod", "ddd"),
    ("frexp", "ddI"),
    ("hypot", "ddd"),
    ("ilogb", "id"),
    ("ldexp", "ddi"),
    ("lgamma", "dd"),
    ("llrint", "Ld"),
    ("llround", "Ld"),
    ("log", "dd"),
    ("log10", "dd"),
    ("log1p", "dd"),
    ("log2", "dd"),
    ("logb", "dd"),
    ("lrint", "ld"),
    ("lround", "ld"),
    ("modf", "dde"),
    ("nearbyint", "dd"),
    ("nextafter", "ddd"),
    ("pow", "ddd"),
    ("powi", "ddi"),
    ("remainder", "ddd"),
    ("rint", "dd"),
    ("round", "dd"),
    ("scalbln", "ddl"),
    ("scalbn", "ddi"),
    ("sin", "dd"),
    ("sinh", "dd"),
    ("sqrt", "dd"),
    ("tan", "dd"),
    ("tanh", "dd"),
    ("tgamma", "dd"),
    ("trunc", "dd"),
];

/// The plain function behind a fortified one (`__builtin___memcpy_chk`), and which arguments it does not have.
pub(super) fn checked(short: &str) -> Option<(&'static str, &'static [usize])> {
    Some(match short.strip_prefix("__")?.strip_suffix("_chk")? {
        "memcpy" => ("memcpy", &[3]),
        "memmove" => ("memmove", &[3]),
        "mempcpy" => ("mempcpy", &[3]),
        "memset" => ("memset", &[3]),
        "strcpy" => ("strcpy", &[2]),
        "stpcpy" => ("stpcpy", &[2]),
        "strncpy" => ("strncpy", &[3]),
        "stpncpy" => ("stpncpy", &[3]),
        "strcat" => ("strcat", &[2]),
        "strncat" => ("strncat", &[3]),
        "sprintf" => ("sprintf", &[1, 2]),
        "vsprintf" => ("vsprintf", &[1, 2]),
        "snprintf" => ("snprintf", &[2, 3]),
        "vsnprintf" => ("vsnprintf", &[2, 3]),
        "printf" => ("printf", &[0]),
        "vprintf" => ("vprintf", &[0]),
        "fprintf" => ("fprintf", &[1]),
        "vfprintf" => ("vfprintf", &[1]),
        _ => return None,
    })
}

impl Lowerer<'_> {
    /// The type of a library function that gcc knows.
    pub(super) fn library_signature(&self, name: &str) -> Option<Signature> {
        let find = |table: &'static [(&str, &str)], name: &str| {
            table.iter().find(|(known, _)| *known == name).map(|(_, types)| *types)
        };
        if let Some(types) = find(FUNCTIONS, name).or_else(|| find(MATH, name)) {
            return self.decoded(types, FloatKind::Double);
        }
        if let Some(types) = name.strip_suffix('f').and_then(|stem| find(MATH, stem)) {
            return self.decoded(types, FloatKind::Float);
        }
        let types = name.strip_suffix('l').and_then(|stem| find(MATH, stem))?;
        self.decoded(types, FloatKind::LongDouble)
    }

    fn decoded(&self, types: &str, real: FloatKind) -> Option<Signature> {
        let mut all = Vec::new();
        let mut variadic = false;
        for letter in types.chars() {
            if letter == '.' {
                variadic = true;
            } else {
                all.push(self.type_of_letter(letter, real)?);
            }
        }
        let (result, parameters) = all.split_first()?;
        Some(Signature { result: *result, parameters: parameters.to_vec(), variadic, unprototyped: false })
    }

    fn type_of_letter(&self, letter: char, real: FloatKind) -> Option<Type> {
        let int = |kind| Type::new(TypeKind::Int(kind));
        let constant = |ty: Type| ty.qualified(Qualifiers { is_const: true, ..Qualifiers::default() });
        Some(match letter {
            'v' => Type::void(),
            'b' => Type::new(TypeKind::Bool),
            'i' => Type::int(),
            'u' => int(IntKind::UInt),
            'l' => int(IntKind::Long),
            'U' => int(IntKind::ULong),
            'L' => int(IntKind::LongLong),
            'M' => int(IntKind::ULongLong),
            'z' => self.size_type(),
            's' => self.ptrdiff_type(),
            'd' => Type::new(TypeKind::Float(real)),
            'e' => Type::new(TypeKind::Float(real)).pointer_to(),
            'p' => Type::void().pointer_to(),
            'P' => constant(Type::void()).pointer_to(),
            'c' => int(IntKind::Char).pointer_to(),
            'C' => constant(int(IntKind::Char)).pointer_to(),
            'g' => int(IntKind::Char).pointer_to().pointer_to(),
            'I' => Type::int().pointer_to(),
            'F' => match self.lookup("FILE") {
                Some(super::super::Entity::Typedef(file)) => file.pointer_to(),
                _ => Type::void().pointer_to(),
            },
            'a' => Type::new(TypeKind::VaList),
            _ => return None,
        })
    }
}
