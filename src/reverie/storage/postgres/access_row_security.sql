-- Who may see and write which rows of access_schema.sql. Run after every migration and after the
-- grants to the application's role, as often as one likes.
-- The audit can be read and added to. Nobody held by row security can change a line, its owner
-- included, and the application's role has not even the right to try; lines go with their tenant.
do $$
declare
    one text;
    own constant text := $q$tenant = nullif(current_setting('reverie.tenant', true), '')$q$;
    -- Set by the erasure of a tenant alone.
    erased constant text := $q$tenant = nullif(current_setting('reverie.erasing', true), '')$q$;
    all_tenants constant text := $q$current_setting('reverie.tenant', true) = '*'$q$;
    -- As for memories (row_security.sql): of the spaces that who asks may read, and may write.
    readable constant text := own
        || $q$ and space ~ nullif(current_setting('reverie.readable', true), '')$q$;
    writable constant text := own
        || $q$ and space ~ nullif(current_setting('reverie.writable', true), '')$q$;
begin
    foreach one in array array[
        'tenant', 'account', 'account_identity', 'team', 'team_member', 'space_grant', 'space_link',
        'space_trust', 'retention_rule', 'legal_hold', 'api_key', 'invitation', 'device_request',
        'login_attempt', 'audit'
    ]
    loop
        execute format('alter table %I enable row level security', one);
        execute format('alter table %I force row level security', one);
        execute format('drop policy if exists own on %I', one);
        execute format('drop policy if exists reading on %I', one);
        execute format('drop policy if exists adding on %I', one);
        execute format('drop policy if exists removing on %I', one);
        execute format('drop policy if exists listing on %I', one);
        execute format('drop policy if exists tidying on %I', one);
        if one = 'audit' then
            execute format('create policy reading on %I for select using (%s)', one, own);
            execute format('create policy adding on %I for insert with check (%s)', one, own);
            execute format('create policy removing on %I for delete using (%s)', one, erased);
        else
            execute format('create policy own on %I using (%s)', one, own);
        end if;
        -- Anybody may ask to be let in at a name that is no tenant's: who runs the server removes
        -- that with all else that has expired.
        if one in ('device_request', 'login_attempt') then
            execute format('create policy listing on %I for select using (%s)', one, all_tenants);
            execute format('create policy tidying on %I for delete using (%s)', one, all_tenants);
        end if;
    end loop;
    alter table device_file enable row level security;
    alter table device_file force row level security;
    drop policy if exists reading on device_file;
    drop policy if exists adding on device_file;
    drop policy if exists changing on device_file;
    drop policy if exists removing on device_file;
    execute format('create policy reading on device_file for select using (%s)', readable);
    execute format('create policy adding on device_file for insert with check (%s)', writable);
    execute format('create policy changing on device_file for update using (%s) with check (%s)',
                   writable, writable);
    execute format('create policy removing on device_file for delete using (%s)', writable);
    -- Who runs the server lists its tenants: no tenant is called '*'.
    create policy listing on tenant for select
        using (current_setting('reverie.tenant', true) = '*');
end
$$;
revoke update, delete, truncate on audit from reverie_app;
revoke delete on tenant from reverie_app;
