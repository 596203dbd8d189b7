-- One row for each client and broker whose frames are well-formed once each 0d 0a is 0a again, in one direction.
with mangled as (
    select
        mended_client as client,
        case kind when 'request' then host_of(src) else src end as source,
        case kind when 'request' then dst else host_of(dst) end as target,
        {
            'ordinal': ordinal, 'what': coalesce(api, 'api ' || api_key) || ' ' || kind, 'time': time, 'frame': frame,
            'stream': stream, 'packet': packet, 'file': file, 'line': line, 'capture': capture_point
        } as place
    from frames
    where mended_client is not null
)
select client, source, target, count(*) as frames, frames as weight, evidence(place) as evidence
from mangled
group by client, source, target
