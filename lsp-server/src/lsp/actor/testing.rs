//! Tests that reproduce failures: written when asked for, run when the user allows it. A program of the folder runs on the user's
//! machine then, so the user says yes once per folder, and again wherever it cannot be kept in a sandbox.

use std::{
    path::{Path, PathBuf},
    time::Instant,
};

use serde_json::{Value, json};
use tower_lsp_server::ls_types::{request as asked, *};

use super::{Actor, News, Written, execute::wrong};
use crate::{
    lsp::{
        event::{Event, Reply},
        jobs::Task,
        reproduce::Permission,
        settings::RunTests,
    },
    sandbox,
};

const RUN: &str = "Run";
const ALWAYS: &str = "Run, and do not ask again for this folder";
const WRITE: &str = "Only write it";

/// What the user is asked before a test is run.
pub(super) struct Question {
    what: String,
    answers: &'static [&'static str],
    permission: Permission,
}

impl Actor {
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
        let run = argument.get("run").and_then(Value::as_bool);
        let is_allowed = match self.settings.run_tests {
            RunTests::Never => Some(false),
            RunTests::Always => run.or(Some(true)),
            RunTests::Ask => run.or(self.tested_folders.contains(&self.folder_of(&path)).then_some(true)),
        };
        match (is_allowed, sandbox::missing()) {
            (Some(false), _) => self.test(&path, &finding, Permission::Write, reply),
            (Some(true), None) => self.test(&path, &finding, Permission::Confined, reply),
            // Nobody is asked about a test that cannot be written.
            (None, None) => {
                let what = "Compile and run the test with sanitizers, in a sandbox without network that writes \
                            to a scratch folder only?";
                let answers = &[RUN, ALWAYS, WRITE];
                let question = Question { what: what.to_owned(), answers, permission: Permission::Confined };
                self.to_ask.insert((path.clone(), finding.clone()), question);
                self.test(&path, &finding, Permission::Write, reply);
            }
            (_, Some(why)) => {
                let what = format!(
                    "There is no sandbox on this machine ({why}). Compile and run the test with your rights?"
                );
                let question = Question { what, answers: &[RUN, WRITE], permission: Permission::Free };
                self.to_ask.insert((path.clone(), finding.clone()), question);
                self.test(&path, &finding, Permission::Write, reply);
            }
        }
    }

    fn ask_permission(
        &self,
        question: &Question,
        path: PathBuf,
        finding: String,
        reply: Reply<Option<Value>>,
    ) {
        let Question { what, answers, permission } = question;
        let permission = *permission;
        let action =
            |title: &&str| MessageActionItem { title: (*title).into(), properties: Default::default() };
        let params = ShowMessageRequestParams {
            typ: MessageType::INFO,
            message: what.clone(),
            actions: Some(answers.iter().map(action).collect()),
        };
        self.outbox.request::<asked::ShowMessageRequest>(params, move |answer| {
            let title = answer.ok().flatten().map(|action| action.title);
            let is_for_folder = title.as_deref() == Some(ALWAYS);
            let may_run = is_for_folder || title.as_deref() == Some(RUN);
            let permission = if may_run { permission } else { Permission::Write };
            Some(Event::TestAllowed { path, finding, permission, is_for_folder, reply })
        });
    }

    /// The user has answered.
    pub(super) fn test_allowed(
        &mut self,
        path: &Path,
        finding: &str,
        permission: Permission,
        is_for_folder: bool,
        reply: Reply<Option<Value>>,
    ) {
        if is_for_folder {
            let folder = self.folder_of(path);
            self.tested_folders.insert(folder);
        }
        self.test(path, finding, permission, reply);
    }

    /// The open folder that a file is in, or else its own.
    fn folder_of(&self, path: &Path) -> PathBuf {
        let open = self.folders.around(path);
        open.or(path.parent()).unwrap_or(path).to_owned()
    }

    fn test(&mut self, path: &Path, id: &str, permission: Permission, reply: Reply<Option<Value>>) {
        let found = self.documents.get(path).and_then(|document| {
            let shown = document.results.finding(id).filter(|shown| !shown.is_older)?;
            Some((document.revision, document.results.program()?.clone(), Box::new(shown.finding.clone())))
        });
        let Some((revision, program, finding)) = found else {
            let _ = reply.send(Err(wrong("this finding is gone: the text has changed")));
            return;
        };
        self.jobs.push(path, revision, Task::Test { program, finding, permission }, 0);
        self.tests.entry((path.to_path_buf(), id.to_owned())).or_default().push(reply);
    }

    pub(super) fn tested(&mut self, path: &Path, revision: u64, id: String, result: Result<Written, String>) {
        let key = (path.to_path_buf(), id.clone());
        let replies = self.tests.remove(&key).unwrap_or_default();
        let question = self.to_ask.remove(&key);
        if let (Some(question), Ok((test, None))) = (question, &result)
            && test.is_visible
        {
            for reply in replies {
                self.ask_permission(&question, path.to_path_buf(), id.clone(), reply);
            }
            return;
        }
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
}
