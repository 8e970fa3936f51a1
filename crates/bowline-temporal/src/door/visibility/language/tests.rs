//! Queries that clients write, against one run.

use bowline_core::{
    Begin, Link, Reuse, Rules, RunId, SearchField, SearchValue, Status, Time, WorkflowStarted,
    begin,
};
use bowline_engine::store::{Head, Order};

use super::Query;

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
    let birth = begin(Begin { run, started, reuse, link, signals: vec![], wire: None, now });
    Head { status: Status::Cancelling, ..Head::born(&birth).unwrap().0 }
}

#[track_caller]
fn check(text: &str, meant: bool) {
    let query = Query::parse(text).unwrap();
    assert_eq!(query.accepts(&head()), meant, "{text}");
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
}

#[test]
fn what_the_store_can_sort_out_goes_to_the_store() {
    let filter = Query::parse("WorkflowType = 'order' AND ExecutionStatus = 'Running'").unwrap();
    let filter = filter.filter();
    assert_eq!(filter.name, Some("order".into()));
    assert_eq!(filter.statuses, [Status::Running, Status::Cancelling]);
    let either = Query::parse("WorkflowType = 'a' OR WorkflowType = 'b'").unwrap().filter();
    assert_eq!(either.name, None, "one of two is not a must");
}

#[test]
fn a_bad_query_is_named_and_never_a_panic() {
    for (bad, says) in [
        ("WorkflowId", "expected IN"),
        ("= 'x'", "the name of a field"),
        ("WorkflowId = 'x", "never closed"),
        ("WorkflowId = 'x' AND", "the name of a field"),
        ("WorkflowId = 'x' ORDER BY CloseTime", "order by"),
        ("GROUP BY WorkflowType", "group by"),
        ("(WorkflowId = 'x'", "expected )"),
        ("WorkflowId = 'x')", "expected the end"),
        ("ParentWorkflowId = 'x'", "yet"),
    ] {
        let error = Query::parse(bad).unwrap_err();
        assert!(error.contains(says), "{bad}: {error}");
    }
    let deep = "(".repeat(10_000);
    assert!(Query::parse(&deep).unwrap_err().contains("deep"));
    let nots = "NOT ".repeat(3_000);
    assert!(Query::parse(&nots).unwrap_err().contains("deep"));
}
