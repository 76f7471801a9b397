//! The macros that write views. No grammar in here.

/// Defines newtypes over nodes of one kind each, with accessors for their fields.
macro_rules! views {
    ($($(#[$doc:meta])* $name:ident = $kind:literal { $($(#[$field_doc:meta])* $field:ident: $grammar:literal),* $(,)? })*) => {$(
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub struct $name<'t>(tree_sitter::Node<'t>);

        impl<'t> crate::ast::View<'t> for $name<'t> {
            const KINDS: &'static [&'static str] = &[$kind];

            fn of(node: tree_sitter::Node<'t>) -> Option<Self> {
                (node.kind() == $kind).then_some(Self(node))
            }

            fn node(self) -> tree_sitter::Node<'t> {
                self.0
            }
        }

        impl<'t> $name<'t> {
            $($(#[$field_doc])*
            #[must_use]
            pub fn $field(self) -> Option<tree_sitter::Node<'t>> {
                self.0.child_by_field_name($grammar)
            })*
        }
    )*};
}

/// Defines an enum over views, so that a `match` names every kind.
macro_rules! one_of {
    ($(#[$doc:meta])* $name:ident { $($variant:ident),* $(,)? }) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub enum $name<'t> {
            $(#[doc = concat!("See [`", stringify!($variant), "`](struct@", stringify!($variant), ").")]
            $variant($variant<'t>),)*
        }

        impl<'t> crate::ast::View<'t> for $name<'t> {
            const KINDS: &'static [&'static str] = {
                const PARTS: &[&[&str]] = &[$(<$variant<'static> as crate::ast::View<'static>>::KINDS),*];
                const ALL: [&str; PARTS.len()] = crate::ast::views::first_of_each(PARTS);
                &ALL
            };

            fn of(node: tree_sitter::Node<'t>) -> Option<Self> {
                $(if let Some(view) = $variant::of(node) {
                    return Some(Self::$variant(view));
                })*
                None
            }

            fn node(self) -> tree_sitter::Node<'t> {
                match self {
                    $(Self::$variant(view) => view.node(),)*
                }
            }
        }
    };
}

/// The one kind of each view.
pub(super) const fn first_of_each<const N: usize>(parts: &[&[&'static str]]) -> [&'static str; N] {
    let mut all = [""; N];
    let mut at = 0;
    while at < N {
        all[at] = parts[at][0];
        at += 1;
    }
    all
}
