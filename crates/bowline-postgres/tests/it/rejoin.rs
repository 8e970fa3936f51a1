//! Entering again: whoever was given up is somebody new afterwards, or is still who it was and may
//! try again. Nothing lies in between.

use std::time::Duration;

use bowline_core::{Epoch, Time};
use bowline_postgres::PostgresStore;
use bowline_store::{Join, Renewal, Store};

use crate::{
    crowd::holding,
    place::Place,
    proxy::{Cut, Proxy},
    wait::wait,
};

const LEASE: Duration = Duration::from_secs(600);
const NOW: Time = Time(1_000_000);

fn join(store: &PostgresStore, again: Option<Epoch>) -> bowline_store::Result<Epoch> {
    let join = Join { again, ..Join::new("test", LEASE, NOW) };
    wait(store.join(join)).map(|joined| joined.epoch)
}

fn renew(store: &PostgresStore, epoch: Epoch) -> bowline_store::Result<()> {
    let renewal = Renewal::new(epoch, LEASE, NOW);
    wait(store.renew(renewal)).map(drop)
}

/// A process that was given up entered again, and the second half of that, which says that what it
/// was before is over, failed. It was somebody new by then and did not know; what it tried next was
/// refused, as if it had been replaced, and the engine stopped for good.
#[test]
fn who_could_not_quite_enter_again_may_try_again() {
    let place = Place::new();
    let mut settings = place.settings();
    settings.patience = Duration::from_secs(2);
    let store = PostgresStore::open_with(&place.url(), settings).expect("it opens");
    let before = join(&store, None).expect("it joins");
    let row =
        format!("SELECT 1 FROM {}.members WHERE epoch = {} FOR UPDATE", place.schema(), before.0);
    let failed = holding(&place, &row, || join(&store, Some(before)));
    let error = failed.expect_err("somebody has its row");
    assert!(error.passes(), "{error:?}");
    let entered = join(&store, Some(before)).expect("it is still who it was");
    assert!(entered > before);
    renew(&store, entered).expect("it is alive");
    let members = format!("{}.members", place.schema());
    let alive = place.count(&format!("{members} WHERE state = 0"));
    assert_eq!(alive, 1, "nobody is left whom nobody knows");
    let gone = place.count(&format!("{members} WHERE state = 1 AND epoch = {}", before.0));
    assert_eq!(gone, 1, "what it was before is over");
}

/// The answer was lost: it may be in, and not know as whom. Whoever it is after the next try, it is
/// nobody else.
#[test]
fn who_entered_again_and_was_not_told_is_somebody_once() {
    let place = Place::new();
    let (proxy, url) = Proxy::before(&place.url());
    let mut settings = place.settings();
    settings.hints = false;
    let store = PostgresStore::open_with(&url, settings).expect("it opens");
    let mut own = join(&store, None).expect("it joins");
    for cut in [Cut::After, Cut::Before, Cut::After] {
        proxy.cut(cut);
        let error = join(&store, Some(own)).expect_err("it was cut off");
        assert!(error.passes(), "{error:?}");
        let entered = join(&store, Some(own)).expect("it is still who it was");
        assert!(entered > own);
        renew(&store, entered).expect("it is alive");
        let alive = format!("{}.members WHERE state = 0", place.schema());
        assert_eq!(place.count(&alive), 1, "{cut:?}: nobody is left whom nobody knows");
        own = entered;
    }
    assert_eq!(proxy.cuts(), 3);
}
