-- Reminders are looked for with every turn, and they are few among very many.
create index memory_by_kind on memory (kind, space);
