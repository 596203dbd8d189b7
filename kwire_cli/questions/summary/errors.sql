-- Errors by client and api, applications first, with how many of the client's calls of this api had each one. A member
-- that joins for the first time is always told its id (MEMBER_ID_REQUIRED), which is no error.
with failed as (
    select client, api, topics, is_internal, unnest(errors) as error from calls
),
subjects as (
    select client, api, error, list(distinct topic order by topic) as topics
    from (select client, api, error, unnest(topics) as topic from failed)
    group by client, api, error
),
totals as (select client, api, count(*) as calls from calls where is_answered group by client, api)
select
    f.client,
    f.api,
    coalesce(s.topics, []) as topics,
    f.error,
    count(*) as "count",
    t.calls
from failed f
join totals t on t.client = f.client and t.api = f.api
left join subjects s on s.client = f.client and s.api = f.api and s.error = f.error
where f.error <> 'MEMBER_ID_REQUIRED'
group by f.client, f.api, s.topics, f.error, t.calls, f.is_internal
order by f.is_internal, "count" desc, f.client, f.api, f.error
