-- Who may see and write which rows. Run after every migration, as often as one likes.
-- The settings are made with `set local` in each transaction (connection.py). Where they are not
-- made, or are empty, nothing is found and nothing can be written: an empty pattern would match all.
do $$
declare
    one text;
    own constant text := $q$tenant = current_setting('reverie.tenant', true)$q$;
    readable constant text := own
        || $q$ and space ~ nullif(current_setting('reverie.readable', true), '')$q$;
    -- Spaces that the pattern is known to match, a line each: looked up sooner than it is matched,
    -- which counts where thousands of rows are read. Only what PostgreSQL itself has matched is
    -- there (connection.py).
    known constant text := own
        || $q$ and (space = any(string_to_array(current_setting('reverie.matched', true), E'\n'))$q$
        || $q$ or space ~ nullif(current_setting('reverie.readable', true), ''))$q$;
    writable constant text := own
        || $q$ and space ~ nullif(current_setting('reverie.writable', true), '')$q$;
    -- Workers look at the numbers of all tenants, and at nothing else: no tenant is called '*'.
    any_tenant constant text := own || $q$ or current_setting('reverie.tenant', true) = '*'$q$;
begin
    foreach one in array array[
        'memory', 'edge', 'event', 'change', 'posting', 'vector', 'pending',
        'cursor', 'lease', 'meta', 'embedder', 'counter', 'work'
    ]
    loop
        execute format('alter table %I enable row level security', one);
        execute format('alter table %I force row level security', one);
        execute format('drop policy if exists reading on %I', one);
        execute format('drop policy if exists adding on %I', one);
        execute format('drop policy if exists changing on %I', one);
        execute format('drop policy if exists removing on %I', one);
        execute format('drop policy if exists own on %I', one);
        if one in ('memory', 'edge', 'event', 'change', 'posting', 'vector', 'pending') then
            execute format('create policy reading on %I for select using (%s)', one, known);
            execute format('create policy adding on %I for insert with check (%s)', one, writable);
            -- A memory that may only be read is not found by an update, or it could be moved into
            -- a space that may be written. What follows it fails loudly instead: it never moves
            -- without its memory.
            execute format('create policy changing on %I for update using (%s) with check (%s)',
                           one, case one when 'memory' then writable else readable end, writable);
            execute format('create policy removing on %I for delete using (%s)', one, writable);
        elsif one in ('counter', 'work') then
            execute format('create policy own on %I using (%s)', one, any_tenant);
        else
            execute format('create policy own on %I using (%s)', one, own);
        end if;
    end loop;
end
$$;
