//! What others say they found out counts as far as it is found out here, too.

use std::path::PathBuf;

use proofline_verifier::{
    Cancel, Entry, Name, Subject,
    counterexample::Counterexample,
    load::{Options, load_texts},
    portfolio::{Claim, Control, Request, Round, confirm, judge},
    property::Property,
    report::Judgement,
    verdict::Verdict,
};

const CODE: &str = "#include <assert.h>
    int in(void);
    int main(void) {
        int n = in(), a[4] = {0};
        assert(n < 1000);
        if (n >= 0 && n < 4) a[n] = 1;
        int x = 0, y = 0;
        while (x < 50) { x++; y += 2; }
        assert(y == 100);
        return a[0] / (n * n + 1 > 0 ? 1 : 0);
    }";

fn subject() -> Subject {
    let texts = [(PathBuf::from("t.c"), CODE.to_owned())];
    let (subject, _) = load_texts(&texts, &Options::default()).expect("loads");
    subject.for_question(&Property::Everything)
}

fn request() -> Request {
    Request {
        property: Property::Everything,
        engines: vec!["concrete".into(), "intervals".into(), "bounded-brief".into()],
        steps: 100_000,
        first_only: false,
        round: Round::default(),
        under: std::sync::Arc::default(),
    }
}

fn entry() -> Entry {
    Entry::new(Name::new("main"))
}

fn truth(subject: &Subject) -> Judgement {
    judge(subject, &request(), entry(), None, &Control::default())
}

fn confirmed(subject: &Subject, claim: &Judgement) -> Option<Judgement> {
    confirm(subject, &request(), entry(), None, &said(claim), &Control::default())
}

fn said(judgement: &Judgement) -> Claim {
    Claim { judgement: judgement.clone(), steps: request().steps, has_invariants: false }
}

#[test]
fn the_truth_is_confirmed_as_it_is() {
    let subject = subject();
    let truth = truth(&subject);
    assert!(truth.verdicts.values().any(Verdict::is_proved));
    assert!(!truth.counterexamples.is_empty());
    assert_eq!(confirmed(&subject, &truth), Some(truth));
}

#[test]
fn no_lie_becomes_a_proof() {
    let subject = subject();
    let truth = truth(&subject);
    let provers = ["concrete", "intervals", "bounded-brief", "horn"];
    for target in truth.verdicts.keys() {
        for prover in provers {
            let mut lie = truth.clone();
            lie.verdicts.insert(*target, Verdict::Proved(prover));
            let Some(found) = confirmed(&subject, &lie) else { continue };
            assert!(truth.verdicts[target].is_proved(), "{target:?}: {prover}");
            assert!(found.verdicts[target].is_proved());
        }
    }
}

#[test]
fn no_lie_becomes_an_alarm() {
    let subject = subject();
    let truth = truth(&subject);
    for (target, verdict) in truth.verdicts.iter().filter(|(_, verdict)| verdict.is_proved()) {
        let mut lie = truth.clone();
        lie.verdicts.insert(*target, Verdict::Violated(0));
        assert_eq!(confirmed(&subject, &lie), None, "{target:?}: {verdict:?}");
    }
    // Inputs that lead elsewhere, and a run that is said to be endless.
    let changes: [fn(&mut Counterexample); 2] = [|run| run.inputs = vec![0; 3], |run| run.steps = u64::MAX];
    for change in changes {
        let mut lie = truth.clone();
        lie.counterexamples.iter_mut().for_each(change);
        // Whoever is said to have found it finds it again, or nothing is believed.
        if let Some(found) = confirmed(&subject, &lie) {
            assert!(found.counterexamples.iter().all(|run| run.replay(subject.code()).is_some()));
        }
    }
}

#[test]
fn what_is_missing_or_said_of_something_else_is_no_answer() {
    let subject = subject();
    let truth = truth(&subject);
    assert_eq!(confirmed(&subject, &Judgement::default()), None);
    let mut part = truth.clone();
    part.verdicts.pop_last();
    assert_eq!(confirmed(&subject, &part), None);
    // No engine has said it: there is nobody to ask.
    let mut nobody = truth.clone();
    nobody.decided_by.clear();
    nobody.verdicts.values_mut().filter(|verdict| verdict.is_proved()).for_each(|verdict| {
        *verdict = Verdict::Proved("contracts");
    });
    assert_eq!(confirmed(&subject, &nobody), None);
}

#[test]
fn a_reason_in_somebody_else_s_words_cannot_move_the_cursor() {
    let subject = subject();
    let request = Request { engines: vec!["intervals".into()], ..request() };
    let control = Control { cancel: Cancel::default(), ..Control::default() };
    let truth = judge(&subject, &request, entry(), None, &control);
    let mut claim = truth.clone();
    for verdict in claim.verdicts.values_mut().filter(|verdict| !verdict.is_proved()) {
        *verdict = Verdict::Unknown(proofline_verifier::Unknown::Unsupported("\u{1b}[2Jall is well".into()));
    }
    let found =
        confirm(&subject, &request, entry(), None, &said(&claim), &control).expect("nothing is contradicted");
    assert!(!format!("{:?}", found.verdicts).contains("all is well"));
}
