//! `workspace/executeCommand`: the actor's part of every command. The module `commands` says what the answers look like.

use std::{path::Path, time::Instant};

use proofline_ide::Effort;
use serde_json::{Value, json};
use tower_lsp_server::{
    jsonrpc,
    ls_types::{request as asked, *},
};

use super::{Actor, News, Written};
use crate::lsp::{
    commands,
    diagnostics::Places,
    document::Document,
    event::{Event, Reply},
    functions,
    jobs::Task,
    settings::RunTests,
};

impl Actor {
    pub(in super::super) fn command(&mut self, command: &str, argument: &Value, reply: Reply<Option<Value>>) {
        if command == commands::TEST {
            self.ask_for_test(argument, reply);
            return;
        }
        let answer = match command {
            commands::TRACE => self.trace(argument),
            commands::SUMMARY => self.summary(argument),
            commands::FUNCTIONS => self.functions(argument),
            commands::VERIFY => self.verify(argument),
            commands::CANCEL => self.cancel(argument),
            _ => Err(jsonrpc::Error::method_not_found()),
        };
        let _ = reply.send(answer.map(Some));
    }

    pub(super) fn trace(&self, argument: &Value) -> jsonrpc::Result<Value> {
        let document = self.argument(argument)?;
        let id =
            argument.get("finding").and_then(Value::as_str).ok_or_else(|| wrong("`finding` is missing"))?;
        let shown = document
            .results
            .finding(id)
            .ok_or_else(|| wrong("this finding is gone: the text has changed"))?;
        let value = commands::trace(&shown, document, &Places::new(&self.documents, self.client.encoding));
        if !self.client.has("proofline.showTrace") {
            let shown = shown.finding;
            self.outbox.show(MessageType::INFO, shown.text());
        }
        Ok(value)
    }

    pub(super) fn summary(&self, argument: &Value) -> jsonrpc::Result<Value> {
        let document = self.argument(argument)?;
        let encoding = self.client.encoding;
        let name = match (argument.get("function").and_then(Value::as_str), argument.get("position")) {
            (Some(name), _) => name.to_owned(),
            (None, Some(position)) => {
                let position: Position = serde_json::from_value(position.clone())
                    .map_err(|_| wrong("`position` is no position"))?;
                let point = encoding.point(&document.text, position);
                let function = document.results.function_at(point);
                function.map(|f| f.name.clone()).ok_or_else(|| wrong("there is no function here"))?
            }
            (None, None) => return Err(wrong("`function` or `position` is missing")),
        };
        let summary = document.results.summary(&name);
        let summary = summary.ok_or_else(|| wrong("this function has no body here"))?;
        Ok(commands::summary(&summary, document, &Places::new(&self.documents, encoding)))
    }

    pub(in super::super) fn functions(&self, argument: &Value) -> jsonrpc::Result<Value> {
        let document = self.argument(argument)?;
        Ok(functions::of(document, &Places::new(&self.documents, self.client.encoding)))
    }

    /// Tries again with ten times the effort.
    pub(super) fn verify(&mut self, argument: &Value) -> jsonrpc::Result<Value> {
        let document = self.argument(argument)?;
        let (path, revision) = (document.path.clone(), document.revision);
        let function = argument.get("function").and_then(Value::as_str);
        let program = document.results.program().ok_or_else(|| wrong("the file is still being read"))?;
        let wanted =
            program.entries().iter().filter(|e| function.is_none_or(|name| e.decides.contains(name)));
        let effort = Effort { seconds: 60, ..Effort::full(self.settings.budget.saturating_mul(10)) };
        let entries: Vec<String> = wanted.map(|entry| entry.name.clone()).collect();
        for (place, entry) in entries.into_iter().enumerate() {
            let task = Task::Verify { entry, effort: effort.clone(), is_final: true };
            self.jobs.push(&path, revision, task, place);
        }
        Ok(Value::Null)
    }

    /// Writes a test; whether it is run is for the user to say.
    pub(super) fn ask_for_test(&mut self, argument: &Value, reply: Reply<Option<Value>>) {
        let found = self.argument(argument).and_then(|document| {
            let id = argument
                .get("finding")
                .and_then(Value::as_str)
                .ok_or_else(|| wrong("`finding` is missing"))?;
            Ok((document.path.clone(), id.to_owned()))
        });
        let (path, finding) = match found {
            Ok(found) => found,
            Err(error) => {
                let _ = reply.send(Err(error));
                return;
            }
        };
        match (argument.get("run").and_then(Value::as_bool), self.settings.run_tests) {
            (_, RunTests::Never) => self.test(&path, &finding, false, reply),
            (Some(may_run), _) => self.test(&path, &finding, may_run, reply),
            (None, RunTests::Always) => self.test(&path, &finding, true, reply),
            (None, RunTests::Ask) => {
                let action =
                    |title: &str| MessageActionItem { title: title.into(), properties: Default::default() };
                let params = ShowMessageRequestParams {
                    typ: MessageType::INFO,
                    message: "Compile and run the test with sanitizers, in a scratch folder?".into(),
                    actions: Some(vec![action("Run"), action("Only write it")]),
                };
                self.outbox.request::<asked::ShowMessageRequest>(params, |answer| {
                    let may_run = answer.ok().flatten().is_some_and(|action| action.title == "Run");
                    Some(Event::TestAllowed { path, finding, may_run, reply })
                });
            }
        }
    }

    pub(super) fn test(&mut self, path: &Path, id: &str, may_run: bool, reply: Reply<Option<Value>>) {
        let found = self.documents.get(path).and_then(|document| {
            let shown = document.results.finding(id).filter(|shown| !shown.is_older)?;
            Some((document.revision, document.results.program()?.clone(), Box::new(shown.finding.clone())))
        });
        let Some((revision, program, finding)) = found else {
            let _ = reply.send(Err(wrong("this finding is gone: the text has changed")));
            return;
        };
        self.jobs.push(path, revision, Task::Test { program, finding, may_run }, 0);
        self.tests.entry((path.to_path_buf(), id.to_owned())).or_default().push(reply);
    }

    pub(super) fn tested(&mut self, path: &Path, revision: u64, id: String, result: Result<Written, String>) {
        let replies = self.tests.remove(&(path.to_path_buf(), id.clone())).unwrap_or_default();
        let answer = match result {
            Err(why) => Err(wrong(&format!("no test can be written: {why}"))),
            Ok((test, ran)) => {
                let (confirmed, output) = match ran {
                    None => (None, String::new()),
                    Some(Err(why)) => (None, why),
                    Some(Ok(ran)) => (Some(ran.confirmed), ran.output),
                };
                if confirmed == Some(true)
                    && let Some(document) = self.documents.get_mut(path).filter(|d| d.revision == revision)
                {
                    document.results.confirm(id);
                    self.news.insert(path.to_path_buf(), News { at: Instant::now() });
                }
                let text = test.text.replace(proofline_ide::Test::INCLUDE, &path.to_string_lossy());
                Ok(json!({ "name": test.name, "text": text, "confirmed": confirmed, "output": output }))
            }
        };
        for reply in replies {
            let _ = reply.send(answer.clone().map(Some));
        }
    }

    /// Stops what is queued or runs for a file; what is known then is all there will be.
    pub(super) fn cancel(&mut self, argument: &Value) -> jsonrpc::Result<Value> {
        let path = self.argument(argument)?.path.clone();
        self.jobs.cancel(&path);
        if let Some(document) = self.documents.get_mut(&path) {
            document.results.stop();
        }
        self.news.insert(path, News { at: Instant::now() });
        Ok(Value::Null)
    }

    pub(super) fn argument(&self, argument: &Value) -> jsonrpc::Result<&Document> {
        let uri = argument.get("uri").and_then(Value::as_str).ok_or_else(|| wrong("`uri` is missing"))?;
        let uri: Uri = uri.parse().map_err(|_| wrong("`uri` is no URI"))?;
        self.document(&uri).ok_or_else(|| wrong("this file is not open"))
    }
}

/// An argument that cannot be used.
fn wrong(text: &str) -> jsonrpc::Error {
    jsonrpc::Error::invalid_params(text.to_owned())
}
