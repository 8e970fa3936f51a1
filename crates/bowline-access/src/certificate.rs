//! The names in a client's certificate.

use rustls::pki_types::CertificateDer;
use webpki::EndEntityCert;

use crate::der::{self, tag};

/// `commonName`, 2.5.4.3.
const COMMON_NAME: &[u8] = &[0x55, 0x04, 0x03];
/// UTF8String and PrintableString.
const TEXTS: [u8; 2] = [0x0c, 0x13];

/// The names by which a certificate can be meant: its DNS names and URIs, then its common name.
pub(crate) fn names(certificate: &CertificateDer<'_>) -> Vec<String> {
    let Ok(read) = EndEntityCert::try_from(certificate) else { return Vec::new() };
    let mut names: Vec<String> =
        read.valid_dns_names().chain(read.valid_uri_names()).map(str::to_owned).collect();
    names.extend(common_name(read.subject()));
    names
}

/// The common name of a subject.
fn common_name(mut subject: &[u8]) -> Option<String> {
    while !subject.is_empty() {
        let mut set = der::expect(tag::SET, &mut subject)?;
        while !set.is_empty() {
            let mut pair = der::expect(tag::SEQUENCE, &mut set)?;
            let kind = der::expect(tag::OID, &mut pair)?;
            let (form, value) = der::take(&mut pair)?;
            if kind == COMMON_NAME && TEXTS.contains(&form) {
                return String::from_utf8(value.to_vec()).ok().filter(|name| !name.is_empty());
            }
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use rcgen::{CertificateParams, DnType, KeyPair, SanType};

    use super::*;

    fn made(change: impl FnOnce(&mut CertificateParams)) -> Vec<String> {
        let mut params = CertificateParams::default();
        params.distinguished_name = rcgen::DistinguishedName::new();
        change(&mut params);
        let key = KeyPair::generate().expect("a key");
        names(params.self_signed(&key).expect("a certificate").der())
    }

    #[test]
    fn every_name_is_found() {
        let names = made(|params| {
            params.distinguished_name.push(DnType::OrganizationName, "shop");
            params.distinguished_name.push(DnType::CommonName, "worker-1");
            let dns = "worker.example".try_into().expect("a name");
            let uri = "spiffe://shop/worker".try_into().expect("a name");
            params.subject_alt_names = vec![SanType::DnsName(dns), SanType::URI(uri)];
        });
        assert_eq!(names, ["worker.example", "spiffe://shop/worker", "worker-1"]);
        assert_eq!(made(|_| {}), Vec::<String>::new());
    }
}
