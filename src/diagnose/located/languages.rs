//! Words of compilers and shells in other languages than English.

use crate::diagnose::Severity;

/// `line` as shells say it in other languages.
pub(super) const LINE: &[&str] = &[
    "ligne",
    "Zeile",
    "línea",
    "linha",
    "riga",
    "regel",
    "linje",
    "rad",
    "wiersz",
    "linia",
    "řádek",
    "riadok",
    "satır",
    "rivi",
    "sor",
    "строка",
    "рядок",
    "ред",
    "γραμμή",
    "行",
    "줄",
];

/// How compilers say it in other languages (the translations of gcc 14), before a colon.
const TRANSLATED: &[(Severity, &[&str])] = &[
    (
        Severity::Error,
        &[
            "erreur",
            "Fehler",
            "ошибка",
            "помилка",
            "erro",
            "errore",
            "fel",
            "fejl",
            "błąd",
            "fout",
            "hata",
            "virhe",
            "chyba",
            "错误",
            "錯誤",
            "エラー",
            "오류",
        ],
    ),
    (
        Severity::Warning,
        &[
            "attention",
            "avertissement",
            "Warnung",
            "предупреждение",
            "попередження",
            "aviso",
            "advertencia",
            "attenzione",
            "avviso",
            "varning",
            "advarsel",
            "ostrzeżenie",
            "let op",
            "waarschuwing",
            "uyarı",
            "varoitus",
            "varování",
            "警告",
            "경고",
        ],
    ),
    (
        Severity::Info,
        &[
            "remarque",
            "Anmerkung",
            "Hinweis",
            "замечание",
            "примечание",
            "зауваження",
            "nota",
            "anteckning",
            "uwaga",
            "附注",
            "附註",
            "備考",
        ],
    ),
];

/// The severity of a translated word at the start, and what is behind its colon.
pub(super) fn translated_severity(text: &str) -> Option<(Severity, &str)> {
    let text = text.trim_start_matches([':', ' ', '\t']);
    let behind = |word: &str| text.strip_prefix(word)?.trim_start().strip_prefix([':', '：']);
    let mut rows = TRANSLATED.iter();
    rows.find_map(|(severity, words)| Some((*severity, words.iter().find_map(|word| behind(word))?)))
}
