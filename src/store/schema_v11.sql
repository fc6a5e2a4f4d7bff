-- Version 11: what people and agents write down. Never edited: later versions are later entries of `migrations.rs`.

INSERT INTO knowledge_types VALUES
    ('pattern', 'a way of doing something that works here'),
    ('decision', 'what was chosen, and why');

-- Of what was written; NULL of what was learnt from fixes.
ALTER TABLE knowledge_entries ADD COLUMN event_id TEXT;
ALTER TABLE knowledge_entries ADD COLUMN title TEXT;
ALTER TABLE knowledge_entries ADD COLUMN properties TEXT CHECK (json_valid(properties));
ALTER TABLE knowledge_entries ADD COLUMN globs TEXT CHECK (json_valid(globs));
ALTER TABLE knowledge_entries ADD COLUMN actions TEXT CHECK (json_valid(actions));
ALTER TABLE knowledge_entries ADD COLUMN tags TEXT CHECK (json_valid(tags));
ALTER TABLE knowledge_entries ADD COLUMN sources TEXT CHECK (json_valid(sources));
ALTER TABLE knowledge_entries ADD COLUMN source TEXT CHECK (source IN ('human', 'check', 'agent'));
ALTER TABLE knowledge_entries ADD COLUMN prevented INTEGER CHECK (prevented IN (0, 1));
ALTER TABLE knowledge_entries ADD COLUMN fix_applied INTEGER CHECK (fix_applied IN (0, 1));
ALTER TABLE knowledge_entries ADD COLUMN at TEXT;
ALTER TABLE knowledge_entries ADD COLUMN agent TEXT;
ALTER TABLE knowledge_entries ADD COLUMN session TEXT;
ALTER TABLE knowledge_entries ADD COLUMN task TEXT;
ALTER TABLE knowledge_entries ADD COLUMN person TEXT;
-- The normal forms of its words in their order: what duplicates are found by.
ALTER TABLE knowledge_entries ADD COLUMN forms TEXT;
-- The oldest of those that were merged; itself when it stands alone.
ALTER TABLE knowledge_entries ADD COLUMN leader_id TEXT;
CREATE UNIQUE INDEX knowledge_by_id ON knowledge_entries (entry_id) WHERE event_id IS NOT NULL;
CREATE INDEX knowledge_by_any_id ON knowledge_entries (entry_id);
CREATE INDEX knowledge_by_time ON knowledge_entries (at) WHERE event_id IS NOT NULL;
CREATE INDEX knowledge_by_leader ON knowledge_entries (leader_id) WHERE event_id IS NOT NULL;

-- What an entry is found by: a tag, an action, a source, or the place of one of its globs (`src/db|py`: the folder before
-- the first wildcard, and the ending of its files or `*`).
CREATE TABLE knowledge_labels (
    sort TEXT NOT NULL CHECK (sort IN ('tag', 'action', 'source', 'place')),
    value TEXT NOT NULL,
    entry_no INTEGER NOT NULL REFERENCES knowledge_entries ON DELETE CASCADE,
    PRIMARY KEY (sort, value, entry_no)
) STRICT, WITHOUT ROWID;
CREATE INDEX labels_by_entry ON knowledge_labels (entry_no);

-- What was said of entries later. The entry may come after it.
CREATE TABLE knowledge_changes (
    event_id TEXT PRIMARY KEY,
    entry_id TEXT NOT NULL,
    at TEXT NOT NULL,
    change TEXT NOT NULL CHECK (change IN ('superseded', 'confidence_set', 'pinned', 'unpinned', 'merged')),
    value REAL CHECK (value BETWEEN 0 AND 1),
    other_id TEXT,
    reason TEXT,
    agent TEXT,
    session TEXT,
    task TEXT,
    person TEXT,
    CHECK ((change = 'confidence_set') = (value IS NOT NULL)),
    CHECK ((change IN ('superseded', 'merged')) = (other_id IS NOT NULL))
) STRICT, WITHOUT ROWID;
CREATE INDEX knowledge_changes_by_entry ON knowledge_changes (entry_id, change, at);
CREATE INDEX knowledge_changes_by_other ON knowledge_changes (other_id, change) WHERE other_id IS NOT NULL;

-- Who used what somebody wrote.
CREATE TABLE knowledge_reuse (
    event_id TEXT NOT NULL,
    entry_id TEXT NOT NULL,
    at TEXT NOT NULL,
    how TEXT NOT NULL CHECK (how IN ('queried', 'retrieved', 'applied', 'validated', 'prevented', 'did_not_help')),
    agent TEXT,
    session TEXT,
    task TEXT,
    person TEXT,
    PRIMARY KEY (event_id, entry_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX reuse_by_entry ON knowledge_reuse (entry_id, at);
CREATE INDEX reuse_by_time ON knowledge_reuse (at);

-- Words of entries, and their normal forms.
CREATE VIRTUAL TABLE knowledge_words USING fts5(
    title, tags, body, forms, content='', contentless_delete=1, tokenize="unicode61 tokenchars '_'");
CREATE VIRTUAL TABLE knowledge_vocabulary USING fts5vocab('knowledge_words', 'row');

-- What somebody proposes: how it is done, step by step. Of what was learnt the label says it.
ALTER TABLE error_recovery_strategies ADD COLUMN steps TEXT CHECK (json_valid(steps));

-- Attempts that somebody tells of. The strategy may come after them.
CREATE TABLE strategy_reports (
    event_id TEXT PRIMARY KEY REFERENCES events ON DELETE CASCADE,
    strategy_id TEXT NOT NULL,
    at TEXT NOT NULL,
    outcome TEXT NOT NULL CHECK (outcome IN ('success', 'failure', 'partial')),
    category TEXT,
    file_type TEXT,
    note TEXT,
    agent TEXT,
    session TEXT,
    task TEXT
) STRICT, WITHOUT ROWID;
CREATE INDEX reports_by_strategy ON strategy_reports (strategy_id, at);

-- What agents remember.
CREATE TABLE agent_memory (
    memory_id TEXT PRIMARY KEY,
    event_id TEXT NOT NULL,
    sort TEXT NOT NULL CHECK (sort IN ('context', 'learning', 'preference', 'error_pattern', 'success_pattern')),
    text TEXT NOT NULL,
    importance REAL NOT NULL CHECK (importance BETWEEN 0 AND 1),
    at TEXT NOT NULL,
    expires_at TEXT,
    agent TEXT,
    session TEXT,
    task TEXT,
    person TEXT
) STRICT, WITHOUT ROWID;
CREATE INDEX memory_by_agent ON agent_memory (agent, at);
CREATE INDEX memory_by_task ON agent_memory (task, at);

-- What was said of memories later. The memory may come after it.
CREATE TABLE memory_changes (
    event_id TEXT NOT NULL,
    memory_id TEXT NOT NULL,
    at TEXT NOT NULL,
    change TEXT NOT NULL CHECK (change IN ('recalled', 'validated', 'promoted')),
    entry_id TEXT,
    agent TEXT,
    session TEXT,
    PRIMARY KEY (event_id, memory_id),
    CHECK ((change = 'promoted') = (entry_id IS NOT NULL))
) STRICT, WITHOUT ROWID;
CREATE INDEX memory_changes_by_memory ON memory_changes (memory_id, change, at);
