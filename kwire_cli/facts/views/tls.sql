-- One row for each connection with TLS: its turns (what a side says until the other side speaks) as far as they are not
-- decrypted, their bytes, the first alert that is no goodbye, the certificates that can be read, and the verdict:
-- to plain, to tls, certificate, failed, undecrypted, or null if all is well.
with pieces as (
    select
        f.connection, f.frame, f.size, f.reason, f.time, f.src,
        coalesce(f.src = c.client_address, false) as is_of_client,
        lag(f.src) over (partition by f.connection order by f.frame) as src_before,
        list_filter(
            f.content,
            lambda text: starts_with(text, 'alert ')
            and text not in ('alert close_notify', 'alert user_canceled', 'alert no_renegotiation')
        )[1][7:] as alert,
        list_filter(f.content, lambda text: starts_with(text, 'Certificate valid from '))[1] as certificate,
        {
            'ordinal': f.ordinal, 'what': coalesce(f.content[1], 'TLS'), 'time': f.time, 'frame': f.frame,
            'stream': f.stream, 'packet': f.packet, 'file': f.file, 'line': null::bigint, 'capture': f.capture_point
        } as place
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
        try_cast(regexp_extract(certificate, 'from (\S+)', 1) as timestamptz) as valid_from,
        try_cast(regexp_extract(certificate, 'to (\S+)', 1) as timestamptz) as valid_until
    from pieces
),
sums as (
    select
        connection,
        coalesce(sum(size) filter (where is_of_client), 0) as client_bytes,
        coalesce(sum(size) filter (where not is_of_client), 0) as broker_bytes,
        coalesce(max(turn) filter (where is_of_client), 0) as client_turns,
        coalesce(max(turn) filter (where not is_of_client), 0) as broker_turns,
        coalesce(sum(size) filter (where is_of_client and turn > 1), 0) as client_later_bytes,
        coalesce(sum(size) filter (where not is_of_client and turn > 1), 0) as broker_later_bytes,
        client_turns = 0 and broker_turns > 0 as is_one_sided,
        client_turns > 0 and broker_turns > 0 and broker_later_bytes <= 42 as is_failed,  -- an alert, encrypted or not
        arg_min(reason, frame) as reason,
        arg_min(alert, frame) as first_alert,
        arg_min(is_of_client, frame) filter (where alert is not null) as is_alert_of_client,
        arg_min(valid_from, frame) filter (where is_of_client) as client_valid_from,
        arg_min(valid_until, frame) filter (where is_of_client) as client_valid_until,
        arg_min(valid_from, frame) filter (where not is_of_client) as broker_valid_from,
        arg_min(valid_until, frame) filter (where not is_of_client) as broker_valid_until,
        min(time) as first_time,
        arg_min(place, frame) as place,
        arg_min(place, frame) filter (where not is_of_client) as answer_place
    from turns
    group by connection
),
failures as (
    select
        s.*, host_of(c.client_address) as client_host, c.broker_address,
        case when coalesce(s.is_alert_of_client, s.client_later_bytes <= 42) then 'client' else 'broker' end as alert_by,
        coalesce(s.first_alert, 'an encrypted alert') || ' from the ' || alert_by as failure,
        case when alert_by = 'client' then s.broker_valid_from else s.client_valid_from end as valid_from,
        case when alert_by = 'client' then s.broker_valid_until else s.client_valid_until end as valid_until,
        s.client_bytes > 0 and s.broker_bytes = 0 and c.broker_bytes = 0 and c.closed_by = 'broker' as is_to_plain,
        s.is_one_sided and c.client_bytes > 0 as is_to_tls,
        s.reason is not null and c.opened and c.closed_by is not null and s.is_failed as is_ended
    from sums s
    left join connections c using (connection)
)
select
    *,
    case
        when is_to_plain then 'to plain'
        when is_to_tls then 'to tls'
        when first_alert in (
            'bad_certificate', 'unsupported_certificate', 'certificate_revoked', 'certificate_expired',
            'certificate_unknown', 'unknown_ca', 'bad_certificate_status_response', 'certificate_required'
        ) then 'certificate'
        when is_ended and first_time not between valid_from and valid_until then 'certificate'
        when first_alert is not null or is_ended then 'failed'
        when reason is not null then 'undecrypted'
    end as verdict
from failures
