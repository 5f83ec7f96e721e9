-- expands
-- functions: 21a4222aad814d07e50310b3fea924b2
-- What is drawn below a map; null = the base map of its project. The history of maps tells of it, and puts it back.
alter table map add column base_map text check (base_map in ('builtin', 'builtin-muted', 'builtin-dark', 'none'));
