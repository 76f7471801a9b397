//! Reads a monitor's text. The notation is in `docs/monitors.md`; every message says in which line what is wrong and what to write instead.

use proofline_cfa::CompareOp;

use super::{
    Action, CallEvent, Change, Condition, Event, From, Monitor, Operand, Pattern, Target, Transition,
    Variable,
    lex::{Line, MonitorError, Word, lines},
};

/// Names that a state or variable cannot have.
const RESERVED: &[&str] = &[
    "monitor", "for", "cwe", "help", "variable", "start", "new", "always", "any", "error", "stay", "end",
    "return", "set", "label", "when", "and", "do", "result", "null", "NULL", "_",
];

/// More states than this nobody reads.
const MOST_STATES: usize = 100;

type Result<T> = std::result::Result<T, MonitorError>;

pub(super) fn monitor(text: &str, arguments: &[String]) -> Result<Monitor> {
    let lines = lines(text)?;
    let Some(first) = lines.first() else {
        return Err(wrong(
            1,
            "the file says nothing",
            "begin with `monitor NAME`, and a state with its transitions",
        ));
    };
    let mut reader = Reader {
        line: first.number,
        words: &first.words,
        at: 0,
        parameters: Vec::new(),
        out: Monitor {
            name: String::new(),
            label: String::new(),
            cwe: Vec::new(),
            help: String::new(),
            key: None,
            states: Vec::new(),
            start: None,
            variables: Vec::new(),
            transitions: Vec::new(),
        },
    };
    reader.heading(arguments)?;
    // States may be named before their sections.
    for line in &lines[1..] {
        if let [Word::Name(state), Word::Sign(":")] = &line.words[..]
            && !matches!(state.as_str(), "new" | "always" | "any")
        {
            reader.line = line.number;
            reader.state(state)?;
        }
    }
    let mut section = None;
    for line in &lines[1..] {
        reader.begin(line);
        reader.line(&mut section)?;
        if let Some(word) = reader.peek() {
            let message = format!("{word} is too much on this line");
            return Err(
                reader.wrong(&message, "a line has one setting, one state with `:`, or one transition")
            );
        }
    }
    reader.finish(first.number)
}

fn wrong(line: usize, message: &str, help: &str) -> MonitorError {
    MonitorError { line, message: message.to_owned(), help: help.to_owned() }
}

struct Reader<'l> {
    line: usize,
    words: &'l [Word],
    at: usize,
    /// Names that stand for functions of the program.
    parameters: Vec<(String, String)>,
    out: Monitor,
}

impl<'l> Reader<'l> {
    fn begin(&mut self, line: &'l Line) {
        (self.line, self.words, self.at) = (line.number, &line.words, 0);
    }

    fn wrong(&self, message: &str, help: &str) -> MonitorError {
        wrong(self.line, message, help)
    }

    fn peek(&self) -> Option<&'l Word> {
        self.words.get(self.at)
    }

    fn next(&mut self) -> Option<&'l Word> {
        let word = self.words.get(self.at);
        self.at += usize::from(word.is_some());
        word
    }

    fn takes(&mut self, sign: &str) -> bool {
        let is = matches!(self.peek(), Some(Word::Sign(other)) if *other == sign);
        self.at += usize::from(is);
        is
    }

    fn takes_word(&mut self, word: &str) -> bool {
        let is = matches!(self.peek(), Some(Word::Name(other)) if other == word);
        self.at += usize::from(is);
        is
    }

    fn found(&self) -> String {
        self.peek().map_or_else(|| "the line ends".to_owned(), |word| format!("there is {word}"))
    }

    fn name(&mut self, what: &str) -> Result<String> {
        if let Some(Word::Name(name)) = self.peek() {
            self.at += 1;
            return Ok(name.clone());
        }
        Err(self.wrong(&format!("{what} is missing: {}", self.found()), &format!("write {what} here")))
    }

    fn sign(&mut self, sign: &str, help: &str) -> Result<()> {
        if self.takes(sign) {
            return Ok(());
        }
        Err(self.wrong(&format!("`{sign}` is missing: {}", self.found()), help))
    }

    /// A number, perhaps negative; `NULL` is 0.
    fn number(&mut self) -> Result<i128> {
        let is_negative = self.takes("-");
        match self.next() {
            Some(Word::Number(value)) => Ok(if is_negative { -value } else { *value }),
            Some(Word::Name(name)) if !is_negative && matches!(name.as_str(), "NULL" | "null") => Ok(0),
            _ => {
                self.at = self.at.saturating_sub(1);
                Err(self.wrong(&format!("a number is missing: {}", self.found()), "write a number, or NULL"))
            }
        }
    }

    fn heading(&mut self, arguments: &[String]) -> Result<()> {
        if !self.takes_word("monitor") {
            return Err(self
                .wrong("the file does not begin with `monitor`", "write `monitor NAME` in the first line"));
        }
        self.out.name = self.name("the monitor's name")?;
        let mut parameters = Vec::new();
        if self.takes("(") {
            loop {
                parameters.push(self.name("a parameter's name")?);
                if !self.takes(",") {
                    break;
                }
            }
            self.sign(")", "close the list of parameters")?;
        }
        if self.takes_word("for") {
            self.out.key = Some(self.own_name("the name of what it watches")?);
        }
        if let Some(word) = self.peek() {
            return Err(self.wrong(
                &format!("{word} is too much in the first line"),
                "it is `monitor NAME`, perhaps with `(PARAMETER)` and `for KEY`",
            ));
        }
        let is_name = |text: &String| {
            !text.is_empty()
                && !text.starts_with(|c: char| c.is_ascii_digit())
                && text.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '$'))
        };
        if parameters.len() != arguments.len() || !arguments.iter().all(is_name) {
            let list = parameters.join(", ").to_uppercase();
            let help = match parameters.is_empty() {
                true => format!("name it `{}`, without parentheses", self.out.name),
                false => {
                    format!("name it `{}({list})` with names of functions of the program", self.out.name)
                }
            };
            let message = format!(
                "`{}` takes {} names of functions, and gets {}",
                self.out.name,
                parameters.len(),
                arguments.len()
            );
            return Err(self.wrong(&message, &help));
        }
        self.out.label = match arguments {
            [] => self.out.name.clone(),
            _ => format!("{}({})", self.out.name, arguments.join(", ")),
        };
        self.parameters = parameters.into_iter().zip(arguments.iter().cloned()).collect();
        Ok(())
    }

    /// A name that the monitor gives to something.
    fn own_name(&mut self, what: &str) -> Result<String> {
        let name = self.name(what)?;
        if RESERVED.contains(&name.as_str()) {
            return Err(self.wrong(
                &format!("`{name}` has a meaning of its own"),
                &format!("choose another word for {what}"),
            ));
        }
        Ok(name)
    }

    fn state(&mut self, name: &str) -> Result<usize> {
        if let Some(at) = self.out.states.iter().position(|state| state == name) {
            return Ok(at);
        }
        if RESERVED.contains(&name) {
            return Err(self
                .wrong(&format!("`{name}` has a meaning of its own"), "choose another word for the state"));
        }
        if self.out.states.len() >= MOST_STATES {
            return Err(self.wrong("there are more than 100 states", "count with a `variable` instead"));
        }
        self.out.states.push(name.to_owned());
        Ok(self.out.states.len() - 1)
    }

    fn known_state(&mut self, name: &str) -> Result<usize> {
        match self.out.states.iter().position(|state| state == name) {
            Some(at) => Ok(at),
            None => {
                let all = self.out.states.join("`, `");
                let help =
                    format!("the states are `{all}`; one begins with its name and `:` on a line of its own");
                Err(self.wrong(&format!("there is no state `{name}`"), &help))
            }
        }
    }

    fn line(&mut self, section: &mut Option<From>) -> Result<()> {
        if let [Word::Name(name), Word::Sign(":")] = self.words {
            self.at = 2;
            *section = Some(match name.as_str() {
                "new" => From::New,
                "always" => From::Always,
                "any" => From::Any,
                state => From::State(self.state(state)?),
            });
            if *section == Some(From::New) && self.out.key.is_none() {
                return Err(self.wrong(
                    "`new:` is about keys, and the monitor has none",
                    "write `for KEY` in the first line",
                ));
            }
            return Ok(());
        }
        match section {
            Some(from) => {
                let from = *from;
                self.transition(from)
            }
            None => self.setting(),
        }
    }

    fn setting(&mut self) -> Result<()> {
        if self.takes_word("cwe") {
            loop {
                let number = self.number()?;
                let number = u16::try_from(number).map_err(|_| {
                    self.wrong(
                        "this is no number of a weakness",
                        "write numbers of cwe.mitre.org, such as 667",
                    )
                })?;
                self.out.cwe.push(number);
                if !self.takes(",") {
                    return Ok(());
                }
            }
        }
        if self.takes_word("help") {
            let Some(Word::Text(text)) = self.next() else {
                return Err(
                    self.wrong("`help` has no text", "write it in quotes: help \"unlock it on every way\"")
                );
            };
            self.out.help.clone_from(text);
            return Ok(());
        }
        if self.takes_word("start") {
            let name = self.name("the name of a state")?;
            self.out.start = Some(self.known_state(&name)?);
            return Ok(());
        }
        if self.takes_word("variable") {
            let name = self.own_name("a variable's name")?;
            if self.out.variables.iter().any(|other| other.name == name)
                || self.out.key.as_ref() == Some(&name)
            {
                return Err(
                    self.wrong(&format!("`{name}` stands for something already"), "choose another name")
                );
            }
            let initial = if self.takes("=") { self.count()? } else { 0 };
            self.out.variables.push(Variable { name, initial });
            return Ok(());
        }
        let help = "before the first state stand `cwe`, `help`, `variable` and `start`; a state begins with its name and `:`";
        Err(self.wrong(&format!("this is no setting: {}", self.found()), help))
    }

    fn count(&mut self) -> Result<u64> {
        let value = self.number()?;
        u64::try_from(value)
            .map_err(|_| self.wrong("variables count from 0 upwards", "write a number that is not negative"))
    }

    fn transition(&mut self, from: From) -> Result<()> {
        let mut events = vec![self.event()?];
        while self.takes("|") {
            events.push(self.event()?);
        }
        let mut conditions = Vec::new();
        if self.takes_word("when") {
            conditions.push(self.condition(&events)?);
            while self.takes_word("and") {
                conditions.push(self.condition(&events)?);
            }
        }
        let mut actions = Vec::new();
        if self.takes_word("do") {
            actions.push(self.action()?);
            while self.takes(",") {
                actions.push(self.action()?);
            }
        }
        self.sign("->", "a transition is an event, `->`, and a state, `stay` or `error`")?;
        let name = self.name("a state, `stay` or `error`")?;
        let to = match name.as_str() {
            "stay" => Target::Stay,
            "error" => Target::Error,
            state => Target::State(self.known_state(state)?),
        };
        let message = match self.peek() {
            Some(Word::Text(text)) => {
                self.at += 1;
                text.clone()
            }
            _ => String::new(),
        };
        let transition = Transition { from, events, conditions, actions, to, message };
        self.sensible(&transition)?;
        self.out.transitions.push(transition);
        Ok(())
    }

    fn sensible(&self, transition: &Transition) -> Result<()> {
        let names_key = transition.events.iter().all(names_key);
        match (transition.from, transition.to) {
            (From::New, Target::Stay | Target::Error) => {
                return Err(self.wrong(
                    "a transition from `new` does not lead to a state",
                    "it says in which state a key begins: `-> STATE`",
                ));
            }
            (From::Always, Target::Stay | Target::State(_)) => {
                return Err(self.wrong(
                    "a transition from `always` leads to no error",
                    "it says what is wrong in every state: `-> error \"…\"`",
                ));
            }
            (From::New, Target::State(_)) if !names_key => {
                return Err(self.wrong(
                    "nothing on this line says which key begins",
                    "one argument, or what the result goes to, is the key's name",
                ));
            }
            (From::New | From::Always | From::Any | From::State(_), _) => {}
        }
        if transition.to == Target::Error && transition.message.is_empty() {
            return Err(self
                .wrong("an error has no message", "say in quotes what is wrong: -> error \"closed twice\""));
        }
        if transition.from == From::Always && !transition.actions.is_empty() {
            return Err(self.wrong("`always` changes no variable", "move the line to `any:` or to a state"));
        }
        let of_variables = |condition: &Condition| matches!(condition.left, Operand::Variable(_));
        if transition.from == From::Always && transition.conditions.iter().any(of_variables) {
            return Err(self.wrong("`always` knows no variable", "move the line to `any:` or to a state"));
        }
        if transition.from == From::New && transition.conditions.iter().any(of_variables) {
            return Err(self.wrong("a new key has no variables yet", "move the line to a state"));
        }
        Ok(())
    }

    fn event(&mut self) -> Result<Event> {
        if self.takes_word("end") {
            return Ok(Event::End);
        }
        if self.takes_word("label") {
            return Ok(Event::Label(self.name("the label's name")?));
        }
        if self.takes_word("set") {
            let name = self.name("the name of a variable of the program")?;
            self.sign("=", "an assignment is `set NAME = VALUE`; `_` is any value")?;
            return Ok(Event::Set(name, self.pattern()?));
        }
        let is_after = self.takes_word("return");
        let mut names = vec![self.name("the name of a function")?];
        let gives_key = names.first() == self.out.key.as_ref() && self.takes("=");
        if gives_key {
            names = vec![self.name("the name of a function")?];
        }
        while self.takes(",") {
            names.push(self.name("the name of a function")?);
        }
        for name in &mut names {
            if let Some((_, function)) = self.parameters.iter().find(|(parameter, _)| parameter == name) {
                name.clone_from(function);
            }
        }
        self.sign("(", "behind the name of a function stand its arguments in parentheses; `(...)` is any")?;
        let (mut arguments, mut is_open) = (Vec::new(), false);
        while !self.takes(")") {
            if self.takes("...") {
                is_open = true;
                self.sign(")", "`...` comes last")?;
                break;
            }
            arguments.push(self.pattern()?);
            if !self.takes(",") {
                self.sign(")", "arguments are `_`, the key, a name, or a number, with commas between them")?;
                break;
            }
        }
        let result = match self.comparison() {
            Some(op) => Some((op, self.number()?)),
            None => None,
        };
        let is_after = is_after || gives_key || result.is_some();
        Ok(Event::Call(CallEvent { names, arguments, is_open, is_after, gives_key, result }))
    }

    fn pattern(&mut self) -> Result<Pattern> {
        if let Some(Word::Name(name)) = self.peek()
            && !matches!(name.as_str(), "NULL" | "null")
        {
            self.at += 1;
            return Ok(match name.as_str() {
                "_" => Pattern::Any,
                name if self.out.key.as_deref() == Some(name) => Pattern::Key,
                name if RESERVED.contains(&name) => {
                    return Err(self
                        .wrong(&format!("`{name}` cannot name an argument"), "choose another name, or `_`"));
                }
                name => Pattern::Bound(name.to_owned()),
            });
        }
        Ok(Pattern::Number(self.number()?))
    }

    fn comparison(&mut self) -> Option<CompareOp> {
        let all = [
            ("==", CompareOp::Eq),
            ("!=", CompareOp::Ne),
            ("<=", CompareOp::Le),
            (">=", CompareOp::Ge),
            ("<", CompareOp::Lt),
            (">", CompareOp::Gt),
        ];
        all.into_iter().find(|(sign, _)| self.takes(sign)).map(|(_, op)| op)
    }

    fn condition(&mut self, events: &[Event]) -> Result<Condition> {
        let name = self.name("the name of an argument, `result`, or a variable")?;
        let variable = self.out.variables.iter().position(|variable| variable.name == name);
        let is_bound = |event: &Event| bound(event, &name);
        let left = match (variable, name.as_str()) {
            (Some(variable), _) => Operand::Variable(variable),
            (None, "result") => {
                let is_after = |event: &Event| matches!(event, Event::Call(call) if call.is_after);
                if !events.iter().all(is_after) {
                    return Err(self.wrong("there is no result yet", "write `return` in front of the call"));
                }
                Operand::Result
            }
            (None, name) if self.out.key.as_deref() == Some(name) && events.iter().all(names_key) => {
                Operand::Key
            }
            (None, _) if events.iter().all(is_bound) => Operand::Bound(name),
            (None, _) => {
                let help = "it is an argument's name on this line, the key, `result`, or a `variable`";
                return Err(self.wrong(&format!("nothing here is called `{name}`"), help));
            }
        };
        let Some(op) = self.comparison() else {
            return Err(self.wrong(
                &format!("a comparison is missing: {}", self.found()),
                "write == != < <= > >= and a number",
            ));
        };
        let right = self.number()?;
        Ok(Condition { left, op, right })
    }

    fn action(&mut self) -> Result<Action> {
        let name = self.name("the name of a variable")?;
        let Some(variable) = self.out.variables.iter().position(|variable| variable.name == name) else {
            let help = format!("write `variable {name} = 0` before the first state");
            return Err(self.wrong(&format!("there is no variable `{name}`"), &help));
        };
        let change = if self.takes("+=") {
            Change::Add(self.count()?)
        } else if self.takes("-=") {
            Change::Subtract(self.count()?)
        } else {
            self.sign("=", "an action is `NAME = 0`, `NAME += 1` or `NAME -= 1`")?;
            Change::To(self.count()?)
        };
        Ok(Action { variable, change })
    }

    fn finish(self, first: usize) -> Result<Monitor> {
        let out = self.out;
        if !out.transitions.iter().any(|transition| transition.to == Target::Error) {
            return Err(wrong(first, "the monitor has no error", "one transition at least leads to `error`"));
        }
        let begins =
            out.start.is_some() || out.transitions.iter().any(|transition| transition.from == From::New);
        let only_always = out.transitions.iter().all(|transition| transition.from == From::Always);
        if !begins && !only_always {
            let help = match out.key {
                Some(_) => {
                    "write `start STATE` if every key begins there, or `new:` with the calls that create one"
                }
                None => "write `start STATE` before the first state",
            };
            return Err(wrong(first, "nothing says in which state it begins", help));
        }
        Ok(out)
    }
}

fn names_key(event: &Event) -> bool {
    match event {
        Event::Call(call) => call.gives_key || call.arguments.contains(&Pattern::Key),
        Event::Set(_, value) => *value == Pattern::Key,
        Event::Label(_) | Event::End => false,
    }
}

fn bound(event: &Event, name: &str) -> bool {
    let is_name = |pattern: &Pattern| matches!(pattern, Pattern::Bound(other) if other == name);
    match event {
        Event::Call(call) => call.arguments.iter().any(is_name),
        Event::Set(_, value) => is_name(value),
        Event::Label(_) | Event::End => false,
    }
}
