//! Which addresses a server may listen on: this machine's own, or it must be told how to keep
//! others out.

use std::net::SocketAddr;

use crate::Unusable;

/// What protects an address that others can reach.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Exposed {
    /// Connections are encrypted.
    pub tls: bool,
    /// Callers show who they are.
    pub credentials: bool,
    /// Somebody has said that neither is needed.
    pub insecure: bool,
}

/// Whether only this machine can reach an address.
pub fn is_loopback(address: &SocketAddr) -> bool {
    address.ip().to_canonical().is_loopback()
}

/// Refuses an address that others can reach while nothing keeps them out.
///
/// # Errors
/// If TLS or credentials are missing, and nobody has said that this is meant.
pub fn may_listen(address: &SocketAddr, exposed: Exposed) -> Result<(), Unusable> {
    if is_loopback(address) || exposed.insecure || (exposed.tls && exposed.credentials) {
        return Ok(());
    }
    let missing = match (exposed.tls, exposed.credentials) {
        (false, false) => "neither encryption nor credentials are set up",
        (false, true) => "there is no encryption: credentials would be read on the way",
        _ => "there are no credentials: anybody could do anything",
    };
    Err(Unusable::Settings(format!(
        "{address} can be reached from other machines, and {missing}. Give --tls-cert and \
         --tls-key, and one of --keys, --jwt-keys and --tls-client-ca; or say --insecure if \
         something else keeps strangers away"
    )))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_loopback_is_open_without_protection() {
        let at = |text: &str| text.parse::<SocketAddr>().expect("an address");
        let none = Exposed::default();
        for own in ["127.0.0.1:1", "127.9.9.9:1", "[::1]:1", "[::ffff:127.0.0.1]:1"] {
            assert!(may_listen(&at(own), none).is_ok(), "{own}");
        }
        let tls = Exposed { tls: true, ..none };
        let credentials = Exposed { credentials: true, ..none };
        for wide in ["0.0.0.0:1", "[::]:1", "10.0.0.1:1", "[::ffff:10.0.0.1]:1"] {
            let wide = at(wide);
            assert!(may_listen(&wide, none).is_err());
            assert!(may_listen(&wide, tls).is_err());
            assert!(may_listen(&wide, credentials).is_err());
            assert!(may_listen(&wide, Exposed { insecure: true, ..none }).is_ok());
            assert!(may_listen(&wide, Exposed { credentials: true, ..tls }).is_ok());
        }
    }
}
