//! The user's code itself, on a future of its own beside its supervisor.

use std::sync::Arc;

use super::{
    ActivityContext,
    cage::{Caged, cage},
    ending::How,
    shared::AttemptShared,
};
use crate::worker::registry::ActivityCode;

/// Runs the code to its end, whatever that is. However this future ends, `shared` hears of it.
pub(super) fn run(
    shared: Arc<AttemptShared>,
    ctx: ActivityContext,
    code: Arc<dyn ActivityCode>,
) -> impl Future<Output = ()> + Send {
    // Made here, and not by the first poll: there may be none.
    let ending = Unsaid(Arc::clone(&shared));
    call(shared, ctx, code, ending)
}

async fn call(
    shared: Arc<AttemptShared>,
    ctx: ActivityContext,
    code: Arc<dyn ActivityCode>,
    ending: Unsaid,
) {
    if !shared.may_run() {
        drop(ctx);
        return ending.say(How::NeverRan);
    }
    let input = shared.assignment.spec.input.clone();
    // The call is made inside the cage: code that runs before its first await may panic too.
    let call = Box::pin(async move { code.call(ctx, input).await });
    let how = match cage(call, shared.abort.clone(), || shared.may_be_polled()).await {
        Caged::Done(answer) => How::Returned(answer),
        Caged::Panicked(failure) => How::Panicked(failure),
        Caged::Aborted => How::Aborted,
    };
    ending.say(how);
}

/// Dropped unsaid only if the runtime dropped this future.
struct Unsaid(Arc<AttemptShared>);

impl Unsaid {
    fn say(self, how: How) {
        self.0.finish_here(how);
    }
}

impl Drop for Unsaid {
    fn drop(&mut self) {
        // Only the first end counts, so this says nothing after another was said.
        self.0.finish(How::Vanished);
    }
}
