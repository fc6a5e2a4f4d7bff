-- Version 17: what a warning asks of a pattern, however often that was fixed or warned of. Never edited: later versions
-- are later entries of `migrations.rs`.

-- The patterns that a noted fix made go away, under the keys that its attempts recorded.
CREATE TABLE note_patterns (
    pattern_key TEXT NOT NULL,
    event_id TEXT NOT NULL REFERENCES fix_notes ON DELETE CASCADE,
    PRIMARY KEY (pattern_key, event_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX note_patterns_by_note ON note_patterns (event_id);
INSERT INTO note_patterns
SELECT DISTINCT p.pattern_key, n.event_id FROM fix_notes n JOIN fix_attempts a USING (fix_id)
JOIN attempt_patterns p ON p.event_id = a.event_id WHERE p.role = 'fixed';

-- Whichever is read first.
CREATE TRIGGER fix_noted AFTER INSERT ON fix_notes BEGIN
    INSERT OR IGNORE INTO note_patterns
    SELECT p.pattern_key, NEW.event_id FROM fix_attempts a CROSS JOIN attempt_patterns p ON p.event_id = a.event_id
    WHERE a.fix_id = NEW.fix_id AND p.role = 'fixed';
END;
CREATE TRIGGER noted_fix AFTER INSERT ON attempt_patterns WHEN NEW.role = 'fixed' BEGIN
    INSERT OR IGNORE INTO note_patterns
    SELECT NEW.pattern_key, n.event_id FROM fix_attempts a CROSS JOIN fix_notes n ON n.fix_id = a.fix_id
    WHERE a.event_id = NEW.event_id;
END;

-- What is known to have come of warnings about a pattern, without a look at those of which nothing is known.
DROP INDEX deliveries_by_pattern;
CREATE INDEX deliveries_by_pattern ON qa_warning_deliveries (pattern_key, arm, failed_in, passed_in);
