//! Signs requests, for the clients that are part of Sheaf itself.

use std::time::SystemTime;

use base64::{Engine as _, engine::general_purpose::STANDARD};
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};

use crate::{auth, settings::Key};

/// The two headers of a signed request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Signed {
    /// The value of `authorization`.
    pub authorization: String,
    /// The value of `x-ms-date`, which the signature covers.
    pub date: String,
}

/// Signs a request. `method` is its verb (`POST`), `kind` the resource type (`docs`), and `link`
/// the owner (`dbs/d/colls/c`, names unescaped).
pub fn signed(key: &Key, method: &str, kind: &str, link: &str, now: SystemTime) -> Signed {
    let date = httpdate::fmt_http_date(now);
    let (verb, signed_date) = (method.to_ascii_lowercase(), date.to_ascii_lowercase());
    let payload = format!("{verb}\n{kind}\n{link}\n{signed_date}\n\n");
    let signature = STANDARD.encode(auth::sign(key, &payload));
    let token = format!("type=master&ver=1.0&sig={signature}");
    let authorization = utf8_percent_encode(&token, NON_ALPHANUMERIC).to_string();
    Signed { authorization, date }
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, UNIX_EPOCH};

    use super::*;
    use crate::settings::PUBLISHED_KEY;

    /// The example of a signature in the service's documentation.
    #[test]
    fn the_documented_example() {
        let key = Key::parse(
            "dsZQi3KtZmCv1ljt3VNWNm7sQUF1y5rJfC6kv5JiwvW0EndXdDku/dkKBp8/ufDToSxLzR4y+O/0H/t4bQtVNw==",
        );
        // Thu, 27 Apr 2017 00:51:12 GMT
        let now = UNIX_EPOCH + Duration::from_secs(1_493_254_272);
        let signed = signed(&key.unwrap(), "GET", "dbs", "dbs/ToDoList", now);
        assert_eq!(signed.date, "Thu, 27 Apr 2017 00:51:12 GMT");
        assert_eq!(
            signed.authorization.replace("%2E", "."),
            "type%3Dmaster%26ver%3D1.0%26sig%3Dc09PEVJrgp2uQRkr934kFbTqhByc7TVr3OHyqlu%2Bc%2Bc%3D"
        );
    }

    #[test]
    fn no_header_needs_quoting() {
        let key = Key::parse(PUBLISHED_KEY).unwrap();
        let signed = signed(&key, "POST", "docs", "dbs/é/colls/c d", UNIX_EPOCH);
        assert!(signed.authorization.bytes().all(|byte| byte.is_ascii_graphic()));
    }
}
