//! What was seen of warned tasks is named as that wherever it is shown: no task was held out to compare them with.

use nix::sys::signal::Signal;
use serde_json::Value;

use super::Dashboard;
use super::api::DESCRIPTION;
use super::decisions::promotion_story;
use super::markup::plain_text;

/// The fields of all schemas whose name has this word, with their descriptions.
fn fields_with<'a>(word: &str, schemas: &'a Value) -> Vec<(&'a str, &'a str)> {
    let properties = schemas.as_object().expect("schemas").values().filter_map(|it| it["properties"].as_object());
    let fields = properties.flatten().filter(|(name, _)| name.contains(word));
    fields.map(|(name, field)| (name.as_str(), field["description"].as_str().unwrap_or_default())).collect()
}

#[test]
fn effectiveness_has_no_control_group_on_every_page_and_in_every_form() {
    let sandbox = promotion_story();
    let dashboard = Dashboard::start(&sandbox, &[]);
    let pattern = dashboard.json("/api/v1/patterns")["patterns"][0]["id"].as_str().expect("an id").to_owned();
    let promotion = dashboard.json("/api/v1/promotions")["promotions"][0]["id"].as_str().expect("an id").to_owned();
    let named = |text: &str| {
        let text = text.to_lowercase();
        text.contains("no control group") || text.contains("without a control group")
    };
    let pattern = format!("/patterns/{pattern}");
    for path in ["/", "/patterns", &pattern, "/effect", "/figures/effect_observed", &format!("/promotions/{promotion}")]
    {
        let page = dashboard.get(path);
        let main = page.body.split("<main").nth(1).expect("a page");
        assert!(page.status == 200 && named(&plain_text(main)), "{path}: {main}");
        if path != "/figures/effect_observed" {
            let name = if path == "/" { "/index.md".to_owned() } else { format!("{path}.md") };
            let markdown = dashboard.get(&name).body;
            // The rows of a long list are cut before it.
            assert!(
                named(&markdown) || path == "/patterns" && !markdown.contains("effectiveness"),
                "{name}: {markdown}"
            );
        }
    }
    let fields = fields_with("effectiveness", &DESCRIPTION["components"]["schemas"]);
    let measured: Vec<_> = fields.iter().filter(|(_, description)| description.contains("Observed")).collect();
    assert!(measured.len() >= 5 && measured.iter().all(|(_, text)| named(text)), "{fields:#?}");
    dashboard.ends(Signal::SIGINT);

    let shown = sandbox.verify_run(["promote", "show", &promotion]).prints();
    assert!(shown.contains("observed without a control group") && !shown.contains("prevented"), "{shown}");
    let exported = sandbox.verify_run(["dashboard", "export", "../report.html"]).outcome();
    assert!(exported.stderr().is_empty(), "{exported:?}");
    assert!(named(&sandbox.read("../report.html")));
}
