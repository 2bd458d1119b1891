-- Who may what: tenants, users, teams, grants, keys, logins, limits and the audit.
-- As everywhere, `tenant` is the first column of every key. Secrets are kept as SHA-256 alone.
-- A user's name is in `account`, as `user` is a word of SQL; rights are "read", "write" or
-- "administer". What names another row is checked by whoever writes it (room `access`).

create table tenant (
    tenant          text collate "C" not null primary key,
    display_name    text not null default '',
    created_at      double precision not null,
    suspended_at    double precision,
    everyone_founds boolean not null default true,
    requests_per_minute     bigint,
    key_requests_per_minute bigint,
    memories                bigint,
    bytes                   bigint
);

create table account (
    tenant       text collate "C" not null,
    name         text collate "C" not null,
    display_name text not null default '',
    email        text collate "C" not null default '',
    is_admin     boolean not null default false,
    created_at   double precision not null,
    disabled_at  double precision,
    primary key (tenant, name)
);

-- What a user is called at the organisation's provider.
create table account_identity (
    tenant    text collate "C" not null,
    issuer    text collate "C" not null,
    subject   text collate "C" not null,
    account   text collate "C" not null,
    linked_at double precision not null,
    primary key (tenant, issuer, subject)
);

create table team (
    tenant      text collate "C" not null,
    name        text collate "C" not null,
    description text not null default '',
    created_at  double precision not null,
    primary key (tenant, name)
);

create table team_member (
    tenant  text collate "C" not null,
    team    text collate "C" not null,
    account text collate "C" not null,
    primary key (tenant, team, account)
);
create index team_member_by_account on team_member (tenant, account);

-- A right in a space and below, of a "user", a "team" or "everyone" (whose grantee is '').
create table space_grant (
    tenant     text collate "C" not null,
    space      text collate "C" not null,
    kind       text collate "C" not null,
    grantee    text collate "C" not null,
    level      text collate "C" not null,
    granted_by text collate "C" not null default '',
    granted_at double precision not null,
    primary key (tenant, space, kind, grantee)
);
create index space_grant_by_grantee on space_grant (tenant, kind, grantee);

create table space_link (
    tenant    text collate "C" not null,
    account   text collate "C" not null,
    space     text collate "C" not null,
    target    text collate "C" not null,
    linked_at double precision not null,
    primary key (tenant, account, space, target)
);

-- Whether others' memories there count for more: `reader` is '' where it is decided for everyone.
create table space_trust (
    tenant     text collate "C" not null,
    reader     text collate "C" not null,
    space      text collate "C" not null,
    is_trusted boolean not null,
    set_by     text collate "C" not null,
    set_at     double precision not null,
    primary key (tenant, reader, space)
);

create table retention_rule (
    tenant text collate "C" not null,
    space  text collate "C" not null,
    days   integer not null,
    set_by text collate "C" not null,
    set_at double precision not null,
    primary key (tenant, space)
);

create table legal_hold (
    tenant    text collate "C" not null,
    id        text collate "C" not null,
    kind      text collate "C" not null,
    subject   text collate "C" not null,
    reason    text not null,
    placed_by text collate "C" not null,
    placed_at double precision not null,
    lifted_by text collate "C" not null default '',
    lifted_at double precision,
    primary key (tenant, id)
);

create table api_key (
    tenant       text collate "C" not null,
    prefix       text collate "C" not null,
    hash         bytea not null,
    account      text collate "C" not null,
    label        text not null default '',
    purpose      text collate "C" not null,
    spaces       text[] not null default '{}',
    level        text collate "C" not null,
    verbs        text[] not null default '{}',
    created_by   text collate "C" not null,
    created_at   double precision not null,
    expires_at   double precision,
    revoked_at   double precision,
    last_used_at double precision,
    primary key (tenant, prefix)
);
create index api_key_by_account on api_key (tenant, account, created_at);

-- `grants` is a list of [space, right].
create table invitation (
    tenant     text collate "C" not null,
    prefix     text collate "C" not null,
    hash       bytea not null,
    email      text collate "C" not null default '',
    is_admin   boolean not null default false,
    teams      text[] not null default '{}',
    grants     jsonb not null default '[]',
    created_by text collate "C" not null,
    created_at double precision not null,
    expires_at double precision not null,
    used_by    text collate "C" not null default '',
    used_at    double precision,
    primary key (tenant, prefix)
);

-- Programs that wait to be let in.
create table device_request (
    tenant      text collate "C" not null,
    user_code   text collate "C" not null,
    hash        bytea not null,
    client_name text not null default '',
    state       text collate "C" not null,
    account     text collate "C" not null default '',
    created_at  double precision not null,
    expires_at  double precision not null,
    poll_every  double precision not null,
    polled_at   double precision,
    primary key (tenant, user_code)
);
create unique index device_request_by_hash on device_request (tenant, hash);

-- Browsers that have gone to the organisation's provider and are not back yet.
create table login_attempt (
    tenant     text collate "C" not null,
    hash       bytea not null,
    nonce      text not null,
    verifier   text not null,
    return_to  text not null default '',
    expires_at double precision not null,
    primary key (tenant, hash)
);

-- Append-only: every change, and every read of a shared space. Names and numbers, never a text.
create table audit (
    tenant  text collate "C" not null,
    id      text collate "C" not null,
    at      double precision not null,
    actor   text collate "C" not null,
    key     text collate "C" not null default '',
    verb    text collate "C" not null,
    space   text collate "C" not null default '',
    count   bigint not null default 0,
    details jsonb not null default '{}',
    primary key (tenant, id)
);
create index audit_by_actor on audit (tenant, actor, id);
create index audit_by_space on audit (tenant, space, id);

-- Files that a user's devices leave for each other, sealed: nobody here can read them. `space` is
-- the user's private root. One that a legal hold keeps has `removed_at`, and is shown to nobody.
create table device_file (
    tenant     text collate "C" not null,
    space      text collate "C" not null,
    name       text collate "C" not null,
    digest     text collate "C" not null,
    data       bytea not null,
    written_at double precision not null,
    seen_at    double precision not null,
    removed_at double precision,
    primary key (tenant, space, name)
);
-- What is sealed cannot be compressed.
alter table device_file alter column data set storage external;
