//! Messages of the Debug Adapter Protocol: framing, numbering, answers. What requests, answers and events hold is typed by `dapts`;
//! which there are is not known here.

use std::io::{BufRead, Write};

use anyhow::{Context, Result, ensure};
use dapts::{ErrorResponse, IEvent, Message, Request};
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// A message larger than this is no message.
const LARGEST: usize = 64 << 20;

/// What a client sends.
#[derive(Deserialize)]
#[serde(tag = "type", rename_all = "camelCase")]
pub(super) enum Incoming {
    /// It wants something.
    Request(Request),
    /// Answers to requests, which this adapter does not make, and whatever else there may be.
    #[serde(other)]
    Other,
}

/// What is sent to the client.
#[derive(Serialize)]
#[serde(tag = "type", rename_all = "camelCase")]
enum Outgoing<'m> {
    Event {
        event: &'m str,
        #[serde(skip_serializing_if = "Value::is_null")]
        body: Value,
    },
    Response {
        request_seq: i64,
        command: &'m str,
        success: bool,
        #[serde(skip_serializing_if = "Option::is_none")]
        message: Option<String>,
        #[serde(skip_serializing_if = "Value::is_null")]
        body: Value,
    },
}

/// With its number, which counts from 1.
#[derive(Serialize)]
struct Numbered<'m> {
    seq: u64,
    #[serde(flatten)]
    message: Outgoing<'m>,
}

/// Reads one message; `None` at the end of the input.
pub(super) fn read(input: &mut impl BufRead) -> Result<Option<Incoming>> {
    let mut length = None;
    loop {
        let mut line = String::new();
        if input.read_line(&mut line).context("cannot read the input")? == 0 {
            return Ok(None);
        }
        let line = line.trim_end();
        if line.is_empty() {
            break;
        }
        if let Some((name, value)) = line.split_once(':')
            && name.eq_ignore_ascii_case("content-length")
        {
            length = Some(value.trim().parse::<usize>().context("the content length is no number")?);
        }
    }
    let length = length.context("a message without its content length")?;
    ensure!(length <= LARGEST, "a message of {length} bytes");
    let mut body = vec![0; length];
    std::io::Read::read_exact(input, &mut body).context("the input ended inside a message")?;
    Ok(Some(serde_json::from_slice(&body).context("a message that is none of the protocol")?))
}

/// Where messages go.
pub(super) struct Output<W> {
    writer: W,
    number: u64,
}

impl<W: Write> Output<W> {
    pub(super) fn new(writer: W) -> Output<W> {
        Output { writer, number: 0 }
    }

    /// Something happened.
    pub(super) fn event<E: IEvent>(&mut self, body: E::Body) -> Result<()> {
        let body = serde_json::to_value(body)?;
        self.send(Outgoing::Event { event: E::EVENT, body })
    }

    /// The answer to a request: what it asks for, or why not, for people.
    pub(super) fn answer<B: Serialize>(
        &mut self,
        request: &Request,
        result: Result<B, String>,
    ) -> Result<()> {
        let (success, message, body) = match result {
            Ok(body) => (true, None, serde_json::to_value(body)?),
            Err(text) => (false, Some(text.clone()), serde_json::to_value(error(text))?),
        };
        self.send(Outgoing::Response {
            request_seq: request.seq,
            command: &request.command,
            success,
            message,
            body,
        })
    }

    fn send(&mut self, message: Outgoing<'_>) -> Result<()> {
        self.number += 1;
        let body = serde_json::to_string(&Numbered { seq: self.number, message })?;
        write!(self.writer, "Content-Length: {}\r\n\r\n{body}", body.len())
            .context("cannot write the output")?;
        self.writer.flush().context("cannot write the output")
    }
}

fn error(text: String) -> ErrorResponse {
    let message = Message {
        id: 1,
        format: text,
        show_user: Some(true),
        send_telemetry: None,
        url: None,
        url_label: None,
        variables: None,
    };
    ErrorResponse { error: Some(message) }
}
