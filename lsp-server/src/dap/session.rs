//! The requests of a debug session, each to what it asks of the replay.

use std::{
    collections::{BTreeMap, BTreeSet},
    io::Write,
    path::PathBuf,
};

use anyhow::Result;
use dapts::{
    Breakpoint, Capabilities, ContinueResponse, EvaluateArguments, EvaluateResponse, ExceptionBreakMode,
    ExceptionDetails, ExceptionInfoResponse, IRequest, InitializeRequestArguments, OutputEvent,
    OutputEventCategory, Request, Scope, ScopePresentationHint, ScopesArguments, ScopesResponse,
    SetBreakpointsArguments, SetBreakpointsResponse, SetFunctionBreakpointsResponse, Source, StackFrame,
    StackTraceArguments, StackTraceResponse, StoppedEvent, StoppedEventReason, TerminatedEvent, Thread,
    ThreadsResponse, Variable, VariablesArguments, VariablesResponse, event, request,
};
use proofline_ide::Step;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::{
    evaluate::evaluate,
    launch::{Launch, launch},
    protocol::Output,
    replay::{Arrival, Frame, Moment, Replay, Variables},
};

/// The one thread.
const THREAD: u64 = 1;
/// Kinds of scopes in a variables reference: frame number times this plus the kind.
const KINDS: u32 = 4;
const LOCALS: u32 = 1;
const GLOBALS: u32 = 2;
const INPUTS: u32 = 3;

/// A debug session.
pub(super) struct Session<W> {
    output: Output<W>,
    replay: Option<Replay>,
    /// Lines from 0.
    breakpoints: BTreeMap<PathBuf, BTreeSet<u32>>,
    stops_on_entry: bool,
    /// The client counts lines and columns from 0 or 1.
    first_line: u32,
    first_column: u32,
}

impl<W: Write> Session<W> {
    pub(super) fn new(output: Output<W>) -> Session<W> {
        Session {
            output,
            replay: None,
            breakpoints: BTreeMap::new(),
            stops_on_entry: true,
            first_line: 1,
            first_column: 1,
        }
    }

    /// Handles a request. `false`: the session is over.
    pub(super) fn handle(&mut self, request: &Request) -> Result<bool> {
        match request.command.as_str() {
            "initialize" => {
                let answer = arguments(request).map(|arguments| self.initialize(&arguments));
                self.output.answer(request, answer)?;
            }
            "launch" | "attach" => self.launch(request)?,
            "configurationDone" => {
                self.output.answer(request, Ok(()))?;
                self.begin()?;
            }
            "restart" => {
                self.output.answer(request, Ok(()))?;
                if let Some(replay) = &mut self.replay {
                    replay.restart();
                }
                self.begin()?;
            }
            "disconnect" => {
                self.output.answer(request, Ok(()))?;
                return Ok(false);
            }
            "terminate" => {
                self.output.answer(request, Ok(()))?;
                self.terminated()?;
            }
            "continue" | "reverseContinue" | "next" | "stepIn" | "stepOut" | "stepBack" => {
                self.movement(request)?;
            }
            _ => {
                let answer = self.question(request);
                self.output.answer(request, answer)?;
            }
        }
        Ok(true)
    }

    fn initialize(&mut self, arguments: &InitializeRequestArguments) -> Capabilities {
        self.first_line = u32::from(arguments.lines_start_at1.unwrap_or(true));
        self.first_column = u32::from(arguments.columns_start_at1.unwrap_or(true));
        capabilities()
    }

    fn launch(&mut self, request: &Request) -> Result<()> {
        let output = &mut self.output;
        let mut say = |text: &str| {
            // If the client has gone, the next answer says so.
            let _ = output.event::<event::Output>(console(format!("{text}\n")));
        };
        let replay = arguments(request).and_then(|arguments: Launch| {
            self.stops_on_entry = arguments.stop_on_entry.unwrap_or(true);
            launch(&arguments, &mut say)
        });
        match replay {
            Ok(replay) => {
                let text = replay.finding.text();
                self.replay = Some(replay);
                self.output.answer(request, Ok(()))?;
                self.output.event::<event::Output>(console(text))?;
                self.output.event::<event::Initialized>(None)
            }
            Err(text) => {
                self.output.answer::<()>(request, Err(text))?;
                self.terminated()
            }
        }
    }

    fn terminated(&mut self) -> Result<()> {
        self.output.event::<event::Terminated>(TerminatedEvent::default())
    }

    /// The first stop.
    fn begin(&mut self) -> Result<()> {
        if self.replay.is_none() {
            return Ok(());
        }
        if self.stops_on_entry {
            return self.stopped(Arrival::Entry);
        }
        self.go("continue")
    }

    fn movement(&mut self, request: &Request) -> Result<()> {
        if self.replay.is_none() {
            return self.output.answer::<()>(request, Err(NOTHING.to_owned()));
        }
        self.output.answer(request, Ok(ContinueResponse { all_threads_continued: Some(true) }))?;
        self.go(&request.command)
    }

    fn go(&mut self, command: &str) -> Result<()> {
        let breakpoints = &self.breakpoints;
        let is_breakpoint = |step: &Step| {
            step.place.as_ref().is_some_and(|place| {
                breakpoints.get(&*place.path).is_some_and(|lines| lines.contains(&place.range.start.line))
            })
        };
        let Some(replay) = &mut self.replay else { return Ok(()) };
        let arrival = match command {
            "continue" => replay.proceed(is_breakpoint),
            "reverseContinue" => replay.reverse(is_breakpoint),
            "next" => replay.next(),
            "stepIn" => replay.step_in(),
            "stepOut" => replay.step_out(),
            _ => replay.step_back(),
        };
        self.stopped(arrival)
    }

    fn stopped(&mut self, arrival: Arrival) -> Result<()> {
        let Some(replay) = &self.replay else { return Ok(()) };
        let text = replay.step().map(|step| step.text.clone()).unwrap_or_default();
        let title = replay.finding.title.clone();
        let (reason, description) = match arrival {
            Arrival::End => return self.terminated(),
            Arrival::Step => (StoppedEventReason::Step, text),
            Arrival::Breakpoint => (StoppedEventReason::Breakpoint, text),
            Arrival::Entry => (StoppedEventReason::Entry, text),
            Arrival::Failure => (StoppedEventReason::Exception, title),
        };
        self.output.event::<event::Stopped>(StoppedEvent {
            reason,
            description: Some(description.clone()),
            text: Some(description),
            thread_id: Some(THREAD),
            all_threads_stopped: Some(true),
            ..StoppedEvent::default()
        })
    }

    /// The body of the answer to a request that moves nothing.
    fn question(&mut self, request: &Request) -> Result<Value, String> {
        match request.command.as_str() {
            request::SetBreakpoints::COMMAND => {
                body::<request::SetBreakpoints>(self.set_breakpoints(arguments(request)?))
            }
            // None is ever verified: the path stops at its failure in any case.
            request::SetExceptionBreakpoints::COMMAND | request::SetFunctionBreakpoints::COMMAND => {
                body::<request::SetFunctionBreakpoints>(SetFunctionBreakpointsResponse {
                    breakpoints: Vec::new(),
                })
            }
            request::Threads::COMMAND => {
                let thread = Thread { id: THREAD, name: "counterexample".to_owned() };
                body::<request::Threads>(ThreadsResponse { threads: vec![thread] })
            }
            request::Pause::COMMAND => Ok(Value::Null),
            request::StackTrace::COMMAND => body::<request::StackTrace>(self.stack(&arguments(request)?)?),
            request::Scopes::COMMAND => body::<request::Scopes>(scopes(&arguments(request)?)?),
            request::Variables::COMMAND => body::<request::Variables>(self.variables(&arguments(request)?)?),
            request::Evaluate::COMMAND => body::<request::Evaluate>(self.evaluate(&arguments(request)?)?),
            request::ExceptionInfo::COMMAND => body::<request::ExceptionInfo>(self.exception()?),
            command => {
                Err(format!("`{command}` is not supported: a recorded path is replayed, nothing is executed"))
            }
        }
    }

    fn exception(&self) -> Result<ExceptionInfoResponse, String> {
        let finding = &self.replay.as_ref().ok_or(NOTHING)?.finding;
        let details = ExceptionDetails {
            message: Some(finding.help.to_string()),
            evaluate_name: None,
            full_type_name: None,
            inner_exception: None,
            stack_trace: None,
            type_name: None,
        };
        Ok(ExceptionInfoResponse {
            exception_id: finding.check.to_string(),
            description: Some(finding.message()),
            break_mode: ExceptionBreakMode::Always,
            details: Some(details),
        })
    }

    fn set_breakpoints(&mut self, arguments: SetBreakpointsArguments) -> SetBreakpointsResponse {
        let path = arguments.source.path.map(PathBuf::from).unwrap_or_default();
        let path = std::path::absolute(&path).unwrap_or(path);
        let wanted = arguments.breakpoints.into_iter().flatten();
        let lines: Vec<u32> =
            wanted.map(|breakpoint| breakpoint.line.saturating_sub(self.first_line)).collect();
        let on_path = self.replay.as_ref().map(|replay| replay.lines(&path)).unwrap_or_default();
        let breakpoints = lines
            .iter()
            .map(|line| {
                let verified = on_path.contains(line);
                let message = (!verified).then(|| "the path does not come here".to_owned());
                Breakpoint { verified, line: Some(line + self.first_line), message, ..Breakpoint::default() }
            })
            .collect();
        self.breakpoints.insert(path, lines.into_iter().collect());
        SetBreakpointsResponse { breakpoints }
    }

    fn moment(&self) -> Result<Moment, String> {
        Ok(self.replay.as_ref().ok_or(NOTHING)?.moment())
    }

    fn stack(&self, arguments: &StackTraceArguments) -> Result<StackTraceResponse, String> {
        let moment = self.moment()?;
        let total = moment.frames.len();
        let levels = match arguments.levels.unwrap_or(0) as usize {
            0 => total,
            levels => levels,
        };
        let stack_frames = moment
            .frames
            .iter()
            .enumerate()
            .rev()
            .skip(arguments.start_frame.unwrap_or(0) as usize)
            .take(levels)
            .map(|(at, frame)| self.frame(at, frame))
            .collect();
        Ok(StackTraceResponse { stack_frames, total_frames: Some(total as u64) })
    }

    fn frame(&self, at: usize, frame: &Frame) -> StackFrame {
        let mut out = StackFrame {
            id: at as u64 + 1,
            name: frame.function.clone(),
            line: 0,
            column: 0,
            end_line: None,
            end_column: None,
            source: None,
            can_restart: None,
            instruction_pointer_reference: None,
            module_id: None,
            presentation_hint: None,
        };
        if let Some(place) = &frame.place {
            let name = place.path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            let path = place.path.to_string_lossy().into_owned();
            out.source = Some(Source { name: Some(name), path: Some(path), ..Source::default() });
            out.line = place.range.start.line + self.first_line;
            out.column = place.range.start.column + self.first_column;
            out.end_line = Some(place.range.end.line + self.first_line);
            out.end_column = Some(place.range.end.column + self.first_column);
        }
        out
    }

    fn variables(&self, arguments: &VariablesArguments) -> Result<VariablesResponse, String> {
        let moment = self.moment()?;
        let (frame, kind) = (arguments.variables_reference / KINDS, arguments.variables_reference % KINDS);
        let of_frame = || frame.checked_sub(1).and_then(|at| moment.frames.get(at as usize));
        let nothing = Variables::new();
        let variables = match kind {
            LOCALS => of_frame().map_or(&nothing, |frame| &frame.locals),
            GLOBALS => &moment.globals,
            _ => &moment.inputs,
        };
        Ok(VariablesResponse {
            variables: variables.iter().map(|(name, value)| variable(name, value)).collect(),
        })
    }

    fn evaluate(&self, arguments: &EvaluateArguments) -> Result<EvaluateResponse, String> {
        let moment = self.moment()?;
        let frame = match arguments.frame_id {
            Some(id) => id.checked_sub(1).and_then(|at| moment.frames.get(at as usize)),
            None => moment.frames.last(),
        };
        let value = |name: &str| {
            let find = |variables: &Variables| {
                variables.iter().rev().find(|(known, _)| known == name).map(|(_, value)| value.clone())
            };
            frame
                .and_then(|frame| find(&frame.locals))
                .or_else(|| find(&moment.globals))
                .or_else(|| find(&moment.inputs))
        };
        let result = evaluate(&arguments.expression, &value)?;
        Ok(EvaluateResponse { result, ..EvaluateResponse::default() })
    }
}

/// Why most requests fail before a launch.
const NOTHING: &str = "nothing is being replayed";

/// The arguments of a request; the error is for people.
fn arguments<A: DeserializeOwned>(request: &Request) -> Result<A, String> {
    A::deserialize(&request.arguments).map_err(|error| format!("`{}`: {error}", request.command))
}

/// The body of the answer to a request of a kind.
fn body<R: IRequest>(response: R::Response) -> Result<Value, String> {
    serde_json::to_value(response).map_err(|error| error.to_string())
}

fn console(output: String) -> OutputEvent {
    OutputEvent { category: Some(OutputEventCategory::Console), output, ..OutputEvent::default() }
}

fn scopes(arguments: &ScopesArguments) -> Result<ScopesResponse, String> {
    let frame = u32::try_from(arguments.frame_id).ok().and_then(|frame| frame.checked_mul(KINDS));
    let frame = frame.ok_or("there is no such frame")?;
    let scope = |name: &str, kind: u32, presentation_hint: Option<ScopePresentationHint>| Scope {
        name: name.to_owned(),
        variables_reference: frame + kind,
        expensive: false,
        presentation_hint,
        column: None,
        end_column: None,
        end_line: None,
        indexed_variables: None,
        line: None,
        named_variables: None,
        source: None,
    };
    let scopes = vec![
        scope("Locals", LOCALS, Some(ScopePresentationHint::Locals)),
        scope("Globals", GLOBALS, None),
        scope("Inputs", INPUTS, None),
    ];
    Ok(ScopesResponse { scopes })
}

fn variable(name: &str, value: &str) -> Variable {
    Variable {
        name: name.to_owned(),
        value: value.to_owned(),
        evaluate_name: Some(name.to_owned()),
        variables_reference: 0,
        declaration_location_reference: None,
        indexed_variables: None,
        memory_reference: None,
        named_variables: None,
        presentation_hint: None,
        ty: None,
        value_location_reference: None,
    }
}

fn capabilities() -> Capabilities {
    Capabilities {
        supports_configuration_done_request: Some(true),
        supports_step_back: Some(true),
        supports_restart_request: Some(true),
        supports_evaluate_for_hovers: Some(true),
        supports_exception_info_request: Some(true),
        supports_terminate_request: Some(true),
        supports_delayed_stack_trace_loading: Some(true),
        ..Capabilities::default()
    }
}
