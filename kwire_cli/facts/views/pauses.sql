-- One row for each pause of a capture point: a minute or more between two of its files, of which no packet tells.
with files as (
    select capture_point, file, min(time) as first_time, max(time) as last_time
    from frames
    where time is not null and source = 'capture'
    group by capture_point, file
),
followed as (
    select
        capture_point,
        max(last_time) over earlier as began,
        first_time as ended
    from files
    window earlier as (
        partition by capture_point order by first_time rows between unbounded preceding and 1 preceding
    )
)
select * from followed where seconds_between(began, ended) >= 60
