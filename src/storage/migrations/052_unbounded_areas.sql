-- A coordinate that is no number, or infinite, has no place that could be compared with those of tiles: a change there is one of
-- the whole layer.
update layer_change set area = null where area && '{NaN,Infinity,-Infinity}'::double precision[];
