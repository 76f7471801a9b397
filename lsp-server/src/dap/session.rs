//! The requests of a debug session, each to what it asks of the replay.

use std::{
    collections::{BTreeMap, BTreeSet},
    io::Write,
    path::PathBuf,
};

use anyhow::Result;
use proofline_ide::Step;
use serde_json::{Value, json};

use super::{
    evaluate::evaluate,
    launch::launch,
    protocol::Output,
    replay::{Arrival, Moment, Replay, Variables},
};

/// The one thread.
const THREAD: u64 = 1;
/// Kinds of scopes in a variables reference: frame number times this plus the kind.
const KINDS: u64 = 4;
const LOCALS: u64 = 1;
const GLOBALS: u64 = 2;
const INPUTS: u64 = 3;

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

    /// Handles a message. `false`: the session is over.
    pub(super) fn handle(&mut self, request: &Value) -> Result<bool> {
        if request.get("type").and_then(Value::as_str) != Some("request") {
            return Ok(true);
        }
        let command = request.get("command").and_then(Value::as_str).unwrap_or_default();
        let nothing = Value::Null;
        let arguments = request.get("arguments").unwrap_or(&nothing);
        match command {
            "initialize" => {
                let flag = |name: &str| arguments.get(name).and_then(Value::as_bool).unwrap_or(true);
                self.first_line = u32::from(flag("linesStartAt1"));
                self.first_column = u32::from(flag("columnsStartAt1"));
                self.output.answer(request, Ok(capabilities()))?;
            }
            "launch" | "attach" => self.launch(request, arguments)?,
            "configurationDone" => {
                self.output.answer(request, Ok(json!({})))?;
                self.begin()?;
            }
            "restart" => {
                self.output.answer(request, Ok(json!({})))?;
                if let Some(replay) = &mut self.replay {
                    replay.restart();
                }
                self.begin()?;
            }
            "disconnect" | "terminate" => {
                self.output.answer(request, Ok(json!({})))?;
                if command == "terminate" {
                    self.output.event("terminated", json!({}))?;
                    return Ok(true);
                }
                return Ok(false);
            }
            "continue" | "reverseContinue" | "next" | "stepIn" | "stepOut" | "stepBack" => {
                self.movement(command, request)?;
            }
            _ => {
                let answer = self.question(command, arguments);
                self.output.answer(request, answer)?;
            }
        }
        Ok(true)
    }

    fn launch(&mut self, request: &Value, arguments: &Value) -> Result<()> {
        self.stops_on_entry = arguments.get("stopOnEntry").and_then(Value::as_bool).unwrap_or(true);
        let output = &mut self.output;
        let mut say = |text: &str| {
            let body = json!({ "category": "console", "output": format!("{text}\n") });
            // If nobody reads any more, the next answer says so.
            let _ = output.event("output", body);
        };
        match launch(arguments, &mut say) {
            Ok(replay) => {
                let text = replay.finding.text();
                self.replay = Some(replay);
                self.output.answer(request, Ok(json!({})))?;
                self.output.event("output", json!({ "category": "console", "output": text }))?;
                self.output.event("initialized", json!({}))
            }
            Err(text) => {
                self.output.answer(request, Err(text))?;
                self.output.event("terminated", json!({}))
            }
        }
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

    fn movement(&mut self, command: &str, request: &Value) -> Result<()> {
        if self.replay.is_none() {
            return self.output.answer(request, Err("nothing is being replayed".to_owned()));
        }
        self.output.answer(request, Ok(json!({ "allThreadsContinued": true })))?;
        self.go(command)
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
            Arrival::End => return self.output.event("terminated", json!({})),
            Arrival::Step => ("step", text),
            Arrival::Breakpoint => ("breakpoint", text),
            Arrival::Entry => ("entry", text),
            Arrival::Failure => ("exception", title),
        };
        let body = json!({
            "reason": reason, "description": description, "text": description, "threadId": THREAD,
            "allThreadsStopped": true,
        });
        self.output.event("stopped", body)
    }

    fn question(&mut self, command: &str, arguments: &Value) -> Result<Value, String> {
        match command {
            "setBreakpoints" => Ok(self.set_breakpoints(arguments)),
            "setExceptionBreakpoints" | "setFunctionBreakpoints" => Ok(json!({ "breakpoints": [] })),
            "threads" => Ok(json!({ "threads": [{ "id": THREAD, "name": "counterexample" }] })),
            "pause" => Ok(json!({})),
            "stackTrace" => self.stack(arguments),
            "scopes" => self.scopes(arguments),
            "variables" => self.variables(arguments),
            "evaluate" => self.evaluate(arguments),
            "exceptionInfo" => {
                let finding = &self.replay.as_ref().ok_or("nothing is being replayed")?.finding;
                Ok(json!({
                    "exceptionId": finding.check, "description": finding.message(), "breakMode": "always",
                    "details": { "message": finding.help },
                }))
            }
            _ => {
                Err(format!("`{command}` is not supported: a recorded path is replayed, nothing is executed"))
            }
        }
    }

    fn set_breakpoints(&mut self, arguments: &Value) -> Value {
        let path =
            arguments.pointer("/source/path").and_then(Value::as_str).map(PathBuf::from).unwrap_or_default();
        let path = std::path::absolute(&path).unwrap_or(path);
        let wanted = arguments.get("breakpoints").and_then(Value::as_array).into_iter().flatten();
        let lines: Vec<u32> = wanted
            .filter_map(|breakpoint| breakpoint.get("line").and_then(Value::as_u64))
            .map(|line| u32::try_from(line).unwrap_or(u32::MAX).saturating_sub(self.first_line))
            .collect();
        let on_path = self.replay.as_ref().map(|replay| replay.lines(&path)).unwrap_or_default();
        let answers: Vec<Value> = lines
            .iter()
            .map(|line| {
                let verified = on_path.contains(line);
                let message = (!verified).then_some("the path does not come here");
                json!({ "verified": verified, "line": line + self.first_line, "message": message })
            })
            .collect();
        self.breakpoints.insert(path, lines.into_iter().collect());
        json!({ "breakpoints": answers })
    }

    fn moment(&self) -> Result<Moment, String> {
        Ok(self.replay.as_ref().ok_or("nothing is being replayed")?.moment())
    }

    fn stack(&self, arguments: &Value) -> Result<Value, String> {
        let moment = self.moment()?;
        let total = moment.frames.len();
        let number = |name: &str| arguments.get(name).and_then(Value::as_u64).unwrap_or(0) as usize;
        let levels = match number("levels") {
            0 => total,
            levels => levels,
        };
        let frames: Vec<Value> = moment
            .frames
            .iter()
            .enumerate()
            .rev()
            .skip(number("startFrame"))
            .take(levels)
            .map(|(at, frame)| {
                let mut value = json!({ "id": at + 1, "name": frame.function, "line": 0, "column": 0 });
                if let Some(place) = &frame.place {
                    let name = place.path.file_name().unwrap_or_default().to_string_lossy();
                    value["source"] = json!({ "name": name, "path": place.path.to_string_lossy() });
                    value["line"] = json!(place.range.start.line + self.first_line);
                    value["column"] = json!(place.range.start.column + self.first_column);
                    value["endLine"] = json!(place.range.end.line + self.first_line);
                    value["endColumn"] = json!(place.range.end.column + self.first_column);
                }
                value
            })
            .collect();
        Ok(json!({ "stackFrames": frames, "totalFrames": total }))
    }

    fn scopes(&self, arguments: &Value) -> Result<Value, String> {
        let frame = arguments.get("frameId").and_then(Value::as_u64).ok_or("`frameId` is missing")?;
        let scope = |name: &str, kind: u64, hint: Option<&str>| {
            json!({
                "name": name, "variablesReference": frame * KINDS + kind, "expensive": false, "presentationHint": hint,
            })
        };
        let mut scopes = vec![
            scope("Locals", LOCALS, Some("locals")),
            scope("Globals", GLOBALS, None),
            scope("Inputs", INPUTS, None),
        ];
        for scope in &mut scopes {
            if scope["presentationHint"].is_null()
                && let Some(object) = scope.as_object_mut()
            {
                object.remove("presentationHint");
            }
        }
        Ok(json!({ "scopes": scopes }))
    }

    fn variables(&self, arguments: &Value) -> Result<Value, String> {
        let reference = arguments
            .get("variablesReference")
            .and_then(Value::as_u64)
            .ok_or("`variablesReference` is missing")?;
        let moment = self.moment()?;
        let (frame, kind) = (reference / KINDS, reference % KINDS);
        let of_frame = || frame.checked_sub(1).and_then(|at| moment.frames.get(at as usize));
        let nothing = Variables::new();
        let variables = match kind {
            LOCALS => of_frame().map_or(&nothing, |frame| &frame.locals),
            GLOBALS => &moment.globals,
            _ => &moment.inputs,
        };
        let list: Vec<Value> = variables
            .iter()
            .map(|(name, value)| {
                json!({ "name": name, "value": value, "variablesReference": 0, "evaluateName": name })
            })
            .collect();
        Ok(json!({ "variables": list }))
    }

    fn evaluate(&self, arguments: &Value) -> Result<Value, String> {
        let text = arguments.get("expression").and_then(Value::as_str).ok_or("`expression` is missing")?;
        let moment = self.moment()?;
        let frame = match arguments.get("frameId").and_then(Value::as_u64) {
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
        let result = evaluate(text, &value)?;
        Ok(json!({ "result": result, "variablesReference": 0 }))
    }
}

fn capabilities() -> Value {
    json!({
        "supportsConfigurationDoneRequest": true,
        "supportsStepBack": true,
        "supportsRestartRequest": true,
        "supportsEvaluateForHovers": true,
        "supportsExceptionInfoRequest": true,
        "supportsTerminateRequest": true,
        "supportsDelayedStackTraceLoading": true,
    })
}
