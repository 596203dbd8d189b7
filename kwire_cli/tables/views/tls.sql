-- One row for each connection with TLS that could not be decrypted: its turns (what a side says until the other side
-- speaks), their bytes, and the first alert that is no goodbye.
with pieces as (
    select
        f.connection, f.frame, f.size, f.reason, f.content, f.time, f.stream, f.packet, f.file, f.capture_point, f.ordinal,
        coalesce(f.src = c.client_address, false) as is_of_client,
        lag(f.src) over (partition by f.connection order by f.frame) as src_before,
        f.src
    from frames f
    left join connections c using (connection)
    where f.kind = 'not-kafka' and f.protocol = 'tls'
),
turns as (
    select
        *,
        count(*) filter (where src_before is distinct from src) over (
            partition by connection, src order by frame rows between unbounded preceding and current row
        ) as turn,
        {
            'ordinal': ordinal, 'what': case when is_of_client then 'ClientHello' else 'TLS alert' end, 'time': time,
            'frame': frame, 'stream': stream, 'packet': packet, 'file': file, 'line': null::bigint, 'capture': capture_point
        } as place,
        list_filter(
            content,
            lambda text: starts_with(text, 'alert ')
            and text not in ('alert close_notify', 'alert user_canceled', 'alert no_renegotiation')
        )[1] as alert
    from pieces
)
select
    connection,
    coalesce(sum(size) filter (where is_of_client), 0) as client_bytes,
    coalesce(sum(size) filter (where not is_of_client), 0) as broker_bytes,
    coalesce(max(turn) filter (where is_of_client), 0) as client_turns,
    coalesce(max(turn) filter (where not is_of_client), 0) as broker_turns,
    coalesce(sum(size) filter (where is_of_client and turn > 1), 0) as client_later_bytes,
    coalesce(sum(size) filter (where not is_of_client and turn > 1), 0) as broker_later_bytes,
    client_turns = 0 and broker_turns > 0 as is_one_sided,
    client_turns > 0 and broker_turns > 0 and broker_later_bytes <= 42 as is_failed,
    min(reason) as reason,
    arg_min(alert, frame) filter (where alert is not null) as first_alert,
    case when arg_min(is_of_client, frame) filter (where alert is not null) then 'client' else 'broker' end as alert_by,
    arg_min(place, frame) as place,
    arg_min(place, frame) filter (where not is_of_client) as answer_place
from turns
group by connection
