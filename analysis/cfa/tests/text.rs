//! Automata print as text that reads back as the same automaton.

use std::{
    cell::RefCell,
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use proofline_cfa::{
    text::*,
    visit::{Renaming, Symbol},
    *,
};
use proofline_hir::{
    FunctionAttributes, Record, Records, TypeKind,
    types::{ArrayLength, BitField, Field, FloatKind, IntKind, Qualifiers, Signature, TypeData},
};
use proofline_syntax::DataModel;
use proptest::{collection::vec, option, prelude::*, sample::select};

fn name() -> impl Strategy<Value = Name> {
    let known = [
        "x",
        "y",
        "return",
        "$0",
        "x#1",
        "x?",
        "skip",
        "i32",
        "float",
        "null",
        "a.c:f",
        "\"a`b\\\n\u{1}\"",
        "ptr",
        "",
        "next",
    ];
    prop_oneof![
        select(known.to_vec()).prop_map(Name::new),
        "[a-z]{1,3}".prop_map(|s| Name::new(&s)),
        any::<String>().prop_map(|s| Name::new(&s))
    ]
}

fn tag(word: &'static str) -> impl Strategy<Value = Name> {
    prop_oneof![Just(Name::new(&format!("{word} list"))), Just(Name::new("struct s#f#1")), name()]
}

fn int_kind() -> impl Strategy<Value = IntKind> {
    use IntKind::*;
    select(vec![
        Char, SChar, UChar, Short, UShort, Int, UInt, Long, ULong, LongLong, ULongLong, Int128, UInt128,
    ])
}

fn float_kind() -> impl Strategy<Value = FloatKind> {
    use FloatKind::*;
    select(vec![Float16, Float, Double, LongDouble, Float128])
}

fn ty() -> impl Strategy<Value = Type> {
    let leaf = prop_oneof![
        Just(TypeKind::Void),
        Just(TypeKind::Bool),
        int_kind().prop_map(TypeKind::Int),
        float_kind().prop_map(TypeKind::Float),
        float_kind().prop_map(TypeKind::Complex),
        tag("struct").prop_map(TypeKind::Record),
        (tag("enum"), int_kind()).prop_map(|(tag, kind)| TypeKind::Enum(tag, kind)),
        Just(TypeKind::VaList),
        Just(TypeKind::Error),
    ];
    let qualified = |kind: BoxedStrategy<TypeKind>| {
        (kind, option::weighted(0.3, any::<[bool; 4]>())).prop_map(|(kind, q)| {
            let [is_const, is_volatile, is_restrict, is_atomic] = q.unwrap_or_default();
            Type::intern(TypeData {
                kind,
                qualifiers: Qualifiers { is_const, is_volatile, is_restrict, is_atomic },
            })
        })
    };
    qualified(leaf.boxed()).prop_recursive(4, 12, 3, move |inner| {
        let length = prop_oneof![
            any::<u64>().prop_map(ArrayLength::Fixed),
            Just(ArrayLength::Unknown),
            Just(ArrayLength::Variable)
        ];
        let signature = (inner.clone(), vec(inner.clone(), 0..3), any::<bool>(), any::<bool>()).prop_map(
            |(result, parameters, variadic, unprototyped)| {
                TypeKind::Function(Arc::new(Signature { result, parameters, variadic, unprototyped }))
            },
        );
        let kind = prop_oneof![
            inner.clone().prop_map(TypeKind::Pointer),
            (inner.clone(), length).prop_map(|(inner, length)| TypeKind::Array(inner, length)),
            signature,
            (inner, any::<u32>()).prop_map(|(inner, n)| TypeKind::Vector(inner, n)),
        ];
        qualified(kind.boxed())
    })
}

fn int_type() -> impl Strategy<Value = IntType> {
    (1u8..=128, any::<bool>()).prop_map(|(bits, signed)| IntType { bits, signed })
}

fn float_type() -> impl Strategy<Value = FloatType> {
    select(vec![FloatType::F16, FloatType::F32, FloatType::F64, FloatType::F80, FloatType::F128])
}

fn scalar() -> impl Strategy<Value = Scalar> {
    prop_oneof![int_type().prop_map(Scalar::Int), float_type().prop_map(Scalar::Float), Just(Scalar::Pointer)]
}

fn site() -> impl Strategy<Value = Site> {
    (0u32..4).prop_map(Site)
}

fn binary_op() -> impl Strategy<Value = BinaryOp> {
    use BinaryOp::*;
    select(vec![Add, Sub, Mul, Div, Rem, Shl, Shr, BitAnd, BitOr, BitXor])
}

fn compare_op() -> impl Strategy<Value = CompareOp> {
    use CompareOp::*;
    select(vec![Lt, Le, Gt, Ge, Eq, Ne])
}

fn bits() -> impl Strategy<Value = BitField> {
    (0u8..8, 1u8..64).prop_map(|(first, width)| BitField { first, width })
}

fn lvalue_of(expr: BoxedStrategy<Expr>) -> BoxedStrategy<Lvalue> {
    let base = prop_oneof![
        (0u32..6).prop_map(|i| Base::Local(LocalId(i))),
        name().prop_map(Base::Global),
        (expr.clone(), site()).prop_map(|(e, s)| Base::Deref(Arc::new(e), s)),
    ];
    let step = prop_oneof![
        (tag("struct"), name(), any::<u64>()).prop_map(|(record, name, offset)| Step::Field {
            record,
            name,
            offset
        }),
        Just(Step::Field { record: Name::new("struct list"), name: Name::new("next"), offset: 8 }),
        (expr, any::<u64>(), option::of(any::<u64>()), site())
            .prop_map(|(e, stride, length, site)| Step::Index { index: Arc::new(e), stride, length, site }),
    ];
    (base, vec(step, 0..3), ty(), option::of(scalar()), option::of(bits()), any::<u64>())
        .prop_map(|(base, path, ty, scalar, bits, size)| Lvalue { base, path, ty, scalar, bits, size })
        .boxed()
}

fn expr() -> BoxedStrategy<Expr> {
    let leaf = prop_oneof![
        (any::<i128>(), int_type()).prop_map(|(v, ty)| Expr::Int(v, ty)),
        any::<i32>().prop_map(|v| Expr::int(v.into())),
        (any::<u128>(), float_type())
            .prop_filter_map("a number", |(bits, ty)| Float::from_bits(ty, bits).map(Expr::Float)),
        (any::<f64>(), float_type())
            .prop_map(|(v, ty)| Expr::Float(Float::from_f64(v).convert(ty, Rounding::NearestEven).value)),
        Just(Expr::Null),
        name().prop_map(Expr::Function),
    ];
    leaf.prop_recursive(4, 24, 3, |inner| {
        let arc = inner.clone().prop_map(Arc::new);
        prop_oneof![
            lvalue_of(inner.clone()).prop_map(Expr::Load),
            lvalue_of(inner.clone()).prop_map(Expr::Address),
            (select(vec![UnaryOp::Negate, UnaryOp::BitNot]), arc.clone(), site())
                .prop_map(|(op, a, s)| Expr::Unary(op, a, s)),
            (binary_op(), arc.clone(), arc.clone(), site())
                .prop_map(|(op, a, b, s)| Expr::Binary(op, a, b, s)),
            (compare_op(), arc.clone(), arc.clone()).prop_map(|(op, a, b)| Expr::Compare(op, a, b)),
            (scalar(), arc.clone(), site()).prop_map(|(to, a, s)| Expr::Cast(to, a, s)),
            (binary_op(), arc.clone(), arc.clone()).prop_map(|(op, a, b)| Expr::Overflows(op, a, b)),
            (arc.clone(), arc, any::<u64>(), int_type())
                .prop_map(|(a, b, n, ty)| Expr::PointerDifference(a, b, n, ty)),
        ]
    })
    .boxed()
}

fn lvalue() -> BoxedStrategy<Lvalue> {
    lvalue_of(expr())
}

fn cause() -> impl Strategy<Value = Cause> {
    prop_oneof![
        name().prop_map(Cause::Input),
        name().prop_map(Cause::External),
        name().prop_map(Cause::Keeping),
        name().prop_map(Cause::Within),
        name().prop_map(Cause::Unmodelled),
        Just(Cause::Volatile),
        Just(Cause::Indeterminate),
    ]
}

fn op() -> impl Strategy<Value = Op> {
    let argument = prop_oneof![expr().prop_map(Argument::Value), lvalue().prop_map(Argument::Aggregate)];
    let callee = prop_oneof![
        name().prop_map(Callee::Direct),
        (expr(), ty()).prop_map(|(e, ty)| Callee::Indirect(e, ty))
    ];
    let call = (option::of(lvalue()), callee, vec(argument, 0..3))
        .prop_map(|(dst, callee, arguments)| Op::Call(Call { dst, callee, arguments }));
    let allocate = (lvalue(), expr(), site(), any::<[bool; 3]>()).prop_map(|(dst, size, site, flags)| {
        let [on_heap, zeroed, may_fail] = flags;
        Op::Allocate(Allocation { dst, size, site, on_heap, zeroed, may_fail })
    });
    prop_oneof![
        Just(Op::Skip),
        expr().prop_map(Op::Assume),
        (lvalue(), expr()).prop_map(|(l, e)| Op::Assign(l, e)),
        (lvalue(), lvalue()).prop_map(|(l, r)| Op::Copy(l, r)),
        (lvalue(), cause()).prop_map(|(l, c)| Op::Havoc(l, c)),
        (vec(expr(), 0..3), cause()).prop_map(|(e, c)| Op::Clobber(e, c)),
        call,
        allocate,
        expr().prop_map(Op::Free),
        (expr(), expr(), expr()).prop_map(|(a, b, c)| Op::CopyBytes(a, b, c)),
        (expr(), expr(), expr()).prop_map(|(a, b, c)| Op::FillBytes(a, b, c)),
        (expr(), expr(), cause()).prop_map(|(a, b, c)| Op::HavocBytes(a, b, c)),
        (0u32..6).prop_map(|i| Op::Begin(LocalId(i))),
        (0u32..6).prop_map(|i| Op::End(LocalId(i))),
    ]
}

fn library_result() -> impl Strategy<Value = LibraryResult> {
    let quantity = select(Quantity::ALL.map(|(_, quantity, _)| quantity).to_vec());
    ((0u32..6).prop_map(LocalId), quantity, vec(expr(), 0..3), any::<bool>()).prop_map(
        |(dst, quantity, arguments, is_absence)| LibraryResult { dst, quantity, arguments, is_absence },
    )
}

fn loc() -> impl Strategy<Value = Loc> {
    (0u32..5).prop_map(Loc)
}

fn function() -> impl Strategy<Value = Function> {
    let role = select(vec![Role::Result, Role::Parameter, Role::Variable, Role::Temporary, Role::Shadow]);
    let local = (name(), ty(), role, any::<bool>(), any::<u64>())
        .prop_map(|(name, ty, role, address_taken, size)| Local { name, ty, role, address_taken, size });
    let edge = (loc(), loc(), op(), site()).prop_map(|(from, to, op, site)| Edge { from, to, op, site });
    let obligation =
        (select(vec![CheckId::new("assertion"), CheckId::new("division-by-zero")]), loc(), site(), name())
            .prop_map(|(check, error, site, text)| Obligation { check, error, site, text });
    let head = (name(), ty(), any::<[bool; 8]>(), vec(local, 0..4), vec((0u32..6).prop_map(LocalId), 0..3));
    let tail = (
        vec(edge, 0..4),
        vec(obligation, 0..2),
        vec((name(), loc()), 0..2),
        vec((name(), site()).prop_map(|(what, site)| Approximation { what, site }), 0..2),
        vec((loc(), name()), 0..2),
        vec(library_result(), 0..2),
        vec(vec(loc(), 0..4).prop_map(|bounds| Operands { bounds }), 0..2),
    );
    (head, option::of((0u32..6).prop_map(LocalId)), any::<u32>(), loc(), loc(), tail).prop_map(
        |((name, ty, flags, locals, parameters), result, locations, entry, exit, tail)| {
            let [internal, noreturn, inline, pure, malloc, runs_outside_main, weak, variadic] = flags;
            let (edges, obligations, labels, approximations, unsupported, library_results, operands) = tail;
            Function {
                name,
                ty,
                linkage: if internal { Linkage::Internal } else { Linkage::External },
                attributes: FunctionAttributes { noreturn, inline, pure, malloc, runs_outside_main, weak },
                locals,
                parameters,
                result,
                variadic,
                locations,
                entry,
                exit,
                edges,
                obligations,
                labels,
                approximations,
                operands,
                library_results,
                unsupported,
            }
        },
    )
}

fn program() -> impl Strategy<Value = Program> {
    let field = (name(), ty(), any::<u64>(), option::of(bits())).prop_map(|(name, ty, offset, bits)| Field {
        name,
        ty,
        offset,
        bits,
    });
    let record = (tag("struct"), any::<bool>(), vec(field, 0..3), any::<u64>(), any::<u64>())
        .prop_map(|(tag, is_union, fields, size, align)| Record { tag, is_union, fields, size, align });
    let constant = prop_oneof![
        any::<i128>().prop_map(Constant::Int),
        (name(), any::<i64>()).prop_map(|(name, offset)| Constant::Address(name, offset)),
        name().prop_map(Constant::Function),
        Just(Constant::Unknown),
    ];
    let initial = (any::<u64>(), scalar(), option::of(bits()), constant, any::<u128>()).prop_map(
        |(offset, scalar, bits, value, raw)| {
            let float = |ty| Float::from_bits(ty, raw).map(Constant::Float);
            let value = if let Scalar::Float(ty) = scalar { float(ty).unwrap_or(value) } else { value };
            InitialValue { offset, scalar, bits, value }
        },
    );
    let global = (name(), ty(), any::<u64>(), any::<[bool; 3]>(), vec(initial, 0..3), vec(name(), 0..3))
        .prop_map(|(name, ty, size, [internal, defined, constant], init, hidden)| {
            let linkage = if internal { Linkage::Internal } else { Linkage::External };
            Global { name, ty, size, linkage, defined, constant, init, hidden }
        });
    (
        any::<bool>(),
        vec(record, 0..3),
        vec(global, 0..3),
        vec(function(), 0..2),
        vec((name(), ty()), 0..2),
        vec(name(), 0..2),
        vec((name(), name()), 0..2),
    )
        .prop_map(|(wide, records, globals, functions, externals, shared, unsupported)| Program {
            data_model: if wide { DataModel::Lp64 } else { DataModel::Ilp32 },
            records: records.into_iter().map(|r| (r.tag, Arc::new(r))).collect(),
            globals: globals.into_iter().map(|g| (g.name, Arc::new(g))).collect(),
            functions: functions.into_iter().map(|f| (f.name, Arc::new(f))).collect(),
            externals: externals.into_iter().collect(),
            shared: shared.into_iter().collect(),
            unsupported,
        })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 256, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_function_reads_back(function in function()) {
        let bare = Surroundings::bare(DataModel::Lp64);
        let text = print_function(&function, bare);
        prop_assert_eq!(parse_function(&text, bare).map_err(|e| TestCaseError::fail(format!("{e}\n{text}")))?, function);
    }

    #[test]
    fn a_program_reads_back(program in program()) {
        let text = print_program(&program);
        prop_assert_eq!(parse_program(&text).map_err(|e| TestCaseError::fail(format!("{e}\n{text}")))?, program);
    }

    #[test]
    fn what_has_a_name_is_what_a_renaming_asks_about(mut function in function()) {
        let asked = Asked::default();
        let name = function.name;
        let mut seen = BTreeSet::from([format!("{:?}", Symbol::Global(name))]);
        visit::symbols(&function, &mut |symbol| {
            seen.insert(format!("{symbol:?}"));
        });
        visit::rename(&mut function, &asked);
        prop_assert_eq!(asked.0.into_inner(), seen);
    }
}

/// Renames nothing, and keeps what it was asked about.
#[derive(Default)]
struct Asked(RefCell<BTreeSet<String>>);

impl Asked {
    fn ask(&self, symbol: Symbol) {
        self.0.borrow_mut().insert(format!("{symbol:?}"));
    }
}

impl Renaming for Asked {
    fn global(&self, name: Name) -> Name {
        self.ask(Symbol::Global(name));
        name
    }
    fn tag(&self, name: Name) -> Name {
        self.ask(Symbol::Tag(name));
        name
    }
    fn ty(&self, ty: Type) -> Type {
        self.ask(Symbol::Type(ty));
        ty
    }
}

const SUM: &str = "\
model lp64
record struct list: struct size 16 align 8 {
  data: int at 0
  flag: unsigned int at 4 bits 2 3
  next: struct list* at 8
}
global head: struct list* = {
  0 ptr: &first + 16
}
external puts: int(char const*)

fn sum: int(struct list*) static {
  result return: int
  parameter l: struct list*
  variable a: int[10] addressed
  variable s: int
  locations 5 entry l0 exit l3
  l0 -> l1 @1: %s := 0
  l1 -> l2 @2: assume %l != null
  l2 -> l1 @3: %s := %s + ((*%l).data * %a[%s])
  l1 -> l1 @4: (*%l).flag := u32@3(%s +@5 1)
  l1 -> l1 @4: %s := call puts(&(*head){char})
  l1 -> l4 @5: assume %s < -7
  l1 -> l3 @6: %return := %s
  obligation assertion l4 @5 `s >= -7`
}
";

#[test]
fn what_the_parts_imply_is_left_out() {
    let program = parse_program(SUM).expect("reads");
    assert_eq!(print_program(&program), SUM);
    let sum = program.function(Name::new("sum")).expect("is there");
    let Op::Assign(_, Expr::Binary(_, _, product, _)) = &sum.edges[2].op else {
        panic!("{:?}", sum.edges[2])
    };
    let Expr::Binary(_, data, element, site) = &**product else { panic!("{product:?}") };
    assert_eq!(*site, Site(3));
    let (Expr::Load(data), Expr::Load(element)) = (&**data, &**element) else { panic!("{data:?}") };
    assert_eq!((data.ty, data.size, data.scalar), (Type::int(), 4, Some(Scalar::Int(IntType::INT))));
    assert_eq!(
        data.path,
        [Step::Field { record: Name::new("struct list"), name: Name::new("data"), offset: 0 }]
    );
    assert!(matches!(element.path[..], [Step::Index { stride: 4, length: Some(10), .. }]));
}

#[test]
fn a_mistake_is_told_with_its_place() {
    let bare = Surroundings::bare(DataModel::Lp64);
    let error = |text: &str| parse_function(text, bare).expect_err("is wrong").to_string();
    let with = |line: &str| {
        error(&format!("fn f: void() {{\n  variable x: int\n  locations 2 entry l0 exit l1\n  {line}\n}}"))
    };
    assert_eq!(with("l0 -> l1: %x := %y"), "line 4, column 19: no local is called `y`");
    assert_eq!(with("l0 -> l1: %x = 1"), "line 4, column 16: expected `:=`, found `=`");
    assert_eq!(with("l0 -> l1: %x := g"), "line 4, column 19: the type must be said: `{int}`");
    assert_eq!(with("l0 -> l1: §"), "line 4, column 13: unexpected character '§'");
}

#[test]
fn long_depends_on_the_model() {
    let text = "fn f: void(long) {\n  parameter x: long\n  locations 1 entry l0 exit l0\n}\n";
    for (model, bytes) in [(DataModel::Lp64, 8), (DataModel::Ilp32, 4)] {
        let surroundings =
            Surroundings { data_model: model, records: &Records::new(), globals: &BTreeMap::new() };
        let function = parse_function(text, surroundings).expect("reads");
        assert_eq!(function.locals[0].size, bytes);
        assert_eq!(print_function(&function, surroundings), text);
    }
}
