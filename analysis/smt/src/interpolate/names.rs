//! Strategies and methods by the names that configurations, ALGORITHMS §8.2 and the literature use, such as `tree-binary`.

/// Text for an enum without fields: `Display` writes the name that its `Serialize` gives a variant, `FromStr` reads it.
macro_rules! names_as_serialised {
    ($name:ident) => {
        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                serde::Serialize::serialize(self, f)
            }
        }

        impl std::str::FromStr for $name {
            type Err = serde::de::value::Error;

            /// # Errors
            /// If no variant has this name; the message lists those there are.
            fn from_str(name: &str) -> Result<$name, serde::de::value::Error> {
                serde::Deserialize::deserialize(serde::de::IntoDeserializer::into_deserializer(name))
            }
        }
    };
}
pub(super) use names_as_serialised;
