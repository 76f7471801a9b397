//! Views of declarations, types and declarators.

use tree_sitter::Node;

use super::View;
use super::expressions::{FieldIdentifier, Identifier};

views! {
    /// A function with its body. Old-style parameter declarations are children of their own.
    FunctionDefinition = "function_definition" {
        /// A [`TypeSpecifier`].
        specifier: "type",
        /// A [`Declarator`].
        declarator: "declarator",
        /// The body.
        body: "body",
    }
    /// `T a, *b = 1;`.
    Declaration = "declaration" {
        /// A [`TypeSpecifier`].
        specifier: "type",
    }
    /// `typedef T a, *b;`.
    TypeDefinition = "type_definition" {
        /// A [`TypeSpecifier`].
        specifier: "type",
    }
    /// A declarator with its initialiser.
    InitDeclarator = "init_declarator" {
        /// A [`Declarator`].
        declarator: "declarator",
        /// An expression or an initialiser list.
        value: "value",
    }
    /// A type name, as in a cast.
    TypeDescriptor = "type_descriptor" {
        /// A [`TypeSpecifier`].
        specifier: "type",
        /// An [`AbstractDeclarator`].
        declarator: "declarator",
    }
    /// `static`, `extern`, `register`, `inline`, `__thread`, `auto`.
    StorageClass = "storage_class_specifier" {}
    /// `const`, `volatile`, `restrict`, `_Atomic`, `_Nonnull`, or [`Alignas`] as its child.
    TypeQualifier = "type_qualifier" {}
    /// `_Alignas(…)`.
    Alignas = "alignas_qualifier" {}
    /// `int`, `char`, `void`, `bool`, `float`, `double`; and names such as `size_t`, which are typedef
    /// names like any other.
    PrimitiveType = "primitive_type" {}
    /// `unsigned`, `long int`, `short`, ….
    SizedType = "sized_type_specifier" {
        /// The word that is no `signed`, `unsigned`, `short` or `long`.
        base: "type",
    }
    /// A typedef name or a built-in type.
    TypeIdentifier = "type_identifier" {}
    /// `typeof`, see [`crate::marks`].
    TypeofSpecifier = "macro_type_specifier" {
        /// One of the marks.
        name: "name",
        /// A [`TypeDescriptor`].
        operand: "type",
    }
    /// `struct s { … }`.
    StructSpecifier = "struct_specifier" {
        /// The tag.
        name: "name",
        /// The [`FieldDeclarationList`].
        body: "body",
    }
    /// `union u { … }`.
    UnionSpecifier = "union_specifier" {
        /// The tag.
        name: "name",
        /// The [`FieldDeclarationList`].
        body: "body",
    }
    /// `enum e { … }`.
    EnumSpecifier = "enum_specifier" {
        /// The tag.
        name: "name",
        /// The [`EnumeratorList`].
        body: "body",
    }
    /// The members in their braces.
    FieldDeclarationList = "field_declaration_list" {}
    /// `T a, *b, c : 3;`; a [`BitfieldClause`] follows its declarator.
    FieldDeclaration = "field_declaration" {
        /// A [`TypeSpecifier`].
        specifier: "type",
    }
    /// `: width`.
    BitfieldClause = "bitfield_clause" {}
    /// The enumerators in their braces.
    EnumeratorList = "enumerator_list" {}
    /// `A = 1`.
    Enumerator = "enumerator" {
        /// The name.
        name: "name",
        /// The value.
        value: "value",
    }
    /// `(…)` of a function declarator: parameters, or the names of an old-style definition.
    ParameterList = "parameter_list" {}
    /// A parameter.
    ParameterDeclaration = "parameter_declaration" {
        /// A [`TypeSpecifier`].
        specifier: "type",
        /// A [`Declarator`] or [`AbstractDeclarator`].
        declarator: "declarator",
    }
    /// `...`.
    VariadicParameter = "variadic_parameter" {}
    /// `*d`.
    PointerDeclarator = "pointer_declarator" {
        /// What the star is before.
        declarator: "declarator",
    }
    /// `d(…)`.
    FunctionDeclarator = "function_declarator" {
        /// What is before the parentheses.
        declarator: "declarator",
        /// The [`ParameterList`].
        parameters: "parameters",
    }
    /// `d[…]`.
    ArrayDeclarator = "array_declarator" {
        /// What is before the bracket.
        declarator: "declarator",
        /// An expression, or the token `*`.
        size: "size",
    }
    /// `(d)`.
    ParenthesizedDeclarator = "parenthesized_declarator" {}
    /// `*`.
    AbstractPointer = "abstract_pointer_declarator" {
        /// What the star is before.
        declarator: "declarator",
    }
    /// `(…)` as a type.
    AbstractFunction = "abstract_function_declarator" {
        /// What is before the parentheses.
        declarator: "declarator",
        /// The [`ParameterList`].
        parameters: "parameters",
    }
    /// `[…]` as a type.
    AbstractArray = "abstract_array_declarator" {
        /// What is before the bracket.
        declarator: "declarator",
        /// An expression, or the token `*`.
        size: "size",
    }
    /// `(…)` around an abstract declarator.
    AbstractParenthesized = "abstract_parenthesized_declarator" {}
}

one_of! {
    /// The type in the specifiers of a declaration.
    TypeSpecifier {
        PrimitiveType, SizedType, TypeIdentifier, TypeofSpecifier, StructSpecifier, UnionSpecifier, EnumSpecifier,
    }
}

one_of! {
    /// What stands among the specifiers beside the type.
    Specifier { StorageClass, TypeQualifier, Alignas }
}

one_of! {
    /// What a declaration names, with the shape of its type around the name. The name is an
    /// `identifier`, in a struct a `field_identifier`, in a typedef a `type_identifier` or, for names such
    /// as `size_t`, a `primitive_type`.
    Declarator {
        Identifier, FieldIdentifier, TypeIdentifier, PrimitiveType, PointerDeclarator, FunctionDeclarator,
        ArrayDeclarator, ParenthesizedDeclarator,
    }
}

one_of! {
    /// A declarator without a name.
    AbstractDeclarator { AbstractPointer, AbstractFunction, AbstractArray, AbstractParenthesized }
}

/// A declaration's declarators as nodes: [`InitDeclarator`]s and [`Declarator`]s.
pub fn declarators(declaration: Node<'_>) -> impl Iterator<Item = Node<'_>> {
    let mut cursor = declaration.walk();
    declaration.children_by_field_name("declarator", &mut cursor).collect::<Vec<_>>().into_iter()
}

/// The specifiers of a declaration, parameter, member or type name beside its type, in order.
pub fn specifiers(declaration: Node<'_>) -> impl Iterator<Item = Specifier<'_>> {
    super::children_of(declaration)
}

impl<'t> Declarator<'t> {
    /// The declarator one step nearer to the name; `None` for the name itself.
    #[must_use]
    pub fn inner(self) -> Option<Declarator<'t>> {
        match self {
            Self::Identifier(_)
            | Self::FieldIdentifier(_)
            | Self::TypeIdentifier(_)
            | Self::PrimitiveType(_) => None,
            Self::PointerDeclarator(pointer) => pointer.declarator().and_then(Self::of),
            Self::FunctionDeclarator(function) => function.declarator().and_then(Self::of),
            Self::ArrayDeclarator(array) => array.declarator().and_then(Self::of),
            Self::ParenthesizedDeclarator(group) => super::children_of(group.node()).next(),
        }
    }

    /// The node of the name that is declared.
    #[must_use]
    pub fn name(self) -> Node<'t> {
        let mut at = self;
        while let Some(inner) = at.inner() {
            at = inner;
        }
        at.node()
    }
}
