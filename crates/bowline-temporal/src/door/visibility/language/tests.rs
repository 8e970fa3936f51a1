//! Queries that clients write, against one run.

use bowline_core::{
    Begin, Link, Reuse, Rules, RunId, SearchField, SearchValue, Status, Time, WorkflowStarted,
    begin_run,
};
use bowline_engine::store::{Head, Order};

use super::{Kin, Query, Sorted};

fn head() -> Head {
    let field = |value| SearchField { value, wire: None };
    let started = WorkflowStarted {
        name: "order".into(),
        workflow_id: "o-17".into(),
        queue: "shop".into(),
        rules: Rules::REMOTE,
        search: [
            ("City".to_owned(), field(SearchValue::Keyword("Köln".into()))),
            ("Total".to_owned(), field(SearchValue::Int(40))),
            ("Rush".to_owned(), field(SearchValue::Bool(true))),
            ("Tags".to_owned(), field(SearchValue::Keywords(vec!["a".into(), "b".into()]))),
        ]
        .into(),
        ..WorkflowStarted::default()
    };
    let run = RunId { uuid: 7, ..RunId::default() };
    let now = Time(1_700_000_000_000_000);
    let (reuse, link) = (Reuse::Allow, Link::None);
    let birth = begin_run(Begin { run, started, reuse, link, signals: vec![], wire: None, now });
    Head { status: Status::Cancelling, ..Head::born(&birth).unwrap().0 }
}

#[track_caller]
fn check(text: &str, meant: bool) {
    let query = Query::parse(text).unwrap();
    let kin = Kin { parent: Some("shop-1".into()), root: Some("shop-0".into()) };
    assert_eq!(query.accepts(&head(), &kin), meant, "{text}");
}

#[test]
fn every_comparison_says_yes_and_no() {
    check("", true);
    check("WorkflowId = 'o-17'", true);
    check("WorkflowId = \"o-18\"", false);
    check("WorkflowId != 'o-18'", true);
    check("WorkflowId STARTS_WITH 'o-'", true);
    check("WorkflowId NOT STARTS_WITH 'o-'", false);
    check("ExecutionStatus = 'Running'", true);
    check("ExecutionStatus IN ('Failed', 'Completed')", false);
    check("ExecutionStatus NOT IN ('Failed', 'Completed')", true);
    check("Total > 39 AND Total <= 40", true);
    check("Total BETWEEN 41 AND 50", false);
    check("Total < 40", false);
    check("StartTime >= '2023-11-14T22:13:20Z'", true);
    check("StartTime < '2023-11-14T22:13:20Z'", false);
    check("`City` = 'Köln'", true);
    check("Rush = true", true);
    check("Tags = 'b'", true);
    check("Tags = 'c'", false);
    check("Missing = 'x'", false);
    check("Missing IS NULL AND City IS NOT NULL", true);
    check("CloseTime IS NULL", true);
    check("ParentWorkflowId = 'shop-1' AND RootWorkflowId STARTS_WITH 'shop'", true);
    check("ParentWorkflowId IS NULL", false);
}

#[test]
fn words_join_as_they_do_everywhere() {
    check("Total = 1 OR Total = 40 AND Rush = true", true);
    check("(Total = 1 OR Total = 40) AND Rush = false", false);
    check("NOT (Total = 40)", false);
    check("not total = 40 or WorkflowType = 'order'", true);
    check("WorkflowType = 'it''s' OR WorkflowType = 'it\\'s'", false);
}

#[test]
fn order_and_groups_are_read() {
    assert_eq!(Query::parse("ORDER BY StartTime ASC").unwrap().order, Order::Oldest);
    assert_eq!(Query::parse("Rush = true ORDER BY StartTime").unwrap().order, Order::Newest);
    assert!(Query::parse("GROUP BY ExecutionStatus").unwrap().groups);
    let sorted = |text| Query::parse(text).unwrap().sorted;
    assert_eq!(sorted("ORDER BY CloseTime DESC"), Some(Sorted::Close));
    assert_eq!(sorted("ORDER BY ExecutionTime"), Some(Sorted::Beginning));
    assert_eq!(sorted("ORDER BY StartTime"), None);
    assert!(Query::parse("RootWorkflowId = 'x'").unwrap().asks_for_kin());
    assert!(!Query::parse("WorkflowId = 'x'").unwrap().asks_for_kin());
}

#[test]
fn what_the_store_can_sort_out_goes_to_the_store() {
    let filter = Query::parse("WorkflowType = 'order' AND ExecutionStatus = 'Running'").unwrap();
    let filter = filter.filter();
    assert_eq!(filter.name, Some("order".into()));
    assert_eq!(filter.statuses, [Status::Running, Status::Cancelling]);
    let either = Query::parse("WorkflowType = 'a' OR WorkflowType = 'b'").unwrap().filter();
    assert_eq!(either.name, None, "one of two is not a must");
    let text = "StartTime >= '1970-01-01T00:00:01Z' AND StartTime <= '1970-01-01T00:00:02Z' \
                AND WorkflowId STARTS_WITH 'o-' AND CloseTime IS NULL";
    let between = Query::parse(text).unwrap().filter();
    assert_eq!(between.started_from, Some(Time(1_000_000)));
    assert_eq!(between.started_before, Some(Time(2_000_001)));
    assert_eq!(between.workflow_id_prefix.as_deref(), Some("o-"));
    assert_eq!(between.statuses, [Status::Running, Status::Cancelling]);
    let outside = "NOT (StartTime >= '1970-01-01T00:00:01Z')";
    assert_eq!(Query::parse(outside).unwrap().filter().started_from, None);
}

#[test]
fn a_bad_query_is_named_and_never_a_panic() {
    for (bad, says) in [
        ("WorkflowId", "expected IN"),
        ("= 'x'", "the name of a field"),
        ("WorkflowId = 'x", "never closed"),
        ("WorkflowId = 'x' AND", "the name of a field"),
        ("WorkflowId = 'x' ORDER BY WorkflowId", "order by"),
        ("GROUP BY WorkflowType", "group by"),
        ("(WorkflowId = 'x'", "expected )"),
        ("WorkflowId = 'x')", "expected the end"),
        ("BuildIds = 'x'", "yet"),
    ] {
        let error = Query::parse(bad).unwrap_err();
        assert!(error.contains(says), "{bad}: {error}");
    }
    let deep = "(".repeat(10_000);
    assert!(Query::parse(&deep).unwrap_err().contains("deep"));
    let nots = "NOT ".repeat(3_000);
    assert!(Query::parse(&nots).unwrap_err().contains("deep"));
}

/// Queries that clients write, changed here and there: read or refused, and never a panic.
#[test]
fn mutated_queries_are_read_or_refused() {
    const WHOLE: &[&str] = &[
        "WorkflowId = 'o-17' AND (Total BETWEEN 1 AND 40 OR NOT Rush = true) ORDER BY CloseTime",
        "ExecutionStatus IN ('Failed', 'Completed') AND StartTime >= '2023-11-14T22:13:20.5+02:00'",
        "`City` STARTS_WITH 'Kö' AND Missing IS NOT NULL GROUP BY ExecutionStatus",
        "WorkflowType = 'it''s' OR WorkflowType = \"it\\\"s\" ORDER BY StartTime ASC",
        "RootWorkflowId NOT STARTS_WITH 'x' AND Total != -1.5e300",
    ];
    const PARTS: &[&str] = &[
        "'",
        "\"",
        "`",
        "\\",
        "(",
        ")",
        ",",
        " NOT ",
        " AND ",
        " OR ",
        " IN (",
        " BETWEEN ",
        "=",
        "<=",
        "!=",
        "é",
        "\u{1f600}",
        "\0",
        "-",
        "9999999999999999999999",
        "1e999",
        "NaN",
        "'9999-12-31T23:59:59Z'",
        "'-262143-01-01T00:00:00Z'",
        "ORDER BY",
        "IS NULL",
    ];
    let times = std::env::var("BOWLINE_FUZZ").map_or(1, |text| text.parse().unwrap());
    let (head, kin) = (head(), Kin { parent: Some("shop-1".into()), root: None });
    for seed in 0..20_000_u64 * times {
        let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
        let mut below = |most: usize| {
            state ^= state >> 12;
            state ^= state << 25;
            state ^= state >> 27;
            (state.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 33) as usize % most
        };
        let mut text: Vec<char> = WHOLE[below(WHOLE.len())].chars().collect();
        for _ in 0..=below(4) {
            let at = below(text.len() + 1);
            let to = text.len().min(at + below(12));
            let part = match below(3) {
                0 => String::new(),
                1 => PARTS[below(PARTS.len())].to_owned(),
                _ => WHOLE[below(WHOLE.len())].chars().skip(below(40)).take(below(40)).collect(),
            };
            text.splice(at..to, part.chars());
        }
        let text: String = text.into_iter().collect();
        let read = std::panic::catch_unwind(|| {
            let Ok(query) = Query::parse(&text) else { return };
            let _ = (query.accepts(&head, &kin), query.filter(), query.asks_for_kin());
        });
        assert!(read.is_ok(), "seed {seed} panics: {text:?}");
    }
}
