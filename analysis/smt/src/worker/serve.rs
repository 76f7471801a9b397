//! The worker's side: does what it is told, in a session of this process.

use std::io::{Read, Write};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, mpsc};
use std::time::Duration;

use parking_lot::Mutex;
use rustc_hash::FxHashMap;

use super::bytes::{Input, Output};
use super::frame;
use super::message::{Order, PROTOCOL, Reply};
use super::terms::{Known, Sent};
use crate::solver::{Outcome, Reason, Solver};
use crate::z3::{Interrupter, Local, LocalSolver, Settings};

/// What the program around a worker takes care of.
#[derive(Clone, Copy, Debug)]
pub struct Care {
    /// Whether the process has grown so much that a new one shall take its place. Asked after each session.
    pub is_worn: fn() -> bool,
    /// Whether the limit of memory is reached. Asked all the time.
    pub is_full: fn() -> bool,
    /// Ends the process at once: whoever asked is gone. Runs on another thread, while Z3 may be working.
    pub end: fn(),
}

/// Between two looks at the memory: while there is a question, and while there is none.
const LOOK: Duration = Duration::from_millis(50);
const LOOK_IDLE: Duration = Duration::from_millis(400);

/// Sessions after which a worker ends: terms are never freed.
const SESSIONS: u32 = 500;

/// Answers on `output` what is asked on `input`, until the input ends or the worker is worn.
///
/// # Errors
/// If a message makes no sense, or the answer cannot be written.
pub fn serve(
    input: impl Read + Send + 'static,
    output: impl Write + Send + 'static,
    care: Care,
) -> std::io::Result<()> {
    let (messages, inbox) = mpsc::channel();
    // Z3 does not look at the pipe while it works. So another thread does, and ends the process with whoever asked.
    let listen = move || {
        let mut input = std::io::BufReader::new(input);
        while let Ok(message) = frame::read(&mut input) {
            if messages.send(message).is_err() {
                return;
            }
        }
        (care.end)();
    };
    std::thread::Builder::new().name("listener".into()).spawn(listen)?;
    let output = Arc::new(Mutex::new(output));
    let is_busy = Arc::new(AtomicBool::new(false));
    watch_memory(output.clone(), is_busy.clone(), care)?;
    let mut desk = Desk::default();
    for message in inbox {
        is_busy.store(true, Ordering::SeqCst);
        let reply = desk.work(&message);
        let mut output = output.lock();
        is_busy.store(false, Ordering::SeqCst);
        match reply {
            Some(Some(reply)) => frame::write(&mut *output, &reply)?,
            Some(None) => {}
            None => return Err(std::io::Error::other("a message that makes no sense")),
        }
        if desk.is_closed && (desk.sessions >= SESSIONS || (care.is_worn)()) {
            return Ok(());
        }
    }
    Ok(())
}

/// Looks at the memory while there is a question: if the limit is reached, the answer is that, and the process ends.
fn watch_memory(
    output: Arc<Mutex<impl Write + Send + 'static>>,
    is_busy: Arc<AtomicBool>,
    care: Care,
) -> std::io::Result<()> {
    let look = move || loop {
        std::thread::sleep(if is_busy.load(Ordering::SeqCst) { LOOK } else { LOOK_IDLE });
        if is_busy.load(Ordering::SeqCst) && (care.is_full)() {
            let mut output = output.lock();
            // The answer may have come meanwhile.
            if is_busy.load(Ordering::SeqCst) {
                let mut out = Output::default();
                Reply::OutOfMemory.write(&mut out, &mut Sent::default());
                let _ = frame::write(&mut *output, &out.0);
                (care.end)();
            }
        }
    };
    std::thread::Builder::new().name("memory".into()).spawn(look)?;
    Ok(())
}

/// What a session has on the table.
#[derive(Default)]
struct Desk {
    solvers: FxHashMap<u64, LocalSolver>,
    session: Option<Local>,
    known: Known,
    sent: Sent,
    sessions: u32,
    is_closed: bool,
}

impl Desk {
    /// Carries out a message. What is to be answered, if anything; `None` if it makes no sense.
    fn work(&mut self, message: &[u8]) -> Option<Option<Vec<u8>>> {
        let mut input = Input(message);
        let mut answer = None;
        while !input.is_empty() {
            let order = Order::read(&mut input, &mut self.known)?;
            let reply = catch_unwind(AssertUnwindSafe(|| self.obey(order)));
            let reply = reply.unwrap_or_else(|panic| Some(Some(Reply::Panicked(panic_text(&*panic)))));
            if let Some(reply) = reply?.map(of_memory) {
                let mut out = Output::default();
                reply.write(&mut out, &mut self.sent);
                answer = Some(out.0);
            }
        }
        Some(answer)
    }

    fn obey(&mut self, order: Order<'_>) -> Option<Option<Reply>> {
        match order {
            Order::Close => {
                self.clear();
                self.is_closed = true;
            }
            Order::Open(settings) => return self.open(settings).map(Some),
            Order::Solver { id, general } => {
                let session = self.session.as_ref()?;
                let solver = if general { session.one_shot_solver() } else { session.solver() };
                self.solvers.insert(id, solver);
            }
            Order::Drop(id) => drop(self.solvers.remove(&id)),
            Order::Push(id) => self.solvers.get_mut(&id)?.push(),
            Order::Pop(id) => self.solvers.get_mut(&id)?.pop(),
            Order::Assert(id, term) => self.solvers.get_mut(&id)?.assert(term),
            Order::Name(id, term) => drop(self.solvers.get_mut(&id)?.name(term)),
            Order::Limits(id, limits) => self.solvers.get_mut(&id)?.set_limits(limits),
            Order::Check(id, assumptions) => {
                let solver = self.solvers.get_mut(&id)?;
                let outcome = solver.check_assuming(&assumptions);
                let core = if outcome == Outcome::Unsat { solver.core() } else { Vec::new() };
                return Some(Some(Reply::Checked(outcome, core)));
            }
            Order::Values(id, terms) => {
                return Some(Some(Reply::Values(self.solvers.get_mut(&id)?.values(&terms))));
            }
            Order::Project(id, formula, gone) => {
                return Some(Some(Reply::Projected(self.solvers.get_mut(&id)?.project(formula, &gone))));
            }
            Order::Spacer(query) => return Some(Some(Reply::Spacer(query.answer(self.session.as_ref()?)))),
        }
        Some(None)
    }

    fn open(&mut self, settings: Settings) -> Option<Reply> {
        self.clear();
        self.sessions += 1;
        self.is_closed = false;
        self.session = Some(Local::new(Interrupter::new(), settings).ok()?);
        Some(Reply::Ready(PROTOCOL))
    }

    fn clear(&mut self) {
        self.solvers.clear();
        self.session = None;
        (self.known, self.sent) = (Known::default(), Sent::default());
    }
}

/// Whatever ran out of memory: the session ends.
fn of_memory(reply: Reply) -> Reply {
    match reply {
        Reply::Checked(Outcome::Unknown(Reason::Memory), _)
        | Reply::Projected(Err(Reason::Memory))
        | Reply::Spacer(Err(Reason::Memory)) => Reply::OutOfMemory,
        reply => reply,
    }
}

fn panic_text(panic: &(dyn std::any::Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
    text.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_default()
}
