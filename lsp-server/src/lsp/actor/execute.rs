//! `workspace/executeCommand`: the actor's part of every command. The module `commands` says what the answers look like.

use std::time::Instant;

use proofline_ide::{Counts, Effort, check::Name};
use serde_json::{Value, json};
use tower_lsp_server::{jsonrpc, ls_types::*};

use super::{Actor, News};
use crate::lsp::{commands, diagnostics::Places, document::Document, event::Reply, functions, jobs::Task};

impl Actor {
    pub(in super::super) fn command(&mut self, command: &str, argument: &Value, reply: Reply<Option<Value>>) {
        if command == commands::TEST {
            self.ask_for_test(argument, reply);
            return;
        }
        let answer = match command {
            commands::TRACE => self.trace(argument),
            commands::SUMMARY => self.summary(argument),
            commands::PROOF => self.proof(argument),
            commands::FUNCTIONS => self.functions(argument),
            commands::VERIFY => self.verify(argument),
            commands::STATISTICS => Ok(self.statistics()),
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
        let summary = document.results.summary(&self.function_of(argument)?);
        let summary = summary.ok_or_else(|| wrong("this function has no body here"))?;
        Ok(commands::summary(&summary, document, &Places::new(&self.documents, self.client.encoding)))
    }

    /// Why a function is proved. A client that cannot show it is shown its text.
    pub(super) fn proof(&self, argument: &Value) -> jsonrpc::Result<Value> {
        let document = self.argument(argument)?;
        let proof = proofline_ide::proof(&document.results, &self.function_of(argument)?);
        let proof = proof.ok_or_else(|| wrong("this function has no body here"))?;
        let value = commands::proof(&proof, document, &Places::new(&self.documents, self.client.encoding));
        if !self.client.has("proofline.showProof") {
            self.outbox.show(MessageType::INFO, value["text"].as_str().unwrap_or_default().to_owned());
        }
        Ok(value)
    }

    /// The function that an argument names, or the one at its position.
    fn function_of(&self, argument: &Value) -> jsonrpc::Result<String> {
        let document = self.argument(argument)?;
        let encoding = self.client.encoding;
        match (argument.get("function").and_then(Value::as_str), argument.get("position")) {
            (Some(name), _) => Ok(name.to_owned()),
            (None, Some(position)) => {
                let position: Position = serde_json::from_value(position.clone())
                    .map_err(|_| wrong("`position` is no position"))?;
                let point = encoding.point(&document.text, position);
                let function = document.results.function_at(point);
                function.map(|f| f.name.clone()).ok_or_else(|| wrong("there is no function here"))
            }
            (None, None) => Err(wrong("`function` or `position` is missing")),
        }
    }

    pub(in super::super) fn functions(&self, argument: &Value) -> jsonrpc::Result<Value> {
        let document = self.argument(argument)?;
        let list = functions::of(document, &Places::new(&self.documents, self.client.encoding));
        serde_json::to_value(list).map_err(|_| jsonrpc::Error::internal_error())
    }

    /// Tries again with ten times the effort.
    pub(super) fn verify(&mut self, argument: &Value) -> jsonrpc::Result<Value> {
        let document = self.argument(argument)?;
        let (path, revision) = (document.path.clone(), document.revision);
        let function = argument.get("function").and_then(Value::as_str).map(Name::new);
        let program = document.results.program().ok_or_else(|| wrong("the file is still being read"))?;
        let wanted =
            program.entries().iter().filter(|e| function.is_none_or(|name| e.decides.contains(&name)));
        let effort = Effort::most(self.settings.budget.saturating_mul(10));
        let entries: Vec<String> = wanted.map(|entry| entry.name.clone()).collect();
        for (place, entry) in entries.into_iter().enumerate() {
            let task = Task::Verify { entry, effort };
            self.jobs.push(&path, revision, task, place);
        }
        Ok(Value::Null)
    }

    /// Where verdicts came from since the server began: the entries of all files, each round of which counts.
    fn statistics(&self) -> Value {
        let Counts { verified, recalled, confirmed, refused } = self.answers.counts();
        json!({ "verified": verified, "recalled": recalled, "confirmed": confirmed, "refused": refused })
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
pub(super) fn wrong(text: &str) -> jsonrpc::Error {
    jsonrpc::Error::invalid_params(text.to_owned())
}
