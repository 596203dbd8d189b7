-- The lines of captures and halves of exchanges by kind.
select kind, count(*) as lines from frames group by kind order by lines desc, kind
