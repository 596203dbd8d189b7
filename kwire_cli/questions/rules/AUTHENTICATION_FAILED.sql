-- One row for each client, broker and kind of refused logins. The cases are mechanism, not_expected (the listener has no
-- SASL) and again (the connection was logged in before). Otherwise the credentials are refused.
with steps as (
    select
        c.connection, c.frame, c.client, c.software, c.broker_address, c.api, c.errors[1] as error, c.place,
        q.body.mechanism as mechanism,
        h.body.mechanisms as enabled,
        regexp_replace(a.body.errorMessage, '^Authentication failed: ', '') as message,
        c.api = 'SaslHandshake' and len(c.errors) = 0 as is_handshake
    from calls c
    left join bodies_sasl_handshake_request q on q.connection = c.connection and q.frame = c.frame
    left join bodies_sasl_handshake_response h on h.connection = c.connection and h.frame = c.response_frame
    left join bodies_sasl_authenticate_response a on a.connection = c.connection and a.frame = c.response_frame
    where c.api in ('SaslHandshake', 'SaslAuthenticate') and c.is_answered
),
numbered as (
    select
        *,
        count(*) filter (where is_handshake) over (
            partition by connection order by frame rows between unbounded preceding and current row
        ) as handshakes
    from steps
),
handshakes as (
    select connection, arg_max(mechanism, frame) as mechanism from steps where is_handshake group by connection
),
last_tokens as (
    select
        connection, max(frame) as frame, arg_max(src, frame) as src,
        arg_max({
            'ordinal': ordinal, 'what': 'SASL token', 'time': time, 'frame': frame, 'stream': stream, 'packet': packet,
            'file': file, 'line': null::bigint, 'capture': capture_point
        }, frame) as place
    from frames
    where kind = 'sasl-token'
    group by connection
),
refused as (
    select
        client, software, broker_address, place,
        case
            when error = 'ILLEGAL_SASL_STATE' and handshakes = 0 then 'not_expected'
            when api = 'SaslHandshake' and error <> 'ILLEGAL_SASL_STATE' then 'mechanism'
            when handshakes > 1 or error = 'ILLEGAL_SASL_STATE' then 'again'
        end as in_case,
        case in_case
            when 'not_expected' then api || ' is answered with ' || error
            when 'mechanism' then
                'it asked for ' || coalesce(mechanism, '?') || '; the listener has '
                || coalesce(nullif(array_to_string(enabled, ', '), ''), 'none')
            else coalesce(nullif(message, ''), error)
        end as reason
    from numbered
    where error is not null
    union all
    select
        p.client, p.software, p.broker_address, t.place, null,
        'it closed the connection at '
            || coalesce('the raw token of ' || h.mechanism, 'a raw token without a SaslHandshake')
    from last_tokens t
    join connection_places p using (connection)
    left join handshakes h using (connection)
    where t.src = p.client_address and p.closed_by = 'broker'
)
select
    client,
    max(software) as software,
    broker_address,
    in_case,
    count(*) as logins,
    array_to_string(list_sort(list(distinct reason))[1:3], '; ') as reasons,
    logins as weight,
    evidence(place) as evidence
from refused
group by client, broker_address, in_case
