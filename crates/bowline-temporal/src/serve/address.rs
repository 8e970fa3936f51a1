//! Where connections come from: one address may have a share of them, and not all.

use std::{
    collections::HashMap,
    net::{IpAddr, Ipv6Addr},
    sync::Arc,
};

use parking_lot::Mutex;
use tokio::sync::OwnedSemaphorePermit;

/// How many connections each address has. There are no more entries than connections.
#[derive(Debug, Default)]
pub(super) struct Addresses {
    counts: Mutex<HashMap<IpAddr, usize>>,
}

/// The place of one connection among all, and among those of its address.
#[derive(Debug)]
pub(super) struct Seat {
    _among_all: OwnedSemaphorePermit,
    address: IpAddr,
    addresses: Arc<Addresses>,
}

impl Addresses {
    /// A place for one more connection; the one among all is given back if its address has as many
    /// as it may.
    pub(super) fn place(
        self: &Arc<Self>,
        from: IpAddr,
        most: usize,
        among_all: OwnedSemaphorePermit,
    ) -> Result<Seat, OwnedSemaphorePermit> {
        let address = shared(from);
        let mut counts = self.counts.lock();
        let count = counts.entry(address).or_default();
        if *count >= most {
            return Err(among_all);
        }
        *count += 1;
        Ok(Seat { _among_all: among_all, address, addresses: self.clone() })
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        let mut counts = self.addresses.counts.lock();
        if let Some(count) = counts.get_mut(&self.address) {
            *count -= 1;
            if *count == 0 {
                counts.remove(&self.address);
            }
        }
    }
}

/// What one client can have of addresses: a machine is given 64 bits of the newer kind to choose
/// from.
fn shared(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(v6) => {
            let [a, b, c, d, ..] = v6.segments();
            Ipv6Addr::new(a, b, c, d, 0, 0, 0, 0).into()
        }
        v4 @ IpAddr::V4(_) => v4,
    }
}

#[cfg(test)]
mod tests {
    use tokio::sync::Semaphore;

    use super::*;

    #[test]
    fn an_address_has_its_share_and_what_is_gone_is_forgotten() {
        let (addresses, all) = (Arc::<Addresses>::default(), Arc::new(Semaphore::new(8)));
        let enter = |from: &str| {
            let permit = all.clone().try_acquire_owned().expect("there is room");
            addresses.place(from.parse().expect("an address"), 2, permit).ok()
        };
        let places = [enter("10.0.0.1"), enter("::ffff:10.0.0.1"), enter("10.0.0.2")];
        assert!(places.iter().all(Option::is_some));
        assert!(enter("10.0.0.1").is_none());
        let of_one = [enter("fe80::1"), enter("fe80::2")];
        assert!(of_one.iter().all(Option::is_some) && enter("fe80::3").is_none());
        assert!(enter("fe80:0:0:1::1").is_some(), "it is somebody else's");
        drop((places, of_one));
        assert!(addresses.counts.lock().is_empty());
        assert_eq!(all.available_permits(), 8);
    }
}
