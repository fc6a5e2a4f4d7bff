use proptest::prelude::*;

mod samples;

use super::*;

/// One secret of each kind in a form that tools print, the secret itself, and the kind it becomes.
const SECRETS: [(&str, &str, &str); 37] = [
    ("id AKIAIOSFODNN7EXAMPLE used", "AKIAIOSFODNN7EXAMPLE", "aws-key"),
    ("AWS_SECRET_ACCESS_KEY=wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY", "wJalrXUtnFEMI", "key"),
    ("push ghp_0123456789abcdefghijABCDEFGHIJ456789 ok", "ghp_0123", "github-token"),
    ("github_pat_11ABCDEFG0abcdefghijkl_0123456789", "github_pat_11", "github-token"),
    ("remote: glpat-ABCdef0123456789xyzw", "glpat-ABC", "gitlab-token"),
    ("slack xoxb-123456789012-abcdefGHIJKL", "xoxb-1234", "slack-token"),
    ("https://hooks.slack.com/services/T00000000/B00000000/XXXXXXXXXXXXXXXXXXXXXXXX", "T00000000", "slack-webhook"),
    ("Stripe: sk_live_4eC39HqLyjWDarjtT1zdp7dc", "sk_live_4e", "stripe-key"),
    ("//registry.npmjs.org/:_authToken=npm_abcdefghijklmnopqrstuvwxyz0123456789", "npm_abc", "token"),
    ("npm_abcdefghijklmnopqrstuvwxyz0123456789", "npm_abc", "npm-token"),
    ("pypi-AgEIcHlwaS5vcmcCJDAwMDAwMDAwLTAwMDAtMDAwMC0wMDAwLTAwMDAwMDAwMDAwMAACKlszLCJ", "pypi-AgE", "pypi-token"),
    ("maps said AIzaSyA1234567890abcdefghijklmnopqrstuv", "AIzaSy", "google-key"),
    ("sk-ant-api03-abcdefGHIJKL0123456789", "sk-ant-api03", "anthropic-key"),
    ("Incorrect API key provided: sk-proj-abcdefGHIJKL0123456789.", "sk-proj-abc", "openai-key"),
    ("sk-abcdefGHIJKL0123456789ab", "sk-abcdef", "openai-key"),
    (
        "item=ZXlKaGJHY2lPaUpJVXpJMU5pSjkuZXlKemRXSWlPaUl4TWpNMEluMC5kb3pqZ05yeVA0SjNqVm1OSGwwdzVOX1hnTDBuM0k5UGxGVVAwVEhzUjhV",
        "ZXlKaGJH",
        "jwt",
    ),
    ("jwt eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.dozjgNryP4J3jVmNHl0w5N_XgL0n3I9PlFUP0THsR8U", "eyJhbG", "jwt"),
    ("Authorization: Bearer abc.def-ghi12345", "abc.def", "bearer"),
    ("> authorization: Basic dXNlcjpwYXNz", "dXNlcjpwYXNz", "basic"),
    (r#"{"Authorization": "token 0123456789abcdef"}"#, "0123456789abcdef", "bearer"),
    ("curl -H 'X: Bearer 0123456789abcdef'", "0123456789abcdef", "bearer"),
    ("DATABASE_URL=postgres://app:hunter2@db:5432/x", "hunter2", "url-password"),
    ("mongodb+srv://root:p%40ss@cluster0.example.net", "p%40ss", "url-password"),
    ("git clone https://0123456789abcdef0123456789abcdef01234567@host/x.git", "0123456789ab", "url-password"),
    ("DB_PASSWORD=hunter2", "hunter2", "password"),
    ("export API_KEY='s3cr3t value'", "s3cr3t", "key"),
    ("  password: hunter2", "hunter2", "password"),
    ("  password: hunter\n", "hunter", "password"),
    (r#"  "password": "correct horse","#, "correct horse", "password"),
    (r#"body={\"clientSecret\":\"abcdef\"}"#, "abcdef", "secret"),
    ("client_secret = 'abcdef12'", "abcdef12", "secret"),
    ("token: a1b2c3d4e5f6", "a1b2c3d4e5f6", "token"),
    ("GET /x?access_token=abcdef123&page=2", "abcdef123", "token"),
    ("GITHUB_TOKEN=abcdef", "abcdef", "token"),
    ("Server=db;Password=hunter2;Pooling=true", "hunter2", "password"),
    ("login --password abcdef12 --verbose", "abcdef12", "password"),
    ("cache key: Zm9vYmFyMTIzNDU2Nzg5MEFCQ0RF", "Zm9vYmFy", "key"),
];

/// What tools print all day, none of it secret.
const PLAIN: &str = r#"
SyntaxError: Unexpected token '}' in JSON at position 12
SyntaxError: Unexpected token: punc (,)
error: unexpected token: foo
error: unexpected token: `foo1`
error: expected one of `!` or `::`, found keyword `fn`; unexpected token = 5
Unexpected token => at line 3
error[E0308]: mismatched types: expected `Token`, found `&str`
   |  token: Token,
12 |     password: String,
13 |     pub secret: Option<SecretString>,
  password: string;
  token?: string;
    login(user=user, password=password, token=self.token)
    password = os.environ["DB_PASSWORD"]
    password = getpass()
    const token = lexer.next();
✓ keeps the secret (3 ms)
✕ rejects a wrong password: case 1
tests/test_secret.py::test_token_is_kept FAILED
test auth::password::rejects_empty ... FAILED
test_password: PASSED
password: required
Error: password: must be at least 8 characters
"password" is not defined
--token <TOKEN>  the token
--password PASSWORD  the password
error: a value is required for '--token <TOKEN>'
error: --token requires a value
PWD=/home/user/project
OLDPWD=/home/user
token=None
secret=***
password=${DB_PASSWORD}
password=$DB_PASSWORD
api_key: <your key>
https://example.com:443/path@2x.png
http://localhost:5173/@vite/client
git+ssh://git@github.com/owner/repo.git
postgres://$USER:$PASS@localhost/db
postgres://user:***@localhost/db
commit 3f786850e387550fdab836ed7e6dc881de23001b
sha256:2c26b46b68ffc68ff99b453c1d30413413422d706483bfa0f98a5e886266e7ae
integrity sha512-z4PhNX7vuL3xVChQ1m2AB9Yg5AULVxXcg/SpIdNs6c5H0NE8XYXysP+DGNKHfuwvY7kxvUdBeoGlODJ6+SfaPg==
id 550e8400-e29b-41d4-a716-446655440000
Cache restored from key: node-cache-Linux-x64-npm-4c6f8a9b0c1d2e3f
Primary key: id
KeyError: 'name'
foreign key: users_id_1
max_tokens=4096 tokens: 1234 tokenizer: bpe2
task-0123456789abcdefghijkl disk-0123456789abcdefghijkl
node_modules/npm_config_registry/index.js
target/debug/deps/verify_run-3f786850e3875500
-----BEGIN CERTIFICATE-----
MIIBIjANBgkqhkiG9w0BAQEFAAOCAQ8AMIIBCgKCAQEA
-----END CERTIFICATE-----
Bearer authentication is required
Authorization: none
TOKEN_LIMIT=3 PASSWORD_RESET_TIMEOUT=3600
Expected: "a token" Received: "a secret"
thread 'main' panicked at src/secret.rs:3:5
  10:3  error  'token' is assigned a value but never used  no-unused-vars
E501 line too long: secret.py:3:80
Reference 'System.Web, Version=4.0.0.0, Culture=neutral, PublicKeyToken=b77a5c561934e089' not resolved
key: go-mod-eca089adcb5f49ecad114bdbf49dc26b0deef67cb69080fcaeaecab46118f40b
Cache hit occurred on the primary key go-mod-eca089adcb5f49ecad114bdbf49dc26b0deef67cb69080fcaeaecab46118f40b
server-password: GITHUB_TOKEN
Configuring pattern-arrows-0.0.2...
running test_that_the_key_is_kept... ok
GET http://localhost:8080... connected
artifactory sha256: 2c26b46b68ffc68ff99b453c1d30413413422d706483bfa0f98a5e886266e7ae
sentry commit: 3f786850e387550fdab836ed7e6dc881de23001b
heroku[web.1]: State changed from starting to up
/home/travis/build/owner/repo/src: 12 files
linear: 0.25 discord: 17 travis_fold:start:install
"resolved": "https://registry.npmjs.org/a/-/a-1.0.0.tgz", "integrity": "sha512-z4PhNX7vuL3xVChQ1m2AB9Yg5AULVxXcg/SpIdNs6c5H0NE8XYXysP+DGNKHfuwvY7kxvUdBeoGlODJ6+SfaPg=="
key: sha512-z4PhNX7vuL3xVChQ1m2AB9Yg5AULVxXcg/SpIdNs6c5H0NE8XYXysP+DGNKHfuwvY7kxvUdBeoGlODJ6+SfaPg==
//# sourceMappingURL=data:application/json;base64,eyJ2ZXJzaW9uIjozLCJzb3VyY2VzIjpbImEuanMiXSwibmFtZXMiOltdfQ==
"mappings": "AAAA,SAASA,GAAT,CAAaC,CAAb,EAAgB;EACd,OAAOA,CAAC,GAAG,CAAX"
sort_key = 20261124T101530Z-000042 partition_key=p12_20261124
cookie: a small file  Set-Cookie is missing  cookies: 3
machine learning page login password reset
curl: (22) The requested URL returned error: 404
curl -u $USER:$PASS https://example.com  curl -u <user>:<password> x
docker run --name mysql -p 3306:3306 -p3307:3307 mysql:8
docker run --name mongosh -p 27017:27017 x
signature=sig expected 2 arguments; def f(signature="no") -> None
Basic usage: run the command  Basic authentication failed
public_key = "MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAE4f5wg2l2hKsTeNem"
<password>${env.PASS}</password> <token/> <key>name</key>
setItem("token", "value") get("key", "default_value_1")
pub const SYS_memfd_secret: c_long = 447; pub const RTA_KEY_SECRET: _bindgen_ty_3 = 2;
    colon2_token: node.colon2_token,
    let pwd: libc::passwd = nobody.into();  let mut fds = mem::MaybeUninit::<[OwnedFd; 2]>::uninit();
    UnexpectedToken : messages_1.Messages.MissingFromClause;
test_api_access_is_denied_for_expired_token_2 ... ok
KEY_LENGTH=2048 API_VERSION=2026-11-24 ACCESS_MODE=read_write_v2
"#;

#[test]
fn secrets_of_every_kind_are_replaced() {
    for (text, secret, kind) in SECRETS {
        let (redacted, count) = redact_text(text);
        assert!(!redacted.contains(secret), "{text:?} became {redacted:?}");
        assert!(redacted.contains(&format!("[redacted:{kind}]")), "{text:?} became {redacted:?}");
        assert_eq!(count, 1, "{text:?} became {redacted:?}");
    }
}

#[test]
fn what_surrounds_a_secret_stays() {
    assert_eq!(redact_text("a postgres://app:x1@db/y b").0, "a postgres://app:[redacted:url-password]@db/y b");
    assert_eq!(redact_text("?token=abc123&page=2").0, "?token=[redacted:token]&page=2");
    assert_eq!(redact_text(r#"{"password": "x y", "a": 1}"#).0, r#"{"password": "[redacted:password]", "a": 1}"#);
}

#[test]
fn plain_tool_output_is_left_alone() {
    for line in PLAIN.lines() {
        assert_eq!(redact_text(line), (Cow::Borrowed(line), 0));
    }
    assert_eq!(redact_text(PLAIN).1, 0);
}

#[test]
fn a_private_key_goes_whole_even_when_an_end_is_cut_off() {
    let body = "MIIEpAIBAAKCAQEAxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx\n".repeat(3);
    let (begin, end) = ("-----BEGIN RSA PRIVATE KEY-----\n", "-----END RSA PRIVATE KEY-----");
    assert_eq!(redact_text(&format!("a\n{begin}{body}{end}\nb")).0, "a\n[redacted:private-key]\nb");
    assert_eq!(redact_text(&format!("a\n{begin}{body}done: é")).0, "a\n[redacted:private-key]\ndone: é");
    assert_eq!(redact_text(&format!("x y\n{body}{end}\nb")).0, "x y\n[redacted:private-key]\nb");
    let json = format!("{{\"k\":\"{}\"}}", format!("{begin}{body}{end}").replace('\n', "\\n"));
    assert_eq!(redact_text(&json).0, "{\"k\":\"[redacted:private-key]\"}");
    assert_eq!(redact_text(&format!("{begin}{begin}{body}{end}")).1, 2);
}

#[test]
fn arguments_know_which_of_them_are_values() {
    let args = ["deploy", "--token=abc", "--password", "abc", "--user", "me", "--api-key", "--dry-run", "-k", "x"];
    let (redacted, count) = redact_args(&args);
    assert_eq!(
        redacted.join(" "),
        "deploy --token=[redacted:token] --password [redacted:password] --user me --api-key --dry-run -k x"
    );
    assert_eq!(count, 2);
    assert_eq!(redact_args(&["env", "DB_PASSWORD=x1", "npm", "test"]).0[1], "DB_PASSWORD=[redacted:password]");
}

#[test]
fn redacting_again_changes_nothing() {
    let found = ["DB_PASSWORD=xWient_secret: = 'abcd", "password: hunter2a  password:tesnt"];
    for text in SECRETS.iter().map(|(text, ..)| *text).chain(found) {
        let once = redact_text(text).0.into_owned();
        assert_eq!(redact_text(&once), (Cow::Borrowed(once.as_str()), 0));
    }
    let taken_out_before_the_flag = ["x", "-;password:`p1ss=7`a_token=p1ss=b", "y"];
    for args in
        [["--password", "a", "--token=b"], ["x", "--db://root:p1ss@h/DB_PASSWORD=c", "y"], taken_out_before_the_flag]
    {
        let args = redact_args(&args).0;
        assert!(!args.concat().contains("p1ss"), "{args:?}");
        assert_eq!(redact_args(&args), (args.clone(), 0));
    }
}

#[test]
fn hostile_repetition_stays_linear() {
    // Each of these would take minutes if a matcher looked further than its neighbourhood for every hit.
    for unit in [
        "key",
        "password=",
        "://",
        "-----BEGIN RSA PRIVATE KEY-----\n",
        "-----END PRIVATE KEY-----",
        "eyJa",
        "token=\"",
        "PASSWORD=aB3dE6gH test aB3d... ",
        "cookie: a=$",
        "machine a login ",
        "curl -u a -",
        "ghp_aB3...",
        ".ey",
        "adafruit: a1",
    ] {
        let text = unit.repeat((256 << 10) / unit.len());
        let started = std::time::Instant::now();
        let _ = redact_text(&text);
        assert!(started.elapsed().as_secs() < 20, "{unit:?} took {:?}", started.elapsed());
    }
}

proptest! {
    #[test]
    fn never_panics_and_is_stable(text in r#"(password|token: |=|"|'| |é|://|@|a1|ghp_[a-z0-9]{36}|-----BEGIN PRIVATE KEY-----|\n|Bearer |🦀|\\){0,40}"#) {
        let (once, count) = redact_text(&text);
        prop_assert_eq!(count == 0, once == text);
        let _ = redact_text(&once);
    }
}

#[test]
fn a_long_text_is_read_as_a_short_one_is() {
    let secrets = SECRETS.map(|(text, ..)| text).join("\n");
    let (short, count) = redact_text(&secrets);
    let filler = "nothing to see here\n".repeat(LONG_TEXT_BYTES_MIN / 20 + 1);
    let whole = format!("{filler}{secrets}");
    let (long, long_count) = redact_text(&whole);
    assert_eq!((long.strip_prefix(&filler), long_count), (Some(&*short), count));
    assert!(count >= SECRETS.len());
    // As is one that needs no automaton at all.
    for (text, ..) in SECRETS {
        let padded = format!("{text}\n{}", "nothing to see here\n".repeat(LINE_BYTES_MAX / 20));
        let (alone, among) = (redact_text(text), redact_text(&padded));
        assert!(text.len() < LINE_BYTES_MAX && padded.len() > LINE_BYTES_MAX);
        assert_eq!((among.0.lines().next(), among.1), (alone.0.lines().next(), alone.1), "{text}");
    }
}
