-- Version 12: what is proposed for CLAUDE.md and AGENTS.md, and what people decided. Never edited: later versions are
-- later entries of `migrations.rs`.

-- What was said of promotions.
CREATE TABLE promotion_changes (
    event_id TEXT PRIMARY KEY,
    promotion_id TEXT NOT NULL,
    pattern_key TEXT,
    entry_id TEXT,
    at TEXT NOT NULL,
    change TEXT NOT NULL CHECK (change IN ('proposed', 'approved', 'rejected', 'rolled_back', 'retirement_proposed')),
    strong INTEGER CHECK (strong IN (0, 1)),
    reason TEXT NOT NULL,
    person TEXT,
    agent TEXT,
    target TEXT,
    before TEXT,
    after TEXT,
    CHECK ((pattern_key IS NULL) <> (entry_id IS NULL)),
    -- Nothing is approved, rejected or taken back by nobody.
    CHECK (change IN ('proposed', 'retirement_proposed') OR person <> '' AND person IS NOT NULL AND reason <> ''),
    CHECK ((change = 'approved') = (target IS NOT NULL))
) STRICT, WITHOUT ROWID;
CREATE INDEX promotion_changes_by_promotion ON promotion_changes (promotion_id, at);
CREATE INDEX promotion_changes_by_pattern ON promotion_changes (pattern_key);
CREATE INDEX promotion_changes_by_entry ON promotion_changes (entry_id);

-- Each promotion as it stands: the last decision holds, in whatever order they came; before one it waits for review.
CREATE VIEW knowledge_promotions AS
SELECT promotion_id, pattern_key, entry_id,
    CASE change WHEN 'approved' THEN 'approved' WHEN 'rejected' THEN 'rejected' WHEN 'rolled_back' THEN 'rolled_back'
        ELSE 'pending' END AS state,
    (SELECT min(at) FROM promotion_changes f WHERE f.promotion_id = c.promotion_id) AS proposed_at,
    CASE WHEN change IN ('proposed', 'retirement_proposed') THEN NULL ELSE at END AS decided_at,
    person, reason,
    (SELECT a.target FROM promotion_changes a WHERE a.promotion_id = c.promotion_id AND a.change = 'approved'
     ORDER BY a.at DESC, a.event_id DESC LIMIT 1) AS target,
    (SELECT a.before FROM promotion_changes a WHERE a.promotion_id = c.promotion_id AND a.change = 'approved'
     ORDER BY a.at DESC, a.event_id DESC LIMIT 1) AS before,
    after,
    change = 'approved' AND EXISTS (
        SELECT 1 FROM promotion_changes r WHERE r.promotion_id = c.promotion_id
        AND r.change = 'retirement_proposed' AND r.at > c.at) AS retirement_proposed
FROM promotion_changes c
WHERE event_id = (
    SELECT event_id FROM promotion_changes d WHERE d.promotion_id = c.promotion_id
    ORDER BY change NOT IN ('proposed', 'retirement_proposed') DESC, at DESC, event_id DESC LIMIT 1);
