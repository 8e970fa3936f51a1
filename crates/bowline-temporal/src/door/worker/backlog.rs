//! How much waits in a queue, and for how long: counted for whoever asks, not kept.

use bowline_core::{Place, Status, Time};
use bowline_engine::store::{Filter, Head, Read, RunKey};
use temporalio_protos::temporal::api::{enums::v1::TaskQueueType, taskqueue::v1::TaskQueueStats};

use crate::{
    door::namespace::Space,
    limits,
    status::{self, Answer},
    translate::time,
};

/// Looks at so many open runs, the oldest first: where there are more, it is a hint.
pub(super) async fn of(space: &Space, queue: &str, kind: i32) -> Answer<TaskQueueStats> {
    let is_turns = kind == i32::from(TaskQueueType::Workflow);
    let mut filter = Filter {
        statuses: vec![Status::Running, Status::Cancelling],
        order: bowline_engine::store::Order::Oldest,
        limit: limits::BACKLOG_RUNS,
        ..Filter::default()
    };
    let (mut count, mut oldest, mut looked) = (0_i64, None::<Time>, 0);
    // For all runs together.
    let mut rows = limits::BACKLOG_ACTIVITIES;
    let mut waits = |since: Time| {
        count += 1;
        oldest = Some(oldest.map_or(since, |known| known.min(since)));
    };
    loop {
        let page = space.engine.find(filter.clone()).await.map_err(status::of)?;
        looked += page.runs.len();
        for head in &page.runs {
            match is_turns {
                true => turn(head, queue).into_iter().for_each(&mut waits),
                false if rows == 0 => {}
                false => {
                    let found = activities(space, head, queue, &mut rows).await?;
                    found.into_iter().for_each(&mut waits);
                }
            }
        }
        match page.next.filter(|_| looked < limits::BACKLOG_RUNS && rows > 0) {
            Some(next) => filter.after = Some(next),
            None => break,
        }
    }
    let age = oldest.map(|oldest| time::span(space.engine.now().since(oldest)));
    Ok(TaskQueueStats {
        approximate_backlog_count: count,
        approximate_backlog_age: Some(age.unwrap_or_default()),
        ..Default::default()
    })
}

/// Since when a run's turn waits in a queue.
fn turn(head: &Head, queue: &str) -> Option<Time> {
    let turn = head.record.turn.as_ref()?;
    let is_there = turn.queue.as_str() == queue && turn.started.is_none();
    is_there.then_some(turn.scheduled_at)
}

/// Since when activities of a run wait in a queue.
async fn activities(
    space: &Space,
    head: &Head,
    queue: &str,
    most: &mut usize,
) -> Answer<Vec<Time>> {
    let read = Read { activities_max: *most, ..Read::head(RunKey::Run(head.run)) };
    let rows = space.engine.read(read).await.map_err(status::of)?.activities;
    *most -= rows.len().min(*most);
    let now = space.engine.now();
    let waiting = rows.into_iter().filter(|row| row.spec.queue.as_str() == queue);
    let since = waiting.filter_map(|row| match row.live.place {
        Place::Queued { due } if due <= now => Some(due),
        _ => None,
    });
    Ok(since.collect())
}
