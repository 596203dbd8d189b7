-- One row for each limit: the largest thing that it counts, the first one of those of a size.
select distinct on (limit_key) *
from largest
order by limit_key, size desc, input, at_packet, number
