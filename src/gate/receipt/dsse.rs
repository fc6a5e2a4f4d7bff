//! DSSE v1: a signed envelope around a statement, and Ed25519 keys in PEM files.

use data_encoding::{BASE64, HEXLOWER};
use ed25519_dalek::{Signature, SigningKey, VerifyingKey};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

/// The type of the payload.
const PAYLOAD_TYPE: &str = "application/vnd.in-toto+json";
/// What a private key in PKCS#8 (RFC 8410) begins with; the 32 bytes of the seed follow.
const PRIVATE_PREFIX: [u8; 16] =
    [0x30, 0x2e, 0x02, 0x01, 0, 0x30, 0x05, 0x06, 0x03, 0x2b, 0x65, 0x70, 0x04, 0x22, 0x04, 0x20];
/// What a public key in SubjectPublicKeyInfo (RFC 8410) begins with; its 32 bytes follow.
const PUBLIC_PREFIX: [u8; 12] = [0x30, 0x2a, 0x30, 0x05, 0x06, 0x03, 0x2b, 0x65, 0x70, 0x03, 0x21, 0];
/// Bytes of a key.
const KEY_BYTES: usize = 32;

/// An envelope as JSON.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Envelope {
    payload: String,
    payload_type: String,
    signatures: Vec<EnvelopeSignature>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct EnvelopeSignature {
    #[serde(default)]
    keyid: String,
    sig: String,
}

/// Why an envelope proves nothing.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum EnvelopeError {
    /// It is not an envelope with an in-toto payload.
    #[error("not a DSSE envelope: {0}")]
    Bad(String),
    /// No signature in it is by the key.
    #[error("no signature in it is by the key {0}")]
    NotSigned(String),
}

/// What is no key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("not an Ed25519 key in a PEM file")]
pub(crate) struct BadKey;

/// A key that signs.
pub(crate) struct PrivateKey(SigningKey);

/// A key that verifies.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct PublicKey(VerifyingKey);

impl PrivateKey {
    /// The key of 32 random bytes.
    pub(crate) fn from_seed(seed: &[u8; KEY_BYTES]) -> Self {
        PrivateKey(SigningKey::from_bytes(seed))
    }

    /// Reads a PEM file.
    ///
    /// # Errors
    /// [`BadKey`]
    pub(crate) fn parse(pem: &str) -> Result<Self, BadKey> {
        Ok(PrivateKey::from_seed(&parse_pem(pem, "PRIVATE KEY", &PRIVATE_PREFIX)?))
    }

    /// The PEM file.
    pub(crate) fn to_pem(&self) -> String {
        to_pem("PRIVATE KEY", &PRIVATE_PREFIX, &self.0.to_bytes())
    }

    /// The key that verifies what this one signs.
    pub(crate) fn public_key(&self) -> PublicKey {
        PublicKey(self.0.verifying_key())
    }

    /// The envelope around a statement.
    pub(crate) fn sign(&self, statement: &str) -> Envelope {
        use ed25519_dalek::Signer as _;
        let signature = self.0.sign(&pre_authentication_encoding(PAYLOAD_TYPE, statement.as_bytes()));
        let keyid = self.public_key().key_id();
        Envelope {
            payload: BASE64.encode(statement.as_bytes()),
            payload_type: PAYLOAD_TYPE.to_owned(),
            signatures: vec![EnvelopeSignature { keyid, sig: BASE64.encode(&signature.to_bytes()) }],
        }
    }
}

impl PublicKey {
    /// Reads a PEM file.
    ///
    /// # Errors
    /// [`BadKey`]
    pub(crate) fn parse(pem: &str) -> Result<Self, BadKey> {
        let bytes = parse_pem(pem, "PUBLIC KEY", &PUBLIC_PREFIX)?;
        VerifyingKey::from_bytes(&bytes).map(PublicKey).map_err(|_| BadKey)
    }

    /// The PEM file.
    pub(crate) fn to_pem(&self) -> String {
        to_pem("PUBLIC KEY", &PUBLIC_PREFIX, self.0.as_bytes())
    }

    /// The id that securesystemslib gives the key: SHA-256 of its description, hex.
    pub(crate) fn key_id(&self) -> String {
        let public = HEXLOWER.encode(self.0.as_bytes());
        let described = format!(r#"{{"keytype":"ed25519","keyval":{{"public":"{public}"}},"scheme":"ed25519"}}"#);
        HEXLOWER.encode(&Sha256::digest(described.as_bytes()))
    }
}

impl Envelope {
    /// Parses an envelope. Nothing in it is verified.
    ///
    /// # Errors
    /// [`EnvelopeError::Bad`]
    pub(crate) fn parse(json: &[u8]) -> Result<Self, EnvelopeError> {
        let envelope: Envelope = serde_json::from_slice(json).map_err(|error| EnvelopeError::Bad(error.to_string()))?;
        if envelope.payload_type != PAYLOAD_TYPE {
            return Err(EnvelopeError::Bad(format!("payloadType is {:?}", envelope.payload_type)));
        }
        if envelope.signatures.is_empty() {
            return Err(EnvelopeError::Bad("it has no signatures".to_owned()));
        }
        Ok(envelope)
    }

    /// The payload, if this key signed it.
    ///
    /// # Errors
    /// [`EnvelopeError`]
    pub(crate) fn open(&self, key: &PublicKey) -> Result<Vec<u8>, EnvelopeError> {
        let decode = |what: &str, text: &str| {
            BASE64.decode(text.as_bytes()).map_err(|error| EnvelopeError::Bad(format!("{what} is not base64: {error}")))
        };
        let payload = decode("payload", &self.payload)?;
        let signed = pre_authentication_encoding(&self.payload_type, &payload);
        for signature in &self.signatures {
            let bytes = decode("sig", &signature.sig)?;
            let is_good = Signature::from_slice(&bytes).is_ok_and(|sig| key.0.verify_strict(&signed, &sig).is_ok());
            if is_good {
                return Ok(payload);
            }
        }
        Err(EnvelopeError::NotSigned(key.key_id()))
    }

    /// The JSON document.
    pub(crate) fn to_json(&self) -> String {
        serde_json::to_string(self).unwrap_or_default()
    }
}

/// What is signed: type and payload, each with its length in front.
fn pre_authentication_encoding(payload_type: &str, payload: &[u8]) -> Vec<u8> {
    let head = format!("DSSEv1 {} {payload_type} {} ", payload_type.len(), payload.len());
    [head.as_bytes(), payload].concat()
}

fn to_pem(label: &str, prefix: &[u8], key: &[u8; KEY_BYTES]) -> String {
    let text = BASE64.encode(&[prefix, key].concat());
    format!("-----BEGIN {label}-----\n{text}\n-----END {label}-----\n")
}

fn parse_pem(pem: &str, label: &str, prefix: &[u8]) -> Result<[u8; KEY_BYTES], BadKey> {
    let (begin, end) = (format!("-----BEGIN {label}-----"), format!("-----END {label}-----"));
    let text = pem.split_once(&begin).and_then(|(_, rest)| rest.split_once(&end)).ok_or(BadKey)?.0;
    let text: String = text.split_whitespace().collect();
    let der = BASE64.decode(text.as_bytes()).map_err(|_| BadKey)?;
    der.strip_prefix(prefix).and_then(|key| key.try_into().ok()).ok_or(BadKey)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_signed_is_as_the_protocol_says() {
        let encoded = pre_authentication_encoding("http://example.com/HelloWorld", b"hello world");
        assert_eq!(encoded, b"DSSEv1 29 http://example.com/HelloWorld 11 hello world");
    }

    #[test]
    fn keys_go_through_their_files_and_verify_their_own_signatures_alone() {
        let (one, other) = (PrivateKey::from_seed(&[1; 32]), PrivateKey::from_seed(&[2; 32]));
        let read = PrivateKey::parse(&one.to_pem()).expect("a key");
        assert_eq!(read.public_key(), one.public_key());
        assert_eq!(PublicKey::parse(&one.public_key().to_pem()), Ok(one.public_key()));
        for bad in ["", "-----BEGIN PUBLIC KEY-----\nAAAA\n-----END PUBLIC KEY-----\n", &one.to_pem()] {
            assert_eq!(PublicKey::parse(bad), Err(BadKey), "{bad}");
        }
        let envelope = Envelope::parse(one.sign("{}").to_json().as_bytes()).expect("an envelope");
        assert_eq!(envelope.open(&one.public_key()), Ok(b"{}".to_vec()));
        assert!(matches!(envelope.open(&other.public_key()), Err(EnvelopeError::NotSigned(_))));
    }

    #[test]
    fn no_flipped_bit_is_accepted() {
        let key = PrivateKey::from_seed(&[7; 32]);
        let envelope = key.sign(r#"{"a":1}"#);
        let flip = |text: &str, bit: usize| {
            let mut bytes = BASE64.decode(text.as_bytes()).expect("base64");
            bytes[bit / 8] ^= 1 << (bit % 8);
            BASE64.encode(&bytes)
        };
        for bit in 0..7 * 8 {
            let changed = Envelope { payload: flip(&envelope.payload, bit), ..envelope.clone() };
            assert!(changed.open(&key.public_key()).is_err(), "bit {bit} of the payload");
        }
        for bit in 0..64 * 8 {
            let mut changed = envelope.clone();
            changed.signatures[0].sig = flip(&changed.signatures[0].sig, bit);
            assert!(changed.open(&key.public_key()).is_err(), "bit {bit} of the signature");
        }
    }
}
