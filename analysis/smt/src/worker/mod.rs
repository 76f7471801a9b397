//! Z3 in processes of their own. Z3 can crash (its Horn engine does, on programs of three lines), run out of memory, or not hear that it
//! shall stop; a worker takes nothing with it when it dies, and is killed to stop it.
//!
//! A *worker* is the program that [`Launch`] names; it calls [`serve`] and answers on its standard input and output. A *session* leases a
//! worker from the pool when it asks its first question, and gives it back when it ends. What is sent are terms, each node once per
//! session (`terms`), and orders (`message`): a solver's scopes and assertions are buffered until a question needs its answer, so a
//! question costs one message there and one back.
//!
//! A session can tell everything again: its solvers keep what was asserted. So when a worker dies, the question is asked again in a new
//! one: first as it was (somebody else may have killed the worker), then with other settings of the search; then it is
//! [`Reason::Stopped`](crate::Reason::Stopped), for this question alone. An answer that cannot be read is a death, too.
//!
//! A worker that has reached its limit of memory says so before it ends; if a second one does, too, that is [`Reason::Memory`](crate::Reason::Memory).
//!
//! A model belongs to one worker. If it dies when values of its model were read already, the others have no value.

mod bytes;
mod frame;
pub(crate) mod incident;
mod message;
mod operators;
mod pool;
mod portable;
mod process;
mod remote;
mod serve;
mod session;
mod terms;

pub use incident::take_incident;
pub use pool::{dismiss, employ, retire};
pub use portable::{terms_from_bytes, terms_to_bytes};
pub use process::Launch;
pub use serve::{Care, serve};

pub(crate) use pool::pool;
pub(crate) use process::Leash;
pub(crate) use remote::RemoteSolver;
pub(crate) use session::Session;
