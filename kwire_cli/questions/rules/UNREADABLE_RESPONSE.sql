-- One row for each broker, api and version whose responses do not fit their layout.
with unread as (
    select
        c.client, c.software, c.broker_address, c.api, c.api_version, c.response_place as place, f.fits_as,
        list_filter(f.anomalies, lambda code: code <> 'FITS_OTHERWISE') as codes
    from frames f
    join calls c on c.connection = f.connection and c.response_frame = f.frame
    where f.kind = 'response' and f.is_misread and not f.guess
)
select
    min(client) as client,
    max(software) as software,
    broker_address,
    api,
    api_version,
    count(*) as responses,
    list_sort(list_distinct(flatten(list(codes)))) as codes,
    min(fits_as) as fits_as,
    responses as weight,
    evidence(place) as evidence
from unread
group by broker_address, api, api_version
