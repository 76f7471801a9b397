//! Messages of the Debug Adapter Protocol: framing, numbering, answers. Knows no request.

use std::io::{BufRead, Write};

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};

/// A message larger than this is no message.
const LARGEST: usize = 64 << 20;

/// Reads one message; `None` at the end of the input.
pub(super) fn read(input: &mut impl BufRead) -> Result<Option<Value>> {
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
    Ok(Some(serde_json::from_slice(&body).context("a message that is no JSON")?))
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
    pub(super) fn event(&mut self, event: &str, body: Value) -> Result<()> {
        self.send(json!({ "type": "event", "event": event, "body": body }))
    }

    /// The answer to a request.
    pub(super) fn answer(&mut self, request: &Value, result: Result<Value, String>) -> Result<()> {
        let mut message = json!({
            "type": "response",
            "request_seq": request.get("seq").cloned().unwrap_or(json!(0)),
            "command": request.get("command").cloned().unwrap_or(json!("")),
            "success": result.is_ok(),
        });
        match result {
            Ok(body) => message["body"] = body,
            Err(text) => {
                message["message"] = json!(text);
                message["body"] = json!({ "error": { "id": 1, "format": text, "showUser": true } });
            }
        }
        self.send(message)
    }

    fn send(&mut self, mut message: Value) -> Result<()> {
        self.number += 1;
        message["seq"] = json!(self.number);
        let body = message.to_string();
        write!(self.writer, "Content-Length: {}\r\n\r\n{body}", body.len())
            .context("cannot write the output")?;
        self.writer.flush().context("cannot write the output")
    }
}
