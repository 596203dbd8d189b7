-- One row for each limit: the largest thing that it counts, where that is, and the limit that its request asked for.
select * from largest
