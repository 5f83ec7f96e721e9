-- Writes that their clients may ask for again: the answer is kept in the write's own transaction, for a day.
create table idempotency_key (
  account_id bigint not null,
  key text not null,
  -- What was asked, as a hash: another request under the same key is a mistake.
  request text not null,
  -- The reply, as JSON.
  answer text not null,
  answered_at timestamptz not null default now(),
  primary key (account_id, key)
);
create index idempotency_key_answered_at on idempotency_key (answered_at);
