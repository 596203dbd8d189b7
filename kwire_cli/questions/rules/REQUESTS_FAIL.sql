-- One row for each client of which requests fail with errors that no other finding accounts for. An error is cured if
-- the client's next request with the same api, about the same topic, succeeds within the patience of clients.
with failures as (
    select distinct
        c.client,
        c.api,
        coalesce(e.topic, '') as topic,
        c.connection,
        c.frame,
        e.error,
        coalesce(nullif(regexp_extract(e.message, $of_record, 1), ''), e.message) as message,
        e.is_retriable or list_contains($retried, e.error) as is_retriable,
        list_contains($ordinary, e.error)
            or (c.api = 'ApiVersions' and e.error = 'UNSUPPORTED_VERSION')
            or exists (from explained x where x.error = e.error and coalesce(x.client = c.client, true)) as is_explained
    from errors e
    join calls c on c.connection = e.connection and c.response_frame = e.frame
    where not c.is_internal and c.is_sound
),
unexplained as (
    select distinct client, api, topic from failures where not is_explained
),
failed_topics as (
    select connection, frame, list(distinct topic) as failed from failures group by connection, frame
),
attempts as (
    select
        client, api, connection, frame, software, request_time, response_time, place,
        unnest(list_distinct(topics || answered_topics || coalesce(failed, ['']))) as topic
    from calls
    left join failed_topics using (connection, frame)
    where is_answered and not is_internal and (client, api) in (select (client, api) from unexplained)
),
outcomes as (
    select
        a.*,
        f.error,
        f.message,
        f.is_retriable,
        f.is_explained,
        count(distinct (a.connection, a.frame)) over (partition by a.client, a.api, a.topic) as total,
        min(case when f.error is null then a.request_time end) over later as success_time,
        bool_or(f.error is null) over later as is_followed
    from attempts a
    left join failures f
        on f.connection = a.connection and f.frame = a.frame and (f.topic = a.topic or f.topic = '')
    where (a.client, a.api, a.topic) in (select (client, api, topic) from unexplained)
    window later as (
        partition by a.client, a.api, a.topic order by a.request_time, a.frame
        rows between 1 following and unbounded following
    )
),
by_error as (
    select
        client,
        api,
        topic,
        error,
        total,
        max(software) as software,
        min(message) as message,
        count(distinct (connection, frame)) as failed,
        count(*) filter (
            where not is_retriable
                or not coalesce(is_followed, false)
                or seconds_between(response_time, success_time) > $patience_s
        ) as lasting,
        evidence(place) as places
    from outcomes
    where not is_explained
    group by client, api, topic, error, total
),
by_name as (
    select client, error, sum(failed) as failed from by_error where lasting > 0 group by client, error
),
first_errors as (
    select *, row_number() over (partition by client order by failed desc, error) as nth
    from by_name
    join error_meanings using (error)
),
meanings as (
    select
        client,
        string_agg(error || ': ' || meaning, ' ' order by nth) as more_meaning,
        string_agg(error || ': ' || coalesce(nullif(advice, ''), clients), ' ' order by nth) as more_advice
    from first_errors
    where nth <= $most_explained
    group by client
)
select
    client,
    max(software) as software,
    list(
        concat_ws(' ', api, nullif(topic, '')) || ': ' || failed || ' of ' || total || ' ' || error
            || coalesce(' (' || rtrim(left(message, $longest), '.') || ')', '')
        order by failed desc, api, topic, error
    ) as failures,
    bool_or(failed = total and total >= $least and not list_contains($passing || $harmless, error)) as is_total,
    bool_and(list_contains($harmless, error)) as is_harmless,
    cast(sum(failed) as bigint) as weight,
    any_value(more_meaning) as more_meaning,
    any_value(more_advice) as more_advice,
    list_distinct(flatten(list(places))) as evidence
from by_error
left join meanings using (client)
where lasting > 0
group by client
