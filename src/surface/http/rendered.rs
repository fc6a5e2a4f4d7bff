//! Tests: pages as they are rendered from stores that are made of events.

use std::cell::OnceCell;
use std::collections::BTreeMap;

use super::ask::HttpAsk;
use super::routes::RESOURCES;
use super::theme::PageTheme;
use super::view::PageView;
use crate::ops::board::tests::Desk;
use crate::ops::board::tests::effect::trial;

/// The page of an address over a store.
fn render(desk: &Desk, page: &str) -> String {
    let resource = RESOURCES.iter().find(|resource| resource.page == page).expect("a page");
    let ask = HttpAsk {
        request: desk.request.clone(),
        path: Vec::new(),
        parameters: BTreeMap::new(),
        body: None,
        back: None,
        form_token: None,
        theme: PageTheme::default(),
        accept: String::new(),
        end: OnceCell::new(),
    };
    let value = (resource.read)(&ask).expect("reads");
    PageView::new().render_page(resource, &ask, &value, None, None).expect("renders")
}

/// The number that follows a text on a page.
fn number_after(html: &str, text: &str) -> f64 {
    let rest = html.split_once(text).unwrap_or_else(|| panic!("no {text}: {html}")).1.trim_start();
    let end = rest.find(|c: char| !matches!(c, '0'..='9' | '.' | ',' | '-' | '−' | '–')).unwrap_or(rest.len());
    let number = rest[..end].replace(',', "").replace(['−', '–'], "-");
    number.trim_end_matches('.').parse().unwrap_or_else(|_| panic!("no number after {text}: {:.80}", rest))
}

/// The evidence and the interval of the mistakes avoided, in per cent.
fn figures(html: &str) -> (f64, [f64; 2]) {
    let interval = html.split_once("Mistakes avoided: ").expect("a lift").1.split_once("</p>").expect("its end").0;
    (
        number_after(html, "“advice does nothing”: "),
        [number_after(interval, "95 % interval "), number_after(interval, " to ")],
    )
}

#[test]
fn the_effect_page_says_what_simulated_tasks_show_and_no_more() {
    let page = |shown, held_out| render(&Desk::new(&trial(shown, held_out)), "/effect");

    let none = page(10, 10);
    assert!(none.contains("no measurable effect"), "{none}");
    for word in ["prevents", "warnings prevent", "do harm", "Harmful"] {
        assert!(!none.contains(word), "{word}: {none}");
    }
    let (evidence, [low, high]) = figures(&none);
    assert!(evidence < 20.0 && low < 0.0 && high > 0.0, "{evidence} {low} {high}");

    let strong = page(4, 30);
    assert!(strong.contains("warnings prevent mistakes") && !strong.contains("no measurable effect"), "{strong}");
    let (evidence, [low, high]) = figures(&strong);
    assert!(evidence >= 20.0 && low > 0.0 && high > low, "{evidence} {low} {high}");

    let harm = page(30, 4);
    assert!(harm.contains("warnings do harm") && !harm.contains("prevents"), "{harm}");
    assert!(harm.contains("Harmful, no longer shown") && harm.contains("href=\"/patterns/p-"), "{harm}");
    let (evidence, [_, high]) = figures(&harm);
    assert!(evidence >= 20.0 && high < 0.0, "{evidence} {high}");
}
