//! Positions in arenas as types of their own. Must not know any arena.

/// Declares types that are positions in an arena: `index! { /// A location. pub Loc "l", }` makes `Loc(3)`, shown as `l3`.
#[macro_export]
macro_rules! index {
    ($($(#[$doc:meta])* $vis:vis $name:ident $short:literal),* $(,)?) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default, serde::Serialize, serde::Deserialize)]
        $vis struct $name($vis u32);
        impl $name {
            /// Position in its arena.
            $vis fn index(self) -> usize { self.0 as usize }
        }
        impl std::fmt::Debug for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result { write!(f, concat!($short, "{}"), self.0) }
        }
        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result { write!(f, concat!($short, "{}"), self.0) }
        }
    )*};
}
