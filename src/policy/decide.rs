//! The one function that answers, and the sentence that says why.

use super::{Policy, Rule, os};
use crate::base::{RelPath, glob, one_line, printable};
use crate::domain::{Act, Effect};

/// How much of a target a sentence shows, in characters.
const SHOWN: usize = 300;

/// What an action would touch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Target<'a> {
    /// A file, by its path below the root.
    Path(&'a str),
    /// A command: the program and its arguments.
    Argv(&'a [String]),
    /// A host, as `host:port`.
    Host(&'a str),
}

impl Target<'_> {
    /// The target on one line: the path, the arguments joined with spaces, or the host.
    #[must_use]
    pub fn text(&self) -> String {
        match self {
            Self::Path(text) | Self::Host(text) => (*text).to_owned(),
            Self::Argv(argv) => argv.join(" "),
        }
    }
}

/// What a policy answered, and which rule made it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Verdict {
    /// The answer.
    pub effect: Effect,
    /// The rule that decided, as it is written; `None` where the default did.
    pub rule: Option<String>,
    /// The layer of that rule.
    pub layer: Option<String>,
}

impl Verdict {
    /// The stricter of two answers; of two equal ones the first. What a path is called and where it leads
    /// are two questions, and this is their common answer.
    #[must_use]
    pub fn stricter(self, other: Self) -> Self {
        if other.effect > self.effect {
            other
        } else {
            self
        }
    }

    /// The answer as a sentence about `act` on `target`, with the rule and the layer that made it.
    ///
    /// ```
    /// use taskgate::domain::Act;
    /// use taskgate::policy::{Policy, Target};
    ///
    /// let target = Target::Path("tests/a.rs");
    /// let verdict = Policy::permissive().layer("protect").deny_write("tests/**").decide(Act::Write, &target);
    /// assert_eq!(
    ///     verdict.sentence(Act::Write, &target),
    ///     "write `tests/a.rs` is denied by rule `deny write tests/**` in layer `protect`",
    /// );
    /// ```
    #[must_use]
    pub fn sentence(&self, act: Act, target: &Target<'_>) -> String {
        let target = one_line(&printable(&target.text()), SHOWN);
        let subject = format!("{} `{target}`", act.as_str());
        match &self.rule {
            Some(rule) => {
                let answer = match self.effect {
                    Effect::Allow => "is allowed",
                    Effect::Ask => "needs approval",
                    Effect::Deny => "is denied",
                };
                let layer = self.layer.as_deref().unwrap_or_default();
                format!("{subject} {answer} by rule `{rule}` in layer `{layer}`")
            }
            None => match self.effect {
                Effect::Allow => format!("{subject} is allowed (default: allow)"),
                Effect::Ask => {
                    format!("{subject} needs approval: no rule allows it (default: ask)")
                }
                Effect::Deny => format!("{subject} is not allowed by any rule (default: deny)"),
            },
        }
    }
}

impl Policy {
    /// Decides about one action, as the platform at hand compares names.
    ///
    /// - A path is tried whole and by its last name, so `.env` fits `a/b/.env`.
    /// - A command is tried by its program as written and as the whole line. Rules that ask or deny are
    ///   tried with the program's folders stripped as well, so `rm` stops `/bin/rm`; rules that allow are
    ///   not, so `cargo` does not let a planted `./cargo` through. For rules that allow, a program with white
    ///   space in its name stands in quotes: `cargo x` the program is not `cargo` with an argument.
    /// - A host is tried with and without its port. Letter case never counts there.
    #[must_use]
    pub fn decide(&self, act: Act, target: &Target<'_>) -> Verdict {
        self.decide_folding(act, target, os::FOLD_PATHS)
    }

    /// As [`Policy::decide`], with the platform's way of comparing names given: where `fold` is true,
    /// `\` is `/`, letter case does not count, and `rm` stops `RM.EXE`.
    #[must_use]
    pub fn decide_folding(&self, act: Act, target: &Target<'_>, fold: bool) -> Verdict {
        let forms = Forms::of(target, fold);
        let mut best: Option<(&Rule, &str)> = None;
        for layer in &self.layers {
            for rule in layer.rules.iter().filter(|rule| rule.act == act) {
                let stricter = best.is_none_or(|(found, _)| rule.effect > found.effect);
                if stricter && forms.fit(rule) {
                    best = Some((rule, &layer.name));
                }
            }
        }
        match best {
            Some((rule, layer)) => Verdict {
                effect: rule.effect,
                rule: Some(rule.to_string()),
                layer: Some(layer.to_owned()),
            },
            None => Verdict {
                effect: self.defaults.of(act),
                rule: None,
                layer: None,
            },
        }
    }

    /// Decides, and says so in a sentence that names the rule and its layer.
    #[must_use]
    pub fn explain(&self, act: Act, target: &Target<'_>) -> String {
        self.decide(act, target).sentence(act, target)
    }
}

/// How letters and separators of a pattern and a target are compared.
#[derive(Clone, Copy)]
enum Compare {
    Exactly,
    /// `\` is `/`, and letter case does not count.
    Folded,
}

/// The texts that a rule is tried on.
struct Forms {
    compare: Compare,
    /// For every rule.
    always: Vec<String>,
    /// For rules that ask or deny.
    narrowing: Vec<String>,
    /// For rules that allow.
    widening: Vec<String>,
    /// How rules that ask or deny are compared, where that is looser.
    narrowing_compare: Compare,
}

impl Forms {
    fn of(target: &Target<'_>, fold: bool) -> Self {
        let platform = if fold {
            Compare::Folded
        } else {
            Compare::Exactly
        };
        match target {
            Target::Path(path) => Self {
                compare: platform,
                always: path_forms(path),
                narrowing: Vec::new(),
                widening: Vec::new(),
                narrowing_compare: platform,
            },
            Target::Argv(argv) => {
                let (program, arguments) = argv
                    .split_first()
                    .map_or(("", &[][..]), |(program, rest)| (program.as_str(), rest));
                let quoted = quoted(program);
                let mut narrowing = line_forms(program, arguments);
                let name = program_name(program, fold);
                if name != program {
                    narrowing.extend(line_forms(name, arguments));
                }
                Self {
                    compare: Compare::Exactly,
                    always: Vec::new(),
                    narrowing,
                    widening: line_forms(&quoted, arguments),
                    narrowing_compare: platform,
                }
            }
            Target::Host(host) => Self {
                compare: Compare::Folded,
                always: host_forms(host),
                narrowing: Vec::new(),
                widening: Vec::new(),
                narrowing_compare: Compare::Folded,
            },
        }
    }

    fn fit(&self, rule: &Rule) -> bool {
        let (own, compare) = match rule.effect {
            Effect::Allow => (&self.widening, self.compare),
            Effect::Ask | Effect::Deny => (&self.narrowing, self.narrowing_compare),
        };
        self.always.iter().chain(own).any(|form| match compare {
            Compare::Exactly => glob::matches(&rule.pattern, form),
            Compare::Folded => glob::matches_folded(&rule.pattern, form),
        })
    }
}

/// The path and its last name. A path that is written with detours is tried without them.
fn path_forms(path: &str) -> Vec<String> {
    let whole = RelPath::parse(path).map_or_else(|_| path.to_owned(), |path| path.as_str().into());
    let name = whole.rsplit('/').next().unwrap_or_default().to_owned();
    if name == whole {
        vec![whole]
    } else {
        vec![whole, name]
    }
}

fn line_forms(program: &str, arguments: &[String]) -> Vec<String> {
    let mut forms = vec![program.to_owned()];
    if !arguments.is_empty() {
        forms.push(format!("{program} {}", arguments.join(" ")));
    }
    forms
}

/// A program whose name could be read as a name and an argument is told apart by quotes.
fn quoted(program: &str) -> String {
    if program.contains(|c: char| c.is_whitespace() || c == '"') {
        format!("\"{}\"", program.replace('"', "\\\""))
    } else {
        program.to_owned()
    }
}

/// The program without its folders; on a folding platform also without the extension that may be left out.
fn program_name(program: &str, fold: bool) -> &str {
    let name = if fold {
        program.rsplit(['/', '\\']).next()
    } else {
        program.rsplit('/').next()
    }
    .unwrap_or(program);
    match name.rsplit_once('.') {
        Some((stem, extension))
            if fold
                && ["exe", "com", "cmd", "bat"]
                    .iter()
                    .any(|known| extension.eq_ignore_ascii_case(known)) =>
        {
            stem
        }
        _ => name,
    }
}

/// The host with its port, and without; a trailing dot means nothing.
fn host_forms(target: &str) -> Vec<String> {
    let (host, port) = match target.rsplit_once(':') {
        Some((host, port))
            if port.bytes().all(|byte| byte.is_ascii_digit())
                && (!host.contains(':') || host.ends_with(']')) =>
        {
            (host, Some(port))
        }
        _ => (target, None),
    };
    let host = host.strip_suffix('.').unwrap_or(host);
    let mut forms = vec![host.to_owned()];
    if let Some(port) = port {
        forms.insert(0, format!("{host}:{port}"));
    }
    forms
}
