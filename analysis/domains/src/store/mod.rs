//! Memory for value domains: frames, objects, cells; reads and writes at places known exactly or not; calls and blocks. Generic
//! in the values ([`Arithmetic`]); knows no particular domain and no driver.

mod accessible;
pub mod arithmetic;
pub mod assume;
pub mod block;
pub mod calls;
mod exact_join;
pub mod filled;
pub mod guarded;
pub mod heap;
mod left;
pub mod mentions;
pub mod model;
pub mod offsets;
mod order;
pub mod region;
mod region_order;
mod retain;
mod retire;
pub mod show;
pub mod state;
mod strings;
mod texts;
pub mod transfer;
pub mod update;
pub mod value;
pub mod view;
mod weak;

pub use arithmetic::{Addresses, Arithmetic, Eval, Impossible, Objects, Operands};
pub use model::Model;
pub use offsets::Offsets;
pub use state::State;
pub use value::{Abstract, AbstractValue};
