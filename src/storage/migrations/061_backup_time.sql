-- expands
-- When the last backup was made; null = none was, or by an older version. A backup has the time of the one before.
alter table installation add column backed_up_at timestamptz;
