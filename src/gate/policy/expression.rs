//! The condition of a checklist item (`validacao`, `validation`): a small language with three-valued logic.
//!
//! ```text
//! expression := and (OR and)*
//! and        := not (AND not)*
//! not        := NOT? atom
//! atom       := '(' expression ')' | [subject] metric [operator number ['%']]
//! operator   := == | != | < | <= | > | >=
//! ```
//!
//! A metric that could not be obtained is *unknown*. The logic is Kleene's (S. C. Kleene, Introduction to Metamathematics,
//! 1952, § 64): `unknown OR true` is true, `unknown AND false` is false, everything else with an unknown part is unknown.

use std::collections::BTreeMap;

use super::metric::{Metric, MetricKind};

/// Words before a metric that document what it is about and decide nothing.
const SUBJECTS: [&str; 2] = ["test_runner", "linter"];
/// Levels of parentheses and negations.
const DEPTH_MAX: usize = 16;
/// Longest condition, bytes.
const EXPRESSION_BYTES_MAX: usize = 2_000;

/// A condition.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Expression {
    /// One side is true.
    Or(Box<Expression>, Box<Expression>),
    /// Both sides are true.
    And(Box<Expression>, Box<Expression>),
    /// The condition is false.
    Not(Box<Expression>),
    /// A metric compared with a number.
    Compare {
        /// What is compared.
        metric: Metric,
        /// How.
        comparison: Comparison,
        /// With what.
        number: f64,
    },
    /// A fact.
    Fact(Metric),
}

/// How a metric is compared with a number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Comparison {
    /// `==`
    Equal,
    /// `!=`
    NotEqual,
    /// `<`
    Less,
    /// `<=`
    LessOrEqual,
    /// `>`
    Greater,
    /// `>=`
    GreaterOrEqual,
}

/// The value of a metric.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum MetricValue {
    /// A number or a percentage.
    Number(f64),
    /// A fact.
    Fact(bool),
    /// It could not be obtained, and why.
    Unknown(String),
}

/// The outcome of a condition.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Truth {
    /// It holds.
    True,
    /// It does not hold.
    False,
    /// It depends on metrics that could not be obtained: why, in the order of the condition.
    Unknown(Vec<String>),
}

impl Expression {
    /// Reads a condition.
    ///
    /// # Errors
    /// What is wrong with it, a lowercase fragment.
    pub(crate) fn parse(text: &str) -> Result<Expression, String> {
        if text.len() > EXPRESSION_BYTES_MAX {
            return Err(format!("a condition of more than {EXPRESSION_BYTES_MAX} bytes"));
        }
        let mut parser = ExpressionParser { tokens: tokenize(text)?, at: 0 };
        let expression = parser.alternatives(0)?;
        match parser.tokens.get(parser.at) {
            None => Ok(expression),
            Some(token) => Err(format!("unexpected {:?} in {text:?}", token.as_str())),
        }
    }

    /// The outcome over these values; a metric without one is unknown.
    pub(crate) fn evaluate(&self, values: &BTreeMap<Metric, MetricValue>) -> Truth {
        match self {
            Expression::Or(left, right) => left.evaluate(values).or(right.evaluate(values)),
            Expression::And(left, right) => left.evaluate(values).and(right.evaluate(values)),
            Expression::Not(inner) => inner.evaluate(values).negate(),
            Expression::Compare { metric, comparison, number } => match values.get(metric) {
                Some(MetricValue::Number(value)) => Truth::from(comparison.holds(*value, *number)),
                Some(MetricValue::Unknown(why)) => Truth::Unknown(vec![why.clone()]),
                Some(MetricValue::Fact(_)) | None => Truth::Unknown(vec![format!("{metric} was not measured")]),
            },
            Expression::Fact(metric) => match values.get(metric) {
                Some(MetricValue::Fact(value)) => Truth::from(*value),
                Some(MetricValue::Unknown(why)) => Truth::Unknown(vec![why.clone()]),
                Some(MetricValue::Number(_)) | None => Truth::Unknown(vec![format!("{metric} was not measured")]),
            },
        }
    }

    /// The metrics that it is about, each once.
    pub(crate) fn metrics(&self) -> Vec<Metric> {
        let mut found = Vec::new();
        self.collect_metrics(&mut found);
        found
    }

    fn collect_metrics(&self, found: &mut Vec<Metric>) {
        match self {
            Expression::Or(left, right) | Expression::And(left, right) => {
                left.collect_metrics(found);
                right.collect_metrics(found);
            }
            Expression::Not(inner) => inner.collect_metrics(found),
            Expression::Compare { metric, .. } | Expression::Fact(metric) => {
                if !found.contains(metric) {
                    found.push(*metric);
                }
            }
        }
    }
}

impl Comparison {
    const ALL: [(&'static str, Comparison); 6] = [
        ("==", Comparison::Equal),
        ("!=", Comparison::NotEqual),
        ("<=", Comparison::LessOrEqual),
        (">=", Comparison::GreaterOrEqual),
        ("<", Comparison::Less),
        (">", Comparison::Greater),
    ];

    /// Whether `value` compares so with `number`. Equality is exact: both come from counts or decimal literals.
    fn holds(self, value: f64, number: f64) -> bool {
        match self {
            Comparison::Equal => value.total_cmp(&number).is_eq(),
            Comparison::NotEqual => value.total_cmp(&number).is_ne(),
            Comparison::Less => value < number,
            Comparison::LessOrEqual => value <= number,
            Comparison::Greater => value > number,
            Comparison::GreaterOrEqual => value >= number,
        }
    }
}

impl From<bool> for Truth {
    fn from(value: bool) -> Self {
        if value { Truth::True } else { Truth::False }
    }
}

impl Truth {
    fn or(self, other: Truth) -> Truth {
        match (self, other) {
            (Truth::True, _) | (_, Truth::True) => Truth::True,
            (Truth::False, Truth::False) => Truth::False,
            (left, right) => left.join_reasons(right),
        }
    }

    fn and(self, other: Truth) -> Truth {
        match (self, other) {
            (Truth::False, _) | (_, Truth::False) => Truth::False,
            (Truth::True, Truth::True) => Truth::True,
            (left, right) => left.join_reasons(right),
        }
    }

    fn negate(self) -> Truth {
        match self {
            Truth::True => Truth::False,
            Truth::False => Truth::True,
            unknown @ Truth::Unknown(_) => unknown,
        }
    }

    /// The reasons of both sides, each once.
    fn join_reasons(self, other: Truth) -> Truth {
        let mut reasons = Vec::new();
        for side in [self, other] {
            if let Truth::Unknown(more) = side {
                for reason in more {
                    if !reasons.contains(&reason) {
                        reasons.push(reason);
                    }
                }
            }
        }
        Truth::Unknown(reasons)
    }
}

/// A word or a sign of a condition.
#[derive(Debug, Clone, PartialEq, Eq)]
enum ExpressionToken {
    Word(String),
    Number(String),
    Sign(&'static str),
}

impl ExpressionToken {
    fn as_str(&self) -> &str {
        match self {
            ExpressionToken::Word(text) | ExpressionToken::Number(text) => text,
            ExpressionToken::Sign(sign) => sign,
        }
    }
}

fn tokenize(text: &str) -> Result<Vec<ExpressionToken>, String> {
    const SIGNS: [&str; 9] = ["==", "!=", "<=", ">=", "<", ">", "(", ")", "%"];
    let mut tokens = Vec::new();
    let mut rest = text.trim_start();
    while let Some(first) = rest.chars().next() {
        let length = if first.is_ascii_digit() {
            let end = rest.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(rest.len());
            tokens.push(ExpressionToken::Number(rest[..end].to_owned()));
            end
        } else if first.is_ascii_alphabetic() || first == '_' {
            let end = rest.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(rest.len());
            tokens.push(ExpressionToken::Word(rest[..end].to_owned()));
            end
        } else if let Some(sign) = SIGNS.into_iter().find(|sign| rest.starts_with(sign)) {
            tokens.push(ExpressionToken::Sign(sign));
            sign.len()
        } else {
            return Err(format!("unexpected {first:?} in {text:?}"));
        };
        rest = rest[length..].trim_start();
    }
    Ok(tokens)
}

struct ExpressionParser {
    tokens: Vec<ExpressionToken>,
    at: usize,
}

impl ExpressionParser {
    fn alternatives(&mut self, depth: usize) -> Result<Expression, String> {
        let mut left = self.conjunction(depth)?;
        while self.take_word("OR") {
            left = Expression::Or(Box::new(left), Box::new(self.conjunction(depth)?));
        }
        Ok(left)
    }

    fn conjunction(&mut self, depth: usize) -> Result<Expression, String> {
        let mut left = self.negation(depth)?;
        while self.take_word("AND") {
            left = Expression::And(Box::new(left), Box::new(self.negation(depth)?));
        }
        Ok(left)
    }

    fn negation(&mut self, depth: usize) -> Result<Expression, String> {
        if depth > DEPTH_MAX {
            return Err(format!("nested more than {DEPTH_MAX} levels deep"));
        }
        if self.take_word("NOT") {
            return Ok(Expression::Not(Box::new(self.negation(depth + 1)?)));
        }
        if self.take_sign("(") {
            let inner = self.alternatives(depth + 1)?;
            return if self.take_sign(")") { Ok(inner) } else { Err("a parenthesis is not closed".to_owned()) };
        }
        self.condition()
    }

    fn condition(&mut self) -> Result<Expression, String> {
        let mut name = self.word("a metric")?;
        if SUBJECTS.contains(&name.as_str()) {
            name = self.word("a metric")?;
        }
        let metric = Metric::from_name(&name).ok_or_else(|| unknown_metric(&name))?;
        let comparison = Comparison::ALL.into_iter().find(|(sign, _)| self.take_sign(sign));
        match (comparison, metric.kind()) {
            (None, MetricKind::Fact) => Ok(Expression::Fact(metric)),
            (None, _) => Err(format!("{name} is a number: compare it, for example `{name} == 0`")),
            (Some(_), MetricKind::Fact) => Err(format!("{name} is true or false: write `{name}` or `NOT {name}`")),
            (Some((sign, comparison)), kind) => {
                let number = match self.tokens.get(self.at) {
                    Some(ExpressionToken::Number(digits)) => digits.parse::<f64>().ok(),
                    _ => None,
                };
                let number = number.ok_or_else(|| format!("a number is missing after `{name} {sign}`"))?;
                self.at += 1;
                if self.take_sign("%") && kind != MetricKind::Percent {
                    return Err(format!("{name} is no percentage"));
                }
                Ok(Expression::Compare { metric, comparison, number })
            }
        }
    }

    fn word(&mut self, what: &str) -> Result<String, String> {
        match self.tokens.get(self.at) {
            Some(ExpressionToken::Word(word)) if !["AND", "OR", "NOT"].contains(&word.as_str()) => {
                self.at += 1;
                Ok(word.clone())
            }
            Some(token) => Err(format!("{what} is missing before {:?}", token.as_str())),
            None => Err(format!("{what} is missing at the end")),
        }
    }

    fn take_word(&mut self, word: &str) -> bool {
        let is_next = matches!(self.tokens.get(self.at), Some(ExpressionToken::Word(next)) if next == word);
        self.at += usize::from(is_next);
        is_next
    }

    fn take_sign(&mut self, sign: &str) -> bool {
        let is_next = matches!(self.tokens.get(self.at), Some(ExpressionToken::Sign(next)) if *next == sign);
        self.at += usize::from(is_next);
        is_next
    }
}

/// The error for an unknown metric, with the most similar name that is known.
fn unknown_metric(name: &str) -> String {
    let similarity = |known: &str| rapidfuzz::distance::indel::normalized_similarity(name.chars(), known.chars());
    let closest = Metric::ALL.iter().map(|(_, known)| (similarity(known), *known)).max_by(|a, b| a.0.total_cmp(&b.0));
    match closest {
        Some((score, known)) if score >= 0.7 => format!("unknown metric {name:?}: did you mean {known:?}?"),
        _ => format!("unknown metric {name:?}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn truth(text: &str, values: &[(Metric, MetricValue)]) -> Truth {
        Expression::parse(text).expect(text).evaluate(&values.iter().cloned().collect())
    }

    #[test]
    fn conditions_of_the_shipped_checklist_mean_what_they_say() {
        let number = MetricValue::Number;
        assert_eq!(truth("test_runner exit_code == 0", &[(Metric::ExitCode, number(0.0))]), Truth::True);
        assert_eq!(truth("max_complexity < 10", &[(Metric::MaxComplexity, number(10.0))]), Truth::False);
        assert_eq!(truth("criteria_coverage == 100%", &[(Metric::CriteriaCoverage, number(100.0))]), Truth::True);
        let values =
            [(Metric::AdrFileExists, MetricValue::Fact(false)), (Metric::NotApplicable, MetricValue::Fact(true))];
        assert_eq!(truth("adr_file_exists OR not_applicable", &values), Truth::True);
        let values = [(Metric::MaxComplexity, number(9.0)), (Metric::Weakened, MetricValue::Fact(true))];
        assert_eq!(truth("max_complexity < 15 AND NOT weakened", &values), Truth::False);
        assert_eq!(truth("max_complexity<15 AND (weakened OR max_complexity>=9)", &values), Truth::True);
    }

    #[test]
    fn an_unknown_metric_decides_nothing_by_itself() {
        let unknown = (Metric::OpenapiValid, MetricValue::Unknown("redocly is not installed".into()));
        let fact = |value| (Metric::NotApplicable, MetricValue::Fact(value));
        let text = "openapi_valid OR not_applicable";
        assert_eq!(truth(text, &[unknown.clone(), fact(true)]), Truth::True);
        assert_eq!(
            truth(text, &[unknown.clone(), fact(false)]),
            Truth::Unknown(vec!["redocly is not installed".into()])
        );
        assert_eq!(truth("openapi_valid AND not_applicable", &[unknown.clone(), fact(false)]), Truth::False);
        assert_eq!(truth("NOT openapi_valid", &[unknown]), Truth::Unknown(vec!["redocly is not installed".into()]));
        assert_eq!(truth("errors == 0", &[]), Truth::Unknown(vec!["errors was not measured".into()]));
    }

    #[test]
    fn mistakes_are_named() {
        let cases = [
            ("max_complexty < 15", "unknown metric \"max_complexty\": did you mean \"max_complexity\"?"),
            ("exit_code", "exit_code is a number: compare it, for example `exit_code == 0`"),
            ("weakened == 1", "weakened is true or false: write `weakened` or `NOT weakened`"),
            ("errors ==", "a number is missing after `errors ==`"),
            ("errors == 0%", "errors is no percentage"),
            ("errors == 0 warnings == 0", "unexpected \"warnings\" in \"errors == 0 warnings == 0\""),
            ("(errors == 0", "a parenthesis is not closed"),
            ("errors == 0 AND", "a metric is missing at the end"),
            ("AND errors == 0", "a metric is missing before \"AND\""),
            ("errors = 0", "unexpected '=' in \"errors = 0\""),
            ("", "a metric is missing at the end"),
        ];
        for (text, reason) in cases {
            assert_eq!(Expression::parse(text).expect_err(text), reason);
        }
        assert!(Expression::parse(&format!("{}weakened", "NOT ".repeat(99))).is_err());
    }

    #[test]
    fn kleene_s_tables_hold() {
        let unknown = || Truth::Unknown(vec!["?".into()]);
        let values = || [Truth::True, Truth::False, unknown()];
        let order = |truth: &Truth| match truth {
            Truth::False => 0,
            Truth::Unknown(_) => 1,
            Truth::True => 2,
        };
        for left in values() {
            for right in values() {
                // Conjunction is the minimum and disjunction the maximum in the order false < unknown < true.
                assert_eq!(order(&left.clone().and(right.clone())), order(&left).min(order(&right)));
                assert_eq!(order(&left.clone().or(right.clone())), order(&left).max(order(&right)));
            }
            assert_eq!(order(&left.clone().negate()), 2 - order(&left));
        }
    }
}
